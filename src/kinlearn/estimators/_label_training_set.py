"""What a multi-label fit works on: distinct rows, and every pair's target and weight."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from kinlearn.estimators._label_table import LabelTable
from kinlearn.kernels.measures import Rows
from kinlearn.rows import DistinctRows, find_distinct_rows
from kinlearn.solvers.label_problems import LabelProblem, class_problems, indicator_problems
from kinlearn.solvers.label_similarity import Similarity

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class LabelTrainingSet:
    """Distinct rows with the targets and weights of their labels.

    The labels that vary are called active; the others are answered by their prior.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows of positive weight.
    table : LabelTable
        Labels as the user passed them.
    rows : DistinctRows
        The tie to the original rows.
    active : ndarray of shape (A,)
        The labels that are learnt.
    label_of, class_of : ndarrays of shape (C,)
        Position among `active`, and class, of every target column.
    targets : ndarray of shape (n, C)
        Chance of every (active label, class), 0 where unobserved.
    weights : ndarray of shape (n, A)
        Weights of pairs from ``sample_weight`` alone, 0 where unobserved.
    fit_targets, fit_weights : ndarrays of the same shapes
        With ``class_weight`` too.
    priors : list of T ndarrays
        Share of each class of each label.
    """

    X: Rows
    table: LabelTable
    rows: DistinctRows
    active: NDArray[np.intp]
    label_of: NDArray[np.intp]
    class_of: NDArray[np.intp]
    targets: Array
    weights: Array
    fit_targets: Array
    fit_weights: Array
    priors: list[Array]

    @property
    def n_rows(self) -> int:
        return int(self.targets.shape[0])

    @property
    def complete(self) -> bool:
        """Whether all labels have the same row weights, so that the Sylvester equation holds."""
        first = self.fit_weights[:, :1]
        return bool((first > 0).all() and np.allclose(self.fit_weights, first, rtol=1e-12, atol=0))

    @property
    def row_weights(self) -> Array | None:
        """Weights of the rows of complete labels, of mean one; None when they are equal."""
        scaled = self.fit_weights[:, 0] / self.fit_weights[:, 0].mean()
        return None if np.allclose(scaled, 1.0, rtol=1e-12, atol=0.0) else scaled

    def problems(
        self, similarity: Similarity, n_similar: int | None
    ) -> tuple[list[LabelProblem], list[Array]]:
        """The least-squares problems of the active labels and the similarities in them."""
        rows = self.row_weights if self.complete else None
        pairs = None if self.complete else self.fit_weights
        similarity = self._for_active(similarity)
        if self.table.indicator:
            Z = self.fit_targets[:, 1::2]
            return indicator_problems(Z, rows, pairs, similarity, n_similar)
        return class_problems(
            self.fit_targets, self.label_of, self.class_of, rows, pairs, similarity, n_similar
        )

    def _for_active(self, similarity: Similarity) -> Similarity:
        """Cut a matrix to the active labels, and give a callable the labels as the user did."""
        if isinstance(similarity, str):
            return similarity
        if callable(similarity):
            codes = self.table.codes
            values = np.where(codes < 0, np.nan, 0.0)
            for t, classes in enumerate(self.table.classes):
                seen = codes[:, t] >= 0
                values[seen, t] = classes[codes[seen, t]]
            similarity = similarity(values)
        matrix = np.asarray(similarity)
        if matrix.shape != (self.table.n_labels,) * 2:
            return matrix  # refused, with its shape, where similarities are checked
        return matrix[np.ix_(self.active, self.active)]


def make_label_training_set(
    X: Rows, table: LabelTable, sample_weight: Any, class_weight: Any, estimator_name: str
) -> LabelTrainingSet:
    """Merge identical rows, add up the weights of their pairs, set constant labels apart."""
    n = table.codes.shape[0]
    if n != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} rows, "
            f"but Y has {n}."
        )
    row_weights = None
    if sample_weight is not None:
        row_weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    rows = find_distinct_rows(X, row_weights)
    plain = np.ones(n) if row_weights is None else row_weights
    sums = [
        _class_sums(rows, table.codes[:, t], plain, len(c)) for t, c in enumerate(table.classes)
    ]
    totals = np.array([s.sum() for s in sums])
    priors = [s.sum(axis=0) / max(s.sum(), 1e-300) for s in sums]
    varies = np.array([int((s.sum(axis=0) > 0).sum()) > 1 for s in sums])
    if not varies.any():
        raise ValueError(
            f"{estimator_name} needs a label with at least two classes among its observed rows, "
            f"but each of the {table.n_labels} columns of Y holds one class only or nothing."
        )
    _warn_of_constants(table, varies, totals > 0)
    active = np.flatnonzero(varies)
    fit_sums = sums
    if class_weight is not None:
        fit_sums = [
            _class_sums(
                rows, table.codes[:, t], plain * _balance(table, t, class_weight), s.shape[1]
            )
            for t, s in enumerate(sums)
        ]
    sizes = [len(table.classes[t]) for t in active]
    label_of = np.repeat(np.arange(len(active)), sizes)
    if table.n_labels == 1:  # classes of any type, which no other label shares
        class_of = np.arange(sizes[0])
    else:
        class_of = np.concatenate([table.classes[t] for t in active])
    targets, weights = _shares([sums[t] for t in active])
    fit_targets, fit_weights = _shares([fit_sums[t] for t in active])
    return LabelTrainingSet(
        X=X if rows.n_distinct == n else X[rows.first],
        table=table,
        rows=rows,
        active=active,
        label_of=label_of,
        class_of=class_of,
        targets=targets,
        weights=weights,
        fit_targets=fit_targets,
        fit_weights=fit_weights,
        priors=[
            _smoothed(prior, table, t, totals[t]) if not varies[t] else prior
            for t, prior in enumerate(priors)
        ],
    )


def _class_sums(
    rows: DistinctRows, codes: NDArray[np.intp], weights: Array, n_classes: int
) -> Array:
    """Weight of each class of one label in each distinct row."""
    one_hot = np.zeros((codes.size, n_classes))
    seen = np.flatnonzero(codes >= 0)
    one_hot[seen, codes[seen]] = weights[seen]
    return rows.total(one_hot)


def _shares(sums: list[Array]) -> tuple[Array, Array]:
    totals = np.column_stack([s.sum(axis=1) for s in sums])
    shares = [
        np.divide(s, totals[:, [t]], out=np.zeros_like(s), where=totals[:, [t]] > 0)
        for t, s in enumerate(sums)
    ]
    return np.column_stack(shares), totals


def _balance(table: LabelTable, t: int, class_weight: Any) -> Array:
    """Weight of every row in label t for its class; 1 where unobserved."""
    codes, classes = table.codes[:, t], table.classes[t]
    seen = codes >= 0
    out = np.ones(codes.size)
    present = np.unique(codes[seen])
    if present.size == 0:
        return out
    factors = np.ones(len(classes))
    if isinstance(class_weight, dict):
        factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    else:
        factors[present] = compute_class_weight(
            class_weight, classes=classes[present], y=classes[codes[seen]]
        )
    if not (factors > 0).all():
        raise ValueError(
            f"class_weight={class_weight!r} gives a class no weight: use positive weights."
        )
    out[seen] = factors[codes[seen]]
    return out


def _smoothed(prior: Array, table: LabelTable, t: int, total: float) -> Array:
    """The prior of a constant label, moved 1/(n+1) towards uniform as calibration does."""
    n_seen = int((table.codes[:, t] >= 0).sum()) if total > 0 else 0
    epsilon = 1.0 / (n_seen + 1)
    return (1.0 - epsilon) * prior + epsilon / max(len(prior), 1)


def _warn_of_constants(table: LabelTable, varies: np.ndarray, observed: np.ndarray) -> None:
    if varies.all():
        return
    parts = []
    for chosen, what in (
        (~varies & observed, "one class only"),
        (~varies & ~observed, "no observed value"),
    ):
        if chosen.any():
            names = [str(name) for name in table.names[chosen]]
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            parts.append(f"{what}: {shown}")
    warnings.warn(
        f"These labels cannot be learnt and are answered by their prior ({'; '.join(parts)}).",
        UserWarning,
        stacklevel=6,
    )
