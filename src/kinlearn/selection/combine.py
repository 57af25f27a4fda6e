"""One model out of a grid: every point's held-out scores are known, so weights can be learnt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import log_softmax, softmax

from kinlearn.selection.links import fit_beta, smooth
from kinlearn.solvers.lapack import pivoted_cholesky

RULES = ("stack", "within_se", "best")
# A point of less than this share changes no probability visibly, but costs a solve.
NEGLIGIBLE = 1e-3
# What is left of a Gram matrix below this share of its largest entry is rounding.
SQUARED_NOISE = 1e-14
# Precision of the normal prior of a stack's weights around the best point, in residual variances:
# 3 to 100 measured alike.
STACK_PRECISION = 10.0
# With this many rows, half of a stack is the average of the points near the best: 25 to 50
# measured alike.
HALF_AVERAGED = 35.0
# Of tasks, with this many rows that are not of their task's commonest class.
HALF_AVERAGED_TASKS = 70.0
# Of weights refined by log-loss:
MAX_STEPS = 30
# Steps end when the objective, a sum over rows, falls by less than this.
SMALL_GAIN = 1e-8
# A point of a smaller share changes log-loss by a fraction of a percent, but costs a solve.
NEGLIGIBLE_REFINED = 1e-2
# A point that would lower the log-loss, a sum over rows, by less is not missed in a stack.
MATERIAL_LOSS = 0.5
# Precision of the normal prior of an offset around zero: 1 to 10 measured alike.
OFFSET_PRECISION = 3.0


def stack_weights(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Non-negative least squares of the targets on the held-out scores, near the best point.

    ``min Σ_i w_i Σ_c (z_ic - Σ_p v_p q_pic)² + 10 s² ||v - e||²`` over v ≥ 0, then scaled to sum to
    one, with e the point of the least squared error alone and s² that error's mean over rows and
    classes. Divided by s², the sum is a log-likelihood and the rest a normal prior: with few rows
    it prevails, and points that are nearly collinear have one answer.

    Parameters
    ----------
    scores : ndarray of shape (P, R, c)
        Held-out scores.
    targets : ndarray of shape (R, c)
        Targets.
    weights : ndarray of shape (R,)
        Numbers of copies.

    Returns
    -------
    ndarray of shape (P,)
        Non-negative, adding up to one; all zero when no scores point towards the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.combine import stack_weights
    >>> targets = np.eye(2)[[0, 1, 0, 1]]
    >>> stack_weights(np.stack([0.9 * targets, -targets]), targets, np.ones(4))
    array([1., 0.])
    """
    flat, every = scores.reshape(scores.shape[0], -1), np.repeat(weights, targets.shape[1])
    gram, moment = weighted_gram(flat, targets.ravel(), np.sqrt(every))
    energy = float(every @ np.square(targets.ravel()))
    return stacked_weights(gram, moment, energy, float(every.sum()))


def stacked_weights(
    gram: np.ndarray, moment: np.ndarray, energy: float, total: float
) -> np.ndarray:
    """The weights of :func:`stack_weights` from sums over rows and classes.

    Parameters
    ----------
    gram, moment : ndarrays of shape (P, P) and (P,)
        Gram matrix of the points' scores, and their products with the targets.
    energy, total : float
        Sums of the squared targets, and of the weights.
    """
    if not moment.max(initial=0.0) > 0.0:
        return np.zeros(moment.size)
    misfit = np.diagonal(gram) - 2.0 * moment
    best = int(np.argmin(misfit))
    ridge = STACK_PRECISION * max(energy + float(misfit[best]), 0.0) / total
    gram, moment = gram.copy(), moment.copy()
    gram[np.diag_indices_from(gram)] += ridge
    moment[best] += ridge
    # scores of some points may be larger than others' by many orders: all are brought to one scale
    size = np.sqrt(np.diagonal(gram))
    size[size <= 0.0] = 1.0
    # NNLS wants a design matrix: any root of the Gram matrix will do, and a triangular one is cheap
    root, order = pivoted_cholesky(gram / size / size[:, None], SQUARED_NOISE)
    rank = root.shape[1]
    right = solve_triangular(root[:rank], (moment / size)[order[:rank]], lower=True)
    design = np.empty((rank, moment.size))
    design[:, order] = root.T
    solution = nnls(design, right, maxiter=30 * moment.size)[0] / size
    if not solution.sum() > 0.0:
        return np.zeros_like(solution)
    solution /= solution.sum()
    solution[solution < NEGLIGIBLE] = 0.0
    return solution / solution.sum()


