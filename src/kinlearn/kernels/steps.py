"""Steps: what two rows reach together, threshold by threshold.

``k(x, c) = 1 + Σ_j w_j #{cuts t of column j: x_j >= t and c_j >= t}``: the inner product of
indicators of thresholds. A model in it is a sum of step functions of single columns, and levels off
outside of the training rows. Columns are cut at quantiles of the centres, so that the kernel is the
same in any unit, and under any monotone change, of a column.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.kernels.measures import Rows, as_double

Array = NDArray[np.float64]
# Quantiles that a column is cut at, and most of all columns together.
N_CUTS, MOST_CUTS = 20, 4000
# The part of a column's upper end that has half as many cuts again.
UPPER = 0.1
# Where one value fills more than this share of a column, the others have cuts of their own, twice
# as many: what is rare may be large.
COMMON = 0.5
# What the cuts of one column count together, at most.
MOST = 2.5


def cuts_of(known: Array, n_cuts: int) -> Array:
    """Return the thresholds of a column: values that it reaches or does not.

    Parameters
    ----------
    known : ndarray of shape (n,)
        Its numbers.
    n_cuts : int
        Quantiles to take.

    Examples
    --------
    >>> import numpy as np
    >>> cuts_of(np.arange(1000.0), 4).tolist()
    [199.0, 399.0, 599.0, 799.0, 933.0, 966.0]
    """
    if known.size == 0:
        return np.empty(0)
    values, counts = np.unique(known, return_counts=True)
    if values.size <= n_cuts + 1:
        return values[1:]
    inner = np.arange(1, n_cuts + 1) / (n_cuts + 1)
    upper = 1.0 - UPPER * (1.0 - np.arange(1, n_cuts // 2 + 1) / (n_cuts // 2 + 1))
    # as cells of the column, so that a cut means the same in any unit
    cuts = np.quantile(known, np.concatenate([inner, upper]), method="inverted_cdf")
    if counts.max() > COMMON * known.size:
        others = known[known != values[counts.argmax()]]
        more = np.arange(2 * n_cuts) / (2 * n_cuts)
        cuts = np.concatenate([cuts, np.quantile(others, more, method="inverted_cdf")])
    cuts = np.unique(cuts)
    return cuts[cuts > values[0]]


class SharedSteps:
    """``1 + Σ_j w_j #{cuts of column j that x and c reach}``.

    A column of two values counts 1 where both are the larger; one with many cuts at most `MOST`.

    Parameters
    ----------
    centers : array or CSR matrix of shape (m, d)
        Centres, by which columns are cut.
    """

    def __init__(self, centers: Rows) -> None:
        C = _dense(centers)
        n_cuts = int(np.clip(MOST_CUTS // max(C.shape[1], 1), 1, N_CUTS))
        found = [cuts_of(column, n_cuts) for column in C.T]
        sizes = [own.size for own in found]
        self.cuts: Array = np.concatenate([np.empty(0), *found])
        self.columns = np.repeat(np.arange(C.shape[1]), sizes)
        self.weights = np.minimum(1.0, MOST / np.repeat(np.maximum(sizes, 1), sizes))
        self.steps = self.reached(C) * self.weights

    def reached(self, X: Array) -> Array:
        """Which cuts rows reach, as 0 and 1."""
        return (X[:, self.columns] >= self.cuts).astype(np.float64)

    def block(self, X: Rows) -> Array:
        shared = self.reached(_dense(X)) @ self.steps.T
        shared += 1.0
        return shared

    def square(self) -> Array:
        root = np.sqrt(self.weights)
        half = np.divide(self.steps, root)
        shared = half @ half.T
        shared += 1.0
        return shared


def _dense(X: Rows) -> Array:
    X = as_double(X)
    return X.toarray() if sp.issparse(X) else X
