"""How well training rows support a point: the distance to its nearest centres, as a quantile.

Scores say which class a point resembles most, not whether it resembles anything: far from all
training rows a kernel model extrapolates. The support of a point is how near its second-nearest
centre is, in the kernel's own measure, and its familiarity the share of training rows whose
support, with themselves left out, is no better. A new row like the training rows falls below q with
probability about q; one farther out than every training row has familiarity 0.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels import Kernel
from kinlearn.kernels.evaluation import CACHE_BLOCK_BYTES, row_blocks
from kinlearn.kernels.measures import Measure, Rows
from kinlearn.sums.row_hash import first_equal, row_hashes

# The nearest alone caught most strangers (experiments/results/familiarity.json); the second is
# taken so that no odd training row vouches for others alone, which is an argument and was not
# measured. With a subset of centres five neighbours are clearly worse.
NEIGHBOURS = 2
MAX_REFERENCE_ROWS = 500  # training rows whose support tells what is usual, enough for 1 %


def support(kernel: Kernel, X: Rows, centers: Rows, own: np.ndarray | None = None) -> np.ndarray:
    """Return how near each row's second-nearest centre is; larger is nearer.

    Parameters
    ----------
    kernel : Kernel
        Its distances, or for kernels without such its values, measure nearness.
    X : array or CSR matrix of shape (n, d)
        Rows.
    centers : array or CSR matrix of shape (m, d)
        Centres; for a precomputed kernel, the positions of their columns.
    own : ndarray of shape (n,), optional
        Number of the centre that each row is itself, and which must not vouch for it; -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels import resolve_kernel
    >>> centers = np.arange(6.0)[:, None]
    >>> support(resolve_kernel("rbf"), np.array([[2.5], [100.0]]), centers)
    array([-2.500e-01, -9.216e+03])
    """
    n_centers = int(centers.shape[0])
    kth = min(NEIGHBOURS, max(1, n_centers - (own is not None))) - 1
    measure, sign = _nearness(kernel, centers)
    nearest = np.empty(X.shape[0])
    if sp.issparse(X) and X.format != "csr":
        X = X.tocsr()
    for rows in row_blocks(X.shape[0], 8 * n_centers, CACHE_BLOCK_BYTES):
        values = measure.block(X[rows])
        if own is not None:
            is_center = np.flatnonzero(own[rows] >= 0)
            values[is_center, own[rows][is_center]] = -sign * np.inf
        nearest[rows] = nearest_of(values, sign, kth)
    return nearest


def nearest_of(values: np.ndarray, sign: float = -1.0, kth: int = NEIGHBOURS - 1) -> np.ndarray:
    """Return how near the centre is that only `kth` are nearer than; the values stay.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Distances, or with ``sign=1`` similarities.
    sign : float
        What makes larger mean nearer.
    kth : int
        0 for the nearest; at most m - 1.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_of(np.array([[3.0, 1.0, 2.0], [4.0, 5.0, 4.0]]))
    array([-2., -4.])
    """
    best, least = (np.argmin, np.min) if sign < 0 else (np.argmax, np.max)
    every, taken = np.arange(len(values)), []
    for _ in range(kth):  # quicker than a partition for so few
        at = best(values, axis=1)
        taken.append((at, values[every, at]))
        values[every, at] = -sign * np.inf
    found = sign * least(values, axis=1)
    for at, were in reversed(taken):
        values[every, at] = were
    return np.asarray(found)


def _nearness(kernel: Kernel, centers: Rows) -> tuple[Measure, float]:
    """Return a measure and the sign that makes larger mean nearer."""
    if kernel.name == "cosine" or not kernel.has_feature_space:
        return kernel.measure(centers), 1.0
    return kernel.width_measure(centers), -1.0


def reference_support(
    kernel: Kernel, X: Rows, centers: Rows, positions: np.ndarray | None, canonical: np.ndarray
) -> np.ndarray:
    """Return the sorted support of (at most 500 of) the training rows, each without itself.

    Parameters
    ----------
    kernel, X, centers
        As in :func:`support`; X holds the distinct training rows.
    positions : ndarray of shape (m,) or None
        Which rows the centres are; None for given ones, among which equal rows are looked for.
    canonical : ndarray of shape (n,)
        The rows in an order of their values, so that the choice among them does not depend on
        theirs.
    """
    n_rows = int(X.shape[0])
    spaced = np.linspace(0, n_rows - 1, min(n_rows, MAX_REFERENCE_ROWS)).round().astype(np.intp)
    some = np.sort(canonical[spaced])
    if positions is None:
        own = first_equal(row_hashes(X[some]), row_hashes(centers))
    else:
        at = np.full(n_rows, -1, dtype=np.intp)
        at[positions] = np.arange(len(positions))
        own = at[some]
    return np.sort(support(kernel, X[some], centers, own))


def sampled_support(kernel: Kernel, X: Rows, centers: Rows, without_itself: bool) -> np.ndarray:
    """Return the sorted support of (at most 500 of) a sample's rows.

    Which of them depends on their values alone: those of the smallest hashes.

    Parameters
    ----------
    kernel, X, centers
        As in :func:`support`; rows may be equal.
    without_itself : bool
        Whether a row that is a centre must not vouch for itself, as it does not for new rows.
    """
    keys, first = np.unique(row_hashes(X), return_index=True)
    keys, some = keys[:MAX_REFERENCE_ROWS], first[:MAX_REFERENCE_ROWS]
    own = None
    if without_itself:
        own = first_equal(keys, row_hashes(centers))
    return np.sort(support(kernel, X[some], centers, own))


def familiarity(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the share of the reference that is no better supported than each value."""
    return np.searchsorted(reference, values, side="right") / len(reference)
