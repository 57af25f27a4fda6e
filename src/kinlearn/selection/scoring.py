"""How good held-out scores are: criteria over a whole grid, greater always better."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import label_ranking_average_precision_score

from kinlearn.posterior import Link
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.links import fit_common_beta, joined, log_loss_rows

Array: TypeAlias = NDArray[np.float64]

DEFAULT_SCORING = "squared_error"
# Criteria that are means over rows.
ROW_WISE = ("squared_error", "log_loss", "brier", "accuracy", "hamming_loss")
CLASS_NAMES = ("squared_error", "log_loss", "brier", "accuracy", "roc_auc", "f1")
CLASS_ALIASES = {
    "neg_mean_squared_error": "squared_error",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "roc_auc_ovr": "roc_auc",
    "f1_macro": "f1",
}
LABEL_NAMES = (
    "squared_error",
    "log_loss",
    "hamming_loss",
    "f1_micro",
    "f1_macro",
    "roc_auc",
    "lrap",
)
LABEL_ALIASES = {
    "neg_mean_squared_error": "squared_error",
    "neg_log_loss": "log_loss",
    "neg_hamming_loss": "hamming_loss",
    "accuracy": "hamming_loss",
    "f1": "f1_macro",
    "roc_auc_ovr": "roc_auc",
    "label_ranking_average_precision": "lrap",
}


def resolve_scoring(scoring: Any, *, labels: bool = False, indicator: bool = False) -> Any:
    """Return the criterion's own name, or the callable given.

    Parameters
    ----------
    scoring : str, callable or None
        As the user gave it.
    labels : bool, default=False
        Whether it is of many labels, not of classes.
    indicator : bool, default=False
        Whether these labels are on or off.
    """
    if scoring is None:
        return DEFAULT_SCORING
    if callable(scoring):
        return scoring
    names, aliases = (LABEL_NAMES, LABEL_ALIASES) if labels else (CLASS_NAMES, CLASS_ALIASES)
    name = aliases.get(scoring, scoring)
    if name not in names:
        truth = "Y_true" if labels else "y_true"
        raise ValueError(
            f"scoring={scoring!r} is not known. Choose one of {list(names)}, scikit-learn's "
            f"names {sorted(aliases)}, or a function of ({truth}, scores)."
        )
    if name == "lrap" and not indicator:
        raise ValueError(
            "scoring='lrap' ranks labels that are on or off, but Y has more than two classes: use "
            "'squared_error', 'log_loss', 'hamming_loss', 'f1_macro' or 'roc_auc'."
        )
    return name


def score_grid(scores: Array, rows: HeldOut, scoring: Any) -> tuple[Array, Array | None]:
    """Score every grid point on every part.

    Parameters
    ----------
    scores : ndarray of shape (P, R, K)
        Held-out scores of P grid points.
    rows : HeldOut
        What they speak of.
    scoring : str or callable
        As :func:`resolve_scoring` returns it.

    Returns
    -------
    values : ndarray of shape (P, parts)
        Greater is better; NaN where a criterion is not defined (AUC of one class).
    by_row : ndarray of shape (P, R) or None
        Each row's own score, for criteria that are means over rows.
    """
    parts = rows.parts()
    if is_row_wise(scoring):
        by_row = row_scores(scores, rows, scoring)
        weights = row_weights(rows, scoring)
        values = np.stack(
            [by_row[:, part] @ _shares(weights[part], rows, part) for part in parts], axis=1
        )
        return values, by_row
    values = np.array(
        [[_score_by_task(point, rows, part, scoring) for part in parts] for point in scores]
    )
    return values, None


def is_row_wise(scoring: Any) -> bool:
    """Whether a criterion is a mean over rows."""
    return isinstance(scoring, str) and scoring in ROW_WISE


def why_undefined(scoring: Any, scores: Array) -> str:
    """Say why no grid point has a score on any part, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> print(why_undefined("roc_auc", np.zeros((1, 2, 2))))  # doctest: +ELLIPSIS
    scoring='roc_auc' is not defined on any held-out part, for it needs two classes...
    """
    if not any(np.isfinite(point).all() for point in scores):
        return (
            "The held-out scores are not finite at any point of the grid, so that none can be "
            "chosen: look for values in X, kernel or sample_weight that are far larger than the "
            "others, scale them, or give larger regs."
        )
    if callable(scoring):
        return (
            f"The function scoring={scoring!r} returned NaN on every held-out part: let it return "
            "a number for a part of one class, too, or give a cv with larger parts."
        )
    if scoring == "lrap":
        return (
            "scoring='lrap' is not defined on any held-out part, for it needs a row whose labels "
            'are all observed: use "squared_error", "log_loss" or "roc_auc".'
        )
    if is_row_wise(scoring):
        return (
            f"scoring={scoring!r} has no row of positive weight on any held-out part: give weights "
            "that are not zero, or a cv with larger parts."
        )
    return (
        f"scoring={scoring!r} is not defined on any held-out part, for it needs two classes in "
        'one: use "squared_error" or "log_loss", or a cv with larger parts.'
    )


def row_weights(rows: HeldOut, scoring: Any) -> Array:
    """Weight of a row in the mean of a row-wise criterion: that of its pairs together."""
    if rows.layout.n_labels == 1:
        return rows.pair_weights[:, 0] if scoring == "squared_error" else rows.weights[:, 0]
    source = rows.fit_weights if scoring == "squared_error" else rows.weights
    return np.asarray(source.sum(axis=1))


def row_scores(scores: Array, rows: HeldOut, scoring: str) -> Array:
    """Return each row's score at each grid point, (P, R): the mean over its observed labels."""
    # one point after the other: the differences of all points at once would double the memory
    return np.stack([_scores_of_rows(point, rows, scoring) for point in scores])


