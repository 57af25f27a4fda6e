"""Choosing a subset of the training rows as centres."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.cluster import kmeans_plusplus

from kinlearn.kernels import Kernel, KernelMap
from kinlearn.kernels.measures import Rows, as_double
from kinlearn.kernels.squared_distances import move_to_middle

# All rows are centres up to here, beyond that a subset of the second size.
AUTO_FULL_ROWS = 3000
AUTO_CENTERS = 1500
METHODS = ("kmeans++", "random", "leverage")
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
    >>> from kinlearn.centers import choose_centers
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


def take_centers(X: Rows, positions: np.ndarray, kernel: Kernel) -> Rows:
    """Return the centres' rows; for a precomputed kernel, their columns' positions."""
    if kernel.name == "precomputed":
        return positions
    chosen = X[positions]
    return chosen.tocsr() if sp.issparse(chosen) else chosen
