"""Methods for many related tasks of the same features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

from kinlearn import (
    LSPCCV,
    IndependentTasks,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPCCV,
    PooledTasks,
)
from kinlearn_experiments.bench.methods.trees import BoostingCV, ForestCV, LightGBMCV
from kinlearn_experiments.bench.methods.tuning import tuned
from kinlearn_experiments.bench.problem import Blocks, Method, Problem

OURS = "MultiTaskLSPCCV"
Floats = NDArray[np.float64]


def fit(model: Any, problem: Problem) -> Any:
    """Fit on rows, labels and tasks."""
    X, y, task = problem.train
    return model.fit(X, y, task=task)


def predict(model: Any, problem: Problem) -> Blocks:
    """One block a task, in the order of the tasks."""
    X, task = problem.test
    proba = np.asarray(model.predict_proba(X, task=task))
    return [proba[task == t] for t in np.unique(task)]


class WithTask(ClassifierMixin, BaseEstimator):
    """Any classifier that sees the task as further features.

    Parameters
    ----------
    estimator : classifier
    coding : {"number", "one-hot", "interactions"}
        The task's number as one column (for trees, which read it as a category); one column a task;
        or, beside these, a copy of all features for each task, which is zero in all others: a
        linear model then has shared and individual weights.
    """

    def __init__(self, estimator: Any, coding: str = "number") -> None:
        self.estimator = estimator
        self.coding = coding

    def fit(self, X: Floats, y: NDArray[Any], task: NDArray[Any]) -> WithTask:
        """Fit on the rows with their task appended."""
        self.tasks_ = np.unique(task)
        self.estimator_ = clone(self.estimator).fit(self._joined(X, task), y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Floats, task: NDArray[Any]) -> Floats:
        """Probabilities for rows of known tasks."""
        return self.estimator_.predict_proba(self._joined(X, task))

    def _joined(self, X: Floats, task: NDArray[Any]) -> Floats:
        if self.coding == "number":
            return np.column_stack([X, np.searchsorted(self.tasks_, task)])
        indicator = (task[:, None] == self.tasks_).astype(np.float64)
        if self.coding == "one-hot":
            return np.hstack([X, indicator])
        copies = (indicator[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        return np.hstack([X, indicator, copies])


def linear(problem: Problem) -> Any:
    """Logistic regression with shared and individual weights."""
    model = tuned(LogisticRegression(max_iter=1000), {"C": np.logspace(-4, 3, 8)})
    return WithTask(model, coding="interactions")


def boosting(problem: Problem) -> Any:
    """Boosted trees with the task as a category."""
    return WithTask(BoostingCV(categorical=[problem.train[0].shape[1]]))


def light(problem: Problem) -> Any:
    """LightGBM with the task as a category."""
    return WithTask(LightGBMCV(categorical=[problem.train[0].shape[1]]))


METHODS = (
    Method(OURS, lambda problem: MultiTaskLSPCCV(random_state=0), "its defaults"),
    Method(
        "KLR-MT",
        lambda problem: MultiTaskKernelLogisticRegressionCV(random_state=0),
        "MultiTaskKernelLogisticRegressionCV, its defaults: the same kernel and grids",
    ),
    Method(
        "STI: LSPCCV",
        lambda problem: IndependentTasks(LSPCCV(random_state=0)),
        "each task alone, by leave-one-out",
    ),
    Method(
        "STC: LSPCCV",
        lambda problem: PooledTasks(LSPCCV(random_state=0)),
        "all tasks as one, by leave-one-out",
    ),
    Method("Logistic, shared + own", linear, "features and a copy a task, 8 C, 3-fold, log-loss"),
    Method("HistGradientBoosting", boosting, "task as a category; as in single"),
    Method("LightGBM", light, "task as a category; as in single", "lightgbm"),
    Method(
        "Random forest",
        lambda problem: WithTask(ForestCV(), coding="one-hot"),
        "task one-hot; as in single",
    ),
)
