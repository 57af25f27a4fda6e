"""lsanomaly's least-squares classifier, the other implementation of LSPC there is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.float64]


class Lsanomaly(ClassifierMixin, BaseEstimator):
    """LSAnomaly without its class of outliers.

    Parameters
    ----------
    width : float
        In units of its own default: the median distance to the fifth neighbour (the row itself
        counted), which version 0.1.3 can no longer compute with current scikit-learn.
    rho : float
        Its regularisation.
    """

    def __init__(self, width: float = 1.0, rho: float = 0.1) -> None:
        self.width = width
        self.rho = rho

    def fit(self, X: Floats, y: NDArray[Any]) -> Lsanomaly:
        """Fit with centres drawn by a fixed seed."""
        from lsanomaly import LSAnomaly

        np.random.seed(0)  # noqa: NPY002  (it draws its centres from the global generator)
        self.classes_ = np.unique(y)
        near = NearestNeighbors(n_neighbors=min(5, len(X))).fit(X).kneighbors(X)[0][:, -1]
        sigma = self.width * float(np.median(near))
        self.model_ = LSAnomaly(sigma=sigma, rho=self.rho)
        self.model_.fit(X, y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Its probabilities of the classes, made to sum to one."""
        inliers = self.model_.predict_proba(X)[:, :-1]
        total = inliers.sum(axis=1, keepdims=True)
        uniform = np.full_like(inliers, 1.0 / inliers.shape[1])
        return np.divide(inliers, total, out=uniform, where=total > 0)
