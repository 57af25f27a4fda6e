"""Reading tasks that differ in their features: lists (task = position) or dicts (task = key)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from kinlearn.estimators._discriminant_checks import encode_classes
from kinlearn.solvers.scatter import Floats, ReducedScatter, reduce_scatter
from kinlearn.training.label_table import refuse_mixed_labels


@dataclass(frozen=True)
class Task:
    """One validated task."""

    key: Hashable
    X: Floats
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    feature_names: NDArray[Any] | None

    def reduce(self) -> ReducedScatter:
        """The scatter matrices in the span of the task, or a sentence when nothing varies."""
        reduced = reduce_scatter(self.X, self.codes, self.classes.size)
        if reduced.rank == 0:
            raise ValueError(
                f"Task {self.key!r}: every one of its {self.X.shape[1]} features is constant, so "
                "there is no direction to find; remove the task or look at its data."
            )
        return reduced


def pair_tasks(Xs: Any, ys: Any) -> list[tuple[Hashable, Any, Any]]:
    """(key, X, y) of every task, after checking that Xs and ys are of one kind and match."""
    if isinstance(Xs, Mapping):
        if not isinstance(ys, Mapping):
            raise TypeError(
                f"Xs is a dict of tasks but ys is a {type(ys).__name__}; give ys as a dict with "
                "the same keys."
            )
        if set(Xs) != set(ys):
            missing = sorted(map(repr, set(Xs) ^ set(ys)))
            raise ValueError(
                f"Xs and ys must have the same tasks as keys; only one of them has "
                f"{', '.join(missing)}."
            )
        pairs = [(key, Xs[key], ys[key]) for key in Xs]
    else:
        _refuse_single_array(Xs)
        if isinstance(ys, Mapping) or not isinstance(ys, Sequence):
            raise TypeError(
                f"Xs is a list of tasks but ys is a {type(ys).__name__}; give ys as a list with "
                "one array of labels per task."
            )
        if len(Xs) != len(ys):
            raise ValueError(
                f"Xs has {len(Xs)} tasks but ys has {len(ys)}; give one array of labels per task."
            )
        pairs = list(zip(range(len(Xs)), Xs, ys, strict=True))
    if not pairs:
        raise ValueError("Xs holds no task; give at least one.")
    return pairs


def _refuse_single_array(Xs: Any) -> None:
    if isinstance(Xs, Sequence) and not isinstance(Xs, str):
        return
    shape = getattr(Xs, "shape", None)
    raise TypeError(
        f"Xs must be a list or a dict with one array per task, but it is a {type(Xs).__name__}"
        f"{f' of shape {shape}' if shape is not None else ''}; for one task pass [X] and [y], or "
        "use TraceRatioLDA."
    )


def validate_task(estimator: BaseEstimator, key: Hashable, X: Any, y: Any) -> Task:
    """Check one task; errors name it."""
    names = _get_feature_names(X)
    X = check_array(
        X, dtype=np.float64, estimator=estimator, input_name=f"X of task {key!r}", order="C"
    )
    refuse_mixed_labels(y, f"y of task {key!r}")
    y = column_or_1d(y, warn=True)
    if len(y) != len(X):
        raise ValueError(
            f"Task {key!r} has {len(X)} rows in X but {len(y)} labels in y; give one label per row."
        )
    classes, codes = encode_classes(y, f"Task {key!r}")
    return Task(key, X, codes, classes, names)


def validate_tasks(estimator: BaseEstimator, Xs: Any, ys: Any) -> list[Task]:
    """Every task of a fit, checked."""
    return [validate_task(estimator, key, X, y) for key, X, y in pair_tasks(Xs, ys)]


def remember_tasks(estimator: Any, tasks: Sequence[Task], *, named: bool) -> None:
    """Keep who the tasks of a fit are."""
    estimator.tasks_ = [task.key for task in tasks]
    estimator._named = named
    estimator.n_features_in_ = by_task(estimator, [task.X.shape[1] for task in tasks])
    estimator.classes_ = by_task(estimator, [task.classes for task in tasks])
    estimator.feature_names_ = by_task(estimator, [task.feature_names for task in tasks])


def by_task(estimator: Any, values: Sequence[Any]) -> Any:
    """A dict when the tasks were given as one, else a list."""
    if estimator._named:
        return dict(zip(estimator.tasks_, values, strict=True))
    return list(values)


def find_task(estimator: Any, task: Hashable | None) -> Any:
    """The task that rows belong to, or a sentence where that is none of the fitted ones."""
    check_is_fitted(estimator)
    name, tasks = type(estimator).__name__, estimator.tasks_
    if task is None:
        if len(tasks) == 1:
            return tasks[0]
        raise ValueError(
            f"This {name} knows {len(tasks)} tasks, {_listed(tasks)}"
            "; say which one the rows belong to with task=."
        )
    try:
        known = task in tasks
    except (TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(
            f"Task {task!r} was not seen in fit; the known tasks are {_listed(tasks)}. "
            "A task with features of its own needs training rows of its own: fit again."
        )
    return task


def check_rows(estimator: Any, X: Any, task: Hashable) -> Floats:
    """Validate rows to transform against the features of their task."""
    expected_names = estimator.feature_names_[task]
    names = _get_feature_names(X)
    if names is not None and expected_names is not None and list(names) != list(expected_names):
        raise ValueError(
            f"Task {task!r} was fitted with the features {_listed(list(expected_names))}, but "
            f"X has {_listed(list(names))}; give the same columns in the same order."
        )
    X = check_array(
        X,
        dtype=np.float64,
        estimator=estimator,
        input_name=f"X of task {task!r}",
    )
    expected = estimator.n_features_in_[task]
    if X.shape[1] != expected:
        raise ValueError(
            f"X has {X.shape[1]} features, but task {task!r} was fitted with {expected}; the "
            "rows may belong to another task."
        )
    return X


class PerTaskTransformer(BaseEstimator, ABC):
    """``fit``, ``transform_all`` and ``fit_transform`` over lists or dicts of tasks."""

    @abstractmethod
    def fit(self, Xs: Any, ys: Any) -> Self:
        """Fit all tasks."""

    @abstractmethod
    def transform(self, X: Any, *, task: Any = None) -> Any:
        """Project rows of one task."""

    def transform_all(self, Xs: Any) -> Any:
        """Project every task.

        Parameters
        ----------
        Xs : list or dict of array-like
            As in ``fit``; a dict may hold some of the tasks only.

        Returns
        -------
        list or dict of ndarray of shape (n_i, n_components)
        """
        if isinstance(Xs, Mapping):
            return {key: self.transform(X, task=key) for key, X in Xs.items()}
        _refuse_single_array(Xs)
        check_is_fitted(self)
        if len(Xs) != len(self.tasks_):
            raise ValueError(
                f"Xs has {len(Xs)} tasks but {len(self.tasks_)} were fitted; give one array per "
                "task, or one task at a time through transform(X, task=)."
            )
        return [self.transform(X, task=key) for key, X in zip(self.tasks_, Xs, strict=True)]

    def fit_transform(self, Xs: Any, ys: Any) -> Any:
        """Fit, and project the training rows of every task.

        Parameters
        ----------
        Xs : list or dict of array-like of shape (n_i, d_i)
            Rows of each task; the task is the position in the list, or the key.
        ys : list or dict of array-like of shape (n_i,)
            Class labels of each task.

        Returns
        -------
        list or dict of ndarray of shape (n_i, n_components)
            The training rows of every task in the common space.
        """
        return self.fit(Xs, ys).transform_all(Xs)


class CommonSpace(PerTaskTransformer, TransformerMixin):
    """Linear projections of every task into one space: ``means_`` and ``components_`` per task."""

    def _read_tasks(self, Xs: Any, ys: Any) -> tuple[list[Task], list[ReducedScatter]]:
        """Check the tasks of a fit; keep who they are, their means and their ranks."""
        tasks = validate_tasks(self, Xs, ys)
        remember_tasks(self, tasks, named=isinstance(Xs, Mapping))
        reduced = [task.reduce() for task in tasks]
        self.means_ = by_task(self, [task.mean for task in reduced])
        self.ranks_ = by_task(self, [task.rank for task in reduced])
        return tasks, reduced

    def transform(self, X: Any, *, task: Any = None) -> Any:
        """Project rows of one task into the common space.

        Parameters
        ----------
        X : array-like of shape (n, d_i)
            Rows of one task.
        task : position or key of the task, default=None
            May be left out when only one task was fitted.

        Returns
        -------
        ndarray of shape (n, n_components_)
            Centred at the training mean of the task.
        """
        task = find_task(self, task)
        X = check_rows(self, X, task)
        return (X - self.means_[task]) @ self.components_[task].T

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the common coordinates: the class name in lower case and a number.

        Parameters
        ----------
        input_features : ignored
            Here because scikit-learn passes it.

        Returns
        -------
        ndarray of str
            One name a common coordinate.
        """
        check_is_fitted(self)
        stem = type(self).__name__.lower()
        return np.array([f"{stem}{j}" for j in range(self.n_components_)], dtype=object)


def _listed(values: Sequence[Any], limit: int = 8) -> str:
    shown = ", ".join(repr(value) for value in values[:limit])
    return shown if len(values) <= limit else f"{shown}, ... ({len(values)} in all)"
