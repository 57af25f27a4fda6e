"""Dask collections told from other input, and answered lazily, a partition at a time."""

from __future__ import annotations

import sys
from copy import copy
from typing import Any

import numpy as np


def is_dask(*values: Any) -> bool:
    """Whether any of the values is a Dask collection.

    Who holds a collection has imported Dask, so that a process without it need not be asked.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.distributed import is_dask
    >>> is_dask(np.zeros(3), None)
    False
    """
    base = sys.modules.get("dask.base")
    return base is not None and any(base.is_dask_collection(value) for value in values)


def predict_partitions(model: Any, name: str, X: Any, task: Any = None) -> Any:
    """Return the lazy result of ``model.<name>(X)`` (or ``(X, task=task)``)."""
    import dask.array as da
    from dask import delayed
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if not is_dask(X):
        raise TypeError(
            f"task is a Dask collection, but X is a {type(X).__name__}: pass both as collections, "
            "or compute() the task ids."
        )
    light = model_only(model)
    frame = hasattr(X, "map_partitions")
    meta = _meta(light, name, X, task)
    shared = delayed(light)
    if frame:
        given = [X] if task is None else [X, task]
        return given[0].map_partitions(
            _apply, *given[1:], model=shared, method=name, meta=meta, enforce_metadata=False
        )
    X = X.rechunk({1: -1})
    rows = [X]
    if task is not None:
        if not is_dask(task):
            task = da.from_array(np.asarray(task), chunks=(X.chunks[0],))
        rows.append(task.rechunk({0: X.chunks[0]})[:, None])
    flat = meta.ndim == 1
    return da.map_blocks(
        _apply,
        *rows,
        model=shared,
        method=name,
        dtype=meta.dtype,
        meta=meta,
        chunks=(X.chunks[0],) if flat else (X.chunks[0], (meta.shape[1],)),
        drop_axis=1 if flat else [],
    )


def model_only(model: Any) -> Any:
    """Return the fitted model without the sums and training scores that prediction needs not."""
    light = copy(model)
    for name in ("statistics_", "held_out_scores_", "held_out_links_", "held_out_codes_"):
        light.__dict__.pop(name, None)
    return light


def _apply(X: Any, task: Any = None, *, model: Any, method: str) -> Any:
    if X.shape[0] == 0:
        return _empty(model, method, X)
    if task is None:
        return getattr(model, method)(X)
    ids = np.asarray(task).ravel()
    return getattr(model, method)(X, task=ids)


def _meta(model: Any, name: str, X: Any, task: Any) -> np.ndarray:
    """Return an empty result of the right shape and type, from one made-up row."""
    row = X._meta_nonempty.iloc[:1] if hasattr(X, "map_partitions") else np.zeros((1, X.shape[1]))
    return _probe(model, name, row, task is not None)


def _empty(model: Any, name: str, X: Any) -> np.ndarray:
    row = np.zeros((1, X.shape[1]))
    if hasattr(X, "columns"):
        import pandas as pd

        row = pd.DataFrame(row, columns=X.columns)
    return _probe(model, name, row, getattr(model, "tasks_", None) is not None)


def _probe(model: Any, name: str, row: Any, with_task: bool) -> np.ndarray:
    probe = copy(model)
    if hasattr(probe, "unseen"):
        probe.unseen = "shared"  # the made-up row may be of a task that nobody has seen
    tasks = getattr(probe, "tasks_", None)
    ids = {"task": tasks[:1]} if with_task and tasks is not None and len(tasks) else {}
    if getattr(probe, "task_column", None) is not None:
        ids = {}
    found = getattr(probe, name)(row, **ids)
    if not isinstance(found, np.ndarray):
        raise TypeError(
            f"{name} of this model returns a {type(found).__name__}, one entry a column of Y, "
            "which has no Dask array to match: call it on computed partitions."
        )
    return found[:0]
