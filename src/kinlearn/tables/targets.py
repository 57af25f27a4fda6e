"""The column to predict: classes, or yes/no labels; and what cannot be one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.cell_rules import CellRules, objects
from kinlearn.cells.refusals import TableError, quoted

MAX_CLASSES = 100
# Numbers with more distinct values than this, many of them rare, are to be predicted as numbers.
_FEW_NUMBERS = 20
YES = ("1", "true", "yes", "y", "t", "positive", "present")
NO = ("0", "false", "no", "n", "f", "negative", "absent")


def read_classes(column: Any, name: str, rules: CellRules) -> NDArray[np.object_]:
    """Return the class of every row as a text, NaN where missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_classes(pa.array(["ill", "well", ""]), "state", CellRules()).tolist()
    ['ill', 'well', nan]
    """
    texts = rules.texts(column)
    classes = texts.unique().drop_null()
    known = texts.drop_null()
    if len(known) == 0:
        raise TableError(f"Column {name!r} is empty in every row: there is nothing to learn from.")
    if len(classes) == 1:
        raise TableError(
            f"Column {name!r} holds one value only, {classes[0].as_py()!r}: there must be rows of "
            "at least two classes to tell apart."
        )
    _, stray = rules.numbers(column)
    numbers = not stray.any()
    many_numbers = numbers and len(classes) > max(_FEW_NUMBERS, 0.05 * len(known))
    if many_numbers or len(classes) > MAX_CLASSES:
        what = (
            "it looks like a number to predict, and kinlearn sorts rows into classes; make "
            "classes of it first, such as low, medium and high"
            if numbers
            else "it looks like a name or free text; give the column that holds the classes"
        )
        shown = quoted(classes.slice(0, 3).to_pylist())
        raise TableError(
            f"Column {name!r} has {len(classes)} distinct values in {len(known)} rows (such as "
            f"{shown}): {what}."
        )
    return objects(texts)


def read_labels(columns: dict[str, Any], rules: CellRules) -> NDArray[np.float64]:
    """Return 1 for yes, 0 for no, NaN where unknown; one column a label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_labels({"a": pa.array(["yes", "no", ""])}, CellRules()).ravel()
    array([ 1.,  0., nan])
    """
    return np.column_stack([_read_label(name, c, rules) for name, c in columns.items()])


def read_label_cells(name: str, column: Any, rules: CellRules) -> NDArray[np.float64]:
    """Return 1, 0 or NaN for every cell of a label, or refuse what is neither yes nor no."""
    texts = rules.texts(column.combine_chunks() if hasattr(column, "combine_chunks") else column)
    values = np.array([_yes_or_no(text) for text in texts.to_pylist()])
    odd = values == -1.0
    if odd.any():
        raise TableError(
            f"Label {name!r} holds {texts[int(np.argmax(odd))].as_py()!r}, but a label is yes or "
            "no: use 1 and 0, yes and no, or true and false, and leave unknown ones empty. A "
            "column of classes is a --target."
        )
    return values


def _read_label(name: str, column: Any, rules: CellRules) -> NDArray[np.float64]:
    values = read_label_cells(name, column, rules)
    known = values[~np.isnan(values)]
    if known.size == 0 or (known == known[0]).all():
        only = "nothing" if known.size == 0 else ("yes" if known[0] else "no")
        raise TableError(
            f"Label {name!r} holds {only} in every row, so there is nothing to learn: leave it out."
        )
    return values


def _yes_or_no(text: str | None) -> float:
    if text is None:
        return float("nan")
    word = text.lower()
    return 1.0 if word in YES else 0.0 if word in NO else -1.0
