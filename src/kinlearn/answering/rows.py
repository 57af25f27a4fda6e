"""Rows that a model can be asked about, made of columns of cells as clients send them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.date_form import date_texts
from kinlearn.cells.refusals import TableError, quoted, unknown_column
from kinlearn.cells.schema import StrayCells
from kinlearn.optional import require
from kinlearn.tables.input_check import on_new_categories

WHERE = "The request"
LARGEST = 1e75  # the squares of these, scaled, are still numbers
_SIMPLE = {int, float, type(None)}
_CELLS = {int, float, str, bool, type(None)}


@dataclass
class Rows:
    """Rows of one model, ready for it.

    Attributes
    ----------
    cells : ndarray, or dict of {str: ndarray}
        The columns that the model was fitted to: a matrix of numbers, or cells by name.
    task : ndarray or None
        Ids that go to the model beside the rows.
    notes : list of str
        What was out of the ordinary.
    unseen : dict of {str: int}
        Cells of each column whose category training did not have.
    """

    cells: NDArray[np.float64] | dict[str, NDArray]
    task: NDArray | None = None
    notes: list[str] = field(default_factory=list)
    unseen: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._first)

    @property
    def _first(self) -> NDArray:
        return next(iter(self.cells.values())) if isinstance(self.cells, dict) else self.cells

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self) * len(self.cells) if isinstance(self.cells, dict) else self.cells.size

    @cached_property
    def X(self) -> Any:
        """The rows as an array or a DataFrame, made when it is asked for."""
        if not isinstance(self.cells, dict):
            return self.cells
        return require("pandas", "Serving a table").DataFrame(self.cells)

    def part(self, start: int, stop: int) -> Rows:
        """Some of the rows."""
        return self.chosen(slice(start, stop))

    def chosen(self, at: NDArray[np.intp] | slice) -> Rows:
        """Some of the rows, by number."""
        task = None if self.task is None else self.task[at]
        if not isinstance(self.cells, dict):
            return Rows(self.cells[at], task)
        return Rows({name: column[at] for name, column in self.cells.items()}, task)


def together(parts: Sequence[Rows]) -> Rows:
    """Rows of several requests as one, with what is counted of their cells."""
    if len(parts) == 1:
        return parts[0]
    tasks = [part.task for part in parts if part.task is not None]
    task = np.concatenate(tasks) if tasks else None
    unseen: Counter[str] = Counter()
    for part in parts:
        unseen.update(part.unseen)
    first = parts[0].cells
    cells: Any
    if isinstance(first, dict):
        each: list[Any] = [part.cells for part in parts]
        cells = {name: np.concatenate([own[name] for own in each]) for name in first}
    else:
        cells = np.concatenate([part.cells for part in parts])
    return Rows(cells, task, unseen=dict(unseen))


def cells_of(served: ServedModel, rows: Rows) -> list[dict[str, Any]]:
    """Rows as records again, of JSON values."""
    if not isinstance(rows.cells, dict):
        given = rows.cells.astype(object)
        given[np.isnan(rows.cells)] = None
        names = served.schema.numeric
        records = [dict(zip(names, row, strict=True)) for row in given.tolist()]
    else:
        columns = [_json_values(column) for column in rows.cells.values()]
        records = [dict(zip(rows.cells, row, strict=True)) for row in zip(*columns, strict=True)]
    if rows.task is not None and served.schema.task is not None:
        for record, task in zip(records, rows.task.tolist(), strict=True):
            record[served.schema.task] = task
    return records


def _json_values(column: NDArray) -> list[Any]:
    if column.dtype.kind == "M":
        return date_texts(column)
    return [None if cell != cell else cell for cell in column.tolist()]


def rows_of_records(served: ServedModel, records: Sequence[Any]) -> Rows:
    """Rows of records, one object a row, in which null is a missing cell."""
    if not records:
        raise Refusal(f"{WHERE} holds no rows: give at least one record.")
    features = served.schema.features
    if set(map(type, records)) != {dict}:
        i = [type(record) is dict for record in records].index(False)
        raise Refusal(
            f"Row {i + 1} is {cut(records[i])}, where a record with a value for each column is "
            f"expected: {quoted(features)}.",
            row=i + 1,
            value=records[i],
        )
    try:
        if served.all_numbers and set(map(len, records)) == {len(features)}:
            found = rows_of_numbers(served, list(_cells(records, features)), len(records))
            if found is not None:
                return found
        columns = _columns(records, features)
    except KeyError:
        raise _absent(served, records) from None
    extra: dict[str, None] = {}
    width = len(features)
    for record in records:
        if len(record) > width:
            extra.update(dict.fromkeys(name for name in record if name not in columns))
    return rows_of_columns(served, columns, list(extra))


def rows_of_numbers(served: ServedModel, cells: Any, n_rows: int) -> Rows | None:
    """Rows of plain numbers, read at once; None where they are to be looked at column by column.

    Parameters
    ----------
    served : ServedModel
        Of numbers alone.
    cells : list or ndarray
        The cells of the first row in the order of the model's columns, then those of the next.
    n_rows : int
        How many rows there are.
    """
    if isinstance(cells, list):
        cells = plain_numbers(cells)
    if cells is None or n_rows == 0:
        return None
    X = np.asarray(cells, dtype=np.float64).reshape(n_rows, len(served.schema.numeric))
    if not (np.abs(X) <= LARGEST).all():
        return None
    if served.numeric_marks.size and np.isin(X, served.numeric_marks).any():
        return None
    if served.is_matrix:
        return Rows(X)
    columns = np.ascontiguousarray(X.T)
    return _shaped(served, dict(zip(served.schema.numeric, columns, strict=True)))


def plain_numbers(cells: list[Any]) -> NDArray[np.float64] | None:
    """Whole numbers and fractions as an array; None where any cell is something else.

    Examples
    --------
    >>> plain_numbers([1, 2.5]), plain_numbers([1, None]), plain_numbers([1, True])
    (array([1. , 2.5]), None, None)
    """
    try:
        found = np.array(array("d", cells))
    except (TypeError, OverflowError):
        return None
    # True and False are numbers to Python, 1 and 0
    might = ((found == 0.0) | (found == 1.0)).any()
    return None if might and bool in set(map(type, cells)) else found


def _cells(records: Sequence[dict[str, Any]], names: list[str]) -> Iterable[Any]:
    """The cells of one record after the other."""
    rows = map(itemgetter(*names), records)
    return rows if len(names) == 1 else chain.from_iterable(rows)


def _columns(records: Sequence[dict[str, Any]], names: list[str]) -> dict[str, list[Any]]:
    cells, width = list(_cells(records, names)), len(names)
    return {name: cells[k::width] for k, name in enumerate(names)}


def _absent(served: ServedModel, records: Sequence[dict[str, Any]]) -> Refusal:
    """The refusal of a cell that is not given at all."""
    for name in served.schema.features:
        for i, record in enumerate(records):
            if name in record:
                continue
            if any(name in other for other in records):
                return Refusal(
                    f"Row {i + 1} has no column {name!r}, which other rows have: give null for a "
                    "missing cell.",
                    column=name,
                    row=i + 1,
                )
            error = unknown_column(name, [str(key) for key in record], WHERE)
            return Refusal(f"The model was trained with column {name!r}. {error}", column=name)
    raise AssertionError("every cell is there")


def rows_of_columns(
    served: ServedModel, columns: Mapping[str, Any], extra: Sequence[str] = ()
) -> Rows:
    """Rows of columns of equal length: lists of JSON values, NumPy arrays or Arrow arrays."""
    schema = served.schema
    names = list(columns)
    for name in schema.features:
        if name not in columns:
            error = unknown_column(name, names, WHERE)
            raise Refusal(f"The model was trained with column {name!r}. {error}", column=name)
    lengths = {name: len(columns[name]) for name in schema.features}
    first = schema.features[0]
    for name, length in lengths.items():
        if length != lengths[first]:
            raise Refusal(
                f"Column {name!r} has {length} cells and column {first!r} {lengths[first]}: give "
                "every column the same number.",
                column=name,
            )
    if lengths[first] == 0:
        raise Refusal(f"{WHERE} holds no rows: give at least one record.")
    notes = [_on_extra(list(extra) or [name for name in names if name not in lengths])]
    strays = StrayCells("the request", enough=1)
    read: dict[str, Any] = {}
    for name in schema.features:
        if name in schema.numeric:
            read[name] = _numbers(served, name, columns[name], strays)
        elif name in schema.dates:
            read[name] = _dates(served, name, columns[name], strays)
        else:
            read[name] = _words(served, name, columns[name])
    if not served.takes_missing:
        _refuse_missing(served, read)
    found = _shaped(served, read)
    for name, fresh in _new_categories(served, read).items():
        found.unseen[name] = fresh.total()
        is_task = name == schema.task
        notes.append(on_new_categories(name, fresh.total(), fresh, is_task))
    found.notes = [sentence for sentence in [*notes, *strays.sentences()] if sentence]
    return found


def _shaped(served: ServedModel, read: dict[str, Any]) -> Rows:
    schema = served.schema
    task = read[schema.task] if served.task_given_apart and schema.task is not None else None
    if task is not None:
        known = np.asarray(served.classifier.tasks_)
        if known.dtype.kind in "iuf":
            task = np.array([_task_number(each) for each in task.tolist()], dtype=np.float64)
    if served.is_matrix:
        return Rows(np.column_stack([read[name] for name in schema.numeric]), task)
    order = schema.features
    if not served.from_table:
        order = [str(name) for name in served.model.feature_names_in_]
    return Rows({name: read[name] for name in order}, task)


def _task_number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return np.inf  # no task that was seen


def _numbers(served: ServedModel, name: str, cells: Any, strays: StrayCells) -> NDArray[np.float64]:
    """A column of numbers, none of which is too large to compute with."""
    values = _read_numbers(served, name, cells, strays)
    huge = np.abs(values) > LARGEST
    if huge.any():
        row = int(np.argmax(huge)) + 1
        raise Refusal(
            f"Row {row} has {values[row - 1]:g} in column {name!r}: numbers beyond {LARGEST:g} "
            "cannot be computed with; look for a wrong value there.",
            column=name,
            row=row,
            value=float(values[row - 1]),
        )
    return values


def _read_numbers(
    served: ServedModel, name: str, cells: Any, strays: StrayCells
) -> NDArray[np.float64]:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        return _without_marks(served, cells.astype(np.float64))
    rules = served.schema.rules_of(name)
    if isinstance(cells, (list, np.ndarray)):
        listed = cells if isinstance(cells, list) else cells.tolist()
        if set(map(type, listed)) <= _SIMPLE:
            return _without_marks(served, np.array(listed, dtype=np.float64))
        cells = _texts(name, listed)
    try:
        values, stray = rules.numbers(cells)
    except TableError as error:
        raise Refusal(f"{error} The request cannot be read.", column=name) from None
    if stray.any():
        at = int(np.argmax(stray))
        try:
            strays.add(name, rules.texts(cells), stray)
        except TableError as error:
            value = str(cells[at].as_py())
            raise Refusal(
                f"{error} Row {at + 1} holds {cut(value)!r}.", column=name, row=at + 1, value=value
            ) from None
        _refuse_stray(served, name, cells, at, "number")
    return values


def _refuse_stray(served: ServedModel, name: str, cells: Any, at: int, due: str) -> None:
    """Refuse a cell that would be taken for a missing one by a model that takes none."""
    if not served.takes_missing:
        value = str(cells[at].as_py())
        raise Refusal(
            f"Row {at + 1} holds {cut(value)!r} in column {name!r}, which is no {due}, and this "
            f"model takes no missing cells: give a {due}.",
            column=name,
            row=at + 1,
            value=value,
        )


def _without_marks(served: ServedModel, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers, NaN where they mean a missing cell."""
    values[np.isinf(values)] = np.nan
    if served.numeric_marks.size:
        values[np.isin(values, served.numeric_marks)] = np.nan
    return values


