"""How the columns of a table enter: thresholds of numbers and the kernel of steps, on Adult.

::

    python -m kinlearn_experiments.measures.table_features [--centers 400]

Adult is read from the folder that KINLEARN_DATA names; cells that are there are not measured anew.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, TableFeatures
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.table import adult_table, split_adult
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

SEEDS = (0,)
SMOOTH = ("rbf", "laplacian")


def _logistic(n_centers: int) -> Any:
    return LogisticRegression(max_iter=1000)


def _kernels(names: tuple[str, ...]) -> Callable[[int], Any]:
    return lambda m: LSPCCV(kernel=list(names), metric=None, n_centers=m, random_state=0)


# A name, the thresholds of TableFeatures, and what then learns.
METHODS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "logistic": (None, _logistic),
    "logistic, thresholds": ("auto", _logistic),
    "smooth kernels": (None, _kernels(SMOOTH)),
    "steps": (None, _kernels(("steps",))),
    "smooth kernels and steps": (None, _kernels((*SMOOTH, "steps"))),
}


def quality(folder: Path, method: str, seed: int, n_centers: int) -> dict[str, float]:
    """Log-loss on rows not trained on, and seconds of the processor for the fit."""
    _, X, y, X_test, y_test = split_adult(adult_table(folder), seed)
    thresholds, make = METHODS[method]
    features = TableFeatures(thresholds=thresholds).fit(X)
    rows, started = features.transform(X), time.process_time()
    model = make(n_centers).fit(rows, y)
    seconds = time.process_time() - started
    proba = model.predict_proba(features.transform(X_test))
    return {
        "log_loss": significant(log_loss(y_test, proba)),
        "columns": rows.shape[1],
        "processor_seconds": significant(seconds, 2),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print all there is."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--centers", type=int, default=400)
    options.add_argument("--fresh", action="store_true")
    options.add_argument("--out", type=Path, default=RESULTS / "table_features.json")
    given = options.parse_args(arguments)
    results = Results(given.out, given.fresh)
    with threadpool_limits(limits=1), tempfile.TemporaryDirectory() as name:
        results.save(machine=machine_facts(), centers=given.centers)
        for seed in SEEDS:
            for method in METHODS:
                measured = partial(quality, Path(name), method, seed, given.centers)
                results.cell(["adult", method, seed], measured)
    lines = [[key, *cell.values()] for key, cell in results.cells.items()]
    print(table(["Adult", "log-loss", "columns", "processor, s"], lines))


if __name__ == "__main__":
    main()
