"""Dask collections as aligned partitions: rows, labels, tasks and weights of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kinlearn.distributed.prediction import is_dask

Delayed = Any  # dask.delayed.Delayed


@dataclass(frozen=True)
class Partitions:
    """Parts of a table that may live on different machines.

    Attributes
    ----------
    X : list of Delayed
        Rows; a part becomes an array, a sparse matrix or a pandas DataFrame.
    y, task, weights : lists of Delayed, of arrays, or of None
        What belongs to the same rows.
    sizes : list of int or None
        Numbers of rows; None when they are not known before computing.
    example : array or DataFrame of one row
        Made up, with the width and column names of X.
    """

    X: list[Delayed]
    y: list[Any]
    task: list[Any]
    weights: list[Any]
    sizes: list[int] | None
    example: Any

    def __len__(self) -> int:
        return len(self.X)


def split_partitions(X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> Partitions:
    """Cut everything where X is cut.

    Parameters
    ----------
    X : dask array of shape (n, d), or dask DataFrame
    y, task, sample_weight : dask array, Series or DataFrame, array-like in memory, or None

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> X = da.ones((10, 2), chunks=(4, 1))
    >>> parts = split_partitions(X, np.arange(10))
    >>> parts.sizes, parts.y[2]
    ([4, 4, 2], array([8, 9]))
    """
    if not is_dask(X):
        raise TypeError(
            f"y, task or sample_weight is a Dask collection, but X is a {type(X).__name__}: pass X "
            "as one too, for example dask.array.from_array(X), or compute() the others."
        )
    sizes = None
    if _is_frame(X):
        blocks, example = X.to_delayed(), X._meta_nonempty.iloc[:1]
    else:
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, but its shape is {X.shape}.")
        X = X.rechunk({1: -1})
        blocks, example = X.to_delayed().ravel().tolist(), np.zeros((1, X.shape[1]))
        if not np.isnan(X.chunks[0]).any():
            sizes = [int(size) for size in X.chunks[0]]
    n = len(blocks)
    return Partitions(
        blocks,
        _aligned("y", y, sizes, n),
        _aligned("task", task, sizes, n),
        _aligned("sample_weight", sample_weight, sizes, n),
        sizes,
        example,
    )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def _aligned(name: str, values: Any, sizes: list[int] | None, n: int) -> list[Any]:
    """Cut one more collection, or an array in memory, into the same parts."""
    if values is None:
        return [None] * n
    if not is_dask(values):
        return _cut(name, values, sizes)
    if _is_frame(values):
        blocks = values.to_delayed()
    else:
        if values.ndim > 1:
            values = values.rechunk({1: -1})
        if sizes is not None and not np.isnan(values.chunks[0]).any():
            if values.shape[0] != sum(sizes):
                raise ValueError(f"X has {sum(sizes)} rows, but {name} has {values.shape[0]}.")
            values = values.rechunk({0: tuple(sizes)})
        blocks = values.to_delayed().ravel().tolist()
    if len(blocks) != n:
        raise ValueError(
            f"X has {n} partitions, but {name} has {len(blocks)}, and their lengths are not known: "
            "take both from one table, or compute the lengths first (compute_chunk_sizes)."
        )
    return blocks


def _cut(name: str, values: Any, sizes: list[int] | None) -> list[Any]:
    if sizes is None:
        raise ValueError(
            f"{name} is in memory, but the lengths of the partitions of X are not known: pass "
            f"{name} as a Dask collection of the same partitions."
        )
    if len(values) != sum(sizes):
        raise ValueError(f"X has {sum(sizes)} rows, but {name} has {len(values)}.")
    edges = np.cumsum([0, *sizes])
    take = values.iloc if hasattr(values, "iloc") else values
    return [take[a:b] for a, b in pairwise(edges)]
