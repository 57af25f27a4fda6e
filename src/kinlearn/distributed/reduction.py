"""Sums over partitions: one NormalEquations a partition, added up in a tree.

Sums of different partitions do not wait for each other, and a part that is lost with its machine is
computed again alone. Tasks are dealt out to buckets by a hash of their ids, and each bucket is
added up by itself: the sums of a task meet where they are; only the last machine holds them all.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kinlearn.distributed.partitions import Partitions
from kinlearn.sums import NormalEquations
from kinlearn.sums.row_hash import name_salt
from kinlearn.tasks import number_tasks, split_tasks
from kinlearn.threads import own_threads

# Sums added up by one job of the tree.
BRANCHES = 8
# Buckets that tasks are dealt out to.
TASK_BUCKETS = 16


def reduce_partitions(reader: Any, empty: NormalEquations, parts: Partitions) -> NormalEquations:
    """Return the sums of all rows.

    Parameters
    ----------
    reader : BatchReader
        Knows how rows are validated and weighted; without fitted arrays, as it goes to all workers.
    empty : NormalEquations
        Sums of no rows over the centres in use.
    parts : Partitions
    """
    from dask import delayed

    with_tasks = parts.task[0] is not None or getattr(reader, "task_column", None) is not None
    n_buckets = min(TASK_BUCKETS, len(parts)) if with_tasks else 1
    # part of the graph, not of some worker's memory: a lost worker does not take them along
    shared = [delayed(reader), delayed(empty)]
    make, pick, add = delayed(partition_sums), delayed(_pick), delayed(merge_sums)
    found = [
        make(*shared, i, n_buckets, X, y, task, weights)
        for i, (X, y, task, weights) in enumerate(
            zip(parts.X, parts.y, parts.task, parts.weights, strict=True)
        )
    ]
    roots = []
    for bucket in range(n_buckets):
        level = [pick(sums, bucket) for sums in found]
        while len(level) > 1:
            level = [add(level[i : i + BRANCHES]) for i in range(0, len(level), BRANCHES)]
        roots.append(level[0])
    return merge_sums(compute(*roots))


def compute(*values: Any) -> list[Any]:
    """Compute on the active client, or on threads; each job with one thread of BLAS."""
    import dask

    with own_threads(), warnings.catch_warnings():
        # the centres travel with the graph, which is meant
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return list(dask.compute(*values))


def partition_sums(
    reader: Any,
    empty: NormalEquations,
    number: int,
    n_buckets: int,
    X: Any,
    y: Any,
    task: Any,
    weights: Any,
) -> list[NormalEquations]:
    """Return the sums of one partition, by bucket of tasks; errors name the partition."""
    sums = [empty.copy() for _ in range(n_buckets)]
    if X.shape[0] == 0:
        return sums
    try:
        column = getattr(reader, "task_column", None)
        X, ids = split_tasks(X, task, column)
        X, y, weights = reader.read(X, y, weights)
        if ids is None:
            sums[0].update(X, y, sample_weight=weights)
            return sums
        tasks, index = number_tasks(ids)
        salts = [name_salt(name) % n_buckets for name in tasks.tolist()]
        bucket = np.array(salts, dtype=np.intp)[index]
        for b in np.unique(bucket):
            rows = np.flatnonzero(bucket == b)
            part = y.iloc[rows] if hasattr(y, "iloc") else np.asarray(y)[rows]
            own = None if weights is None else weights[rows]
            sums[b].update(X[rows], part, task=ids[rows], sample_weight=own)
    except (TypeError, ValueError) as error:
        raise type(error)(f"In partition {number}: {error}") from error
    return sums


def merge_sums(sums: list[NormalEquations]) -> NormalEquations:
    """Add up sums over the same centres."""
    total = sums[0].copy()
    for other in sums[1:]:
        total.merge(other)
    return total


def _pick(sums: list[NormalEquations], bucket: int) -> NormalEquations:
    return sums[bucket]
