"""From scores to probabilities: the four rules, and the one number that calibrates.

Scores ``q_y(x)`` estimate class probabilities but may leave [0, 1] and need not add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

RULES = ("calibrated", "rounded", "rounded_parameters", "raw")
# How firmly a label's own beta stays near that of all labels: 3 to 30 measured alike.
SHRINKAGE = 10.0


def rounded(scores: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """LSPC-new, Eq. 6: ``max(0, q_y) / Σ max(0, q_y')``, the fallback where the sum is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.posterior import rounded
    >>> rounded(np.array([[0.6, 0.2], [-1.0, -2.0]]), fallback=np.array([0.5, 0.5]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    return normalised(np.maximum(scores, 0.0), fallback)


def normalised(scores: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """LSPC′, Eq. 5: ``q_y / Σ q_y'``, which may leave [0, 1]; the fallback where the sum is 0."""
    total = scores.sum(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = scores / total
    # a sum can be so small that the ratio overflows: such a point tells nothing either
    return np.where(np.isfinite(ratio).all(axis=1, keepdims=True), ratio, fallback)


@dataclass(frozen=True)
class Link:
    """The calibrated rule: ``p_y ∝ exp(β q_y + s_y) · max(q_y, ε)^γ``.

    With γ = 0 it is ``softmax(β·q)``, which suits scores of rows never seen before. β = 0 and γ = 1
    is rounding, which suits rows seen many times: their scores are frequencies of the classes. The
    class of the largest score is that of the largest probability for all β, γ ≥ 0 where s = 0.

    Attributes
    ----------
    beta, gamma : float or column of such, one for each row
        β and γ.
    floor : float
        ε.
    shift : ndarray or float
        s, which undoes the leaning of scores fitted with a class weight.
    """

    beta: float | np.ndarray
    gamma: float | np.ndarray = 0.0
    floor: float | np.ndarray = 1.0
    shift: np.ndarray | float = 0.0

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities, (n, c)."""
        logits = self.beta * scores + self.shift
        if np.any(self.gamma):
            logits = logits + self.gamma * np.log(np.maximum(scores, self.floor))
        return softmax(logits, axis=1)


def calibrated(scores: np.ndarray, beta: float) -> np.ndarray:
    """``softmax(beta · q)``."""
    return Link(beta)(scores)


def posterior(
    scores: np.ndarray,
    rule: str,
    link: Link | float = float("nan"),
    fallback: np.ndarray | None = None,
) -> np.ndarray:
    """Apply a rule to the scores of the parameters in use.

    ``"rounded_parameters"`` (the original LSPC, Eq. 4) rounds parameters before there are scores,
    so that here it only normalises. A calibration that could not be had (its beta is NaN) rounds.
    `link` may be given as its beta alone.
    """
    if fallback is None:
        fallback = np.full(scores.shape[1], 1.0 / scores.shape[1])
    link = link if isinstance(link, Link) else Link(link)
    if rule == "calibrated" and not np.isnan(link.beta).any():
        return link(scores)
    if rule == "raw":
        return normalised(scores, fallback)
    return rounded(scores, fallback)


def fit_beta(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None = None,
    n_smooth: float | None = None,
    max_iter: int = 100,
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

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.posterior import fit_beta
    >>> fit_beta(np.eye(2), np.eye(2)) < np.inf
    True
    """
    rows = np.ones(scores.shape[0]) if weights is None else weights
    return fit_common_beta([(scores, targets, rows)], n_smooth, max_iter)


def fit_common_beta(
    blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    n_smooth: float | None = None,
    max_iter: int = 100,
) -> float:
    """Return the one ``beta ≥ 0`` for several blocks of rows, which may differ in their classes.

    Parameters
    ----------
    blocks : list of (scores, targets, weights)
        Of shapes (n, c), (n, c) and (n,) each, as in :func:`fit_beta`.
    n_smooth : float, optional
        The n of the smoothing; the number of all rows when left out.
    """
    n = sum(scores.shape[0] for scores, _, _ in blocks)
    scale = max((_reach(scores) for scores, _, _ in blocks if scores.size), default=0.0)
    if scale == 0.0 or not np.isfinite(scale):
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
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
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
    >>> from kinlearn.posterior import shrunk_beta
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


def _reach(scores: np.ndarray) -> float:
    """Largest distance of a score from the mean of its row."""
    return float(np.abs(scores - scores.mean(axis=1, keepdims=True)).max())


def smooth(targets: np.ndarray, n: float) -> np.ndarray:
    """Move targets by ``1/(n+1)`` towards the uniform distribution."""
    epsilon = 1.0 / (n + 1)
    return (1.0 - epsilon) * targets + epsilon / targets.shape[1]


def log_loss_rows(scores: np.ndarray, beta: float, targets: np.ndarray) -> np.ndarray:
    """Return each row's log-loss of ``softmax(beta · scores)``."""
    return -np.einsum("nc,nc->n", targets, log_softmax(beta * scores, axis=1))
