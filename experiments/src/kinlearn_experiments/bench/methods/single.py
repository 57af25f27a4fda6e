"""Methods for one task, one label."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.fixes import parse_version

from kinlearn import LSPCCV, KernelLogisticRegressionCV
from kinlearn.kernels import median_width, resolve_kernel
from kinlearn_experiments.bench.methods.anomaly import Lsanomaly
from kinlearn_experiments.bench.methods.catboost import CatBoostCV
from kinlearn_experiments.bench.methods.prevalidated_ridge import PrevalidatedRidge
from kinlearn_experiments.bench.methods.trees import BoostingCV, ForestCV, LightGBMCV
from kinlearn_experiments.bench.methods.tuning import folds, gammas, tuned
from kinlearn_experiments.bench.problem import Blocks, Method, Problem

OURS = "LSPCCV"
HAS_TEMPERATURE = parse_version(sklearn.__version__) >= parse_version("1.8")


def fit(model: Any, problem: Problem) -> Any:
    """Fit on rows and labels."""
    return model.fit(*problem.train)


def predict(model: Any, problem: Problem) -> Blocks:
    """One block: the test rows."""
    return [np.asarray(model.predict_proba(*problem.test))]


def svc(problem: Problem) -> Any:
    """Support vector machine, calibrated on held-out scores.

    Platt's sigmoid for two classes. Beyond that it would be one sigmoid a class made to sum to one,
    which states worse probabilities than one temperature, where scikit-learn has that (1.8 on).
    """
    several = problem.train[1].max() > 1
    method = "temperature" if several and HAS_TEMPERATURE else "sigmoid"
    model = CalibratedClassifierCV(SVC(), ensemble=False, cv=3, method=method)
    grid = {
        "estimator__C": np.logspace(-1, 2, 4),
        "estimator__gamma": gammas(problem.train[0]),
    }
    return tuned(model, grid)


def nystroem(problem: Problem) -> Any:
    """Logistic regression on a low-rank kernel map."""
    X = problem.train[0]
    model = make_pipeline(
        Nystroem(n_components=min(300, len(X) // 2), random_state=0),
        LogisticRegression(max_iter=1000),
    )
    grid = {"nystroem__gamma": gammas(X), "logisticregression__C": np.logspace(-2, 2, 5)}
    return tuned(model, grid)


def logistic(problem: Problem | None = None) -> Any:
    """Linear logistic regression along its own path."""
    return LogisticRegressionCV(
        Cs=np.logspace(-4, 4, 10),
        cv=folds(),
        scoring="neg_log_loss",
        max_iter=1000,
    )


def gaussian_process(problem: Problem) -> Any:
    """Gaussian process, tuned by its own marginal likelihood."""
    width = median_width(problem.train[0], resolve_kernel("rbf"))
    return GaussianProcessClassifier(ConstantKernel() * RBF(width), random_state=0)


def neighbours(problem: Problem) -> Any:
    """Nearest neighbours."""
    counts = [k for k in (3, 5, 10, 20, 40) if k < problem.n_train // 2]
    return tuned(
        KNeighborsClassifier(), {"n_neighbors": counts, "weights": ["uniform", "distance"]}
    )


def anomaly(problem: Problem) -> Any:
    """lsanomaly with its width and regularisation searched."""
    return tuned(Lsanomaly(), {"width": [0.5, 1.0, 2.0, 4.0], "rho": [1e-3, 1e-2, 0.1, 1.0]})


GRID = "3-fold, log-loss"

METHODS = (
    Method(OURS, lambda problem: LSPCCV(random_state=0), "its defaults: closed-form leave-one-out"),
    Method(
        "KernelLogisticRegressionCV",
        lambda problem: KernelLogisticRegressionCV(random_state=0),
        "its defaults: the same kernel and grids",
    ),
    Method("SVC, calibrated", svc, f"4 widths × 4 C, {GRID}, sigmoid or temperature"),
    Method("Gaussian process", gaussian_process, "width and scale by marginal likelihood"),
    Method("Nystroem + logistic", nystroem, f"4 widths × 5 C, {GRID}"),
    Method("Logistic regression", logistic, f"10 C, {GRID}"),
    Method(
        "Prevalidated ridge",
        lambda problem: PrevalidatedRidge(),
        "13 strengths and a scale by leave-one-out log-loss",
    ),
    Method(
        "HistGradientBoosting",
        lambda problem: BoostingCV(),
        "100 rounds, 2 tree sizes, 3-fold, log-loss",
    ),
    Method(
        "LightGBM",
        lambda problem: LightGBMCV(),
        "early stopping, 2 tree sizes, 3-fold, log-loss",
        "lightgbm",
    ),
    Method(
        "CatBoost",
        lambda problem: CatBoostCV(),
        "early stopping, 2 depths, 5-fold, log-loss",
        "catboost",
    ),
    Method(
        "Random forest", lambda problem: ForestCV(), "300 trees, 3 leaf sizes, out-of-bag log-loss"
    ),
    Method("Nearest neighbours", neighbours, f"5 counts × 2 weights, {GRID}"),
    Method("lsanomaly", anomaly, f"4 widths × 4 rho, {GRID}", "lsanomaly"),
)
