"""A bounded sample of the rows seen, for calibration: additive, and the same in any order.

Kept are the distinct (row, task, labels) of the smallest hashes. Which these are depends on the set
of rows alone, so samples drawn on different machines merge into the sample of all rows, and while
fewer of them than the capacity were seen the sample is all of them. Rows that differ in their
labels alone are entries of their own, as single copies are what is held out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.kernels.measures import Rows

Array = NDArray[np.float64]
LAST = np.uint64(2**64 - 1)
# Of a weight that was taken out bit by bit, this share is rounding.
NOTHING = 1e-9


@dataclass(frozen=True)
class HeldOutSample:
    """Distinct rows of the smallest hashes, equal ones with equal labels joined.

    Attributes
    ----------
    capacity : int
        Largest number of rows kept.
    limit : uint64
        Rows of this hash and above were dropped.
    keys : ndarray of uint64, shape (s,)
        Hashes, ascending.
    X : array or CSR matrix of shape (s, d)
        The rows.
    task : ndarray of shape (s,)
        Number of each row's task.
    weights : ndarray of shape (s,)
        Sum of the weights of equal rows.
    targets : ndarray of shape (s, k)
        Their targets, times their weights.
    counts : ndarray of shape (s,)
        In how many parts they came.
    """

    capacity: int
    limit: np.uint64
    keys: NDArray[np.uint64]
    X: Rows
    task: NDArray[np.intp]
    weights: Array
    targets: Array
    counts: NDArray[np.int64]

    @classmethod
    def empty(
        cls, capacity: int, n_features: int, n_columns: int, sparse: bool = False
    ) -> HeldOutSample:
        """A sample of nothing yet."""
        X = sp.csr_matrix((0, n_features)) if sparse else np.empty((0, n_features))
        return cls(
            capacity,
            LAST if capacity > 0 else np.uint64(0),
            np.empty(0, dtype=np.uint64),
            X,
            np.empty(0, dtype=np.intp),
            np.empty(0),
            np.empty((0, n_columns)),
            np.empty(0, dtype=np.int64),
        )

    @property
    def size(self) -> int:
        return int(self.keys.size)

    @property
    def complete(self) -> bool:
        """Whether no distinct row was ever dropped."""
        return bool(self.limit == LAST)

    def chosen(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Positions of the rows that may enter."""
        return np.flatnonzero(keys < self.limit)

    def add(
        self,
        keys: NDArray[np.uint64],
        X: Rows,
        task: NDArray[np.intp],
        weights: Array,
        targets: Array,
        counts: NDArray[np.int64],
        limit: np.uint64 | None = None,
    ) -> HeldOutSample:
        """Add rows, joining equal ones, and drop the largest hashes beyond the capacity."""
        limit = self.limit if limit is None else min(limit, self.limit)
        all_keys = np.concatenate([self.keys, keys])
        unique, first, member = np.unique(all_keys, return_index=True, return_inverse=True)
        kept = unique < limit
        if int(kept.sum()) > self.capacity:
            limit = unique[self.capacity]
            kept = unique < limit
        n_new, size = unique.size, self.size

        def total(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            both = np.concatenate([old, new])
            out = np.zeros((n_new, *both.shape[1:]), dtype=both.dtype)
            np.add.at(out, member.ravel(), both)
            return out[kept]

        first = first[kept]
        stack = sp.vstack([self.X, X], format="csr") if sp.issparse(self.X) else None
        if stack is not None:
            rows: Rows = stack[first]
        else:
            rows = np.empty((first.size, self.X.shape[1]))
            old = first < size
            rows[old] = self.X[first[old]]
            rows[~old] = X[first[~old] - size]
        return replace(
            self,
            limit=limit,
            keys=unique[kept],
            X=rows,
            task=np.concatenate([self.task, task])[first],
            weights=total(self.weights, weights),
            targets=total(self.targets, targets),
            counts=total(self.counts, counts),
        )

    def remove(self, gone: HeldOutSample) -> tuple[HeldOutSample, NDArray[np.int64]] | None:
        """Take the rows of another sample out; those beyond this one's hashes change nothing.

        Returns
        -------
        (HeldOutSample, ndarray of shape (gone.size,)) or None
            What is left, and how many of the parts in which each row came went with it: all of
            them with its last weight, else no more than leave one. None if a row that would be
            known was never added, or not with this weight.
        """
        inside = np.flatnonzero(gone.keys < self.limit)
        at = np.searchsorted(self.keys, gone.keys[inside])
        if (at == self.size).any() or not np.array_equal(self.keys[at], gone.keys[inside]):
            return None
        held, taken = self.weights[at], gone.weights[inside]
        if (taken > (1 + NOTHING) * held).any():
            return None
        rest = np.where(taken < (1 - NOTHING) * held, held - taken, 0.0)
        parts = np.where(
            rest > 0, np.minimum(gone.counts[inside], self.counts[at] - 1), self.counts[at]
        )
        weights, targets, counts = self.weights.copy(), self.targets.copy(), self.counts.copy()
        weights[at], counts[at] = rest, counts[at] - parts
        targets[at] *= (rest / held)[:, None]
        left = replace(self, weights=weights, targets=targets, counts=counts)
        went = gone.counts.copy()
        went[inside] = parts
        return left.take(np.flatnonzero(weights > 0)), went

    def take(self, positions: NDArray[np.intp]) -> HeldOutSample:
        """Some of the rows."""
        return replace(
            self,
            keys=self.keys[positions],
            X=self.X[positions],
            task=self.task[positions],
            weights=self.weights[positions],
            targets=self.targets[positions],
            counts=self.counts[positions],
        )

    def renumbered(
        self, task: NDArray[np.intp], columns: NDArray[np.intp], n_columns: int
    ) -> HeldOutSample:
        """The same rows after tasks and target columns were numbered anew."""
        targets = np.zeros((self.size, n_columns))
        targets[:, columns] = self.targets
        return replace(self, task=task[self.task] if task.size else self.task, targets=targets)
