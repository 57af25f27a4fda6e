"""What a fit works on: distinct rows, and every label's targets and weights.

Classes are one label that is observed everywhere; tasks tell rows of equal features apart.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from kinlearn.kernels.library import Kernel, median_width
from kinlearn.kernels.measures import Rows
from kinlearn.training.copies import DistinctRows, Units, find_distinct_rows, find_units
from kinlearn.training.copy_folds import validation_by_copies
from kinlearn.training.folds import Validation, make_validation
from kinlearn.training.label_table import LabelTable

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# Folds where leave-one-out has no closed form (unobserved labels, conjugate gradients).
N_FOLDS = 5
# Weights of so many copies a row are more likely shares of a population than counts of rows.
MANY = 20
# Fewer copies than this share of the rows change nothing that is worth a word.
WORTH_SAYING = 0.05


@dataclass(frozen=True)
class TrainingSet:
    """Distinct rows with the targets and weights of their labels.

    The labels that vary are called active; the others are answered by their prior.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows of positive weight.
    table : LabelTable
        Labels as the user passed them.
    rows : DistinctRows
        The tie to the rows as passed.
    task : ndarray or None
        Task number of each row as passed, -1 for a task without weight.
    kinds : ndarray
        Number of the labels of each row as passed, equal ones alike.
    units : Units
        The copies of equal labels that distinct rows stand for.
    passed_weights : ndarray or None
        ``sample_weight`` of the rows as passed.
    active : ndarray of shape (A,)
        The labels that are learnt.
    targets : ndarray of shape (n, C)
        Chance of every (active label, class), 0 where unobserved; with ``class_weight``.
    pair_weights : ndarray of shape (n, A)
        Weights of the (row, label) pairs with ``class_weight``, 0 where unobserved.
    balance : list of A ndarrays
        Factor that ``class_weight`` puts on each class of the active labels.
    leans : bool
        Whether scores lean by a class weight.
    priors : list of T ndarrays
        Share of each class of each label, from ``sample_weight`` alone.
    total_weight : float
        Sum of ``sample_weight``.
    """

    X: Rows
    table: LabelTable
    rows: DistinctRows
    task: Index | None
    kinds: Index
    units: Units
    passed_weights: Array | None
    active: Index
    targets: Array
    pair_weights: Array
    balance: list[Array]
    leans: bool
    priors: list[Array]
    total_weight: float

    @property
    def n_rows(self) -> int:
        return int(self.targets.shape[0])

    @property
    def n_passed(self) -> int:
        """Number of rows as passed."""
        return int(self.table.codes.shape[0])

    @property
    def passed_codes(self) -> Index:
        """Class number of every row as passed; of many labels with a column for each, -1 unseen."""
        return self.table.codes[:, 0] if self.table.single else self.table.codes

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of classes of each active label."""
        return tuple(len(self.table.classes[t]) for t in self.active)

    @property
    def label_of(self) -> Index:
        """Position among the active labels of every target column."""
        return np.repeat(np.arange(len(self.active)), self.sizes)

    @property
    def row_task(self) -> Index:
        """Task number of each distinct row."""
        assert self.task is not None
        return self.task[self.rows.first]

    @cached_property
    def by_features(self) -> DistinctRows:
        """The rows that differ by their features: one seen in several tasks counts once."""
        return find_distinct_rows(self.X)

    def median_width(self, kernel: Kernel) -> float:
        """The median distance between rows that differ by their features."""
        if self.task is None:
            return median_width(self.X, kernel, self.rows.canonical)
        distinct = self.by_features
        return median_width(self.X[distinct.first], kernel, distinct.canonical)

    @cached_property
    def unit_codes(self) -> Index:
        """Class numbers of the active labels of the units, -1 where unobserved, (U, A)."""
        return self.table.codes[np.ix_(self.units.first, self.active)]

    @cached_property
    def unit_targets(self) -> Array:
        """One-hot targets of the units, 0 where unobserved, shape (U, C)."""
        codes, sizes = self.unit_codes, np.array(self.sizes)
        starts = np.cumsum(sizes) - sizes
        out = np.zeros((self.units.size, int(sizes.sum())))
        unit, label = np.nonzero(codes >= 0)
        out[unit, starts[label] + codes[unit, label]] = 1.0
        return out

    @cached_property
    def unit_factors(self) -> Array:
        """Factors of ``class_weight`` for the units in each label, 0 if unobserved, (U, A)."""
        columns = [
            np.where(column >= 0, factors[column], 0.0)
            for column, factors in zip(self.unit_codes.T, self.balance, strict=True)
        ]
        return np.column_stack(columns)

    @cached_property
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

    @cached_property
    def complete(self) -> bool:
        """Whether all labels have the same row weights, also of what is left when copies leave."""
        if len(self.active) == 1:
            return bool((self.unit_codes >= 0).all())
        first = self.unit_factors[:, :1]
        return bool((first > 0).all() and np.allclose(self.unit_factors, first, rtol=1e-12, atol=0))

    @cached_property
    def weights(self) -> Array | None:
        """Weights of the rows of complete labels, of mean one; None when they are equal."""
        scaled = self.pair_weights[:, 0] / self.pair_weights[:, 0].mean()
        return None if np.allclose(scaled, 1.0, rtol=1e-12, atol=0.0) else scaled

    @property
    def filled_weights(self) -> Array:
        """The same with ones where all are equal."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    @property
    def leaning(self) -> list[Array] | None:
        """Factors of the classes of each active label, where scores lean by them."""
        return self.balance if self.leans else None

    def validation(
        self,
        cv: Any,
        groups: Index | None = None,
        *,
        closed_form: bool = True,
        max_rows: int | None = None,
        by_task: bool = True,
        seed: int = 0,
    ) -> Validation:
        """Return what `cv` and `groups` hold out; folds are spread over answers and tasks.

        Where leave-one-out has no closed form, a few folds of copies, or of groups, take its place.
        Where every group is one row as passed, each row leaves with all its weight; where it is all
        that equals one row, that is leave-one-out of things seen more than once.
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
        elif one_out and groups is not None:
            seen = units.of >= 0
            own, member = np.unique(groups[seen], return_inverse=True)[1], self.rows.member[seen]
            n_groups = own.max() + 1
            if n_groups == own.size:
                groups = None
                units = find_units(self.rows, self.kinds, self.passed_weights, counted=False)
            elif n_groups == self.n_rows == np.unique(own * self.n_rows + member).size:
                groups = None
                units = units if units.together else units.as_one_thing()
        alone = codes.shape[1] == 1 and (codes >= 0).all()
        strata = codes[:, 0] if alone else codes
        if self.task is not None and by_task:
            strata = strata * (int(self.task.max()) + 1) + self.task
        return make_validation(
            cv,
            self.rows,
            units,
            strata,
            groups,
            factors=factors,
            labels=codes[:, 0] if alone else self.values(),
            max_rows=max_rows,
            seed=seed,
        )

    def values(self) -> Array:
        """The labels as the user gave them, NaN where unobserved."""
        codes = self.table.codes
        values = np.where(codes < 0, np.nan, 0.0)
        for t, classes in enumerate(self.table.classes):
            seen = codes[:, t] >= 0
            values[seen, t] = classes[codes[seen, t]]
        return values

    def observed(self) -> Any:
        """The active labels of the rows as passed, NaN where unobserved; classes as they are."""
        if self.table.single:
            return self.table.classes[0][self.table.codes[:, 0]]
        return self.values()[:, self.active]

    def without(self, passed: Index) -> tuple[TrainingSet, Index]:
        """Return the same without some rows as passed, and which distinct rows are left."""
        rows, kept = self.rows.without(passed)
        X = self.X[kept]
        part = replace(
            self,
            X=X,
            rows=rows,
            units=find_units(rows, self.kinds, self.passed_weights, X),
            **_merged(rows, self.table, self.active, self.passed_weights, self.balance),
        )
        return part, kept

    def warn_of_copies(self, groups: Any) -> None:
        """Say what will be held out one at a time where that may not be what is meant."""
        units = self.units
        if groups is not None or (units.whole.all() and not units.together):
            return
        copies = int((units.of >= 0).sum()) - self.n_rows
        if units.together and copies >= WORTH_SAYING * self.n_rows:
            warnings.warn(
                f"{copies} rows are exact copies of others, with the same labels: they are taken "
                "for one thing seen more than once, and held out together. If they are different "
                "cases, pass groups=np.arange(len(y)).",
                UserWarning,
                stacklevel=3,
            )
        if units.whole.all() or self.passed_weights is None:
            return
        kept = units.of >= 0
        median = float(np.median(self.passed_weights[kept] / units.one[units.of[kept]]))
        if median >= MANY:
            warnings.warn(
                f"sample_weight holds multiples of {units.one[0]:g}, which are read as numbers of "
                f"copies (half of the rows have {median:g} or more): one copy is held out, and the "
                "others vouch for it. If they are no counts, pass groups=np.arange(len(y)), which "
                "holds out each row with all its weight.",
                UserWarning,
                stacklevel=3,
            )


