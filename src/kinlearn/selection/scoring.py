"""How good held-out scores are: criteria over a whole grid, greater always better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.posterior import calibrated, fit_beta, log_loss_rows
from kinlearn.selection.folds import Validation
from kinlearn.selection.link import MANY_COPIES

DEFAULT_SCORING = "squared_error"
ALIASES = {
    "neg_mean_squared_error": "squared_error",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "roc_auc_ovr": "roc_auc",
    "f1_macro": "f1",
}
ROW_WISE = ("squared_error", "log_loss", "brier", "accuracy")
NAMES = (*ROW_WISE, "roc_auc", "f1")


@dataclass(frozen=True)
class HeldOutRows:
    """The rows that held-out scores speak of, in the scores' order.

    Attributes
    ----------
    targets, weights : ndarrays of shape (R, c) and (R,)
        As the data have them (sample_weight only): for calibration and all criteria but the next.
    fit_targets, fit_weights : ndarrays of shape (R, c) and (R,)
        As the fit has them (class_weight too): for squared error and stacking.
    n_smooth : float
        Number of copies of all training rows.
    starts : ndarray or None
        Where each fold begins; None to score all rows together (leave-one-out).
    validation : Validation
        What was held out.
    expand : callable
        Gives (labels of original rows, scores for them) to a user's own criterion.
    task : ndarray of shape (R,), optional
        Task number of each row.
    average : {"pooled", "tasks"}
        Whether rows of all tasks are scored together, or each task's on their own, with the mean
        over tasks as the score.
    beta : float, optional
        The beta of scores whose posterior is softmax(beta·q) as they are, such as log-odds; left
        out, log-loss and Brier score fit one.
    """

    targets: np.ndarray
    weights: np.ndarray
    fit_targets: np.ndarray
    fit_weights: np.ndarray
    n_smooth: float
    starts: np.ndarray | None
    validation: Validation
    expand: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    task: np.ndarray | None = None
    average: str = "pooled"
    beta: float | None = None

    def parts(self) -> list[slice]:
        """Return the slices of rows scored together."""
        if self.starts is None:
            return [slice(0, self.weights.size)]
        return [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def repeated(self) -> bool:
        """Whether most rows were seen more than once."""
        return self.validation.repeated >= MANY_COPIES

    @property
    def strata(self) -> np.ndarray:
        """The class of each entry."""
        return self.targets.argmax(axis=1)

    def reweighted(self, factors: np.ndarray) -> HeldOutRows:
        """The same with every entry's weights times a factor; entries of weight 0 are unknown."""

        def expand(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.expand(np.where(factors[:, None] > 0, scores, np.nan))

        return replace(
            self,
            weights=self.weights * factors,
            fit_weights=self.fit_weights * factors,
            expand=expand,
        )


def resolve_scoring(scoring: Any) -> Any:
    """Return the criterion's own name, or the callable given."""
    if scoring is None:
        return DEFAULT_SCORING
    if callable(scoring):
        return scoring
    name = ALIASES.get(scoring, scoring)
    if name not in NAMES:
        raise ValueError(
            f"scoring={scoring!r} is not known. Choose one of {list(NAMES)}, scikit-learn's "
            f"names {sorted(ALIASES)}, or a function of (y_true, scores)."
        )
    return name


def score_grid(
    scores: np.ndarray, rows: HeldOutRows, scoring: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Score every grid point on every part.

    Parameters
    ----------
    scores : ndarray of shape (P, R, c)
        Held-out scores of P grid points.
    rows : HeldOutRows
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
    if scoring in ROW_WISE:
        by_row = row_scores(scores, rows, scoring)
        weights = rows.fit_weights if scoring == "squared_error" else rows.weights
        values = np.stack(
            [by_row[:, part] @ _shares(weights[part], rows, part) for part in parts], axis=1
        )
        return values, by_row
    values = np.array(
        [[_score_by_task(point, rows, part, scoring) for part in parts] for point in scores]
    )
    return values, None


def why_undefined(scoring: Any, scores: np.ndarray) -> str:
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
    if scoring in ("squared_error", "log_loss", "brier", "accuracy", "hamming_loss"):
        return (
            f"scoring={scoring!r} has no row of positive weight on any held-out part: give weights "
            "that are not zero, or a cv with larger parts."
        )
    return (
        f"scoring={scoring!r} is not defined on any held-out part, for it needs two classes in "
        'one: use "squared_error" or "log_loss", or a cv with larger parts.'
    )


def row_scores(scores: np.ndarray, rows: HeldOutRows, scoring: str) -> np.ndarray:
    """Return each row's score at each grid point, shape (P, R)."""
    if scoring == "squared_error":
        # one pass a point: the difference of all points at once would double the memory
        return -np.stack([np.square(point - rows.fit_targets).mean(axis=1) for point in scores])
    if scoring == "accuracy":
        best = scores.argmax(axis=2)
        return np.take_along_axis(rows.targets, best.T, axis=1).T
    out = np.empty(scores.shape[:2])
    for p, point in enumerate(scores):
        point = point.astype(np.float64, copy=False)
        beta = rows.beta
        if beta is None:
            beta = fit_beta(point, rows.targets, rows.weights, rows.n_smooth)
        if scoring == "log_loss":
            out[p] = -log_loss_rows(point, beta, rows.targets)
        else:
            out[p] = -_brier_rows(calibrated(point, beta), rows.targets)
    return out


def _brier_rows(proba: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """``Σ_c E[(p_c - z_c)²]`` where targets are chances of the one-hot z."""
    return np.square(proba).sum(axis=1) - 2 * (proba * targets).sum(axis=1) + 1.0


def _shares(weights: np.ndarray, rows: HeldOutRows, part: slice) -> np.ndarray:
    """Weights that add up to one; with an average over tasks, every task has an equal share."""
    if rows.task is not None and rows.average == "tasks":
        totals = np.bincount(rows.task[part], weights=weights)[rows.task[part]]
        weights = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.size, np.nan)


def _score_by_task(point: np.ndarray, rows: HeldOutRows, part: slice, scoring: Any) -> float:
    """The score of a part, or its mean over the tasks for which it is defined.

    Pairs of an AUC are then pairs inside a task. Where no task holds both classes, all rows of the
    part are scored together, as mt-lspc does in its section 4.2.
    """
    if rows.task is not None and rows.average == "tasks":
        values = task_scores(point, rows, scoring, part)
        if not np.isnan(values).all():
            return float(np.nanmean(values))
    return _score_part(point, rows, part, scoring)


def task_scores(
    point: np.ndarray, rows: HeldOutRows, scoring: Any, part: slice | None = None
) -> np.ndarray:
    """Return the score of each task's rows, NaN where it is not defined or there are no rows."""
    assert rows.task is not None
    chosen = np.arange(rows.task.size)[slice(None) if part is None else part]
    task = rows.task[chosen]
    values = np.full(int(rows.task.max()) + 1, np.nan)
    by_row = row_scores(point[None], rows, scoring)[0] if scoring in ROW_WISE else None
    weights = rows.fit_weights if scoring == "squared_error" else rows.weights
    for t in np.unique(task):
        own = chosen[task == t]
        if by_row is not None:
            total = float(weights[own].sum())
            values[t] = by_row[own] @ weights[own] / total if total > 0 else np.nan
        elif scoring == "roc_auc" or np.unique(rows.targets[own].argmax(axis=1)).size > 1:
            values[t] = _score_part(point, rows, own, scoring)
    return values


def _score_part(point: np.ndarray, rows: HeldOutRows, part: Any, scoring: Any) -> float:
    scores, targets, weights = point[part], rows.targets[part], rows.weights[part]
    if scoring == "roc_auc":
        return _roc_auc(scores, targets, weights)
    if scoring == "f1":
        return _f1(scores, targets, weights)
    mask = np.zeros(rows.weights.size, dtype=bool)
    mask[part] = True
    y_true, expanded = rows.expand(np.where(mask[:, None], point, np.nan))
    known = ~np.isnan(expanded).any(axis=1)
    expanded = expanded[known]
    if expanded.shape[1] == 2:
        expanded = expanded[:, 1] - expanded[:, 0]
    return float(scoring(y_true[known], expanded))


def _roc_auc(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    """Area under the ROC curve; macro average of one class against the rest beyond two."""
    if scores.shape[1] == 2:
        return weighted_auc(
            scores[:, 1] - scores[:, 0], weights * targets[:, 1], weights * targets[:, 0]
        )
    areas = [
        weighted_auc(scores[:, k], weights * targets[:, k], weights * (1.0 - targets[:, k]))
        for k in range(scores.shape[1])
    ]
    return float(np.nanmean(areas)) if not np.isnan(areas).all() else float("nan")


def weighted_auc(values: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> float:
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


def _f1(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    """F1 of the second class for two classes, the mean over classes beyond."""
    predicted = np.eye(scores.shape[1])[scores.argmax(axis=1)]
    hits = weights @ (predicted * targets)
    sizes = weights @ (predicted + targets)
    f1 = np.divide(2 * hits, sizes, out=np.zeros_like(hits), where=sizes > 0)
    return float(f1[1] if f1.size == 2 else f1.mean())