def _dates(
    served: ServedModel, name: str, cells: Any, strays: StrayCells
) -> NDArray[np.datetime64]:
    """Dates to the microsecond, NaT where missing."""
    rules = served.schema.rules_of(name)
    if isinstance(cells, (list, np.ndarray)):
        cells = _texts(name, cells if isinstance(cells, list) else cells.tolist())
    dates, stray = rules.dates(cells)
    if stray.any():
        at = int(np.argmax(stray))
        try:
            strays.add(name, rules.texts(cells), stray, "date")
        except TableError as error:
            value = str(cells[at].as_py())
            raise Refusal(
                f"{error} Row {at + 1} holds {cut(value)!r}.", column=name, row=at + 1, value=value
            ) from None
        _refuse_stray(served, name, cells, at, "date")
    return dates


def _words(served: ServedModel, name: str, cells: Any) -> NDArray[np.object_]:
    """Categories in their one spelling, NaN where missing."""
    if isinstance(cells, np.ndarray):
        cells = cells.tolist()
    if not isinstance(cells, list):
        from kinlearn.cells.cell_rules import objects

        return objects(served.schema.rules_of(name).texts(cells))
    known: dict[str, Any] = {}
    rules = served.schema.rules_of(name)
    out = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        text = cell if type(cell) is str else _text(name, i, cell)
        if text not in known:
            word = rules.word(text)
            known[text] = np.nan if word is None else word
        out[i] = known[text]
    return out


