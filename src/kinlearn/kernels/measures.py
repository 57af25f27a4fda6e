"""What kernels are made of: quantities between rows that do not depend on a kernel's width.

A measure is prepared once for a set of centres and then gives one block of rows at a time. Because
the width enters only afterwards, a whole grid of widths shares one evaluation of the measure.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import additive_chi2_kernel, manhattan_distances
from sklearn.preprocessing import normalize

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


class SquaredDistances:
    """``||x - c||²``, from one matrix product per block.

    Dense data are shifted to the mean of the centres first, because ``||x||² + ||c||² - 2xᵀc``
    loses all digits when the data lie far from the origin. The norms ride along as two further
    columns, so that a block needs a single pass over memory.
    """

    def __init__(self, centers: Rows) -> None:
        centers = as_double(centers)
        self.sparse = sp.issparse(centers)
        if self.sparse:
            self.centers = centers
            self.norms = np.asarray(centers.multiply(centers).sum(axis=1)).ravel()
            return
        self.shift = centers.mean(axis=0)
        self.centers = centers - self.shift
        self.norms = np.einsum("ij,ij->i", self.centers, self.centers)
        self.augmented = np.vstack([-2.0 * self.centers.T, np.ones_like(self.norms), self.norms])

    def block(self, X: Rows) -> np.ndarray:
        if self.sparse or sp.issparse(X):
            return self._mixed_block(as_double(X))
        n_rows, n_features = X.shape
        rows = np.empty((n_rows, n_features + 2), dtype=self.augmented.dtype)
        np.subtract(X, self.shift, out=rows[:, :n_features])
        shifted = rows[:, :n_features]
        np.einsum("ij,ij->i", shifted, shifted, out=rows[:, n_features])
        rows[:, n_features + 1] = 1.0
        distances = rows @ self.augmented
        return np.maximum(distances, 0.0, out=distances)

    def in_single(self) -> SquaredDistances:
        """Return the same measure with dense blocks in single precision."""
        other = copy(self)
        if not self.sparse:
            other.augmented = self.augmented.astype(np.float32)
        return other

    def _mixed_block(self, X: Rows) -> np.ndarray:
        centers, norms = self.centers, self.norms
        if not self.sparse:  # sparse rows, dense centres: the shift would fill the rows
            centers = self.centers + self.shift
            norms = np.einsum("ij,ij->i", centers, centers)
        product = X @ centers.T
        inner = product.toarray() if sp.issparse(product) else np.asarray(product)
        if sp.issparse(X):
            own = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        else:
            own = np.einsum("ij,ij->i", X, X)
        distances = own[:, None] + norms - 2.0 * inner
        return np.maximum(distances, 0.0, out=distances)

    def square(self) -> np.ndarray:
        product = self.centers @ self.centers.T
        distances = product.toarray() if self.sparse else product
        distances *= -2.0
        distances += self.norms
        distances += self.norms[:, None]
        np.maximum(distances, 0.0, out=distances)
        np.fill_diagonal(distances, 0.0)
        if self.sparse:  # a sparse product is not bitwise symmetric
            distances = 0.5 * (distances + distances.T)
        return distances


class ManhattanDistances:
    """``||x - c||₁``."""

    def __init__(self, centers: Rows) -> None:
        self.centers = as_double(centers)

    def block(self, X: Rows) -> np.ndarray:
        X = as_double(X)
        if sp.issparse(X) and sp.issparse(self.centers):
            return manhattan_distances(_short_indices(X), _short_indices(self.centers))
        return manhattan_distances(_dense(X), _dense(self.centers))

    def square(self) -> np.ndarray:
        return self.block(self.centers)


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
