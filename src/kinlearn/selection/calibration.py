"""From held-out scores to a calibrated posterior: classes, or many labels near a common link."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from kinlearn.posterior import Calibration, Link, uncalibrated
from kinlearn.selection.class_scales import class_scales
from kinlearn.selection.held_out import HeldOut, LabelTargets
from kinlearn.selection.links import (
    GAMMA_PRECISION,
    SHIFT_PRECISION,
    SHRINKAGE,
    Block,
    calibrating_link,
    fit_common_beta,
    joined,
    shrunk_beta,
    smooth,
)
from kinlearn.selection.task_scales import fit_task_scales

Array: TypeAlias = NDArray[np.float64]
FINELY: dict[str, Any] = {
    "method": "L-BFGS-B",
    "options": {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9},
}


def calibrate(
    scores: Array,
    rows: HeldOut,
    by_class: bool = False,
    near: Calibration | None = None,
) -> Calibration:
    """Calibrate held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (R, K)
        Held-out scores.
    rows : HeldOut
        What they speak of; log-odds are calibrated as they are. Where they lean by a class weight,
        as decisions are meant to, links bring probabilities back to the prevalence of the data.
    by_class : bool, default=False
        Whether each class has a scale and an offset of its own, and each task, where tasks are
        unlike; not with a class weight, nor where rows repeat: their scores are frequencies, and
        the link is learnt instead.
    near : Calibration, optional
        That of nearly the same rows, from which fewer steps lead to this one.
    """
    layout, zero, balance = rows.layout, np.zeros(scores.shape[1]), rows.balance
    if rows.beta is not None:
        return uncalibrated(layout, scores.shape[1], rows.beta)
    start = None if near is None else float(near.common.beta)
    common, links = label_links(rows, scores, balance, start)
    if not by_class or balance is not None or rows.many_copies:
        return Calibration(layout, common, links, None, zero)
    found = [
        class_scales(*block, float(link.beta), rows.n_smooth)
        for block, link in zip(rows.blocks(scores), links, strict=True)
    ]
    scales, offsets, betas = zip(*found, strict=True)
    if layout.n_labels == 1:
        common = Link(betas[0])
    offset = layout.offset_columns(list(offsets), scores.shape[1])
    calibration = Calibration(layout, common, tuple(map(Link, betas)), list(scales), offset)
    return calibration if rows.n_tasks == 1 else _by_task(calibration, scores, rows)


def _by_task(common: Calibration, scores: Array, rows: HeldOut) -> Calibration:
    """The same with a scale and an offset for each task, where tasks are unlike."""
    (q, z, weights), unit = rows.blocks(scores)[0], float(common.links[0].beta)
    assert rows.task is not None
    assert common.scales is not None
    start = common.scales[0] * unit, common.offset * unit
    found = fit_task_scales(
        q, z, weights, rows.task, rows.n_tasks, start, float(start[0].mean()), rows.n_smooth
    )
    if found is None:
        return common
    a, b, task_scales, own = (values / unit for values in found)
    return replace(
        common, scales=[a], offset=b, task_scales=task_scales * unit, task_offsets=b + own
    )


def label_links(
    rows: LabelTargets,
    scores: Array,
    balances: list[Array] | None = None,
    start: float | None = None,
) -> tuple[Link, tuple[Link, ...]]:
    """Return the link of all labels together, and one for each label, shrunk towards it.

    A label's own link has β and γ times the same number e^r, for which
    ``Σ_i w_i ℓ(p(q_i), t_i) + 10/2 · r²`` is least: the sum is a log-likelihood, and a label seen
    in few rows stays near the common link. A single label, such as classes, has its own alone.

    Parameters
    ----------
    rows : LabelTargets
        What the scores speak of.
    scores : ndarray of shape (R, K)
        Held-out scores.
    balances : list of ndarrays of shape (c,), optional
        Factors of the classes of each label in the fit: each label's link then has a shift.
    start : float, optional
        A common beta near the one sought.
    """
    blocks, n_smooth, many = rows.blocks(scores), rows.n_smooth, rows.many_copies
    if len(blocks) == 1:
        own = None if balances is None else balances[0]
        link = calibrating_link(*blocks[0], n_smooth, rows.repeated, own, start)
        return link, (link,)
    if not many and balances is None:
        beta = fit_common_beta(joined(blocks), n_smooth, start=start)
        own_betas = [shrunk_beta(*block, beta, n_smooth) for block in blocks]
        return Link(beta), tuple(map(Link, own_betas))
    found = _common_links(blocks, n_smooth, many, balances)
    common = Link(found[0].beta, found[0].gamma, found[0].floor)
    return common, tuple(
        _own_link(block, link, n_smooth, None if balances is None else balances[t])
        for t, (block, link) in enumerate(zip(blocks, found, strict=True))
    )


def _common_links(
    blocks: list[Block], n_smooth: float, many: bool, balances: list[Array] | None
) -> list[Link]:
    """Links of one β and γ for all labels, each label with its own shift."""
    floor = 1.0 / (n_smooth + 1.0)
    if balances is None:  # without shifts, labels of equally many classes are one block
        own_blocks = joined(blocks)
        centres = [np.empty(0)] * len(own_blocks)
    else:
        own_blocks = blocks
        centres = [np.log(balance).mean() - np.log(balance) for balance in balances]
    centred = [q - q.mean(axis=1, keepdims=True) for q, _, _ in own_blocks]
    reach = max(float(np.abs(q).max(initial=0.0)) for q in centred)
    reach = max(reach, np.finfo(np.float64).tiny)
    prepared = []
    for q, (raw, z, w) in zip(centred, own_blocks, strict=True):
        directions = [q / reach, *([np.log(np.maximum(raw, floor))] if many else [])]
        prepared.append((np.stack(directions), smooth(z, n_smooth), w))
    n_linear = 2 if many else 1
    edges = np.cumsum([n_linear, *(centre.size for centre in centres)])
    prior = np.concatenate([np.zeros(n_linear), *centres])
    precision = np.concatenate(
        [
            np.array([0.0, GAMMA_PRECISION])[:n_linear],
            np.full(edges[-1] - n_linear, SHIFT_PRECISION),
        ]
    )
    total = sum(float(w.sum()) for _, _, w in prepared)

    def objective(x: Array) -> tuple[float, Array]:
        away = precision * (x - prior)
        value, gradient = 0.5 * float(away @ (x - prior)), away
        for (linear, z, w), begin, end in zip(prepared, edges[:-1], edges[1:], strict=True):
            logits = np.tensordot(x[:n_linear], linear, axes=1)
            if end > begin:
                logits = logits + x[begin:end]
            error = w[:, None] * (softmax(logits, axis=1) - z)
            value -= float(w @ np.einsum("nc,nc->n", z, log_softmax(logits, axis=1)))
            gradient[:n_linear] += np.einsum("knc,nc->k", linear, error)
            if end > begin:
                gradient[begin:end] += error.sum(axis=0)
        return value / total, gradient / total

    bounds = [(0.0, None)] * n_linear + [(None, None)] * (prior.size - n_linear)
    start = prior.copy()
    start[0] = 1.0
    x = minimize(objective, start, jac=True, bounds=bounds, **FINELY).x
    beta, gamma = float(x[0]) / reach, float(x[1]) if many else 0.0
    if balances is None:
        return [Link(beta, gamma, floor)] * len(blocks)
    return [Link(beta, gamma, floor, x[a:b] - x[a:b].mean()) for a, b in pairwise(edges)]


def _own_link(block: Block, common: Link, n_smooth: float, balance: Array | None) -> Link:
    """The link of one label among many, from where all labels have theirs."""
    scores, targets, weights = block
    logits = common.beta * scores
    if common.gamma:
        logits = logits + common.gamma * np.log(np.maximum(scores, common.floor))
    if not np.any(logits) or not weights.sum() > 0.0:
        return common
    targets, total = smooth(targets, n_smooth), float(weights.sum())
    centre = np.empty(0) if balance is None else np.log(balance).mean() - np.log(balance)

    def objective(x: Array) -> tuple[float, Array]:
        grown = np.exp(x[0]) * logits
        moved = grown + x[1:] if centre.size else grown
        error = weights[:, None] * (softmax(moved, axis=1) - targets)
        away = x[1:] - centre
        value = -float(weights @ np.einsum("nc,nc->n", targets, log_softmax(moved, axis=1)))
        value += 0.5 * (SHIFT_PRECISION * float(away @ away) + SHRINKAGE * x[0] ** 2)
        shift = error.sum(axis=0) + SHIFT_PRECISION * away if centre.size else away
        gradient = np.append(np.sum(error * grown) + SHRINKAGE * x[0], shift)
        return value / total, gradient / total

    start = np.append(0.0, np.broadcast_to(common.shift, centre.shape))
    bounds = [(-4.0, 4.0)] + [(None, None)] * centre.size
    x = minimize(objective, start, jac=True, bounds=bounds, **FINELY).x
    grown = float(np.exp(x[0]))
    shift = x[1:] - x[1:].mean() if centre.size else 0.0
    return Link(common.beta * grown, common.gamma * grown, common.floor, shift)
