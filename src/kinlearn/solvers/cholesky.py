"""Ridge solutions by Cholesky factorisation, corrected once to undo the squaring."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kinlearn.solvers.lapack import cholesky_in_place


def ridge_solutions(
    Phi: np.ndarray, Z: np.ndarray, ridges: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Solve ``(Phiᵀ D Phi + ridge·I) A = Phiᵀ D Z`` for each ridge, D the weights or I.

    ``PhiᵀDPhi`` squares the condition number. One step of refinement through the residual
    ``Z - Phi A``, which is never squared, brings the accuracy back to that of Phi itself (the
    corrected semi-normal equations of Björck).

    Parameters
    ----------
    Phi : ndarray of shape (n, m)
        Features; the kernel matrix itself when every row is a centre.
    Z : ndarray of shape (n, c)
        Targets.
    ridges : ndarray of shape (R,)
        ``Σw·reg`` for each reg; ``PhiᵀDPhi`` is formed once for all.
    weights : ndarray of shape (n,), optional
        Weights.

    Returns
    -------
    ndarray of shape (R, m, c)
        Coefficients A.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.cholesky import ridge_solutions
    >>> ridge_solutions(np.eye(2), np.array([[1.0], [0.0]]), ridges=np.array([1.0]))
    array([[[0.5],
            [0. ]]])
    """
    column = None if weights is None else weights[:, None]
    scaled = Phi if column is None else np.sqrt(column) * Phi
    gram = (scaled.T @ scaled).T  # by columns, as LAPACK wants it
    solutions = np.empty((len(ridges), Phi.shape[1], Z.shape[1]))
    for r, ridge in enumerate(ridges):
        last = r == len(ridges) - 1
        factor = factor_in_place(gram if last else gram.copy(order="F"), ridge)
        solutions[r] = _corrected(factor, Phi, Z, column, ridge)
    return solutions


def fit_with_leave_one_out(
    K: np.ndarray, Z: np.ndarray, reg: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return one full-basis solution and its leave-one-out scores, row and centre removed.

    ``G = (K+iμI)⁻¹`` has real part ``K N`` and imaginary part ``-μN`` with ``N = (K²+μ²I)⁻¹``,
    ``μ² = reg·(n-1)``; scores are ``z_i - Re[(GZ)_i / G_ii]``. Only diagonals are needed of them,
    but that takes all of N: about two matrix products, where an eigendecomposition takes seven. N
    carries errors of about ``1e-16·n/reg``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric kernel matrix.
    Z : ndarray of shape (n, c)
        Targets.
    reg : float
        Regularisation strength.

    Returns
    -------
    coefficients, scores : ndarrays of shape (n, c)
        The solution for ``n·reg``, and the scores of rows held out.
    """
    n = K.shape[0]
    gram = (K.T @ K).T  # by columns, as LAPACK wants it
    factor = factor_in_place(gram.copy(order="F"), n * reg)
    coefficients = _corrected(factor, K, Z, None, n * reg)
    mu2 = (n - 1) * reg
    factor = factor_in_place(gram, mu2)
    real = _corrected(factor, K, Z, None, mu2)
    imag = solve_factored(factor, Z)
    imag *= -np.sqrt(mu2)
    inverse, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    assert info == 0
    diagonal = np.diagonal(inverse).copy()
    # inverse holds the lower triangle, in columns; its transpose is read in memory order
    product = np.multiply(np.triu(inverse.T), K)
    diag_real = product.sum(axis=0) + product.sum(axis=1) - np.diagonal(product)
    diag_imag = -np.sqrt(mu2) * diagonal
    norm = (diag_real**2 + diag_imag**2)[:, None]
    held_out = Z - (real * diag_real[:, None] + imag * diag_imag[:, None]) / norm
    return coefficients, held_out


def factor_in_place(gram: np.ndarray, ridge: float) -> np.ndarray:
    """Add `ridge` to the diagonal of a Fortran-ordered symmetric array and factor it there."""
    gram.flat[:: gram.shape[0] + 1] += ridge
    if not cholesky_in_place(gram):
        # rounding has eaten a ridge far below the largest eigenvalue times machine precision
        raise np.linalg.LinAlgError(
            f"The system could not be factored: the ridge {ridge:.3g} is too small beside the "
            "kernel's values. Use a larger reg."
        )
    return gram


def solve_factored(factor: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Solve with a lower Cholesky factor."""
    solution, info = lapack.dpotrs(factor, B, lower=1)
    assert info == 0
    return np.ascontiguousarray(solution)


def _corrected(
    factor: np.ndarray, Phi: np.ndarray, Z: np.ndarray, weights: np.ndarray | None, ridge: float
) -> np.ndarray:
    def gradient(A: np.ndarray | None) -> np.ndarray:
        residual = Z if A is None else Z - Phi @ A
        residual = residual if weights is None else weights * residual
        return Phi.T @ residual if A is None else Phi.T @ residual - ridge * A

    A = solve_factored(factor, gradient(None))
    A += solve_factored(factor, gradient(A))
    return A