def _scores_of_rows(point: Array, rows: HeldOut, scoring: str) -> Array:
    if scoring == "squared_error":
        losses = np.square(point - rows.fit_targets)
        if rows.layout.n_labels == 1:  # all columns of a row weigh the same
            return -losses.mean(axis=1)
        return -_mean(losses, rows.fit_weights)
    by_label = rows.layout.by_label(point.astype(np.float64, copy=False))
    pairs = list(zip(by_label, rows.targets, strict=True))
    if scoring in ("accuracy", "hamming_loss"):
        right = [z[np.arange(len(z)), q.argmax(axis=1)] for q, z in pairs]
        hits = right[0] if len(right) == 1 else _mean(np.column_stack(right), rows.weights)
        return hits if scoring == "accuracy" else hits - 1.0
    beta = rows.beta
    if beta is None:
        beta = fit_common_beta(joined(rows.blocks(point)), rows.n_smooth)
    if scoring == "log_loss":
        columns = [log_loss_rows(q, beta, z) for q, z in pairs]
    else:
        columns = [_brier_rows(Link(beta)(q), z) for q, z in pairs]
    return -columns[0] if len(columns) == 1 else -_mean(np.column_stack(columns), rows.weights)


def _mean(values: Array, weights: Array) -> Array:
    """Weighted mean over columns; 0 for a row without any weight."""
    total = weights.sum(axis=1)
    return np.asarray((values * weights).sum(axis=1) / np.where(total > 0, total, 1.0))


def _brier_rows(proba: Array, targets: Array) -> Array:
    """``Σ_c E[(p_c - z_c)²]`` where targets are chances of the one-hot z."""
    return np.square(proba).sum(axis=1) - 2 * (proba * targets).sum(axis=1) + 1.0


def _shares(weights: Array, rows: HeldOut, part: slice) -> Array:
    """Weights that add up to one; with an average over tasks, every task has an equal share."""
    if rows.average == "tasks" and rows.task is not None:
        task = rows.task[part]
        totals = np.bincount(task, weights=weights)[task]
        weights = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.size, np.nan)


def _score_by_task(point: Array, rows: HeldOut, part: slice, scoring: Any) -> float:
    """The score of a part, or its mean over the tasks for which it is defined.

    Pairs of an AUC are then pairs inside a task. Where no task holds both classes, all rows of the
    part are scored together, as mt-lspc does in its section 4.2.
    """
    if rows.average == "tasks" and rows.task is not None:
        values = task_scores(point, rows, scoring, part)
        if not np.isnan(values).all():
            return float(np.nanmean(values))
    return _score_part(point, rows, part, scoring)


