"""Probabilities over tasks of different features: digits at three resolutions, and generated tasks.

    python -m kinlearn_experiments.measures.heterogeneous [--trials 5] [--fresh]

Log-loss and error on rows not seen, mean over tasks and trials, for few labels a class and task.
"LSPC alone" is LSPCCV on the features of each task. "cross-fitted" and "not" say whether the
calibration held rows out of the reduction too. "aligned, pooled" turns the tasks such that their
class means meet and fits one LSPC on all of them. Writes experiments/results/heterogeneous.json.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, MTDA, HeterogeneousLSPC, RatioTraceLDA
from kinlearn.datasets import load_digits_resolutions, make_heterogeneous_tasks
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table


class Pooled(ClassifierMixin, BaseEstimator):
    """LSPCCV on the rows of all tasks, behind the face of a classifier that knows tasks."""

    def fit(self, X: np.ndarray, y: np.ndarray, task: Any = None) -> Pooled:
        self.model_ = LSPCCV().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X: np.ndarray, task: Any = None) -> np.ndarray:
        return self.model_.decision_function(X)

    def predict_proba(self, X: np.ndarray, task: Any = None) -> np.ndarray:
        return self.model_.predict_proba(X)


Models = dict[str, HeterogeneousLSPC | None]


def models(n_classes: int) -> Models:
    """Columns of the table; None stands for LSPC on every task alone."""
    mtda = MTDA(n_components=n_classes - 1, shrinkage="auto")
    return {
        "LSPC alone": None,
        "MTDA, not": HeterogeneousLSPC(reducer=mtda, estimator=LSPCCV(), cv=None),
        "MTDA, cross-fitted": HeterogeneousLSPC(
            reducer=mtda, estimator=LSPCCV(), cv=5, random_state=0
        ),
        "LDA, not": HeterogeneousLSPC(reducer=RatioTraceLDA(), estimator=LSPCCV(), cv=None),
        "LDA, cross-fitted": HeterogeneousLSPC(
            reducer=RatioTraceLDA(), estimator=LSPCCV(), cv=5, random_state=0
        ),
        "LDA, aligned, pooled (auto)": HeterogeneousLSPC(
            reducer=RatioTraceLDA(), estimator=Pooled(), random_state=0
        ),
    }


def data_set(name: str, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    if name == "digits":
        return load_digits_resolutions(random_state=seed)
    return make_heterogeneous_tasks(
        n_features=(20, 100, 200), n_samples=400, noise=1.0, separation=0.8, random_state=seed
    )


def trial(
    name: str, per_class: int, seed: int, make: Callable[[int], Models] = models
) -> dict[str, list[float]]:
    """Mean log-loss and error over tasks of every model on one split."""
    Xs, ys = data_set(name, seed)
    labels = np.unique(ys[0])
    rng = np.random.default_rng([per_class, seed])
    masks = []
    for y in ys:
        mask = np.zeros(len(y), dtype=bool)
        for k in labels:
            mask[rng.choice(np.flatnonzero(y == k), per_class, replace=False)] = True
        masks.append(mask)
    train = [X[m] for X, m in zip(Xs, masks, strict=True)]
    train_y = [y[m] for y, m in zip(ys, masks, strict=True)]
    found = {}
    for label, model in make(labels.size).items():
        figures = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = None if model is None else model.fit(train, train_y)
            for k, (X, y, mask) in enumerate(zip(Xs, ys, masks, strict=True)):
                rows, truth = X[~mask], y[~mask]
                if fitted is None:
                    alone = LSPCCV().fit(train[k], train_y[k])
                    proba, guess = alone.predict_proba(rows), alone.predict(rows)
                else:
                    proba, guess = (
                        fitted.predict_proba(rows, task=k),
                        fitted.predict(rows, task=k),
                    )
                figures.append((log_loss(truth, proba, labels=labels), np.mean(guess != truth)))
        found[label] = [significant(value) for value in np.mean(figures, axis=0)]
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--out", type=Path, default=RESULTS / "heterogeneous.json")
    args = parser.parse_args(arguments)
    results = Results(args.out, fresh=args.fresh)
    rows = []
    with threadpool_limits(1):
        for name in ("digits", "generated"):
            for per_class in (2, 3, 5, 10):
                cells = [
                    results.cell((name, per_class, seed), partial(trial, name, per_class, seed))
                    for seed in range(args.trials)
                ]
                means = {
                    label: np.mean([cell[label] for cell in cells], axis=0) for label in cells[0]
                }
                rows.append(
                    (
                        f"{name}, {per_class} a class",
                        *(f"{a:.3f} / {b:.3f}" for a, b in means.values()),
                    )
                )
        results.save(machine=machine_facts())
    print("log-loss / error")
    print(table(["data", *models(4)], rows))


if __name__ == "__main__":
    main()
