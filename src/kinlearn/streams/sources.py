"""From what a user passes to numbered batches, which can be gone through again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinlearn.streams.batches import Batch, ColumnRoles, as_batch, is_table

# Rows at a time from arrays and files: enough for efficient matrix products, little memory.
BATCH_ROWS = 8192
READERS = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".csv.gz")


class Source:
    """Numbered batches.

    Parameters
    ----------
    start : callable
        ``start(skip)`` iterates from row number `skip`; None for what can be gone through once
        only.
    once : iterator, optional
        Batches that can be gone through once only.
    """

    def __init__(
        self,
        start: Callable[[int], Iterator[Batch]] | None,
        once: Iterator[Batch] | None = None,
    ) -> None:
        self._start, self._once = start, once

    @property
    def repeatable(self) -> bool:
        """Whether a second pass is possible."""
        return self._start is not None

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        """Iterate from row number `skip`, in whatever batches rows came before it."""
        if self._start is not None:
            return self._start(skip)
        assert self._once is not None
        return _skipped(self._once, skip)


def open_source(source: Any, roles: ColumnRoles, batch_rows: int = BATCH_ROWS) -> Source:
    """Make numbered batches of anything that holds rows.

    Parameters
    ----------
    source : path, list of paths, tuple of arrays, table, or iterable of batches
        A path is a file (Parquet, Arrow, Feather, CSV) or a folder of such, read in the order of
        their names. A tuple ``(X, y)``, ``(X, y, task)`` or ``(X, y, task, sample_weight)`` of
        arrays (memory-mapped ones, too) and a table are cut into batches. An iterable gives batches
        as such tuples or as tables; a function is called for a new iterator at every pass.
    roles : ColumnRoles
        Names of columns, for tables.
    batch_rows : int
        Rows at a time, of what is cut here.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.streams import ColumnRoles, open_source
    >>> source = open_source((np.ones((5, 2)), np.arange(5)), ColumnRoles(), batch_rows=2)
    >>> [len(batch.y) for batch in source.batches()]
    [2, 2, 1]
    """
    if isinstance(source, (str, os.PathLike)):
        return _file_source(find_files(Path(source)), roles, batch_rows)
    if isinstance(source, list) and source and isinstance(source[0], (str, os.PathLike)):
        return _file_source([Path(path) for path in source], roles, batch_rows)
    if is_table(source):
        return Source(lambda skip: _cut_table(source, roles, batch_rows, skip))
    if isinstance(source, tuple) and 2 <= len(source) <= 4 and hasattr(source[0], "shape"):
        return Source(lambda skip: _cut_arrays(source, batch_rows, skip))
    if callable(source):
        return Source(lambda skip: _skipped(_numbered(source(), roles), skip))
    if isinstance(source, Iterator):
        return Source(None, _numbered(source, roles))
    if hasattr(source, "__iter__"):
        return Source(lambda skip: _skipped(_numbered(source, roles), skip))
    raise TypeError(
        f"A stream must be a path, a tuple of arrays, a table or an iterable of batches, but "
        f"{type(source).__name__} was given."
    )


def find_files(path: Path) -> list[Path]:
    """The file itself, or the readable files of a folder and its subfolders by name."""
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(READERS))
        if not found:
            raise FileNotFoundError(
                f"The folder {path} holds no file that ends in {', '.join(READERS)}."
            )
        return found
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    return [path]


def _file_source(files: list[Path], roles: ColumnRoles, batch_rows: int) -> Source:
    from kinlearn.streams.files import read_tables

    def start(skip: int) -> Iterator[Batch]:
        for path in files:
            first = 0
            for table in read_tables(path, batch_rows):
                last = first + table.num_rows
                over = min(skip, table.num_rows)
                skip -= over
                if over < table.num_rows:
                    where = f"rows {first + over} to {last - 1} of {path}"
                    yield roles.read(table.slice(over), where)
                first = last

    return Source(start)


def _cut_arrays(arrays: tuple[Any, ...], batch_rows: int, skip: int) -> Iterator[Batch]:
    n_rows = arrays[0].shape[0]
    for start in range(skip, n_rows, batch_rows):
        rows = slice(start, min(start + batch_rows, n_rows))
        # a copy of a memory-mapped part, so that the file is read once and in order
        parts = [None if a is None else _part(a, rows) for a in arrays]
        yield Batch(*parts, where=f"rows {rows.start} to {rows.stop - 1}")


def _part(array: Any, rows: slice) -> Any:
    part = array.iloc[rows] if hasattr(array, "iloc") else array[rows]
    return np.array(part) if isinstance(array, np.memmap) else part


def _cut_table(table: Any, roles: ColumnRoles, batch_rows: int, skip: int) -> Iterator[Batch]:
    n_rows = table.shape[0]
    for start in range(skip, n_rows, batch_rows):
        stop = min(start + batch_rows, n_rows)
        if hasattr(table, "iloc"):
            part = table.iloc[start:stop]
        else:
            part = table.slice(start, stop - start)
        yield roles.read(part, f"rows {start} to {stop - 1}")


def _numbered(iterable: Any, roles: ColumnRoles) -> Iterator[Batch]:
    for value in iterable:
        yield as_batch(value, roles, "")


def _skipped(batches: Iterator[Batch], skip: int) -> Iterator[Batch]:
    for batch in batches:
        over = min(skip, batch.n_rows) if skip else 0
        skip -= over
        if over == 0:
            yield batch
        elif over < batch.n_rows:
            yield batch.rows(slice(over, None))
