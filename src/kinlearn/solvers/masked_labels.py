"""Multi-label LSPC when some labels are unobserved (or pairs are weighted).

The objective is the multi-task one over the observed (row, label) pairs, weights v_it (0 where
unobserved), ``N = Σ v``:

    (1/2N) Σ_it v_it (θ_tᵀφ_i)² - (1/N) Σ_it v_it ξ_it θ_tᵀφ_i + reg/(2T) Σ_t ||θ_t||²
        + γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||².

The equation no longer separates, but it is close to the complete-data Sylvester equation, which
therefore preconditions conjugate gradients. In the eigenbases of the features and of L that
preconditioner is one elementwise division, so a step costs two products with n×m matrices.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.multilabel_cg import IterativeSolution, conjugate_gradients
from kinlearn.solvers.sylvester import FeatureSpectrum, precision_factors

Array: TypeAlias = NDArray[np.float64]


def solve_masked(
    spectrum: FeatureSpectrum,
    targets: Array,
    pair_weights: Array,
    label_values: Array,
    label_vectors: Array,
    *,
    reg: float,
    sharing: float,
    n_labels: int | None = None,
    total_weight: float | None = None,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> IterativeSolution:
    """Coefficients over the observed pairs, in the coordinates of the two eigenbases.

    Parameters
    ----------
    spectrum : FeatureSpectrum
        Decomposition of the *unweighted* features; the weights are in `pair_weights`.
    targets : ndarray of shape (n, T)
        Finite everywhere; ignored where the weight is 0.
    pair_weights : ndarray of shape (n, T)
    label_values, label_vectors : ndarray
        Eigendecomposition of the label Laplacian.
    reg, sharing : float
    n_labels : int, optional
        The T of the objective, when the columns are only some of the labels.
    total_weight : float, optional
        The N of the objective in the same case: the total weight of all labels' pairs.
    start : ndarray, optional
        Rotated coefficients to start from.

    Returns
    -------
    IterativeSolution
        Its ``solution`` is ``QᵀΘV`` of shape (r, T); ``Θ = unrotate(spectrum, solution @ V.T)``.
    """
    if spectrum.root_weights is not None:
        raise ValueError(
            "solve_masked wants the decomposition of the unweighted features, but this one has row "
            "weights: put them into pair_weights."
        )
    n, n_columns = targets.shape
    n_labels = n_labels or n_columns
    factors = precision_factors(label_values, sharing, n_labels)
    active = np.isfinite(factors)
    basis = label_vectors[:, active]
    penalty = reg * factors[active][None, :]
    s = spectrum.values[:, None]
    share = pair_weights * (n_labels / (total_weight or float(pair_weights.sum())))
    left = spectrum.left

    def operator(theta: Array) -> Array:
        scores = left @ ((s * theta) @ basis.T)
        return s * ((left.T @ (share * scores)) @ basis) + penalty * theta

    diagonal = s**2 / n + penalty
    found = conjugate_gradients(
        operator,
        s * ((left.T @ (share * targets)) @ basis),
        preconditioner=lambda residual: residual / diagonal,
        start=None if start is None else start[:, active],
        tol=tol,
        max_iter=max_iter,
    )
    full = np.zeros((len(spectrum.values), n_columns))
    full[:, active] = found.solution
    return found._replace(solution=full)


def unrotate(spectrum: FeatureSpectrum, rotated: Array) -> Array:
    """``Q·rotated``: coefficients on the centres from those in the eigenbasis of the features."""
    return spectrum.right @ rotated
