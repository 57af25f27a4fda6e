"""Logistic regression on kernel features over a path of regs, each starting from the last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from kinlearn.solvers.logistic import (
    GRADIENT_TOLERANCE,
    Eigenbasis,
    LogisticSolution,
    lbfgs,
    newton_binary,
    newton_multiclass,
)

SOLVERS = ("newton", "lbfgs")


@dataclass(frozen=True)
class PrimalSolution:
    """Parameters over the features, one column a class, and how they were found."""

    theta: np.ndarray
    gradient_norm: float
    n_iter: int
    n_factorisations: int


class LogisticPath:
    """``(1/N) Σ w log-loss + reg/2 ||θ||²`` over features Phi, for any reg.

    With fewer features than rows everything happens in the features' own eigenbasis; otherwise in
    the n×n kernel ``Phi Phiᵀ``, where two classes take Newton steps of one Cholesky factorisation.

    Parameters
    ----------
    Phi : ndarray of shape (n, m)
        Features.
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,)
        Weights.
    solver : {"newton", "lbfgs"}
        Which solver.
    tol, max_iter
        When to stop: the norm of the gradient, and the number of iterations.
    """

    def __init__(
        self,
        Phi: np.ndarray,
        Z: np.ndarray,
        weights: np.ndarray,
        solver: str = "newton",
        tol: float = GRADIENT_TOLERANCE,
        max_iter: int | None = None,
    ) -> None:
        self.Phi, self.Z, self.weights = Phi, Z, weights
        self.solver, self.tol = solver, tol
        self.max_iter = max_iter or (50 if solver == "newton" else 2000)
        self.start: np.ndarray | None = None
        self.gram: np.ndarray | None = None
        self.basis: Eigenbasis | None = None
        wide = Phi.shape[1] >= Phi.shape[0]
        if wide:
            self.gram = Phi @ Phi.T
        if not (wide and solver == "newton" and Z.shape[1] == 2):
            self.basis = Eigenbasis.of(self.gram) if self.gram is not None else _thin_basis(Phi)

    def solve(self, reg: float) -> PrimalSolution:
        """Solve for one reg, starting from the solution of the one before."""
        found = self._dual(reg)
        # v is of the order of the slopes, whatever the reg: a good start for the next one
        self.start = found.v
        theta = self.Phi.T @ found.v / reg
        if theta.shape[1] == 1:
            # two classes have one score f; halves of it make softmax(-f/2, f/2) its sigmoid
            theta = np.hstack([-0.5 * theta, 0.5 * theta])
        return PrimalSolution(theta, found.gradient_norm, found.n_iter, found.n_factorisations)

    def _dual(self, reg: float) -> LogisticSolution:
        if self.basis is None:
            assert self.gram is not None
            start = None if self.start is None else self.start[:, 0]
            return newton_binary(
                self.gram / reg, self.Z[:, 1], self.weights, reg, self.tol, self.max_iter, start
            )
        run = newton_multiclass if self.solver == "newton" else lbfgs
        basis = self.basis.scaled(1.0 / reg)
        return run(basis, self.Z, self.weights, reg, self.tol, self.max_iter, self.start)


def _thin_basis(Phi: np.ndarray) -> Eigenbasis:
    """Eigenbasis of ``Phi Phiᵀ`` from the smaller ``PhiᵀPhi``."""
    d, V = eigh(Phi.T @ Phi, driver="evd", check_finite=False)
    kept = d > d[-1] * d.size * np.finfo(np.float64).eps
    d, V = d[kept], V[:, kept]
    return Eigenbasis(d, (Phi @ V) / np.sqrt(d))