def make_training_set(
    X: Rows,
    table: LabelTable,
    sample_weight: Any,
    class_weight: Any,
    estimator_name: str,
    task: Index | None = None,
    any_class_weight: bool = False,
) -> TrainingSet:
    """Merge identical rows of a task, add up their weights, set constant labels apart.

    With `any_class_weight` a dict of class weights may leave out classes, and name others.
    """
    n = len(table.codes)
    if n != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} rows, "
            f"but Y has {n}."
        )
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if table.single:
            _need_two_classes(table, weights, estimator_name)
    plain = np.ones(n) if weights is None else weights
    sums = [
        _class_sums(codes, plain, len(classes))
        for codes, classes in zip(table.codes.T, table.classes, strict=True)
    ]
    varies = np.array([int((own > 0).sum()) > 1 for own in sums])
    if not varies.any():
        raise ValueError(
            f"{estimator_name} needs a label with at least two classes among its observed rows, "
            f"but each of the {table.n_labels} columns of Y holds one class only or nothing."
        )
    if not varies.all():
        _warn_of_constants(table, varies, np.array([own.sum() > 0 for own in sums]))
    active = np.flatnonzero(varies)
    rows = find_distinct_rows(X, weights, task)
    lenient = any_class_weight or not table.single
    balance = [_balance(table, int(t), class_weight, plain, lenient) for t in active]
    # kinds tell copies apart by the labels that are learnt; the others have one answer
    kinds = table.codes[:, 0] + 1  # an unobserved label is a kind of its own
    if table.n_labels > 1:
        kinds = np.unique(table.codes[:, active], axis=0, return_inverse=True)[1].ravel()
    distinct = X if rows.n_distinct == n else X[rows.first]
    leans = any(np.ptp(own) > 0 for own in balance) or (table.single and class_weight is not None)
    return TrainingSet(
        X=distinct,
        table=table,
        rows=rows,
        task=task,
        kinds=kinds,
        units=find_units(rows, kinds, weights, distinct),
        passed_weights=weights,
        active=active,
        balance=balance,
        leans=leans,
        priors=[_prior(table, t, own, bool(varies[t])) for t, own in enumerate(sums)],
        **_merged(rows, table, active, weights, balance),
    )


