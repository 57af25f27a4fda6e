"""ML-kNN (Zhang, Zhou 2007): each label from how many of the nearest neighbours carry it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.float64]
NEIGHBOURS = (5, 10, 20)


class MLkNN(BaseEstimator):
    """Posterior of each label given how many of the k nearest neighbours carry it.

    ``P(on | count) ∝ P(on) P(count | on)``, both from smoothed counts over the training rows, whose
    own neighbours leave them out; k has the least log-loss of the training rows, answered by their
    neighbours.

    Parameters
    ----------
    candidates : sequence of int
        The k to try.
    smooth : float
        The s of the paper.

    Examples
    --------
    >>> from kinlearn_experiments.bench.methods.neighbours import MLkNN
    >>> from kinlearn.datasets import make_rotated_labels
    >>> X, Y = make_rotated_labels(200, n_labels=4, n_features=2, random_state=0)
    >>> model = MLkNN().fit(X[:100], Y[:100])
    >>> bool(((model.predict_proba(X[100:]) > 0.5) == Y[100:]).mean() > 0.85)
    True
    """

    def __init__(self, candidates: tuple[int, ...] = NEIGHBOURS, smooth: float = 1.0) -> None:
        self.candidates = candidates
        self.smooth = smooth

    def fit(self, X: Floats, Y: NDArray[np.int64]) -> MLkNN:
        """Count for every candidate and keep the best."""
        self.Y_ = Y
        self.prior_ = (self.smooth + Y.sum(axis=0)) / (2 * self.smooth + len(Y))
        usable = [k for k in self.candidates if k < len(Y)]
        self.search_ = NearestNeighbors(n_neighbors=max(usable)).fit(X)
        near = self.search_.kneighbors(return_distance=False)
        best = np.inf
        for k in usable:
            counts = Y[near[:, :k]].sum(axis=1)
            given = self._tables(counts, k)
            proba = self._posterior(counts, *given)
            loss = -np.log(np.where(Y == 1, proba, 1 - proba)).mean()
            if loss < best:
                best, self.n_neighbors_, self.given_ = loss, k, given
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """P(label = 1), shape (n, T)."""
        near = self.search_.kneighbors(X, n_neighbors=self.n_neighbors_, return_distance=False)
        return self._posterior(self.Y_[near].sum(axis=1), *self.given_)

    def _tables(self, counts: NDArray[np.int64], k: int) -> tuple[Floats, Floats]:
        """P(count | on) and P(count | off), shape (k + 1, T)."""
        levels = np.arange(k + 1)[:, None, None]
        on = ((counts == levels) & (self.Y_ == 1)).sum(axis=1)
        off = ((counts == levels) & (self.Y_ == 0)).sum(axis=1)
        s = self.smooth
        return (
            (s + on) / (s * (k + 1) + on.sum(axis=0)),
            (s + off) / (s * (k + 1) + off.sum(axis=0)),
        )

    def _posterior(self, counts: NDArray[np.int64], given_on: Floats, given_off: Floats) -> Floats:
        labels = np.arange(self.Y_.shape[1])
        on = self.prior_ * given_on[counts, labels]
        off = (1 - self.prior_) * given_off[counts, labels]
        return on / (on + off)
