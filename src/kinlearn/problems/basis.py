"""Bases over training rows, for any width; here those with every row a centre."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from kinlearn.kernels import KernelMap
from kinlearn.solvers.cholesky import fit_with_leave_one_out, ridge_solutions
from kinlearn.solvers.few_weights import FewWeightsSpectrum
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.solvers.weighted import WeightedSpectrum
from kinlearn.training.splits import Splits

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


class Basis:
    """A basis over training rows, for any width."""

    fixed_centers = False  # whether holding a row out leaves all centres in place
    # how many widths' features fit the memory allowed, where these are not square matrices
    widths_at_once: int | None = None
    Z: np.ndarray

    def facts(self) -> dict[str, Any]:
        """What there is to tell of a solution, by the names of fitted attributes."""
        return {"n_iter_": 1}

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

    def part(self, kept: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> Basis | None:
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


class FullBasis(Basis):
    """Every row a centre, equal weights: a symmetric kernel matrix from measures of all pairs."""

    def __init__(
        self, features: KernelMap, measure: np.ndarray, Z: np.ndarray, keep: bool = False
    ) -> None:
        self.features, self.Z = features, Z
        self.measure: np.ndarray | None = measure
        self.keep = keep
        self._single: np.ndarray | None = None

    def part(self, kept: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> Basis | None:
        if self.measure is None:
            return None
        return square_basis(self.features, self.measure[np.ix_(kept, kept)], Z, weights)

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
        return SymmetricSpectrum.to_select(K, self.Z, self.features.kernel.smooth)

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


class WeightedBasis(Basis):
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

    def part(self, kept: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> Basis | None:
        measure = self.measure[np.ix_(kept, kept)]
        return square_basis(self.features, measure, Z, weights, self.classwise)

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
            smooth = self.features.kernel.smooth
            base = (
                SymmetricSpectrum.to_select(K, self.Z, smooth)
                if single
                else SymmetricSpectrum.of(K, self.Z)
            )
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


def square_basis(
    features: KernelMap,
    measure: np.ndarray,
    Z: np.ndarray,
    weights: np.ndarray | None,
    classwise: bool = False,
    keep: bool = True,
) -> FullBasis | WeightedBasis:
    """Return the basis of rows that all are centres, from their measures to each other."""
    if not classwise and weights is None:
        return FullBasis(features, measure, Z, keep)
    filled = np.ones(Z.shape[0]) if weights is None else weights
    return WeightedBasis(features, measure, Z, filled, classwise)


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
