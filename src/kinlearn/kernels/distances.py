"""``||x - c||`` from squared distances, accurate for rows that are next to a centre, too.

A squared distance from matrix products carries a rounding error of the size of the norms, which a
root would enlarge where the distance is small beside them. Such pairs are few: a row and the centre
that it is, or nearly is. They are compared by differences.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import Rows
from kinlearn.kernels.squared_distances import SquaredDistances, squared_norms

# Squared distances below this share of the norms have lost digits that a root would show.
NEAR = 1e-10
# Numbers that differences of near pairs take at one time.
DIFFERENCES = 1 << 20


class EuclideanDistances:
    """``||x - c||``.

    Parameters
    ----------
    centers : array or CSR matrix of shape (m, d)
        The centres.
    """

    def __init__(self, centers: Rows) -> None:
        self.squared = SquaredDistances(centers)
        self.norms = squared_norms(self._moved(self.squared.given))

    def block(self, X: Rows) -> np.ndarray:
        """Return the (rows, centres) array for one block of rows."""
        return self._root(self.squared.block(X), X)

    def square(self) -> np.ndarray:
        """Return the symmetric array between the centres."""
        return self._root(self.squared.square(), self.squared.given)

    def _moved(self, X: Rows) -> Rows:
        """Dense rows from the middle of the centres, where their norms are small."""
        return X if sp.issparse(X) or self.squared.sparse else X - self.squared.shift

    def _root(self, squared: np.ndarray, X: Rows) -> np.ndarray:
        norms = squared_norms(self._moved(X))
        if sp.issparse(X) != self.squared.sparse:
            norms = squared_norms(X)
        rows, columns = np.nonzero(squared < NEAR * (norms[:, None] + self.norms))
        width = max(1, DIFFERENCES // max(1, X.shape[1]))
        for begin in range(0, rows.size, width):
            i, j = rows[begin : begin + width], columns[begin : begin + width]
            squared[i, j] = squared_norms(_difference(X[i], self.squared.given[j]))
        return np.sqrt(squared, out=squared)


def _difference(A: Rows, B: Rows) -> Rows:
    if sp.issparse(A) and sp.issparse(B):
        return A - B
    return np.asarray(A.toarray() if sp.issparse(A) else A, dtype=np.float64) - (
        B.toarray() if sp.issparse(B) else B
    )
