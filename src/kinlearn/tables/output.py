"""Writing results: never over what is there unless asked, and never half of a file."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from kinlearn.archives.atomic_write import replacing
from kinlearn.cells.refusals import TableError
from kinlearn.optional import require
from kinlearn.tables.files import PARQUET_SUFFIXES, TEXT_SUFFIXES


def check_output(path: Path, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work, an output that exists or that is one of the inputs."""
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise TableError(f"{path} would overwrite what is read: give another name for it.")
    if path.is_dir():
        raise TableError(f"{path} is a folder: give the name of a file in it.")
    if path.exists() and not force:
        raise TableError(f"{path} exists: give another name, or --force to replace it.")
    if not path.absolute().parent.is_dir():
        raise TableError(f"The folder {path.absolute().parent} does not exist: make it first.")


def check_table_suffix(path: Path) -> None:
    """Refuse an output whose ending names no table format."""
    known = [*TEXT_SUFFIXES, *PARQUET_SUFFIXES]
    if path.suffix.lower() not in known:
        raise TableError(
            f"{path} ends in {path.suffix or 'nothing'!r}, so its format is unknown: end it in one "
            f"of {', '.join(known)}."
        )


def write_text(path: Path, text: str) -> None:
    """Write a text file in one move."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


class TableWriter(Protocol):
    """Takes ``pyarrow.RecordBatch`` of one schema, in order."""

    def write(self, batch: Any) -> None:
        """Add rows."""
        ...


@contextmanager
def table_writer(path: Path) -> Iterator[TableWriter]:
    """Open a table to be written, CSV, TSV or Parquet by its ending; it appears when complete."""
    check_table_suffix(path)
    with replacing(path) as partial:
        writer = (
            _ParquetWriter(partial)
            if path.suffix.lower() in PARQUET_SUFFIXES
            else _TextWriter(partial, TEXT_SUFFIXES[path.suffix.lower()])
        )
        try:
            yield writer
        finally:
            writer.close()


class _TextWriter:
    # Python's writer quotes only where needed; pyarrow's would quote every text.
    def __init__(self, path: Path, delimiter: str) -> None:
        self._stream = path.open("w", newline="", encoding="utf-8")
        self._rows = csv.writer(self._stream, delimiter=delimiter, lineterminator="\n")
        self._started = False

    def write(self, batch: Any) -> None:
        if not self._started:
            self._rows.writerow(batch.schema.names)
            self._started = True
        columns = [column.to_pylist() for column in batch.columns]
        self._rows.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._stream.close()


class _ParquetWriter:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        if self._writer is None:
            parquet = require("pyarrow.parquet", "Writing Parquet")
            self._writer = parquet.ParquetWriter(self._path, batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
