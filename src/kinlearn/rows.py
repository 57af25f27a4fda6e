"""Identical rows become one row of larger weight, and rows without weight go, before any fit.

Ridge on coefficients with every row a centre would make a doubled row differ from a doubled
weight. Distinct rows are therefore what centres and the median distance are made of; what is held
out is one copy of a row (:mod:`kinlearn.units`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import Rows


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
    >>> from kinlearn.rows import find_distinct_rows
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
