"""An offset and a scale for each task, as far from the common ones as the tasks are unlike."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from kinlearn.selection.class_scales import fit_class_scales
from kinlearn.selection.links import smooth

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# Common and own parts are fitted in turns; the second round moves little.
ROUNDS = 2
MAX_STEPS = 20
SMALL_GAIN = 1e-9
# However unlike tasks look, the variances of the normal priors are at most these.
MOST_OFFSET_VARIANCE, MOST_SCALE_VARIANCE = 4.0, 0.25


def fit_task_scales(
    scores: Array,
    targets: Array,
    weights: Array,
    task: Index,
    n_tasks: int,
    start: tuple[Array, Array],
    beta: float,
    n_smooth: float,
) -> tuple[Array, Array, Array, Array] | None:
    """Return (a, b, s, o) of ``softmax(s_t·a∘q + b + o_t)``, or None where tasks are alike.

    ``min Σ_i w_i ℓ(softmax(s_t a∘q_i + b + o_t), t_i) + Σ_t ||o_t||²/(2 v_o) + (s_t-1)²/(2 v_s)``
    beside the priors of the class scales a and b, in turns of (a, b) and of each task's (s, o).
    The variances v are those with which the tasks' residuals are as large as they are beyond what
    the sampling of their rows explains (:func:`spread_of_tasks`); with none beyond that, every task
    keeps the common numbers.

    Parameters
    ----------
    scores, targets : ndarrays of shape (n, c)
        Held-out scores and their targets.
    weights : ndarray of shape (n,)
        Numbers of copies.
    task : ndarray of shape (n,)
        Numbers of the tasks.
    n_tasks : int
        T, which may be more than have rows here.
    start : (ndarray, ndarray)
        Class scales a and offsets b, fitted alone.
    beta, n_smooth : float
        As in :func:`~kinlearn.selection.class_scales.fit_class_scales`.

    Returns
    -------
    a, b : ndarrays of shape (c,)
    s : ndarray of shape (T,)
    o : ndarray of shape (T, c)

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.task_scales import fit_task_scales
    >>> targets = np.eye(2)[[0] * 90 + [1] * 10 + [0] * 50 + [1] * 50]
    >>> task, alike = np.repeat([0, 1], 100), (np.ones(2), np.zeros(2))
    >>> found = fit_task_scales(
    ...     np.zeros((200, 2)), targets, np.ones(200), task, 2, alike, 1.0, 200
    ... )
    >>> offsets = found[3]
    >>> bool(offsets[0, 0] > 0.3 > offsets[1, 0])
    True
    """
    targets = smooth(targets, n_smooth)
    a, b = start
    offset_variance, scale_variance = spread_of_tasks(
        a * scores, a * scores + b, targets, weights, task, n_tasks
    )
    if offset_variance <= 0.0 and scale_variance <= 0.0:
        return None
    s, o = np.ones(n_tasks), np.zeros((n_tasks, scores.shape[1]))
    for _ in range(ROUNDS):
        s, o = _own_parts(
            a * scores, b, targets, weights, task, (s, o), offset_variance, scale_variance
        )
        # targets are smooth already: an infinite n leaves them so
        a, b = fit_class_scales(s[task, None] * scores, targets, weights, beta, np.inf, o[task])
    return a, b, s, o


def spread_of_tasks(
    own: Array, logits: Array, targets: Array, weights: Array, task: Index, n_tasks: int
) -> tuple[float, float]:
    """Return how far offsets and scales of tasks spread beyond what sampling explains.

    Of each task, with probabilities p of common numbers, ``g = Σ w (t - p)`` has the variance
    ``h + h² v`` where the task's own offset has the variance v and ``h = Σ w p(1-p)``; so
    ``v = (Σ g² - h) / Σ h²`` over tasks and classes, less the standard error ``√2/√(Σ h²)`` of
    that, or none. Of scales likewise, with the derivatives along ``own``.

    Parameters
    ----------
    own : ndarray of shape (n, c)
        What a scale multiplies.
    logits : ndarray of shape (n, c)
        The common logits.
    targets, weights, task, n_tasks
        As in :func:`fit_task_scales`.
    """
    p = softmax(logits, axis=1)
    error, variance = weights[:, None] * (targets - p), weights[:, None] * p * (1.0 - p)
    offset = _beyond_sampling(_by_task(error, task, n_tasks), _by_task(variance, task, n_tasks))
    along = np.einsum("nc,nc->n", error, own)
    mean = np.einsum("nc,nc->n", p, own)
    curved = weights * (np.einsum("nc,nc,nc->n", p, own, own) - mean**2)
    scale = _beyond_sampling(
        _by_task(along[:, None], task, n_tasks), _by_task(curved[:, None], task, n_tasks)
    )
    return min(offset, MOST_OFFSET_VARIANCE), min(scale, MOST_SCALE_VARIANCE)


def _beyond_sampling(g: Array, h: Array) -> float:
    total = float(np.square(h).sum())
    if not total > 0.0:
        return 0.0
    return max(float((np.square(g) - h).sum()) / total - np.sqrt(2.0 / total), 0.0)


def _by_task(values: Array, task: Index, n_tasks: int) -> Array:
    """Sums over the rows of each task."""
    return np.stack(
        [np.bincount(task, weights=column, minlength=n_tasks) for column in values.T], axis=1
    )


def _own_parts(
    scaled: Array,
    b: Array,
    targets: Array,
    weights: Array,
    task: Index,
    start: tuple[Array, Array],
    offset_variance: float,
    scale_variance: float,
) -> tuple[Array, Array]:
    """Every task's scale and offsets for common numbers: Newton steps of all tasks at once."""
    (s, o), (n_tasks, c) = start, start[1].shape
    # what does not spread is held fast
    precision = np.concatenate(
        [
            [1.0 / scale_variance if scale_variance > 0.0 else 1e12],
            np.full(c, 1.0 / offset_variance if offset_variance > 0.0 else 1e12),
        ]
    )
    x = np.column_stack([s - 1.0, o])
    classes = np.arange(c)

    def losses(x: Array) -> tuple[Array, Array]:
        logits = (1.0 + x[task, :1]) * scaled + b + x[task, 1:]
        found = log_softmax(logits, axis=1)
        rows = -weights * np.einsum("nc,nc->n", targets, found)
        total = np.bincount(task, weights=rows, minlength=n_tasks)
        return total + 0.5 * np.square(x) @ precision, np.exp(found)

    value, p = losses(x)
    for _ in range(MAX_STEPS):
        error, shares = weights[:, None] * (p - targets), weights[:, None] * p
        along = np.einsum("nc,nc->n", error, scaled)
        gradient = _by_task(np.column_stack([along, error]), task, n_tasks) + precision * x
        # Σ w (diag(p) - ppᵀ) between the derivatives (scaled_c, 1) of the logits
        mean = np.column_stack([np.einsum("nc,nc->n", p, scaled), p])
        root = np.sqrt(weights)[:, None] * mean
        hessian = -_outer_by_task(root, task, n_tasks)
        squared = np.einsum("nc,nc->n", shares, np.square(scaled))
        curved = _by_task(np.column_stack([squared, shares]), task, n_tasks)
        crossed = _by_task(shares * scaled, task, n_tasks)
        hessian[:, 0, 0] += curved[:, 0]
        hessian[:, classes + 1, classes + 1] += curved[:, 1:]
        hessian[:, 0, 1:] += crossed
        hessian[:, 1:, 0] += crossed
        hessian[:, np.arange(c + 1), np.arange(c + 1)] += precision
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        share = np.ones(n_tasks)
        for _ in range(MAX_STEPS):
            fresh, p = losses(x - share[:, None] * step)
            worse = fresh > value
            if not worse.any():
                break
            share = np.where(worse, 0.5 * share, share)
        share = np.where(fresh > value, 0.0, share)
        x = x - share[:, None] * step
        gain = float((value - np.minimum(fresh, value)).sum())
        value, p = losses(x)
        if gain <= SMALL_GAIN:
            break
    # a task whose scores mislead has none left, but never turned round
    return np.maximum(1.0 + x[:, 0], 0.0), x[:, 1:] - x[:, 1:].mean(axis=1, keepdims=True)


def _outer_by_task(rows: Array, task: Index, n_tasks: int) -> Array:
    """Σ r rᵀ over the rows r of each task."""
    found = np.zeros((n_tasks, rows.shape[1], rows.shape[1]))
    order = np.argsort(task, kind="stable")
    present, starts = np.unique(task[order], return_index=True)
    for t, own in zip(present, np.split(order, starts[1:]), strict=True):
        found[t] = rows[own].T @ rows[own]
    return found
