"""The full basis from one eigendecomposition: every reg at once, and K is never squared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinlearn.solvers.held_out_copies import without_block, without_one_copy
from kinlearn.solvers.lapack import eigh, pivoted_cholesky
from kinlearn.training.splits import Block, Splits

# A wide kernel has few eigenvalues that matter: those a pivoted Cholesky factorisation finds before
# nothing above this is left on the diagonal (of kernels whose diagonal is one). What is left out is
# far below the smallest regularisation that single precision resolves.
RESIDUE = 1e-6
# Up to this share of the rows, decomposing the factor beats decomposing the matrix.
LOW_RANK = 0.5


@dataclass
class SymmetricSpectrum:
    """``K = U diag(s) Uᵀ`` with the targets rotated into it.

    Ridge solutions ``(K² + ρI) A = K Z``, ρ = n·reg, are ``A = U diag(s/(s²+ρ)) Uᵀ Z``.

    Attributes
    ----------
    s : ndarray of shape (k,)
        Eigenvalues.
    U : ndarray of shape (n, k)
        Eigenvectors in columns. With k < n, all other eigenvalues count as zero.
    Z : ndarray of shape (n, c)
        Targets.
    rotated : ndarray of shape (k, c)
        ``Uᵀ Z``.
    """

    s: np.ndarray
    U: np.ndarray
    Z: np.ndarray
    rotated: np.ndarray

    @classmethod
    def of(cls, K: np.ndarray, Z: np.ndarray, dtype: type = np.float64) -> SymmetricSpectrum:
        """Decompose K, in the given precision; K may be overwritten."""
        s, U = eigh(np.asarray(K, dtype=dtype), overwrite=True)
        Z = Z.astype(dtype, copy=False)
        return cls(s, U, Z, U.T @ Z)

    @classmethod
    def to_select(cls, K: np.ndarray, Z: np.ndarray, smooth: bool = True) -> SymmetricSpectrum:
        """Decompose a kernel matrix of diagonal one in single precision, or its range alone.

        ``K ≈ L Lᵀ`` by pivoted Cholesky, ``LᵀL = W diag(s) Wᵀ``, ``U = L W s^(-½)``: for a kernel
        of rank n/2 an eighth of the work. Only a `smooth` kernel may have a range so small.
        """
        if not smooth:
            return cls.of(K, Z, np.float32)
        n = K.shape[0]
        ordered, pivots = pivoted_cholesky(K.astype(np.float64), RESIDUE)
        if ordered.shape[1] > LOW_RANK * n:
            return cls.of(K, Z, np.float32)
        L = np.empty_like(ordered)
        L[pivots] = ordered
        s, W = eigh(L.T @ L, overwrite=True)
        kept = s > RESIDUE
        s, W = s[kept], W[:, kept]
        U = (L @ (W / np.sqrt(s))).astype(np.float32)
        return cls(s.astype(np.float32), U, Z.astype(np.float32), U.T @ Z.astype(np.float32))

    @property
    def complete(self) -> bool:
        """Whether all eigenvectors are here."""
        return self.s.size == self.U.shape[0]

    def apply(self, filters: np.ndarray, beyond: float) -> np.ndarray:
        """``f(K) Z`` for one filter over s; `beyond` is its value at the eigenvalues left out."""
        if self.complete:
            return self.U @ (filters[:, None] * self.rotated)
        beyond = self.s.dtype.type(beyond)
        return self.U @ ((filters - beyond)[:, None] * self.rotated) + beyond * self.Z

    def diagonals(self, squared: np.ndarray, filters: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Diagonals of ``f(K)`` for several filters, (k, R); `squared` is ``U²``."""
        if self.complete:
            return squared @ filters
        beyond = np.asarray(beyond, dtype=self.s.dtype)
        return squared @ (filters - beyond) + beyond

    def columns(self, filters: np.ndarray, beyond: float, rows: np.ndarray) -> np.ndarray:
        """Columns `rows` of ``f(K)``."""
        U_rows = self.U[rows].T
        if self.complete:
            return self.U @ (filters[:, None] * U_rows)
        beyond = self.s.dtype.type(beyond)
        columns = self.U @ ((filters - beyond)[:, None] * U_rows)
        columns[rows, np.arange(rows.size)] += beyond
        return columns

    def coefficients(self, regs: np.ndarray, mix: np.ndarray | None = None) -> np.ndarray:
        """Return ``Σ_r mix_r A(reg_r)``: a mix over regs is one coefficient matrix.

        Parameters
        ----------
        regs : array of shape (R,)
            Regularisation strengths.
        mix : array of shape (R,), optional
            Weights; all ones when left out.
        """
        ridges = self.Z.shape[0] * np.atleast_1d(regs)
        filters = self.s[:, None] / (self.s[:, None] ** 2 + ridges)
        return self.apply(filters @ (np.ones(ridges.size) if mix is None else mix), 0.0)

    def held_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None = None
    ) -> np.ndarray:
        """Return held-out scores, shape (R, rows held out, c), with rows and centres removed.

        ``K(K²+μ²I)⁻¹ = Re[(K+iμI)⁻¹]`` turns the removal of a row *and* its centre into the removal
        of one row and column of a complex symmetric matrix. With ``G = U diag(1/(s+iμ)) Uᵀ`` and
        ``μ² = reg·n_train``: ``q_i = z_i - Re[(GZ)_i / G_ii]``, and for a block B
        ``Z_B - Re[(G_BB)⁻¹ (GZ)_B]``.

        Of a row that stands for several copies some may leave alone; `units` are the targets of
        these.
        """
        if splits.leave_one_out:
            return self._leave_one_out(regs, splits, units)
        scores = np.empty((len(regs), splits.n_rows_held_out, self.Z.shape[1]), self.Z.dtype)
        for out, block in splits:
            if block.leaving is None:
                scores[:, out] = self._leave_block_out(regs, block.removed)[:, block.tested]
            else:
                scores[:, out] = self._leave_copies_out(regs, block, units)[:, block.tested]
        return scores

    def _filters(
        self, regs: np.ndarray, n_train: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Real and imaginary parts of ``1/(s+iμ)``, (k, R), and the latter at s = 0, (R,)."""
        # a reg can be so small, and n_train 0, that s = μ = 0 would divide by zero
        mu2 = np.maximum(np.asarray(regs) * n_train, np.finfo(self.s.dtype).tiny)
        mu2 = mu2.astype(self.s.dtype)
        denominator = self.s[:, None] ** 2 + mu2
        return self.s[:, None] / denominator, -np.sqrt(mu2) / denominator, -1.0 / np.sqrt(mu2)

    def _leave_one_out(
        self, regs: np.ndarray, splits: Splits, units: np.ndarray | None
    ) -> np.ndarray:
        n, leaving = self.Z.shape[0], splits.leaving
        n_train = n * splits.kept_share
        if leaving is None:
            return self._leave_rows_out(regs, n_train)[:, splits.rows]
        assert units is not None
        part = ~leaving.whole
        fitted, leverage = self._fitted(regs, n_train)
        scores = np.empty((len(regs), splits.n_rows_held_out, self.Z.shape[1]), self.Z.dtype)
        rows = splits.rows[part]
        scores[:, part] = without_one_copy(
            fitted[:, rows], leverage[:, rows], leaving.share[part], leaving.targets(units)[part]
        )
        if not part.all():
            scores[:, ~part] = self._leave_rows_out(regs, n_train)[:, splits.rows[~part]]
        return scores

    def _fitted(self, regs: np.ndarray, n_train: float) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the rows themselves, (R, n, c), and their leverages, (R, n)."""
        shrunk = self._filters(regs, n_train)[0] * self.s[:, None]
        fitted = np.stack([self.apply(shrunk[:, r], 0.0) for r in range(len(regs))])
        return fitted, self.diagonals(self.U**2, shrunk, np.zeros(len(regs))).T

    def _leave_rows_out(self, regs: np.ndarray, n_train: float) -> np.ndarray:
        n, c = self.Z.shape
        real, imag, beyond = self._filters(regs, n_train)
        squared = self.U**2
        diag_real = self.diagonals(squared, real, np.zeros_like(beyond)).T
        diag_imag = self.diagonals(squared, imag, beyond).T
        del squared
        norm = diag_real**2 + diag_imag**2
        # Re[(GZ)_i / G_ii] = Re(GZ)_i·Re(G_ii)/|G_ii|² + Im(GZ)_i·Im(G_ii)/|G_ii|²
        scores = np.empty((len(regs), n, c), self.Z.dtype)
        scores[...] = self.Z
        if not self.complete:
            imag = imag - beyond
            scores -= (beyond[:, None] * diag_imag / norm)[:, :, None] * self.Z
        for part, diagonal in ((real, diag_real / norm), (imag, diag_imag / norm)):
            stacked = (part[:, :, None] * self.rotated[:, None, :]).reshape(self.s.size, -1)
            product = (self.U @ stacked).reshape(n, len(regs), c).transpose(1, 0, 2)
            scores -= product * diagonal[:, :, None]
        return scores

    def _leave_block_out(self, regs: np.ndarray, removed: np.ndarray) -> np.ndarray:
        real, imag, beyond = self._filters(regs, self.Z.shape[0] - removed.size)
        rotated, U_B, Z_B = self.rotated, self.U[removed], self.Z[removed]
        rest = np.zeros_like(beyond) if self.complete else beyond
        imag = imag - rest
        scores = np.empty((len(regs), removed.size, self.Z.shape[1]), self.Z.dtype)
        for r in range(len(regs)):
            G_BB = (U_B * real[:, r]) @ U_B.T + 1j * ((U_B * imag[:, r]) @ U_B.T)
            G_BB.flat[:: removed.size + 1] += 1j * rest[r]
            filtered = (real[:, r] + 1j * imag[:, r])[:, None] * rotated
            GZ_B = U_B @ filtered + 1j * rest[r] * Z_B
            scores[r] = Z_B - np.linalg.solve(G_BB, GZ_B).real
        return scores

    def _leave_copies_out(
        self, regs: np.ndarray, block: Block, units: np.ndarray | None
    ) -> np.ndarray:
        """Blocks of which some rows stay with their other copies; the real form of the above."""
        leaving, removed = block.leaving, block.removed
        assert leaving is not None
        whole = leaving.whole
        real, imag, beyond = self._filters(regs, self.Z.shape[0] - float(leaving.share.sum()))
        U_B, U_F = self.U[removed], self.U[removed[whole]]
        size, Z_B = removed.size, self.Z[removed]
        scores = np.empty((len(regs), size, self.Z.shape[1]), self.Z.dtype)
        for r in range(len(regs)):
            mu = -1.0 / beyond[r]
            residual, smoother, inverse = -mu * imag[:, r], real[:, r], -imag[:, r] / mu
            rest = (0.0, 0.0) if self.complete else (1.0, 1.0 / mu**2)
            system = np.empty((size + U_F.shape[0],) * 2)
            system[:size, :size] = (U_B * (residual - rest[0])) @ U_B.T
            system[:size, :size].flat[:: size + 1] += rest[0]
            system[:size, size:] = (U_B * smoother) @ U_F.T
            system[size:, :size] = system[:size, size:].T
            system[size:, size:] = -(U_F * (inverse - rest[1])) @ U_F.T
            system[size:, size:].flat[:: U_F.shape[0] + 1] -= rest[1]
            u = self.apply(residual, 1.0)[removed]
            A = self.apply(smoother, 0.0)[removed[whole]]
            scores[r] = without_block(system, np.vstack([u, A]), Z_B, 1.0, leaving, units)
        return scores
