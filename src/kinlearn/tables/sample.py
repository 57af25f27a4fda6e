"""Reading the rows to train on: all of them, or as many as fit, drawn evenly."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.refusals import TableError
from kinlearn.optional import require
from kinlearn.tables.files import TableFile


@dataclass(frozen=True)
class Sample:
    """Rows of a table in memory.

    Attributes
    ----------
    table : pyarrow.Table
        The rows.
    positions : ndarray of shape (n,)
        Their numbers in the file, counted from 1, without the names.
    n_rows_in_file : int
        How many there are.
    """

    table: Any
    positions: NDArray[np.int64]
    n_rows_in_file: int

    @property
    def is_whole(self) -> bool:
        return self.table.num_rows == self.n_rows_in_file

    def take(self, mask: NDArray[np.bool_]) -> Sample:
        """The rows where `mask` is true."""
        arrow = require("pyarrow", "Reading a table")
        return Sample(
            self.table.filter(arrow.array(mask)), self.positions[mask], self.n_rows_in_file
        )


def read_sample(
    file: TableFile,
    max_rows: int,
    seed: int,
    usable: Callable[[Any], NDArray[np.bool_]] | None = None,
) -> Sample:
    """Read at most `max_rows` rows, each row of the file as likely as any other.

    Every row draws a number, and the rows with the smallest numbers are kept: one pass, memory for
    twice `max_rows` rows, and the same rows again for the same seed.

    Parameters
    ----------
    file : TableFile
        The table.
    max_rows : int
        Largest number of rows to keep.
    seed : int
        Seed of the draw.
    usable : callable, optional
        Of a batch, says which rows count at all.

    Returns
    -------
    Sample
        In the order of the file.
    """
    arrow = require("pyarrow", "Reading a table")
    rng = np.random.default_rng(seed)
    parts: list[Any] = []
    kept_keys: list[NDArray[np.float64]] = []
    kept_rows: list[NDArray[np.int64]] = []
    seen = held = 0
    bound = 1.0
    for batch in file.batches():
        keys = rng.random(batch.num_rows)
        keep = keys < bound
        if usable is not None:
            keep &= usable(batch)
        parts.append(arrow.Table.from_batches([batch]).filter(arrow.array(keep)))
        kept_keys.append(keys[keep])
        kept_rows.append(seen + 1 + np.flatnonzero(keep))
        seen += batch.num_rows
        held += int(keep.sum())
        if held > 2 * max_rows:
            parts, kept_keys, kept_rows, bound = _prune(parts, kept_keys, kept_rows, max_rows)
            held = max_rows
    if seen == 0:
        raise TableError(f"{file.path} is empty: it has column names but no rows below them.")
    if held > max_rows:
        parts, _, kept_rows, _ = _prune(parts, kept_keys, kept_rows, max_rows)
    return Sample(arrow.concat_tables(parts), np.concatenate(kept_rows), seen)


def _prune(
    parts: list[Any],
    keys: list[NDArray[np.float64]],
    rows: list[NDArray[np.int64]],
    max_rows: int,
) -> tuple[list[Any], list[NDArray[np.float64]], list[NDArray[np.int64]], float]:
    arrow = require("pyarrow", "Reading a table")
    every = np.concatenate(keys)
    bound = float(np.partition(every, max_rows)[max_rows])
    keep = every < bound
    table = arrow.concat_tables(parts).filter(arrow.array(keep)).combine_chunks()
    return [table], [every[keep]], [np.concatenate(rows)[keep]], bound


def row_at(file: TableFile, number: int) -> Any:
    """One row of a table, counted from 1, as a ``pyarrow.Table``."""
    arrow = require("pyarrow", "Reading a table")
    seen = 0
    for batch in file.batches():
        if number <= seen + batch.num_rows:
            return arrow.Table.from_batches([batch.slice(number - seen - 1, 1)])
        seen += batch.num_rows
    raise TableError(f"{file.path} has {seen} rows, so there is no row {number}.")


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file, to know it again; of a table, see :meth:`TableFile.fingerprint`."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
