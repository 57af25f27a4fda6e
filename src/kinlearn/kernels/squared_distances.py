"""``||x - c||²`` from matrix products, accurate wherever the rows lie.

``||x||² + ||c||² - 2xᵀc`` loses the digits of a distance that is small beside the norms. Two things
keep the norms small: rows are measured from a point in the middle of the centres, which no single
odd value can move, and what lies far from there even so is compared by differences, far rows with
far centres. A far row and a near centre lose nothing, for their distance is as large as the norm.
All of it follows from the centres, so that a model keeps nothing but them.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from kinlearn.kernels.measures import Rows

# So many centres, evenly spread, tell where the middle is.
MIDDLE_ROWS = 51
# Centres are far when their squared norm exceeds this many times that of the nearest tenth: below,
# rounding (1e-16 of the norms) stays under 1e-10 of a distance inside that tenth.
FAR = 1e5
NEAR_SHARE = 0.1
# The largest coordinate in single precision: rows so far out resemble near centres no more.
LARGEST_SINGLE = 1e18
# Sparse rows are compared by differences in squares of so many, on the columns in use there.
SPARSE_SQUARE = 64
# Dense copies of sparse rows are made in blocks of so many bytes.
DENSE_BYTES = 32 << 20


def middle_point(centers: Rows) -> np.ndarray:
    """Return the lower median of every column, from at most ``MIDDLE_ROWS`` centres.

    It is zero in every column that is zero in most rows, so that sparse rows stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> middle_point(np.array([[1.0, 0.0], [2.0, 0.0], [1e12, 5.0]]))
    array([2., 0.])
    """
    n_rows = int(centers.shape[0])
    if n_rows > MIDDLE_ROWS:
        centers = centers[np.linspace(0, n_rows - 1, MIDDLE_ROWS).astype(np.intp)]
        n_rows = MIDDLE_ROWS
    kth = (n_rows - 1) // 2
    if not sp.issparse(centers):
        return np.partition(centers, kth, axis=0)[kth]
    middle = np.zeros(centers.shape[1])
    filled = np.flatnonzero(np.bincount(centers.indices, minlength=middle.size) > kth)
    if filled.size:
        middle[filled] = np.partition(centers[:, filled].toarray(), kth, axis=0)[kth]
    return middle


def move_to_middle(X: Rows) -> Rows:
    """Move rows, dense ones in place, so that their middle is the origin; distances stay.

    Sparse rows stay sparse, and the columns that had to be shifted become their last.
    """
    shift = middle_point(X)
    if not sp.issparse(X):
        X -= shift
        return X
    shifted = np.flatnonzero(shift)
    if shifted.size == 0:
        return X
    dense = sp.csr_matrix(X[:, shifted].toarray() - shift[shifted])
    return sp.hstack([X[:, np.flatnonzero(shift == 0.0)], dense], format="csr")


def far_bound(norms: np.ndarray) -> float:
    """Return the squared norm beyond which a row is far."""
    positive = norms[norms > 0.0]
    if positive.size == 0:
        return np.inf
    kth = int(NEAR_SHARE * (positive.size - 1))
    return FAR * float(np.partition(positive, kth)[kth])


def squared_norms(X: Rows) -> np.ndarray:
    """Return ``||x||²`` of every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


