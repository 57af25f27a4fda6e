"""The problem of one task: all widths and regs, decomposed as few times as memory allows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from kinlearn.kernels import Kernel, KernelMap
from kinlearn.problems.basis import FAST_ROWS, Basis, FullBasis, Spectrum, square_basis
from kinlearn.problems.costs import WARN_FULL_ROWS, warn_if_large
from kinlearn.problems.fixed_basis import ClasswiseFixedBasis, FixedBasis
from kinlearn.problems.problem import Array, Axes, Point, Solution, by_width
from kinlearn.threads import side_by_side, threaded_blas
from kinlearn.training.centers import Centers
from kinlearn.training.splits import Splits
from kinlearn.training.training_set import TrainingSet

# Decompositions kept for the refit, instead of being made again, up to this much memory.
KEPT_SPECTRA_MB = 1024
# Up to this many rows a problem can be posed again on some of them, after it was decomposed.
POSED_AGAIN = 250


class OneTask:
    """Held-out scores and coefficients of one task.

    Parameters
    ----------
    basis : Basis
        The features of any width.
    data : TrainingSet
        The rows.
    precision : {"auto", "double", "single"}
        Arithmetic of the search; coefficients are always solved in double.
    kept_mb : float
        Memory for decompositions that are kept for the coefficients.
    """

    def __init__(
        self,
        basis: Basis,
        data: TrainingSet,
        precision: str = "auto",
        kept_mb: float = KEPT_SPECTRA_MB,
    ) -> None:
        self.basis, self.units, self.n_rows = basis, data.unit_targets, data.n_rows
        self.precision, self.kept_mb = precision, kept_mb
        self.kept: dict[float, tuple[Spectrum, bool]] = {}

    def part(self, kept: np.ndarray, data: TrainingSet) -> OneTask:
        """The same problem on some of the distinct rows."""
        small = self.basis.part(kept, data.targets, data.weights)
        assert small is not None
        return OneTask(small, data, self.precision)

    def held_out(self, axes: Axes, splits: Splits) -> Array:
        """Return held-out scores of all pairs of a width and a reg."""
        sigmas, regs = axes["sigma"], axes["reg"]
        single = self._single(regs)
        # which to keep is settled before threads finish in whatever order they do
        fresh = [float(sigma) for sigma in sigmas if float(sigma) not in self.kept]
        most = math.ceil(self.kept_mb * 2**20 / (8 * self.n_rows**2))
        keep = set(fresh[: max(0, most - len(self.kept))])

        def one_width(sigma: float) -> Array:
            spectrum = self._spectrum(sigma, single, sigma in keep)
            return spectrum.held_out(regs, splits, self.units)

        return np.concatenate(self._side_by_side(one_width, [float(sigma) for sigma in sigmas]))

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Return for each width the mix of its solutions, in double precision."""
        groups = by_width(points, weights)

        def one_width(group: tuple[float, list[Point], Array]) -> Array:
            sigma, own, mix = group
            regs = np.array([point["reg"] for point in own])
            if sigma in self.kept and not self.kept[sigma][1]:
                return self.kept[sigma][0].coefficients(regs, mix)
            return self.basis.solve(sigma, regs, mix)

        coef = np.stack(self._side_by_side(one_width, groups))
        return Solution(np.array([sigma for sigma, _, _ in groups]), coef)

    def solve(self, point: Point, splits: Splits | None) -> tuple[Solution, Array | None]:
        """Return the solution of one point and, if asked for, its held-out scores, (entries, c)."""
        sigma, reg, scores = point["sigma"], point["reg"], None
        with threaded_blas(self.basis.side):
            if splits is None:
                coef = self.basis.solve(sigma, np.array([reg]), np.ones(1))
            else:
                coef, scores = self.basis.fit_and_hold_out(sigma, reg, splits, self.units)
        return Solution(np.array([sigma]), coef[None], facts=self.basis.facts()), scores

    def least_reg(self, regs: Array) -> float:
        """Return how far down a search over `regs` may go without starting anew in double."""
        return self.basis.least_single_reg() if self._single(regs) else 0.0

    def _side_by_side(self, work: Callable[[Any], Array], widths: list) -> list[Array]:
        basis = self.basis
        with side_by_side(len(widths), side=basis.side, at_most=basis.widths_at_once) as each:
            return list(each(work, widths))

    def _single(self, regs: Array) -> bool:
        if self.precision == "double":
            return False
        allowed = float(regs.min()) >= self.basis.least_single_reg()
        return allowed and (self.precision == "single" or self.n_rows >= FAST_ROWS)

    def _spectrum(self, sigma: float, single: bool, keep: bool) -> Spectrum:
        known = self.kept.get(sigma)
        if known is not None and (single or not known[1]):
            return known[0]
        spectrum = self.basis.spectrum(sigma, single)
        if keep or known is not None:
            self.kept[sigma] = (spectrum, single)
        return spectrum


