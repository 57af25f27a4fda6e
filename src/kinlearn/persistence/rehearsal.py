"""One answer before a model is handed over: a file whose model cannot answer is refused.

The row asked for is made up (ones, and a text where a pipeline encodes categories), so that no row
of the training data need be kept. Some models rightly refuse such a row; when a model is saved it
is noted whether it answers, and a file of one that did is held to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.pipeline import Pipeline

from kinlearn.persistence.describe import encoded_columns, final_estimator

MOST_TASKS = 1000
MOST_BYTES = 8 << 20  # of the rows asked for
SOME_CENTERS = 64  # all have the same shape, so that a few tell as much as all


def answers(model: Any) -> bool:
    """Return whether a model answers for a made-up row; it is left as it is."""
    try:
        rehearse(model)
    except Exception:  # a row that this model refuses, for reasons of its own
        return False
    return True


def rehearse(model: Any) -> None:
    """Ask for one answer under every task, and raise whatever comes in its place.

    Parameters
    ----------
    model : estimator
        With ``predict``, or else ``transform``.
    """
    method = "predict" if hasattr(model, "predict") else "transform"
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        parallel_config(backend="sequential"),
    ):
        warnings.simplefilter("ignore")
        for rows, given in _questions(model):
            found = np.asarray(getattr(model, method)(rows, **given))
            if len(found) != len(rows):
                raise ValueError(f"{len(found)} answers for {len(rows)} rows")
            if hasattr(model, "predict_proba"):
                _check_probabilities(model, model.predict_proba(rows, **given), len(rows))


def _check_probabilities(model: Any, proba: Any, n_rows: int) -> None:
    for each in proba if isinstance(proba, list) else [proba]:
        if len(each) != n_rows or not np.isfinite(each).all():
            raise ValueError("probabilities that are no numbers")
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) or isinstance(proba, list):
        return  # several labels, or tasks with classes of their own
    if proba.shape[1] != len(classes):
        raise ValueError(f"{proba.shape[1]} probabilities for {len(classes)} classes")


def _questions(model: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield rows and the arguments that go with them."""
    widths = model.n_features_in_
    if not isinstance(widths, (list, dict)):
        ids = _task_ids(model)
        yield _with_tasks(model, _rows(model, int(widths), max(1, len(ids))), ids)
        return
    for task in list(model.tasks_)[:MOST_TASKS]:  # features of their own for every task
        yield _ones(1, int(widths[task])), {"task": task}


def _task_ids(model: Any) -> list[Any]:
    """Some ids of tasks, and one never seen where that is answered, too."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    tasks = getattr(last, "tasks_", None)
    if tasks is None:
        return []
    some = np.unique(np.linspace(0, len(tasks) - 1, MOST_TASKS).astype(int))
    ids = np.asarray(tasks)[some].tolist()
    if getattr(last, "unseen", "error") != "error":
        ids.append(max(ids) + 1 if np.asarray(tasks).dtype.kind in "iuf" else "\0unseen")
    return ids


def _rows(model: Any, width: int, n_rows: int) -> Any:
    rows = _ones(n_rows, width)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return rows
    import pandas as pd

    encoded = encoded_columns(model, [str(name) for name in names])
    table = pd.DataFrame(rows, columns=list(names))
    return table.assign(**{name: "?" for name in names if name in encoded})


def _ones(n_rows: int, width: int) -> np.ndarray:
    if not 0 < width <= MOST_BYTES // (8 * n_rows):
        raise ValueError(f"{n_rows} rows of {width} columns are too many to try")
    return np.ones((n_rows, width))


def _with_tasks(model: Any, rows: Any, ids: list[Any]) -> tuple[Any, dict[str, Any]]:
    column = getattr(final_estimator(model), "task_column", None)
    if not ids:
        return rows, {}
    if column is None:
        return rows, {"task": np.asarray(ids, dtype=None if _one_kind(ids) else object)}
    if isinstance(model, Pipeline) or not hasattr(rows, "columns"):
        raise ValueError("no way is known to ask for a task by a column here")
    at = column if isinstance(column, int) else rows.shape[1]
    rows.insert(at, str(column), ids)
    return rows, {}


def _one_kind(ids: list[Any]) -> bool:
    return len({isinstance(each, str) for each in ids}) == 1


@contextmanager
def with_few_centers(objects: list[Any]) -> Iterator[None]:
    """Let kernel estimators work with some of their centres, which takes little memory and time.

    The objects are changed for that while, so that nobody else may use them.
    """
    whole = [(each, each.model_) for each in objects if hasattr(each, "model_")]
    try:
        for each, model in whole:
            shared = model.shared
            each.model_ = replace(
                model,
                centers=model.centers[:SOME_CENTERS],
                coef=model.coef[..., :SOME_CENTERS, :],
                shared=None if shared is None else shared[..., :SOME_CENTERS, :],
            )
        yield
    finally:
        for each, model in whole:
            each.model_ = model
