"""What the panel of ActiveLearner tells where labels are chance, and every model gets half right.

Columns of noise and labels by coin. Rows drawn at random are a fair sample, and each is answered
by a model without its label; but a strategy asks on around rows that disagree with their
neighbours, and goes elsewhere once these agree, if only by chance::

    python -m kinlearn_experiments.measures.chance_panel [--seeds 20]

Tuned and not, with the usual strategy and with rows by chance: the accuracy that is told, and
whether its 95 % interval holds one half. Writes ``results/chance_panel.json``; cells that are there
are not measured anew.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, LSPCCV, ActiveLearner
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

ROWS, COLUMNS = 400, 5
LOOKS = (30, 50, 70)
TRUE = 0.5
STRATEGIES = ("mixed", "random")
ESTIMATORS = {"LSPC": LSPC, "LSPCCV": LSPCCV}


def one_run(estimator: str, strategy: str, seed: int) -> dict[str, list[float]]:
    """The figure and its interval at every look."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((ROWS, COLUMNS)), rng.integers(0, 2, ROWS)
    learner = ActiveLearner(
        ESTIMATORS[estimator](random_state=seed),
        X,
        classes=[0, 1],
        strategy=strategy,
        random_state=seed,
    )
    found: dict[str, list[float]] = {"told": [], "low": [], "high": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, LOOKS[-1] + 1):
            row = learner.ask()
            assert row is not None
            learner.tell(row, y[row])
            if n in LOOKS:
                for name, value in zip(found, learner.accuracy(), strict=True):
                    found[name].append(significant(value, 4))
    return found


def told(cells: dict[str, Any], estimator: str, strategy: str) -> tuple[float, float]:
    """The mean accuracy told, and how often the interval held the true one."""
    runs = [run for key, run in cells.items() if key.split("/")[:2] == [estimator, strategy]]
    low, high = (np.array([run[name] for run in runs]) for name in ("low", "high"))
    mean = float(np.mean([run["told"] for run in runs]))
    return mean, float(((low <= TRUE) & (high >= TRUE)).mean())


def summary(cells: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """By classifier and strategy."""
    rows = []
    for estimator in ESTIMATORS:
        for strategy in STRATEGIES:
            mean, held = told(cells, estimator, strategy)
            rows.append([estimator, strategy, f"{100 * mean:.1f} %", f"{100 * held:.1f} %"])
    return ["", "strategy", "told, of 50 %", "interval holds"], rows


def main(arguments: list[str] | None = None) -> Results:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "chance_panel.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        results.save(machine=machine_facts(), rows=ROWS, columns=COLUMNS)
        for seed in range(options.seeds):
            for estimator in ESTIMATORS:
                for strategy in STRATEGIES:
                    task = partial(one_run, estimator, strategy, seed)
                    results.cell((estimator, strategy, seed), task)
    print(table(*summary(results.cells)))
    return results


if __name__ == "__main__":
    main()
