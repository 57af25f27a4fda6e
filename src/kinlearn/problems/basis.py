"""A basis over training rows, for any width: what a spectrum of it answers, and one solution."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kinlearn.training.splits import Splits


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
