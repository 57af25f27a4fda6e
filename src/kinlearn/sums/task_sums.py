"""The sums of one task: H = ΦᵀDΦ, h = ΦᵀDZ, ZᵀDZ and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinlearn.sums.packed_matrix import add_gram, packed_zeros, symmetric

Array = NDArray[np.float64]


@dataclass
class ThinRows:
    """The rows' features themselves, while they take less room than H and span less than it.

    Attributes
    ----------
    features : list of ndarrays of shape (n_b, m)
        Unweighted, batch by batch.
    weights : list of ndarrays of shape (n_b,)
    keys : list of ndarrays of shape (n_b,)
        Hashes of the rows, by which equal ones are known.
    """

    features: list[Array]
    weights: list[Array]
    keys: list[NDArray[np.uint64]]

    @property
    def n_rows(self) -> int:
        return sum(len(w) for w in self.weights)

    def append(self, features: Array, weights: Array, keys: NDArray[np.uint64]) -> None:
        """Add rows."""
        self.features.append(features)
        self.weights.append(weights)
        self.keys.append(keys)

    def joined(self, m: int) -> tuple[Array, Array, NDArray[np.uint64]]:
        """Features, weights and keys of the distinct rows, in the order of their keys."""
        if not self.weights:
            return np.empty((0, m)), np.empty(0), np.empty(0, dtype=np.uint64)
        if len(self.weights) > 1 or self.keys[0].size > 1:
            keys = np.concatenate(self.keys)
            distinct, first, member = np.unique(keys, return_index=True, return_inverse=True)
            if len(self.weights) > 1 or not np.array_equal(keys, distinct):
                weights = np.zeros(distinct.size)
                np.add.at(weights, member.ravel(), np.concatenate(self.weights))
                features = np.vstack(self.features)[first]
                # in one step, so that an interrupt never leaves arrays of different rows
                vars(self).update(features=[features], weights=[weights], keys=[distinct])
        return self.features[0], self.weights[0], self.keys[0]

    def without(self, other: ThinRows, m: int) -> ThinRows | None:
        """What is left when rows are taken out; None if they are not all there."""
        features, weights, keys = self.joined(m)
        _, taken, wanted = other.joined(m)
        if keys.size == 0:
            return None if wanted.size else self
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        if (keys[at] != wanted).any() or (taken > weights[at] * (1 + 1e-9)).any():
            return None
        left = weights.copy()
        left[at] -= taken
        kept = left > 1e-9 * weights
        return ThinRows([features[kept]], [left[kept]], [keys[kept]])


class TaskSums:
    """Sums over the rows of one task, which may be added, taken out and merged.

    What is part of a :class:`NormalEquations` is never written to: changes are made on a copy, so
    that sums may share those of the tasks in which they do not differ.

    Parameters
    ----------
    n_centers : int
        m.
    n_columns : int
        k, the number of target columns.
    thin : bool
        Whether to keep features instead of H until there are as many rows as centres.
    cross : bool
        Whether ZᵀDZ is a full matrix (labels) or diagonal (classes).
    """

    def __init__(self, n_centers: int, n_columns: int, thin: bool, cross: bool) -> None:
        self.n_centers = n_centers
        self.cross = cross
        self.packed: Array | None = None if thin else packed_zeros(n_centers)
        self.thin: ThinRows | None = ThinRows([], [], []) if thin else None
        self.h: Array = np.zeros((n_centers, n_columns))
        self.targets: Array = np.zeros((n_columns, n_columns) if cross else n_columns)
        self.counts: NDArray[np.int64] = np.zeros(n_columns, dtype=np.int64)
        self.weight = 0.0
        self.n_rows = 0
        self.passed = 0.0  # trace of everything ever added or taken out: the scale of rounding

    @property
    def n_columns(self) -> int:
        return int(self.h.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        held = self.h.nbytes + self.targets.nbytes + self.counts.nbytes
        if self.thin is not None:
            return held + sum(block.nbytes for block in self.thin.features)
        assert self.packed is not None
        return held + self.packed.nbytes

    def add(
        self, features: Array, Z: Array, weights: Array | None, keys: NDArray[np.uint64] | None
    ) -> None:
        """Add rows; without weights every row weighs one. Thin sums need the rows' keys."""
        n_rows = len(features)
        self.n_rows += n_rows
        self.weight += float(n_rows if weights is None else weights.sum())
        self.counts += np.count_nonzero(Z, axis=0)
        weighed = Z if weights is None else weights[:, None] * Z
        self.h += features.T @ weighed
        self.targets += Z.T @ weighed if self.cross else weighed.sum(axis=0)
        if self.thin is not None:
            filled = np.ones(n_rows) if weights is None else weights.copy()
            assert keys is not None
            self.thin.append(features.copy(), filled, keys)
            self.passed += float(filled @ np.einsum("ij,ij->i", features, features))
            self._settle()
            return
        assert self.packed is not None
        if weights is not None:
            features = np.sqrt(weights)[:, None] * features
        self.passed += float(np.vdot(features, features))
        self.packed = add_gram(self.packed, features)

    def _settle(self) -> None:
        """Go over to H once there are as many rows as centres."""
        if self.thin is not None and self.thin.n_rows >= self.n_centers:
            _, weights, _ = self.thin.joined(self.n_centers)
            if weights.size >= self.n_centers:
                self.condense()

    def condense(self) -> TaskSums:
        """Replace the rows' features by H."""
        if self.thin is not None:
            packed = packed_zeros(self.n_centers)
            for features, weights in zip(self.thin.features, self.thin.weights, strict=True):
                packed = add_gram(packed, np.sqrt(weights)[:, None] * features)
            self.packed, self.thin = packed, None
        return self

    def merge(self, other: TaskSums) -> None:
        """Add the sums of other rows, whose columns are the same."""
        self.n_rows += other.n_rows
        self.weight += other.weight
        self.passed += other.passed
        self.counts += other.counts
        self.h += other.h
        self.targets += other.targets
        if self.thin is not None and other.thin is not None:
            self.thin.features.extend(other.thin.features)
            self.thin.weights.extend(other.thin.weights)
            self.thin.keys.extend(other.thin.keys)
            self._settle()
            return
        self.condense()
        assert self.packed is not None
        if other.thin is not None:
            for features, weights in zip(other.thin.features, other.thin.weights, strict=True):
                self.packed = add_gram(self.packed, np.sqrt(weights)[:, None] * features)
            return
        assert other.packed is not None
        self.packed += other.packed

    def widened(self, columns: NDArray[np.intp], n_columns: int) -> TaskSums:
        """The same sums, the present target columns at new places among `n_columns`."""
        if n_columns == self.n_columns and np.array_equal(columns, np.arange(n_columns)):
            return self
        h, counts = np.zeros((self.n_centers, n_columns)), np.zeros(n_columns, dtype=np.int64)
        h[:, columns], counts[columns] = self.h, self.counts
        if self.cross:
            targets: Array = np.zeros((n_columns, n_columns))
            targets[np.ix_(columns, columns)] = self.targets
        else:
            targets = np.zeros(n_columns)
            targets[columns] = self.targets
        return self._with(h, targets, counts)

    def narrowed(self, columns: NDArray[np.intp]) -> TaskSums:
        """The same sums with some of the target columns."""
        kept = np.ix_(columns, columns) if self.cross else columns
        return self._with(self.h[:, columns], self.targets[kept], self.counts[columns])

    def _with(self, h: Array, targets: Array, counts: NDArray[np.int64]) -> TaskSums:
        other = object.__new__(TaskSums)
        vars(other).update(vars(self), h=h, targets=targets, counts=counts)
        return other

    def copy(self) -> TaskSums:
        """Sums of their own."""
        other = self._with(self.h.copy(), self.targets.copy(), self.counts.copy())
        other.packed = None if self.packed is None else self.packed.copy()
        if self.thin is not None:
            # the arrays are never written to, so that copies may share them
            thin = self.thin
            other.thin = ThinRows(list(thin.features), list(thin.weights), list(thin.keys))
        return other

    def column_weights(self) -> Array:
        """Weight of the rows of every target column."""
        return np.diagonal(self.targets).copy() if self.cross else self.targets

    def gram(self) -> Array:
        """H as a full symmetric matrix."""
        if self.packed is not None:
            return symmetric(self.packed, self.n_centers)
        root = self.factor()
        return root.T @ root

    def factor(self) -> Array:
        """D½Φ, whose Gram matrix is H; for thin sums only."""
        assert self.thin is not None
        features, weights, _ = self.thin.joined(self.n_centers)
        return np.sqrt(weights)[:, None] * features

    def rounding(self) -> float:
        """Bound on what rounding may have done to an eigenvalue of H."""
        return 4.0 * np.finfo(np.float64).eps * self.n_centers * self.passed
