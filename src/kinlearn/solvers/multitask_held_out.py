"""Held-out scores of the multi-task dual in closed form, centres kept.

Leaving out the rows of a block B from (B + ρD⁻¹) a = Z changes nothing else in the system, so

    q_B = Z_B - ((M⁻¹)_BB)⁻¹ (M⁻¹Z)_B,     M = B + ρD⁻¹,   ρ = reg·N_train/T

with N_train the weight of the rows that stay, and for a single row q_i = z_i - (M⁻¹Z)_i/(M⁻¹)_ii.
The number of tasks T and the centres stay as they are, also where a task loses its last row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.multitask_dual import TaskSpectrum, filters, inverse_with_diagonal, ridges
from kinlearn.solvers.splits import Splits

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def loo_weight(weights: Array) -> float:
    """N_train of leave-one-out: Σw·(n-1)/n for every row, exact for equal weights."""
    n = len(weights)
    return float(weights.sum()) * max(n - 1, 1) / n


def leave_one_out(found: TaskSpectrum, targets: Array, regs: Array, n_tasks: int) -> Array:
    """Scores of every row with that row left out, for every reg; shape (n_regs, n, c).

    Parameters
    ----------
    found : TaskSpectrum
        Eigendecomposition of D½BD½.
    targets : array of shape (n, c)
        Z, one-hot or the weighted means of merged rows.
    regs : array of shape (n_regs,)
        Regularisation strengths.
    n_tasks : int
        T.
    """
    n, n_classes = targets.shape
    root = found.root_weights
    ridge = safe_ridges(found, ridges(regs, loo_weight(root**2), n_tasks))
    filtered = filters(found.values, ridge)
    rotated = found.vectors.T @ (root[:, None] * targets)
    scaled = filtered[:, :, None] * rotated[:, None, :]
    numerator = (found.vectors @ scaled.reshape(n, -1)).reshape(n, len(ridge), n_classes)
    diagonal = (found.vectors**2) @ filtered
    held = targets[:, None, :] - numerator / (root[:, None] * diagonal)[:, :, None]
    return np.moveaxis(held, 1, 0)


def held_out(
    found: TaskSpectrum, targets: Array, regs: Array, n_tasks: int, splits: Splits
) -> Array:
    """Scores of the rows a validation tests, for every reg; shape (n_regs, rows tested, c)."""
    if splits.leave_one_out:
        return leave_one_out(found, targets, regs, n_tasks)[:, splits.rows]
    scores = np.empty((len(regs), splits.n_rows_held_out, targets.shape[1]))
    rotated = found.vectors.T @ (found.root_weights[:, None] * targets)
    for out, removed, tested in splits:
        scores[:, out] = _leave_block_out(found, targets, rotated, regs, n_tasks, removed)[
            :, tested
        ]
    return scores


def _leave_block_out(
    found: TaskSpectrum, targets: Array, rotated: Array, regs: Array, n_tasks: int, block: Index
) -> Array:
    root = found.root_weights
    remaining = float((np.delete(root, block) ** 2).sum())
    if remaining <= 0.0:
        # Nothing is left to learn from: the model without data scores 0.
        return np.zeros((len(regs), len(block), targets.shape[1]))
    filtered = filters(found.values, safe_ridges(found, ridges(regs, remaining, n_tasks)))
    rows = found.vectors[block]
    scores = np.empty((len(regs), len(block), targets.shape[1]))
    for r in range(len(regs)):
        inner = (rows * filtered[:, r]) @ rows.T
        outer = rows @ (filtered[:, r, None] * rotated)
        scores[r] = targets[block] - np.linalg.solve(inner, outer) / root[block, None]
    return scores


def safe_ridges(found: TaskSpectrum, ridge: Array) -> Array:
    """Lift a ridge of exactly 0 to rounding level: the held-out limit, not a division by zero."""
    floor = len(found.values) * np.finfo(float).eps * max(float(found.values.max()), 1e-300)
    return np.where(ridge == 0.0, floor, ridge)


def leave_one_out_single(
    gram: Array, covariance: Array, task: Index, weights: Array, targets: Array, reg: float
) -> Array:
    """Leave-one-out scores for one reg > 0 by Cholesky, without an eigendecomposition."""
    ridge = float(ridges(np.array([reg]), loo_weight(weights), covariance.shape[0])[0])
    inverse = inverse_with_diagonal(gram, covariance, task, weights, ridge)
    return targets - (inverse @ targets) / np.diagonal(inverse)[:, None]
