"""Looking at a delimited text file before it is read: how it is written, its names, ragged rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kinlearn.cells.refusals import TableError, quoted, refuse_duplicates
from kinlearn.tables.text_bytes import open_text
from kinlearn.tables.words import number_of

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
# Lines by which the form of a file is found, and how many may stand above the column names.
_LINES = 300
_MOST_ABOVE = 20
_AGREEING = 0.9
_SEP = re.compile(r'^"?sep=(.)"?\s*$', re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How a text file writes a table, so that another can be written like it.

    Attributes
    ----------
    delimiter : str
        What separates cells.
    encoding : str
        Of the text.
    marked : bool
        Whether the bytes begin with a byte order mark.
    header : tuple of str
        The column names, as they stand; that of an unnamed one is empty.
    skipped : int
        How many lines end with the names.
    above : tuple of str
        Those of them that come before the names.
    n_blank : int
        Columns at the end without name or cell.
    line_end : str
        What ends a line.
    """

    delimiter: str
    encoding: str = "utf-8"
    marked: bool = False
    header: tuple[str, ...] = ()
    skipped: int = 0
    above: tuple[str, ...] = ()
    n_blank: int = 0
    line_end: str = "\n"

    @property
    def names(self) -> list[str]:
        """Names of the columns that hold something."""
        held = self.header[: len(self.header) - self.n_blank]
        # An unnamed first column is how many programs write row numbers.
        return [name or f"column_{i + 1}" for i, name in enumerate(held)]

    def notes(self, usual: str) -> list[str]:
        """What is out of the ordinary, in sentences; `usual` is the delimiter by the name."""
        said = []
        if self.delimiter != usual:
            said.append(f"Cells are parted by {DELIMITERS.get(self.delimiter, self.delimiter)}.")
        if self.encoding not in ("utf-8", "utf8", "ascii"):
            said.append(f"The text is in {self.encoding}.")
        titles = [line.strip() for line in self.above if line.strip(" \t;,|\r\n")]
        titles = [line for line in titles if not _SEP.match(line)]
        if titles:
            said.append(
                f"{number_of(len(titles), 'line')} above the column names "
                f"{'is' if len(titles) == 1 else 'are'} no part of the table: {quoted(titles, 2)}."
            )
        if self.n_blank:
            said.append(
                f"{number_of(self.n_blank, 'column')} at the end without name or cell: left out."
            )
        return said


def find_dialect(
    path: Path, encoding: str, marked: bool, usual: str, delimiter: str | None = None
) -> Dialect:
    """Find how a file is written from its first lines, and refuse what cannot be a header.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str
        Of the text.
    marked : bool
        Whether a byte order mark begins it.
    usual : str
        What separates cells in files of such a name.
    delimiter : str, optional
        What separates cells, where that is known.
    """
    lines = list(islice(open_text(path, encoding), _LINES))
    sep = _SEP.match(lines[0]) if lines else None
    start = 0 if sep is None else 1
    rest = lines[start:]
    if delimiter is None:
        delimiter = sep[1] if sep else _find_delimiter(rest, usual)
    form = _Form.of(rest, delimiter)
    if form is None:
        raise TableError(f"{path} is empty: it needs a line of column names and rows below it.")
    names = [cell.strip() for cell in form.header]
    if len(names) == 1:
        _suggest_delimiter(path, rest, delimiter)
    if all(_is_number(name) for name in names if name) and any(names):
        raise TableError(
            f"The first line of {path} holds only numbers ({quoted(names, 4)}), so it looks like "
            "data: put a line of column names above it."
        )
    first = start + form.first_line
    ending = "\r\n" if lines[0].endswith("\r\n") else "\n"
    found = Dialect(
        delimiter,
        encoding,
        marked,
        tuple(names),
        start + form.last_line,
        tuple(line.rstrip("\r\n") for line in lines[:first]),
        form.n_blank,
        ending,
    )
    refuse_duplicates(found.names, path)
    return found


