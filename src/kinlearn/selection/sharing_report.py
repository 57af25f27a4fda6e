"""Whether sharing helps: the held-out score of the search beside separate and pooled models."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.selection.scoring import score_grid, task_scores
from kinlearn.selection.search import GridSearch


def sharing_report(
    search: GridSearch, rule: str, weights: np.ndarray, tasks: list[Any], scales: bool = False
) -> dict[str, Any]:
    """Return per task the held-out score of the mix, of sharing = 0 alone and of sharing = 1 alone.

    All three are combined from their part of the grid by the same rule and scored on the same
    held-out rows, so that the differences are what sharing gains. NaN where the grid has no such
    point, or the criterion is not defined for a task (an AUC of one class).

    Parameters
    ----------
    search : GridSearch
        After its run, over axes that include ``sharing``.
    rule : str
        Of :data:`kinlearn.selection.combine.RULES`.
    weights : ndarray
        The mix that the rule made of all points.
    tasks : list
        Task ids in the order of their numbers.
    scales : bool, default=False
        Whether log-loss refined the mix, as it then does the others.

    Returns
    -------
    dict
        ``task``, ``n_rows``, ``shared``, ``independent``, ``pooled``, ``gain_over_independent``,
        ``gain_over_pooled``: arrays over tasks; ``overall``: the search's own score of the three.
    """
    task = search.rows.task
    assert task is not None
    sharing = np.array([point["sharing"] for point in search.points])
    refine = scales and not search.rows.many_copies
    parts = {"shared": np.ones(len(sharing), dtype=bool)}
    parts["independent"], parts["pooled"] = sharing == 0.0, sharing == 1.0
    report: dict[str, Any] = {
        "task": np.array(tasks),
        "n_rows": _n_rows(search, task, len(tasks)),
    }
    overall = {}
    for name, chosen in parts.items():
        report[name] = np.full(len(tasks), np.nan)
        overall[name] = float("nan")
        if chosen.any():
            mix = weights if chosen.all() else search.combined(rule, refine, chosen)
            scores = search.mixed_scores(mix)
            found = task_scores(scores, search.rows, search.scoring)
            report[name][: len(found)] = found
            values, _ = score_grid(scores[None], search.rows, search.scoring)
            overall[name] = float(np.nanmean(values))
    report["gain_over_independent"] = report["shared"] - report["independent"]
    report["gain_over_pooled"] = report["shared"] - report["pooled"]
    report["overall"] = overall
    return report


def _n_rows(search: GridSearch, task: np.ndarray, n_tasks: int) -> np.ndarray:
    """Number of copies of rows in each task."""
    validation = search.rows.validation
    weights = search.rows.weights[:, 0] if validation is None else validation.copies
    copies = np.bincount(task, weights=weights, minlength=n_tasks)
    return np.round(copies).astype(np.int64)
