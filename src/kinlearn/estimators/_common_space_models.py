"""Classifiers on tasks that were brought into one space: one per task, or one for all."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kinlearn.solvers.alignment import align_class_means
from kinlearn.solvers.scatter import Floats


def knows_tasks(estimator: Any) -> bool:
    """Whether ``fit`` takes ``task=``: such an estimator gets the rows of all tasks at once."""
    return "task" in inspect.signature(estimator.fit).parameters


@contextmanager
def _meant_spread() -> Iterator[None]:
    """Coordinates of a discriminant analysis differ in spread because they differ in worth."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Columns spread", category=UserWarning)
        yield


class SeparateModels:
    """One clone of a classifier per task."""

    def __init__(self, estimator: Any, Zs: Sequence[Floats], ys: Sequence[NDArray[Any]]) -> None:
        with _meant_spread():
            self.models = [clone(estimator).fit(Z, y) for Z, y in zip(Zs, ys, strict=True)]

    def scores(self, Z: Floats, position: int) -> Floats:
        """Unrounded scores, one column per class of the task."""
        return _two_columns(self.models[position].decision_function(Z))

    def probabilities(self, Z: Floats, position: int) -> Floats:
        """The model's own probabilities, one column per class of the task."""
        return self.models[position].predict_proba(Z)


class SharedModel:
    """One classifier that knows tasks, on rows aligned by the classes all tasks have in common."""

    def __init__(self, estimator: Any, Zs: Sequence[Floats], ys: Sequence[NDArray[Any]]) -> None:
        widths = sorted({Z.shape[1] for Z in Zs})
        if len(widths) > 1:
            raise ValueError(
                f"{type(estimator).__name__} shares one space between tasks, but the reducer gives "
                f"them {widths} dimensions; set its n_components, or use an estimator per task."
            )
        kinds = {np.asarray(y).dtype.kind in "biuf" for y in ys}
        if len(kinds) > 1:
            raise ValueError(
                f"{type(estimator).__name__} shares classes between tasks, but some tasks are "
                "labelled by numbers and others by names; use one kind of label."
            )
        self.maps = _alignment(Zs, ys)
        rows = np.vstack([self._aligned(Z, i) for i, Z in enumerate(Zs)])
        tasks = np.repeat(np.arange(len(Zs)), [len(Z) for Z in Zs])
        with _meant_spread():
            self.model = clone(estimator).fit(rows, np.concatenate(list(ys)), task=tasks)
        # The columns of a task: its own classes among those of all tasks.
        self.columns = [np.searchsorted(self.model.classes_, np.unique(y)) for y in ys]

    def _aligned(self, Z: Floats, position: int) -> Floats:
        offset, matrix = self.maps[position]
        return (Z - offset) @ matrix

    def scores(self, Z: Floats, position: int) -> Floats:
        """Unrounded scores, one column per class of the task."""
        rows = self._aligned(Z, position)
        scores = self.model.decision_function(rows, task=np.full(len(rows), position))
        return _two_columns(scores)[:, self.columns[position]]

    def probabilities(self, Z: Floats, position: int) -> Floats:
        """The model's own probabilities, rescaled over the classes of the task."""
        rows = self._aligned(Z, position)
        own = self.model.predict_proba(rows, task=np.full(len(rows), position))
        own = own[:, self.columns[position]]
        mass = own.sum(axis=1, keepdims=True)
        return np.where(mass > 0, own / np.where(mass > 0, mass, 1.0), 1.0 / own.shape[1])


def can_share(Zs: Sequence[Floats], ys: Sequence[NDArray[Any]]) -> bool:
    """Whether tasks can have one classifier: their dimensions and kinds of labels agree."""
    kinds = {np.asarray(y).dtype.kind in "biuf" for y in ys}
    return len(Zs) > 1 and len(kinds) == 1 and len({Z.shape[1] for Z in Zs}) == 1


def _alignment(Zs: Sequence[Floats], ys: Sequence[NDArray[Any]]) -> list[tuple[Floats, Floats]]:
    common = reduce(np.intersect1d, ys)
    if len(Zs) == 1 or common.size < 2:
        return [(np.zeros(Z.shape[1]), np.eye(Z.shape[1])) for Z in Zs]
    means = [
        np.stack([Z[y == label].mean(axis=0) for label in common])
        for Z, y in zip(Zs, ys, strict=True)
    ]
    return align_class_means(means)


def _two_columns(scores: NDArray[Any]) -> Floats:
    """Scores of two classes as two columns, such that softmax sees their difference."""
    if scores.ndim == 2:
        return scores
    return np.column_stack([np.zeros_like(scores), scores])
