"""Identical rows: which rows are distinct, and which copies these stand for.

Before any fit, identical rows become one row of larger weight, and rows without weight go. Ridge on
coefficients with every row a centre would make a doubled row differ from a doubled weight. Distinct
rows are therefore what centres and the median distance are made of.

What is held out is a single copy of a row, its other copies stay. Copies were seen separately,
often with different labels, and a new row may coincide with them: holding all of them out at once
would ask for the probabilities of a row never seen. Weights are multiplicities up to a common unit,
so that their scale does not matter; without one, every row as passed is one copy.

A few equal rows that agree in their labels are one thing seen more than once (a bootstrap sample, a
record entered twice, a weight): a copy would be predicted by the others, and all leave together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import Rows

# Weights that are no whole numbers have a common unit if they are multiples of it up to this share
# of the largest one, and if the unit is no smaller than the second share.
MULTIPLE_TOLERANCE = 1e-9
LEAST_UNIT = 1e-6
# Equal rows may be one thing where distinct ones are at least this share of all copies, or, in
# continuous columns, of the rows passed.
SOME_COPIES = 0.5
CONTINUOUS_COPIES = 0.2


@dataclass(frozen=True)
class DistinctRows:
    """Which rows are kept, and what the others became.

    Attributes
    ----------
    first : ndarray of shape (n_distinct,)
        Position of the first occurrence of each distinct row of positive weight, in their order.
    member : ndarray of shape (n_rows,)
        The distinct row each row belongs to; -1 for a row of no weight.
    canonical : ndarray of shape (n_distinct,)
        The distinct rows in an order that depends on their values alone, so that what is drawn from
        them does not change when the data are shuffled.
    """

    first: np.ndarray
    member: np.ndarray
    canonical: np.ndarray

    @property
    def n_distinct(self) -> int:
        return int(self.first.size)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Add up `values` (one row per original row) over the members of each distinct row."""
        kept = self.member >= 0
        if self.n_distinct == self.member.size:
            return values[self.first].astype(np.float64)
        matrix = sp.csr_matrix(
            (np.ones(int(kept.sum())), (self.member[kept], np.flatnonzero(kept))),
            shape=(self.n_distinct, self.member.size),
        )
        return np.asarray(matrix @ values)

    def without(self, passed: np.ndarray) -> tuple[DistinctRows, np.ndarray]:
        """Return the distinct rows of all others but some passed rows, and which ones they are."""
        member = self.member.copy()
        member[passed] = -1
        left = np.flatnonzero(member >= 0)
        kept, first = np.unique(member[left], return_index=True)
        place = np.full(self.n_distinct + 1, -1)  # the last one is for rows without weight
        place[kept] = np.arange(kept.size)
        canonical = place[self.canonical]
        return DistinctRows(left[first], place[member], canonical[canonical >= 0]), kept


def find_distinct_rows(
    X: Rows, weights: np.ndarray | None = None, task: np.ndarray | None = None
) -> DistinctRows:
    """Find the distinct (row, task) pairs of positive weight, in the order they first occur.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.copies import find_distinct_rows
    >>> find_distinct_rows(np.array([[1.0], [2.0], [1.0]])).member
    array([0, 1, 0])
    """
    n_rows = X.shape[0]
    positive = np.arange(n_rows) if weights is None else np.flatnonzero(weights > 0)
    kept = X if positive.size == n_rows else X[positive]
    labels = _sparse_labels(kept) if sp.issparse(kept) else _dense_labels(kept)
    if task is not None:
        labels = np.unique(np.column_stack([labels, task[positive]]), axis=0, return_inverse=True)[
            1
        ]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    member = np.full(n_rows, -1, dtype=np.intp)
    member[positive] = rank[inverse.ravel()]
    return DistinctRows(first=positive[first[order]], member=member, canonical=rank)


