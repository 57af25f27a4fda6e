"""Ridge solutions and leave-one-out scores from sums over rows alone.

With ``H = ΦᵀDΦ`` and ``h = ΦᵀDZ`` the minimiser of
``1/(2Σw) Σ_i w_i (aᵀφ_i - z_i)² + reg/2 ||a||²`` (mt-lspc Eqs. 2-3) solves
``(H + ρI) A = h``, ρ = reg·Σw. The score of row i without row i, the centres kept, is
``(q_i - S_ii z_i)/(1 - S_ii)`` with ``S_ii = w_i φ_iᵀ(H + ρI)⁻¹φ_i``: it needs that row's features,
but no other row's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack

Array = NDArray[np.float64]
# Without its own target a row of leverage one has no score; rounding must not divide by zero.
LARGEST_LEVERAGE = 1.0 - 1e-12


class RidgeInverse:
    """``(H + ρI)⁻¹``, as a factorisation.

    Parameters
    ----------
    H : ndarray of shape (m, m)
        Symmetric positive semi-definite; the upper triangle is read.
    ridge : float
        ρ > 0.
    overwrite : bool
        Whether H may be destroyed.
    """

    def __init__(self, H: Array, ridge: float, overwrite: bool = False) -> None:
        matrix = H if overwrite and H.flags.f_contiguous else np.array(H, order="F")
        matrix[np.diag_indices_from(matrix)] += ridge
        self.factor, info = lapack.dpotrf(matrix, lower=0, clean=0)
        self.root: Array | None = None
        if info != 0:
            # The ridge drowns in rounding: eigenvalues can be clipped, pivots cannot.
            values, vectors = eigh(matrix, lower=False, driver="evd", check_finite=False)
            self.root = vectors / np.sqrt(np.maximum(values, ridge))

    def apply(self, B: Array) -> Array:
        """``(H + ρI)⁻¹ B``."""
        if self.root is not None:
            return self.root @ (self.root.T @ B)
        solution, _ = lapack.dpotrs(self.factor, B, lower=0)
        return solution

    def whiten(self, B: Array) -> Array:
        """A matrix whose columns' squared norms are those of B in ``(H + ρI)⁻¹``."""
        if self.root is not None:
            return self.root.T @ B
        solution, _ = lapack.dtrtrs(self.factor, B, lower=0, trans=1)
        return solution


def held_out_scores(scores: Array, leverages: Array, targets: Array) -> Array:
    """``(q_i - S_ii z_i)/(1 - S_ii)``.

    Parameters
    ----------
    scores, targets : ndarrays of shape (n, c)
    leverages : ndarray of shape (n,) or (n, c)

    Examples
    --------
    >>> import numpy as np
    >>> held_out_scores(np.array([[0.75]]), np.array([0.5]), np.array([[1.0]]))
    array([[0.5]])
    """
    leverages = np.minimum(leverages, LARGEST_LEVERAGE)
    if leverages.ndim == 1:
        leverages = leverages[:, None]
    return (scores - leverages * targets) / (1.0 - leverages)


def leave_one_out(
    H: Array, h: Array, ridge: float, features: Array, targets: Array, weights: Array
) -> Array:
    """Leave-one-out scores of some of the rows that the sums are over.

    Parameters
    ----------
    H, h : ndarrays of shape (m, m) and (m, c)
    ridge : float
        ρ of the fit without the row.
    features, targets, weights : ndarrays of shape (s, m), (s, c) and (s,)
        Of the rows held out, one at a time.

    Examples
    --------
    >>> import numpy as np
    >>> Phi, Z = np.array([[1.0], [1.0], [1.0]]), np.array([[1.0], [0.0], [1.0]])
    >>> leave_one_out(Phi.T @ Phi, Phi.T @ Z, 1e-9, Phi, Z, np.ones(3)).ravel().round(3)
    array([0.5, 1. , 0.5])
    """
    inverse = RidgeInverse(H, ridge)
    scores = features @ inverse.apply(h)
    whitened = inverse.whiten(np.asfortranarray(features.T))
    leverages = weights * np.einsum("ij,ij->j", whitened, whitened)
    return held_out_scores(scores, leverages, targets)
