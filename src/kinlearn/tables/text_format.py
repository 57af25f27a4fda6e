"""Looking at a delimited text file before it is read: encoding, delimiter, names, ragged rows."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path

from kinlearn.cells.refusals import TableError, quoted, refuse_duplicates

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_CHUNK = 1 << 20
_SAMPLE_ROWS = 20


def check_encoding(path: Path, encoding: str) -> None:
    """Refuse bytes that the encoding has no letter for, with their place in the file."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise TableError(
            f"There is no encoding {encoding!r}. Common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from None
    passed, line = 0, 1
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError as error:
                # The decoder saw the bytes it had kept back, then this chunk.
                at = passed - pending + error.start
                seen = error.object[max(0, error.start - 20) : error.start + 10]
                line += error.object[: error.start].count(b"\n")
                raise _wrong_encoding(path, encoding, at, line, bytes(seen)) from None
            if "\0" in text:
                raise TableError(
                    f"{path} holds zero bytes, so it is not text in {encoding}: spreadsheets are "
                    "to be saved as CSV first; a Unicode export needs --encoding utf-16."
                )
            line += text.count("\n")
            passed += len(chunk)
    if len(decoder.getstate()[0]):
        raise TableError(f"{path} ends in the middle of a letter of {encoding}: is it complete?")


def _wrong_encoding(path: Path, encoding: str, at: int, line: int, seen: bytes) -> TableError:
    remedy = "If the whole file is in one other encoding, name it, such as --encoding cp1252."
    return TableError(
        f"{path} is not {encoding} throughout: byte {at} (line {line}), in {seen!r}, is no letter "
        f"of it. {remedy} Otherwise the file mixes encodings: save it again as UTF-8."
    )


def open_text(path: Path, encoding: str) -> Iterator[str]:
    """Lines of the file, without a byte order mark."""
    if encoding.replace("_", "-").lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    with path.open(newline="", encoding=encoding) as stream:
        yield from stream


def read_header(path: Path, encoding: str, delimiter: str) -> list[str]:
    """Return the column names, after refusing what cannot be a header."""
    rows = csv.reader(open_text(path, encoding), delimiter=delimiter)
    header: list[str] = next((row for row in rows if any(cell.strip() for cell in row)), [])
    names = [cell.strip() for cell in header]
    if not names:
        raise TableError(f"{path} is empty: it needs a line of column names and rows below it.")
    if len(names) == 1:
        _suggest_delimiter(path, encoding, delimiter)
    if all(_is_number(name) for name in names):
        raise TableError(
            f"The first line of {path} holds only numbers ({quoted(names, 4)}), so it looks like "
            "data: put a line of column names above it."
        )
    # An unnamed first column is how many programs write row numbers.
    names = [name or f"column_{i + 1}" for i, name in enumerate(names)]
    refuse_duplicates(names, path)
    return names


def _suggest_delimiter(path: Path, encoding: str, delimiter: str) -> None:
    for other, name in DELIMITERS.items():
        if other == delimiter:
            continue
        rows = csv.reader(open_text(path, encoding), delimiter=other)
        widths = {len(row) for row, _ in zip(rows, range(_SAMPLE_ROWS), strict=False) if row}
        if len(widths) == 1 and widths != {1}:
            used = DELIMITERS.get(delimiter, repr(delimiter))
            shown = "tab" if other == "\t" else f'"{other}"'
            raise TableError(
                f"{path} has one column when {used} separates them, but {widths.pop()} with "
                f"{name}: give --delimiter {shown}."
            )


def find_ragged_row(path: Path, encoding: str, delimiter: str, n_columns: int) -> TableError | None:
    """The error that names the first row with another number of cells, by its line."""
    rows = csv.reader(open_text(path, encoding), delimiter=delimiter)
    begins = 1
    try:
        for row in rows:
            if row and len(row) != n_columns:
                return _ragged(path, row, begins, rows.line_num, n_columns)
            begins = rows.line_num + 1
    except csv.Error:
        return _unclosed(path, begins)
    return None


def _ragged(path: Path, row: list[str], begins: int, ends: int, n_columns: int) -> TableError:
    if ends > begins and row[-1].count("\n") > 1:
        return _unclosed(path, begins)
    return TableError(
        f"Line {begins} of {path} has {len(row)} cell{'s' if len(row) > 1 else ''} where the "
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
