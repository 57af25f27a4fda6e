"""ML-kNN (Zhang, Zhou 2007), the nearest-neighbour rival in the multi-label table."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors


class MLkNN:
    """Posterior of each label given how many of the k nearest neighbours carry it.

    ``P(on | count) ∝ P(on) P(count | on)``, both from smoothed counts over the training rows, whose
    own neighbours leave them out.

    Parameters
    ----------
    n_neighbors : int
    smooth : float
        The s of the paper.
    """

    def __init__(self, n_neighbors: int = 10, smooth: float = 1.0) -> None:
        self.n_neighbors = n_neighbors
        self.smooth = smooth

    def fit(self, X: np.ndarray, Y: np.ndarray) -> MLkNN:
        """Count."""
        s, k = self.smooth, self.n_neighbors
        self.Y = Y
        self.search = NearestNeighbors(n_neighbors=k).fit(X)
        self.prior = (s + Y.sum(axis=0)) / (2 * s + len(Y))
        counts = Y[self.search.kneighbors(return_distance=False)].sum(axis=1)
        levels = np.arange(k + 1)[:, None, None]
        on = ((counts == levels) & (Y == 1)).sum(axis=1)
        off = ((counts == levels) & (Y == 0)).sum(axis=1)
        self.given_on = (s + on) / (s * (k + 1) + on.sum(axis=0))
        self.given_off = (s + off) / (s * (k + 1) + off.sum(axis=0))
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """P(label = 1), shape (n, T)."""
        counts = self.Y[self.search.kneighbors(X, return_distance=False)].sum(axis=1)
        labels = np.arange(self.Y.shape[1])
        on = self.prior * self.given_on[counts, labels]
        off = (1 - self.prior) * self.given_off[counts, labels]
        return on / (on + off)
