"""Weighted rows, or a basis that differs from the rows: one thin singular value decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from kinlearn.solvers.splits import Splits


@dataclass
class WeightedSpectrum:
    """``D½ Phi = P diag(s) Qᵀ``, for rows of which some are centres.

    Ridge solutions ``(Phiᵀ D Phi + ρI) A = Phiᵀ D Z``, ρ = reg·Σw, are
    ``A = Q diag(s/(s²+ρ)) Pᵀ D½ Z``.

    Held-out scores remove the rows and, where a row is a centre, its centre too. The solution and
    the weighted residual ``u = D½(Z - Phi A)`` solve the symmetric system
    ``[[I, B], [Bᵀ, -ρI]] [u; A] = [D½Z; 0]``, B = D½Phi, whose inverse has the blocks
    ``b11 = I - P(s²/d)Pᵀ``, ``b12 = P(s/d)Qᵀ``, ``b22 = -Q(1/d)Qᵀ``, d = s²+ρ. Removing rows and
    columns J of a system takes only the J×J part of the inverse:
    ``q_J = Z_J - D_J^(-½) [(inverse_JJ)⁻¹ [u_J; A_J]]_first``.

    Attributes
    ----------
    P, s, Q : ndarrays
        The thin decomposition.
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,)
        Weights.
    own : ndarray of shape (n,)
        Which centre each row is, -1 for none.
    """

    P: np.ndarray
    s: np.ndarray
    Q: np.ndarray
    Z: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    rotated: np.ndarray

    @classmethod
    def of(
        cls, Phi: np.ndarray, Z: np.ndarray, weights: np.ndarray, own: np.ndarray
    ) -> WeightedSpectrum:
        """Decompose the weighted features."""
        root = np.sqrt(weights)[:, None]
        P, s, Qt = svd(root * Phi, full_matrices=False, overwrite_a=True, check_finite=False)
        return cls(P, s, np.ascontiguousarray(Qt.T), Z, weights, own, P.T @ (root * Z))

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return ``Σ_r mix_r A(reg_r)``."""
        ridges = self.weights.sum() * np.atleast_1d(regs)
        filters = self.s[:, None] / (self.s[:, None] ** 2 + ridges)
        total = filters @ (np.ones(ridges.size) if mix is None else mix)
        return self.Q @ (total[:, None] * self.rotated)

    def held_out(self, regs: np.ndarray, splits: Splits) -> np.ndarray:
        """Return held-out scores, shape (R, rows held out, c).

        Leave-one-out keeps one ridge for all rows, ``reg·Σw·(n-1)/n``; a larger block takes the sum
        of the weights that are left.
        """
        scores = np.empty((len(regs), splits.n_rows_held_out, self.Z.shape[1]))
        for r, reg in enumerate(regs):
            if splits.leave_one_out:
                n = self.weights.size
                scores[r] = self._leave_one_out(reg * self.weights.sum() * (n - 1) / n)
                continue
            for out, removed, tested in splits:
                ridge = reg * np.delete(self.weights, removed).sum()
                scores[r, out] = self._leave_block_out(ridge, removed)[tested]
        return scores

    def _leave_one_out(self, ridge: float) -> np.ndarray:
        d = self.s**2 + ridge
        root = np.sqrt(self.weights)[:, None]
        fitted = self.s[:, None] ** 2 / d[:, None] * self.rotated
        u = root * self.Z - self.P @ fitted
        b11 = 1.0 - self.P**2 @ (self.s**2 / d)
        scores = self.Z - u / b11[:, None] / root
        centers = np.flatnonzero(self.own >= 0)
        if centers.size == 0:
            return scores
        P, Q = self.P[centers], self.Q[self.own[centers]]
        b12 = (P * Q) @ (self.s / d)
        b22 = -(Q**2) @ (1.0 / d)
        a = Q @ ((self.s / d)[:, None] * self.rotated)
        u, b11 = u[centers], b11[centers]
        correction = (b22[:, None] * u - b12[:, None] * a) / (b11 * b22 - b12**2)[:, None]
        scores[centers] = self.Z[centers] - correction / root[centers]
        return scores

    def _leave_block_out(self, ridge: float, removed: np.ndarray) -> np.ndarray:
        d = self.s**2 + ridge
        root = np.sqrt(self.weights[removed])[:, None]
        P, size = self.P[removed], removed.size
        own = self.own[removed]
        Q = self.Q[own[own >= 0]]
        system = np.empty((size + Q.shape[0],) * 2)
        system[:size, :size] = np.eye(size) - (P * (self.s**2 / d)) @ P.T
        system[:size, size:] = (P * (self.s / d)) @ Q.T
        system[size:, :size] = system[:size, size:].T
        system[size:, size:] = -(Q / d) @ Q.T
        right = np.empty((system.shape[0], self.Z.shape[1]))
        right[:size] = root * self.Z[removed] - P @ ((self.s**2 / d)[:, None] * self.rotated)
        right[size:] = Q @ ((self.s / d)[:, None] * self.rotated)
        return self.Z[removed] - np.linalg.solve(system, right)[:size] / root
