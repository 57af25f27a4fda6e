"""One classifier per task: the single-task, independent baseline (STI) of mt-lspc."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from kinlearn.estimators.constant_classifier import ConstantClassifier
from kinlearn.estimators.task_wrapper import (
    BaselineOfTasks,
    fit_weighted,
    inner_has,
    spread_probabilities,
    spread_scores,
    take_rows,
)

Index = NDArray[np.intp]


class IndependentTasks(BaselineOfTasks):
    """Fit any classifier on each task alone (STI of mt-lspc, section 4.1).

    A task may lack classes or have seen only one: probabilities keep one column per class of all
    tasks, 0 where the task's own model knows the class not.

    Parameters
    ----------
    estimator : classifier
        Cloned for every task.
    unseen : {"pooled", "error"}
        A task without training samples is answered by one more model, fitted on all tasks' samples
        together, or refused.
    task_column : str or int, optional
        Name or position of the column of X that holds the task ids; it is not a feature.
    n_jobs : int, optional
        Number of tasks fitted side by side, as in joblib.

    Attributes
    ----------
    classes_ : ndarray
        Classes of all tasks.
    tasks_ : ndarray or None
        Task ids; None when fitted without any.
    task_classes_ : dict
        The classes each task has seen.
    estimators_ : list
        One fitted classifier per task.
    pooled_ : classifier or None
        The model for tasks never seen.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    References
    ----------
    Called STI in section 4.1 of Simm, Sugiyama, Kato (2011). Computationally efficient multi-task
    learning with least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from kinlearn import IndependentTasks
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=3, random_state=0)
    >>> model = IndependentTasks(LogisticRegression()).fit(X, y, task=task)
    >>> model.predict_proba(X[:2], task=task[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        unseen: str = "pooled",
        task_column: str | int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.unseen = unseen
        self.task_column = task_column
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> IndependentTasks:
        """Fit one clone of the estimator per task.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Classes.
        task : array-like of shape (n,), optional
            Task ids; none means one task.
        sample_weight : array-like of shape (n,), optional
            Passed on to the estimator.

        Returns
        -------
        IndependentTasks
            The fitted estimator itself.
        """
        self._check_unseen()
        X, y, ids, sample_weight = self._read_training(X, y, task, sample_weight)
        index = self._number(ids)
        groups = _rows_by_task(np.zeros(len(y), dtype=np.intp) if index is None else index)
        whole = self.tasks_ is None
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_one)(self.estimator, X, y, sample_weight, rows, whole) for rows in groups
        )
        names = [None] if self.tasks_ is None else self.tasks_.tolist()
        self.task_classes_ = dict(zip(names, (m.classes_ for m in self.estimators_), strict=True))
        self.pooled_ = None
        if self.tasks_ is not None and self.unseen == "pooled":
            model = ConstantClassifier() if len(self.classes_) == 1 else clone(self.estimator)
            weights = None if len(self.classes_) == 1 else sample_weight
            self.pooled_ = fit_weighted(model, X, y, weights)
        return self

    def predict(self, X: Any, task: Any = None) -> NDArray:
        """Predicted class of each sample by its own task's model.

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
        parts = self._parts(X, task, "predict")
        out = np.empty(sum(len(rows) for *_, rows in parts), dtype=self.classes_.dtype)
        for model, part, rows in parts:
            out[rows] = model.predict(part)
        return out

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Probabilities, one column per class of all tasks.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        return self._columns(self._parts(X, task, "predict_proba"), spread_probabilities)

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Scores of each task's own model; for two classes, of the second over the first.

        With more than two classes over all tasks, a class that a task never saw gets one less than
        the lowest score of the row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        out = self._columns(self._parts(X, task, "decision_function"), spread_scores)
        return out[:, 1] - out[:, 0] if len(self.classes_) == 2 else out

    def _columns(self, parts: list[tuple[Any, Any, Index]], spread: Any) -> NDArray[np.float64]:
        out = np.empty((sum(len(rows) for *_, rows in parts), len(self.classes_)))
        for model, part, rows in parts:
            out[rows] = spread(model, part, self.classes_)
        return out

    def _parts(self, X: Any, task: Any, method: str) -> list[tuple[Any, Any, Index]]:
        X, ids = self._read_new(X, task, method)
        index = self._number(ids)
        if index is None:
            return [(self.estimators_[0], X, np.arange(_num_samples(X)))]
        return [
            (self.pooled_ if t < 0 else self.estimators_[t], take_rows(X, rows), rows)
            for t, rows in zip(np.unique(index), _rows_by_task(index), strict=True)
        ]


def _rows_by_task(index: Index) -> list[Index]:
    order = np.argsort(index, kind="stable")
    starts = np.unique(index[order], return_index=True)[1]
    return np.split(order, starts[1:])


def _fit_one(
    estimator: Any, X: Any, y: NDArray, sample_weight: NDArray | None, rows: Index, whole: bool
) -> Any:
    if not whole:
        X, y, sample_weight = take_rows(X, rows), y[rows], take_rows(sample_weight, rows)
        if len(np.unique(y)) == 1:
            return ConstantClassifier().fit(X, y)
    return fit_weighted(clone(estimator), X, y, sample_weight)
