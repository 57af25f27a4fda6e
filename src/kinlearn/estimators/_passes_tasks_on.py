"""What wrappers around one classifier share that gets the task ids, if it takes such."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from kinlearn.estimators.task_wrapper import TaskWrapper
from kinlearn.pipelines import before_last, fit_arguments, last_step
from kinlearn.tasks import split_tasks


def need_probabilities(estimator: Any) -> None:
    """Refuse a classifier without ``predict_proba``."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"{type(last_step(estimator)).__name__} has no predict_proba, and without "
            "probabilities nothing tells sure cases from unsure ones: use a classifier that "
            "has it, or wrap yours in sklearn.calibration.CalibratedClassifierCV."
        )


class PassesTasksOn(TaskWrapper):
    """A wrapper around one classifier, which gets the task ids if it takes such."""

    def _need_probabilities(self) -> None:
        need_probabilities(self.estimator)

    def _refuse_unused_weights(self, sample_weight: Any) -> None:
        if sample_weight is not None and not self._takes("sample_weight"):
            raise TypeError(
                f"{type(last_step(self.estimator)).__name__} takes no sample_weight, so none can "
                "be passed to its wrapper."
            )

    def _takes(self, name: str) -> bool:
        return has_fit_parameter(last_step(self.estimator), name)

    def _fit_inner(self, X: Any, y: NDArray, given: dict[str, Any]) -> Any:
        model = clone(self.estimator)
        return model.fit(X, y, **fit_arguments(model, given))

    def _ask(self, method: str, X: Any, ids: NDArray | None) -> Any:
        return getattr(self.estimator_, method)(X, **self._task_given(ids))

    def _task_given(self, ids: NDArray | None) -> dict[str, Any]:
        return {"task": ids} if ids is not None and self._takes("task") else {}

    def _familiarity(self, X: Any) -> NDArray[np.float64]:
        return last_step(self.estimator_).familiarity(before_last(self.estimator_, X))

    def _features(self, X: Any) -> Any:
        """The rows without the column that holds their tasks."""
        return X if self.task_column is None else split_tasks(X, None, self.task_column)[0]

    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Class probabilities; subclasses define it."""
        raise NotImplementedError

    def predict(self, X: Any, task: Any = None) -> NDArray:
        """Return the class of largest probability for every row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        proba = self.predict_proba(X, task=task)
        return self.classes_[proba.argmax(axis=1)]
