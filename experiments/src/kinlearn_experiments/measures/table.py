"""Tables: Adult against baselines on one pipeline, and memory of training and scoring.

::

    python -m kinlearn_experiments.measures.table [--parts quality train predict] [--rows 5000000]

Adult is read from the folder that KINLEARN_DATA names; cells that are there are not measured anew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV
from kinlearn.datasets._files import data_folder
from kinlearn.metrics import expected_calibration_error
from kinlearn.tables.files import open_table
from kinlearn.tables.pipeline import make_model
from kinlearn.tables.training import TABLE_KERNELS, Wishes, read_training_table
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
SEEDS = (0, 1)
N_TRAIN = 22_000
PARTS = ["quality", "train", "predict"]
METHODS = {
    "LSPCCV": lambda seed: LSPCCV(kernel=TABLE_KERNELS, random_state=seed),
    "LogisticRegression": lambda seed: LogisticRegression(max_iter=5000),
    "HistGradientBoosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}


def adult_table(folder: Path) -> Path:
    """Write Adult as a CSV with names, as a person would have it."""
    source = data_folder()
    if source is None:
        raise FileNotFoundError("Set KINLEARN_DATA to the folder that holds the data sets.")
    path = folder / "adult.csv"
    lines = (source / "single_task" / "adult.data").read_text().strip().splitlines()
    path.write_text("\n".join([",".join(ADULT), *(line.replace(", ", ",") for line in lines)]))
    return path


def split_adult(path: Path, seed: int) -> tuple[Any, ...]:
    """Rows as the command reads them, split at random."""
    found = read_training_table(open_table(path), Wishes(target="income"))
    frame, y = found.schema.frame(found.sample.table), found.y
    order = np.random.RandomState(seed).permutation(len(y))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    return found.schema, frame.iloc[train], y[train], frame.iloc[test], y[test]


def quality(path: Path, method: str, seed: int) -> dict[str, float]:
    """Figures of a method on the pipeline of ``kinlearn train``."""
    schema, X, y, X_test, y_test = split_adult(path, seed)
    started = time.process_time()
    model = make_model(schema, METHODS[method](seed)).fit(X, y)
    seconds, proba = time.process_time() - started, model.predict_proba(X_test)
    return {
        "processor_seconds": significant(seconds, 2),
        "calibration_error": significant(expected_calibration_error(y_test, proba), 3),
        "log_loss": significant(log_loss(y_test, proba)),
        "accuracy": significant(accuracy_score(y_test, model.classes_[proba.argmax(axis=1)])),
    }


def run_command(*arguments: object) -> dict[str, float]:
    """Run ``kinlearn`` in a process of its own; return its peak memory in MB and its seconds."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "kinlearn", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"kinlearn {arguments[0]} ended with status {status}.")
    return {
        "peak_mb": round(usage.ru_maxrss / 1024),
        "seconds": significant(time.perf_counter() - started, 3),
        "processor_seconds": significant(usage.ru_utime + usage.ru_stime, 3),
    }


def scoring(folder: Path, n_rows: int) -> dict[str, float]:
    """Memory of scoring a table of `n_rows` rows made by ``kinlearn example``."""
    small, large = folder / "clinic.csv", folder / "large.csv"
    run_command("example", small, "--force")
    run_command("train", small, "--target", "readmitted", "--out", folder / "m.kin", "--force")
    run_command("example", large, "--rows", n_rows, "--seed", 1, "--force")
    cost = run_command("predict", folder / "m.kin", large, "--out", folder / "s.csv", "--force")
    cost["input_mb"] = round(large.stat().st_size / 2**20)
    return cost


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing of the parts asked for, print all there is."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options.add_argument("--fresh", action="store_true")
    options.add_argument("--out", type=Path, default=RESULTS / "table.json")
    given = options.parse_args(arguments)
    results = Results(given.out, given.fresh)
    with threadpool_limits(limits=1), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results.save(machine=machine_facts())
        if "quality" in given.parts:
            adult = adult_table(folder)
            for seed, method in product(SEEDS, METHODS):
                results.cell(["adult", method, seed], partial(quality, adult, method, seed))
        if "train" in given.parts:
            adult = adult_table(folder)
            out = folder / "adult.kin"
            results.cell(
                ["adult", "train"],
                partial(run_command, "train", adult, "--target", "income", "--out", out),
            )
        if "predict" in given.parts:
            results.cell(["predict", given.rows], partial(scoring, folder, given.rows))
    lines = [
        [method, seed, results.cells[key]["log_loss"], results.cells[key]["accuracy"]]
        for seed, method in product(SEEDS, METHODS)
        if (key := f"adult/{method}/{seed}") in results.cells
    ]
    print(table(["Adult", "split", "log-loss", "accuracy"], lines))
    for key, cost in results.cells.items():
        if "peak_mb" in cost:
            print(f"{key}: {cost}")


if __name__ == "__main__":
    main()
