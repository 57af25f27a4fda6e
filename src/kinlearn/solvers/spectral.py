"""The full basis from one eigendecomposition: every reg at once, and K is never squared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from kinlearn.solvers.splits import Splits


@dataclass
class SymmetricSpectrum:
    """``K = U diag(s) Uᵀ`` with the targets rotated into it.

    Ridge solutions ``(K² + ρI) A = K Z``, ρ = n·reg, are ``A = U diag(s/(s²+ρ)) Uᵀ Z``.

    Attributes
    ----------
    s : ndarray of shape (n,)
        Eigenvalues.
    U : ndarray of shape (n, n)
        Eigenvectors in columns.
    Z : ndarray of shape (n, c)
        Targets.
    rotated : ndarray of shape (n, c)
        ``Uᵀ Z``.
    """

    s: np.ndarray
    U: np.ndarray
    Z: np.ndarray
    rotated: np.ndarray

    @classmethod
    def of(cls, K: np.ndarray, Z: np.ndarray, dtype: type = np.float64) -> SymmetricSpectrum:
        """Decompose K, in the given precision; K may be overwritten."""
        # LAPACK's divide and conquer through SciPy: NumPy would run float32 at double's cost
        s, U = eigh(np.asarray(K, dtype=dtype), driver="evd", overwrite_a=True, check_finite=False)
        Z = Z.astype(dtype, copy=False)
        return cls(s, U, Z, U.T @ Z)

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return ``Σ_r mix_r A(reg_r)``: a mix over regs is one coefficient matrix.

        Parameters
        ----------
        regs : array of shape (R,)
            Regularisation strengths.
        mix : array of shape (R,), optional
            Weights; all ones when left out.
        """
        ridges = self.s.size * np.atleast_1d(regs)
        filters = self.s[:, None] / (self.s[:, None] ** 2 + ridges)
        total = filters @ (np.ones(ridges.size) if mix is None else mix)
        return self.U @ (total[:, None] * self.rotated)

    def held_out(self, regs: np.ndarray, splits: Splits) -> np.ndarray:
        """Return held-out scores, shape (R, rows held out, c), with rows and centres removed.

        ``K(K²+μ²I)⁻¹ = Re[(K+iμI)⁻¹]`` turns the removal of a row *and* its centre into the removal
        of one row and column of a complex symmetric matrix. With ``G = U diag(1/(s+iμ)) Uᵀ`` and
        ``μ² = reg·n_train``: ``q_i = z_i - Re[(GZ)_i / G_ii]``, and for a block B
        ``Z_B - Re[(G_BB)⁻¹ (GZ)_B]``.
        """
        if splits.leave_one_out:
            return self._leave_one_out(regs)
        scores = np.empty((len(regs), splits.n_rows_held_out, self.Z.shape[1]), self.Z.dtype)
        for out, removed, tested in splits:
            scores[:, out] = self._leave_block_out(regs, removed)[:, tested]
        return scores

    def _filters(self, regs: np.ndarray, n_train: int) -> tuple[np.ndarray, np.ndarray]:
        """Real and imaginary parts of ``1/(s+iμ)``, shape (n, R)."""
        # a reg can be so small, and n_train 0, that s = μ = 0 would divide by zero
        mu2 = np.maximum(np.asarray(regs) * n_train, np.finfo(self.s.dtype).tiny)
        mu2 = mu2.astype(self.s.dtype)
        denominator = self.s[:, None] ** 2 + mu2
        return self.s[:, None] / denominator, -np.sqrt(mu2) / denominator

    def _leave_one_out(self, regs: np.ndarray) -> np.ndarray:
        n, c = self.Z.shape
        real, imag = self._filters(regs, n - 1)
        squared = self.U**2
        diag_real, diag_imag = (squared @ real).T, (squared @ imag).T
        del squared
        norm = diag_real**2 + diag_imag**2
        # Re[(GZ)_i / G_ii] = Re(GZ)_i·Re(G_ii)/|G_ii|² + Im(GZ)_i·Im(G_ii)/|G_ii|²
        scores = np.empty((len(regs), n, c), self.Z.dtype)
        for out, part, diagonal in ((0, real, diag_real / norm), (1, imag, diag_imag / norm)):
            stacked = (part[:, :, None] * self.rotated[:, None, :]).reshape(n, -1)
            product = (self.U @ stacked).reshape(n, len(regs), c).transpose(1, 0, 2)
            if out == 0:
                np.multiply(product, -diagonal[:, :, None], out=scores)
            else:
                scores -= product * diagonal[:, :, None]
        scores += self.Z
        return scores

    def _leave_block_out(self, regs: np.ndarray, removed: np.ndarray) -> np.ndarray:
        n = self.s.size
        real, imag = self._filters(regs, n - removed.size)
        U_B = self.U[removed]
        scores = np.empty((len(regs), removed.size, self.Z.shape[1]), self.Z.dtype)
        for r in range(len(regs)):
            G_BB = (U_B * real[:, r]) @ U_B.T + 1j * ((U_B * imag[:, r]) @ U_B.T)
            filtered = (real[:, r] + 1j * imag[:, r])[:, None] * self.rotated
            scores[r] = self.Z[removed] - np.linalg.solve(G_BB, U_B @ filtered).real
        return scores
