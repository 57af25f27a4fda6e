"""Weighted rows, or a basis that differs from the rows: one decomposition of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinlearn.solvers.held_out_copies import without_block, without_one_copy
from kinlearn.solvers.lapack import eigh
from kinlearn.solvers.ridge_from_sums import LARGEST_LEVERAGE
from kinlearn.training.splits import Block, Splits


@dataclass
class WeightedSpectrum:
    """``BᵀB = Q diag(s²) Qᵀ`` for ``B = D½ Phi``, rows of which some are centres, and ``T = B Q``.

    Ridge solutions ``(Phiᵀ D Phi + ρI) A = Phiᵀ D Z``, ρ = reg·Σw, are
    ``A = Q diag(1/(s²+ρ)) Tᵀ D½ Z``.

    Held-out scores remove the rows and, where a row is a centre, its centre too. The solution and
    the weighted residual ``u = D½(Z - Phi A)`` solve the symmetric system
    ``[[I, B], [Bᵀ, -ρI]] [u; A] = [D½Z; 0]``, whose inverse has the blocks ``b11 = I - T(1/d)Tᵀ``,
    ``b12 = T(1/d)Qᵀ``, ``b22 = -Q(1/d)Qᵀ``, d = s²+ρ. Removing rows and columns J of a system takes
    only the J×J part of the inverse:
    ``q_J = Z_J - D_J^(-½) [(inverse_JJ)⁻¹ [u_J; A_J]]_first``.

    Attributes
    ----------
    T : ndarray of shape (n, k)
        Rotated features.
    squared : ndarray of shape (k,)
        s².
    Q : ndarray of shape (m, k)
        Rotation.
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,)
        Weights.
    own : ndarray of shape (n,)
        Which centre each row is, -1 for none.
    rotated : ndarray of shape (k, c)
        ``Tᵀ D½ Z``.
    """

    T: np.ndarray
    squared: np.ndarray
    Q: np.ndarray
    Z: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    rotated: np.ndarray

    @classmethod
    def of(
        cls,
        Phi: np.ndarray,
        Z: np.ndarray,
        weights: np.ndarray,
        own: np.ndarray,
        fast: bool = False,
    ) -> WeightedSpectrum:
        """Decompose the weighted features.

        A singular value decomposition squares nothing. `fast` decomposes ``BᵀB`` instead, at a
        third of the cost and half the digits: enough to select and to calibrate by.
        """
        root = np.sqrt(weights)[:, None]
        B = root * Phi
        if fast:
            squared, Q = eigh(B.T @ B, overwrite=True)
            squared = np.maximum(squared, 0.0)
            T = B @ Q
        else:
            P, s, Qt = np.linalg.svd(B, full_matrices=False)
            T, squared, Q = P * s, s**2, np.ascontiguousarray(Qt.T)
        return cls(T, squared, Q, Z, weights, own, T.T @ (root * Z))

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return ``Σ_r mix_r A(reg_r)``."""
        ridges = self.weights.sum() * np.atleast_1d(regs)
        filters = 1.0 / (self.squared[:, None] + ridges)
        total = filters @ (np.ones(ridges.size) if mix is None else mix)
        return self.Q @ (total[:, None] * self.rotated)

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        """Return held-out scores, shape (R, rows held out, c).

        Leave-one-out keeps one ridge for all rows, ``reg·Σw·(n-1)/n`` for n copies; a larger block
        takes the sum of the weights that are left. `units` are the targets of copies that leave
        alone.
        """
        scores = np.empty((len(regs), splits.n_rows_held_out, self.Z.shape[1]))
        total = float(self.weights.sum())
        if splits.leave_one_out:
            ridges = np.asarray(regs) * total * splits.kept_share
            self._leave_one_out(ridges, splits, units, scores)
            return scores
        for out, block in splits:
            leaves = self.weights[block.removed]
            if block.leaving is not None:
                leaves = leaves * block.leaving.share
            for r, reg in enumerate(regs):
                ridge = reg * max(total - float(leaves.sum()), np.finfo(float).tiny)
                scores[r, out] = self._leave_block_out(ridge, block, units)[block.tested]
        return scores

    def _leave_one_out(
        self, ridges: np.ndarray, splits: Splits, units: np.ndarray | None, scores: np.ndarray
    ) -> None:
        inverse = 1.0 / (self.squared[:, None] + ridges)  # 1/d, one column a ridge
        root = np.sqrt(self.weights)[:, None]
        rows, leaving = splits.rows, splits.leaving
        part = np.zeros(rows.size, bool) if leaving is None else ~leaving.whole
        leverage = self.T**2 @ inverse
        # entries that leave altogether, with a centre of their own or without one
        owned = np.flatnonzero(~part & (self.own[rows] >= 0))
        bare = np.flatnonzero(~part & (self.own[rows] < 0))
        centers = rows[owned]
        Q = self.Q[self.own[centers]]
        b11 = 1.0 - leverage[centers]
        b12 = (self.T[centers] * Q) @ inverse
        b22 = -(Q**2) @ inverse
        determinant = b11 * b22 - b12**2
        for r in range(ridges.size):
            filtered = inverse[:, [r]] * self.rotated
            fitted = self.T @ filtered  # D½ q
            u = root * self.Z - fitted
            at = rows[bare]
            rest = np.maximum(1.0 - leverage[at, r], 1.0 - LARGEST_LEVERAGE)[:, None]
            scores[r, bare] = self.Z[at] - u[at] / rest / root[at]
            a = Q @ filtered
            # a row that nothing else predicts leaves a singular system: as if it were no centre
            alone = u[centers] / np.maximum(b11[:, [r]], 1.0 - LARGEST_LEVERAGE)
            numerator = b22[:, [r]] * u[centers] - b12[:, [r]] * a
            solvable = np.broadcast_to(determinant[:, [r]] < 0.0, numerator.shape)
            correction = np.divide(numerator, determinant[:, [r]], out=alone, where=solvable)
            scores[r, owned] = self.Z[centers] - correction / root[centers]
            if leaving is not None:
                assert units is not None
                at = rows[part]
                scores[r, part] = without_one_copy(
                    fitted[at] / root[at],
                    leverage[at, r],
                    leaving.share[part],
                    leaving.targets(units)[part],
                )

    def _leave_block_out(self, ridge: float, block: Block, units: np.ndarray | None) -> np.ndarray:
        removed, leaving = block.removed, block.leaving
        inverse = 1.0 / (self.squared + ridge)
        root = np.sqrt(self.weights[removed])[:, None]
        T, size = self.T[removed], removed.size
        own = self.own[removed if leaving is None else removed[leaving.whole]]
        Q = self.Q[own[own >= 0]]
        system = np.empty((size + Q.shape[0],) * 2)
        system[:size, :size] = np.eye(size) - (T * inverse) @ T.T
        system[:size, size:] = (T * inverse) @ Q.T
        system[size:, :size] = system[:size, size:].T
        system[size:, size:] = -(Q * inverse) @ Q.T
        filtered = inverse[:, None] * self.rotated
        solution = np.vstack([root * self.Z[removed] - T @ filtered, Q @ filtered])
        return without_block(system, solution, self.Z[removed], root, leaving, units)
