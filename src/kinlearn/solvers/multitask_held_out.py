"""Held-out scores of the multi-task dual in closed form.

Leaving out the rows of a block B from M a = Z, M = C[t, t'] ∘ (Phi Phiᵀ) + ρD⁻¹ with
ρ = reg·N_train/T, changes nothing else in the system, so that

    q_B = Z_B - ((M⁻¹)_BB)⁻¹ (M⁻¹Z)_B        and for one row    q_i = z_i - (M⁻¹Z)_i/(M⁻¹)_ii .

Where every row is a centre, a row that is left out must not help to predict itself as a centre
either: with its centre kept, regularisation is chosen too strong and probabilities come out too
timid. Holding the coefficient of centre i in task t_i at zero takes M to M - v_i v_iᵀ
(:func:`~kinlearn.solvers.multitask_dual.own_features`), and Sherman and Morrison's formula gives,
with g = M⁻¹v_i, α = v_iᵀg and u = M⁻¹Z,

    q_i = z_i - (u_i (1-α) + g_i v_iᵀu) / ((M⁻¹)_ii (1-α) + g_i²) .

At sharing = 0 and 1, and with one task, this is leave-one-out with row and centre removed. The
number of tasks T stays as it is, also where a task loses its last row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.multitask_dual import (
    SpectrumPart,
    TaskSpectrum,
    filters,
    inverse,
    ridges,
)
from kinlearn.solvers.splits import Splits

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def loo_weight(weights: Array) -> float:
    """N_train of leave-one-out: Σw·(n-1)/n for every row, exact for equal weights."""
    n = len(weights)
    return float(weights.sum()) * max(n - 1, 1) / n


def held_out(
    found: TaskSpectrum,
    targets: Array,
    regs: Array,
    n_tasks: int,
    splits: Splits,
    own: Array | None = None,
) -> Array:
    """Scores of the rows a validation tests, for every reg; shape (n_regs, rows tested, c).

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
    splits : Splits
        What is left out together.
    own : array of shape (n, n), optional
        Columns v_i, where rows are centres; None keeps all centres.
    """
    if splits.leave_one_out:
        return leave_one_out(found, targets, regs, n_tasks, own)[:, splits.rows]
    scores = np.empty((len(regs), splits.n_rows_held_out, targets.shape[1]))
    total = float((found.root_weights**2).sum())
    for out, removed, tested in splits:
        remaining = total - float((found.root_weights[removed] ** 2).sum())
        ridge = safe_ridges(found, ridges(regs, remaining, n_tasks))
        block = np.zeros((len(regs), len(removed), targets.shape[1]))
        if len(removed) < len(found.root_weights):  # else the model without data scores 0
            for part in found.parts:
                at = np.flatnonzero(np.isin(removed, part.rows, assume_unique=True))
                if at.size:
                    block[:, at] = _leave_block_out(
                        part, found.root_weights, targets, ridge, removed[at], own
                    )
        scores[:, out] = block[:, tested]
    return scores


def leave_one_out(
    found: TaskSpectrum, targets: Array, regs: Array, n_tasks: int, own: Array | None = None
) -> Array:
    """Scores of every row with that row left out, for every reg; shape (n_regs, n, c)."""
    n, n_classes = targets.shape
    ridge = safe_ridges(found, ridges(regs, loo_weight(found.root_weights**2), n_tasks))
    scores = np.empty((len(regs), n, n_classes))
    for part in found.parts:
        scores[:, part.rows] = _leave_one_out_part(part, found.root_weights, targets, ridge, own)
    return scores


def _leave_one_out_part(
    part: SpectrumPart, root_weights: Array, targets: Array, ridge: Array, own: Array | None
) -> Array:
    Z, root = targets[part.rows], root_weights[part.rows, None]
    n, n_classes = Z.shape
    V, filtered = part.vectors, filters(part.values, ridge)
    scaled = filtered[:, :, None] * (V.T @ (root * Z))[:, None, :]
    scaled = scaled.reshape(n, -1)
    numerator = (V @ scaled).reshape(n, len(ridge), n_classes)
    denominator = (V**2) @ filtered
    if own is not None:
        A = V.T @ _own_part(part, root, own)
        g = (V * A.T) @ filtered
        numerator_own = (A.T @ scaled).reshape(n, len(ridge), n_classes)
        rest = 1.0 - np.square(A, out=A).T @ filtered
        numerator *= rest[:, :, None]
        numerator_own *= g[:, :, None]
        numerator += numerator_own
        denominator *= rest
        denominator += g**2
    held = Z[:, None, :] - numerator / (root * denominator)[:, :, None]
    return np.moveaxis(held, 1, 0)


def _leave_block_out(
    part: SpectrumPart,
    root_weights: Array,
    targets: Array,
    ridge: Array,
    block: Index,
    own: Array | None,
) -> Array:
    root = root_weights[part.rows, None]
    at = np.searchsorted(part.rows, block)
    filtered = filters(part.values, ridge)
    rotated = part.vectors.T @ (root * targets[part.rows])
    rows = part.vectors[at]
    A = None if own is None else part.vectors.T @ _own_part(part, root, own)[:, at]
    scores = np.empty((len(ridge), len(block), targets.shape[1]))
    for r in range(len(ridge)):
        f = filtered[:, r, None]
        inner = (rows * f.T) @ rows.T
        outer = rows @ (f * rotated)
        if A is not None:
            # Woodbury: (M - V_B V_Bᵀ)⁻¹ = M⁻¹ + M⁻¹V_B (I - V_BᵀM⁻¹V_B)⁻¹ V_BᵀM⁻¹
            across = rows @ (f * A)
            small = np.eye(len(block)) - A.T @ (f * A)
            gained = np.linalg.solve(small, np.hstack([across.T, A.T @ (f * rotated)]))
            inner += across @ gained[:, : len(block)]
            outer += across @ gained[:, len(block) :]
        scores[r] = targets[block] - np.linalg.solve(inner, outer) / root[at]
    return scores


def _own_part(part: SpectrumPart, root: Array, own: Array) -> Array:
    columns = own if len(part.rows) == len(own) else own[np.ix_(part.rows, part.rows)]
    return columns if (root == 1.0).all() else root * columns


def safe_ridges(found: TaskSpectrum, ridge: Array) -> Array:
    """Lift a ridge of exactly 0 to rounding level: the held-out limit, not a division by zero."""
    floor = len(found.root_weights) * np.finfo(float).eps * max(found.largest, 1e-300)
    return np.where(ridge == 0.0, floor, ridge)


def leave_one_out_single(
    gram: Array,
    covariance: Array,
    task: Index,
    weights: Array,
    targets: Array,
    reg: float,
    own: Array | None = None,
) -> Array:
    """Leave-one-out scores for one reg > 0 by Cholesky, without an eigendecomposition."""
    ridge = float(ridges(np.array([reg]), loo_weight(weights), covariance.shape[0])[0])
    M_inverse = inverse(gram, covariance, task, weights, ridge)
    u = M_inverse @ targets
    denominator = np.diagonal(M_inverse)[:, None]
    if own is None:
        return targets - u / denominator
    G = M_inverse @ own
    rest = 1.0 - np.einsum("ni,ni->i", own, G)[:, None]
    g = np.diagonal(G)[:, None]
    return targets - (u * rest + g * (own.T @ u)) / (denominator * rest + g**2)
