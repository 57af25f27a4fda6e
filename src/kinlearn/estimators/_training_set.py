"""What a fit works on: distinct rows, their targets and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from kinlearn.kernels.measures import Rows
from kinlearn.labels import refuse_mixed_labels
from kinlearn.rows import DistinctRows, find_distinct_rows


@dataclass(frozen=True)
class TrainingSet:
    """Distinct rows with the targets and weights a fit sees, and those calibration sees.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows of positive weight.
    classes : ndarray of shape (c,)
        Sorted class labels.
    labels : ndarray
        Class number of each original row.
    rows : DistinctRows
        The tie to the original rows.
    targets, weights : ndarrays
        From ``sample_weight`` alone.
    fit_targets, fit_weights : ndarrays
        With ``class_weight`` too; `fit_weights` is None when all are equal.
    """

    X: Rows
    classes: np.ndarray
    labels: np.ndarray
    rows: DistinctRows
    targets: np.ndarray
    weights: np.ndarray
    fit_targets: np.ndarray
    fit_weights: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return int(self.targets.shape[0])

    @property
    def prior(self) -> np.ndarray:
        """Weighted share of each class."""
        return self.weights @ self.targets / self.weights.sum()


def encode_classes(y: Any, estimator_name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted classes and each row's class number."""
    refuse_mixed_labels(y)
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{estimator_name} needs at least two classes, but y holds one class only: "
            f"{classes[0]!r}."
        )
    return classes, labels.ravel()


def make_training_set(
    X: Rows,
    y: Any,
    sample_weight: Any,
    class_weight: Any,
    estimator_name: str,
    task: np.ndarray | None = None,
) -> TrainingSet:
    """Encode labels, drop rows of no weight, merge identical rows of a task."""
    classes, labels = encode_classes(y, estimator_name)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        present = np.unique(labels[weights > 0])
        if present.size < 2:
            what = (
                "no row has positive weight"
                if present.size == 0
                else (f"rows of positive weight hold one class only: {classes[present[0]]!r}")
            )
            raise ValueError(f"{estimator_name} needs at least two classes, but {what}.")
    rows = find_distinct_rows(X, weights, task)
    plain = np.ones(labels.size) if weights is None else weights
    targets, totals = _merge(rows, labels, plain, classes.size)
    fit_targets, fit_totals = targets, totals
    if class_weight is not None:
        balance = compute_class_weight(class_weight, classes=classes, y=classes[labels])
        fit_targets, fit_totals = _merge(rows, labels, plain * balance[labels], classes.size)
        if not (fit_totals > 0).all():
            raise ValueError(
                f"class_weight={class_weight!r} gives some training rows no weight: "
                "use positive weights, or leave those rows out."
            )
    distinct = X if rows.n_distinct == X.shape[0] else X[rows.first]
    return TrainingSet(
        X=distinct,
        classes=classes,
        labels=labels,
        rows=rows,
        targets=targets,
        weights=totals,
        fit_targets=fit_targets,
        fit_weights=_unless_equal(fit_totals),
    )


def _merge(
    rows: DistinctRows, labels: np.ndarray, weights: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    totals = rows.total(weights)
    one_hot = np.zeros((labels.size, n_classes))
    one_hot[np.arange(labels.size), labels] = weights
    sums = rows.total(one_hot)
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / totals[:, None], totals


def _unless_equal(weights: np.ndarray) -> np.ndarray | None:
    """Scale weights to a mean of one; None when they are all equal, for the faster solvers."""
    scaled = weights / weights.mean()
    return None if np.allclose(scaled, 1.0, rtol=1e-12, atol=0.0) else scaled


def check_groups(groups: Any, n_rows: int) -> np.ndarray | None:
    """Return groups as a 1-d array of the right length."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    if groups.size != n_rows:
        raise ValueError(f"groups has {groups.size} entries, but X has {n_rows} rows.")
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        raise ValueError("groups contains NaN: give every row a group.")
    check_consistent_length(groups)
    return groups
