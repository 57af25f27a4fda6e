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
from kinlearn.selection.folds import Validation, make_validation
from kinlearn.units import Units, find_units


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
    units : Units
        The copies of each class that distinct rows stand for.
    balance : ndarray of shape (c,)
        Factor that ``class_weight`` puts on each class.
    row_weights : ndarray or None
        ``sample_weight`` of the original rows.
    targets, weights : ndarrays
        From ``sample_weight`` alone.
    fit_targets, fit_weights : ndarrays
        With ``class_weight`` too; `fit_weights` is None when all are equal.
    """

    X: Rows
    classes: np.ndarray
    labels: np.ndarray
    rows: DistinctRows
    units: Units
    balance: np.ndarray
    row_weights: np.ndarray | None
    targets: np.ndarray
    weights: np.ndarray
    fit_targets: np.ndarray
    fit_weights: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return int(self.targets.shape[0])

    @property
    def unit_targets(self) -> np.ndarray:
        """One-hot targets of the units."""
        return np.eye(self.classes.size)[self.labels[self.units.first]]

    def validation(
        self,
        cv: Any,
        groups: np.ndarray | None = None,
        *,
        task: np.ndarray | None = None,
        max_rows: int | None = None,
        seed: int = 0,
    ) -> Validation:
        """Return what `cv` and `groups` hold out; folds are spread over classes (and tasks).

        Where every group is one row as passed, each row leaves with all its weight.
        """
        units = self.units
        if cv == "loo" and groups is not None and np.unique(groups).size == groups.size:
            groups, units = (
                None,
                find_units(self.rows, self.labels, self.row_weights, counted=False),
            )
        strata = self.labels
        if task is not None:
            strata = self.labels * (int(task.max()) + 1) + task
        return make_validation(
            cv,
            self.rows,
            units,
            strata,
            groups,
            factors=self.balance[self.labels[units.first]],
            labels=self.labels,
            max_rows=max_rows,
            seed=seed,
        )

    def without(self, passed: np.ndarray) -> tuple[TrainingSet, np.ndarray]:
        """Return the same without some rows as passed, and which distinct rows are left."""
        rows, kept = self.rows.without(passed)
        part = _assemble(
            self.X[kept], self.classes, self.labels, rows, self.row_weights, self.balance
        )
        return part, kept

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
    balance = np.ones(classes.size)
    if class_weight is not None:
        plain = np.ones(labels.size) if weights is None else weights
        balance = class_balance(class_weight, classes, labels, plain)
        if not (balance[labels] > 0).all():
            raise ValueError(
                f"class_weight={class_weight!r} gives some training rows no weight: "
                "use positive weights, or leave those rows out."
            )
    distinct = X if rows.n_distinct == X.shape[0] else X[rows.first]
    return _assemble(distinct, classes, labels, rows, weights, balance)


def _assemble(
    X: Rows,
    classes: np.ndarray,
    labels: np.ndarray,
    rows: DistinctRows,
    weights: np.ndarray | None,
    balance: np.ndarray,
) -> TrainingSet:
    plain = np.ones(labels.size) if weights is None else weights
    targets, totals = _merge(rows, labels, plain, classes.size)
    fit_targets, fit_totals = targets, totals
    if (balance != 1.0).any():
        fit_targets, fit_totals = _merge(rows, labels, plain * balance[labels], classes.size)
    return TrainingSet(
        X=X,
        classes=classes,
        labels=labels,
        rows=rows,
        units=find_units(rows, labels, weights, X),
        balance=balance,
        row_weights=weights,
        targets=targets,
        weights=totals,
        fit_targets=fit_targets,
        fit_weights=_unless_equal(fit_totals),
    )


def class_balance(
    class_weight: Any, classes: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the factor of each class; ``"balanced"`` counts a row of weight 2 twice."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(labels, weights=weights, minlength=classes.size)
        present = totals > 0
        balance = np.ones(classes.size)
        balance[present] = totals.sum() / (present.sum() * totals[present])
        return balance
    return compute_class_weight(class_weight, classes=classes, y=classes[labels])


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
