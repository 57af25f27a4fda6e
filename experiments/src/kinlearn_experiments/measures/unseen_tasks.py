"""Tasks that no default was chosen on, made of tables and texts, beside what else one would do.

    KINLEARN_DATA=... python -m kinlearn_experiments.measures.unseen_tasks [--seeds 1]

A column's categories or quantiles make the tasks of a table, labels or groups of reports those of
a text; *dealt out* tasks are one table or text at random, so that one pooled model is right. Each
set says how many rows of a task train. Rivals are those of the suite ``multitask`` of ``kinlearn
bench``, tuned as there. Log-loss on new rows, probabilities clipped at 1e-6, and processor seconds
of the fit. Writes ``results/unseen_tasks.json``; a rerun goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from kinlearn.datasets import load_multilabel
from kinlearn_experiments.bench.data.folder import path_of, read_npz
from kinlearn_experiments.bench.data.multitask import Tasks, draw
from kinlearn_experiments.bench.data.tables import read_table
from kinlearn_experiments.bench.methods import multitask
from kinlearn_experiments.bench.problem import Problem
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

Floats = NDArray[np.float64]
METHODS = {
    "MultiTaskLSPCCV": "`MultiTaskLSPCCV`",
    "STC: LSPCCV": "pooled LSPCCV",
    "STI: LSPCCV": "separate LSPCCV",
    "Logistic, shared + own": "logistic, shared + own",
    "LightGBM": "LightGBM",
    "Random forest": "random forest",
}
LEAST = 1e-6
# Occupations of adult with the most rows.
OCCUPATIONS = 8


class Setting(NamedTuple):
    """A set of tasks, how many rows of each train, and whether columns are standardised."""

    load: Callable[[], Tasks]
    n_train: int
    standardise: bool = True


def by_quantile(name: str, column: int, n_tasks: int) -> Tasks:
    """A table whose tasks are ranges of one of its columns."""
    X, y = read_npz(name)
    cuts = np.quantile(X[:, column], np.arange(1, n_tasks) / n_tasks)
    return Tasks(X, y, np.searchsorted(cuts, X[:, column]))


def by_age() -> Tasks:
    """Diabetes at four ages."""
    columns, y = read_table("tables/pima.csv.gz")
    X = np.column_stack(columns)
    return Tasks(X, y, np.searchsorted(np.quantile(X[:, 7], [0.25, 0.5, 0.75]), X[:, 7]))


def by_category(column: int) -> Tasks:
    """Incomes of customers, by one of the answers that they gave."""
    columns, y = read_table("tables/marketing.csv.gz")
    X, number = np.column_stack(columns), np.nan_to_num(columns[column], nan=-1.0)
    seen, counts = np.unique(number, return_counts=True)
    rows = np.isin(number, seen[counts >= 120]) & ~np.isnan(X).any(axis=1)
    task = np.unique(number[rows], return_inverse=True)[1]
    return Tasks(np.delete(X, column, axis=1)[rows], y[rows], task)


def by_occupation() -> Tasks:
    """Incomes by occupation: other categories one-hot, the country left out."""
    lines = path_of("single_task/adult.data").read_text().splitlines()
    cells = np.array([line.split(", ") for line in lines if line.strip()])
    jobs, counts = np.unique(cells[:, 6], return_counts=True)
    cells = cells[np.isin(cells[:, 6], jobs[np.argsort(-counts)[:OCCUPATIONS]])]
    columns = []
    for i in (0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12):
        own = cells[:, i]
        number = i in (0, 2, 4, 10, 11, 12)
        columns.append(own.astype(float)[:, None] if number else own[:, None] == np.unique(own))
    task = np.unique(cells[:, 6], return_inverse=True)[1]
    return Tasks(np.hstack(columns).astype(np.float64), cells[:, 14], task)


def hospitals(n_tasks: int = 10, n_rows: int = 500) -> Tasks:
    """One disease in places that see 5 to 60 % of it."""
    X, y = read_npz("single_task/magic.npz")
    answer, rng = y == np.unique(y)[0], np.random.default_rng(7)
    on, off = (rng.permutation(np.flatnonzero(answer == value)) for value in (True, False))
    rows = []
    for share in np.linspace(0.05, 0.6, n_tasks):
        sick = int(n_rows * share)
        rows.append(np.concatenate([on[:sick], off[: n_rows - sick]]))
        on, off = on[sick:], off[n_rows - sick :]
    found = np.concatenate(rows)
    return Tasks(X[found], answer[found].astype(np.int64), np.repeat(np.arange(n_tasks), n_rows))


def dealt_out(n_tasks: int = 8, n_rows: int = 5000) -> Tasks:
    """One table at random: nothing but chance tells its tasks apart."""
    X, y = read_npz("single_task/magic.npz")
    rows = np.random.default_rng(9).permutation(len(y))[:n_rows]
    return Tasks(X[rows], y[rows], np.arange(n_rows) % n_tasks)


def words(name: str, n_rows: int, seed: int) -> tuple[Floats, NDArray[Any], NDArray[np.intp]]:
    """Some rows of a text, their labels, and the labels from the most frequent one on."""
    X, Y = load_multilabel(name, return_X_y=True)
    rows = np.random.default_rng(seed).permutation(X.shape[0])[:n_rows]
    order = np.argsort(-np.asarray(Y).mean(axis=0), kind="stable")
    return X[rows].toarray().astype(np.float64), np.asarray(Y)[rows].astype(np.int64), order


def a_label_each(name: str, n_tasks: int, seed: int) -> Tasks:
    """Tasks that are unlike: each asks for another label, of other rows."""
    X, Y, order = words(name, 700 * n_tasks, seed)
    task = np.arange(len(X)) % n_tasks
    return Tasks(X, Y[np.arange(len(X)), order[task]], task)


def groups_of_texts(n_tasks: int = 6) -> Tasks:
    """One label, asked of reports that have another label each."""
    X, Y, order = words("tmc2007_500", 12000, 4)
    task = np.full(len(X), -1)
    for t, label in enumerate([order[0], *order[2 : n_tasks + 1]]):
        task[(task < 0) & (Y[:, label] == 1)] = t
    rows = task >= 0
    return Tasks(X[rows], Y[rows, order[1]], task[rows])


def text_dealt_out(n_tasks: int = 6) -> Tasks:
    """One label of one text, at random."""
    X, Y, order = words("tmc2007_500", 4000, 5)
    return Tasks(X, Y[:, order[2]], np.arange(len(X)) % n_tasks)


SETS = {
    "magic by distance": Setting(partial(by_quantile, "single_task/magic.npz", 9, 8), 40),
    "satimage by a band": Setting(partial(by_quantile, "single_task/satimage.npz", 17, 6), 50),
    "pen strokes by a place": Setting(partial(by_quantile, "single_task/penbased.npz", 8, 6), 50),
    "pima by age": Setting(by_age, 60),
    "marketing by an answer": Setting(partial(by_category, 4), 60),
    "adult by occupation": Setting(by_occupation, 50),
    "hospitals": Setting(hospitals, 45),
    "magic dealt out": Setting(dealt_out, 40),
    "reports, a label each": Setting(partial(a_label_each, "tmc2007_500", 8, 3), 60, False),
    "reports by a label": Setting(groups_of_texts, 70, False),
    "reports dealt out": Setting(text_dealt_out, 70, False),
    "pictures, a label each": Setting(partial(a_label_each, "corel5k", 6, 6), 80, False),
}


def split(setting: Setting, seed: int) -> Problem:
    """Training rows of each task, and at most 4000 others."""
    return draw(lambda seed: setting.load(), setting.n_train, seed, standardise=setting.standardise)


def measure(problem: Problem, method: str) -> dict[str, float]:
    """Log-loss on new rows, and processor seconds of the tuned fit."""
    model = next(entry for entry in multitask.METHODS if entry.name == method).make(problem)
    start = time.process_time()
    multitask.fit(model, problem)
    seconds = time.process_time() - start
    chances = [
        proba[np.arange(len(codes)), codes]
        for proba, codes in zip(multitask.predict(model, problem), problem.truth, strict=True)
    ]
    losses = -np.log(np.clip(np.concatenate(chances), LEAST, 1.0))
    return {"log_loss": significant(losses.mean()), "seconds": significant(seconds, 3)}


def losses(found: dict[str, dict[str, float]]) -> Floats:
    """Mean log-loss over splits, a line for each set that was measured and a column a method."""
    table_of = [
        [
            [cell["log_loss"] for key, cell in found.items() if key.startswith(f"{name}/{method}/")]
            for method in METHODS
        ]
        for name in SETS
    ]
    return np.array([[np.mean(own) if own else np.nan for own in line] for line in table_of])


def show(found: dict[str, dict[str, float]]) -> str:
    """Log-loss by set, and the mean rank over the sets that all methods were measured on."""
    means = losses(found)
    ranks = rankdata(means[np.isfinite(means).all(axis=1)], axis=1).mean(axis=0)
    rows = [
        [name, *(f"{value:.3f}" for value in line)] for name, line in zip(SETS, means, strict=True)
    ]
    rows.append(["**mean rank**", *(f"{rank:.1f}" for rank in ranks)])
    return table(["tasks", *METHODS.values()], rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--fresh", action="store_true", help="measure everything anew")
    parser.add_argument("--out", type=Path, default=RESULTS / "unseen_tasks.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=options.fresh)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(options.seeds):
            for name in options.sets:
                missing = [m for m in METHODS if f"{name}/{m}/{seed}" not in results.cells]
                if not missing:
                    continue
                problem = split(SETS[name], seed)
                for method in missing:
                    results.cell((name, method, seed), partial(measure, problem, method))
                print(f"... {name}, split {seed}", flush=True)
        results.save(machine=machine_facts())
    print(show(results.cells))


if __name__ == "__main__":
    main()
