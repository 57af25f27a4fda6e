"""Tables in spreadsheets (.xlsx)."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError, quoted, refuse_duplicates
from kinlearn.optional import require
from kinlearn.tables.table_file import BATCH_ROWS, TableFile
from kinlearn.tables.typed_rows import batches_of, kind_of

_MOST_ABOVE = 20
_LOOK_AT = 200
# Formulas that went wrong.
_ERRORS = ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!")


@dataclass(frozen=True)
class Spreadsheet(TableFile):
    """The first sheet of a spreadsheet that holds something."""

    sheet: str = ""
    header_row: int = 0
    at: list[int] = field(default_factory=list)
    kinds: dict[str, str | None] = field(default_factory=dict)

    def _parts(self) -> Iterator[Any]:
        with _sheets(self.path) as book:
            yield from batches_of(self._rows(book[self.sheet]), self.kinds, BATCH_ROWS)

    def _rows(self, sheet: Any) -> Iterator[dict[str, Any]]:
        for row in islice(sheet.iter_rows(values_only=True), self.header_row + 1, None):
            cells = [_value(row[i]) if i < len(row) else None for i in self.at]
            if any(cell is not None for cell in cells):
                yield dict(zip(self.names, cells, strict=True))


def open_spreadsheet(path: Path) -> Spreadsheet:
    """Find the sheet, its column names and the kinds of its columns, or refuse it."""
    with _sheets(path) as book:
        for sheet in book.worksheets:
            first = [list(row) for row in islice(sheet.iter_rows(values_only=True), _LOOK_AT)]
            if any(_held(row) for row in first):
                break
        else:
            raise TableError(f"{path} is empty: none of its sheets holds a cell.")
        header_row = _find_header(first)
        names = ["" if cell is None else str(cell).strip() for cell in first[header_row]]
        at = [
            i
            for i, name in enumerate(names)
            if name or any(i < len(row) and row[i] is not None for row in first[header_row + 1 :])
        ]
        names = [names[i] or f"column_{i + 1}" for i in at]
        refuse_duplicates(names, path)
        notes = []
        if len(book.sheetnames) > 1:
            notes.append(f"Sheet {sheet.title!r} of {quoted(book.sheetnames)} is read.")
        titles = [str(cell) for row in first[:header_row] for cell in row if cell is not None]
        if titles:
            notes.append(
                f"What stands above the column names is no part of the table: {quoted(titles, 2)}."
            )
        found = Spreadsheet(
            path, names, notes=notes, sheet=sheet.title, header_row=header_row, at=at
        )
        kinds: dict[str, str | None] = dict.fromkeys(names)
        for row in found._rows(sheet):
            for name, value in row.items():
                kinds[name] = kind_of(value, kinds[name])
        found.kinds.update(kinds)
    return found


@contextmanager
def sheet_writer(path: Path) -> Iterator[Any]:
    """Write batches to a spreadsheet; no text becomes a formula."""
    openpyxl = require("openpyxl", "Writing a spreadsheet")
    writer = _SheetWriter(openpyxl.Workbook(write_only=True))
    yield writer
    with path.open("wb") as stream:
        writer.book.save(stream)


class _SheetWriter:
    def __init__(self, book: Any) -> None:
        self.book = book
        self._sheet = book.create_sheet("table")
        self._started = False

    def write(self, batch: Any) -> None:
        """Add rows."""
        if not self._started:
            self._sheet.append([self._cell(name) for name in batch.schema.names])
            self._started = True
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            self._sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        cells = require("openpyxl.cell", "Writing a spreadsheet")
        cell = cells.WriteOnlyCell(self._sheet, value=None)
        cell._value, cell.data_type = value, "s"
        return cell


@contextmanager
def _sheets(path: Path) -> Iterator[Any]:
    openpyxl = require("openpyxl", "Reading a spreadsheet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on colours and rules that are not read
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except Exception as error:  # whatever is wrong in it, a person wants to know in a sentence
            raise TableError(
                f"{path} is not a spreadsheet that can be read ({error}): save it again as .xlsx "
                "or CSV."
            ) from None
        try:
            yield book
        finally:
            book.close()


def _find_header(rows: list[list[Any]]) -> int:
    """The first row that is not a title above a wider table."""
    width = max(_held(row) for row in rows)
    for i, row in enumerate(rows[:_MOST_ABOVE]):
        n_held = sum(cell is not None for cell in row)
        if n_held > max(1, width // 3) or (width == 1 and n_held):
            return i
        if n_held and row[0] is None and n_held == width - 1:
            return i
    return next(i for i, row in enumerate(rows) if _held(row))


def _held(row: list[Any]) -> int:
    return max((i + 1 for i, cell in enumerate(row) if cell is not None), default=0)


def _value(cell: Any) -> Any:
    if isinstance(cell, str):
        return None if cell in _ERRORS or not cell.strip() else cell
    if isinstance(cell, datetime.time | datetime.timedelta):
        return str(cell)
    return cell