def task_scores(point: Array, rows: HeldOut, scoring: Any, part: slice | None = None) -> Array:
    """Return the score of each task's rows, NaN where it is not defined or there are no rows."""
    every_task = rows.task
    assert every_task is not None
    chosen = np.arange(every_task.size)[slice(None) if part is None else part]
    task = every_task[chosen]
    values = np.full(int(every_task.max()) + 1, np.nan)
    by_row = _scores_of_rows(point, rows, scoring) if is_row_wise(scoring) else None
    weights = row_weights(rows, scoring)
    for t in np.unique(task):
        own = chosen[task == t]
        if by_row is not None:
            total = float(weights[own].sum())
            values[t] = by_row[own] @ weights[own] / total if total > 0 else np.nan
        elif scoring == "roc_auc" or np.unique(rows.targets[0][own].argmax(axis=1)).size > 1:
            values[t] = _score_part(point, rows, own, scoring)
    return values


def _score_part(point: Array, rows: HeldOut, part: Any, scoring: Any) -> float:
    if callable(scoring) or scoring == "lrap":
        truth, scores = rows.as_passed(point, part)
        if callable(scoring):
            return float(scoring(truth, scores))
        known = ~np.isnan(truth).any(axis=1)
        if not known.any():
            return float("nan")
        return float(label_ranking_average_precision_score(truth[known], scores[known]))
    by_label = rows.layout.by_label(point[part].astype(np.float64, copy=False))
    areas, hits, sizes = [], [], []
    for t, q in enumerate(by_label):
        z, weights = rows.targets[t][part], rows.weights[part, t]
        for y in [1] if q.shape[1] == 2 else range(q.shape[1]):
            if scoring == "roc_auc":
                value = q[:, 1] - q[:, 0] if q.shape[1] == 2 else q[:, y]
                areas.append(weighted_auc(value, weights * z[:, y], weights * (1.0 - z[:, y])))
            else:
                predicted = q.argmax(axis=1) == y
                hits.append(float(weights @ (predicted * z[:, y])))
                sizes.append(float(weights @ (predicted + z[:, y])))
    if scoring == "roc_auc":
        defined = [area for area in areas if not np.isnan(area)]
        return float(np.mean(defined)) if defined else float("nan")
    if scoring == "f1_micro":
        return 2.0 * sum(hits) / max(sum(sizes), 1e-300)
    return float(np.mean([2.0 * h / s if s > 0 else 0.0 for h, s in zip(hits, sizes, strict=True)]))


def weighted_auc(values: Array, positive: Array, negative: Array) -> float:
    """Return the chance that a positive outranks a negative, ties counting half.

    Every row may carry weight on both sides. NaN when a side is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.scoring import weighted_auc
    >>> positive = np.array([0.0, 0.0, 1.0, 1.0])
    >>> weighted_auc(np.array([0.1, 0.4, 0.35, 0.8]), positive, 1.0 - positive)
    0.75
    """
    total = float(positive.sum()) * float(negative.sum())
    if total <= 0.0:
        return float("nan")
    _, level = np.unique(values, return_inverse=True)
    above = np.bincount(level, weights=positive)
    below = np.bincount(level, weights=negative)
    return float(above @ (np.cumsum(below) - 0.5 * below)) / total


def best_f1_threshold(proba: Array, positive: Array, negative: Array) -> float:
    """The threshold with the best F1 of ``proba > threshold``; ½ without positives.

    It lies midway between two probabilities.

    Parameters
    ----------
    proba : ndarray of shape (R,)
        Held-out probabilities.
    positive, negative : ndarrays of shape (R,)
        Weights of the two sides.

    Examples
    --------
    >>> import numpy as np
    >>> best_f1_threshold(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 1]), np.array([1, 0, 0]))
    0.15000000000000002
    """
    if positive.sum() <= 0:
        return 0.5
    levels, where = np.unique(proba, return_inverse=True)
    above = np.cumsum(np.bincount(where, weights=positive)[::-1])[::-1]
    called = np.cumsum(np.bincount(where, weights=positive + negative)[::-1])[::-1]
    f1 = 2.0 * above / (called + positive.sum())
    best = int(f1.argmax())
    below = levels[best - 1] if best > 0 else 0.0
    return float(0.5 * (levels[best] + below))
