"""Kernel logistic regression of many binary labels at once, for tuning.

    (1/n) Σ log(1 + exp(-y f)) + λ/2 ||w||²,    f = U S w,   K = U S Uᵀ

for every label. Curvature never exceeds that of ``S²/(4n) + λ``, which is diagonal in this basis
(Böhning), so that accelerated gradient steps scaled by it need no factorisation, and all labels
share their two matrix products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]


def logistic_labels(
    s: Array,
    U: Array,
    Z: Array,
    lambda_: float,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 200,
) -> Array:
    """Parameters in the eigenbasis, one column a label.

    Parameters
    ----------
    s, U : arrays of shapes (r,) and (n, r)
        Eigenvalues and eigenvectors of the features' kernel matrix.
    Z : array of shape (n, L)
        Labels, 0 or 1.
    lambda_ : float
        Regularisation.
    start : array of shape (r, L), optional
        Where to begin.
    tol : float
        Bound on the scaled gradient relative to that at zero, label by label.
    max_iter : int
        Bound on the steps.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.reproduce.logistic_labels import logistic_labels
    >>> w = logistic_labels(np.ones(2), np.eye(2), np.array([[0.0], [1.0]]), 1.0, tol=1e-10)
    >>> bool(w[1, 0] > 0 > w[0, 0])
    True
    """
    n = len(U)
    step = 1.0 / (s**2 / (4.0 * n) + lambda_)[:, None]
    root = np.sqrt(step)
    features = U * s
    w = np.zeros((len(s), Z.shape[1])) if start is None else start.copy()
    ahead, momentum = w, 1.0
    at_zero = np.linalg.norm(root * (features.T @ (0.5 - Z) / n), axis=0)
    for _ in range(max_iter):
        gradient = features.T @ (expit(features @ ahead) - Z) / n + lambda_ * ahead
        if np.all(np.linalg.norm(root * gradient, axis=0) <= tol * at_zero):
            return ahead
        new = ahead - step * gradient
        if np.sum(gradient * (new - w)) > 0.0:
            momentum = 1.0  # the last stretch led uphill: begin to gather speed anew
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + (momentum - 1.0) / faster * (new - w)
        w, momentum = new, faster
    return ahead
