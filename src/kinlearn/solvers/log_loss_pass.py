"""The log-loss of scores ``Aᵀφ(x)`` and its gradient, summed over rows in one pass.

``L(A) = Σ_i w_i ℓ(Aᵀφ_i, z_i)`` with ``∇L = Σ_i w_i φ_i (p_i - z_i)ᵀ``: one softmax over all
columns, ``ℓ = logsumexp(f) - zᵀf``, or a sigmoid for each of them,
``ℓ = Σ_k log(1 + exp(f_k)) - z_k f_k``. A pass costs n·m·k, and nothing of the size of the centres
squared is formed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.evaluation import CACHE_BLOCK_BYTES, row_blocks
from kinlearn.threads import side_by_side

Array = NDArray[np.float64]
# Features, targets and weights (None for ones) of some rows.
FeatureBlock = tuple[Array, Array, Array | None]


def log_losses(scores: Array, targets: Array, sigmoids: bool) -> tuple[Array, Array]:
    """Return the loss of every row, (n,), and the probabilities, (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> losses, p = log_losses(np.zeros((1, 2)), np.array([[1.0, 0.0]]), sigmoids=False)
    >>> losses.round(3), p
    (array([0.693]), array([[0.5, 0.5]]))
    """
    if sigmoids:
        small = np.exp(-np.abs(scores))  # cannot overflow
        rows = np.maximum(scores, 0.0) + np.log1p(small) - targets * scores
        return rows.sum(axis=1), np.where(scores >= 0.0, 1.0, small) / (1.0 + small)
    top = scores.max(axis=1, keepdims=True)
    odds = np.exp(scores - top)
    total = odds.sum(axis=1, keepdims=True)
    rows = (np.log(total) + top)[:, 0] - np.einsum("nk,nk->n", targets, scores)
    return rows, odds / total


def log_loss_pass(
    blocks: Iterable[FeatureBlock], coef: Array, sigmoids: bool
) -> tuple[float, Array]:
    """Return ``L(A)`` and ``∇L(A)`` over blocks of rows.

    Parameters
    ----------
    blocks : iterable of (features, targets, weights)
        Of shapes (b, m), (b, k) and (b,) or None.
    coef : ndarray of shape (m, k)
        A.
    sigmoids : bool
        Whether each column is a label of its own.

    Examples
    --------
    >>> import numpy as np
    >>> Phi, Z = np.eye(2), np.eye(2)
    >>> value, gradient = log_loss_pass([(Phi, Z, None)], np.zeros((2, 2)), sigmoids=False)
    >>> round(value, 3), gradient.tolist()
    (1.386, [[-0.5, 0.5], [0.5, -0.5]])
    """
    total, gradient = 0.0, np.zeros(coef.shape)
    for features, targets, weights in blocks:
        # a part stays in the cache between its two products
        parts = row_blocks(len(features), 8 * features.shape[1], CACHE_BLOCK_BYTES)

        def work(
            rows: slice,
            features: Array = features,
            targets: Array = targets,
            weights: Array | None = weights,
        ) -> tuple[float, Array]:
            own, phi = None if weights is None else weights[rows], features[rows]
            losses, p = log_losses(phi @ coef, targets[rows], sigmoids)
            p -= targets[rows]
            if own is None:
                return float(losses.sum()), phi.T @ p
            return float(own @ losses), phi.T @ (own[:, None] * p)

        with side_by_side(len(parts)) as each:
            for value, slopes in each(work, parts):  # in the order of the parts
                total += value
                gradient += slopes
    return total, gradient
