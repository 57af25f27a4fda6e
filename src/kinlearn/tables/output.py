"""Writing results: never over what is there unless asked, and never half of a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from kinlearn.archives.atomic_write import replacing
from kinlearn.cells.refusals import TableError
from kinlearn.optional import require
from kinlearn.tables.files import (
    JSON_SUFFIXES,
    PARQUET_SUFFIXES,
    STANDARD,
    SUFFIXES,
    TEXT_SUFFIXES,
    how_it_ends,
    suffix_of,
)
from kinlearn.tables.spreadsheets import sheet_writer
from kinlearn.tables.table_file import TableFile
from kinlearn.tables.text_format import Dialect

PAGE_SUFFIXES = (".html", ".htm")
# What makes a spreadsheet take a cell for a formula, where it is no number.
_BEGINS_FORMULA = "=+-@\t\r\n"
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+([eE][+-]?[0-9]+)?$")


def check_output(path: Path, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work, an output that exists, is an input or cannot be written."""
    if path == STANDARD:
        return
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise TableError(f"{path} would overwrite what is read: give another name for it.")
    if path.is_dir():
        raise TableError(f"{path} is a folder: give the name of a file in it.")
    if path.exists() and not force:
        raise TableError(f"{path} exists: give another name, or --force to replace it.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise TableError(f"The folder {folder} does not exist: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise TableError(f"Nothing can be written in the folder {folder}: choose another one.")


def check_table_suffix(path: Path) -> None:
    """Refuse an output whose ending names no table format."""
    if path != STANDARD and suffix_of(path) not in SUFFIXES:
        raise TableError(
            f"{path} {how_it_ends(path)}, so its format is unknown: end it in one of "
            f"{', '.join(SUFFIXES)}."
        )


def check_page_suffix(path: Path) -> None:
    """Refuse a page whose ending names another format."""
    if path.suffix.lower() not in PAGE_SUFFIXES:
        raise TableError(f"{path} is to be a page: let its name end in .html.")


def write_text(path: Path, text: str) -> None:
    """Write a text file in one move."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


class TableWriter(Protocol):
    """Takes ``pyarrow.RecordBatch`` of one schema, in order."""

    def write(self, batch: Any) -> None:
        """Add rows."""
        ...


def safe_cell(value: Any) -> Any:
    """A cell that a spreadsheet will show and not compute: no formula, a number as it is.

    Examples
    --------
    >>> [safe_cell(value) for value in ("=1+1", "-0.5", "+ink", "yes", 3)]
    ["'=1+1", '-0.5', "'+ink", 'yes', 3]
    """
    if not isinstance(value, str) or value[:1] not in _BEGINS_FORMULA or value == "":
        return value
    return value if _PLAIN_NUMBER.match(value) else f"'{value}"


@contextmanager
def table_writer(
    path: Path, safe: bool = False, *, like: TableFile | None = None, decimal: str = "."
) -> Iterator[TableWriter]:
    """Open a table to be written, in the format of its ending; it appears when complete.

    Parameters
    ----------
    path : Path
        Where to write; ``-`` is standard output.
    safe : bool
        Whether no cell of a text may be a formula to a spreadsheet.
    like : TableFile, optional
        A text is written as this one is, if it has the same ending or goes to standard output:
        delimiter, encoding, what stands above the column names, columns without a name.
    decimal : str
        The decimal mark of numbers in a text.
    """
    check_table_suffix(path)
    if path == STANDARD:
        writer = _TextWriter(sys.stdout.buffer, _dialect_of(path, like), like, decimal, safe)
        yield writer
        writer.close()
        sys.stdout.buffer.flush()
        return
    ending = suffix_of(path)
    with replacing(path) as partial:
        if ending in PARQUET_SUFFIXES:
            with _ParquetWriter(partial) as stored:
                yield stored
            return
        if ending.removesuffix(".gz") not in (*TEXT_SUFFIXES, *JSON_SUFFIXES):
            with sheet_writer(partial) as sheet:
                yield sheet
            return
        with _opened(partial, ending) as stream:
            if ending.removesuffix(".gz") in JSON_SUFFIXES:
                yield _JsonWriter(stream)
                return
            writer = _TextWriter(stream, _dialect_of(path, like), like, decimal, safe)
            try:
                yield writer
            finally:
                writer.close()


@contextmanager
def _opened(path: Path, ending: str) -> Iterator[IO[bytes]]:
    with path.open("wb") as stream:
        if not ending.endswith(".gz"):
            yield stream
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def _dialect_of(path: Path, like: TableFile | None) -> Dialect:
    ending = suffix_of(path).removesuffix(".gz")
    if like is not None and like.dialect is not None:
        theirs = suffix_of(like.files[0]).removesuffix(".gz")
        if path == STANDARD or ending == theirs:
            return like.dialect
    return Dialect(TEXT_SUFFIXES.get(ending, ","))


class _TextWriter:
    # Python's writer quotes only where needed; pyarrow's would quote every text.
    def __init__(
        self,
        stream: IO[bytes],
        dialect: Dialect,
        like: TableFile | None,
        decimal: str,
        safe: bool,
    ) -> None:
        same = like is not None and dialect is like.dialect
        self._dialect = dialect
        self._decimal = decimal
        # columns that labels brought stand behind those of the file
        self._n_own = len(dialect.header) - dialect.n_blank if same else 0
        self._text = io.TextIOWrapper(stream, encoding=_encoding_of(dialect), newline="")
        self._rows = csv.writer(
            self._text, delimiter=dialect.delimiter, lineterminator=dialect.line_end
        )
        self._started = False
        self._safe = safe

    def write(self, batch: Any) -> None:
        """Add rows."""
        try:
            if not self._started:
                self._write_header(batch.schema.names)
            columns = [self._cells(column) for column in batch.columns]
            blank = [[""] * batch.num_rows] * self._dialect.n_blank if self._n_own else []
            columns[self._n_own : self._n_own] = blank
            self._rows.writerows(zip(*columns, strict=True))
        except UnicodeEncodeError as error:
            raise TableError(
                f"The table is written in {self._dialect.encoding}, as it came, which has no "
                f"letter for {error.object[error.start]!r}: save it as UTF-8 first."
            ) from None

    def _write_header(self, names: list[str]) -> None:
        self._started = True
        if self._n_own:
            for line in self._dialect.above:
                self._text.write(line + self._dialect.line_end)
            names = [*self._dialect.header, *names[self._n_own :]]
        names = [safe_cell(name) for name in names] if self._safe else names
        self._rows.writerow(names)

    def _cells(self, column: Any) -> list[Any]:
        cells = column.to_pylist()
        if self._safe:
            cells = [safe_cell(cell) for cell in cells]
        if self._decimal == "." or str(column.type) != "double":
            return cells
        return [None if x is None else str(x).replace(".", self._decimal) for x in cells]

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


def _encoding_of(dialect: Dialect) -> str:
    plain = dialect.encoding.replace("_", "-").lower() in ("utf-8", "utf8")
    return "utf-8-sig" if dialect.marked and plain else dialect.encoding


class _JsonWriter:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, batch: Any) -> None:
        for row in batch.to_pylist():
            finite = {name: None if cell != cell else cell for name, cell in row.items()}
            line = json.dumps(finite, ensure_ascii=False, default=str)
            self._stream.write(line.encode() + b"\n")


class _ParquetWriter:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def __enter__(self) -> _ParquetWriter:
        return self

    def write(self, batch: Any) -> None:
        if self._writer is None:
            parquet = require("pyarrow.parquet", "Writing Parquet")
            self._writer = parquet.ParquetWriter(self._path, batch.schema)
        self._writer.write_batch(batch)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
