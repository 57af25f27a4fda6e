"""A metric from the gradient of a fit: along which columns the class probabilities change.

With ``f_y(x) = Σ_j a_jy exp(-||x - c_j||²/(2σ²))`` the gradient is
``∇f_y(x) = Σ_j a_jy k(x, c_j) (c_j - x)/σ²``, and ``G``, the mean of ``∇f_y ∇f_yᵀ`` over rows and
classes, tells along which directions the scores change: its diagonal column by column.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels import KernelMap, median_width, resolve_kernel
from kinlearn.kernels.measures import Rows
from kinlearn.solvers.cholesky import ridge_solutions
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.training.splits import Splits

# Rows that the width and reg of the fit are chosen on, and rows that it is fitted to.
PILOT_ROWS, MOST_ROWS = 500, 1500
PILOT_WIDTHS = (1.0, 2.0, 4.0)
PILOT_REGS = 10.0 ** np.arange(-6.0, 0.5)
# Relevances are this power of the mean squared gradient; so are the whole matrix's eigenvalues.
POWER = 1.0


def pilot_point(X: Rows, Z: np.ndarray) -> tuple[float, float]:
    """Choose width and reg of the fit by leave-one-out, from (at most 500 of) the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows.
    Z : ndarray of shape (n, c)
        Targets.

    Returns
    -------
    sigma, reg : float
        Of the least squared error.
    """
    some = spread_rows(X.shape[0], PILOT_ROWS)
    X, Z = X[some], Z[some]
    kernel = resolve_kernel("rbf")
    features, splits = KernelMap(kernel, X), Splits.one_out(X.shape[0])
    measure, median = features.square_measure(), median_width(X, kernel)
    best, found = np.inf, (median, 1e-2)
    for factor in PILOT_WIDTHS:
        K = kernel.profile(measure, factor * median, np.empty_like(measure))
        scores = SymmetricSpectrum.of(K, Z).held_out(PILOT_REGS, splits)
        errors = np.square(scores - Z).sum(axis=(1, 2))
        at = int(errors.argmin())
        if errors[at] < best:
            best, found = float(errors[at]), (factor * median, float(PILOT_REGS[at]))
    return found


def mean_outer_gradient(
    X: Rows, Z: np.ndarray, weights: np.ndarray | None, sigma: float, reg: float, whole: bool
) -> np.ndarray:
    """Return the mean over rows and columns of ``∇f ∇fᵀ``, or its diagonal.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows, all of them centres.
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,), optional
        Weights.
    sigma, reg : float
        Of the fit.
    whole : bool
        Whether the whole matrix is wanted, (d, d), or its diagonal, (d,).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> Z = np.eye(2)[(X[:, 0] > 0).astype(int)]
    >>> first, second = mean_outer_gradient(X, Z, None, 1.0, 1e-2, whole=False)
    >>> bool(first > 5 * second)
    True
    """
    some = spread_rows(X.shape[0], MOST_ROWS)
    X, Z = X[some], Z[some]
    weights = None if weights is None else weights[some]
    K = KernelMap(resolve_kernel("rbf"), X).square(sigma)
    total = X.shape[0] if weights is None else float(weights.sum())
    A = ridge_solutions(K, Z, np.array([total * reg]), weights)[0]
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / total
    width = X.shape[1]
    G = np.zeros((width, width) if whole else width)
    for column in A.T:
        pull = K * column
        gradient = (_dense(pull @ X) - _times(X, pull.sum(axis=1))) / sigma**2
        if whole:
            G += (gradient * share[:, None]).T @ gradient
        else:
            G += share @ np.square(gradient)
    return G / A.shape[1]


def metric_of(G: np.ndarray) -> np.ndarray:
    """Return what rows are multiplied by: roots of relevances, or the whole matrix's power.

    Relevances are ``diag(G)^p`` scaled to a mean of one, so that widths keep their meaning.
    """
    if G.ndim == 1:
        return np.sqrt(relevances(G))
    values, vectors = np.linalg.eigh(G)
    powers = np.maximum(values, 0.0) ** POWER
    if powers.sum() <= 0.0:
        return np.eye(len(G))
    return vectors * np.sqrt(powers * (len(G) / powers.sum()))


def relevances(G: np.ndarray) -> np.ndarray:
    """Return one number a column, of mean one; ones where nothing changes along any."""
    diagonal = np.diagonal(G) if G.ndim == 2 else G
    powers = np.maximum(diagonal, 0.0) ** POWER
    total = powers.sum()
    return powers * (powers.size / total) if total > 0.0 else np.ones(powers.size)


def relevances_of(metric: np.ndarray) -> np.ndarray:
    """Return what a metric makes of the columns, of mean one.

    Examples
    --------
    >>> import numpy as np
    >>> relevances_of(metric_of(np.array([3.0, 1.0]))) / relevances(np.array([3.0, 1.0]))
    array([1., 1.])
    """
    powers = np.square(metric if metric.ndim == 1 else np.linalg.norm(metric, axis=1))
    return np.asarray(powers * (powers.size / powers.sum()))


def spread_rows(n_rows: int, most: int) -> np.ndarray:
    """Positions of at most so many rows, evenly spread."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp))


def _dense(values: Rows) -> np.ndarray:
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def _times(X: Rows, factors: np.ndarray) -> np.ndarray:
    """Rows times factors of theirs."""
    return _dense(X.multiply(factors[:, None])) if sp.issparse(X) else X * factors[:, None]
