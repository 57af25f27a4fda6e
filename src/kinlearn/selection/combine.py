"""One model out of a grid: every point's held-out scores are known, so weights can be learnt."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import nnls

RULES = ("stack", "within_se", "best")
# A point of less than this share changes no probability visibly, but costs a solve.
NEGLIGIBLE = 1e-3
# Fewer tasks than this say nothing about their own spread.
MIN_TASKS = 4


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
    gram, moment = _gram(flat, targets.ravel(), root)
    # NNLS wants a design matrix: any root of the Gram matrix will do
    values, vectors = eigh(gram)
    kept = values > values[-1] * 1e-14
    root_values = np.sqrt(values[kept])
    design = root_values[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ moment) / root_values
    solution, _ = nnls(design, right, maxiter=30 * flat.shape[0])
    total = solution.sum()
    if total <= 0.0:
        return np.zeros_like(solution)
    solution /= total
    solution[solution < NEGLIGIBLE] = 0.0
    return solution / solution.sum()


def _gram(
    flat: np.ndarray, target: np.ndarray, root: np.ndarray, columns: int = 1 << 14
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted Gram matrix and moments in double precision, a block of columns at a time."""
    gram = np.zeros((flat.shape[0],) * 2)
    moment = np.zeros(flat.shape[0])
    for start in range(0, flat.shape[1], columns):
        part = slice(start, start + columns)
        block = flat[:, part] * root[part]
        gram += block @ block.T
        moment += block @ (target[part] * root[part])
    return gram, moment


def within_se_weights(
    by_row: np.ndarray,
    weights: np.ndarray,
    best: int,
    n_se: float = 2.0,
    unit: np.ndarray | None = None,
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
    n_se : float
        How many standard errors.
    unit : ndarray of shape (R,), optional
        What counts as one observation, where rows go together: the task of each row.
    """
    weights = weights / weights.sum()
    behind = by_row[best] - by_row
    if unit is not None:
        totals = np.bincount(unit, weights=weights)
        member = np.zeros((weights.size, totals.size))
        member[np.arange(weights.size), unit] = weights
        present = totals > 0
        behind = (behind @ member)[:, present] / totals[present]
        weights = totals[present]
    mean = behind @ weights
    variance = (behind - mean[:, None]) ** 2 @ weights
    # Σw² is 1/n for equal weights
    error = np.sqrt(variance * np.square(weights).sum())
    near = mean <= n_se * error
    near[best] = True
    return near / near.sum()


def combination_weights(
    rule: str,
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    by_row: np.ndarray,
    row_weights: np.ndarray,
    best: int,
    task: np.ndarray | None = None,
) -> np.ndarray:
    """Return the weight of each grid point under a rule of :data:`RULES`.

    With `task`, the task of each row, standard errors are over tasks: rows of one task are wrong
    together, so that rows would count as more evidence than they are. One standard error instead
    of two then, since there are few tasks.
    """
    if rule == "stack":
        mix = stack_weights(scores, targets, weights)
        if mix.any():
            return mix
    elif rule == "within_se":
        if task is not None and np.unique(task).size >= MIN_TASKS:
            return within_se_weights(by_row, row_weights, best, n_se=1.0, unit=task)
        return within_se_weights(by_row, row_weights, best)
    return np.eye(scores.shape[0])[best]
