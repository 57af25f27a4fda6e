"""The bases a fit can have, behind one face: a spectrum for a width, or one solution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.solvers.cholesky import fit_with_leave_one_out, ridge_solutions
from kinlearn.solvers.few_weights import FewWeightsSpectrum
from kinlearn.solvers.fixed_centers import FixedCenterSpectrum
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.solvers.splits import Splits
from kinlearn.solvers.weighted import WeightedSpectrum

# Up to this many regs of a width, a Cholesky factorisation each is cheaper than decomposing.
CHOLESKIES_PER_DECOMPOSITION = 10
# Below this many rows a decomposition is too quick for single precision to matter.
FAST_ROWS = 800
# Up to this condition, an inverse of the squared kernel matrix keeps nine digits or more.
MAX_CONDITION = 1e7
# Up to this share of rows of another weight, correcting for them beats a weighted decomposition.
FEW_WEIGHTS = 0.05
# A correction for weights of another magnitude would lose the digits of what it corrects.
FEW_WEIGHTS_DECADES = 4.0


class Spectrum(Protocol):
    """All regs of one width."""

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return the mix of the solutions over regs."""

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        """Return held-out scores, shape (R, entries, c); `units` are the targets of copies."""


class Design:
    """A basis over training rows, for any width."""

    fixed_centers = False  # whether holding a row out leaves all centres in place
    # how many widths' features fit the memory allowed, where these are not square matrices
    widths_at_once: int | None = None
    Z: np.ndarray

    @property
    def side(self) -> int:
        """Rows of the square matrices that are decomposed."""
        return int(self.Z.shape[0])

    def spectrum(self, sigma: float, single: bool = False) -> Spectrum:
        """Decompose for one width, with the digits of single precision if that is asked for."""
        raise NotImplementedError

    def solve(self, sigma: float, regs: np.ndarray, mix: np.ndarray) -> np.ndarray:
        """Return a mix of solutions over regs for a width that is not decomposed."""
        return self.spectrum(sigma).coefficients(regs, mix)

    def part(self, kept: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> Design | None:
        """Return the same problem on some of the distinct rows; None where that is costly."""
        return None

    def least_single_reg(self) -> float:
        """Return the smallest reg that single precision resolves well enough to select by."""
        return float("inf")

    def fit_and_hold_out(
        self, sigma: float, reg: float, splits: Splits, units: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one solution and its held-out scores, (rows, c)."""
        regs = np.array([reg])
        spectrum = self.spectrum(sigma)
        return spectrum.coefficients(regs), spectrum.held_out(regs, splits, units)[0]


class FullDesign(Design):
    """Every row a centre, equal weights: a symmetric kernel matrix from measures of all pairs."""

    def __init__(
        self, features: KernelMap, measure: np.ndarray, Z: np.ndarray, keep: bool = False
    ) -> None:
        self.features, self.Z = features, Z
        self.measure: np.ndarray | None = measure
        self.keep = keep
        self._single: np.ndarray | None = None

    def part(self, kept: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> Design | None:
        if self.measure is None:
            return None
        return square_design(self.features, self.measure[np.ix_(kept, kept)], Z, weights)

    def gram(self, sigma: float) -> np.ndarray:
        """Return the kernel matrix; without `keep` it takes the place of the measure."""
        assert self.measure is not None
        out = np.empty_like(self.measure) if self.keep else self.measure
        K = self.features.kernel.profile(self.measure, sigma, out)
        if not self.keep:
            self.measure = None
        return K

    def spectrum(self, sigma: float, single: bool = False) -> SymmetricSpectrum:
        if not single:
            return SymmetricSpectrum.of(self.gram(sigma), self.Z)
        assert self.measure is not None
        if self._single is None:
            self._single = self.measure.astype(np.float32)
        K = self.features.kernel.profile(self._single, sigma, np.empty_like(self._single))
        return SymmetricSpectrum.to_select(K, self.Z)

    def solve(self, sigma: float, regs: np.ndarray, mix: np.ndarray) -> np.ndarray:
        if regs.size > CHOLESKIES_PER_DECOMPOSITION:
            return self.spectrum(sigma).coefficients(regs, mix)
        solutions = ridge_solutions(self.gram(sigma), self.Z, self.Z.shape[0] * regs)
        return np.tensordot(mix, solutions, axes=1)

    def fit_and_hold_out(
        self, sigma: float, reg: float, splits: Splits, units: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        # K² + μ²I is as well conditioned as n/reg for kernels of diagonal one
        well = self.features.kernel.unit_diagonal and self.Z.shape[0] <= MAX_CONDITION * reg
        simple = splits.leave_one_out and splits.whole_rows
        if not (simple and well):
            return super().fit_and_hold_out(sigma, reg, splits, units)
        return fit_with_leave_one_out(self.gram(sigma), self.Z, reg)

    def least_single_reg(self) -> float:
        return least_single_reg(self.features, self.Z.shape[0])


def least_single_reg(features: KernelMap, n: int) -> float:
    """Return the smallest reg that a single-precision spectrum of a kernel matrix resolves."""
    # eigenvalues carry an error of about 1e-6 of the largest, which is at most n here, and must
    # stay below √(reg·n)
    return 4e-12 * n if features.kernel.unit_diagonal else float("inf")


class WeightedDesign(Design):
    """Every row a centre, or each class with its own rows only, with weights."""

    def __init__(
        self,
        features: KernelMap,
        measure: np.ndarray,
        Z: np.ndarray,
        weights: np.ndarray,
        classwise: bool,
    ) -> None:
        self.features, self.Z, self.weights, self.classwise = features, Z, weights, classwise
        self.measure = measure

        # merging a few duplicates leaves all weights equal but those few
        values, counts = np.unique(weights, return_counts=True)
        self.common = float(values[counts.argmax()])
        self.odd = np.flatnonzero(weights != self.common)
        near = np.abs(np.log10(values / self.common)).max() <= FEW_WEIGHTS_DECADES
        self.few = not classwise and near and self.odd.size <= FEW_WEIGHTS * weights.size

    def part(self, kept: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> Design | None:
        measure = self.measure[np.ix_(kept, kept)]
        return square_design(self.features, measure, Z, weights, self.classwise)

    def _parts(self, sigma: float) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield (columns of the targets, centres used, features of those centres)."""
        K = self.features.kernel.profile(self.measure, sigma, np.empty_like(self.measure))
        if not self.classwise:
            yield slice(None), np.arange(K.shape[0]), K
            return
        for y in range(self.Z.shape[1]):
            members = np.flatnonzero(self.Z[:, y] > 0)
            yield slice(y, y + 1), members, K[:, members]

    def spectrum(self, sigma: float, single: bool = False) -> Spectrum:
        n = self.Z.shape[0]
        if self.few:
            K = self.features.kernel.profile(self.measure, sigma, np.empty_like(self.measure))
            decompose = SymmetricSpectrum.to_select if single else SymmetricSpectrum.of
            base = decompose(K, self.Z)
            return FewWeightsSpectrum(base, self.weights / self.common, self.odd)
        parts = []
        for columns, members, Phi in self._parts(sigma):
            own = np.full(n, -1)
            own[members] = np.arange(members.size)
            part = WeightedSpectrum.of(Phi, self.Z[:, columns], self.weights, own, fast=single)
            parts.append((columns, members, part))
        return PartedSpectrum(parts, self.Z.shape)

    def solve(self, sigma: float, regs: np.ndarray, mix: np.ndarray) -> np.ndarray:
        A = np.zeros(self.Z.shape)
        ridges = self.weights.sum() * regs
        for columns, members, Phi in self._parts(sigma):
            solutions = ridge_solutions(Phi, self.Z[:, columns], ridges, self.weights)
            A[members, columns] = np.tensordot(mix, solutions, axes=1)
        return A

    def fit_and_hold_out(
        self, sigma: float, reg: float, splits: Splits, units: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.Z.shape[0] < FAST_ROWS or reg < self.least_single_reg():
            return super().fit_and_hold_out(sigma, reg, splits, units)
        regs = np.array([reg])
        scores = self.spectrum(sigma, single=True).held_out(regs, splits, units)[0]
        return self.solve(sigma, regs, np.ones(1)), scores

    def least_single_reg(self) -> float:
        n = self.Z.shape[0]
        if self.few:
            return least_single_reg(self.features, n)
        # what is single here is the number of digits: squared eigenvalues carry an error of about
        # 1e-16 of the largest, which is at most n²
        return 1e-11 * n if self.features.kernel.unit_diagonal else float("inf")


def square_design(
    features: KernelMap,
    measure: np.ndarray,
    Z: np.ndarray,
    weights: np.ndarray | None,
    classwise: bool = False,
    keep: bool = True,
) -> FullDesign | WeightedDesign:
    """Return the design of rows that all are centres, from their measures to each other."""
    if not classwise and weights is None:
        return FullDesign(features, measure, Z, keep)
    filled = np.ones(Z.shape[0]) if weights is None else weights
    return WeightedDesign(features, measure, Z, filled, classwise)


class PartedSpectrum:
    """Several weighted spectra, each for some columns of the targets and some centres."""

    def __init__(
        self, parts: list[tuple[slice, np.ndarray, WeightedSpectrum]], shape: tuple[int, int]
    ) -> None:
        self.parts, self.shape = parts, shape

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        A = np.zeros(self.shape)
        for columns, members, part in self.parts:
            A[members, columns] = part.coefficients(regs, mix)
        return A

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        found = [
            part.held_out(regs, splits, None if units is None else units[:, columns])
            for columns, _, part in self.parts
        ]
        return np.concatenate(found, axis=2)


class FixedDesign(Design):
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


class ClasswiseFixedDesign(Design):
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


class RowFeatures:
    """Features of training rows in blocks, kept when they fit the memory allowed."""

    def __init__(
        self, features: KernelMap, X: Rows, sigma: float, columns: np.ndarray | None = None
    ) -> None:
        self.features, self.X, self.sigma, self.columns = features, X, sigma, columns
        self.n_rows = int(X.shape[0])
        self.n_centers = features.n_centers if columns is None else columns.size
        fits = self._share(features, X) <= 1.0
        self.kept: Any = self._select(features.features(X, sigma)) if fits else None

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

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        everything = np.arange(self.n_rows)
        if self.kept is not None:
            yield (everything, self.kept) if rows is None else (rows, self.kept[rows])
            return
        X = self.X if rows is None else self.X[rows]
        positions = everything if rows is None else rows
        for block, Phi in self.features.feature_blocks(X, self.sigma):
            yield positions[block], self._select(Phi)
