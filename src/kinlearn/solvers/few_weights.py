"""All rows but a few of one weight, as merging a few duplicates makes them: a small correction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinlearn.solvers.held_out_copies import without_block, without_one_copy
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.training.splits import Block, Splits

# Corrections kept while blocks are left out, one for each weight that a block has.
MOST_RIDGES = 32


@dataclass
class FewWeightsSpectrum:
    """``K = U diag(s) Uᵀ`` corrected for r rows S whose weights differ from one.

    With ``u = D(Z - KA)`` the ridge solution solves ``[[D⁻¹, K], [K, -ρI]] [u; A] = [Z; 0]``. For
    D = I the inverse has the blocks ``ρR, KR, -R``, ``R = (K²+ρI)⁻¹``, all of one decomposition;
    ``D⁻¹ = I + E Δ Eᵀ``, ``Δ = 1/w_S - 1``, changes it by a matrix of rank r (Woodbury)::

        inverse = base - C (Δ⁻¹ + ρR_SS)⁻¹ Cᵀ,    C = [ρR; KR][:, S]

    Held-out scores remove rows and centres J: ``q_J = Z_J - [(inverse_JJ)⁻¹ [u_J; A_J]]_first``.

    Attributes
    ----------
    base : SymmetricSpectrum
        Of the kernel matrix.
    weights : ndarray of shape (n,)
        Weights, most of them one.
    odd : ndarray of shape (r,)
        The rows of other weight.
    """

    base: SymmetricSpectrum
    weights: np.ndarray
    odd: np.ndarray

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return ``Σ_r mix_r A(reg_r)``."""
        regs = np.atleast_1d(regs)
        mix = np.ones(regs.size) if mix is None else mix
        total = np.zeros(self.base.Z.shape, self.base.Z.dtype)
        for reg, share in zip(regs, mix, strict=True):
            total += share * self._corrected(reg * self.weights.sum()).A
        return total

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        """Return held-out scores, shape (R, rows held out, c), with rows and centres removed.

        `units` are the targets of copies that leave alone.
        """
        Z = self.base.Z
        scores = np.empty((len(regs), splits.n_rows_held_out, Z.shape[1]), Z.dtype)
        total = self.weights.sum()
        squared = self.base.U**2 if splits.leave_one_out else None
        for r, reg in enumerate(regs):
            if squared is not None:
                ridge = reg * total * splits.kept_share
                scores[r] = self._leave_one_out(ridge, squared, splits, units)
                continue
            known: dict[float, Corrected] = {}  # blocks of one weight leave one ridge
            for out, block in splits:
                leaves = self.weights[block.removed]
                if block.leaving is not None:
                    leaves = leaves * block.leaving.share
                ridge = reg * (total - leaves.sum())
                if ridge not in known:
                    if len(known) == MOST_RIDGES:
                        known.clear()
                    known[ridge] = self._corrected(ridge)
                found = self._leave_block_out(known[ridge], ridge, block, units)
                scores[r, out] = found[block.tested]
        return scores

    def _corrected(self, ridge: float) -> Corrected:
        return Corrected.of(self.base, self.weights[self.odd], self.odd, ridge)

    def _leave_one_out(
        self, ridge: float, squared: np.ndarray, splits: Splits, units: np.ndarray | None
    ) -> np.ndarray:
        found = self._corrected(ridge)
        filters = np.column_stack([found.residual, found.smoother, -found.inverse])
        beyond = np.array([1.0, 0.0, -1.0 / ridge])
        b11, b12, b22 = self.base.diagonals(squared, filters, beyond).T
        b11 = b11 - found.change(found.C1, found.C1)
        b12 = b12 - found.change(found.C1, found.C2)
        b22 = b22 - found.change(found.C2, found.C2)
        top = b22[:, None] * found.u - b12[:, None] * found.A
        rows, leaving = splits.rows, splits.leaving
        scores = (self.base.Z - top / (b11 * b22 - b12**2)[:, None])[rows]
        if leaving is not None:
            assert units is not None
            part = ~leaving.whole
            at = rows[part]
            weights = self.weights[at].astype(b11.dtype)
            scores[part] = without_one_copy(
                self.base.Z[at] - found.u[at] / weights[:, None],
                1.0 - b11[at] / weights,
                leaving.share[part],
                leaving.targets(units)[part],
            )
        return scores

    def _leave_block_out(
        self, found: Corrected, ridge: float, block: Block, units: np.ndarray | None
    ) -> np.ndarray:
        removed, base = block.removed, self.base
        gone = removed if block.leaving is None else removed[block.leaving.whole]
        first = base.columns(found.residual, 1.0, removed)[removed]
        cross = base.columns(found.smoother, 0.0, gone)[removed]
        last = base.columns(found.inverse, 1.0 / ridge, gone)[gone]
        system = np.block([[first, cross], [cross.T, -last]])
        C = np.vstack([found.C1[removed], found.C2[gone]])
        system -= C @ found.inner @ C.T
        # the unknowns here are u = D(Z - KA): scaled by D^(-½), they are those of the block formula
        scale = np.concatenate([self.weights[removed] ** -0.5, np.ones(gone.size)])
        solution = scale[:, None] * np.vstack([found.u[removed], found.A[gone]])
        root = np.sqrt(self.weights[removed])[:, None]
        system = scale[:, None] * system * scale
        return without_block(system, solution, base.Z[removed], root, block.leaving, units)


@dataclass
class Corrected:
    """The pieces of one ridge: spectral filters, the columns C, the r×r inverse, u and A."""

    residual: np.ndarray  # ρ/(s²+ρ), the filter of ρR
    smoother: np.ndarray  # s/(s²+ρ), of KR
    inverse: np.ndarray  # 1/(s²+ρ), of R
    C1: np.ndarray
    C2: np.ndarray
    inner: np.ndarray
    u: np.ndarray
    A: np.ndarray

    @classmethod
    def of(
        cls, base: SymmetricSpectrum, odd_weights: np.ndarray, odd: np.ndarray, ridge: float
    ) -> Corrected:
        inverse = (1.0 / (base.s.astype(np.float64) ** 2 + ridge)).astype(base.s.dtype)
        residual, smoother = base.s.dtype.type(ridge) * inverse, base.s * inverse
        C1, C2 = base.columns(residual, 1.0, odd), base.columns(smoother, 0.0, odd)
        u, A = base.apply(residual, 1.0), base.apply(smoother, 0.0)
        # (Δ⁻¹ + S)⁻¹ = Δ(I + SΔ)⁻¹, which bears weights close to one
        delta = (1.0 / odd_weights - 1.0).astype(base.s.dtype)
        inner = delta[:, None] * np.linalg.solve(
            np.eye(odd.size, dtype=base.s.dtype) + C1[odd] * delta, np.eye(odd.size)
        )
        inner = inner.astype(base.s.dtype)
        known = inner @ u[odd]
        return cls(residual, smoother, inverse, C1, C2, inner, u - C1 @ known, A - C2 @ known)

    def change(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Diagonal of ``left · inner · rightᵀ``."""
        return np.einsum("ij,ij->i", left @ self.inner, right)
