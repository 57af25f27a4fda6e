"""The log-loss of scores and its gradient over partitions, added up in a tree.

A pass ships one small array of coefficients to the workers and gets one of the same size back. A
part that is lost with its machine is computed again alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.distributed.partitions import Partitions
from kinlearn.distributed.reduction import BRANCHES, compute
from kinlearn.problems.polish_rows import BatchLoss
from kinlearn.sums.batch_targets import read_targets
from kinlearn.sums.row_hash import entry_hashes, row_hashes
from kinlearn.sums.row_order import ordered_print

Array = NDArray[np.float64]
# Loss, gradient, and a print of the rows and their order.
Found = tuple[float, Array, int]


def log_loss_over(reader: Any, loss: BatchLoss, coef: Array, parts: Partitions) -> Found:
    """Return loss and gradient over all rows, and a number that tells whether they changed.

    Parameters
    ----------
    reader : BatchReader
        Knows how rows are validated and weighted.
    loss : BatchLoss
    coef : ndarray of shape (m, k)
    parts : Partitions
    """
    from dask import delayed

    shared = [delayed(reader), delayed(loss), delayed(coef)]
    make, add = delayed(partition_loss), delayed(_added)
    level = [
        make(*shared, i, X, y, weights)
        for i, (X, y, weights) in enumerate(zip(parts.X, parts.y, parts.weights, strict=True))
    ]
    while len(level) > 1:
        level = [add(level[i : i + BRANCHES]) for i in range(0, len(level), BRANCHES)]
    found: Found = compute(level[0])[0]
    return found


def partition_loss(
    reader: Any, loss: BatchLoss, coef: Array, number: int, X: Any, y: Any, weights: Any
) -> Found:
    """Of one partition; errors name it."""
    if X.shape[0] == 0:
        return 0.0, np.zeros(coef.shape), 0
    try:
        X, y, weights = reader.read(X, y, weights)
        value, gradient = loss(coef, X, y, weights)
    except (TypeError, ValueError) as error:
        raise ValueError(f"In partition {number}: {error}") from error
    keys = entry_hashes(row_hashes(X), read_targets(y).salts(np.arange(X.shape[0])))
    return value, gradient, ordered_print(keys, number << 40)


def _added(found: list[Found]) -> Found:
    value, gradient, seen = found[0]
    gradient = gradient.copy()
    for own, slopes, keys in found[1:]:
        value, gradient, seen = value + own, gradient + slopes, (seen + keys) % 2**64
    return value, gradient, seen
