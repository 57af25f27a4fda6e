"""LSPC beside what else a user of scikit-learn would try: time to fit, log-loss, error.

::

    python -m kinlearn_experiments.measures.rivals [--quick] [--threads 1] [--seeds 1]

The rival in the ratio is ``GridSearchCV(CalibratedClassifierCV(SVC(), ensemble=False))`` over a
6×6 grid of widths and C, 5-fold, picked by log-loss. Cells are written to ``results/rivals.json``
one by one, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV
from kinlearn.kernels import median_width, resolve_kernel
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.data import Split, names, split
from kinlearn_experiments.results import RESULTS, Results, geometric_mean, significant
from kinlearn_experiments.tables import table

WIDTH_FACTORS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
# Larger costs would only slow the rival down: on noisy data 10⁴ takes ten times the time of 10³.
SVC_COSTS = np.logspace(-1, 3, 6)
LOGISTIC_COSTS = np.logspace(-2, 3, 6)
# Its cost grows with the cube of the rows times the classes, a hundred times over.
GAUSSIAN_PROCESS_ROWS = 300
REFERENCE = "SVC, calibrated, 6×6 grid"
OURS = "LSPCCV"


def gammas(X: np.ndarray) -> np.ndarray:
    """The widths LSPCCV tries, as scikit-learn writes them."""
    sigmas = median_width(X, resolve_kernel("rbf")) * WIDTH_FACTORS
    return 0.5 / sigmas**2


def folds(y: np.ndarray) -> Any:
    """Five stratified folds; rarer classes are spread as far as they go."""
    return StratifiedKFold(5, shuffle=True, random_state=0)


def tuned(model: BaseEstimator, grid: dict[str, Any], y: np.ndarray) -> GridSearchCV:
    return GridSearchCV(model, grid, cv=folds(y), scoring="neg_log_loss")


def svc(data: Split) -> GridSearchCV:
    model = CalibratedClassifierCV(SVC(), ensemble=False, cv=5)
    grid = {"estimator__C": SVC_COSTS, "estimator__gamma": gammas(data.X)}
    return tuned(model, grid, data.y)


def nystroem(data: Split) -> GridSearchCV:
    model = make_pipeline(
        Nystroem(n_components=min(300, data.y.size // 2), random_state=0),
        LogisticRegression(max_iter=1000),
    )
    grid = {"nystroem__gamma": gammas(data.X), "logisticregression__C": LOGISTIC_COSTS}
    return tuned(model, grid, data.y)


def gaussian_process(data: Split) -> GaussianProcessClassifier:
    width = median_width(data.X, resolve_kernel("rbf"))
    return GaussianProcessClassifier(ConstantKernel() * RBF(width), random_state=0)


class Lsanomaly(BaseEstimator):
    """lsanomaly's least-squares classifier at its defaults, without its class of outliers.

    Its default width is the median distance to the fifth neighbour (the row itself counted), which
    version 0.1.3 can no longer compute with current scikit-learn: it is computed here.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> Lsanomaly:
        from lsanomaly import LSAnomaly

        np.random.seed(0)  # noqa: NPY002  (it draws its centres from the global generator)
        self.classes_ = np.unique(y)
        distances = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(X)[0][:, -1]
        self.model_ = LSAnomaly(sigma=float(np.median(distances)))
        self.model_.fit(X, y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        inliers = self.model_.predict_proba(X)[:, :-1]
        total = inliers.sum(axis=1, keepdims=True)
        uniform = np.full_like(inliers, 1.0 / inliers.shape[1])
        return np.divide(inliers, total, out=uniform, where=total > 0)


def rivals() -> dict[str, Callable[[Split], Any]]:
    """Return the models by name, those that are installed."""
    found: dict[str, Callable[[Split], Any]] = {
        OURS: lambda data: LSPCCV(random_state=0),
        REFERENCE: svc,
        "Nystroem + LogisticRegression, 6×6 grid": nystroem,
        "HistGradientBoosting": lambda data: HistGradientBoostingClassifier(random_state=0),
        f"GaussianProcess, n = {GAUSSIAN_PROCESS_ROWS}": gaussian_process,
    }
    try:
        import lsanomaly  # noqa: F401
    except ImportError:
        advice = 'pip install "kinlearn-experiments[bench]"'
        print(f"lsanomaly is not installed ({advice}): its line is left out.")
    else:
        found["lsanomaly"] = lambda data: Lsanomaly()
    return found


def measure(make: Callable[[Split], Any], data: Split) -> dict[str, float]:
    """Fit once and score on the test rows; seconds are wall and processor time of the fit."""
    model = make(data)
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(data.X, data.y)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    proba = model.predict_proba(data.X_test)
    truth = np.searchsorted(model.classes_, data.y_test)
    right = proba[np.arange(truth.size), truth]
    return {
        "seconds": significant(wall),
        "processor_seconds": significant(processor),
        "log_loss": significant(-np.log(np.maximum(right, 1e-15)).mean()),
        "error": significant((proba.argmax(axis=1) != truth).mean()),
        "n_train": data.y.size,
    }


def without_rare(data: Split, least: int = 10) -> Split:
    """Leave out classes too rare for five folds inside five folds, for all models alike."""
    classes, counts = np.unique(data.y, return_counts=True)
    common = classes[counts >= least]
    train, test = np.isin(data.y, common), np.isin(data.y_test, common)
    return Split(data.X[train], data.y[train], data.X_test[test], data.y_test[test])


def summary(cells: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: geometric means of ratios to the reference over data sets."""
    per_model: dict[str, dict[str, list[dict[str, float]]]] = {}
    for key, cell in cells.items():
        model, data_set, _ = key.rsplit("/", 2)
        per_model.setdefault(model, {}).setdefault(data_set, []).append(cell)

    def mean(model: str, data_set: str, what: str) -> float:
        return float(np.mean([cell[what] for cell in per_model[model][data_set]]))

    rows = []
    for model in per_model:
        shared = [name for name in per_model[model] if name in per_model.get(REFERENCE, {})]
        if not shared:
            continue
        ratios = {
            what: [
                max(mean(model, name, what), 1e-4) / max(mean(REFERENCE, name, what), 1e-4)
                for name in shared
            ]
            for what in ("log_loss", "error", "seconds", "processor_seconds")
        }
        rows.append(
            [
                model,
                str(len(shared)),
                f"{geometric_mean(ratios['log_loss']):.3f}",
                f"{geometric_mean(ratios['error']):.3f}",
                f"{1 / geometric_mean(ratios['seconds']):.1f}×",
                f"{1 / max(ratios['seconds']):.1f}×",
                f"{1 / geometric_mean(ratios['processor_seconds']):.1f}×",
            ]
        )
    header = ["model", "sets", "log-loss ratio", "error ratio", "faster", "at least", "CPU time"]
    return header, rows


def details(cells: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: log-loss and fit seconds of every model on every data set."""
    models = list(dict.fromkeys(key.rsplit("/", 2)[0] for key in cells))
    sets = list(dict.fromkeys(key.rsplit("/", 2)[1] for key in cells))
    rows = []
    for name in sets:
        row = [name]
        for model in models:
            found = [cell for key, cell in cells.items() if key.startswith(f"{model}/{name}/")]
            row.append(
                f"{np.mean([c['log_loss'] for c in found]):.3f} "
                f"({np.mean([c['seconds'] for c in found]):.2f} s)"
                if found
                else ""
            )
        rows.append(row)
    return ["log-loss (fit)", *models], rows


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="150 rows of two data sets")
    parser.add_argument("--threads", type=int, default=1, help="BLAS and OpenMP threads")
    parser.add_argument("--rows", type=int, help="training rows, at most")
    parser.add_argument("--seeds", type=int, default=1, help="splits of each data set")
    parser.add_argument("--sets", nargs="+", help="data sets")
    parser.add_argument("--fresh", action="store_true", help="forget earlier cells")
    parser.add_argument("--out", type=Path, default=RESULTS / "rivals.json")
    options = parser.parse_args(arguments)
    n = options.rows or (150 if options.quick else 2000)
    sets = options.sets or (["wine", "digits"] if options.quick else names())
    results = Results(options.out, fresh=options.fresh)
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = rivals()
        # the two of the ratio first, one after the other on each data set
        pair = {name: models.pop(name) for name in (OURS, REFERENCE)}
        rounds = product((pair, models), range(options.seeds), sets)
        for group, seed, name in rounds:
            for model, make in group.items():
                rows = min(n, GAUSSIAN_PROCESS_ROWS) if model.startswith("Gaussian") else n
                data = without_rare(split(name, rows, seed, n_test=5000))
                print(f"... {name}, split {seed}: {model}", flush=True)
                results.cell((model, name, seed), partial(measure, make, data))
        results.save(machine=machine_facts(), threads=options.threads, n_train=n)
    print(table(*details(results.cells)))
    print()
    print(table(*summary(results.cells)))
    return results


if __name__ == "__main__":
    main()
