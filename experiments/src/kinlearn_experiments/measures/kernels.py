"""Which kernels and which metric: LSPCCV by sets of kernels, on tables and development sets.

The default of LSPCCV was chosen by such figures with all of these sets in sight, so that none of
them is independent of the choice. Writes ``results/kernels.json``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV
from kinlearn.estimators.lspc_cv import DEFAULT_KERNELS
from kinlearn_experiments.bench.data import single, tables
from kinlearn_experiments.bench.problem import DataSet
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, geometric_mean, significant
from kinlearn_experiments.tables import table

WAYS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf", "metric": None},
    "rbf, laplacian": {"kernel": ["rbf", "laplacian"], "metric": None},
    "rbf, laplacian, matern32": {"kernel": list(DEFAULT_KERNELS), "metric": None},
    "with linear": {"kernel": [*DEFAULT_KERNELS, "linear"], "metric": None},
    "with a diagonal metric": {"kernel": list(DEFAULT_KERNELS), "metric": "diagonal"},
}
MOST_TEST_ROWS = 2000


def measure(data: DataSet, settings: dict[str, Any], size: int, seed: int) -> dict[str, float]:
    """Log-loss on new rows, the one that held-out rows promise, and the time of the fit."""
    problem = data.draw(size, seed)
    (X, y), (X_new, *_), truth = problem.train, problem.test, problem.truth[0]
    model = LSPCCV(n_jobs=1, **settings)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - start
    new = model.predict_proba(X_new[:MOST_TEST_ROWS])
    truth = truth[:MOST_TEST_ROWS]
    expected = model.held_out_proba()
    found = {
        "log_loss": _loss(new, truth),
        "held_out": _loss(expected, np.searchsorted(model.classes_, y)),
        "seconds": seconds,
        "blocks": len(model.kept_sigmas_),
    }
    return {name: significant(value, 4) for name, value in found.items()}


def _loss(proba: np.ndarray, truth: np.ndarray) -> float:
    return float(-np.log(np.maximum(proba[np.arange(len(truth)), truth], 1e-15)).mean())


def ratios(cells: dict[str, Any], way: str, figure: str = "log_loss") -> dict[str, float]:
    """Mean of a figure over splits, set by set, over that of the Gaussian kernel alone."""
    sets = dict.fromkeys(key.split("/")[0] for key in cells)
    return {
        name: _mean(cells, name, way, figure) / _mean(cells, name, "rbf", figure) for name in sets
    }


def _mean(cells: dict[str, Any], name: str, way: str, figure: str) -> float:
    own = [cell[figure] for key, cell in cells.items() if key.startswith(f"{name}/{way}/")]
    return float(np.mean(own))


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--size", type=int, default=400)
    parser.add_argument("--out", type=Path, default=RESULTS / "kernels.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        results.save(machine=machine_facts())
        for data in (*tables.DATA, *single.DATA):
            for way, settings in WAYS.items():
                for seed in range(options.seeds):
                    task = partial(measure, data, settings, min(options.size, data.size), seed)
                    results.cell((data.name, way, seed), task)
    rows = []
    for way in WAYS:
        found = ratios(results.cells, way)
        worst = max(found, key=found.__getitem__)
        cost = geometric_mean(ratios(results.cells, way, "seconds").values())
        gain = geometric_mean(found.values())
        rows.append([way, f"{gain:.3f}", f"{found[worst]:.2f} ({worst})", f"{cost:.1f}"])
    print(table(["kernels", "log-loss over rbf", "worst set", "time over rbf"], rows))


if __name__ == "__main__":
    main()
