"""Probabilities and familiarity of the same rows, in one pass where a kernel model can."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.distributed.prediction import is_dask
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._familiarity import usual_support
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
        rows, kept = last._rows(X), last.model_
        near = np.empty(rows.shape[0])

        def look(some: slice, measure: Array) -> None:
            near[some] = nearest_of(measure)

        proba = kept.proba(kept.scores(rows, last.memory_mb, seen=look))
        return proba, familiarity(near, usual_support(kept))


def in_one_pass(last: Any) -> bool:
    """Whether the nearness of rows is told by what their scores are computed from."""
    if not isinstance(last, KernelClassifier) or isinstance(last, TaskClassifier):
        return False
    kept = getattr(last, "model_", None)
    if kept is None or kept.shared is not None or kept.kernel.name == "cosine":
        return False
    own = [kernel for kernel, _ in kept.by_kernel() if kernel is kept.kernel]
    return len(own) == 1 and kept.kernel.measures_width and kept.n_centers >= NEIGHBOURS
