"""One classifier for all tasks together: the single-task, combined baseline (STC) of mt-lspc."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from kinlearn.estimators.task_wrapper import BaselineOfTasks, fit_weighted, inner_has


class PooledTasks(BaselineOfTasks):
    """Fit any classifier on the samples of all tasks as if they were one (STC of mt-lspc).

    Parameters
    ----------
    estimator : classifier
        Fitted once, on all samples.
    unseen : {"pooled", "error"}
        A task without training samples is answered like any other, or refused.
    task_column : str or int, optional
        Name or position of the column of X that holds the task ids; it is not a feature.

    Attributes
    ----------
    classes_ : ndarray
        Classes of all tasks.
    tasks_ : ndarray or None
        Task ids; None when fitted without any.
    estimator_ : classifier
        The fitted classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    References
    ----------
    Called STC in section 4.1 of Simm, Sugiyama, Kato (2011). Computationally efficient multi-task
    learning with least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from kinlearn import PooledTasks
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=3, random_state=0)
    >>> model = PooledTasks(LogisticRegression()).fit(X, y, task=task)
    >>> model.predict_proba(X[:2], task=task[:2]).shape
    (2, 2)
    """

    def __init__(
        self, estimator: Any, *, unseen: str = "pooled", task_column: str | int | None = None
    ) -> None:
        self.estimator = estimator
        self.unseen = unseen
        self.task_column = task_column

    def fit(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> PooledTasks:
        """Fit the estimator on all samples; task ids are checked and remembered, not used.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        task : array-like of shape (n_samples,), optional
            Task ids; none means one task.
        sample_weight : array-like of shape (n_samples,), optional
            Passed on to the estimator.

        Returns
        -------
        PooledTasks
            The fitted estimator itself.
        """
        self._check_unseen()
        X, y, _, sample_weight = self._read_training(X, y, task, sample_weight)
        self.estimator_ = fit_weighted(clone(self.estimator), X, y, sample_weight)
        return self

    def predict(self, X: Any, task: Any = None) -> NDArray:
        """Predicted class of each sample.

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
        return self._apply(X, task, "predict")

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Probabilities, one column per class.

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
        return self._apply(X, task, "predict_proba")

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Scores of the pooled model.

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
        return self._apply(X, task, "decision_function")

    def _apply(self, X: Any, task: Any, method: str) -> Any:
        X, ids = self._read_new(X, task, method)
        self._number(ids)
        return getattr(self.estimator_, method)(X)
