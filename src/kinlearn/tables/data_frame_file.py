"""A DataFrame in the place of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.data_frames import arrow_table, column_names, is_data_frame
from kinlearn.cells.refusals import TableError, refuse_duplicates
from kinlearn.optional import require
from kinlearn.tables.table_file import TableFile

_WHERE = "The table"


@dataclass(frozen=True)
class DataFrameFile(TableFile):
    """A table that is in memory."""

    table: Any = field(default=None, repr=False)

    def _parts(self) -> Iterator[Any]:
        yield from self.table.to_batches()

    def fingerprint(self) -> str:
        """The SHA-256 of names and cells; no file has the same."""
        arrow = require("pyarrow", "Reading a table")
        stream = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(stream, self.table.schema) as writer:
            writer.write_table(self.table.combine_chunks())
        return hashlib.sha256(stream.getvalue()).hexdigest()

    @classmethod
    def of(cls, table: Any) -> DataFrameFile:
        """A DataFrame of pandas, polars or pyarrow, whose columns have names of their own."""
        if not is_data_frame(table):
            raise TableError(
                f"train_table takes a DataFrame or the name of a file, but got a "
                f"{type(table).__name__}: give pandas.DataFrame(rows, columns=...)."
            )
        names = column_names(table)
        refuse_duplicates(names, _WHERE)
        found = arrow_table(table, CellRules(), names, _WHERE)
        return cls(Path(_WHERE), names, table=found)
