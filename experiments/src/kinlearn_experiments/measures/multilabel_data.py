"""Real multi-label data: MultiLabelLSPCCV beside five rivals, half of the rows for training.

Reads the data under ``KINLEARN_DATA``; prints a table per measure and writes
``results/multilabel_data.json``. A rerun goes on where an interrupted one stopped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, MultiLabelLSPCCV
from kinlearn_experiments.bench.data.multilabel import stored
from kinlearn_experiments.bench.methods.neighbours import MLkNN
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

SETS = ("emotions", "yeast", "scene", "cal500", "esc50")
# Fit seconds are processor seconds on one thread, whatever else the machine is doing.
MEASURES = ("macro AUC", "micro F1", "Hamming loss", "log-loss", "fit seconds")
GREATER = {"macro AUC", "micro F1"}
# A forest or a neighbour count may answer exactly 0 or 1: log-loss is of probabilities kept this
# far from there, the same for all methods.
CLIP = 1e-6
FOLDS = 3

Arrays = tuple[np.ndarray, np.ndarray]
Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray], Predict]


def multi_label(**params: Any) -> Fit:
    """MultiLabelLSPCCV with its defaults, or with other parameters."""
    return lambda X, Y: MultiLabelLSPCCV(**params).fit(X, Y).predict_proba


def one_vs_rest_lspc(X: np.ndarray, Y: np.ndarray) -> Predict:
    """Each label tuned, stacked and calibrated alone."""
    return OneVsRestClassifier(LSPCCV()).fit(X, Y).predict_proba


def one_vs_rest_svc(X: np.ndarray, Y: np.ndarray) -> Predict:
    """SVC with a sigmoid fitted on held-out scores."""
    machine = CalibratedClassifierCV(SVC(), method="sigmoid", cv=FOLDS, ensemble=False)
    return OneVsRestClassifier(machine).fit(X, Y).predict_proba


def chain(X: np.ndarray, Y: np.ndarray) -> Predict:
    """A chain of logistic regressions in the order of the labels."""
    return ClassifierChain(LogisticRegression(max_iter=2000)).fit(X, Y).predict_proba


def forest(X: np.ndarray, Y: np.ndarray) -> Predict:
    """A forest of 300 trees over all labels."""
    trees = RandomForestClassifier(300, random_state=0).fit(X, Y)
    return lambda X: np.column_stack([p[:, 1] for p in trees.predict_proba(X)])


def neighbours(X: np.ndarray, Y: np.ndarray) -> Predict:
    """ML-kNN with its authors' k = 10."""
    return MLkNN((10,)).fit(X, Y).predict_proba


METHODS: dict[str, Fit] = {
    "MultiLabelLSPC": multi_label(),
    "one-vs-rest LSPC": one_vs_rest_lspc,
    "one-vs-rest SVC": one_vs_rest_svc,
    "classifier chain": chain,
    "random forest": forest,
    "MLkNN": neighbours,
}
VARIANTS: dict[str, Fit] = {"signed similarity": multi_label(similarity="signed")}


def load(name: str) -> Arrays:
    """Rows and 0/1 labels of a set."""
    return stored("esc50_tags" if name == "esc50" else name, seed=0)


def split(name: str, seed: int) -> tuple[Arrays, Arrays]:
    """Half of the rows for training, standardised by them; labels rare in them left out.

    A label needs as many rows on either side as there are folds in the sigmoid's fit.
    """
    X, Y = load(name)
    order = np.random.RandomState(seed).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    on = Y[train].sum(axis=0)
    usable = (on >= FOLDS) & (len(train) - on >= FOLDS)
    scaler = StandardScaler().fit(X[train])
    return (
        (scaler.transform(X[train]), Y[train][:, usable]),
        (scaler.transform(X[test]), Y[test][:, usable]),
    )


def measure(name: str, fit: Fit, seed: int) -> dict[str, float]:
    """Fit on one half and measure on the other."""
    (X, Y), (X_test, Y_test) = split(name, seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predict = fit(X, Y)
        seconds = time.process_time() - start
        proba = np.clip(predict(X_test), CLIP, 1 - CLIP)
    varies = Y_test.min(axis=0) != Y_test.max(axis=0)
    on = proba > 0.5
    losses = -np.where(Y_test == 1, np.log(proba), np.log1p(-proba))
    values = (
        roc_auc_score(Y_test[:, varies], proba[:, varies], average="macro"),
        f1_score(Y_test, on, average="micro"),
        (on != Y_test).mean(),
        losses.mean(),
        seconds,
    )
    return {key: significant(value) for key, value in zip(MEASURES, values, strict=True)}


def ranks(means: dict[str, dict[str, float]], measure_name: str) -> dict[str, float]:
    """Rank of every method on one set, 1 the best."""
    sign = -1 if measure_name in GREATER else 1
    order = sorted(means, key=lambda method: sign * means[method][measure_name])
    return {method: float(order.index(method) + 1) for method in means}


def summarise(
    cells: dict[str, Any], sets: list[str]
) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, int]]:
    """Means by set and method over the repeats that every method has, and how many those are."""
    means: dict[str, dict[str, dict[str, float]]] = {}
    repeats: dict[str, int] = {}
    for name in sets:
        seeds = {key.rsplit("/", 1)[1] for key in cells if key.startswith(f"{name}/")}
        done = [s for s in seeds if all(f"{name}/{m}/{s}" in cells for m in METHODS)]
        if not done:
            continue
        repeats[name] = len(done)
        means[name] = {
            method: {
                key: float(np.mean([cells[f"{name}/{method}/{s}"][key] for s in done]))
                for key in MEASURES
            }
            for method in METHODS | VARIANTS
            if all(f"{name}/{method}/{s}" in cells for s in done)
        }
    return means, repeats


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the tables, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--out", type=Path, default=RESULTS / "multilabel_data.json")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    options = parser.parse_args(arguments)
    results = Results(options.out, options.fresh)
    if not options.table:
        fill(results, options.sets, options.repeats)
    report(results, options.sets)


def fill(results: Results, sets: list[str], repeats: int) -> None:
    """Measure what is missing."""
    with threadpool_limits(1):
        results.save(machine=machine_facts())
        # Repeat by repeat, so that an interrupted run has every method on every set.
        for seed in range(repeats):
            for name in sets:
                for method, fit in METHODS.items():
                    results.cell((name, method, seed), partial(measure, name, fit, seed))
        for name in sets:
            for method, fit in (METHODS | VARIANTS).items():
                for seed in range(repeats):
                    results.cell((name, method, seed), partial(measure, name, fit, seed))


def report(results: Results, sets: list[str]) -> None:
    """Print a table per measure and keep means and ranks."""
    means, repeats = summarise(results.cells, sets)
    summary: dict[str, dict[str, float]] = {}
    for key in MEASURES:
        rivals = {n: {m: means[n][m] for m in METHODS} for n in means}
        by_set = [ranks(rivals[n], key) for n in means]
        summary[key] = {m: float(np.mean([r[m] for r in by_set])) for m in METHODS}
        rows = [
            [
                method,
                *(f"{means[n][method][key]:.4f}" if method in means[n] else "" for n in means),
                f"{summary[key][method]:.1f}" if method in METHODS else "",
            ]
            for method in METHODS | VARIANTS
        ]
        header = [f"{name} ({repeats[name]})" for name in means]
        print(f"\n{key}\n" + table(["method (repeats)", *header, "mean rank"], rows))
    results.save(means=means, mean_ranks=summary, repeats=repeats)


if __name__ == "__main__":
    main()
