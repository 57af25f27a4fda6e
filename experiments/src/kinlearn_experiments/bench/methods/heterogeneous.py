"""Methods for tasks whose features differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import (
    LSPCCV,
    HeterogeneousLSPC,
    KernelLogisticRegressionCV,
    MTDAClassifier,
    RatioTraceLDA,
)
from kinlearn_experiments.bench.methods.prevalidated_ridge import PrevalidatedRidge
from kinlearn_experiments.bench.methods.trees import LightGBMCV
from kinlearn_experiments.bench.methods.tuning import tuned
from kinlearn_experiments.bench.problem import Blocks, Method, Problem

OURS = "HeterogeneousLSPC"
Floats = NDArray[np.float64]


def fit(model: Any, problem: Problem) -> Any:
    """Fit on the rows and labels of all tasks."""
    return model.fit(*problem.train)


def predict(model: Any, problem: Problem) -> Blocks:
    """One block a task."""
    (Xs,) = problem.test
    return [np.asarray(model.predict_proba(X, task=k)) for k, X in enumerate(Xs)]


class OnePerTask(BaseEstimator):
    """Any classifier on each task alone."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, Xs: list[Floats], ys: list[NDArray[Any]]) -> OnePerTask:
        """Fit a clone on each task."""
        self.estimators_ = [clone(self.estimator).fit(X, y) for X, y in zip(Xs, ys, strict=True)]
        return self

    def predict_proba(self, X: Floats, task: int) -> Floats:
        """Probabilities by the task's own classifier."""
        return self.estimators_[task].predict_proba(X)


def linear(problem: Problem) -> Any:
    """Logistic regression on each task."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    grid = {"logisticregression__C": np.logspace(-4, 1, 6)}
    return OnePerTask(tuned(model, grid))


METHODS = (
    Method(OURS, lambda problem: HeterogeneousLSPC(random_state=0), "its defaults"),
    Method(
        "HeterogeneousLSPC, LDA",
        lambda problem: HeterogeneousLSPC(reducer=RatioTraceLDA(), random_state=0),
        "a reduction for each task alone",
    ),
    Method(
        "MTDA, nearest neighbour",
        lambda problem: MTDAClassifier(),
        "the paper's classifier; answers 0 or 1",
    ),
    Method(
        "LSPCCV a task",
        lambda problem: OnePerTask(LSPCCV(random_state=0)),
        "all features, by leave-one-out",
    ),
    Method(
        "KLR a task",
        lambda problem: OnePerTask(KernelLogisticRegressionCV(random_state=0)),
        "KernelLogisticRegressionCV, all features",
    ),
    Method(
        "Shrinkage LDA a task",
        lambda problem: OnePerTask(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        "Ledoit and Wolf's shrinkage",
    ),
    Method("Logistic a task", linear, "6 C, 3-fold, log-loss"),
    Method(
        "Prevalidated ridge a task",
        lambda problem: OnePerTask(make_pipeline(StandardScaler(), PrevalidatedRidge())),
        "as in single",
    ),
    Method(
        "LightGBM a task",
        lambda problem: OnePerTask(LightGBMCV()),
        "as in single",
        "lightgbm",
    ),
    Method(
        "Random forest a task",
        lambda problem: OnePerTask(RandomForestClassifier(500, random_state=0)),
        "500 trees",
    ),
)
