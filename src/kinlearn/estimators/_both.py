"""Probabilities, answers and familiarity of the same rows, in one pass where a model can."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.distributed.prediction import is_dask
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._familiarity import usual_support
from kinlearn.estimators._passes_tasks_on import PassesTasksOn
from kinlearn.estimators._task_classifier import TaskClassifier
from kinlearn.familiarity import NEIGHBOURS, familiarity, nearest_of
from kinlearn.pipelines import before_last, last_step
from kinlearn.threads import own_threads

Array = NDArray[np.float64]


def proba_and_familiarity(model: Any, X: Any, given: dict[str, Any]) -> tuple[Array, Array | None]:
    """Return what ``predict_proba`` and ``familiarity`` of a classifier or pipeline return.

    Parameters
    ----------
    model : classifier
        Fitted; of one without ``familiarity`` that is None.
    X : array-like
        Rows.
    given : dict
        Further arguments of ``predict_proba``.
    """
    X, last = before_last(model, X), last_step(model)
    if is_dask(X) or not in_one_pass(last):
        told = last.familiarity(X) if hasattr(last, "familiarity") else None
        return last.predict_proba(X, **given), told
    with own_threads(last.n_jobs):
        scores, familiar = _scores_and_familiarity(last, X)
        return last.model_.proba(scores), familiar


def proba_and_answers(
    model: Any, X: Any, given: dict[str, Any], *, familiar: bool
) -> tuple[Array, NDArray, Array | None]:
    """Return probabilities, what ``predict`` returns, and familiarity where it is asked for.

    Classes are told by their numbers. They need not be the most probable ones: with class weights,
    thresholds or costs a model answers otherwise.
    """
    X, last = before_last(model, X), last_step(model)
    told = None
    if type(last).predict in (KernelClassifier.predict, TaskClassifier.predict):
        with own_threads(last.n_jobs):
            if familiar and in_one_pass(last):
                scores, told = _scores_and_familiarity(last, X)
            elif isinstance(last, TaskClassifier):
                scores = last._task_scores(X, given.get("task"), "predict_proba")
            else:
                scores = last._scores(X)
            proba, predicted = last.model_.proba(scores), last.model_.predicted(scores)
    else:
        proba = last.predict_proba(X, **given)
        if type(last).predict is PassesTasksOn.predict:
            predicted = last.classes_[proba.argmax(axis=1)]
        else:
            predicted = last.predict(X, **given)
    if familiar and told is None and hasattr(last, "familiarity"):
        told = last.familiarity(X)
    return proba, predicted if predicted.ndim > 1 else numbers_of(last.classes_, predicted), told


def numbers_of(classes: NDArray, predicted: NDArray) -> NDArray[np.intp]:
    """Return where each answer stands among the classes.

    Examples
    --------
    >>> import numpy as np
    >>> numbers_of(np.array(["b", "a"]), np.array(["a", "a", "b"]))
    array([1, 1, 0])
    """
    order = np.argsort(classes)
    return np.asarray(order[np.searchsorted(classes, predicted, sorter=order)])


def _scores_and_familiarity(last: Any, X: Any) -> tuple[Array, Array]:
    rows, kept = last._rows(X), last.model_
    near = np.empty(rows.shape[0])

    def look(some: slice, measure: Array) -> None:
        near[some] = nearest_of(measure)

    scores = kept.scores(rows, last.memory_mb, seen=look)
    return scores, familiarity(near, usual_support(kept))


def in_one_pass(last: Any) -> bool:
    """Whether the nearness of rows is told by what their scores are computed from."""
    if not isinstance(last, KernelClassifier) or isinstance(last, TaskClassifier):
        return False
    kept = getattr(last, "model_", None)
    if kept is None or kept.shared is not None or kept.kernel.name == "cosine":
        return False
    own = [kernel for kernel, _ in kept.by_kernel() if kernel is kept.kernel]
    return len(own) == 1 and kept.kernel.measures_width and kept.n_centers >= NEIGHBOURS
