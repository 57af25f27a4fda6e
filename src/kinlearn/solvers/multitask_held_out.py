"""Held-out scores of the multi-task dual in closed form, centres kept.

Leaving out the rows of a block B from (B + ρD⁻¹) a = Z changes nothing else in the system, so

    q_B = Z_B - ((M⁻¹)_BB)⁻¹ (M⁻¹Z)_B,     M = B + ρD⁻¹,   ρ = reg·N_train/T

with N_train the weight of the rows that stay, and for a single row q_i = z_i - (M⁻¹Z)_i/(M⁻¹)_ii.
The number of tasks T and the centres stay as they are, also where a task loses its last row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.multitask_dual import TaskSpectrum, filters, inverse_with_diagonal, ridges

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


def leave_blocks_out(
    found: TaskSpectrum, targets: Array, regs: Array, n_tasks: int, blocks: Sequence[Index]
) -> Array:
    """Scores of every row with its block (fold or group) left out, for every reg.

    Rows in no block keep NaN. Shape (n_regs, n, c).
    """
    root = found.root_weights
    held = np.full((len(regs), *targets.shape), np.nan)
    rotated = found.vectors.T @ (root[:, None] * targets)
    total = float((root**2).sum())
    for block in blocks:
        remaining = total - float((root[block] ** 2).sum())
        if remaining <= 0.0:
            held[:, block] = 0.0  # Nothing is left to learn from: the model without data scores 0.
            continue
        ridge = safe_ridges(found, ridges(regs, remaining, n_tasks))
        filtered = filters(found.values, ridge)
        rows = found.vectors[block]
        for r in range(len(regs)):
            inner = (rows * filtered[:, r]) @ rows.T
            outer = rows @ (filtered[:, r, None] * rotated)
            held[r, block] = targets[block] - np.linalg.solve(inner, outer) / root[block, None]
    return held


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