class SquaredDistances:
    """``||x - c||²``, from one matrix product per block.

    Dense rows are shifted to the middle of the centres, and their norms ride along as two further
    columns, so that a block needs a single pass over memory. Where rows or centres are sparse, only
    the columns in which the middle is not zero are shifted, as a dense part of their own.

    Attributes
    ----------
    shift : ndarray of shape (d,)
        The middle of the centres.
    centers, norms : array of shape (m, d) and its squared norms
        The centres from there; those of sparse data as they are, without the shifted columns.
    far : ndarray
        Positions of the centres whose distances to far rows are computed by differences.
    """

    def __init__(self, centers: Rows) -> None:
        self.given = centers.astype(np.float64, copy=False)
        self.sparse = sp.issparse(self.given)
        self.shift = middle_point(self.given)
        if self.sparse:
            self._mixed = _MixedParts(self.given, self.shift)
            self.centers, self.norms = self._mixed.rest, self._mixed.norms
        else:
            self.centers = self.given - self.shift
            self.norms = squared_norms(self.centers)
            ones = np.ones_like(self.norms)
            self.augmented = np.vstack([-2.0 * self.centers.T, ones, self.norms])
        self.bound = far_bound(self.norms)
        self.far = np.flatnonzero(self.norms > self.bound)

    def block(self, X: Rows) -> np.ndarray:
        if self.sparse or sp.issparse(X):
            X = X.astype(np.float64, copy=False)
            distances, norms = self._mixed_parts().block(X)
        else:
            distances, norms = self._dense_block(X)
        np.maximum(distances, 0.0, out=distances)
        if self.far.size:
            rows = np.flatnonzero(norms > self.bound)
            if rows.size:
                found = differences(X[rows], self.given[self.far])
                with np.errstate(over="ignore"):  # in single precision, infinity is far enough
                    distances[np.ix_(rows, self.far)] = found
        return distances

    def _dense_block(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_rows, n_features = X.shape
        rows = np.empty((n_rows, n_features + 2), dtype=self.augmented.dtype)
        shifted = rows[:, :n_features]
        if rows.dtype == np.float32:
            shifted[...] = _within_single(X - self.shift)
        else:
            np.subtract(X, self.shift, out=shifted)
        np.einsum("ij,ij->i", shifted, shifted, out=rows[:, n_features])
        rows[:, n_features + 1] = 1.0
        return rows @ self.augmented, rows[:, n_features]

    def _mixed_parts(self) -> _MixedParts:
        if not hasattr(self, "_mixed"):  # sparse rows and dense centres
            self._mixed = _MixedParts(self.given, self.shift)
        return self._mixed

    def in_single(self) -> SquaredDistances:
        """Return the same measure with dense blocks in single precision."""
        other = copy(self)
        if not self.sparse:
            centers = _within_single(self.centers).T
            with np.errstate(over="ignore"):  # norms may be infinite: such centres are far
                norms = self.norms.astype(np.float32)
            other.augmented = np.vstack([-2.0 * centers, np.ones_like(norms), norms])
        return other

    def square(self) -> np.ndarray:
        if self.sparse:
            distances = self.block(self.given)
            # a sparse product is not bitwise symmetric
            distances = 0.5 * (distances + distances.T)
        else:
            distances = self.centers @ self.centers.T
            distances *= -2.0
            distances += self.norms
            distances += self.norms[:, None]
            np.maximum(distances, 0.0, out=distances)
            if self.far.size:
                far = self.given[self.far]
                distances[np.ix_(self.far, self.far)] = differences(far, far)
        np.fill_diagonal(distances, 0.0)
        return distances


class _MixedParts:
    """Squared distances where rows or centres are sparse: shifted columns apart from the rest."""

    def __init__(self, centers: Rows, shift: np.ndarray) -> None:
        self.shifted = np.flatnonzero(shift)
        self.shift = shift[self.shifted]
        self.kept: np.ndarray | None = None
        self.rest, self.dense = centers, None
        if self.shifted.size:
            self.kept = np.flatnonzero(shift == 0.0)
            self.rest = centers[:, self.kept]
            self.dense = _columns(centers, self.shifted) - self.shift
        self.rest_norms = squared_norms(self.rest)
        self.norms = self.rest_norms
        if self.dense is not None:
            self.dense_norms = squared_norms(self.dense)
            self.norms = self.rest_norms + self.dense_norms

    def block(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances, not yet cut at zero, and the rows' squared norms."""
        rest = X if self.kept is None else X[:, self.kept]
        product = rest @ self.rest.T
        distances = product.toarray() if sp.issparse(product) else np.asarray(product)
        distances *= -2.0
        own = squared_norms(rest)
        distances += self.rest_norms
        distances += own[:, None]
        if self.dense is None:
            return distances, own
        size = max(1, DENSE_BYTES // (8 * self.shifted.size))
        for start in range(0, X.shape[0], size):
            some = slice(start, start + size)
            part = _columns(X[some], self.shifted) - self.shift
            norms = squared_norms(part)
            own[some] += norms
            # each part is a distance of its own, cut at zero before they are added
            np.maximum(distances[some], 0.0, out=distances[some])
            found = part @ self.dense.T
            found *= -2.0
            found += self.dense_norms
            found += norms[:, None]
            distances[some] += np.maximum(found, 0.0, out=found)
        return distances, own


def _within_single(X: np.ndarray) -> np.ndarray:
    """Return rows in single precision, cut where their squares would overflow."""
    return np.clip(X, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32)


def _columns(X: Rows, columns: np.ndarray) -> np.ndarray:
    part = X[:, columns]
    return part.toarray() if sp.issparse(part) else part


def differences(X: Rows, C: Rows) -> np.ndarray:
    """Return ``||x - c||²`` from the differences themselves, exact but slow."""
    if not (sp.issparse(X) or sp.issparse(C)):
        return cdist(X, C, "sqeuclidean")
    X, C = sp.csr_matrix(X), sp.csr_matrix(C)
    out = np.empty((X.shape[0], C.shape[0]))
    for i in range(0, X.shape[0], SPARSE_SQUARE):
        some = X[i : i + SPARSE_SQUARE]
        for j in range(0, C.shape[0], SPARSE_SQUARE):
            others = C[j : j + SPARSE_SQUARE]
            used = np.union1d(some.indices, others.indices)
            out[i : i + SPARSE_SQUARE, j : j + SPARSE_SQUARE] = cdist(
                some[:, used].toarray(), others[:, used].toarray(), "sqeuclidean"
            )
    return out
