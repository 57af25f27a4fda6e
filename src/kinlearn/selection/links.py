"""The link from scores to probabilities of one block of rows: one number, or what more it takes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from kinlearn.posterior import Link

Array: TypeAlias = NDArray[np.float64]
Block: TypeAlias = tuple[Array, Array, Array]  # scores, targets and weights of a label's rows

# Scores that differ by less tell nothing.
LEAST_SCALE = 1e-290
# Differences between the scores of a row of this size beside the scores themselves are of rounding.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
# How firmly a label's own beta stays near that of all labels: 3 to 30 measured alike.
SHRINKAGE = 10.0
# Precision of the normal prior of a class's shift around what its weight suggests.
SHIFT_PRECISION = 3.0
# Precision of the normal prior of γ around zero.
GAMMA_PRECISION = 0.3
# Where at least this share of rows has another copy, scores are frequencies rather than guesses.
MANY_COPIES = 0.5


def calibrating_link(
    scores: Array,
    targets: Array,
    weights: Array,
    n_smooth: float,
    repeated: float,
    balance: Array | None = None,
    start: float | None = None,
) -> Link:
    """Return the link that calibrates held-out scores: one beta, unless more is called for.

    Parameters
    ----------
    scores, targets, weights, n_smooth, balance
        As in :func:`fit_link`.
    repeated : float
        Share of the rows that have another copy of their class.
    start : float, optional
        A beta near the one sought.
    """
    many = repeated >= MANY_COPIES
    if not many and balance is None:
        return Link(fit_beta(scores, targets, weights, n_smooth, start=start))
    return fit_link(scores, targets, weights, n_smooth, repeated=many, balance=balance)


def fit_link(
    scores: Array,
    targets: Array,
    weights: Array,
    n_smooth: float,
    *,
    repeated: bool = False,
    balance: Array | None = None,
) -> Link:
    """Return the link ``p_y ∝ exp(β q_y + s_y) · max(q_y, ε)^γ`` of the least log-loss.

    ``min Σ_i w_i ℓ(p(q_i), t_i) + 0.15 γ² + 1.5 ||s + log(balance)||²`` over β, γ ≥ 0, targets
    smoothed as for β alone. Convex.

    Parameters
    ----------
    scores, targets : ndarrays of shape (n, c)
        Held-out scores and their targets.
    weights : ndarray of shape (n,)
        Numbers of copies.
    n_smooth : float
        The n of the smoothing; ε is 1/(n+1).
    repeated : bool, default=False
        Whether rows are seen many times, so that γ is learnt.
    balance : ndarray of shape (c,), optional
        Factor of each class in the fit. The scores then lean, and s brings probabilities back to
        the prevalence of the data: of log-odds, -log(balance) would.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.links import fit_link
    >>> targets = np.eye(2)[[0] * 90 + [1] * 10]
    >>> link = fit_link(np.tile([0.9, 0.1], (100, 1)), targets, np.ones(100), 100, repeated=True)
    >>> link(np.array([[0.9, 0.1]])).round(2)
    array([[0.9, 0.1]])
    """
    floor = 1.0 / (n_smooth + 1.0)
    centred = scores - scores.mean(axis=1, keepdims=True)
    reach = max(float(np.abs(centred).max(initial=0.0)), np.finfo(np.float64).tiny)
    directions = [centred / reach]
    if repeated:
        directions.append(np.log(np.maximum(scores, floor)))
    linear, n_linear = np.stack(directions), len(directions)
    prior, precision = np.zeros(n_linear), np.array([0.0, GAMMA_PRECISION])[:n_linear]
    if balance is not None:
        prior = np.append(prior, np.log(balance).mean() - np.log(balance))
        precision = np.append(precision, np.full(balance.size, SHIFT_PRECISION))
    targets, total = smooth(targets, n_smooth), float(weights.sum())

    def objective(x: Array) -> tuple[float, Array]:
        logits = np.tensordot(x[:n_linear], linear, axes=1)
        if balance is not None:
            logits = logits + x[n_linear:]
        losses = -np.einsum("nc,nc->n", targets, log_softmax(logits, axis=1))
        error = weights[:, None] * (softmax(logits, axis=1) - targets)
        gradient = np.einsum("knc,nc->k", linear, error)
        if balance is not None:
            gradient = np.append(gradient, error.sum(axis=0))
        away = precision * (x - prior)
        value = float(weights @ losses) + 0.5 * float(away @ (x - prior))
        return value / total, (gradient + away) / total

    bounds = [(0.0, None)] * n_linear + [(None, None)] * (prior.size - n_linear)
    start = prior.copy()
    start[0] = 1.0
    options = {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9}
    x = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    return Link(
        beta=float(x[0]) / reach,
        gamma=float(x[1]) if repeated else 0.0,
        floor=floor if repeated else 1.0,
        shift=0.0 if balance is None else x[n_linear:] - x[n_linear:].mean(),
    )


def fit_beta(
    scores: Array,
    targets: Array,
    weights: Array | None = None,
    n_smooth: float | None = None,
    max_iter: int = 100,
    start: float | None = None,
) -> float:
    """Return the ``beta ≥ 0`` that minimises the log-loss of ``softmax(beta · scores)``.

    Targets are moved by ``1/(n+1)`` towards uniform: without that, separable data drive beta to
    infinity. The problem is convex in one variable: safeguarded Newton steps on its derivative
    ``Σ w (E_p[q] - tᵀq)``.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        Held-out scores.
    targets : ndarray of shape (n, c)
        One-hot rows, or weighted means of such.
    weights : ndarray of shape (n,), optional
        Weights of the rows.
    n_smooth : float, optional
        The n of the smoothing; the number of rows when left out.
    max_iter : int
        Most steps.
    start : float, optional
        A beta near the one sought, from which fewer steps lead to it.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.links import fit_beta
    >>> fit_beta(np.eye(2), np.eye(2)) < np.inf
    True
    """
    rows = np.ones(scores.shape[0]) if weights is None else weights
    return fit_common_beta([(scores, targets, rows)], n_smooth, max_iter, start)


def fit_common_beta(
    blocks: list[tuple[Array, Array, Array]],
    n_smooth: float | None = None,
    max_iter: int = 100,
    start: float | None = None,
) -> float:
    """Return the one ``beta ≥ 0`` for several blocks of rows, which may differ in their classes.

    Parameters
    ----------
    blocks : list of (scores, targets, weights)
        Of shapes (n, c), (n, c) and (n,) each, as in :func:`fit_beta`.
    n_smooth : float, optional
        The n of the smoothing; the number of all rows when left out.
    max_iter, start
        As in :func:`fit_beta`.
    """
    n = sum(scores.shape[0] for scores, _, _ in blocks)
    scale = max((_reach(scores) for scores, _, _ in blocks if scores.size), default=0.0)
    size = max((float(np.abs(scores).max()) for scores, _, _ in blocks if scores.size), default=0.0)
    # Scores alike but for rounding tell nothing; of others too small beta would not be a number.
    if scale <= max(LEAST_SCALE, ROUNDING * size) or not np.isfinite(scale):
        return 0.0
    total = sum(float(weights.sum()) for _, _, weights in blocks)
    scaled = [
        ((scores - scores.mean(axis=1, keepdims=True)) / scale, weights / total)
        for scores, _, weights in blocks
    ]
    wanted = sum(
        float(w @ np.einsum("nc,nc->n", smooth(targets, n if n_smooth is None else n_smooth), q))
        for (q, w), (_, targets, _) in zip(scaled, blocks, strict=True)
    )
    if wanted <= 0.0:  # the scores point the wrong way: certainty would only hurt
        return 0.0

    def slope_and_curvature(beta: float) -> tuple[float, float]:
        slope, curvature = -wanted, 0.0
        for q, w in scaled:
            p = softmax(beta * q, axis=1)
            mean = np.einsum("nc,nc->n", p, q)
            second = np.einsum("nc,nc,nc->n", p, q, q)
            slope += float(w @ mean)
            curvature += float(w @ (second - mean**2))
        return slope, curvature

    low, high, beta = 0.0, np.inf, 1.0
    if start is not None and 0.0 < start * scale < np.inf:
        beta = start * scale
    for _ in range(max_iter):
        slope, curvature = slope_and_curvature(beta)
        if slope > 0:
            high = beta
        else:
            low = beta
        step = beta - slope / curvature if curvature > 0 else np.inf
        upper = min(high, 4.0 * beta)
        previous = beta
        beta = step if low < step < upper else (0.5 * (low + high) if high < np.inf else upper)
        if abs(beta - previous) <= 1e-12 * beta:
            break
    return beta / scale


def shrunk_beta(
    scores: Array,
    targets: Array,
    weights: Array,
    common: float,
    n_smooth: float,
    strength: float = SHRINKAGE,
) -> float:
    """Return the beta of one label among many, near the one that all labels have in common.

    ``min Σ_i w_i ℓ(softmax(β q_i), t_i) + strength/2 · (log β - log common)²``. The sum is a
    log-likelihood: a label seen in few rows stays near the common beta.

    Parameters
    ----------
    scores, targets, weights : ndarrays of shape (n, c), (n, c) and (n,)
        As in :func:`fit_beta`; weights about one on average.
    common : float
        The beta of all labels together; returned as it is when it is 0 or NaN.
    n_smooth : float
        The n of the smoothing.
    strength : float
        How firmly to stay.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.links import shrunk_beta
    >>> q = np.eye(2)[[0, 1] * 50]
    >>> 2.0 < shrunk_beta(q, q, np.ones(100), common=2.0, n_smooth=100) < 10.0
    True
    """
    if not common > 0.0 or scores.shape[0] == 0:
        return common
    targets = smooth(targets, n_smooth)

    def objective(shift: float) -> float:
        losses = log_loss_rows(scores, common * np.exp(shift), targets)
        return float(weights @ losses) + 0.5 * strength * shift**2

    found = minimize_scalar(objective, bounds=(-4.0, 4.0), method="bounded")
    return common * float(np.exp(found.x)) if objective(found.x) < objective(0.0) else common


def _reach(scores: Array) -> float:
    """Largest distance of a score from the mean of its row."""
    return float(np.abs(scores - scores.mean(axis=1, keepdims=True)).max())


def smooth(targets: Array, n: float) -> Array:
    """Move targets by ``1/(n+1)`` towards the uniform distribution."""
    epsilon = 1.0 / (n + 1)
    return (1.0 - epsilon) * targets + epsilon / targets.shape[1]


def log_loss_rows(scores: Array, beta: float, targets: Array) -> Array:
    """Return each row's log-loss of ``softmax(beta · scores)``."""
    return -np.einsum("nc,nc->n", targets, log_softmax(beta * scores, axis=1))


def joined(blocks: list[Block]) -> list[Block]:
    """Join labels of equally many classes, so that few large blocks are left."""
    if len(blocks) == 1:
        return blocks
    out: list[Block] = []
    for size in sorted({q.shape[1] for q, _, _ in blocks}):
        scores, targets, weights = zip(*[b for b in blocks if b[0].shape[1] == size], strict=True)
        out.append((np.concatenate(scores), np.concatenate(targets), np.concatenate(weights)))
    return out
