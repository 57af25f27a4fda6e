"""How alike labels are: W from Y, and the Laplacian that ties their parameters together.

The penalty of multi-label LSPC is ``γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||²``, which is
``γ/(2T²) tr(Θ L Θᵀ)`` with ``L = diag(W1) - W``. A *signed* similarity ρ uses
``L = diag(|ρ|1) - ρ``, whose penalty is ``Σ |ρ| ||θ_t - sign(ρ) θ_t'||²``: labels that exclude one
another are pushed apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Similarity: TypeAlias = "str | NDArray[np.float64] | Callable[..., NDArray[np.float64]]"

SIMILARITIES = ("correlation", "signed", "uniform")


def pearson(Y: Array, pair_weights: Array | None = None) -> Array:
    """Pearson correlation of every two columns over the rows where both are observed.

    Parameters
    ----------
    Y : ndarray of shape (n, T)
        Label values; what stands at an unobserved pair does not matter as long as it is finite.
    pair_weights : ndarray of shape (n, T), optional
        Weight of every (row, label) pair, 0 where it is unobserved. A pair of labels is weighted
        row by row with the geometric mean of their weights.

    Returns
    -------
    ndarray of shape (T, T)
        Correlations in [-1, 1]; 0 where a label does not vary over the shared rows.

    Examples
    --------
    >>> import numpy as np
    >>> pearson(np.array([[0.0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])).round(3)
    array([[ 1.   ,  0.577, -1.   ],
           [ 0.577,  1.   , -0.577],
           [-1.   , -0.577,  1.   ]])
    """
    M = np.ones_like(Y) if pair_weights is None else np.sqrt(pair_weights)
    # Centring first keeps the differences below from cancelling when a label is nearly constant.
    total = (M**2).sum(axis=0)
    centre = (M**2 * Y).sum(axis=0) / np.where(total > 0, total, 1.0)
    R = Y - centre
    MR, MRR = M * R, M * R**2
    count = M.T @ M
    count = np.where(count > 0, count, 1.0)
    mean = MR.T @ M / count  # mean[a, b]: mean of label a over the rows it shares with b
    cov = MR.T @ MR / count - mean * mean.T
    var = MRR.T @ M / count - mean**2
    var = np.where(var > 1e-12, var, 0.0)
    scale = np.sqrt(var * var.T)
    return np.clip(np.divide(cov, scale, out=np.zeros_like(cov), where=scale > 0), -1.0, 1.0)


def keep_strongest(W: Array, n_similar: int) -> Array:
    """Keep an edge when it is among the `n_similar` strongest of either of its two labels.

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[0, 0.9, 0.1], [0.9, 0, 0.5], [0.1, 0.5, 0]])
    >>> keep_strongest(W, 1)
    array([[0. , 0.9, 0. ],
           [0.9, 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    if isinstance(n_similar, bool) or not isinstance(n_similar, (int, np.integer)) or n_similar < 1:
        raise ValueError(
            f"n_similar must be a positive integer or None, but it is {n_similar!r}: it is the "
            "number of most similar labels that each label is tied to."
        )
    size = W.shape[0]
    if n_similar >= size - 1:
        return W
    strength = np.abs(W) - np.diag(np.diag(np.abs(W)))
    chosen = np.argpartition(-strength, n_similar - 1, axis=1)[:, :n_similar]
    keep = np.zeros(W.shape, dtype=bool)
    np.put_along_axis(keep, chosen, True, axis=1)
    return np.where(keep | keep.T, W, 0.0)


def check_similarity_matrix(W: object, n_labels: int) -> Array:
    """Return W as a symmetric non-negative float matrix, or say what is wrong with it."""
    try:
        matrix = np.asarray(W, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"similarity must be one of {', '.join(map(repr, SIMILARITIES))}, a matrix or a "
            f"callable, but it is {W!r}."
        ) from None
    if matrix.shape != (n_labels, n_labels):
        raise ValueError(
            f"The similarity matrix has shape {matrix.shape}, but Y has {n_labels} labels: it must "
            f"have shape ({n_labels}, {n_labels}), one row and one column per label."
        )
    if not np.isfinite(matrix).all():
        raise ValueError(
            "The similarity matrix contains NaN or infinity: put 0 where two labels are unrelated."
        )
    gap = np.abs(matrix - matrix.T)
    if gap.max() > 1e-8 * max(1.0, float(np.abs(matrix).max())):
        a, b = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"The similarity matrix is not symmetric: entry ({a}, {b}) is {matrix[a, b]:g} but "
            f"({b}, {a}) is {matrix[b, a]:g}. Pass (W + W.T) / 2."
        )
    off = matrix - np.diag(np.diag(matrix))
    if off.min() < 0:
        a, b = np.unravel_index(int(off.argmin()), off.shape)
        raise ValueError(
            f"The similarity matrix has a negative entry: {off[a, b]:g} at ({a}, {b}). Clip it at "
            "0, or use similarity='signed' to push negatively correlated labels apart."
        )
    return off


def label_similarity(
    Y: Array,
    similarity: Similarity = "correlation",
    *,
    pair_weights: Array | None = None,
    n_similar: int | None = None,
) -> Array:
    """Similarity matrix of the columns of Y, with a zero diagonal.

    Parameters
    ----------
    Y : ndarray of shape (n, T)
        Indicators (or any real values) of the labels; finite where unobserved.
    similarity : {"correlation", "signed", "uniform"}, ndarray or callable
        "correlation" is max(0, Pearson) (section 5 of the multi-label paper), "signed" Pearson
        itself, "uniform" one for every pair. A matrix is checked and used; a callable receives Y
        (NaN where unobserved) and returns such a matrix.
    pair_weights : ndarray of shape (n, T), optional
        Weights of the (row, label) pairs, 0 where unobserved.
    n_similar : int, optional
        Keep only the strongest `n_similar` similarities of each label.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[0.0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> label_similarity(Y, "correlation").round(3)
    array([[0.   , 0.577, 0.   ],
           [0.577, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    n_labels = Y.shape[1]
    if isinstance(similarity, str):
        if similarity == "uniform":
            W = np.ones((n_labels, n_labels))
        elif similarity == "correlation":
            W = np.maximum(0.0, pearson(Y, pair_weights))
        elif similarity == "signed":
            W = pearson(Y, pair_weights)
        else:
            raise ValueError(
                f"similarity={similarity!r} is unknown: use one of "
                f"{', '.join(map(repr, SIMILARITIES))}, a matrix or a callable on Y."
            )
    elif callable(similarity):
        seen = Y if pair_weights is None else np.where(pair_weights > 0, Y, np.nan)
        W = check_similarity_matrix(similarity(seen), n_labels)
    else:
        W = check_similarity_matrix(similarity, n_labels)
    W = W - np.diag(np.diag(W))
    W = 0.5 * (W + W.T)
    return W if n_similar is None else keep_strongest(W, n_similar)


def laplacian(W: Array) -> Array:
    """``diag(|W|1) - W`` with the diagonal of W ignored; the usual Laplacian when W >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> laplacian(np.array([[5.0, 2.0], [2.0, 5.0]]))
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    off = W - np.diag(np.diag(W))
    return np.diag(np.abs(off).sum(axis=1)) - off


def label_spectrum(W: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of the Laplacian, numerical zeros made exact.

    At ``sharing=1`` only the null space of L is left, so a zero has to be told from rounding.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = label_spectrum(np.ones((3, 3)))
    >>> values.round(6)
    array([0., 3., 3.])
    """
    L = laplacian(W)
    if not L.any():
        return np.zeros(len(L)), np.eye(len(L))
    values, vectors = scipy.linalg.eigh(L, driver="evd")
    values[values < 1e-10 * values[-1]] = 0.0
    return values, vectors
