"""Tables in Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError, refuse_duplicates
from kinlearn.optional import require
from kinlearn.tables.table_file import BATCH_ROWS, TableFile


@dataclass(frozen=True)
class Parquet(TableFile):
    """A table in Parquet."""

    def _parts(self) -> Iterator[Any]:
        parquet = require("pyarrow.parquet", "Reading Parquet")
        with parquet.ParquetFile(self.path, memory_map=True) as stored:
            yield from stored.iter_batches(batch_size=BATCH_ROWS)


def open_parquet(path: Path) -> Parquet:
    """Look at the names and the number of rows, or refuse the file."""
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
    return Parquet(path, names)
