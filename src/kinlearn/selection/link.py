"""The link from scores to probabilities where one number does not do."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from kinlearn.posterior import Link, fit_beta, smooth

# Precision of the normal prior of a class's shift around what its weight suggests.
SHIFT_PRECISION = 3.0
# Precision of the normal prior of γ around zero.
GAMMA_PRECISION = 0.3
# Where at least this share of rows has another copy, scores are frequencies rather than guesses.
MANY_COPIES = 0.5


def calibrating_link(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    n_smooth: float,
    repeated: float,
    balance: np.ndarray | None = None,
) -> Link:
    """Return the link that calibrates held-out scores: one beta, unless more is called for.

    Parameters
    ----------
    scores, targets, weights, n_smooth, balance
        As in :func:`fit_link`.
    repeated : float
        Share of the rows that have another copy of their class.
    """
    many = repeated >= MANY_COPIES
    if not many and balance is None:
        return Link(fit_beta(scores, targets, weights, n_smooth))
    return fit_link(scores, targets, weights, n_smooth, repeated=many, balance=balance)


def fit_link(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    n_smooth: float,
    *,
    repeated: bool = False,
    balance: np.ndarray | None = None,
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
    >>> from kinlearn.selection.link import fit_link
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

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
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
