"""Tables in bodies: CSV and Parquet as columns of rows."""

from __future__ import annotations

import io
import re
from typing import Any

from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.rows import Rows, rows_of_columns
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.refusals import TableError, refuse_duplicates
from kinlearn.optional import require
from kinlearn.tables.files import open_table

# What the command line offers, and what a request must do instead.
_REMEDIES = {
    "give --delimiter .*$": "let commas separate its cells.",
    " If the whole file is in .* as UTF-8": " Send it as UTF-8",
    ": save it as CSV first": ": send CSV in UTF-8",
}


def rows_of_csv(served: ServedModel, body: bytes, folder: Any, max_rows: int) -> Rows:
    """Rows of a CSV body that fits in memory."""
    return rows_of_table(served, table_of_csv(body, folder, max_rows))


def table_of_csv(body: bytes, folder: Any, max_rows: int) -> Any:
    """A CSV body as a table of texts."""
    import tempfile
    from pathlib import Path

    arrow = require("pyarrow", "Serving a table")
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".csv") as file:
        file.write(body)
        file.flush()
        try:
            found = open_table(Path(file.name), delimiter=",", encoding="utf-8")
            batches, n_rows = [], 0
            for batch in found.batches():
                n_rows += batch.num_rows
                check_count(n_rows, max_rows)
                batches.append(batch)
        except TableError as error:
            raise unreadable(error, file.name) from None
    if n_rows == 0:
        raise Refusal("The body has column names but no rows below them.", status=422)
    return arrow.Table.from_batches(batches)


def unreadable(error: Exception, path: object) -> Refusal:
    """The refusal of a body that was put into a file, with what its sender can do about it.

    Examples
    --------
    >>> str(unreadable(ValueError('/a.csv has one column: give --delimiter ";".'), "/a.csv"))
    'The body has one column: let commas separate its cells.'
    """
    refusal = Refusal.of(error, 400, path)
    for option, remedy in _REMEDIES.items():
        refusal.args = (re.sub(option, remedy, str(refusal)),)
    return refusal


def rows_of_parquet(served: ServedModel, body: bytes, max_rows: int) -> Rows:
    """Rows of a Parquet body."""
    return rows_of_table(served, table_of_parquet(body, max_rows))


def table_of_parquet(body: bytes, max_rows: int) -> Any:
    """A Parquet body as a table."""
    arrow = require("pyarrow", "Serving a table")
    parquet = require("pyarrow.parquet", "Reading Parquet")
    try:
        with parquet.ParquetFile(io.BytesIO(body)) as file:
            if file.metadata.num_rows > 0:
                check_count(file.metadata.num_rows, max_rows)
            table = file.read()
    except (arrow.ArrowException, OSError, MemoryError) as error:
        raise Refusal(
            f"The body is not Parquet that can be read ({cut(str(error))}): is it complete?",
            status=400,
        ) from None
    if table.num_rows == 0:
        raise Refusal("The body has column names but no rows below them.", status=422)
    return table


def rows_of_table(served: ServedModel, table: Any) -> Rows:
    """Rows of a ``pyarrow.Table``."""
    names = table.column_names
    refuse_duplicates(names, "The body")
    columns = {name: table[name].combine_chunks() for name in names}
    return rows_of_columns(served, columns)


def check_count(n_rows: int, most: int) -> None:
    """Refuse more rows than a request may have."""
    if n_rows > most:
        raise Refusal(
            f"The request has {n_rows} rows or more, and at most {most} are answered at a time: "
            "send them in parts, or as CSV that is to be answered as CSV (Accept: text/csv).",
            status=413,
        )
