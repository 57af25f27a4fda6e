"""Few labels in many related tasks: sharing beside separate and pooled models, and boosted trees.

Landmine (17 tasks, two of them reversed; mean over tasks of each task's AUC), vowels by speaker (15
tasks of 11 classes; accuracy) and Office-Caltech10 (4 tasks of 10 classes; accuracy), with the
log-loss of the probabilities beside::

    KINLEARN_DATA=... python -m kinlearn_experiments.measures.multitask_data [--seeds 10]

Prints a table and writes ``results/multitask_data.json``; a rerun goes on where the last one ended.
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
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, IndependentTasks, MultiTaskLSPCCV, PooledTasks
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.task_data import Tasks, draw, landmine, office, vowel
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

SETTINGS: dict[str, tuple[Callable[[], Tasks], tuple[int, ...], bool]] = {
    "landmine": (landmine, (20, 35), False),
    "vowel": (vowel, (1, 2), True),
    "office_caltech10": (office, (2, 5), True),
}
# Beside rows that were measured with one kernel and within_se, the default at the time.
DEFAULT = "MultiTaskLSPCCV, two kernels stacked"


class WithTaskFeature:
    """Boosted trees with the task id as a categorical feature."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def fit(self, X: np.ndarray, y: np.ndarray, task: np.ndarray) -> WithTaskFeature:
        self.model = self.make(X.shape[1]).fit(np.column_stack([X, task]), y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(np.column_stack([X, task]))


class KeptCenters:
    """The same search with every row's centre kept when the row is held out."""

    def fit(self, X: np.ndarray, y: np.ndarray, task: np.ndarray) -> MultiTaskLSPCCV:
        return MultiTaskLSPCCV(kernel="rbf", combine="within_se", centers=X).fit(X, y, task=task)


def boosting(column: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(categorical_features=[column], random_state=0)


def light_boosting(column: int) -> Any:
    from lightgbm import LGBMClassifier

    plain: Any = LGBMClassifier

    class Light(plain):
        def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
            return super().fit(X, y, categorical_feature=[column])

    return Light(verbose=-1, n_jobs=1, random_state=0)


def methods() -> dict[str, Callable[[], Any]]:
    """Everything compared; LightGBM where it is installed."""
    rbf = partial(MultiTaskLSPCCV, kernel="rbf")
    found: dict[str, Callable[[], Any]] = {
        DEFAULT: MultiTaskLSPCCV,
        "MultiTaskLSPCCV": partial(rbf, combine="within_se"),
        "  combine=stack": rbf,
        "  combine=best": partial(rbf, combine="best"),
        "  centres kept when held out": KeptCenters,
        "IndependentTasks(LSPCCV)": lambda: IndependentTasks(LSPCCV()),
        "PooledTasks(LSPCCV)": lambda: PooledTasks(LSPCCV()),
        "HistGradientBoosting + task id": lambda: WithTaskFeature(boosting),
    }
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        return found
    return found | {"LightGBM + task id": lambda: WithTaskFeature(light_boosting)}


def measure(make: Callable[[], Any], data: Tasks, n: int, seed: int, by_class: bool) -> dict:
    """One fit and its figures on all rows that were not drawn."""
    train, test = draw(data, n, seed, by_class)
    start = time.perf_counter()
    model = make().fit(data.X[train], data.y[train], task=data.task[train])
    seconds = time.perf_counter() - start
    y, task = data.y[test], data.task[test]
    proba = np.clip(model.predict_proba(data.X[test], task=task), 1e-15, 1.0)
    position = np.searchsorted(model.classes_, y)
    figures = {
        "seconds": significant(seconds, 3),
        "log_loss": significant(-np.log(proba[np.arange(len(y)), position]).mean()),
    }
    if len(model.classes_) > 2:
        return figures | {"quality": significant((proba.argmax(axis=1) == position).mean())}
    scores = proba[:, 1]
    if hasattr(model, "decision_function"):
        scores = model.decision_function(data.X[test], task=task)
    areas = [roc_auc_score(y[task == t], scores[task == t]) for t in np.unique(task)]
    return figures | {"quality": significant(np.mean(areas))}


def show(results: Results, n_seeds: int) -> str:
    """Means over seeds: AUC or accuracy, log-loss, seconds."""
    header, lines = ["method"], []
    for name, (_, sizes, _) in SETTINGS.items():
        header += [f"{name} {n}" for n in sizes]
    for method in methods():
        line = [method]
        for name, (_, sizes, _) in SETTINGS.items():
            for n in sizes:
                cells = [results.cells.get(f"{name}/{n}/{method}/{s}") for s in range(n_seeds)]
                known = [cell for cell in cells if cell]
                if not known:
                    line.append("")
                    continue
                quality, loss = (
                    np.mean([c[key] for c in known]) for key in ("quality", "log_loss")
                )
                seconds = np.median([c["seconds"] for c in known])
                line.append(f"{quality:.3f} / {loss:.3f} / {seconds:.1f} s")
        lines.append(line)
    return table(header, lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed to measure")
    parser.add_argument("--methods", nargs="+", default=list(methods()), choices=list(methods()))
    parser.add_argument("--sets", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--fresh", action="store_true", help="measure everything anew")
    parser.add_argument("--out", type=Path, default=RESULTS / "multitask_data.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=options.fresh)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.sets:
            load, sizes, by_class = SETTINGS[name]
            data = load()
            for seed in range(options.first, options.seeds):
                for n in sizes:
                    for method, make in methods().items():
                        if method not in options.methods:
                            continue
                        results.cell(
                            (name, n, method, seed),
                            partial(measure, make, data, n, seed, by_class),
                        )
                print(f"... {name}, seed {seed}", flush=True)
        results.save(machine=machine_facts(), columns="AUC or accuracy / log-loss / seconds")
    print(show(results, options.seeds))


if __name__ == "__main__":
    main()
