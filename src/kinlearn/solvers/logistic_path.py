"""Logistic regression over a path of regs, each starting from the last.

From a kernel matrix between rows (:class:`DualPath`), or from explicit features
(:class:`FeaturePath`). Which solver runs where:

    two classes, "newton"       r×r Cholesky factorisations where the rank r is at most half of n,
                                n×n ones in the dual otherwise
    more classes, "newton"      conjugate gradients in the eigenbasis; exact steps in the dual once
                                they take too many iterations
    "lbfgs"                     quasi-Newton in the eigenbasis
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kinlearn.solvers.kernel_factor import (
    LOW_RANK,
    KernelFactor,
    eigen_factor,
    orthogonal,
    pivoted_cholesky,
)
from kinlearn.solvers.logistic_exact import newton_dual_multiclass
from kinlearn.solvers.logistic_lbfgs import lbfgs
from kinlearn.solvers.logistic_loss import Array, LogisticLoss
from kinlearn.solvers.logistic_multiclass import newton_multiclass
from kinlearn.solvers.logistic_newton import (
    GRADIENT_TOLERANCE,
    LogisticSolution,
    newton_dual,
    newton_factor,
)

SOLVERS = ("newton", "lbfgs")
# So many conjugate gradient iterations cost about as much as an exact step, whose factorisations
# grow in number with the classes.
PATIENCE = 40
PATIENCE_PER_CLASS = 8
DEFAULT_MAX_ITER = {"newton": 50, "lbfgs": 2000}


@dataclass(frozen=True)
class Stopping:
    """Which solver, and when it stops: at a norm of the gradient, or after so many iterations."""

    solver: str = "newton"
    tol: float = GRADIENT_TOLERANCE
    max_iter: int | None = None

    @property
    def most(self) -> int:
        return self.max_iter or DEFAULT_MAX_ITER[self.solver]


class DualPath:
    """``L(f) + reg/2 aᵀ gram a`` with ``f = gram a``, for any reg.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel matrix.
    loss : LogisticLoss
        Targets and weights.
    stopping : Stopping
        Which solver, and how far.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_loss import LogisticLoss
    >>> from kinlearn.solvers.logistic_path import DualPath
    >>> path = DualPath(np.eye(2), LogisticLoss.of(np.eye(2), np.full(2, 0.5)))
    >>> path.solve(0.1).coef.shape
    (2, 1)
    """

    def __init__(self, gram: Array, loss: LogisticLoss, stopping: Stopping | None = None) -> None:
        self.gram, self.loss, self.stopping = gram, loss, stopping or Stopping()
        self.start, self.reg = None, float("nan")
        self.by_cholesky = self.stopping.solver == "newton" and loss.binary
        self.n_factorisations = 1
        factor = pivoted_cholesky(gram)
        low = factor.rank <= LOW_RANK * gram.shape[0]
        self.factor: KernelFactor | None = factor
        if self.by_cholesky:
            self.factor = factor if low else None
        elif factor.rank > 0:
            self.factor = factor.orthogonal() if low else eigen_factor(gram)

    start: Array | None

    def solve(self, reg: float) -> LogisticSolution:
        """Return dual coefficients for one reg, starting from the solution of the one before."""
        scales = _scales(self.reg, reg)
        tol, most = self.stopping.tol, self.stopping.most
        made, self.n_factorisations, self.reg = self.n_factorisations, 0, reg
        if self.factor is None:
            found = newton_dual(self.gram, self.loss, reg, tol, most, self.start, scales)
            self.start = found.coef
            return replace(found, n_factorisations=found.n_factorisations + made)
        if self.factor.rank == 0:  # a kernel of zeros: all scores are zero
            return LogisticSolution(np.zeros_like(self.loss.targets), 0.0, 0, made)
        run = _factor_solver(self.by_cholesky, self.stopping.solver)
        iterative = run is newton_multiclass
        n_classes = self.loss.targets.shape[1]
        patience = {"patience": PATIENCE + PATIENCE_PER_CLASS * n_classes} if iterative else {}
        F = self.factor.F
        found = run(F, self.loss, reg, tol, most, self.start, scales, **patience)
        self.start = found.coef
        # at the optimum reg·a is minus the slopes
        slopes = self.loss.slopes(self.loss.evaluate(F @ found.coef)[1])
        a = self.factor.duals(found.coef, -slopes / reg)
        made += found.n_factorisations
        if iterative and found.gradient_norm > tol and found.n_iter < most:
            left, before = most - found.n_iter, found.n_iter
            found = newton_dual_multiclass(self.gram, self.loss, reg, tol, left, start=a)
            a, made = found.coef, made + found.n_factorisations
            found = replace(found, n_iter=before + found.n_iter)
            self.start = F.T @ a
        return replace(found, coef=a, n_factorisations=made)


class FeaturePath:
    """``L(Phi θ) + reg/2 ||θ||²`` over explicit features, for any reg.

    With fewer features than rows these are the factor of the kernel matrix; otherwise everything
    happens in ``Phi Phiᵀ``.

    Parameters
    ----------
    Phi : ndarray of shape (n, m)
        Features.
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,)
        Weights.
    stopping : Stopping
        Which solver, and how far.
    """

    def __init__(
        self, Phi: Array, Z: Array, weights: Array, stopping: Stopping | None = None
    ) -> None:
        self.Phi, self.stopping = Phi, stopping or Stopping()
        self.loss = LogisticLoss.of(Z, weights / weights.sum())
        self.dual: DualPath | None = None
        self.start: Array | None = None
        self.reg = float("nan")
        if Phi.shape[1] >= Phi.shape[0]:
            self.dual = DualPath(Phi @ Phi.T, self.loss, self.stopping)
            return
        self.by_cholesky = self.stopping.solver == "newton" and self.loss.binary
        self.F, self.rotation = (Phi, None) if self.by_cholesky else orthogonal(Phi)

    rotation: Array | None

    def solve(self, reg: float) -> LogisticSolution:
        """Return θ, one column a class, starting from the solution of the reg before."""
        if self.dual is not None:
            found = self.dual.solve(reg)
            return replace(found, coef=both_classes(self.Phi.T @ found.coef))
        run = _factor_solver(self.by_cholesky, self.stopping.solver)
        scales, tol, most = _scales(self.reg, reg), self.stopping.tol, self.stopping.most
        found = run(self.F, self.loss, reg, tol, most, self.start, scales)
        self.start, self.reg = found.coef, reg
        theta = found.coef if self.rotation is None else self.rotation @ found.coef
        return replace(found, coef=both_classes(theta))


def both_classes(theta: Array) -> Array:
    """One column a class: halves of two classes' one score make softmax(-f/2, f/2) its sigmoid."""
    if theta.shape[-1] > 1:
        return theta
    return np.concatenate([-0.5 * theta, 0.5 * theta], axis=-1)


def _factor_solver(by_cholesky: bool, solver: str) -> Callable[..., LogisticSolution]:
    if solver == "lbfgs":
        return lbfgs
    return newton_factor if by_cholesky else newton_multiclass


def _scales(before: float, reg: float) -> tuple[float, ...]:
    """What a solution for one reg may be multiplied by to start the next."""
    if np.isnan(before) or before == reg:
        return (1.0,)
    return (1.0, float(np.sqrt(before / reg)), before / reg)