def _dense_labels(X: np.ndarray) -> np.ndarray:
    """Number the rows so that equal rows, bit for bit up to the sign of zero, share a number."""
    contiguous = np.ascontiguousarray(X) + 0.0  # minus zero becomes zero
    if contiguous.shape[1] == 0:
        return np.zeros(contiguous.shape[0], dtype=np.intp)
    as_bytes = contiguous.view(np.dtype((np.void, contiguous.itemsize * contiguous.shape[1])))
    return np.unique(as_bytes.ravel(), return_inverse=True)[1]


def _sparse_labels(X: sp.csr_matrix) -> np.ndarray:
    """Number equal rows of a sparse matrix: sort by a random projection, compare neighbours."""
    direction = np.random.RandomState(0).standard_normal(X.shape[1])
    order = np.argsort(X @ direction, kind="stable")
    ordered = X[order]
    differs = np.asarray(abs(ordered[1:] - ordered[:-1]).sum(axis=1)).ravel() > 0
    labels = np.empty(X.shape[0], dtype=np.intp)
    labels[order] = np.concatenate([[0], np.cumsum(differs)])
    return labels


@dataclass(frozen=True)
class Units:
    """The copies behind distinct rows, those of one row and kind (class, labels) together.

    Attributes
    ----------
    row : ndarray of shape (U,)
        The distinct row of each unit, in ascending order.
    first : ndarray of shape (U,)
        Position of a passed row of the unit.
    of : ndarray of shape (n_passed,)
        The unit of each passed row; -1 for a row without weight.
    mass : ndarray of shape (U,)
        Weight of all copies of a unit.
    one : ndarray of shape (U,)
        Weight of one copy of it.
    count : float
        Number of copies of all units.
    passed : ndarray of shape (n_passed,)
        Number of copies that each passed row is, by its weight; they add up to `count`.
    together : bool
        Whether all copies of a row are one thing and leave together.
    """

    row: np.ndarray
    first: np.ndarray
    of: np.ndarray
    mass: np.ndarray
    one: np.ndarray
    count: float
    passed: np.ndarray
    together: bool = False

    @property
    def size(self) -> int:
        return int(self.row.size)

    @property
    def whole(self) -> np.ndarray:
        """Whether one copy of a unit is all there is of its row, shape (U,)."""
        if self.together:
            return np.ones(self.size, dtype=bool)
        alone = np.bincount(self.row)[self.row] == 1
        return alone & (self.mass < 1.5 * self.one)

    def as_one_thing(self) -> Units:
        """The same where all copies of a row leave together."""
        totals = np.bincount(self.row, weights=self.mass)
        return replace(
            self,
            one=totals[self.row],
            count=float(totals.size),
            passed=self.passed * (totals.size / self.count),
            together=True,
        )

    @property
    def repeated(self) -> float:
        """Share of the copies that have another one of their kind."""
        return float(self.mass[self.mass > 1.5 * self.one].sum() / self.mass.sum())

    @property
    def counts(self) -> np.ndarray:
        """Number of copies of each unit; they add up to `count`."""
        return self.mass * (self.count / self.mass.sum())


