"""The function of many centres, expressed by few of them."""

from __future__ import annotations

import numpy as np

from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.solvers.cholesky import ridge_solutions

# Relative to the mean square of the features: keeps coefficients from blowing up between near
# copies, far below what the projection itself loses.
RIDGE = 1e-9


def project_coefficients(
    full: KernelMap, few: KernelMap, X: Rows, sigmas: np.ndarray, coefs: np.ndarray
) -> np.ndarray:
    """Return coefficients of few centres whose scores come closest to those of all.

    Minimises ``||Σ_s k_s(X, few) B_s - Σ_s k_s(X, full) A_s||² + ridge ||B||²`` over all widths s
    together.

    Parameters
    ----------
    full, few : KernelMap
        Features of all centres and of few.
    X : array or CSR matrix of shape (n, d)
        Where the two are compared.
    sigmas : ndarray of shape (S,)
        Widths.
    coefs : ndarray of shape (S, m, c)
        A.

    Returns
    -------
    ndarray of shape (S, few, c)
        B.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels import resolve_kernel
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> kernel = resolve_kernel("rbf")
    >>> full, few = KernelMap(kernel, X), KernelMap(kernel, X[::5])
    >>> A = np.ones((1, 30, 1))
    >>> B = project_coefficients(full, few, X, np.array([0.5]), A)
    >>> bool(np.abs(few.scores(X, [0.5], B) - full.scores(X, [0.5], A)).max() < 1e-3)
    True
    """
    scores = full.scores(X, sigmas, coefs)
    Phi = np.hstack([few.features(X, float(sigma)) for sigma in sigmas])
    ridge = RIDGE * float(np.einsum("ij,ij->", Phi, Phi)) / Phi.shape[1]
    found = ridge_solutions(Phi, scores, np.array([ridge]))[0]
    return found.reshape(len(sigmas), few.n_centers, coefs.shape[2])
