"""Bases of one task whose centres are apart from its rows: sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.problems.basis import Basis
from kinlearn.solvers.fixed_centers import FixedCenterSpectrum
from kinlearn.training.splits import Splits


class FixedBasis(Basis):
    """Centres apart from the rows (a subset, or given): sums over blocks."""

    fixed_centers = True

    def __init__(
        self, features: KernelMap, X: Rows, Z: np.ndarray, weights: np.ndarray | None
    ) -> None:
        self.features, self.X, self.Z, self.weights = features, X, Z, weights
        self.widths_at_once = RowFeatures.at_once(features, X)

    @property
    def side(self) -> int:
        return self.features.n_centers

    def spectrum(self, sigma: float, single: bool = False) -> FixedCenterSpectrum:
        source = RowFeatures(self.features, self.X, sigma)
        return FixedCenterSpectrum.of(source, self.Z, self.weights)


class ClasswiseFixedBasis(Basis):
    """Centres apart from the rows, each class with those of its own class only."""

    fixed_centers = True

    def __init__(
        self,
        features: KernelMap,
        X: Rows,
        Z: np.ndarray,
        weights: np.ndarray | None,
        center_targets: np.ndarray,
    ) -> None:
        self.features, self.X, self.Z, self.weights = features, X, Z, weights
        self.members = [np.flatnonzero(column > 0) for column in center_targets.T]
        self.widths_at_once = RowFeatures.at_once(features, X)

    @property
    def side(self) -> int:
        return self.features.n_centers

    def spectrum(self, sigma: float, single: bool = False) -> ColumnwiseSpectrum:
        parts: list[FixedCenterSpectrum | None] = []
        for y, members in enumerate(self.members):
            if members.size == 0:
                parts.append(None)
                continue
            source = RowFeatures(self.features, self.X, sigma, members)
            parts.append(FixedCenterSpectrum.of(source, self.Z[:, y : y + 1], self.weights))
        return ColumnwiseSpectrum(parts, self.members, self.features.n_centers)


class ColumnwiseSpectrum:
    """One spectrum a class; a class without centres scores zero."""

    def __init__(
        self, parts: list[FixedCenterSpectrum | None], members: list[np.ndarray], n_centers: int
    ) -> None:
        self.parts, self.members, self.n_centers = parts, members, n_centers

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        A = np.zeros((self.n_centers, len(self.parts)))
        for y, (part, members) in enumerate(zip(self.parts, self.members, strict=True)):
            if part is not None:
                A[members, y] = part.coefficients(regs, mix)[:, 0]
        return A

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        scores = np.zeros((len(regs), splits.n_rows_held_out, len(self.parts)))
        for y, part in enumerate(self.parts):
            if part is not None:
                own = None if units is None else units[:, y : y + 1]
                scores[:, :, y] = part.held_out(regs, splits, own)[:, :, 0]
        return scores


def rows_that_fit(n_rows: int, n_centers: int, memory_mb: float) -> int:
    """Return of how many rows the features fit in the memory.

    Examples
    --------
    >>> rows_that_fit(1000, 500, 2), rows_that_fit(1000, 500, 256)
    (524, 1000)
    """
    return min(n_rows, int(memory_mb * 2**20 / (8 * n_centers)))


class RowFeatures:
    """Features of training rows in blocks; of as many rows as the memory allows they are kept.

    Where `into` is given, they are kept there, of as many rows as it has.
    """

    def __init__(
        self,
        features: KernelMap,
        X: Rows,
        sigma: float,
        columns: np.ndarray | None = None,
        into: np.ndarray | None = None,
    ) -> None:
        self.features, self.X, self.sigma, self.columns = features, X, sigma, columns
        self.n_rows = int(X.shape[0])
        self.n_centers = features.n_centers if columns is None else columns.size
        if into is not None:
            self.n_kept, self.kept = len(into), into
            for rows, block in features.feature_blocks(X[: self.n_kept], sigma):
                into[rows] = self._select(block)
            return
        self.n_kept = rows_that_fit(self.n_rows, features.n_centers, features.memory_mb)
        self.kept = self._select(features.features(X[: self.n_kept], sigma))

    @staticmethod
    def _share(features: KernelMap, X: Rows) -> float:
        """Return what the features take of the memory allowed."""
        return 8 * X.shape[0] * features.n_centers / (features.memory_mb * 2**20)

    @classmethod
    def at_once(cls, features: KernelMap, X: Rows) -> int:
        """Return how many widths' features the memory allows; one, where they come in blocks."""
        return max(1, int(1.0 / cls._share(features, X)))

    def _select(self, Phi: np.ndarray) -> np.ndarray:
        return Phi if self.columns is None else Phi[:, self.columns]

    def norm(self) -> np.ndarray | None:
        """The kernel between the centres, where that is positive."""
        found = self.features.norm(self.sigma)
        if found is None or self.columns is None:
            return found
        return found[np.ix_(self.columns, self.columns)]

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        everything = np.arange(self.n_rows)
        if rows is None and self.n_kept:
            yield everything[: self.n_kept], self.kept
        elif rows is not None and rows.max(initial=-1) < self.n_kept:
            yield rows, self.kept[rows]
            return
        positions = everything[self.n_kept :] if rows is None else rows
        if not positions.size:
            return
        X = self.X[positions] if rows is not None else self.X[self.n_kept :]
        for block, Phi in self.features.feature_blocks(X, self.sigma):
            yield positions[block], self._select(Phi)
