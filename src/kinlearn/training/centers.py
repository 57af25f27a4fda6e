"""Which rows are centres: all of them, a chosen subset, or rows that were given."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_array, check_random_state

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import Kernel, resolve_kernel
from kinlearn.kernels.measures import Rows, as_double
from kinlearn.kernels.metric import in_metric
from kinlearn.kernels.squared_distances import move_to_middle
from kinlearn.training.copies import DistinctRows

METHODS = ("kmeans++", "random", "leverage")
# All rows are centres up to here, beyond that a subset of the second size.
AUTO_FULL_ROWS = 3000
AUTO_CENTERS = 1500
POOL_FACTOR = 10
PILOT_ROWS = 500
LEVERAGE_REG = 1e-4


def choose_centers(
    X: Rows,
    n_centers: int,
    method: str,
    kernel: Kernel,
    sigma: float,
    random_state: np.random.RandomState,
    order: np.ndarray | None = None,
) -> np.ndarray:
    """Return the sorted positions of the rows chosen as centres.

    Rows are drawn from `order`, an order that does not depend on how the data are shuffled.

    ``"kmeans++"`` spreads centres over the data, drawing from a random pool of at most
    ``POOL_FACTOR`` times as many rows; ``"leverage"`` draws rows in proportion to how hard they are
    to express by others (approximate ridge leverage scores); ``"random"`` draws uniformly. Kernels
    given as values or as a function have no feature space to spread in: there ``"kmeans++"`` draws
    uniformly.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.centers import choose_centers
    >>> from kinlearn.kernels import resolve_kernel
    >>> X = np.arange(10.0)[:, None]
    >>> choose_centers(X, 3, "random", resolve_kernel("rbf"), 1.0, np.random.RandomState(0)).size
    3
    """
    n_rows = X.shape[0]
    if n_centers >= n_rows:
        return np.arange(n_rows)
    order = np.arange(n_rows) if order is None else order
    if method == "leverage":
        chances = approximate_leverage(X, kernel, sigma, random_state, order)[order]
        # rows of no leverage (copies of others up to rounding) must not make the draw impossible
        chances = np.maximum(chances, 1e-12 * chances.max())
        chosen = random_state.choice(n_rows, n_centers, replace=False, p=chances / chances.sum())
        return np.sort(order[chosen])
    if method == "random" or not kernel.has_feature_space:
        return np.sort(order[random_state.choice(n_rows, n_centers, replace=False)])
    pool_size = min(n_rows, POOL_FACTOR * n_centers)
    pool = order[np.sort(random_state.choice(n_rows, pool_size, replace=False))]
    # distances far from the origin would lose their digits; the rows of the pool are a copy
    spread = move_to_middle(as_double(X[pool]))
    _, chosen = kmeans_plusplus(spread, n_centers, random_state=random_state, n_local_trials=1)
    # k-means++ may draw a row twice when the rest of the pool lies at distance zero
    chosen = np.unique(chosen)
    if chosen.size < n_centers:
        others = np.setdiff1d(np.arange(pool_size), chosen)
        more = random_state.choice(others, n_centers - chosen.size, replace=False)
        chosen = np.concatenate([chosen, more])
    return np.sort(pool[chosen])


def approximate_leverage(
    X: Rows,
    kernel: Kernel,
    sigma: float,
    random_state: np.random.RandomState,
    order: np.ndarray,
) -> np.ndarray:
    """Return ``psi_iᵀ (ΨᵀΨ + n·reg·I)⁻¹ psi_i`` for features psi from a uniform pilot set."""
    n_rows = X.shape[0]
    pilot = order[random_state.choice(n_rows, min(PILOT_ROWS, n_rows), replace=False)]
    centers = pilot if kernel.name == "precomputed" else X[pilot]
    features = KernelMap(kernel, centers)
    gram = features.square(sigma, X[pilot] if kernel.name == "precomputed" else None)
    scale = float(np.trace(gram)) / pilot.size
    if not scale > 0.0:  # rows that the kernel cannot tell from nothing: all are alike
        return np.ones(n_rows)
    root = np.linalg.cholesky(gram + 1e-8 * scale * np.eye(pilot.size))
    total = np.zeros_like(gram)
    for _, block in features.feature_blocks(X, sigma):
        total += block.T @ block
    # ΨᵀΨ + n·reg·I = root⁻¹ (ΦᵀΦ) root⁻ᵀ + n·reg·I, so psiᵀ(...)⁻¹psi is a norm after two solves
    inner = solve_triangular(root, solve_triangular(root, total, lower=True).T, lower=True)
    reg = LEVERAGE_REG * scale
    outer = np.linalg.cholesky(inner + n_rows * reg * np.eye(pilot.size))
    leverage = np.empty(n_rows)
    for rows, block in features.feature_blocks(X, sigma):
        psi = solve_triangular(root, block.T, lower=True)
        leverage[rows] = np.square(solve_triangular(outer, psi, lower=True)).sum(axis=0)
    return leverage


@dataclass(frozen=True)
class Centers:
    """Centres, and where they come from.

    Attributes
    ----------
    rows : array or CSR matrix of shape (m, d)
        The centres; for a precomputed kernel, the positions of their columns as passed.
    positions : ndarray of shape (m,) or None
        Which distinct rows they are; None for centres that were given.
    everything : bool
        Whether all distinct rows are centres.
    """

    rows: Rows
    positions: np.ndarray | None
    everything: bool


def place_centers(
    X: Rows,
    rows: DistinctRows,
    kernel: Kernel,
    sigma: float,
    *,
    n_centers: Any,
    given: Any,
    selection: str,
    random_state: Any,
    automatic: int | None = None,
) -> Centers:
    """Return the centres that a user's choices come to.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows.
    rows : DistinctRows
        The tie to the rows as passed.
    kernel, sigma : Kernel and float
        For choosing a subset, where that matters; in its metric, where it has one.
    n_centers, given, selection, random_state
        ``n_centers``, ``centers``, ``center_selection`` and ``random_state`` of an estimator.
    automatic : int, optional
        What ``n_centers="auto"`` means, where that is not a matter of the rows.
    """
    n_rows = rows.n_distinct
    count = count_centers(n_centers, n_rows, given)
    if automatic is not None and count is None and given is None:
        count = automatic if automatic < n_rows else None
    if given is not None:
        return Centers(check_given_centers(given, X.shape[1], kernel), None, False)
    precomputed = kernel.name == "precomputed"
    if count is None:  # a copy: the user's own array may change
        everything = rows.first if precomputed else X.copy()
        return Centers(everything, np.arange(n_rows), True)
    # kernel values have a column for every row the user passed, distinct or not
    drawn = X[:, rows.first] if precomputed else X
    if kernel.metric is not None:
        drawn = in_metric(X, kernel.metric)
        kernel = resolve_kernel(kernel.spec, **kernel.numbers)
    rng = check_random_state(random_state)
    positions = choose_centers(drawn, count, selection, kernel, sigma, rng, rows.canonical)
    if precomputed:  # columns as the user numbers them
        return Centers(rows.first[positions], positions, False)
    chosen = X[positions]
    return Centers(chosen.tocsr() if sp.issparse(chosen) else chosen, positions, False)


def count_centers(n_centers: Any, n_rows: int, given: Any) -> int | None:
    """Return how many centres to choose, or None for all rows (or the centres given)."""
    whole = isinstance(n_centers, (int, np.integer)) and not isinstance(n_centers, bool)
    automatic = isinstance(n_centers, str) and n_centers == "auto"
    if not (n_centers is None or automatic or (whole and n_centers >= 1)):
        raise ValueError(
            'n_centers must be "auto", None or a positive whole number, '
            f"but {n_centers!r} was given."
        )
    if not whole:
        everything = given is not None or n_centers is None or n_rows <= AUTO_FULL_ROWS
        return None if everything else AUTO_CENTERS
    if given is not None:
        raise ValueError(
            f"Both centers and n_centers={n_centers} were given: leave n_centers out to use "
            "the given centers, or leave centers out to have that many chosen."
        )
    if n_centers > n_rows:
        warnings.warn(
            f"n_centers={n_centers} exceeds the {n_rows} distinct training rows: "
            "all of them are used as centers.",
            UserWarning,
            stacklevel=5,
        )
    return int(n_centers) if n_centers < n_rows else None


def check_given_centers(given: Any, n_features: int, kernel: Kernel) -> Rows:
    """Return centres that a user gave, or say why they cannot be."""
    if kernel.name == "precomputed":
        raise ValueError(
            "A precomputed kernel has no rows to use as centers: leave centers out "
            "and set n_centers to have some of the training columns chosen."
        )
    centers = check_array(
        given, accept_sparse="csr", dtype=np.float64, input_name="centers", copy=True
    )
    if centers.shape[1] != n_features:
        raise ValueError(f"centers has {centers.shape[1]} features, but X has {n_features}.")
    kernel.check(centers)
    return centers
