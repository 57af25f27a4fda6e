"""Numbers as indicators of thresholds, for what acts by steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kinlearn.kernels.steps import N_CUTS, cuts_of

Array = NDArray[np.float64]
# What an indicator counts beside a scaled number: a column has many of them.
WEIGHT = 0.3


class ThresholdColumns(TransformerMixin, BaseEstimator):
    """Every number as indicators, times 0.3, of the thresholds that it reaches.

    A column is cut at quantiles, with more in its upper tenth, and between all its values where
    these are few. A missing number is the median.

    Parameters
    ----------
    n_cuts : int, default=20
        Quantiles to cut a column at.

    Attributes
    ----------
    fills_ : ndarray of shape (n_features_in_,)
        What a missing number is.
    cuts_ : ndarray of shape (n_cuts_in_all,)
        All thresholds.
    cut_columns_ : ndarray of int of shape (n_cuts_in_all,)
        The column of each.

    Examples
    --------
    >>> import numpy as np
    >>> ThresholdColumns().fit_transform(np.array([[1.0], [2.0], [5.0]]))
    array([[0. , 0. ],
           [0.3, 0. ],
           [0.3, 0.3]])
    """

    def __init__(self, n_cuts: int = N_CUTS) -> None:
        self.n_cuts = n_cuts

    def fit(self, X: Any, y: Any = None) -> ThresholdColumns:
        """Learn the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where missing.
        y : ignored
        """
        X = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        known = [column[~np.isnan(column)] for column in X.T]
        self.fills_ = np.array([np.median(own) if own.size else 0.0 for own in known])
        cuts = [cuts_of(own, self.n_cuts) for own in known]
        self.cuts_ = np.concatenate([np.empty(0), *cuts])
        self.cut_columns_ = np.repeat(np.arange(X.shape[1]), [own.size for own in cuts])
        return self

    def transform(self, X: Any) -> Array:
        """Return the indicators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where missing.
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        X = np.where(np.isnan(X), self.fills_, X)
        return WEIGHT * (X[:, self.cut_columns_] >= self.cuts_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return ``<column>>=<cut>``."""
        check_is_fitted(self)
        if input_features is None:
            input_features = [f"x{i}" for i in range(self.n_features_in_)]
        pairs = zip(self.cut_columns_, self.cuts_, strict=True)
        return np.array([f"{input_features[j]}>={cut:.10g}" for j, cut in pairs], dtype=object)
