"""One batch of rows, validated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_array

from kinlearn.kernels.measures import Rows
from kinlearn.sums.batch_targets import BatchTargets, read_targets
from kinlearn.tasks import check_task_ids

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RowBatch:
    """Rows of positive weight with their targets, task ids and weights."""

    X: Rows
    targets: BatchTargets
    ids: NDArray | None
    weights: Array | None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: NDArray[np.intp]) -> RowBatch:
        """Some of the rows."""
        return RowBatch(
            self.X[rows],
            self.targets.take(rows),
            None if self.ids is None else self.ids[rows],
            None if self.weights is None else self.weights[rows],
        )


def read_weights(sample_weight: Any, n_rows: int) -> Array:
    """Validate weights, all of which may be zero: a batch without weight is a batch.

    Examples
    --------
    >>> read_weights([1, 0], 2)
    array([1., 0.])
    """
    if np.ndim(sample_weight) == 0 and sample_weight is not None:
        sample_weight = np.full(n_rows, sample_weight)
    weights: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has the shape {weights.shape}, but X has {n_rows} rows: give one "
            "weight a row."
        )
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight holds the negative value {weights.min():g}: weights are numbers of "
            "copies, 0 or more."
        )
    return weights


def read_batch(X: Any, y: Any, task: Any, sample_weight: Any, n_features: int) -> RowBatch:
    """Validate a batch; rows of no weight are left out."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=0)
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the centers have {n_features}.")
    targets = read_targets(y)
    if _num_samples(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but y has {_num_samples(y)}.")
    ids = None if task is None else check_task_ids(task, X.shape[0])
    weights = None
    if sample_weight is not None and X.shape[0]:
        weights = read_weights(sample_weight, X.shape[0])
    batch = RowBatch(X, targets, ids, weights)
    if weights is None or (weights > 0).all():
        return batch
    return batch.take(np.flatnonzero(weights > 0))
