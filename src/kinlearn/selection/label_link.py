"""Links from scores to probabilities of many labels: one for all, and each its own near it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from kinlearn.posterior import SHRINKAGE, Link, fit_common_beta, shrunk_beta, smooth
from kinlearn.selection.link import (
    GAMMA_PRECISION,
    MANY_COPIES,
    SHIFT_PRECISION,
    calibrating_link,
)

Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, targets and weights of a label's rows
FINELY: dict[str, Any] = {
    "method": "L-BFGS-B",
    "options": {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9},
}


def label_links(
    blocks: list[Block],
    n_smooth: float,
    repeated: float,
    balances: list[np.ndarray] | None = None,
) -> tuple[Link, list[Link]]:
    """Return the link of all labels together, and one for each label, shrunk towards it.

    A label's own link has β and γ times the same number e^r, for which
    ``Σ_i w_i ℓ(p(q_i), t_i) + 10/2 · r²`` is least: the sum is a log-likelihood, and a label seen
    in few rows stays near the common link. A single label has the link of a task.

    Parameters
    ----------
    blocks : list of (scores, targets, weights)
        Of shapes (n, c), (n, c) and (n,), of every label's observed rows.
    n_smooth : float
        The n of the smoothing.
    repeated : float
        Share of the rows that have another copy of their class.
    balances : list of ndarrays of shape (c,), optional
        Factors of the classes of each label in the fit: each label's link then has a shift.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.label_link import label_links
    >>> rng = np.random.default_rng(0)
    >>> q = np.tile([0.8, 0.2], (200, 1))
    >>> sure, unsure = (np.eye(2)[(rng.random(200) < p).astype(int)] for p in (0.05, 0.45))
    >>> common, (first, second) = label_links(
    ...     [(q, sure, np.ones(200)), (q, unsure, np.ones(200))], 200, repeated=0.0)
    >>> bool(first.beta > common.beta > second.beta)
    True
    """
    if len(blocks) == 1:
        own = None if balances is None else balances[0]
        link = calibrating_link(*blocks[0], n_smooth, repeated, own)
        return link, [link]
    many = repeated >= MANY_COPIES
    if not many and balances is None:
        beta = fit_common_beta(joined(blocks), n_smooth)
        return Link(beta), [Link(shrunk_beta(*block, beta, n_smooth)) for block in blocks]
    links = _common_links(blocks, n_smooth, many, balances)
    common = Link(links[0].beta, links[0].gamma, links[0].floor)
    return common, [
        _own_link(block, link, n_smooth, None if balances is None else balances[t])
        for t, (block, link) in enumerate(zip(blocks, links, strict=True))
    ]


def joined(blocks: list[Block]) -> list[Block]:
    """Join labels of equally many classes, so that few large blocks are left."""
    sizes = sorted({q.shape[1] for q, _, _ in blocks})
    groups = [[block for block in blocks if block[0].shape[1] == size] for size in sizes]
    return [tuple(np.concatenate(part) for part in zip(*group, strict=True)) for group in groups]  # type: ignore[misc]


def _common_links(
    blocks: list[Block], n_smooth: float, many: bool, balances: list[np.ndarray] | None
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

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
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


def _own_link(block: Block, common: Link, n_smooth: float, balance: np.ndarray | None) -> Link:
    """The link of one label among many, from where all labels have theirs."""
    scores, targets, weights = block
    logits = common.beta * scores
    if common.gamma:
        logits = logits + common.gamma * np.log(np.maximum(scores, common.floor))
    if not np.any(logits) or not weights.sum() > 0.0:
        return common
    targets, total = smooth(targets, n_smooth), float(weights.sum())
    centre = np.empty(0) if balance is None else np.log(balance).mean() - np.log(balance)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
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
