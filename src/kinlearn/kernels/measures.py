"""What kernels are made of: quantities between rows that do not depend on a kernel's width.

A measure is prepared once for a set of centres and then gives one block of rows at a time. Because
the width enters only afterwards, a whole grid of widths shares one evaluation of the measure.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import additive_chi2_kernel, manhattan_distances
from sklearn.preprocessing import normalize

from kinlearn.kernels.two_values import TwoValues

Rows = Any  # a 2-d ndarray or a CSR matrix


class Measure(Protocol):
    """A quantity between rows and fixed centres."""

    def block(self, X: Rows) -> np.ndarray:
        """Return the (rows, centres) array for one block of rows, in memory of its own."""

    def square(self) -> np.ndarray:
        """Return the symmetric array between the centres themselves."""


def as_double(X: Rows) -> Rows:
    """Return the rows in double precision, copying only when they are not."""
    return X.astype(np.float64, copy=False)


class InnerProducts:
    """``xᵀc``."""

    def __init__(self, centers: Rows) -> None:
        self.centers = as_double(centers)

    def block(self, X: Rows) -> np.ndarray:
        product = as_double(X) @ self.centers.T
        return product.toarray() if sp.issparse(product) else np.asarray(product)

    def square(self) -> np.ndarray:
        return self.block(self.centers)


class Cosines(InnerProducts):
    """``xᵀc / (||x|| ||c||)``; a row of zeros is similar to nothing."""

    def __init__(self, centers: Rows) -> None:
        super().__init__(normalize(as_double(centers)))

    def block(self, X: Rows) -> np.ndarray:
        return super().block(normalize(as_double(X)))


class ManhattanDistances:
    """``||x - c||₁``; many columns of two values, as of categories, by a matrix product."""

    def __init__(self, centers: Rows) -> None:
        self.centers = as_double(centers)
        self.two_values = None if sp.issparse(centers) else TwoValues.of(self.centers)

    def block(self, X: Rows) -> np.ndarray:
        X = as_double(X)
        if sp.issparse(X) and sp.issparse(self.centers):
            return manhattan_distances(_short_indices(X), _short_indices(self.centers))
        X = _dense(X)
        if self.two_values is None:
            return manhattan_distances(X, _dense(self.centers))
        known = self.two_values.known(X)
        if known.all():
            return self._by_parts(X, self.two_values)
        distances = np.empty((X.shape[0], self.centers.shape[0]))
        distances[known] = self._by_parts(X[known], self.two_values)
        distances[~known] = manhattan_distances(X[~known], self.centers)
        return distances

    def _by_parts(self, X: np.ndarray, two_values: TwoValues) -> np.ndarray:
        distances = two_values.distances(X)
        others = two_values.others
        if others.size and X.shape[0]:
            distances += manhattan_distances(X[:, others], self.centers[:, others])
        return distances

    def square(self) -> np.ndarray:
        distances = self.block(self.centers)
        np.fill_diagonal(distances, 0.0)
        return distances


class ChiSquaredDistances:
    """``Σ (x - c)² / (x + c)`` over non-negative features, 0/0 counting as 0.

    Sparse rows are made dense one block at a time, and so are sparse centres.
    """

    center_block = 1024

    def __init__(self, centers: Rows) -> None:
        self.centers = as_double(centers)

    def block(self, X: Rows) -> np.ndarray:
        X = _dense(as_double(X))
        distances = np.empty((X.shape[0], self.centers.shape[0]))
        for start in range(0, self.centers.shape[0], self.center_block):
            some = _dense(self.centers[start : start + self.center_block])
            distances[:, start : start + some.shape[0]] = additive_chi2_kernel(
                np.require(X, requirements="W"), np.require(some, requirements="W")
            )
        return np.negative(distances, out=distances)

    def square(self) -> np.ndarray:
        return self.block(self.centers)


def _dense(X: Rows) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def _short_indices(X: sp.csr_matrix) -> sp.csr_matrix:
    """Return a CSR matrix with 32-bit indices, the only ones the compiled distances take."""
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)
