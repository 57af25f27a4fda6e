"""Ridge solutions by Cholesky factorisation, corrected once to undo the squaring."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack


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
    # the transpose of a C-ordered array is what Fortran expects, so that BLAS makes no copy
    gram = blas.dsyrk(1.0, scaled.T, lower=1)
    solutions = np.empty((len(ridges), Phi.shape[1], Z.shape[1]))
    for r, ridge in enumerate(ridges):
        last = r == len(ridges) - 1
        factor = factor_in_place(gram if last else gram.copy(order="F"), ridge)
        solutions[r] = _corrected(factor, Phi, Z, column, ridge)
    return solutions


def factor_in_place(gram: np.ndarray, ridge: float) -> np.ndarray:
    """Add `ridge` to the diagonal of a Fortran-ordered symmetric array and factor it there."""
    gram.flat[:: gram.shape[0] + 1] += ridge
    factor, info = lapack.dpotrf(gram, lower=1, overwrite_a=1)
    if info != 0:
        # rounding has eaten a ridge far below the largest eigenvalue times machine precision
        raise np.linalg.LinAlgError(
            f"The system could not be factored: the ridge {ridge:.3g} is too small beside the "
            "kernel's values. Use a larger reg."
        )
    return factor


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
