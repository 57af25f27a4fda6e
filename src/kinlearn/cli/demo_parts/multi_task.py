"""Demo, many tasks: few labels in each of several related tasks, one of them reversed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, IndependentTasks, MultiTaskLSPCCV, PooledTasks
from kinlearn.cli.demo_parts.base import PartResult, Steps
from kinlearn.cli.demo_parts.figures_table import add_rows, figures_table
from kinlearn.datasets import make_related_tasks
from kinlearn.plots import SharingDisplay, TaskSimilarityDisplay, close, subplots

N_TEST = 300


@dataclass(frozen=True)
class Sample:
    """Labelled rows of all tasks and many more to be tested on."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    task: NDArray[np.str_]


def multi_task(out: Path, console: Console, *, seed: int = 0, quick: bool = False) -> PartResult:
    """Compare sharing with separate and pooled models, and show what is shared."""
    n_tasks, n_labelled = (5, 15) if quick else (9, 30)
    train, test = sample(n_tasks, n_labelled, seed)
    rows: list[tuple[list[str], dict[str, float]]] = []
    shared = None
    with threadpool_limits(limits=1), Steps(console, total=len(methods())) as steps:
        for name, make in methods().items():
            steps.stage(f"{name} on {n_tasks} tasks of {n_labelled} labels")
            started = time.perf_counter()
            model = make().fit(train.X, train.y, task=train.task)
            seconds = time.perf_counter() - started
            rows.append(([name], evaluate(model, test) | {"fit time": seconds}))
            shared = shared or model  # the first method is the one whose tasks are drawn
            steps.advance()
    caption = (
        f"{n_tasks} tasks, {n_labelled} labels each, the last task with its classes reversed; "
        f"{N_TEST} new rows a task. Mean over tasks."
    )
    assert shared is not None
    path = draw(shared, test, out / "multi_task.png")
    table = figures_table("Many tasks: few labels in each", caption, ["method"], list(rows[0][1]))
    add_rows(table, rows)
    return PartResult(tables=[table], paths=[path])


def sample(n_tasks: int, n_labelled: int, seed: int) -> tuple[Sample, Sample]:
    """Related tasks with a reversed one; the first rows of each are labelled, the others test."""
    X, y, number = make_related_tasks(
        n_tasks=n_tasks,
        n_samples=n_labelled + N_TEST,
        n_features=3,
        relatedness=0.75,
        class_balance=(0.7, 0.3),
        n_reversed=1,
        random_state=seed,
    )
    names = [f"site {chr(ord('A') + k)}" for k in range(n_tasks)]
    names[-1] = "reversed"
    task = np.array(names)[number]
    labelled = np.arange(len(y)) % (n_labelled + N_TEST) < n_labelled
    return (
        Sample(X[labelled], y[labelled], task[labelled]),
        Sample(X[~labelled], y[~labelled], task[~labelled]),
    )


class BoostedWithTask:
    """Boosted trees that see the task id as a category."""

    def fit(self, X: NDArray, y: NDArray, task: NDArray) -> BoostedWithTask:
        self.tasks = np.unique(task)
        self.model = HistGradientBoostingClassifier(
            categorical_features=[X.shape[1]], random_state=0
        ).fit(self._table(X, task), y)
        return self

    def predict_proba(self, X: NDArray, task: NDArray) -> NDArray[np.float64]:
        proba: NDArray[np.float64] = self.model.predict_proba(self._table(X, task))
        return proba

    def _table(self, X: NDArray, task: NDArray) -> NDArray:
        return np.column_stack([X, np.searchsorted(self.tasks, task)])


def methods() -> dict[str, Callable[[], Any]]:
    """Sharing first, then what one would do without it."""
    return {
        "MultiTaskLSPCCV": MultiTaskLSPCCV,
        "One LSPCCV per task": lambda: IndependentTasks(LSPCCV()),
        "One LSPCCV for all": lambda: PooledTasks(LSPCCV()),
        "Boosted trees + task id": BoostedWithTask,
    }


def evaluate(model: Any, test: Sample) -> dict[str, float]:
    """Mean over tasks of AUC, accuracy and log-loss on rows not seen."""
    proba = model.predict_proba(test.X, task=test.task)
    by_task = []
    for task in np.unique(test.task):
        rows = test.task == task
        y, p = test.y[rows], proba[rows]
        by_task.append(
            (
                roc_auc_score(y, p[:, 1]),
                accuracy_score(y, p.argmax(axis=1)),
                log_loss(y, p, labels=[0, 1]),
            )
        )
    means = np.mean(by_task, axis=0).tolist()
    return dict(zip(("AUC", "accuracy", "log-loss"), means, strict=True))


def draw(model: MultiTaskLSPCCV, test: Sample, path: Path) -> Path:
    """What each task gains, and which tasks have models alike."""
    figure, axes = subplots(1, 2, panel_size=(5.6, 4.4))
    SharingDisplay.from_estimator(model, ax=axes[0, 0])
    TaskSimilarityDisplay.from_estimator(
        model, test.X[:500], ax=axes[0, 1], name="How alike the tasks' models are"
    )
    figure.savefig(path, dpi=150)
    close(figure)
    return path
