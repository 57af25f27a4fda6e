"""Scatter matrices of one labelled data set, reduced exactly to the span of its rows.

With class means m_k, mean m and class counts n_k of the n rows x_j:

    S_b = sum_k (n_k / n) (m_k - m)(m_k - m)^T        between classes
    S_w = sum_k sum_{y_j = k} (1 / n) (x_j - m_k)(x_j - m_k)^T   within classes
    S_t = S_b + S_w                                   total

Every discriminant analysis here looks for directions in range(S_t): outside of it no training
row varies. The thin SVD ``(X - m) / sqrt(n) = L diag(s) R^T`` of rank r turns S_t into
``diag(s^2)`` in the basis R, so that a problem with d features and n rows costs
O(d n min(n, d)) once and is r by r afterwards; with d > n no d by d matrix exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]

GRAM_TOLERANCE = 1e-4
"""Smallest ratio of squared singular values for which the Gram matrix is used."""

NULL_TOLERANCE = 1e-10
"""A whitened direction whose within-class share is below this counts as lying in null(S_w)."""


@dataclass(frozen=True)
class ReducedScatter:
    """Scatter matrices of one task in an orthonormal basis of range(S_t).

    Attributes
    ----------
    mean : ndarray of shape (d,)
        Mean of the rows.
    basis : ndarray of shape (d, r)
        Orthonormal columns spanning range(S_t), largest variance first.
    total : ndarray of shape (r,)
        Diagonal of the reduced S_t: the variances along ``basis``.
    between_root : ndarray of shape (r, c)
        M with reduced S_b = M M^T; column k is sqrt(n_k / n) (m_k - m).
    within_null : ndarray of shape (r, q)
        Orthonormal basis of null(S_w) inside range(S_t); q = 0 when S_w has full rank there.
    within_rows : ndarray of shape (n, r)
        Rows minus their class mean, in the basis.
    """

    mean: Floats
    basis: Floats
    total: Floats
    between_root: Floats
    within_null: Floats
    within_rows: Floats

    @property
    def rank(self) -> int:
        """Dimension of range(S_t)."""
        return int(self.total.size)

    @property
    def n_classes(self) -> int:
        """Number of classes of the task."""
        return int(self.between_root.shape[1])

    def between(self) -> Floats:
        """The reduced S_b, r by r."""
        return self.between_root @ self.between_root.T

    def within(self) -> Floats:
        """The reduced S_w, r by r, from the centred rows (no cancellation)."""
        return self.within_rows.T @ self.within_rows / len(self.within_rows)

    def within_trace(self) -> float:
        """Trace of S_w, the same in every orthonormal basis."""
        return float(np.vdot(self.within_rows, self.within_rows) / len(self.within_rows))


def reduce_scatter(X: Floats, codes: NDArray[np.intp], n_classes: int) -> ReducedScatter:
    """Reduce one task to the span of its centred rows: exact, by one thin SVD.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        Class of every row, 0 .. n_classes - 1; every class occurs.
    n_classes : int

    Returns
    -------
    ReducedScatter
        Of rank 0 when all rows are equal.

    Examples
    --------
    >>> X = np.array([[0., 0, 1], [2, 0, 1], [0, 4, 1], [2, 4, 1]])
    >>> reduced = reduce_scatter(X, np.array([0, 0, 1, 1]), 2)
    >>> reduced.rank, reduced.total, reduced.within_trace()
    (2, array([4., 1.]), 1.0)
    """
    n, d = X.shape
    mean = X.mean(axis=0)
    left, singular, right = thin_svd((X - mean) / np.sqrt(n))
    # Rounding of the mean alone leaves singular values of eps times the size of the data, so a
    # constant column of large values must not count as a direction.
    scale = max(float(singular[0]), float(np.abs(mean).max()))
    keep = singular > 10 * max(n, d) * np.finfo(float).eps * scale
    left, singular, right = left[:, keep], singular[keep], right[keep]
    counts = np.bincount(codes, minlength=n_classes)
    order = np.argsort(codes, kind="stable")
    sums = np.add.reduceat(left[order], np.cumsum(counts) - counts, axis=0)
    whitened_means = sums / np.sqrt(counts)[:, None]
    means = sums / counts[:, None]
    return ReducedScatter(
        mean=mean,
        basis=right.T,
        total=singular**2,
        between_root=(whitened_means * singular).T,
        within_null=_null_of_within(whitened_means, singular),
        within_rows=(left - means[codes]) * (singular * np.sqrt(n)),
    )


def thin_svd(centred: Floats) -> tuple[Floats, Floats, Floats]:
    """Singular vectors and values of rows that sum to zero, by the quickest way that is exact.

    The eigendecomposition of the smaller Gram matrix is three times as fast as an SVD, and as good
    when the singular values are of similar size: the vectors are orthonormal to eps times the
    square of their ratio. Otherwise, the SVD. With n <= d the direction that centring took away is
    left out.
    """
    n, d = centred.shape
    short = n <= d
    gram = centred @ centred.T if short else centred.T @ centred
    values, vectors = linalg.eigh(gram, driver="evd", check_finite=False)
    if short:
        values, vectors = values[1:], vectors[:, 1:]
    if not values.size or values[0] <= GRAM_TOLERANCE * values[-1]:
        return linalg.svd(centred, full_matrices=False, check_finite=False)
    singular = np.sqrt(values[::-1])
    near = np.ascontiguousarray(vectors[:, ::-1])
    if short:
        return near, singular, (near.T @ centred) / singular[:, None]
    return (centred @ near) / singular, singular, near.T


def _null_of_within(whitened_means: Floats, singular: Floats) -> Floats:
    """Orthonormal basis of null(S_w) in range(S_t).

    In whitened coordinates S_t = I, S_b has the squared cosines between the row space and the
    class indicators as eigenvalues, and null(S_w) is the eigenspace at one: the singular values
    of a c by r matrix, well conditioned whatever the spread of the variances.
    """
    if singular.size == 0:
        return np.zeros((0, 0))
    _, cosines, directions = linalg.svd(whitened_means, full_matrices=False, check_finite=False)
    null = directions[1.0 - cosines**2 < NULL_TOLERANCE]
    if not len(null):
        return np.zeros((singular.size, 0))
    basis, _ = linalg.qr((null / singular).T, mode="economic", check_finite=False)
    return basis


def shrinkage_ridge(task: ReducedScatter, shrinkage: float | str) -> float:
    """The multiple of the identity added to S_w and S_t: ``shrinkage * tr(S_w) / r``.

    ``"auto"`` takes Ledoit and Wolf's optimal weight delta of the identity in
    ``(1 - delta) S_w + delta tr(S_w) / r I`` and returns the ridge of the same shape,
    ``delta / (1 - delta) * tr(S_w) / r``.
    """
    scale = task.within_trace() / task.rank
    if shrinkage == "auto":
        # A weight of one means "only the identity"; a thousandfold ridge is as good, and finite.
        weight = min(ledoit_wolf_weight(task.within_rows), 0.999)
        return scale * weight / (1.0 - weight)
    return scale * float(shrinkage)


def ledoit_wolf_weight(rows: Floats) -> float:
    """Ledoit and Wolf's (2004) shrinkage weight of centred rows, in O(n r min(n, r)).

    The same number as ``sklearn.covariance.ledoit_wolf_shrinkage(rows, assume_centered=True)``,
    through the n by n Gram matrix when that is the smaller one.

    Examples
    --------
    >>> from sklearn.covariance import ledoit_wolf_shrinkage
    >>> rows = np.random.default_rng(0).normal(size=(20, 50))
    >>> theirs = ledoit_wolf_shrinkage(rows, assume_centered=True)
    >>> bool(np.isclose(ledoit_wolf_weight(rows), theirs, rtol=1e-12))
    True
    """
    n, r = rows.shape
    if r == 1:
        return 0.0  # one variance is its own mean: there is nothing to shrink
    gram = rows @ rows.T if n < r else rows.T @ rows
    mean_variance = float(np.trace(gram)) / (n * r)
    squared_norm = float(np.vdot(gram, gram)) / n**2
    fourth = float(np.sum(np.einsum("ij,ij->i", rows, rows) ** 2))
    spread = (squared_norm - r * mean_variance**2) / r
    error = (fourth / n - squared_norm) / (n * r)
    return 0.0 if error <= 0 or spread <= 0 else float(min(error / spread, 1.0))


def smallest_rank(tasks: Sequence[ReducedScatter]) -> int:
    """The largest number of components that every task can give."""
    return min(task.rank for task in tasks)
