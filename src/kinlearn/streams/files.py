"""Tables from files, a few thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinlearn.optional import require


def read_tables(path: Path, batch_rows: int) -> Iterator[Any]:
    """Yield pyarrow tables of at most `batch_rows` rows from one file.

    Parameters
    ----------
    path : Path
        Parquet, Arrow (file or stream), Feather or CSV, by its ending.
    batch_rows : int
        Rows at a time.
    """
    pa = require("pyarrow", "Reading files", "stream")
    try:
        yield from _recut(pa, _record_batches(path, batch_rows), batch_rows)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _record_batches(path: Path, batch_rows: int) -> Iterator[Any]:
    name = path.name
    if name.endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=batch_rows)
    elif name.endswith((".csv", ".csv.gz")):
        import pyarrow.csv

        with pyarrow.csv.open_csv(path) as reader:
            yield from reader
    elif name.endswith((".arrow", ".feather", ".ipc")):
        yield from _arrow_batches(path)
    else:
        raise ValueError(
            f"{path} has an ending that is not known: use .parquet, .arrow, .feather or .csv."
        )


def _arrow_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        try:
            file = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            with pa.ipc.open_stream(source) as stream:
                yield from stream
            return
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def _recut(pa: Any, batches: Iterator[Any], batch_rows: int) -> Iterator[Any]:
    """Join and cut batches so that their sizes depend on the rows alone."""
    waiting: list[Any] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.num_rows
        while n_waiting >= batch_rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, batch_rows)
            rest = table.slice(batch_rows)
            n_waiting = rest.num_rows
            waiting = rest.to_batches() if n_waiting else []
    if n_waiting:
        yield pa.Table.from_batches(waiting)
