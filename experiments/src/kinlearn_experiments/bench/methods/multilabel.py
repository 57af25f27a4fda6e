"""Methods for many yes/no labels a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.svm import SVC

from kinlearn import LSPCCV, KernelLogisticRegressionCV, MultiLabelLSPCCV
from kinlearn_experiments.bench.methods.neighbours import MLkNN
from kinlearn_experiments.bench.methods.single import logistic
from kinlearn_experiments.bench.methods.trees import ForestCV, LightGBMCV
from kinlearn_experiments.bench.methods.tuning import gammas, tuned
from kinlearn_experiments.bench.problem import Blocks, Method, Problem

OURS = "MultiLabelLSPCCV"
Floats = NDArray[np.float64]


def fit(model: Any, problem: Problem) -> Any:
    """Fit on rows and indicators."""
    return model.fit(*problem.train)


def predict(model: Any, problem: Problem) -> Blocks:
    """One block a label."""
    found = model.predict_proba(*problem.test)
    if isinstance(found, list):  # a forest answers label by label
        return [np.asarray(table) for table in found]
    return [np.column_stack([1 - column, column]) for column in np.asarray(found).T]


class OnePerLabel(BaseEstimator):
    """Any classifier, once for each label.

    scikit-learn's MultiOutputClassifier with the answers in one table.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Floats, Y: NDArray[np.int64]) -> OnePerLabel:
        """Fit a clone on each label."""
        self.estimators_ = [clone(self.estimator).fit(X, y) for y in Y.T]
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """P(label = 1), shape (n, T)."""
        return np.column_stack([model.predict_proba(X)[:, 1] for model in self.estimators_])


def svc(problem: Problem) -> Any:
    """A calibrated support vector machine for each label."""
    model = CalibratedClassifierCV(SVC(), ensemble=False, cv=3)
    grid = {
        "estimator__C": [0.1, 1.0, 10.0],
        "estimator__gamma": gammas(problem.train[0])[1:],
    }
    return OnePerLabel(tuned(model, grid))


def chain(problem: Problem) -> Any:
    """A chain of logistic regressions, each tuned, over held-out answers of those before."""
    link = tuned(LogisticRegression(max_iter=1000), {"C": np.logspace(-4, 2, 7)})
    return ClassifierChain(link, cv=3, random_state=0)


METHODS = (
    Method(OURS, lambda problem: MultiLabelLSPCCV(random_state=0), "its defaults"),
    Method(
        "LSPCCV a label",
        lambda problem: OnePerLabel(LSPCCV(random_state=0)),
        "each label alone, by leave-one-out",
    ),
    Method(
        "KLR a label",
        lambda problem: OnePerLabel(KernelLogisticRegressionCV(random_state=0)),
        "KernelLogisticRegressionCV, each label alone",
    ),
    Method("SVC a label, calibrated", svc, "3 widths × 3 C, 3-fold, log-loss, sigmoid"),
    Method("Logistic a label", lambda problem: OnePerLabel(logistic()), "10 C, 3-fold, log-loss"),
    Method("Classifier chain", chain, "logistic links, 7 C, 3-fold, log-loss"),
    Method(
        "LightGBM a label",
        lambda problem: OnePerLabel(LightGBMCV()),
        "as in single",
        "lightgbm",
    ),
    Method("Random forest", lambda problem: ForestCV(), "300 trees, 3 leaf sizes, out-of-bag"),
    Method("ML-kNN", lambda problem: MLkNN(), "3 counts, log-loss of the neighbours' answers"),
)
