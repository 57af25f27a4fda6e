"""Fewer centres than rows: everything from sums over blocks of rows, memory O(m²)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kinlearn.kernels.evaluation import row_blocks
from kinlearn.solvers.held_out_copies import remaining, without_one_copy
from kinlearn.solvers.lapack import eigh
from kinlearn.sums.gram import gram
from kinlearn.training.splits import Block, Splits

# Features are weighed so many bytes at a time, where all rows' are kept in one array.
WEIGHED_BYTES = 64 << 20


class FeatureSource(Protocol):
    """Gives the features of all rows, or of some, a block at a time."""

    n_rows: int
    n_centers: int

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (positions of rows, their features)."""

    def norm(self) -> np.ndarray | None:
        """The kernel between the centres, where that is positive."""


def normal_equations(
    source: FeatureSource,
    Z: np.ndarray,
    weights: np.ndarray | None,
    rows: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``H = Phiᵀ D Phi`` and ``h = Phiᵀ D Z``, in one pass."""
    H = np.zeros((source.n_centers,) * 2)
    h = np.zeros((source.n_centers, Z.shape[1]))
    for positions, Phi in source.blocks(rows):
        if weights is None:
            h += Phi.T @ Z[positions]
            H += gram(Phi)
            continue
        for part in row_blocks(len(Phi), 8 * source.n_centers, WEIGHED_BYTES):
            some = positions[part]
            root = np.sqrt(weights[some])[:, None]
            weighed = root * Phi[part]
            h += weighed.T @ (root * Z[some])
            H += gram(weighed)
    return H, h


@dataclass
class FixedCenterSpectrum:
    """``H = V diag(d) Vᵀ``: every reg, and leave-one-out with the centres kept.

    Ridge solutions ``(H + ρI) A = h``, ρ = reg·Σw, are ``A = V diag(1/(d+ρ)) Vᵀ h``. With the
    leverages ``S_ii = w_i phi_iᵀ (H+ρI)⁻¹ phi_i`` the score of row i without row i is
    ``(q_i - S_ii z_i)/(1 - S_ii)``, ρ = reg·Σw·(n-1)/n.
    """

    source: FeatureSource
    Z: np.ndarray
    weights: np.ndarray | None
    H: np.ndarray
    h: np.ndarray
    d: np.ndarray
    V: np.ndarray

    @classmethod
    def of(
        cls, source: FeatureSource, Z: np.ndarray, weights: np.ndarray | None
    ) -> FixedCenterSpectrum:
        """Pass over the data once and decompose."""
        H, h = normal_equations(source, Z, weights)
        d, V = _decompose(H)
        return cls(source, Z, weights, H, h, d, V)

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return ``Σ_r mix_r A(reg_r)``, each corrected once through unsquared residuals."""
        regs = np.atleast_1d(regs)
        total = float(self.Z.shape[0] if self.weights is None else self.weights.sum())
        m, c = self.h.shape
        ridges = total * np.repeat(regs, c)
        solve = 1.0 / (self.d[:, None] + ridges)
        A = self.V @ (solve * np.tile(self.V.T @ self.h, (1, regs.size)))
        gradient = -ridges * A
        for positions, Phi in self.source.blocks():
            residual = np.tile(self.Z[positions], (1, regs.size)) - Phi @ A
            if self.weights is not None:
                residual *= self.weights[positions][:, None]
            gradient += Phi.T @ residual
        A += self.V @ (solve * (self.V.T @ gradient))
        mix = np.ones(regs.size) if mix is None else mix
        return np.einsum("mrc,r->mc", A.reshape(m, regs.size, c), mix)

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        """Return held-out scores, shape (R, rows held out, c).

        `units` are the targets of copies that leave alone.
        """
        regs = np.asarray(regs)
        scores = np.empty((regs.size, splits.n_rows_held_out, self.Z.shape[1]))
        if splits.leave_one_out:
            self._leave_one_out(regs, splits, units, scores)
            return scores
        for out, block in splits:
            if block.removed.size <= self.d.size:
                scores[:, out] = self._leave_block_out(regs, block, units)[:, block.tested]
            else:
                scores[:, out] = self._leave_fold_out(regs, block, units)
        return scores

    @property
    def _total(self) -> float:
        return float(self.Z.shape[0] if self.weights is None else self.weights.sum())

    def _leave_one_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None, scores: np.ndarray
    ) -> None:
        solve = 1.0 / (self.d[:, None] + regs * self._total * splits.kept_share)
        rotated = self.V.T @ self.h
        share, targets = np.ones(splits.rows.size), None
        if splits.leaving is not None:
            assert units is not None
            share, targets = splits.leaving.share, splits.leaving.targets(units)
        done = 0
        for positions, Phi in self.source.blocks(splits.rows):
            T = Phi @ self.V
            part = slice(done, done + positions.size)
            for r in range(regs.size):
                scores[r, part] = T @ (solve[:, [r]] * rotated)
            leverage = (np.square(T, out=T) @ solve).T
            if self.weights is not None:
                leverage *= self.weights[positions]
            leaves = self.Z[positions] if targets is None else targets[part]
            scores[:, part] = without_one_copy(scores[:, part], leverage, share[part], leaves)
            done += positions.size

    def _leaves(self, block: Block) -> np.ndarray:
        """The weight that leaves of each row of a block."""
        weights = np.ones(block.removed.size)
        if self.weights is not None:
            weights = self.weights[block.removed]
        return weights if block.leaving is None else weights * block.leaving.share

    def _ridges_without(self, regs: np.ndarray, block: Block) -> np.ndarray:
        return regs * (self._total - self._leaves(block).sum())

    def _leave_block_out(
        self, regs: np.ndarray, block: Block, units: np.ndarray | None
    ) -> np.ndarray:
        """``q_B = z' - D^(-½) (T + I - D½ S_BB D½)⁻¹ (…)/s``: one small system a reg.

        All centres stay, so that of the block formula only the part of the rows is left.
        """
        removed = block.removed
        Phi_V = np.vstack([Phi for _, Phi in self.source.blocks(removed)]) @ self.V
        Z = self.Z[removed]
        root = 1.0 if self.weights is None else np.sqrt(self.weights[removed])[:, None]
        Phi_V *= root
        rotated = self.V.T @ self.h
        left, share, diagonal = Z, np.ones((removed.size, 1)), np.zeros(removed.size)
        if block.leaving is not None:
            assert units is not None
            left, share, diagonal = remaining(Z, block.leaving, units)
        scores = np.empty((regs.size, *Z.shape))
        for r, ridge in enumerate(self._ridges_without(regs, block)):
            scaled = Phi_V / (self.d + ridge)
            system = np.eye(removed.size) - scaled @ Phi_V.T
            right = root * Z - scaled @ rotated + system @ (root * (left - Z))
            system.flat[:: removed.size + 1] += diagonal
            scores[r] = left - np.linalg.solve(system, right) / root / share
        return scores

    def _leave_fold_out(
        self, regs: np.ndarray, block: Block, units: np.ndarray | None
    ) -> np.ndarray:
        """Subtract the fold's sums and decompose again: cheaper once a fold exceeds the centres."""
        removed, tested = block.removed, block.removed[block.tested]
        leaves = np.zeros(self.Z.shape[0])
        leaves[removed] = self._leaves(block)
        Z = self.Z
        if block.leaving is not None:
            assert units is not None
            Z = Z.copy()
            Z[removed] = block.leaving.targets(units)
        H_B, h_B = normal_equations(self.source, Z, leaves, removed)
        d, V = _decompose(self.H - H_B)
        rotated = V.T @ (self.h - h_B)
        solve = 1.0 / (d[:, None] + self._ridges_without(regs, block))
        A = np.einsum("mk,kr,kc->rmc", V, solve, rotated, optimize=True)
        scores = np.empty((regs.size, tested.size, self.Z.shape[1]))
        done = 0
        for positions, Phi in self.source.blocks(tested):
            scores[:, done : done + positions.size] = Phi @ A
            done += positions.size
        return scores


def _decompose(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d, V = eigh(H)
    return np.maximum(d, 0.0), V