@dataclass(frozen=True)
class OneTaskPoser:
    """Poses the problem of one task in any kernel; of fewer than all rows every one is a centre.

    Attributes
    ----------
    centers : Centers
        Of all rows.
    n_rows : int
        How many distinct rows these are.
    memory_mb : float
        Bound on the memory of kernel blocks.
    n_widths, n_kernels : int
        How many there are, before any widening.
    basis, precision : str
        As in :func:`one_task_basis` and :class:`OneTask`.
    """

    centers: Centers
    n_rows: int
    memory_mb: float
    n_widths: int
    n_kernels: int
    basis: str = "full"
    precision: str = "auto"

    def __call__(self, kernel: Kernel, data: TrainingSet) -> OneTask:
        own = self.centers
        if data.n_rows < self.n_rows and (own.positions is not None or own.everything):
            own = Centers(data.X, np.arange(data.n_rows), True)
        features = KernelMap(kernel, own.rows, self.memory_mb)
        keep = data.n_rows <= POSED_AGAIN
        found = one_task_basis(data, features, own, self.basis, self.n_widths, keep)
        return OneTask(found, data, self.precision, KEPT_SPECTRA_MB / self.n_kernels)


def one_task_basis(
    data: TrainingSet,
    features: KernelMap,
    centers: Centers,
    basis: str,
    n_decompositions: int,
    keep: bool = False,
) -> Basis:
    """Set up what is decomposed.

    Parameters
    ----------
    data : TrainingSet
    features : KernelMap
        The kernel against the centres.
    centers : Centers
        Where these come from.
    basis : {"full", "classwise"}
        Whether a class uses the centres of its own class only.
    n_decompositions : int
        How many widths will be asked for.
    keep : bool, default=False
        Whether the problem must be posed again on some of the rows after it was decomposed.
    """
    classwise = basis == "classwise"
    if not centers.everything:
        if not classwise:
            return FixedBasis(features, data.X, data.targets, data.weights)
        if centers.positions is None:
            refuse_given_centers()
        own = data.targets[centers.positions]
        return ClasswiseFixedBasis(features, data.X, data.targets, data.weights, own)
    if data.n_rows > WARN_FULL_ROWS:
        warn_if_large(data.n_rows, n_decompositions, classwise or data.weights is not None)
    measure = features.square_measure(data.X)
    keep = keep or n_decompositions > 1
    found = square_basis(features, measure, data.targets, data.weights, classwise, keep)
    if isinstance(found, FullBasis) and not features.kernel.has_feature_space:
        warn_if_indefinite(measure)
    return found


def refuse_given_centers() -> NoReturn:
    """Say why each class cannot have its own centres."""
    raise ValueError(
        'basis="classwise" needs centers of known class: leave centers out, or use basis="full".'
    )


def warn_if_indefinite(K: np.ndarray) -> None:
    """Warn when a kernel matrix given by the user has clearly negative eigenvalues."""
    n = K.shape[0]
    slack = 1e-8 * max(float(np.abs(np.diagonal(K)).max(initial=0.0)), float(np.abs(K).max()))
    try:
        np.linalg.cholesky(K + n * slack * np.eye(n))
    except np.linalg.LinAlgError:
        warnings.warn(
            "The kernel matrix is not positive semi-definite. The fit treats its columns as "
            "features, so the solution is still unique and valid, but check the kernel if this is "
            "unexpected.",
            UserWarning,
            stacklevel=5,
        )
