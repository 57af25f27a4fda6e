"""A scale and an offset for each class, on top of the one number that calibrates a mix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from kinlearn.posterior import SHRINKAGE, smooth
from kinlearn.selection.refine import newton_aim

MAX_STEPS = 50
# Steps end when the objective, a sum over rows, falls by less than this.
SMALL_GAIN = 1e-9
# Precisions of the normal priors, scales around beta and offsets around zero; a third of these
# and three times as much measured alike.
SCALE_PRECISION, OFFSET_PRECISION = 0.3, 3.0
Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, targets and weights of some rows
FINELY: dict[str, Any] = {
    "method": "L-BFGS-B",
    "options": {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9},
}


def class_calibration(
    scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, beta: float, n_smooth: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (a, b, β) such that ``softmax(β·(a∘q + b))`` is calibrated class by class.

    Scores stay on the scale of probabilities: β is the one given, or 1 where it is 0 because the
    scores tell nothing, and only the offsets are left.
    """
    scales, offsets = fit_class_calibration(scores, targets, weights, beta, n_smooth)
    unit = beta if beta > 0.0 else 1.0
    return scales / unit, offsets / unit, unit


def fit_class_calibration(
    scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, beta: float, n_smooth: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return scales a and offsets b of ``softmax(a∘q + b)``, not far from β and zero.

    ``min Σ_i w_i ℓ(softmax(a∘q_i + b), t_i) + 0.15 ||a - β||² + 1.5 ||b||²`` over a ≥ 0, targets
    smoothed as for β. The sum is a log-likelihood and the rest normal priors around
    ``softmax(β·q)``, which prevail when rows are few. No scale is negative: a class never becomes
    likelier where its score falls. Convex; Newton steps, each a small non-negative problem.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        Held-out scores.
    targets : ndarray of shape (n, c)
        One-hot rows, or weighted means of such.
    weights : ndarray of shape (n,)
        Numbers of copies.
    beta : float
        Calibration of all classes together.
    n_smooth : float
        The n of the smoothing.

    Returns
    -------
    scales, offsets : ndarray of shape (c,)
        Offsets add up to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.class_calibration import fit_class_calibration
    >>> scores, targets = np.zeros((100, 2)), np.eye(2)[[0] * 90 + [1] * 10]
    >>> scales, offsets = fit_class_calibration(scores, targets, np.ones(100), 1.0, 100)
    >>> bool(offsets[0] > 0.5), scales
    (True, array([1., 1.]))
    """
    n_classes = scores.shape[1]
    targets = smooth(targets, n_smooth)
    prior = np.concatenate([np.full(n_classes, beta), np.zeros(n_classes)])
    precision = np.repeat([SCALE_PRECISION, OFFSET_PRECISION], n_classes)
    scale, offset = np.arange(n_classes), np.arange(n_classes, 2 * n_classes)

    def logits(x: np.ndarray) -> np.ndarray:
        return x[:n_classes] * scores + x[n_classes:]

    def objective(x: np.ndarray) -> float:
        losses = -np.einsum("nc,nc->n", targets, log_softmax(logits(x), axis=1))
        return float(weights @ losses + 0.5 * precision @ np.square(x - prior))

    x, value = prior, objective(prior)
    for _ in range(MAX_STEPS):
        p = softmax(logits(x), axis=1)
        error, shares = weights[:, None] * (p - targets), weights[:, None] * p
        gradient = np.concatenate([(error * scores).sum(axis=0), error.sum(axis=0)])
        gradient += precision * (x - prior)
        # the Hessian is Σ w (diag(p) - ppᵀ) between the derivatives (q_c, 1) of each class's logit
        mean = np.concatenate([p * scores, p], axis=1)
        hessian = -(mean * weights[:, None]).T @ mean
        hessian[scale, scale] += (shares * scores**2).sum(axis=0)
        hessian[offset, offset] += shares.sum(axis=0)
        hessian[scale, offset] += (shares * scores).sum(axis=0)
        hessian[offset, scale] = hessian[scale, offset]
        hessian[np.diag_indices_from(hessian)] += precision
        aim = newton_aim(hessian, gradient, x, n_classes)
        step = 1.0
        while (fresh := objective(x + step * (aim - x))) > value and step > 1e-6:
            step *= 0.5
        if value - fresh <= SMALL_GAIN:
            break
        x, value = x + step * (aim - x), fresh
    return x[:n_classes], x[n_classes:] - x[n_classes:].mean()


def fit_shift(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    balance: np.ndarray,
    n_smooth: float,
) -> tuple[float, np.ndarray]:
    """Return (β, s) of ``softmax(β·q + s)`` for scores that a class weight has made lean.

    ``min Σ_i w_i ℓ(softmax(β·q_i + s), t_i) + 1.5 ||s + log(balance)||²`` over β ≥ 0, targets
    smoothed as for β alone: probabilities are back at the prevalence of the data. Of the log-odds
    of a model fitted to weighted classes, -log(balance) is what brings them back.

    Parameters
    ----------
    scores, targets, weights, n_smooth
        As in :func:`fit_class_calibration`.
    balance : ndarray of shape (c,)
        Factor of each class in the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.class_calibration import fit_shift
    >>> targets = np.eye(2)[[0] * 90 + [1] * 10]
    >>> beta, shift = fit_shift(np.zeros((100, 2)), targets, np.ones(100), np.array([5/9, 5]), 100)
    >>> bool(abs(shift[1] - shift[0] - np.log(1 / 9)) < 0.1)
    True
    """
    beta, shifts = fit_common_shift([(scores, targets, weights)], [balance], n_smooth)
    return beta, shifts[0]


def fit_common_shift(
    blocks: list[Block], balances: list[np.ndarray], n_smooth: float
) -> tuple[float, list[np.ndarray]]:
    """Return the one β of several blocks of rows, such as labels, and a shift for each of them.

    The objective is the sum of those of :func:`fit_shift`.

    Parameters
    ----------
    blocks : list of (scores, targets, weights)
        Of shapes (n, c), (n, c) and (n,) each.
    balances : list of ndarrays of shape (c,)
        Factors of the classes.
    n_smooth : float
        The n of the smoothing.
    """
    centred = [q - q.mean(axis=1, keepdims=True) for q, _, _ in blocks]
    reach = max(float(np.abs(q).max(initial=0.0)) for q in centred)
    reach = max(reach, np.finfo(np.float64).tiny)
    prepared = [
        (q / reach, smooth(z, n_smooth), w) for q, (_, z, w) in zip(centred, blocks, strict=True)
    ]
    centres = [np.log(balance).mean() - np.log(balance) for balance in balances]
    edges = np.cumsum([1, *(centre.size for centre in centres)])
    total = sum(float(w.sum()) for _, _, w in prepared)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.0, np.zeros_like(x)
        for t, ((q, z, w), centre) in enumerate(zip(prepared, centres, strict=True)):
            own = slice(edges[t], edges[t + 1])
            logits = x[0] * q + x[own]
            error = w[:, None] * (softmax(logits, axis=1) - z)
            away = x[own] - centre
            value -= float(w @ np.einsum("nc,nc->n", z, log_softmax(logits, axis=1)))
            value += 0.5 * OFFSET_PRECISION * float(away @ away)
            gradient[0] += np.sum(error * q)
            gradient[own] = error.sum(axis=0) + OFFSET_PRECISION * away
        return value / total, gradient / total

    start = np.concatenate([[1.0], *centres])
    bounds = [(0.0, None)] + [(None, None)] * (start.size - 1)
    x = minimize(objective, start, jac=True, bounds=bounds, **FINELY).x
    shifts = [x[a:b] - x[a:b].mean() for a, b in pairwise(edges)]
    return float(x[0]) / reach, shifts


def fit_own_shift(
    block: Block, balance: np.ndarray, common: float, shift: np.ndarray, n_smooth: float
) -> tuple[float, np.ndarray]:
    """Return β and shift of one label among many, β near the one that all have in common.

    The objective is that of :func:`fit_shift` plus ``10/2 · (log β - log common)²``, as for labels
    without a shift (:func:`kinlearn.posterior.shrunk_beta`).

    Parameters
    ----------
    block : tuple of (scores, targets, weights)
        Of the label.
    balance : ndarray of shape (c,)
        Factors of its classes.
    common : float
        The β of all labels; where it is 0, it and `shift` are returned.
    shift : ndarray of shape (c,)
        The label's shift under that β, to start from.
    n_smooth : float
        The n of the smoothing.
    """
    scores, targets, weights = block
    if not common > 0.0 or not weights.sum() > 0.0:
        return common, shift
    scaled, targets = common * scores, smooth(targets, n_smooth)
    centre = np.log(balance).mean() - np.log(balance)
    total = float(weights.sum())

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        grown = np.exp(x[0]) * scaled
        logits = grown + x[1:]
        error = weights[:, None] * (softmax(logits, axis=1) - targets)
        away = x[1:] - centre
        value = -float(weights @ np.einsum("nc,nc->n", targets, log_softmax(logits, axis=1)))
        value += 0.5 * (OFFSET_PRECISION * float(away @ away) + SHRINKAGE * x[0] ** 2)
        gradient = np.append(
            np.sum(error * grown) + SHRINKAGE * x[0],
            error.sum(axis=0) + OFFSET_PRECISION * away,
        )
        return value / total, gradient / total

    bounds = [(-4.0, 4.0)] + [(None, None)] * centre.size
    x = minimize(objective, np.append(0.0, shift), jac=True, bounds=bounds, **FINELY).x
    return common * float(np.exp(x[0])), x[1:] - x[1:].mean()
