"""How many neighbours tell strangers best: classes kept out of training, by number of neighbours.

The default was chosen by this table, so that its figures for the default are not independent of the
choice. Writes ``results/familiarity.json`` with every number tried.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from kinlearn import LSPC
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

PAIRS = [(8, 9), (0, 1), (2, 3), (4, 5), (6, 7)]
# loader, whether to scale, classes kept out in turn, rows to train on, centres
SETS: dict[str, tuple[Any, bool, list[Any], int, int | None]] = {
    "digits": (load_digits, False, PAIRS, 400, None),
    "digits, 100 centres": (load_digits, False, PAIRS, 600, 100),
    "wine": (load_wine, True, [(0,), (1,), (2,)], 70, None),
    "iris": (load_iris, True, [(0,), (1,), (2,)], 70, None),
}
NEIGHBOURS = (1, 2, 3, 5)


def measure(name: str, neighbours: int, seeds: int) -> dict[str, float]:
    """Area under the curve, and shares below 1 % among strangers and rows of known classes."""
    load, scaled, kept_out, n_train, n_centers = SETS[name]
    X, y = load(return_X_y=True)
    X = scale(X) if scaled else X
    areas, strangers, own = [], [], []
    for classes in kept_out:
        for seed in range(seeds):
            strange = np.isin(y, classes)
            order = np.random.default_rng(seed).permutation(np.flatnonzero(~strange))
            train, test = order[:n_train], order[n_train:]
            with warnings.catch_warnings(), patch("kinlearn.familiarity.NEIGHBOURS", neighbours):
                warnings.simplefilter("ignore")
                model = LSPC(n_centers=n_centers, random_state=0).fit(X[train], y[train])
                known, new = model.familiarity(X[test]), model.familiarity(X[strange])
            truth = np.repeat([0, 1], [len(known), len(new)])
            areas.append(roc_auc_score(truth, -np.concatenate([known, new])))
            strangers.append((new < 0.01).mean())
            own.append((known < 0.01).mean())
    found = {"area": areas, "strangers": strangers, "own": own}
    return {key: significant(np.mean(values), 3) for key, values in found.items()}


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "familiarity.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    rows = []
    with threadpool_limits(1):
        results.save(machine=machine_facts())
        for name in SETS:
            for neighbours in NEIGHBOURS:
                task = partial(measure, name, neighbours, options.seeds)
                cell = results.cell((name, neighbours), task)
                rows.append(
                    [name, neighbours, *(cell[key] for key in ("area", "strangers", "own"))]
                )
    print(table(["set", "neighbours", "area", "strangers below 1 %", "own below 1 %"], rows))


if __name__ == "__main__":
    main()
