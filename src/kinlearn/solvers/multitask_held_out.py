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
number of tasks T stays as it is, also where a task loses its last row. Where a row stands for
several copies and one of them is left out, row and centre stay with the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.held_out_copies import remaining, without_one_copy
from kinlearn.solvers.multitask_dual import (
    SpectrumPart,
    TaskSpectrum,
    filters,
    inverse,
    ridges,
)
from kinlearn.training.splits import Block, Leaving, Splits

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def held_out(
    found: TaskSpectrum,
    targets: Array,
    regs: Array,
    n_tasks: int,
    splits: Splits,
    own: Array | None = None,
    units: Array | None = None,
) -> Array:
    """Scores of the entries a validation tests, for every reg; shape (n_regs, entries, c).

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
    units : array of shape (U, c), optional
        Targets of the copies, where some of a row's leave alone.
    """
    total = float((found.root_weights**2).sum())
    if splits.leave_one_out:
        ridge = safe_ridges(found, ridges(regs, total * splits.kept_share, n_tasks))
        return _leave_one_out(found, targets, ridge, splits, own, units)
    scores = np.empty((len(regs), splits.n_rows_held_out, targets.shape[1]))
    for out, block in splits:
        leaves = found.root_weights[block.removed] ** 2
        if block.leaving is not None:
            leaves = leaves * block.leaving.share
        ridge = safe_ridges(found, ridges(regs, total - float(leaves.sum()), n_tasks))
        everything = block.leaving is None and len(block.removed) == len(found.root_weights)
        held = np.zeros((len(regs), len(block.removed), targets.shape[1]))
        if not everything:  # else the model without data scores 0
            for part in found.parts:
                at = np.flatnonzero(np.isin(block.removed, part.rows, assume_unique=True))
                if at.size:
                    held[:, at] = _leave_block_out(
                        part, found.root_weights, targets, ridge, _some_of(block, at), own, units
                    )
        scores[:, out] = held[:, block.tested]
    return scores


def _some_of(block: Block, at: Index) -> Block:
    """The part of a block that consists of some of its rows."""
    leaving = block.leaving
    if leaving is not None:
        leaving = Leaving(leaving.share[at], leaving.copies[at])
    return Block(block.removed[at], np.arange(at.size), leaving)


def _leave_one_out(
    found: TaskSpectrum,
    targets: Array,
    ridge: Array,
    splits: Splits,
    own: Array | None,
    units: Array | None,
) -> Array:
    n, n_classes = targets.shape
    leaving = splits.leaving
    if leaving is None:
        scores = np.empty((len(ridge), n, n_classes))
        for part in found.parts:
            scores[:, part.rows] = _leave_rows_out(part, found.root_weights, targets, ridge, own)
        return scores[:, splits.rows]
    assert units is not None
    scores = np.empty((len(ridge), splits.n_rows_held_out, n_classes))
    leaves = leaving.targets(units)
    place = np.empty(n, dtype=np.intp)
    for part in found.parts:
        place[part.rows] = np.arange(len(part.rows))
        inside = np.isin(splits.rows, part.rows)
        fitted, leverage = _fitted(part, found.root_weights, targets, ridge)
        some = np.flatnonzero(inside & ~leaving.whole)
        at = place[splits.rows[some]]
        scores[:, some] = without_one_copy(
            fitted[:, at], leverage[:, at], leaving.share[some], leaves[some]
        )
        whole = np.flatnonzero(inside & leaving.whole)
        if whole.size:
            held = _leave_rows_out(part, found.root_weights, targets, ridge, own)
            scores[:, whole] = held[:, place[splits.rows[whole]]]
    return scores


def _fitted(
    part: SpectrumPart, root_weights: Array, targets: Array, ridge: Array
) -> tuple[Array, Array]:
    """Scores of the rows themselves, (n_regs, n, c), and their leverages, (n_regs, n)."""
    root = root_weights[part.rows, None]
    shrunk = 1.0 - ridge * filters(part.values, ridge)
    scaled = shrunk[:, :, None] * (part.vectors.T @ (root * targets[part.rows]))[:, None, :]
    product = part.vectors @ scaled.reshape(len(part.rows), -1)
    fitted = (product / root).reshape(len(part.rows), len(ridge), -1)
    return np.moveaxis(fitted, 1, 0), (np.square(part.vectors) @ shrunk).T


def _leave_rows_out(
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
    block: Block,
    own: Array | None,
    units: Array | None,
) -> Array:
    """Scores of a block's rows in one part.

    Where a share s of a row's weight leaves, D⁻¹ grows there and z becomes z'. In the coordinates
    of D½, T = diag((1-s)/s)/ρ and G the block of the inverse, as in
    :func:`~kinlearn.solvers.held_out_copies.without_block`: ``λ = (T + G)⁻¹(x + G D^½(z' - z))``,
    ``q = z' - D^(-½)λ/s``.
    """
    root = root_weights[part.rows, None]
    at = np.searchsorted(part.rows, block.removed)
    size, Z = len(at), targets[block.removed]
    left, share, diagonal = Z, np.ones((size, 1)), np.zeros(size)
    gone = np.arange(size)
    if block.leaving is not None:
        assert units is not None
        left, share, diagonal = remaining(Z, block.leaving, units)
        gone = np.flatnonzero(block.leaving.whole)
    filtered = filters(part.values, ridge)
    rotated = part.vectors.T @ (root * targets[part.rows])
    rows = part.vectors[at]
    A = None if own is None else part.vectors.T @ _own_part(part, root, own)[:, at[gone]]
    scores = np.empty((len(ridge), size, targets.shape[1]))
    for r in range(len(ridge)):
        f = filtered[:, r, None]
        inner = (rows * f.T) @ rows.T
        outer = rows @ (f * rotated)
        if A is not None and gone.size:
            # Woodbury: (M - V_B V_Bᵀ)⁻¹ = M⁻¹ + M⁻¹V_B (I - V_BᵀM⁻¹V_B)⁻¹ V_BᵀM⁻¹
            across = rows @ (f * A)
            small = np.eye(gone.size) - A.T @ (f * A)
            gained = np.linalg.solve(small, np.hstack([across.T, A.T @ (f * rotated)]))
            inner += across @ gained[:, :size]
            outer += across @ gained[:, size:]
        outer += inner @ (root[at] * (left - Z))
        inner.flat[:: size + 1] += diagonal / ridge[r]
        scores[r] = left - np.linalg.solve(inner, outer) / root[at] / share
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
    kept_share: float | None = None,
) -> Array:
    """Leave-one-out scores of whole rows for one reg > 0 by Cholesky, without decomposing.

    `kept_share` is the share of all weight that remains, (n-1)/n when left out.
    """
    n = len(weights)
    kept_share = max(n - 1, 1) / n if kept_share is None else kept_share
    total = float(weights.sum()) * kept_share
    ridge = float(ridges(np.array([reg]), total, covariance.shape[0])[0])
    M_inverse = inverse(gram, covariance, task, weights, ridge)
    u = M_inverse @ targets
    denominator = np.diagonal(M_inverse)[:, None]
    if own is None:
        return targets - u / denominator
    G = M_inverse @ own
    rest = 1.0 - np.einsum("ni,ni->i", own, G)[:, None]
    g = np.diagonal(G)[:, None]
    return targets - (u * rest + g * (own.T @ u)) / (denominator * rest + g**2)
