"""Heterogeneous tasks: the common space, each task alone, and both as held-out rows weigh them.

Prints a table and writes ``results/weighed_tasks.json``::

    python -m kinlearn_experiments.measures.weighed_tasks [--trials 5]
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import HeterogeneousLSPC, MultiTaskLSPCCV
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.heterogeneous import Models, trial
from kinlearn_experiments.results import RESULTS, Results
from kinlearn_experiments.tables import table

SETS, SIZES = ("digits", "generated"), (2, 3, 5, 10)
COMMON = "common space"


def models(n_classes: int) -> Models:
    """Columns of the table; None stands for LSPCCV on every task alone."""
    shared = MultiTaskLSPCCV(kernel="rbf")
    return {
        "LSPC alone": None,
        COMMON: HeterogeneousLSPC(estimator=shared, random_state=0),
        "both, weighed": HeterogeneousLSPC(random_state=0),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--out", type=Path, default=RESULTS / "weighed_tasks.json")
    args = parser.parse_args(arguments)
    results = Results(args.out, fresh=args.fresh)
    with threadpool_limits(1):
        results.save(machine=machine_facts())
        for seed in range(args.trials):
            for name in SETS:
                for size in SIZES:
                    results.cell((name, size, seed), partial(trial, name, size, seed, models))
        results.save(machine=machine_facts())
    print("log-loss / error")
    print(show(results.cells))


def show(found: dict[str, dict[str, list[float]]]) -> str:
    """Means over trials."""
    rows = []
    for name in SETS:
        for size in SIZES:
            trials = [cell for key, cell in found.items() if key.startswith(f"{name}/{size}/")]
            means = [np.mean([cell[label] for cell in trials], axis=0) for label in models(4)]
            cells = (f"{loss:.3f} / {error:.3f}" for loss, error in means)
            rows.append([f"{name}, {size} a class", *cells])
    return table(["data", *models(4)], rows)


if __name__ == "__main__":
    main()