@dataclass(frozen=True)
class _Form:
    """Where the names are when lines are cut by a delimiter."""

    header: list[str]
    first_line: int
    last_line: int
    n_blank: int
    width: int
    agreeing: float
    n_titles: int

    @classmethod
    def of(cls, lines: list[str], delimiter: str) -> _Form | None:
        rows, ends = _rows(lines, delimiter)
        filled = [i for i, row in enumerate(rows) if any(cell.strip() for cell in row)]
        if not filled:
            return None
        widths = Counter(len(rows[i]) for i in filled)
        width = max(widths, key=lambda w: (widths[w], w))
        # Cells that are blank in every row are no columns.
        held = max(_held(rows[i]) for i in filled if len(rows[i]) == width)
        at = next((i for i in filled[:_MOST_ABOVE] if not _is_title(rows[i], held)), filled[0])
        header = list(rows[at])
        below = [rows[i] for i in filled if i > at]
        held = max([_held(header), *(_held(row) for row in below if len(row) == width)])
        if len(header) < width and held <= len(header):
            header += [""] * (width - len(header))
        n_blank = max(0, len(header) - held) if len(header) == width else 0
        agreeing = sum(len(row) in (width, 0) for row in [header, *below]) / (1 + len(below))
        first = ends[at - 1] if at else 0
        return cls(header, first, ends[at], n_blank, width, agreeing, filled.index(at))


def _rows(lines: list[str], delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Rows of the lines, and the number of lines that have gone when each ends."""
    reader = csv.reader(lines, delimiter=delimiter)
    rows, ends = [], []
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error:
        pass
    if len(lines) == _LINES and len(rows) > 1:  # the last one may go on
        rows, ends = rows[:-1], ends[:-1]
    return rows, ends


def _find_delimiter(lines: list[str], usual: str) -> str:
    """The delimiter that cuts the lines into rows of one length, the usual one if it does."""
    forms = {mark: _Form.of(lines, mark) for mark in dict.fromkeys([usual, *DELIMITERS])}
    fits = {
        mark: form
        for mark, form in forms.items()
        if form is not None and form.width > 1 and len(form.header) == form.width
    }
    if not fits:
        return usual

    def rank(mark: str) -> tuple[float, ...]:
        """Few lines above the names, then rows of one length; the usual one if it is as good."""
        form = fits[mark]
        agrees = form.agreeing >= _AGREEING
        return -form.n_titles, agrees, agrees and mark == usual, form.agreeing, form.width

    return max(fits, key=rank)


def _is_title(row: list[str], width: int) -> bool:
    """Whether a row above a wider table has but a text or two at its beginning."""
    n_held = _held(row)
    leading = n_held <= max(1, width // 3) and all(cell.strip() for cell in row[:n_held])
    return width > 1 and leading


def _held(row: list[str]) -> int:
    """How many cells a row has up to the last that is not blank."""
    return max((i + 1 for i, cell in enumerate(row) if cell.strip()), default=0)


def _suggest_delimiter(path: Path, lines: list[str], delimiter: str) -> None:
    for other, name in DELIMITERS.items():
        form = _Form.of(lines, other) if other != delimiter else None
        if form is not None and form.width > 1 and len(form.header) == form.width:
            used = DELIMITERS.get(delimiter, repr(delimiter))
            shown = "tab" if other == "\t" else f'"{other}"'
            raise TableError(
                f"{path} has one column when {used} separates them, but {form.width} with "
                f"{name}: give --delimiter {shown}."
            )


def find_ragged_row(path: Path, dialect: Dialect) -> TableError | None:
    """The error that names the first row with another number of cells, by its line."""
    lines = islice(open_text(path, dialect.encoding), dialect.skipped, None)
    rows = csv.reader(lines, delimiter=dialect.delimiter)
    begins = dialect.skipped + 1
    try:
        for row in rows:
            if row and len(row) != len(dialect.header):
                ends = dialect.skipped + rows.line_num
                return _ragged(path, row, begins, ends, len(dialect.header))
            begins = dialect.skipped + rows.line_num + 1
    except csv.Error:
        return _unclosed(path, begins)
    return None


def _ragged(path: Path, row: list[str], begins: int, ends: int, n_columns: int) -> TableError:
    if ends > begins and row[-1].count("\n") > 1:
        return _unclosed(path, begins)
    return TableError(
        f"Line {begins} of {path} has {number_of(len(row), 'cell')} where the "
        f"header has {n_columns}: it reads {quoted(row, 4)}. A cell that holds the delimiter must "
        'stand in double quotes ("...").'
    )


def _unclosed(path: Path, line: int) -> TableError:
    return TableError(
        f"Line {line} of {path} opens a double quote that is not closed in the same cell: close "
        "it, or write a quote inside a cell twice."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
