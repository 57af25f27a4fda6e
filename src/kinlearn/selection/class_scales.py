"""A scale and an offset for each class, on top of the one number that calibrates a mix."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, softmax

from kinlearn.selection.combine import newton_aim
from kinlearn.selection.links import smooth

MAX_STEPS = 50
# Steps end when the objective, a sum over rows, falls by less than this.
SMALL_GAIN = 1e-9
# Precisions of the normal priors, scales around beta and offsets around zero; a third of these
# and three times as much measured alike.
SCALE_PRECISION, OFFSET_PRECISION = 0.3, 3.0


def class_scales(
    scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, beta: float, n_smooth: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (a, b, β) such that ``softmax(β·(a∘q + b))`` is calibrated class by class.

    Scores stay on the scale of probabilities: β is the one given, or 1 where it is 0 because the
    scores tell nothing, and only the offsets are left.
    """
    scales, offsets = fit_class_scales(scores, targets, weights, beta, n_smooth)
    unit = beta if beta > 0.0 else 1.0
    return scales / unit, offsets / unit, unit


def fit_class_scales(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    beta: float,
    n_smooth: float,
    added: np.ndarray | float = 0.0,
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
    added : ndarray of shape (n, c), optional
        What is added to the logits beside.

    Returns
    -------
    scales, offsets : ndarray of shape (c,)
        Offsets add up to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.class_scales import fit_class_scales
    >>> scores, targets = np.zeros((100, 2)), np.eye(2)[[0] * 90 + [1] * 10]
    >>> scales, offsets = fit_class_scales(scores, targets, np.ones(100), 1.0, 100)
    >>> bool(offsets[0] > 0.5), scales
    (True, array([1., 1.]))
    """
    n_classes = scores.shape[1]
    targets = smooth(targets, n_smooth)
    prior = np.concatenate([np.full(n_classes, beta), np.zeros(n_classes)])
    precision = np.repeat([SCALE_PRECISION, OFFSET_PRECISION], n_classes)
    scale, offset = np.arange(n_classes), np.arange(n_classes, 2 * n_classes)

    def logits(x: np.ndarray) -> np.ndarray:
        return np.asarray(x[:n_classes] * scores + x[n_classes:] + added)

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