def averaged_share(n_rows: float, half: float = HALF_AVERAGED) -> float:
    """The share of an average in a stack: ``1/(1 + (n/35)²)``, none where that is below 1 %.

    Weights learnt from few rows fit their noise; an average over all points within two standard
    errors of the best has nothing to fit. Beyond 350 rows the weights are trusted alone.

    Examples
    --------
    >>> from kinlearn.selection.combine import averaged_share
    >>> averaged_share(35), averaged_share(1000)
    (0.5, 0.0)
    """
    share = 1.0 / (1.0 + (n_rows / half) ** 2)
    return share if share >= NEGLIGIBLE_REFINED else 0.0


def weighted_gram(
    flat: np.ndarray, target: np.ndarray, root: np.ndarray, columns: int = 1 << 14
) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix and moments in double precision, a block of columns of any weight at a time.

    Parameters
    ----------
    flat : ndarray of shape (P, columns)
        Scores of the points.
    target, root : ndarrays of shape (columns,)
        Targets, and the roots of the columns' weights.
    """
    gram = np.zeros((flat.shape[0],) * 2)
    moment = np.zeros(flat.shape[0])
    for start in range(0, flat.shape[1], columns):
        part = start + np.flatnonzero(root[start : start + columns])
        block = flat[:, part] * root[part]
        gram += block @ block.T
        moment += block @ (target[part] * root[part])
    return gram, moment


def within_se_weights(
    by_row: np.ndarray, weights: np.ndarray, best: int, n_se: float = 2.0
) -> np.ndarray:
    """Equal weights for all points within `n_se` paired standard errors of the best one.

    Parameters
    ----------
    by_row : ndarray of shape (P, R)
        Each row's score, greater better.
    weights : ndarray of shape (R,)
        Weights of the rows.
    best : int
        The best point.
    """
    weights = weights / weights.sum()
    behind = by_row[best] - by_row
    mean = behind @ weights
    variance = (behind - mean[:, None]) ** 2 @ weights
    # Σw² is 1/n for equal weights
    error = np.sqrt(variance * np.square(weights).sum())
    near = mean <= n_se * error
    near[best] = True
    return near / near.sum()


def refined_weights(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    n_smooth: float,
    offsets: bool = False,
) -> np.ndarray:
    """Minimise the log-loss of softmax(Σ_p v_p q_p + b) over v ≥ 0, not far from where v starts.

    ``min Σ_i w_i ℓ(softmax(Σ_p v_p q_pi + b), t_i) + ½ ||v - β·start||² + (3/2) ||b||²`` over
    v ≥ 0, with β the calibration of the mix `start` and targets smoothed as for it. The sum is a
    log-likelihood, so the other terms are normal priors, of the weights around the calibrated
    start: with few rows they prevail. An offset b for each class, zero unless asked for, keeps the
    weights from being spent on a class that all points score too high. Convex; Newton steps, each
    a small non-negative least-squares problem once the offsets are eliminated.

    Parameters
    ----------
    scores : ndarray of shape (P, R, c)
        Held-out scores of the points in the mix.
    targets : ndarray of shape (R, c)
        Targets.
    weights : ndarray of shape (R,)
        Numbers of copies.
    start : ndarray of shape (P,)
        Weights adding up to one, from least squares.
    n_smooth : float
        The n of the smoothing.
    offsets : bool, default=False
        Whether there are offsets; they are not returned.

    Returns
    -------
    ndarray of shape (P,)
        Non-negative, adding up to one; `start` when nothing can be calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.combine import refined_weights
    >>> good, bad = np.eye(2)[[0, 1, 0, 1]], np.eye(2)[[0, 0, 1, 1]]
    >>> mix = refined_weights(np.stack([good, bad]), good, np.ones(4), np.array([0.5, 0.5]), 4)
    >>> bool(mix[0] > 0.5)
    True
    """
    scores = scores - scores.mean(axis=2, keepdims=True)
    n_points = scores.shape[0]
    flat = scores.reshape(n_points, -1)
    beta = fit_beta(np.tensordot(start, scores, axes=1), targets, weights, n_smooth)
    targets = smooth(targets, n_smooth)
    n_offsets = targets.shape[1] if offsets else 0
    prior = np.concatenate([beta * start, np.zeros(n_offsets)])
    precision = np.concatenate([np.ones(n_points), np.full(n_offsets, OFFSET_PRECISION)])

    def mixed(x: np.ndarray) -> np.ndarray:
        mix = np.tensordot(x[:n_points], scores, axes=1)
        return mix + x[n_points:] if offsets else mix

    def objective(x: np.ndarray) -> float:
        losses = -np.einsum("nc,nc->n", targets, log_softmax(mixed(x), axis=1))
        return float(weights @ losses + 0.5 * precision @ np.square(x - prior))

    x, value = prior, objective(prior)
    for _ in range(MAX_STEPS):
        p = softmax(mixed(x), axis=1)
        error, shares = weights[:, None] * (p - targets), weights[:, None] * p
        mean = np.einsum("pnc,nc->pn", scores, p)
        gradient = flat @ error.ravel()
        second = (flat * shares.ravel()) @ flat.T
        if offsets:
            mean = np.concatenate([mean, p.T])
            gradient = np.concatenate([gradient, error.sum(axis=0)])
            mixed_second = np.einsum("pnc,nc->pc", scores, shares)
            second = np.block([[second, mixed_second], [mixed_second.T, np.diag(shares.sum(0))]])
        hessian = second - (mean * weights) @ mean.T
        hessian[np.diag_indices_from(hessian)] += precision
        aim = newton_aim(hessian, gradient + precision * (x - prior), x, n_points)
        step = 1.0
        while (fresh := objective(x + step * (aim - x))) > value and step > 1e-6:
            step *= 0.5
        if value - fresh <= SMALL_GAIN:
            break
        x, value = x + step * (aim - x), fresh
    v = x[:n_points]
    total = v.sum()
    if total <= 0.0:
        return start
    v = np.where(v < NEGLIGIBLE_REFINED * total, 0.0, v)
    return v / v.sum()


def worth_beside(
    mixed: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    n_smooth: float,
) -> Callable[[np.ndarray], float]:
    """How far a Newton step into a point's weight alone would lower the log-loss of a mix.

    Least squares chooses the points of a stack, and may leave out some that log-loss has a use for.
    The loss and the prior of a weight are those of :func:`refined_weights`.

    Parameters
    ----------
    mixed : ndarray of shape (R, c)
        Held-out scores of the mix.
    targets, weights, n_smooth
        As in :func:`refined_weights`.

    Returns
    -------
    callable
        Of the held-out scores of a point, (R, c), the sum over rows; zero where its weight would
        have to be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.combine import worth_beside
    >>> good, bad = np.eye(2)[[0, 1, 0, 1]], np.eye(2)[[0, 0, 1, 1]]
    >>> worth = worth_beside(bad, good, np.ones(4), 4)
    >>> worth(good) > worth(bad)
    True
    """
    mixed = mixed - mixed.mean(axis=1, keepdims=True)
    p = softmax(fit_beta(mixed, targets, weights, n_smooth) * mixed, axis=1)
    error = weights[:, None] * (p - smooth(targets, n_smooth))

    def worth(q: np.ndarray) -> float:
        slope = float(np.vdot(q, error))
        mean = np.einsum("nc,nc->n", q, p)
        curvature = float(weights @ (np.einsum("nc,nc,nc->n", q, q, p) - np.square(mean)))
        return slope**2 / (2.0 * (curvature + 1.0)) if slope < 0.0 else 0.0

    return worth


def newton_aim(
    hessian: np.ndarray, gradient: np.ndarray, x: np.ndarray, n_bounded: int
) -> np.ndarray:
    """Minimise ``½ (u-x)ᵀH(u-x) + gᵀ(u-x)`` with the first `n_bounded` of u not negative.

    Least squares in a Cholesky root of H, its free variables first: in the rows of those any
    residual can be made zero, so that the others are had from the rows that remain.
    """
    order = np.concatenate([np.arange(n_bounded, x.size), np.arange(n_bounded)])
    n_free = x.size - n_bounded
    upper = np.linalg.cholesky(hessian[np.ix_(order, order)]).T
    right = solve_triangular(upper, (hessian @ x - gradient)[order], trans="T")
    aim = np.empty_like(x)
    aim[:n_bounded] = nnls(upper[n_free:, n_free:], right[n_free:])[0]
    if n_free:
        rest = right[:n_free] - upper[:n_free, n_free:] @ aim[:n_bounded]
        aim[n_bounded:] = solve_triangular(upper[:n_free, :n_free], rest)
    return aim
