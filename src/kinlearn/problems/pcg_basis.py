"""Many centres: the features are made again in every step of conjugate gradients, never stored."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.kernels.squared_distances import SquaredDistances
from kinlearn.problems.basis import Basis
from kinlearn.solvers.center_preconditioner import (
    CholeskyPreconditioner,
    NystromPreconditioner,
    center_weights,
)
from kinlearn.solvers.feature_passes import FeaturePasses, FoldedTargets
from kinlearn.solvers.pcg import ridge_pcg
from kinlearn.training.splits import Splits

# Up to this many centres the preconditioner uses them all; beyond, as many as the second number.
FULL_PRECONDITIONER = 10_000
SAMPLED_CENTERS = 4_000
# Leave-one-out needs every row's leverage, which takes the matrix that is not formed here: rows are
# held out in this many folds instead, fitted in the same passes as the model itself.
CALIBRATION_FOLDS = 5
# Passes in single precision carry no more digits than this.
LEAST_SINGLE_TOL = 1e-5


@dataclass
class PcgSettings:
    """How the iteration runs and when it stops."""

    tol: float
    max_iter: int
    single: bool
    report: Callable[[str], None] | None


class PcgBasis(Basis):
    """Centres apart from the rows, or all rows, solved without forming ``PhiᵀPhi``.

    Parameters
    ----------
    features : KernelMap
        The kernel against the centres.
    X : array or CSR matrix of shape (n, d)
    Z, weights : ndarrays
        Targets and weights of the rows.
    settings : PcgSettings
    center_rows : array or CSR matrix of shape (m, d)
        The rows that are the centres (a precomputed kernel keeps no rows of its own).
    own : ndarray of shape (n,), optional
        The centre each row is, when all rows are centres: a row held out takes its centre along.
    allowed : ndarray of shape (m, c), optional
        Which centres each class may use (``basis="classwise"``).
    """

    fixed_centers = True
    side = 0  # nothing large is decomposed

    def __init__(
        self,
        features: KernelMap,
        X: Rows,
        Z: np.ndarray,
        weights: np.ndarray | None,
        settings: PcgSettings,
        center_rows: Rows,
        own: np.ndarray | None = None,
        allowed: np.ndarray | None = None,
    ) -> None:
        self.features, self.X, self.Z, self.weights = features, X, Z, weights
        self.settings, self.center_rows, self.own = settings, center_rows, own
        self.allowed = allowed
        self.n_iter = 0

    def facts(self) -> dict[str, Any]:
        return {"n_iter_": self.n_iter}

    def solve(self, sigma: float, regs: np.ndarray, mix: np.ndarray) -> np.ndarray:
        data = FoldedTargets(self.Z, self.weights)
        A = np.zeros((self.features.n_centers, self.Z.shape[1]))
        for reg, share in zip(regs, mix, strict=True):
            A += share * self._iterate(self._passes(sigma), data, sigma, float(reg))
        return A

    def fit_and_hold_out(
        self, sigma: float, reg: float, splits: Splits, units: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        data = FoldedTargets(self.Z, self.weights, splits, units)
        passes = self._passes(sigma)
        A = self._iterate(passes, data, sigma, reg)
        return A[:, : self.Z.shape[1]], passes.held_out_scores(A, data)

    def _passes(self, sigma: float) -> FeaturePasses:
        kernel, measure = self.features.kernel, self.features.measure
        if self.settings.single and isinstance(measure, SquaredDistances):
            measure = measure.in_single()

        def make(rows: slice) -> NDArray:
            values = measure.block(self.X[rows])
            return kernel.profile(values, sigma, values)

        dtype = np.float32 if self.settings.single else np.float64
        shape = (self.X.shape[0], self.features.n_centers)
        return FeaturePasses(make, *shape, dtype, self.features.memory_mb)

    def _iterate(
        self, passes: FeaturePasses, data: FoldedTargets, sigma: float, reg: float
    ) -> np.ndarray:
        """Return the coefficients of every problem of `data`, (m, problems·c)."""
        ridges = np.repeat(reg * data.totals(), self.Z.shape[1])
        kept = self._kept_entries(data)
        # which centre is nearest is known from similarities only where none is its own scale
        nearest = self.features.kernel.unit_diagonal
        rhs, gathered = passes.right_hand_side(data, nearest)
        if not nearest:
            gathered[:] = data.totals()[0] / gathered.size
        solve = self._preconditioner(sigma, gathered, float(ridges[0]))

        def operator(A: np.ndarray) -> np.ndarray:
            image = passes.normal_product(A, data)
            image += ridges * A
            return image if kept is None else image * kept

        def precondition(R: np.ndarray) -> np.ndarray:
            return solve(R) if kept is None else kept * solve(R)

        settings = self.settings
        tol = max(settings.tol, LEAST_SINGLE_TOL) if settings.single else settings.tol
        found = ridge_pcg(
            operator,
            rhs if kept is None else kept * rhs,
            precondition,
            tol=tol,
            max_iter=settings.max_iter,
            progress=_timed(settings.report, tol),
        )
        self.n_iter = max(self.n_iter, found.n_iter)
        if not found.converged:
            warnings.warn(
                f"Conjugate gradients stopped after {found.n_iter} steps at a relative error of "
                f"scores of about {found.residual:.1e}, above tol={tol:g}. Raise max_iter or reg "
                f"(now {reg:g}), or allow a larger tol: 1e-4 changes no probability visibly.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return found.solution

    def _kept_entries(self, data: FoldedTargets) -> np.ndarray | None:
        """Return which coefficients may differ from zero, (m, problems·c); None for all."""
        if self.own is None and self.allowed is None:
            return None
        shape = (self.features.n_centers, data.n_folds + 1, self.Z.shape[1])
        kept = np.ones(shape, dtype=bool)
        if self.allowed is not None:
            kept &= self.allowed[:, None, :]
        if self.own is not None:
            row, problem = np.nonzero(data.stays == 0.0)
            kept[self.own[row], problem] = False
        return kept.reshape(shape[0], -1)

    def _preconditioner(
        self, sigma: float, gathered: np.ndarray, ridge: float
    ) -> Callable[[np.ndarray], np.ndarray]:
        m = self.features.n_centers
        weights = center_weights(gathered)
        if m <= FULL_PRECONDITIONER:
            rows = self.center_rows if self.features.kernel.name == "precomputed" else None
            return CholeskyPreconditioner.of(self.features.square(sigma, rows), weights, ridge)
        # centres come in no order of importance, so evenly spread ones are as good as drawn ones
        some = np.unique(np.linspace(0, m - 1, SAMPLED_CENTERS).astype(np.intp))
        columns = self.features.features(self.center_rows[some], sigma).T.copy()
        return NystromPreconditioner.of(columns, weights[some] * (m / some.size), ridge)


def _timed(report: Callable[[str], None] | None, tol: float) -> Callable[[int, float], None] | None:
    if report is None:
        return None
    start = time.perf_counter()

    def progress(step: int, residual: float) -> None:
        seconds = time.perf_counter() - start
        report(
            f"step {step}: relative error {residual:.1e} (stops at {tol:.0e}), "
            f"{seconds:.1f} s, {seconds / step:.2f} s a step"
        )

    return progress
