"""Demo, tasks whose features differ: handwritten digits seen at three resolutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from kinlearn import MTDA, HeterogeneousLSPC, MTDAClassifier, RatioTraceLDA
from kinlearn.cli.demo_parts.base import PartResult, Steps
from kinlearn.cli.demo_parts.figures_table import add_rows, figures_table
from kinlearn.datasets import load_digits_resolutions
from kinlearn.plots import EmbeddingDisplay, close

Tasks = dict[str, NDArray[Any]]


def heterogeneous(out: Path, console: Console, *, seed: int = 0, quick: bool = False) -> PartResult:
    """Classify digits at 16 × 16, 8 × 8 and 4 × 4 pixels through one common space."""
    with threadpool_limits(limits=1):
        return _heterogeneous(out, console, seed=seed, per_class=4 if quick else 8)


def _heterogeneous(out: Path, console: Console, *, seed: int, per_class: int) -> PartResult:
    train_X, train_y, test_X, test_y = split_digits(seed, per_class)
    methods: dict[str, Any] = {
        "MTDA + 1-NN": MTDAClassifier(),
        "MTDA + LSPC": HeterogeneousLSPC(random_state=seed),
        "LDA + LSPC": HeterogeneousLSPC(reducer=RatioTraceLDA(), random_state=seed),
    }
    rows = []
    with Steps(console, total=len(methods) + 1) as steps:
        for name, model in methods.items():
            steps.stage(f"{name} on digits at three resolutions")
            model.fit(train_X, train_y)
            rows.append((name, *_figures(model, test_X, test_y)))
            steps.advance()
        steps.stage("Common space of the three resolutions")
        plane = MTDA(n_components=2, shrinkage="auto").fit(train_X, train_y)
        path = out / "heterogeneous.png"
        display = EmbeddingDisplay.from_estimator(plane, test_X, test_y, alpha=0.8)
        display.figure_.savefig(path, dpi=150)
        close(display.figure_)
        steps.advance()
    return PartResult(tables=[_tabulate(rows, list(train_X), per_class)], paths=[path])


def split_digits(seed: int, per_class: int) -> tuple[Tasks, Tasks, Tasks, Tasks]:
    """Training and test rows of every resolution; no image is in two tasks."""
    sizes = (16, 8, 4)
    Xs, ys = load_digits_resolutions(sizes=sizes, random_state=seed)
    train_X, train_y, test_X, test_y = {}, {}, {}, {}
    for size, X, y in zip(sizes, Xs, ys, strict=True):
        task = f"{size} × {size}"
        chosen = np.concatenate([np.flatnonzero(y == k)[:per_class] for k in range(10)])
        rest = np.setdiff1d(np.arange(len(y)), chosen)
        train_X[task], train_y[task] = X[chosen], y[chosen]
        test_X[task], test_y[task] = X[rest], y[rest]
    return train_X, train_y, test_X, test_y


def _figures(model: Any, test_X: Tasks, test_y: Tasks) -> tuple[list[float], float]:
    accuracies, losses = [], []
    for task, X in test_X.items():
        probabilities = model.predict_proba(X, task=task)
        accuracies.append(float(model.score(X, test_y[task], task=task)))
        losses.append(log_loss(test_y[task], probabilities, labels=list(range(10))))
    return accuracies, float(np.mean(losses))


def _tabulate(
    rows: list[tuple[str, list[float], float]], tasks: list[str], per_class: int
) -> Table:
    columns = [f"accuracy {task}" for task in tasks]
    table = figures_table(
        "Tasks of different features: digits at three resolutions",
        f"{per_class} training images a digit and task; the mean log-loss is over tasks.",
        ["method"],
        [*columns, "log-loss"],
    )
    figures = [
        ([name], {**dict(zip(columns, accuracies, strict=True)), "log-loss": loss})
        for name, accuracies, loss in rows
    ]
    add_rows(table, figures, plain=columns)
    return table
