"""The default of LSPCCV on tables that its kernels were not chosen on, beside the Gaussian alone.

::

    python -m kinlearn_experiments.measures.unseen_tables --folder TABLES

The tables come with packages of R, with Weka and with Orange. The folder holds a copy of each,
``NAME.csv.gz``: a line of names, empty cells where one is missing, and the label last, in a column
``class``. Writes ``results/unseen_tables.json``.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kinlearn_experiments.bench.data.tables import columns_of, split_of
from kinlearn_experiments.bench.problem import DataSet, most_rows
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.kernels import measure, ratios
from kinlearn_experiments.results import RESULTS, Results, geometric_mean
from kinlearn_experiments.tables import table

# The package a table comes with, and its label. Of two codings of one table one is here, and none
# of tables that the benchmark has in another coding.
SOURCES: dict[str, tuple[str, str]] = {
    "affairs": ("AER", "affairs > 0"),
    "arrests": ("carData", "released"),
    "attrition": ("modeldata", "Attrition"),
    "bankwages": ("AER", "job"),
    "beps": ("carData", "vote"),
    "cells": ("modeldata", "class"),
    "chevron": ("mclust", "class"),
    "chile": ("carData", "vote"),
    "churn": ("modeldata", "churn"),
    "cowles": ("carData", "volunteer"),
    "cox2": ("caret", "cox2Class"),
    "credit-g": ("Weka", "class"),
    "credit_data": ("modeldata", "Status"),
    "creditcard": ("AER", "card"),
    "dhfr": ("caret", "Y"),
    "glass": ("Weka", "Type"),
    "gsoep": ("AER", "school"),
    "healthins": ("AER", "insurance"),
    "hmda": ("AER", "deny"),
    "housevotes": ("Weka", "Class"),
    "hpc": ("modeldata", "class"),
    "ionosphere": ("Weka", "class"),
    "mdrr": ("caret", "mdrrClass"),
    "mroz": ("carData", "lfp"),
    "musk": ("kernlab", "Class"),
    "nmes": ("AER", "insurance"),
    "penguins": ("modeldata", "species"),
    "segment": ("Weka", "class"),
    "slid_lang": ("carData", "language"),
    "smokeban": ("AER", "smoker"),
    "sonar": ("mlbench", "Class"),
    "soybean": ("Weka", "class"),
    "spam": ("kernlab", "type"),
    "stackoverflow": ("modeldata", "Remote"),
    "swisslabor": ("AER", "participation"),
    "thyroid": ("mclust", "Diagnosis"),
    "ticdata": ("kernlab", "CARAVAN"),
    "titanic4": ("Orange", "survived"),
    "twoclass": ("modeldata", "Class"),
    "vehicle": ("mlbench", "Class"),
    "wells": ("carData", "switch"),
    "womenlf": ("carData", "partic"),
    "wvs": ("carData", "poverty"),
    "zoo": ("Orange", "type"),
}
WAYS: dict[str, dict[str, Any]] = {"rbf": {"kernel": "rbf", "metric": None}, "default": {}}
# Training rows, and splits.
SIZES = {400: 2, 1500: 1}
# A table takes part at the larger size if it has so many training rows of its own.
LARGER = 1500


def data_set(path: Path) -> DataSet:
    """A table of the folder as the measures take it."""
    found = columns_of(path)
    name = path.name.removesuffix(".csv.gz")
    return DataSet(name, partial(split_of, found), most_rows(len(found.y)), None, "a table")


def of_size(cells: dict[str, Any], size: int) -> dict[str, Any]:
    """The cells of a number of training rows."""
    return {key: cell for key, cell in cells.items() if key.split("/")[2] == str(size)}


def header() -> list[str]:
    """Of the lines of :func:`line`."""
    return [
        "training rows",
        "tables",
        "geometric mean",
        "median table",
        "better by 4 %",
        "worse by 4 %",
        "worst table",
        "held-out over new rows",
    ]


def line(cells: dict[str, Any], size: int) -> list[str]:
    """What the default is beside the Gaussian kernel alone, at a number of training rows."""
    own = of_size(cells, size)
    found = ratios(own, "default")
    worst = max(found, key=found.__getitem__)
    values = sorted(found.values())
    fresh = {name: _mean(own, name, "log_loss") for name in found}
    honest = [_mean(own, name, "held_out") / fresh[name] for name in found]
    return [
        f"{size:,}",
        str(len(values)),
        f"{geometric_mean(values):.3f}",
        f"{values[len(values) // 2]:.3f}",
        str(sum(value < 0.96 for value in values)),
        str(sum(value > 1.04 for value in values)),
        f"{found[worst]:.2f} ({worst})",
        f"{geometric_mean(honest):.2f}",
    ]


def _mean(cells: dict[str, Any], name: str, figure: str) -> float:
    own = [cell[figure] for key, cell in cells.items() if key.startswith(f"{name}/default/")]
    return float(sum(own) / len(own))


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--out", type=Path, default=RESULTS / "unseen_tables.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        results.save(machine=machine_facts(), sources=SOURCES)
        for size in options.sizes:
            for name in SOURCES:
                data = data_set(options.folder / f"{name}.csv.gz")
                if size >= LARGER and data.size < size:
                    continue
                for way, settings in WAYS.items():
                    for seed in range(SIZES.get(size, 1)):
                        task = partial(measure, data, settings, min(size, data.size), seed)
                        results.cell((name, way, size, seed), task)
    measured = [size for size in options.sizes if of_size(results.cells, size)]
    print(table(header(), [line(results.cells, size) for size in measured]))


if __name__ == "__main__":
    main()