def find_units(
    rows: DistinctRows,
    kinds: np.ndarray,
    weights: np.ndarray | None = None,
    X: Rows | None = None,
    counted: bool = True,
) -> Units:
    """Group the copies of each distinct row by their kind, and find what one of them weighs.

    Parameters
    ----------
    rows : DistinctRows
        The distinct rows.
    kinds : ndarray of int of shape (n_passed,)
        What copies of a row may differ in: the class, or the number of a set of labels.
    weights : ndarray of shape (n_passed,), optional
        Sample weights.
    X : array or CSR matrix of shape (n_distinct, d), optional
        The distinct rows themselves, where equal ones may be one thing seen more than once.
    counted : bool, default=True
        Whether weights with a common unit are numbers of copies. If not, or if there is no common
        unit, every passed row is one copy, of its own weight.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.copies import find_distinct_rows
    >>> from kinlearn.training.copies import find_units
    >>> X, y = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    >>> units = find_units(find_distinct_rows(X), y)
    >>> units.mass, units.one, units.count
    (array([2., 1., 1.]), array([1., 1., 1.]), 4.0)
    """
    kept = np.flatnonzero(rows.member >= 0)
    codes = rows.member[kept] * (int(kinds.max(initial=0)) + 1) + kinds[kept]
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    of = np.full(rows.member.size, -1, dtype=np.intp)
    of[kept] = inverse.ravel()
    each = np.ones(kept.size) if weights is None else weights[kept].astype(np.float64)
    mass = np.bincount(inverse.ravel(), weights=each)
    unit = common_unit(mass) if counted else None
    if unit is None:
        one, count = mass / np.bincount(inverse.ravel()), float(kept.size)
    else:
        one, count = np.full(mass.size, unit), float(mass.sum() / unit)
    passed = np.zeros(of.size)
    passed[kept] = each * (count / mass.sum())
    units = Units(rows.member[kept][first], kept[first], of, mass, one, count, passed)
    n_passed = np.bincount(inverse.ravel())
    if X is not None and are_one_thing(X, units.row, n_passed, mass / one, count):
        return units.as_one_thing()
    return units


def are_one_thing(
    X: Rows, row: np.ndarray, passed: np.ndarray, copies: np.ndarray, n_copies: float
) -> bool:
    """Whether equal rows are one thing seen more than once, rather than cases that look alike.

    Cases that look alike differ in their labels now and then; a bootstrap sample, a record entered
    twice and a weight never do. A row that is met again and again is a case each time, unless its
    columns are continuous.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_distinct, d)
        Distinct rows.
    row : ndarray of shape (U,)
        The distinct row of each unit.
    passed, copies : ndarrays of shape (U,)
        Number of rows passed, and of copies by weight, of each unit.
    n_copies : float
        Number of all copies.
    """
    kinds = np.bincount(row)
    rows_passed = np.bincount(row, weights=passed)
    several = (rows_passed > 1.5) | (np.bincount(row, weights=copies) > 1.5)
    if not several.any() or (kinds > 1).any():
        return False
    if kinds.size >= SOME_COPIES * n_copies:
        return True
    return bool(kinds.size >= CONTINUOUS_COPIES * rows_passed.sum()) and is_continuous(X)


def is_continuous(X: Rows) -> bool:
    """Whether a column tells nearly all distinct rows apart by numbers that are not whole."""
    if sp.issparse(X):
        columns = sp.csc_matrix(X)
        X = columns[:, np.flatnonzero(np.diff(columns.indptr) > 0.9 * X.shape[0])].toarray()
    fractional = np.flatnonzero((np.floor(X) != X).mean(axis=0) > 0.5)
    return any(np.unique(X[:, j]).size > 0.9 * len(X) for j in fractional)


def common_unit(values: np.ndarray) -> float | None:
    """Return the largest number of which all `values` are multiples, None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.copies import common_unit
    >>> common_unit(np.array([2.0, 4.0, 6.0])), common_unit(np.array([1.0, 2.0**0.5]))
    (2.0, None)
    """
    distinct = np.unique(values)
    largest = float(distinct[-1])
    if largest < 2.0**53 and (distinct == np.floor(distinct)).all():
        return float(np.gcd.reduce(distinct.astype(np.int64)))
    tolerance = MULTIPLE_TOLERANCE * largest
    unit = float(distinct[0])
    for value in distinct[1:]:
        a, b = float(value), unit
        while b > tolerance:  # Euclid's algorithm, with remainders up to rounding
            a, b = b, abs(a - b * round(a / b))
        unit = a
        if unit < LEAST_UNIT * largest:
            return None
    # the remainders' rounding is spread over all values
    multiples = np.round(distinct / unit)
    return float(distinct @ multiples / (multiples @ multiples))
