"""Multi-label LSPC from sums over rows: similarity, coefficients and leave-one-out scores.

For complete indicator labels ``(ΦᵀDΦ)·Θ + Σw·Θ·Λ = ΦᵀDΞ`` with ``Λ = reg·(I + κL/T)`` (Eq. 1 of the
multi-label paper, see :mod:`kinlearn.solvers.sylvester`). With ``H = V diag(d) Vᵀ`` and
``L = U diag(l) Uᵀ`` it is diagonal,

    Θ = V [ (VᵀhU) / (d + Σw·reg·(1 + κl/T)) ] Uᵀ,

so H is decomposed once for every (reg, sharing) and every similarity. Rotated by U, each column is
a ridge problem with a leverage of its own, which gives leave-one-out scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.label_similarity import (
    SIMILARITIES,
    check_similarity_matrix,
    keep_strongest,
)
from kinlearn.solvers.lapack import eigh
from kinlearn.solvers.ridge_from_sums import held_out_scores
from kinlearn.solvers.sylvester import precision_factors

Array = NDArray[np.float64]


def correlation_of_sums(products: Array) -> Array:
    """Pearson correlation of labels from ``[1 Y]ᵀD[1 Y]``; 0 where a label does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1.0, 0, 0, 1], [1, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]])
    >>> correlation_of_sums(Y.T @ Y).round(3)
    array([[ 1.   ,  0.577, -1.   ],
           [ 0.577,  1.   , -0.577],
           [-1.   , -0.577,  1.   ]])
    """
    total = products[0, 0]
    mean = products[0, 1:] / total
    covariance = products[1:, 1:] / total - np.outer(mean, mean)
    variance = np.diagonal(covariance).copy()
    variance[variance <= 1e-12] = 0.0
    scale = np.sqrt(np.outer(variance, variance))
    found = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return np.clip(found, -1.0, 1.0)


def similarity_of_sums(products: Array, similarity: object, n_similar: int | None) -> Array:
    """W, with a zero diagonal, from the sums alone; as ``label_similarity`` makes it from Y."""
    n_labels = len(products) - 1
    if callable(similarity):
        raise ValueError(
            "A similarity that is a function of Y needs the rows: pass the matrix it returns, or "
            f"one of {', '.join(map(repr, SIMILARITIES))}."
        )
    if not isinstance(similarity, str):
        W = check_similarity_matrix(similarity, n_labels)
    elif similarity == "uniform":
        W = np.ones((n_labels, n_labels))
    elif similarity in SIMILARITIES:
        W = correlation_of_sums(products)
        W = np.maximum(W, 0.0) if similarity == "correlation" else W
    else:
        raise ValueError(
            f"similarity={similarity!r} is unknown: use one of "
            f"{', '.join(map(repr, SIMILARITIES))}, or a matrix."
        )
    W = W - np.diag(np.diag(W))
    W = 0.5 * (W + W.T)
    return W if n_similar is None else keep_strongest(W, n_similar)


@dataclass(frozen=True)
class LabelSums:
    """H decomposed, and the sums of the targets: 2z - 1 of every label, and ones.

    Attributes
    ----------
    values, vectors : ndarrays of shape (m,) and (m, m)
        d and V.
    rotated : ndarray of shape (m, T + 1)
        Vᵀh, the ones last.
    total_weight : float
    """

    values: Array
    vectors: Array
    rotated: Array
    total_weight: float

    @classmethod
    def of(cls, H: Array, h: Array, total_weight: float) -> LabelSums:
        """From H and h = ΦᵀD[1 Y].

        Parameters
        ----------
        H : ndarray of shape (m, m)
        h : ndarray of shape (m, 1 + T)
        total_weight : float
        """
        d, V = eigh(H)
        targets = np.column_stack([2.0 * h[:, 1:] - h[:, :1], h[:, :1]])
        return cls(np.maximum(d, 0.0), V, V.T @ targets, total_weight)

    def _ridges(self, label_values: Array, reg: float, sharing: float, shrink: float) -> Array:
        """Ridges of the rotated labels, and of the ones at the end."""
        factors = precision_factors(label_values, sharing, len(label_values))
        return self.total_weight * shrink * reg * np.append(factors, 1.0)

    def coefficients(
        self, label_values: Array, label_vectors: Array, reg: float, sharing: float
    ) -> Array:
        """Θ for 2z - 1 of every label and for ones, shape (m, T + 1)."""
        return self.vectors @ self._filtered(label_values, label_vectors, reg, sharing, 1.0)

    def _filtered(
        self, label_values: Array, label_vectors: Array, reg: float, sharing: float, shrink: float
    ) -> Array:
        ridges = self._ridges(label_values, reg, sharing, shrink)
        rotated = np.column_stack([self.rotated[:, :-1] @ label_vectors, self.rotated[:, -1]])
        filtered = rotated / (self.values[:, None] + ridges)
        return np.column_stack([filtered[:, :-1] @ label_vectors.T, filtered[:, -1]])

    def leave_one_out(
        self,
        features: Array,
        targets: Array,
        weights: Array,
        label_values: Array,
        label_vectors: Array,
        reg: float,
        sharing: float,
        shrink: float,
    ) -> Array:
        """Scores of some rows held out one at a time, shape (s, T + 1).

        Parameters
        ----------
        features, weights : ndarrays of shape (s, m) and (s,)
        targets : ndarray of shape (s, T + 1)
            2z - 1 of every label, and ones.
        label_values, label_vectors : ndarrays
            l and U.
        reg, sharing : float
        shrink : float
            What leaving a row out does to Σw.
        """
        ridges = self._ridges(label_values, reg, sharing, shrink)
        turned = features @ self.vectors
        fitted = turned @ self._filtered(label_values, label_vectors, reg, sharing, shrink)
        leverages = weights[:, None] * (np.square(turned) @ (1.0 / (self.values[:, None] + ridges)))

        def rotate(columns: Array, by: Array) -> Array:
            return np.column_stack([columns[:, :-1] @ by, columns[:, -1]])

        scores = held_out_scores(
            rotate(fitted, label_vectors), leverages, rotate(targets, label_vectors)
        )
        return rotate(scores, label_vectors.T)
