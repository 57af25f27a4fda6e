"""Ridge fits to rows that come one at a time, the centres being kept: O(m² + n m) a row."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kinlearn.solvers.cholesky import factor_in_place
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

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.added_rows import AddedRows
    >>> rows = AddedRows(np.eye(2), ridge=1.0)
    >>> rows.add(np.array([1.0, 1.0]))
    >>> rows.leverage.round(3).tolist() == AddedRows(rows.Phi, 1.0).leverage.round(3).tolist()
    True
    """

    def __init__(self, Phi: np.ndarray, ridge: float) -> None:
        self.ridge, self.n_rows, self.n_updates = float(ridge), len(Phi), 0
        self._Phi = np.empty((len(Phi) + len(Phi) // 4 + 1, Phi.shape[1]))
        self._Phi[: len(Phi)] = Phi
        factor = factor_in_place(np.asfortranarray(gram(self.Phi)), self.ridge)
        lower, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        assert info == 0
        self.M = np.tril(lower) + np.tril(lower, -1).T
        self._leverage = np.zeros(len(self._Phi))
        self._leverage[: len(Phi)] = np.einsum("ij,ij->i", self.Phi @ self.M, self.Phi)

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

    def add(self, phi: np.ndarray) -> None:
        """Take one more row."""
        if self.n_rows == len(self._Phi):
            more = self.n_rows // 4 + 1
            self._Phi = np.vstack([self._Phi, np.empty((more, phi.size))])
            self._leverage = np.append(self._leverage, np.zeros(more))
        u = self.M @ phi
        own = float(phi @ u)
        self._update(u, 1.0 + own)
        self._Phi[self.n_rows], self._leverage[self.n_rows] = phi, own / (1.0 + own)
        self.n_rows += 1

    def drop_last(self) -> None:
        """Take the last row away."""
        self.n_rows -= 1
        phi = self._Phi[self.n_rows]
        u = self.M @ phi
        self._update(u, float(phi @ u) - 1.0)

    def _update(self, u: np.ndarray, s: float) -> None:
        self._leverage[: self.n_rows] -= (self.Phi @ u) ** 2 / s
        self.M -= np.outer(u / s, u)
        self.n_updates += 1

    def solution(self, Z: np.ndarray) -> np.ndarray:
        """Return ``A = M PhiᵀZ``, corrected once through residuals, which are never squared."""
        A = self.M @ (self.Phi.T @ Z)
        return A + self.M @ (self.Phi.T @ (Z - self.Phi @ A) - self.ridge * A)

    def at(self, A: np.ndarray, ridge: float) -> np.ndarray:
        """Return a solution brought to a ridge that differs by a part in n: ``Σ_k (-(ρ'-ρ) M)ᵏ A``.

        Leave-one-out takes the ridge of n - 1 rows, the solution itself that of n.
        """
        term, total = A, A.copy()
        for _ in range(N_TERMS):
            term = (self.ridge - ridge) * (self.M @ term)
            total += term
        return total
