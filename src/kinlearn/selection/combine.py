"""One model out of a grid: every point's held-out scores are known, so weights can be learnt."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from kinlearn.solvers.lapack import pivoted_cholesky

RULES = ("stack", "within_se", "best")
# A point of less than this share changes no probability visibly, but costs a solve.
NEGLIGIBLE = 1e-3
# What is left of a Gram matrix below this share of its largest entry is rounding.
SQUARED_NOISE = 1e-14


def stack_weights(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Non-negative least squares of the targets on the held-out scores, scaled to sum to one.

    ``min Σ_i w_i Σ_c (z_ic - Σ_p v_p q_pic)²  over v ≥ 0``, from the P×P Gram matrix.

    Parameters
    ----------
    scores : ndarray of shape (P, R, c)
        Held-out scores.
    targets : ndarray of shape (R, c)
        Targets.
    weights : ndarray of shape (R,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (P,)
        Non-negative, adding up to one; all zero when nothing beats scores of zero.
    """
    flat = scores.reshape(scores.shape[0], -1)
    root = np.sqrt(np.repeat(weights / weights.sum(), targets.shape[1]))
    return stacked_weights(*weighted_gram(flat, targets.ravel(), root))


def stacked_weights(gram: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """The weights of :func:`stack_weights` from the points' Gram matrix and their moments."""
    # NNLS wants a design matrix: any root of the Gram matrix will do, and a triangular one is cheap
    scale = float(np.diagonal(gram).max(initial=0.0))
    if scale <= 0.0:
        return np.zeros(moment.size)
    root, order = pivoted_cholesky(gram / scale, SQUARED_NOISE)
    rank = root.shape[1]
    right = solve_triangular(root[:rank], moment[order[:rank]] / scale, lower=True)
    design = np.empty((rank, moment.size))
    design[:, order] = root.T
    solution, _ = nnls(design, right, maxiter=30 * moment.size)
    total = solution.sum()
    if total <= 0.0:
        return np.zeros_like(solution)
    solution /= total
    solution[solution < NEGLIGIBLE] = 0.0
    return solution / solution.sum()


def weighted_gram(
    flat: np.ndarray, target: np.ndarray, root: np.ndarray, columns: int = 1 << 14
) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix and moments in double precision, a block of columns of any weight at a time.

    Parameters
    ----------
    flat : ndarray of shape (P, columns)
        Scores of the points.
    target, root : ndarrays of shape (columns,)
        Targets, and the roots of the columns' weights.
    """
    gram = np.zeros((flat.shape[0],) * 2)
    moment = np.zeros(flat.shape[0])
    for start in range(0, flat.shape[1], columns):
        part = start + np.flatnonzero(root[start : start + columns])
        block = flat[:, part] * root[part]
        gram += block @ block.T
        moment += block @ (target[part] * root[part])
    return gram, moment


def within_se_weights(
    by_row: np.ndarray, weights: np.ndarray, best: int, n_se: float = 2.0
) -> np.ndarray:
    """Equal weights for all points within `n_se` paired standard errors of the best one.

    Parameters
    ----------
    by_row : ndarray of shape (P, R)
        Each row's score, greater better.
    weights : ndarray of shape (R,)
        Weights of the rows.
    best : int
        The best point.
    """
    weights = weights / weights.sum()
    behind = by_row[best] - by_row
    mean = behind @ weights
    variance = (behind - mean[:, None]) ** 2 @ weights
    # Σw² is 1/n for equal weights
    error = np.sqrt(variance * np.square(weights).sum())
    near = mean <= n_se * error
    near[best] = True
    return near / near.sum()
