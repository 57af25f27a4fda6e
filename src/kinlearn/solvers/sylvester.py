"""Multi-label LSPC with complete labels: a Sylvester equation solved by two eigendecompositions.

The objective, for one class, with T labels, n samples and the Laplacian L of the label similarity,

    (1/T) Σ_t [ (1/2n) ||Phi θ_t||² - (1/n) θ_tᵀ Phiᵀ ξ_t + reg/2 ||θ_t||² ]
        + γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||²,        γ = reg·κ,   κ = sharing/(1 - sharing),

is stationary where ``(Phiᵀ D Phi/Σw)·Θ + Θ·Λ = Phiᵀ D Ξ/Σw`` with ``Λ = reg·(I + κL/T)`` (Eq. 1 of
the multi-label paper, its γ/T read as the γ/T² that its objective gives; D the row weights, the
identity when there are none). With ``D½Phi = P diag(s) Qᵀ`` and ``L = V diag(l) Vᵀ``

    Θ = Q [ s·(PᵀD½ΞV) / (s² + Σw·reg·(1 + κl/T)) ] Vᵀ,

so once the two decompositions are there every (reg, sharing) pair costs two products.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.lapack import eigh

Array: TypeAlias = NDArray[np.float64]


class FeatureSpectrum(NamedTuple):
    """``D½ Phi = left diag(values) rightᵀ``; for a symmetric kernel matrix left is right.

    Attributes
    ----------
    left : ndarray of shape (n, r)
    values : ndarray of shape (r,)
    right : ndarray of shape (m, r)
    root_weights : ndarray of shape (n,) or None
        Square roots of the row weights, None when every row weighs one.
    """

    left: Array
    values: Array
    right: Array
    root_weights: Array | None

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        if self.root_weights is None:
            return float(self.left.shape[0])
        return float(self.root_weights @ self.root_weights)


def feature_spectrum(
    features: Array, weights: Array | None = None, *, symmetric: bool = False
) -> FeatureSpectrum:
    """Decompose the (weighted) features once for every (reg, sharing).

    Parameters
    ----------
    features : ndarray of shape (n, m)
        Kernel values of the rows at the centres.
    weights : ndarray of shape (n,), optional
        Positive row weights.
    symmetric : bool
        True when the centres are the rows, so that the matrix is its own transpose; unweighted, it
        is then eigendecomposed and never squared.
    """
    if weights is None and symmetric:
        values, vectors = eigh(features)
        return FeatureSpectrum(vectors, values, vectors, None)
    root = None if weights is None else np.sqrt(weights)
    scaled = features if root is None else root[:, None] * features
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    return FeatureSpectrum(left, values, np.ascontiguousarray(right.T), root)


def precision_factors(label_values: Array, sharing: float, n_labels: int) -> Array:
    """Eigenvalues of ``Λ/reg = I + κL/T``; infinite at ``sharing=1`` outside the null space of L.

    Examples
    --------
    >>> import numpy as np
    >>> precision_factors(np.array([0.0, 3.0]), 0.5, 3)
    array([1., 2.])
    >>> precision_factors(np.array([0.0, 3.0]), 1.0, 3)
    array([ 1., inf])
    """
    if sharing >= 1.0:
        return np.where(label_values > 0, np.inf, 1.0)
    return 1.0 + sharing / (1.0 - sharing) * label_values / n_labels


def rotate_targets(spectrum: FeatureSpectrum, targets: Array, label_vectors: Array) -> Array:
    """``Pᵀ D½ Ξ V``: the targets in the coordinates where the equation is diagonal."""
    root = spectrum.root_weights
    scaled = targets if root is None else root[:, None] * targets
    return spectrum.left.T @ (scaled @ label_vectors)


def spectral_filter(spectrum: FeatureSpectrum, reg: float, factors: Array) -> Array:
    """``s / (s² + Σw·reg·factor)`` for every feature direction and label direction."""
    s = spectrum.values[:, None]
    with np.errstate(invalid="ignore"):
        return s / (s**2 + spectrum.total_weight * reg * factors[None, :])


def solve_sylvester(
    spectrum: FeatureSpectrum,
    targets: Array,
    label_values: Array,
    label_vectors: Array,
    *,
    reg: float,
    sharing: float,
    n_labels: int | None = None,
) -> Array:
    """Coefficients Θ (m, T) of multi-label LSPC for complete labels.

    Parameters
    ----------
    spectrum : FeatureSpectrum
    targets : ndarray of shape (n, T)
        Targets Ξ of one class, one column per label.
    label_values, label_vectors : ndarray
        Eigendecomposition of the label Laplacian.
    reg, sharing : float
        Strength of the penalty, and the part of it that ties labels together.
    n_labels : int, optional
        The T of the objective, when the columns are only some of the labels (those that know a
        class); their number when left out.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.label_similarity import label_spectrum
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> Z = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> values, vectors = label_spectrum(np.ones((2, 2)))
    >>> theta = solve_sylvester(
    ...     feature_spectrum(K, symmetric=True), Z, values, vectors, reg=0.1, sharing=0.5)
    >>> residual = K @ K @ theta / 2 + 0.1 * theta @ (np.eye(2) + [[0.5, -0.5], [-0.5, 0.5]])
    >>> bool(np.allclose(residual, K @ Z / 2))
    True
    """
    factors = precision_factors(label_values, sharing, n_labels or len(label_values))
    rotated = rotate_targets(spectrum, targets, label_vectors)
    filtered = spectral_filter(spectrum, reg, factors) * rotated
    return spectrum.right @ filtered @ label_vectors.T