def _merged(
    rows: DistinctRows,
    table: LabelTable,
    active: Index,
    weights: Array | None,
    balance: list[Array],
) -> dict[str, Any]:
    """Targets and weights of the distinct rows."""
    plain = np.ones(len(table.codes)) if weights is None else weights
    targets, totals = [], []
    for t, factors in zip(active, balance, strict=True):
        codes = table.codes[:, t]
        seen = np.flatnonzero(codes >= 0)
        one_hot = np.zeros((codes.size, len(factors)))
        one_hot[seen, codes[seen]] = plain[seen] * factors[codes[seen]]
        sums = rows.total(one_hot)
        total = sums.sum(axis=1, keepdims=True)
        targets.append(np.divide(sums, total, out=np.zeros_like(sums), where=total > 0))
        totals.append(total)
    return {
        "targets": np.hstack(targets),
        "pair_weights": np.hstack(totals),
        "total_weight": float(plain[rows.member >= 0].sum()),
    }


def _class_sums(codes: Index, weights: Array, n_classes: int) -> Array:
    seen = codes >= 0
    return np.asarray(np.bincount(codes[seen], weights=weights[seen], minlength=n_classes), float)


def _need_two_classes(table: LabelTable, weights: Array, estimator_name: str) -> None:
    present = np.unique(table.codes[weights > 0, 0])
    if present.size < 2:
        what = "no row has positive weight"
        if present.size:
            only = table.classes[0][present[0]]
            what = f"rows of positive weight hold one class only: {only!r}"
        raise ValueError(f"{estimator_name} needs at least two classes, but {what}.")


def class_balance(class_weight: Any, classes: np.ndarray, codes: Index, weights: Array) -> Array:
    """Return the factor of each class; ``"balanced"`` counts a row of weight 2 twice."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights=weights, minlength=classes.size)
        present = totals > 0
        balance = np.ones(classes.size)
        balance[present] = totals.sum() / (present.sum() * totals[present])
        return balance
    return compute_class_weight(class_weight, classes=classes, y=classes[codes])


def _balance(table: LabelTable, t: int, class_weight: Any, weights: Array, lenient: bool) -> Array:
    """Factor of each class of label t."""
    codes, classes = table.codes[:, t], table.classes[t]
    seen = codes >= 0
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, dict) and lenient:
        factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    else:
        factors = class_balance(class_weight, classes, codes[seen], weights[seen])
    if not (factors > 0).all():
        raise ValueError(
            f"class_weight={class_weight!r} gives some training rows no weight: use positive "
            "weights, or leave those rows out."
        )
    return factors


def _prior(table: LabelTable, t: int, sums: Array, varies: bool) -> Array:
    """Share of each class; of a constant label moved 1/(n+1) towards uniform, as calibration is."""
    total = float(sums.sum())
    prior = sums / max(total, 1e-300)
    if varies:
        return prior
    n_seen = int((table.codes[:, t] >= 0).sum()) if total > 0 else 0
    epsilon = 1.0 / (n_seen + 1)
    return (1.0 - epsilon) * prior + epsilon / max(len(prior), 1)


def _warn_of_constants(table: LabelTable, varies: np.ndarray, observed: np.ndarray) -> None:
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


def check_groups(groups: Any, n_rows: int) -> Index | None:
    """Return groups as a 1-d array of the right length."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    if groups.size != n_rows:
        raise ValueError(f"groups has {groups.size} entries, but X has {n_rows} rows.")
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        raise ValueError("groups contains NaN: give every row a group.")
    return groups
