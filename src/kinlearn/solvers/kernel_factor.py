"""A kernel matrix as a product ``gram = F Fᵀ`` with as few columns as its rank allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, lapack, solve_triangular

from kinlearn.solvers.logistic_loss import Array

EPSILON = float(np.finfo(np.float64).eps)
# Up to this share of the rows, working in the rank is cheaper than working in the rows.
LOW_RANK = 0.5


@dataclass(frozen=True)
class KernelFactor:
    """``gram = F Fᵀ``, and the way back from beta to dual coefficients a with ``Fᵀ a = beta``.

    Attributes
    ----------
    F : ndarray of shape (n, r)
        The factor.
    inverse : ndarray of shape (n, r) or None
        ``a = inverse · beta`` where that is known.
    pivots : ndarray of shape (q,), or None
        Rows whose block of the unrotated factor is lower triangular; all other rows have a = 0.
    triangle : ndarray of shape (q, q), or None
        That block.
    rotation : ndarray of shape (q, r), or None
        What the triangular factor was multiplied by.
    """

    F: Array
    inverse: Array | None = None
    pivots: np.ndarray | None = None
    triangle: Array | None = None
    rotation: Array | None = None

    @property
    def rank(self) -> int:
        return int(self.F.shape[1])

    def duals(self, beta: Array, guess: Array) -> Array:
        """Dual coefficients with the scores ``F beta``, near a guess.

        There are many where the kernel matrix has no full rank, and most are huge and cancel out;
        a guess that is nearly right leaves only its small error to them.
        """
        missing = beta - self.F.T @ guess
        if self.inverse is not None:
            return guess + self.inverse @ missing
        assert self.pivots is not None
        if self.rotation is not None:
            missing = self.rotation @ missing
        a = guess.copy()
        a[self.pivots] += solve_triangular(
            self.triangle, missing, lower=True, trans="T", check_finite=False
        )
        return a

    def orthogonal(self) -> KernelFactor:
        """Rotate the columns to be orthogonal, dropping what rounding left of zeros."""
        rotated, V = orthogonal(self.F, _tolerance(np.square(self.F).sum(axis=1)))
        return replace(self, F=rotated, rotation=V)


def pivoted_cholesky(gram: Array) -> KernelFactor:
    """Factor of the numerical rank; costs about as much as a Cholesky factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.kernel_factor import pivoted_cholesky
    >>> pivoted_cholesky(np.ones((3, 3))).F
    array([[1.],
           [1.],
           [1.]])
    """
    n = gram.shape[0]
    tolerance = _tolerance(np.diagonal(gram))
    lower, pivots, rank, _ = lapack.dpstrf(gram.T, tol=tolerance, lower=1)
    ordered = np.tril(lower[:, :rank])
    F = np.empty((n, rank))
    F[pivots - 1] = ordered
    return KernelFactor(F, pivots=pivots[:rank] - 1, triangle=ordered[:rank])


def orthogonal(F: Array, tolerance: float = 0.0) -> tuple[Array, Array]:
    """Return ``F V`` with orthogonal columns of squared length above `tolerance`, and V."""
    s, V = eigh(F.T @ F, driver="evd", check_finite=False)
    V = V[:, s > max(tolerance, s[-1] * EPSILON)]
    return F @ V, V


def eigen_factor(gram: Array) -> KernelFactor:
    """``F = U √s`` from the eigendecomposition of the kernel matrix itself."""
    s, U = eigh(gram, driver="evd", check_finite=False)
    kept = s > max(_tolerance(np.diagonal(gram)), s[-1] * EPSILON)
    root = np.sqrt(s[kept])
    return KernelFactor(U[:, kept] * root, inverse=U[:, kept] / root)


def _tolerance(diagonal: Array) -> float:
    """What rounding cannot tell from zero in a kernel matrix of this diagonal."""
    return 4 * EPSILON * float(np.sqrt(diagonal.size) * diagonal.max())
