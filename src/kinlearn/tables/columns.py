"""What each column is: numbers, categories, or nothing to learn from; said, and open to change."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import TableError, unknown_column
from kinlearn.optional import require

NUMERIC, CATEGORICAL, DROPPED = "numeric", "categorical", "dropped"
# Beyond this many categories, most of them seen once, a column names its rows or is free text.
MAX_CATEGORIES = 100
# A column of numbers may hold this share of other texts, which then count as missing.
_STRAY = 0.05
_ROW_COUNTER_NAMES = ("id", "index", "row", "nr", "no", "number")


@dataclass(frozen=True)
class Column:
    """A column, what it was taken for and why.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"numeric", "categorical", "dropped"}
        What it was taken for.
    why : str
        The reason, in words.
    n_missing, n_distinct : int
        Missing cells and distinct values among the rest.
    example : str
        A value.
    """

    name: str
    kind: str
    why: str
    n_missing: int
    n_distinct: int
    example: str


def infer_columns(
    table: Any,
    rules: CellRules,
    *,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    apart: Collection[str] = (),
    where: str = "The table",
) -> list[Column]:
    """Say for every column of a ``pyarrow.Table`` what it is.

    Parameters
    ----------
    table : pyarrow.Table
        Rows to judge by.
    rules : CellRules
        How cells are read.
    numeric, categorical, drop : collections of str
        Columns the user has decided on.
    apart : collection of str
        Columns with another part: target, task, group.
    where : str
        What to call the table in an error.

    Returns
    -------
    list of Column
        In the table's order, without those set apart.
    """
    wishes = {NUMERIC: set(numeric), CATEGORICAL: set(categorical), DROPPED: set(drop)}
    _check_wishes(wishes, table.column_names, set(apart), where)
    decided = {name: kind for kind, names in wishes.items() for name in names}
    return [
        _judge(name, table[name].combine_chunks(), rules, decided.get(name))
        for name in table.column_names
        if name not in apart
    ]


def _check_wishes(
    wishes: dict[str, set[str]], names: list[str], apart: set[str], where: str
) -> None:
    seen: dict[str, str] = {}
    for kind, wanted in wishes.items():
        for name in sorted(wanted):
            if name not in names:
                raise unknown_column(name, names, where)
            if name in seen:
                raise TableError(f"Column {name!r} was given as both {seen[name]} and {kind}.")
            if name in apart and kind != DROPPED:
                raise TableError(
                    f"Column {name!r} is the target, task, group or a label, so it cannot be a "
                    f"{kind} column to learn from too."
                )
            seen[name] = kind


def _judge(name: str, column: Any, rules: CellRules, wish: str | None) -> Column:
    compute = require("pyarrow.compute", "Reading a table")
    texts = rules.texts(column)
    known = texts.drop_null()
    counts = (len(texts) - len(known), int(compute.count_distinct(known).as_py()))
    example = "" if len(known) == 0 else str(known[0].as_py())
    if wish is not None:
        return Column(name, wish, "as you asked", *counts, example)
    kind, why = _guess(name, column, known, counts[1], rules)
    return Column(name, kind, why, *counts, example)


def _guess(
    name: str, column: Any, known: Any, n_distinct: int, rules: CellRules
) -> tuple[str, str]:
    arrow = require("pyarrow", "Reading a table")
    n_known = len(known)
    if n_known == 0:
        return DROPPED, "every cell is missing"
    if n_distinct == 1:
        return DROPPED, "the same value in every row"
    if arrow.types.is_nested(column.type) or arrow.types.is_binary(column.type):
        return DROPPED, f"cells of type {column.type}"
    if rules.are_dates(column):
        return DROPPED, "dates: turn them into numbers first, such as days since an event"
    values, stray = rules.numbers(column)
    if stray.sum() <= _STRAY * n_known and not arrow.types.is_boolean(column.type):
        if stray.any():
            first = rules.texts(column)[int(np.argmax(stray))].as_py()
            return NUMERIC, (
                f"numbers; {int(stray.sum())} cells such as {first!r} are none and count as missing"
            )
        if _counts_rows(name, values, n_distinct, n_known):
            return DROPPED, "a number of its own for every row"
        return NUMERIC, f"{n_distinct} different numbers"
    if n_distinct == n_known and n_known > MAX_CATEGORIES // 5:
        return DROPPED, "a text of its own in every row: an id or free text"
    if n_distinct > MAX_CATEGORIES and n_distinct > n_known / 2:
        return DROPPED, f"{n_distinct} different texts in {n_known} rows: names or free text"
    return CATEGORICAL, f"{n_distinct} categories"


def _counts_rows(name: str, values: np.ndarray, n_distinct: int, n_known: int) -> bool:
    """Whether whole numbers number the rows: one step each, or distinct under a telling name."""
    finite = values[np.isfinite(values)]
    if n_distinct != n_known or n_known != len(values) or n_known < 20:
        return False
    if (finite != np.rint(finite)).any():
        return False
    words = name.lower().replace("-", "_").split("_")
    return bool((np.diff(finite) == 1).all()) or any(w in _ROW_COUNTER_NAMES for w in words)


def features_of(columns: Iterable[Column]) -> dict[str, list[str]]:
    """Names by kind, of the columns to learn from."""
    kinds: dict[str, list[str]] = {NUMERIC: [], CATEGORICAL: []}
    for column in columns:
        if column.kind != DROPPED:
            kinds[column.kind].append(column.name)
    return kinds
