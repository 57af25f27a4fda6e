"""Writing a made-up table to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kinlearn.datasets import make_clinic_table
from kinlearn.optional import require
from kinlearn.tables.output import table_writer

_CHUNK = 50_000


def write_example(path: Path, n_rows: int, seed: int) -> list[str]:
    """Write :func:`kinlearn.datasets.make_clinic_table` to `path`; return its columns."""
    names: list[str] = []
    with table_writer(path) as writer:
        for start in range(0, n_rows, _CHUNK):
            columns = make_clinic_table(min(_CHUNK, n_rows - start), random_state=seed + start)
            writer.write(as_batch(columns))
            names = list(columns)
    return names


def as_batch(columns: dict[str, np.ndarray]) -> Any:
    """Columns as a ``pyarrow.RecordBatch``: missing numbers and empty texts are null."""
    arrow = require("pyarrow", "Writing a table")
    arrays = [
        arrow.array(values, from_pandas=True)
        if values.dtype == np.float64
        else arrow.array(values)
        if values.dtype == np.int64
        else arrow.array([text or None for text in values], arrow.string())
        for values in columns.values()
    ]
    return arrow.RecordBatch.from_arrays(arrays, names=list(columns))
