"""Opening a table (CSV, TSV, Parquet) and reading it in batches of bounded size."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError, refuse_duplicates
from kinlearn.optional import require
from kinlearn.tables.text_format import (
    check_encoding,
    find_ragged_row,
    open_text,
    read_header,
)

TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
PARQUET_SUFFIXES = (".parquet", ".pq")
BATCH_ROWS = 20_000
_BLOCK_BYTES = 2 << 20
_MAX_BLOCK_BYTES = 256 << 20


@dataclass(frozen=True)
class TableFile:
    """A table that was found readable, with its names but none of its rows.

    Attributes
    ----------
    path : Path
        Where it is.
    names : list of str
        Its columns.
    delimiter : str or None
        What separates cells; None for Parquet.
    encoding : str
        Of the text.
    """

    path: Path
    names: list[str]
    delimiter: str | None
    encoding: str

    def batches(self) -> Iterator[Any]:
        """Yield ``pyarrow.RecordBatch`` of all columns, at most ``BATCH_ROWS`` rows each.

        Cells of a text file are strings as they stand in it, so that what is written back is
        what was read.
        """
        parts = self._text_batches() if self.delimiter else self._parquet_batches()
        for part in parts:
            for start in range(0, part.num_rows, BATCH_ROWS):
                yield part.slice(start, BATCH_ROWS)

    def _text_batches(self) -> Iterator[Any]:
        arrow = require("pyarrow", "Reading a table")
        text = require("pyarrow.csv", "Reading a table")
        skipped = self._lines_above()
        options = {
            "parse_options": text.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=True
            ),
            "convert_options": text.ConvertOptions(
                column_types={name: arrow.string() for name in self.names},
                strings_can_be_null=False,
            ),
        }
        block, done = _BLOCK_BYTES, 0
        while True:
            reading = text.ReadOptions(
                use_threads=False,
                block_size=block,
                encoding=_arrow_encoding(self.encoding),
                column_names=self.names,
                skip_rows=skipped,
            )
            try:
                with text.open_csv(self.path, read_options=reading, **options) as reader:
                    for batch in reader:
                        done += 1
                        yield batch
                return
            except arrow.ArrowInvalid as error:
                message = str(error)
                if "straddling" in message and done == 0 and block < _MAX_BLOCK_BYTES:
                    block *= 8  # one row is longer than a block
                    continue
                if "Empty CSV" in message:
                    return
                ragged = find_ragged_row(
                    self.path, self.encoding, self.delimiter or ",", len(self.names)
                )
                raise ragged or TableError(f"{self.path} cannot be read: {message}.") from None

    def _lines_above(self) -> int:
        """How many lines the names take, with empty ones above them and inside quotes."""
        rows = csv.reader(open_text(self.path, self.encoding), delimiter=self.delimiter or ",")
        for row in rows:
            if any(cell.strip() for cell in row):
                break
        return rows.line_num

    def _parquet_batches(self) -> Iterator[Any]:
        parquet = require("pyarrow.parquet", "Reading Parquet")
        with parquet.ParquetFile(self.path, memory_map=True) as stored:
            yield from stored.iter_batches(batch_size=BATCH_ROWS)


def open_table(
    path: Path | str, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> TableFile:
    """Look at a table and refuse, in a sentence, what cannot be read.

    Parameters
    ----------
    path : path
        A file whose name ends in .csv, .tsv, .tab, .txt, .parquet or .pq.
    delimiter : str, optional
        What separates cells; by the file's ending when left out.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    TableFile
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder: give the table in it.")
    if not path.exists():
        raise TableError(f"There is no file {path}.")
    suffix = path.suffix.lower()
    if suffix in PARQUET_SUFFIXES:
        return _open_parquet(path)
    if suffix not in TEXT_SUFFIXES:
        known = ", ".join([*TEXT_SUFFIXES, *PARQUET_SUFFIXES])
        raise TableError(
            f"{path} ends in {suffix or 'nothing'!r}, so its format is unknown: tables end in "
            f"{known}. Save a spreadsheet as CSV."
        )
    require("pyarrow", "Reading a table")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty: it needs a line of column names and rows below it.")
    check_encoding(path, encoding)
    delimiter = check_delimiter(delimiter) or TEXT_SUFFIXES[suffix]
    return TableFile(path, read_header(path, encoding, delimiter), delimiter, encoding)


def check_delimiter(delimiter: str | None) -> str | None:
    """Return the character meant, with ``tab`` and ``\\t`` for the tab."""
    if delimiter is None:
        return None
    delimiter = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(delimiter, delimiter)
    if len(delimiter) != 1:
        raise TableError(f"--delimiter must be one character or the word tab, got {delimiter!r}.")
    return delimiter


def _open_parquet(path: Path) -> TableFile:
    arrow = require("pyarrow", "Reading a table")
    parquet = require("pyarrow.parquet", "Reading a table")
    try:
        with parquet.ParquetFile(path) as stored:
            names, n_rows = list(stored.schema_arrow.names), stored.metadata.num_rows
    except arrow.ArrowException as error:
        raise TableError(
            f"{path} is not a Parquet file that can be read ({error}): is it complete?"
        ) from None
    if not names or n_rows == 0:
        raise TableError(f"{path} is empty: it has {len(names)} columns and {n_rows} rows.")
    refuse_duplicates(names, path)
    return TableFile(path, names, None, "utf-8")


def _arrow_encoding(encoding: str) -> str:
    # With its own name for UTF-8 pyarrow does not decode in Python.
    return "utf8" if encoding.replace("_", "-").lower() in ("utf-8", "utf8", "ascii") else encoding
