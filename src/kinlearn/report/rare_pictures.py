"""Pictures for classes that must not be missed: precision against recall, and what errors cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.report.svg import Plot
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.words import percent

Floats = NDArray[np.float64]
_MAX_POINTS = 300


def rarest_class(evaluation: Evaluation) -> int:
    """Number of the class with the fewest rows, of those that have any."""
    counts = np.bincount(evaluation.truth, minlength=len(evaluation.classes))
    return int(np.argmin(np.where(counts > 0, counts, counts.max() + 1)))


def precision_recall_picture(evaluation: Evaluation) -> str:
    """Share of right alarms against the share of the rarest class found, over all thresholds."""
    k = rarest_class(evaluation)
    name = evaluation.classes[k]
    recall, precision = precision_recall(evaluation.truth == k, evaluation.proba[:, k])
    plot = Plot(
        (0.0, 1.0),
        (0.0, 1.0),
        f"share of {name!r} found",
        "share of alarms that are right",
        f"Precision against recall of {name}",
        percent=True,
    )
    base = float((evaluation.truth == k).mean())
    plot.line([0.0, 1.0], [base, base], "reference")
    keep = np.unique(np.linspace(0, len(recall) - 1, min(len(recall), _MAX_POINTS)).astype(int))
    plot.line(recall[keep].tolist(), precision[keep].tolist(), "curve")
    answered = evaluation.predicted == k
    if answered.any():
        found = float(answered[evaluation.truth == k].mean())
        right = float((evaluation.truth[answered] == k).mean())
        hint = f"{percent(found)} found, {percent(right)} of alarms right"
        plot.dot(found, right, 7.0, "chosen", hint)
    return plot.svg()


def precision_recall(positive: NDArray[np.bool_], score: Floats) -> tuple[Floats, Floats]:
    """Recall and precision at every threshold of the score, the highest first.

    Examples
    --------
    >>> import numpy as np
    >>> precision_recall(np.array([True, False, True]), np.array([0.9, 0.5, 0.1]))
    (array([0.5, 0.5, 1. ]), array([1.        , 0.5       , 0.66666667]))
    """
    order = np.argsort(-score, kind="stable")
    last = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    hits = np.cumsum(positive[order])[last]
    return hits / max(int(positive.sum()), 1), hits / (last + 1)


def cost_picture(evaluation: Evaluation) -> str | None:
    """Mean cost of a row against the probability from which the rarest class is answered.

    Of two classes alone; without costs every error costs 1.
    """
    if len(evaluation.classes) != 2:
        return None
    k = rarest_class(evaluation)
    costs = evaluation.costs if evaluation.costs is not None else 1.0 - np.eye(2)
    threshold, cost = cost_curve(evaluation, k, costs)
    best = float(costs[k, 1 - k] / (costs[k, 1 - k] + costs[1 - k, k]))
    at = float(np.interp(best, threshold, cost))
    top = 1.08 * float(max(cost.max(), 1e-9))
    name = evaluation.classes[k]
    plot = Plot(
        (0.0, 1.0),
        (0.0, top),
        f"probability from which {name!r} is answered",
        "mean cost of a row",
        f"Cost of errors against the threshold for {name}",
    )
    plot.line(threshold.tolist(), cost.tolist(), "curve")
    plot.line([best, best], [0.0, top], "reference")
    plot.dot(best, at, 7.0, "chosen", f"from {percent(best, 1)} on: {at:.3g} a row")
    return plot.svg()


def cost_curve(evaluation: Evaluation, k: int, costs: Floats) -> tuple[Floats, Floats]:
    """Thresholds between 0 and 1, and the mean cost when class k is answered from each on."""
    threshold = np.linspace(0.0, 1.0, 201)
    p = np.sort(evaluation.proba[evaluation.truth == k, k])
    q = np.sort(evaluation.proba[evaluation.truth != k, k])
    missed = np.searchsorted(p, threshold, side="left")
    alarms = len(q) - np.searchsorted(q, threshold, side="left")
    cost = (missed * costs[1 - k, k] + alarms * costs[k, 1 - k]) / evaluation.n_rows
    return threshold, cost
