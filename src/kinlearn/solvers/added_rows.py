"""Ridge fits to rows that come one at a time, the centres being kept: O(m² + n m) a row.

Rows may be centres, and new ones are none: so a row that is held out takes its centre with it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kinlearn.solvers.cholesky import factor_in_place
from kinlearn.solvers.ridge_from_sums import LARGEST_LEVERAGE
from kinlearn.sums.gram import gram

# A row with more leverage is not taken away by an update, which would divide by what is left.
MOST_LEVERAGE = 0.999
# Terms by which a solution is brought to another ridge; each is smaller by a factor of n.
N_TERMS = 6


class AddedRows:
    """``M = (PhiᵀPhi + ρI)⁻¹`` and the leverages ``h_i = phi_iᵀ M phi_i`` of all rows.

    With a row phi more, ``u = M phi`` and ``s = 1 + phiᵀu`` give ``M - u uᵀ/s``,
    ``h - (Phi u)²/s``, and ``phiᵀu/s`` as the leverage of the new one (Sherman and Morrison); with
    the last row taken away the signs change. ρ is one number for any number of rows.

    Parameters
    ----------
    Phi : ndarray of shape (n, m)
        Features of the rows.
    ridge : float
        ρ.
    own : ndarray of shape (n,), optional
        Which centre each row is, -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.added_rows import AddedRows
    >>> rows = AddedRows(np.eye(2), ridge=1.0)
    >>> rows.add(np.array([1.0, 1.0]))
    >>> rows.leverage.round(3).tolist() == AddedRows(rows.Phi, 1.0).leverage.round(3).tolist()
    True
    """

    def __init__(self, Phi: np.ndarray, ridge: float, own: np.ndarray | None = None) -> None:
        n = len(Phi)
        self.ridge, self.n_rows, self.n_updates = float(ridge), n, 0
        self._Phi = np.empty((n + n // 4 + 1, Phi.shape[1]))
        self._Phi[:n] = Phi
        factor = factor_in_place(np.asfortranarray(gram(self.Phi)), self.ridge)
        lower, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        assert info == 0
        self.M = np.tril(lower) + np.tril(lower, -1).T
        solved, room = self.Phi @ self.M, len(self._Phi)
        self._leverage, self._cross = np.zeros(room), np.zeros(room)
        self._leverage[:n] = np.einsum("ij,ij->i", solved, self.Phi)
        self._own = np.full(room, -1)
        if own is not None:
            self._own[:n] = own
            self._cross[:n] = solved[np.arange(n), own]  # of rows that are no centres of no use

    @property
    def Phi(self) -> np.ndarray:
        """Features of the rows, (n, m)."""
        return self._Phi[: self.n_rows]

    @property
    def leverage(self) -> np.ndarray:
        """How much each row's own target moves its score, (n,)."""
        return self._leverage[: self.n_rows]

    @property
    def can_drop(self) -> bool:
        """Whether the last row can be taken away by an update."""
        return self.n_rows > 1 and bool(self.leverage[-1] < MOST_LEVERAGE)

    def add(self, phi: np.ndarray, own: int = -1) -> None:
        """Take one more row."""
        if self.n_rows == len(self._Phi):
            more = self.n_rows // 4 + 1
            self._Phi = np.vstack([self._Phi, np.empty((more, phi.size))])
            self._leverage = np.append(self._leverage, np.zeros(more))
            self._cross = np.append(self._cross, np.zeros(more))
            self._own = np.append(self._own, np.full(more, -1))
        u = self.M @ phi
        s, k = 1.0 + float(phi @ u), self.n_rows
        self._update(u, s)
        self._Phi[k], self._own[k] = phi, own
        self._leverage[k], self._cross[k] = 1.0 - 1.0 / s, u[own] / s
        self.n_rows += 1

    def drop_last(self) -> None:
        """Take the last row away."""
        self.n_rows -= 1
        phi = self._Phi[self.n_rows]
        u = self.M @ phi
        self._update(u, float(phi @ u) - 1.0)

    def _update(self, u: np.ndarray, s: float) -> None:
        pulled = self.Phi @ u
        self._leverage[: self.n_rows] -= pulled**2 / s
        self._cross[: self.n_rows] -= u[self._own[: self.n_rows]] * pulled / s
        self.M -= np.outer(u / s, u)
        self.n_updates += 1

    def solution(self, Z: np.ndarray) -> np.ndarray:
        """Return ``A = M PhiᵀZ``, corrected once through residuals, which are never squared."""
        A = self.M @ (self.Phi.T @ Z)
        return A + self.M @ (self.Phi.T @ (Z - self.Phi @ A) - self.ridge * A)

    def held_out(self, A: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the scores of each row without it, and without the centre that it is.

        As in :class:`~kinlearn.solvers.weighted.WeightedSpectrum`, of whose system the blocks are
        ``1 - h_i``, ``(M phi_i)_c`` and ``-M_cc``, c being the row's centre.
        """
        residual = Z - self.Phi @ A
        b11 = np.maximum(1.0 - self.leverage, 1.0 - LARGEST_LEVERAGE)
        correction = residual / b11[:, None]
        rows = np.flatnonzero(self._own[: self.n_rows] >= 0)
        centers = self._own[rows]
        b12, b22 = self._cross[rows], -np.diagonal(self.M)[centers]
        numerator = b22[:, None] * residual[rows] - b12[:, None] * A[centers]
        correction[rows] = numerator / (b11[rows] * b22 - b12**2)[:, None]
        return Z - correction

    def at(self, A: np.ndarray, ridge: float) -> np.ndarray:
        """Return a solution brought to a ridge that differs by a part in n: ``Σ_k (-(ρ'-ρ) M)ᵏ A``.

        Leave-one-out takes the ridge of n - 1 rows, the solution itself that of n.
        """
        term, total = A, A.copy()
        for _ in range(N_TERMS):
            term = (self.ridge - ridge) * (self.M @ term)
            total += term
        return total
