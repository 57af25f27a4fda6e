"""Weights of a mix, moved from least squares towards the log-loss of its calibrated posterior."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import log_softmax, softmax

from kinlearn.posterior import fit_beta, smooth

MAX_STEPS = 30
# Steps end when the objective, a sum over rows, falls by less than this.
SMALL_GAIN = 1e-8
# A point of a smaller share changes log-loss by a fraction of a percent, but costs a solve.
NEGLIGIBLE = 1e-2


def refined_weights(
    scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, start: np.ndarray, n_smooth: int
) -> np.ndarray:
    """Minimise the log-loss of softmax(Σ_p v_p q_p) over v ≥ 0, not far from where v starts.

    ``min Σ_i w_i ℓ(softmax(Σ_p v_p q_pi), t_i) + ½ ||v - β·start||²  over v ≥ 0``, with β the
    calibration of the mix `start` and targets smoothed as for it. The sum is a log-likelihood, so
    the last term is a standard normal prior around the calibrated start: with few rows it prevails.
    Convex; Newton steps, each a small non-negative least-squares problem.

    Parameters
    ----------
    scores : ndarray of shape (P, R, c)
        Held-out scores of the points in the mix.
    targets : ndarray of shape (R, c)
        Targets.
    weights : ndarray of shape (R,)
        Weights of the rows, about one on average.
    start : ndarray of shape (P,)
        Weights adding up to one, from least squares.
    n_smooth : int
        The n of the smoothing.

    Returns
    -------
    ndarray of shape (P,)
        Non-negative, adding up to one; `start` when nothing can be calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.refine import refined_weights
    >>> good, bad = np.eye(2)[[0, 1, 0, 1]], np.eye(2)[[0, 0, 1, 1]]
    >>> mix = refined_weights(np.stack([good, bad]), good, np.ones(4), np.array([0.5, 0.5]), 4)
    >>> bool(mix[0] > 0.5)
    True
    """
    scores = scores - scores.mean(axis=2, keepdims=True)
    flat = scores.reshape(scores.shape[0], -1)
    beta = fit_beta(np.tensordot(start, scores, axes=1), targets, weights, n_smooth)
    targets = smooth(targets, n_smooth)
    prior = beta * start

    def objective(v: np.ndarray) -> float:
        mixed = np.tensordot(v, scores, axes=1)
        losses = -np.einsum("nc,nc->n", targets, log_softmax(mixed, axis=1))
        return float(weights @ losses + 0.5 * np.square(v - prior).sum())

    v, value = prior, objective(prior)
    for _ in range(MAX_STEPS):
        p = softmax(np.tensordot(v, scores, axes=1), axis=1)
        gradient = flat @ (weights[:, None] * (p - targets)).ravel() + v - prior
        mean = np.einsum("pnc,nc->pn", scores, p)
        hessian = (flat * (weights[:, None] * p).ravel()) @ flat.T - (mean * weights) @ mean.T
        hessian[np.diag_indices_from(hessian)] += 1.0
        aim = _newton_aim(hessian, gradient, v)
        step = 1.0
        while (fresh := objective(v + step * (aim - v))) > value and step > 1e-6:
            step *= 0.5
        if value - fresh <= SMALL_GAIN:
            break
        v, value = v + step * (aim - v), fresh
    total = v.sum()
    if total <= 0.0:
        return start
    v = np.where(v < NEGLIGIBLE * total, 0.0, v)
    return v / v.sum()


def _newton_aim(hessian: np.ndarray, gradient: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Minimise ``½ (u-v)ᵀH(u-v) + gᵀ(u-v)`` over u ≥ 0, as least squares in H's Cholesky root."""
    root = np.linalg.cholesky(hessian)
    right = solve_triangular(root, hessian @ v - gradient, lower=True)
    return nnls(root.T, right)[0]
