"""Rows seen in another metric: columns times factors, or rows times a matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import Measure, Rows, as_double


def in_metric(X: Rows, metric: np.ndarray) -> Rows:
    """Return rows whose plain distances are those of `X` in a metric.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    metric : ndarray of shape (d,) or (d, k)
        Factors of the columns, or a matrix that rows are multiplied by.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels.metric import in_metric
    >>> in_metric(np.array([[1.0, 5.0]]), np.array([2.0, 0.0]))
    array([[2., 0.]])
    """
    X = as_double(X)
    if metric.ndim == 2:
        return np.asarray(X @ metric)
    return X.multiply(metric).tocsr() if sp.issparse(X) else X * metric


class MeasureInMetric:
    """A measure between rows in another metric, one block of them mapped at a time.

    Parameters
    ----------
    make : callable
        Makes the plain measure for a set of centres.
    metric : ndarray of shape (d,) or (d, k)
        As in :func:`in_metric`.
    centers : array or CSR matrix of shape (m, d)
        The centres, as rows are given.
    """

    def __init__(self, make: Callable[[Rows], Measure], metric: np.ndarray, centers: Rows) -> None:
        self.metric, self.plain = metric, make(in_metric(centers, metric))

    def block(self, X: Rows) -> np.ndarray:
        return self.plain.block(in_metric(X, self.metric))

    def square(self) -> np.ndarray:
        return self.plain.square()