def _texts(name: str, cells: list[Any]) -> Any:
    arrow = require("pyarrow", "Serving a table")
    return arrow.array([_text(name, i, cell) for i, cell in enumerate(cells)], arrow.string())


def _text(name: str, row: int, cell: Any) -> str:
    """A cell as a text file would hold it."""
    if cell is None:
        return ""
    if type(cell) not in _CELLS:
        kind = "list" if isinstance(cell, list) else type(cell).__name__
        raise Refusal(
            f"Row {row + 1} has {cut(cell)} in column {name!r}: a cell is a number, a text, true, "
            f"false or null, and this is a {'table' if kind == 'dict' else kind}.",
            column=name,
            row=row + 1,
            value=cell,
        )
    if isinstance(cell, str):
        # halves of a letter, which JSON can write and no text file can hold
        return cell.encode("utf-8", "replace").decode("utf-8")
    return str(cell)


def _new_categories(served: ServedModel, read: dict[str, Any]) -> dict[str, Counter[str]]:
    found = {}
    for name, levels in served.levels.items():
        strange = [v for v in read[name].tolist() if isinstance(v, str) and v not in levels]
        if strange:
            found[name] = Counter(strange)
    return found


def _refuse_missing(served: ServedModel, read: dict[str, Any]) -> None:
    for name in served.schema.features:
        values = read[name]
        gone = np.isnan(values) if values.dtype.kind == "f" else np.array([v != v for v in values])
        if gone.any():
            row = int(np.argmax(gone)) + 1
            raise Refusal(
                f"Row {row} has no value in column {name!r}, and this model takes no missing "
                "cells: give a number, or train a model that fills them, such as kinlearn train "
                "does.",
                column=name,
                row=row,
            )


def _on_extra(names: Sequence[str]) -> str:
    if not names:
        return ""
    many = len(names) > 1
    return (
        f"{WHERE} has the column{'s' if many else ''} {quoted(names)}, which the model was not "
        f"trained with: {'they were' if many else 'it was'} not looked at."
    )
