"""Multi-label LSPC by one dense Kronecker system, for small problems and as a yardstick.

With the parameters stacked label by label, Eq. 1 of the multi-label paper is ``H θ = h`` where

    H = blockdiag_t(T/N · Phiᵀ D_t Phi) + Λ ⊗ I_m,     h_t = T/N · Phiᵀ D_t ξ_t,

``D_t`` the weights of label t's (row, label) pairs (0 where unobserved), N their total over all
labels and ``Λ = reg·(I + κL/T)``. Two printed slips are put right: ``I_N ⊗ K²`` is ``I_T ⊗ K²``,
and the γ/T before L is γ/T², as the paper's own objective demands. The cost is O(m³T³).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from kinlearn.solvers.sylvester import precision_factors

Array: TypeAlias = NDArray[np.float64]

MAX_UNKNOWNS = 12_000


def solve_direct(
    features: Array,
    targets: Array,
    label_values: Array,
    label_vectors: Array,
    *,
    reg: float,
    sharing: float,
    pair_weights: Array | None = None,
    n_labels: int | None = None,
    total_weight: float | None = None,
) -> Array:
    """Coefficients Θ (m, T) from the dense Kronecker system.

    Parameters
    ----------
    features : ndarray of shape (n, m)
    targets : ndarray of shape (n, T)
        Finite everywhere; what stands at an unobserved pair is ignored.
    label_values, label_vectors : ndarray
        Eigendecomposition of the label Laplacian.
    reg, sharing : float
    pair_weights : ndarray of shape (n, T), optional
        Weight of every (row, label) pair, 0 where unobserved; None for all ones.
    n_labels : int, optional
        The T of the objective, when the columns are only some of the labels.
    total_weight : float, optional
        The N of the objective in the same case: the total weight of all labels' pairs.
    """
    n, m = features.shape
    n_columns = targets.shape[1]
    n_labels = n_labels or n_columns
    factors = precision_factors(label_values, sharing, n_labels)
    active = np.isfinite(factors)
    if active.all():
        basis = np.eye(n_columns)
        penalty = reg * (label_vectors * factors) @ label_vectors.T
    else:  # at sharing=1 the labels can only move together
        basis = label_vectors[:, active]
        penalty = np.diag(reg * factors[active])
    size = m * basis.shape[1]
    if size > MAX_UNKNOWNS:
        raise ValueError(
            f"solver='direct' would build a dense matrix with {size} rows ({m} centres × "
            f"{basis.shape[1]} labels), more than {MAX_UNKNOWNS}: use solver='spectral' or 'cg'."
        )
    if pair_weights is None:
        pair_weights = np.ones((n, n_columns))
        total_weight = float(n * n_labels)
    scale = n_labels / (total_weight or float(pair_weights.sum()))
    H = np.kron(penalty, np.eye(m))
    blocks = H.reshape(basis.shape[1], m, basis.shape[1], m)
    gram = None
    for t in range(n_columns):
        if gram is None or (pair_weights[:, t] != pair_weights[:, t - 1]).any():
            gram = scale * features.T @ (pair_weights[:, t, None] * features)
        for j, k in np.argwhere(np.outer(basis[t], basis[t]) != 0):
            blocks[j, :, k, :] += basis[t, j] * basis[t, k] * gram
    h = scale * features.T @ (pair_weights * targets) @ basis
    solution = scipy.linalg.solve(H, h.T.ravel(), assume_a="pos", overwrite_a=True)
    return solution.reshape(basis.shape[1], m).T @ basis.T
