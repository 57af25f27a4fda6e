"""What single-task baselines share: the multi-task face around any scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from kinlearn.tasks import (
    find_tasks,
    number_tasks,
    refuse_unseen,
    split_tasks,
    tasks_at_prediction,
)
from kinlearn.training.label_table import refuse_mixed_labels

REQUESTED: dict[str, bool | None] = {"task": True}


class TaskWrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Reads task ids, checks labels, and adds up the shapes; subclasses say which model answers."""

    __metadata_request__fit = REQUESTED
    __metadata_request__predict = REQUESTED
    __metadata_request__predict_proba = REQUESTED
    __metadata_request__decision_function = REQUESTED
    __metadata_request__score = REQUESTED

    estimator: Any
    task_column: str | int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def _read_training(
        self, X: Any, y: Any, task: Any, sample_weight: Any
    ) -> tuple[Any, NDArray, NDArray | None, NDArray | None]:
        """Return checked X, y, task ids and weights; keep ``classes_`` and ``tasks_``."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target "
                "y is None."
            )
        X, ids = split_tasks(X, task, self.task_column)
        validate_data(self, X, skip_check_array=True)
        refuse_mixed_labels(y)
        y = _check_y(y, estimator=self)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self.tasks_: NDArray | None = None if ids is None else number_tasks(ids)[0]
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, np.empty((_num_samples(X), 1)))
        return X, y, ids, sample_weight

    def _read_new(self, X: Any, task: Any, method: str) -> tuple[Any, NDArray | None]:
        check_is_fitted(self)
        X, ids = tasks_at_prediction(X, task, self.task_column, self.tasks_, method)
        if len(getattr(X, "shape", (0, 0))) == 1:
            raise ValueError(
                "Expected a 2-dimensional table X, got a 1-dimensional one. Reshape your data: "
                "X.reshape(1, -1) for one sample."
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        return X, ids

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Accuracy over all samples of all tasks.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True classes.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
            Share of rows whose class is predicted right.
        """
        given = {} if task is None else {"task": task}
        return float(accuracy_score(y, self.predict(X, **given), sample_weight=sample_weight))

    def predict(self, X: Any, task: Any = None) -> NDArray:
        """Predicted class of each sample; subclasses define it."""
        raise NotImplementedError


class BaselineOfTasks(TaskWrapper):
    """A wrapper that is told what to do about tasks it has not seen."""

    unseen: str

    def _check_unseen(self) -> None:
        if self.unseen not in ("pooled", "error"):
            raise ValueError(f"unseen must be 'pooled' or 'error', got {self.unseen!r}.")

    def _number(self, ids: NDArray | None) -> NDArray[np.intp] | None:
        """Return the number of each row's task, -1 for one never seen; None without tasks."""
        if ids is None or self.tasks_ is None:
            return None
        index = find_tasks(ids, self.tasks_)
        if self.unseen == "error":
            refuse_unseen(index, ids, self.tasks_)
        return index


def inner_has(method: str) -> Any:
    """For ``available_if``: the wrapper offers what the wrapped estimator offers."""

    def check(wrapper: Any) -> bool:
        getattr(wrapper.estimator, method)
        return True

    return check


def fit_weighted(model: Any, X: Any, y: NDArray, sample_weight: NDArray | None) -> Any:
    """Fit, refusing weights that the model would not use."""
    if sample_weight is None:
        return model.fit(X, y)
    if not has_fit_parameter(model, "sample_weight"):
        raise TypeError(
            f"{type(model).__name__} takes no sample_weight, so none can be passed to its wrapper."
        )
    return model.fit(X, y, sample_weight=sample_weight)


def take_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of any kind of table or array; None stays None."""
    return None if values is None else _safe_indexing(values, rows)


def spread_probabilities(model: Any, X: Any, classes: NDArray) -> NDArray[np.float64]:
    """The model's probabilities with a column for every class of all tasks, 0 where unknown."""
    full = np.zeros((_num_samples(X), len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return full


def spread_scores(model: Any, X: Any, classes: NDArray) -> NDArray[np.float64]:
    """The model's scores, one column per class of all tasks; a class it never saw comes last.

    A class unknown to the model gets one less than the row's lowest score: finite, never chosen.
    """
    own = np.asarray(model.decision_function(X), dtype=float)
    if own.ndim == 1:
        own = np.column_stack([-own, own]) / 2.0
    known = np.searchsorted(classes, model.classes_)
    full = np.repeat(own.min(axis=1, keepdims=True) - 1.0, len(classes), axis=1)
    full[:, known] = own
    return full
