"""What a multi-label fit works on: distinct rows, and every pair's target and weight."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from kinlearn.estimators._label_table import LabelTable
from kinlearn.estimators._training_set import class_balance
from kinlearn.kernels.measures import Rows
from kinlearn.rows import DistinctRows, find_distinct_rows
from kinlearn.selection.copy_folds import validation_by_copies
from kinlearn.selection.folds import Validation, make_validation
from kinlearn.solvers.label_fits import LabelCopies, unless_equal
from kinlearn.solvers.label_problems import LabelProblem, class_problems, indicator_problems
from kinlearn.solvers.label_similarity import Similarity
from kinlearn.units import Units, find_units

Array: TypeAlias = NDArray[np.float64]

# Folds where leave-one-out has no closed form (unobserved labels, conjugate gradients).
N_FOLDS = 5


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
    kinds : ndarray
        Number of the labels of each original row, equal ones alike.
    units : Units
        The copies of equal labels that distinct rows stand for.
    passed_weights : ndarray or None
        ``sample_weight`` of the original rows.
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
    balance : list of A ndarrays
        Factor that ``class_weight`` puts on each class of the active labels.
    priors : list of T ndarrays
        Share of each class of each label.
    """

    X: Rows
    table: LabelTable
    rows: DistinctRows
    kinds: NDArray[np.intp]
    units: Units
    passed_weights: Array | None
    active: NDArray[np.intp]
    label_of: NDArray[np.intp]
    class_of: NDArray[np.intp]
    targets: Array
    weights: Array
    fit_targets: Array
    fit_weights: Array
    balance: list[Array]
    priors: list[Array]

    @property
    def n_rows(self) -> int:
        return int(self.targets.shape[0])

    @property
    def unit_codes(self) -> NDArray[np.intp]:
        """Class numbers of the active labels of the units, -1 where unobserved, (U, A)."""
        return self.table.codes[np.ix_(self.units.first, self.active)]

    @cached_property
    def unit_targets(self) -> Array:
        """One-hot targets of the units, 0 where unobserved, shape (U, C)."""
        codes = self.unit_codes
        sizes = np.bincount(self.label_of)
        starts = np.cumsum(sizes) - sizes
        out = np.zeros((self.units.size, self.label_of.size))
        unit, label = np.nonzero(codes >= 0)
        out[unit, starts[label] + codes[unit, label]] = 1.0
        return out

    @cached_property
    def unit_factors(self) -> Array:
        """Factors of ``class_weight`` for the units in each label, 0 if unobserved, (U, A)."""
        codes = self.unit_codes
        columns = [
            np.where(column >= 0, factors[column], 0.0)
            for column, factors in zip(codes.T, self.balance, strict=True)
        ]
        return np.column_stack(columns)

    @property
    def repeated(self) -> float:
        """Share of the copies that have another one of their class, the mean over labels."""
        units, shares = self.units, []
        for column in self.unit_codes.T:
            seen = column >= 0
            answer = units.row[seen] * (column.max() + 1) + column[seen]
            _, of = np.unique(answer, return_inverse=True)
            mass = np.bincount(of.ravel(), weights=units.mass[seen])[of.ravel()]
            alike = units.mass[seen] @ (mass > 1.5 * units.one[seen])
            shares.append(alike / units.mass[seen].sum())
        return float(np.mean(shares))

    @property
    def complete(self) -> bool:
        """Whether all labels have the same row weights, so that the Sylvester equation holds.

        It must hold of what is left when copies leave, too.
        """
        first = self.unit_factors[:, :1]
        return bool((first > 0).all() and np.allclose(self.unit_factors, first, rtol=1e-12, atol=0))

    @property
    def row_weights(self) -> Array | None:
        """Weights of the rows of complete labels, of mean one; None when they are equal."""
        return unless_equal(self.fit_weights[:, 0])

    @property
    def copies(self) -> LabelCopies:
        """What the rows stand for."""
        factors = self.unit_factors[:, :1] if self.complete else self.unit_factors
        mass = self.units.mass
        pairs = mass[:, None] * factors
        return LabelCopies(self.units.row, pairs[:, 0] if self.complete else mass, pairs)

    def validation(
        self,
        cv: Any,
        groups: np.ndarray | None = None,
        *,
        closed_form: bool = True,
        max_rows: int | None = None,
        seed: int = 0,
    ) -> Validation:
        """Return what `cv` and `groups` hold out; folds are spread over the answers of all labels.

        Where leave-one-out has no closed form, a few folds of copies, or of groups, take its place.
        Where every group is one row as passed, each row leaves with all its weight.
        """
        units, codes = self.units, self.table.codes
        factors = self.unit_factors[:, 0] if self.complete else np.ones(units.size)
        one_out = isinstance(cv, str) and cv == "loo"
        if one_out and not closed_form:
            if groups is None:
                masses = units.mass * factors
                return validation_by_copies(N_FOLDS, self.rows, units, codes, masses, seed)
            n_groups = np.unique(groups[units.of >= 0]).size
            cv = min(N_FOLDS, n_groups) if n_groups > 1 else cv
        elif one_out and groups is not None and np.unique(groups).size == groups.size:
            groups = None
            units = find_units(self.rows, self.kinds, self.passed_weights, counted=False)
        alone = codes.shape[1] == 1 and (codes >= 0).all()
        return make_validation(
            cv,
            self.rows,
            units,
            codes[:, 0] if alone else codes,
            groups,
            factors=factors,
            labels=self.table.codes[:, 0] if alone else self._values(),
            max_rows=max_rows,
            seed=seed,
        )

    def problems(
        self, similarity: Similarity, n_similar: int | None
    ) -> tuple[list[LabelProblem], list[Array]]:
        """The least-squares problems of the active labels and the similarities in them."""
        rows = self.row_weights if self.complete else None
        pairs = None if self.complete else self.fit_weights
        similarity = self._for_active(similarity)
        units = self.unit_targets
        if self.table.indicator:
            Z = self.fit_targets[:, 1::2]
            return indicator_problems(Z, rows, pairs, similarity, n_similar, units[:, 1::2])
        return class_problems(
            self.fit_targets,
            self.label_of,
            self.class_of,
            rows,
            pairs,
            similarity,
            n_similar,
            units,
        )

    def _values(self) -> Array:
        """The labels as the user gave them, NaN where unobserved."""
        codes = self.table.codes
        values = np.where(codes < 0, np.nan, 0.0)
        for t, classes in enumerate(self.table.classes):
            seen = codes[:, t] >= 0
            values[seen, t] = classes[codes[seen, t]]
        return values

    def _for_active(self, similarity: Similarity) -> Similarity:
        """Cut a matrix to the active labels, and give a callable the labels as the user did."""
        if isinstance(similarity, str):
            return similarity
        if callable(similarity):
            similarity = similarity(self._values())
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
    balance = [_balance(table, int(t), class_weight, plain) for t in active]
    # kinds tell copies apart by the labels that are learnt; the others have one answer
    kinds = np.unique(table.codes[:, active], axis=0, return_inverse=True)[1].ravel()
    sizes = [len(table.classes[t]) for t in active]
    label_of = np.repeat(np.arange(len(active)), sizes)
    if table.n_labels == 1:  # classes of any type, which no other label shares
        class_of = np.arange(sizes[0])
    else:
        class_of = np.concatenate([table.classes[t] for t in active])
    targets, weights = _shares([sums[t] for t in active])
    fit_targets, fit_weights = _shares(
        [sums[t] * factors for t, factors in zip(active, balance, strict=True)]
    )
    return LabelTrainingSet(
        X=X if rows.n_distinct == n else X[rows.first],
        table=table,
        rows=rows,
        kinds=kinds,
        units=find_units(rows, kinds, row_weights, X if rows.n_distinct == n else X[rows.first]),
        passed_weights=row_weights,
        active=active,
        label_of=label_of,
        class_of=class_of,
        targets=targets,
        weights=weights,
        fit_targets=fit_targets,
        fit_weights=fit_weights,
        balance=balance,
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


def _balance(table: LabelTable, t: int, class_weight: Any, weights: Array) -> Array:
    """Factor of each class of label t; ``"balanced"`` counts a row of weight 2 twice."""
    codes, classes = table.codes[:, t], table.classes[t]
    seen = codes >= 0
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, dict):
        factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    else:
        factors = class_balance(class_weight, classes, codes[seen], weights[seen])
    if not (factors > 0).all():
        raise ValueError(
            f"class_weight={class_weight!r} gives a class no weight: use positive weights."
        )
    return factors


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
