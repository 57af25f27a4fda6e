r"""What a user gets who sets nothing: threads left as they are, beside one thread of BLAS.

Every other benchmark pins the threads of BLAS; users do not. Each work runs in processes of its
own, in turn with nothing set (*default*) and with ``OMP_NUM_THREADS=1`` (*pinned*), alone on the
machine and beside as many busy processes as it has cores, which are started and ended here::

    python -m kinlearn_experiments.measures.defaults [--quick] [--rounds 2] \
        [--works lspccv/900 predict/20000]

Prints a table of ratios, least wall time over least wall time, with the target of each, and writes
``results/defaults.json``. Run it on a machine that does nothing else: 6 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kinlearn import LSPC, LSPCCV, MultiLabelLSPCCV, MultiTaskLSPCCV
from kinlearn.cores import available_cores
from kinlearn.datasets import make_related_tasks
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.digits import enlarged_digits
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

MODULE = "kinlearn_experiments.measures.defaults"
Work = Callable[[], Any]
# What users and outer pools set to limit threads; a default run has none of them.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
SETTINGS = ("default", "pinned")
SITUATIONS = ("alone", "neighbours")
# A work shorter than this is repeated, and its best run counts.
ENOUGH_SECONDS = 2.0
# Default over pinned: of searches, which have widths to share out, of all else, and beside others.
TARGETS = {"search": 0.75, "other": 1.05, "neighbours": 1.5}
WORKS = (
    "lspccv/300",
    "lspccv/900",
    "lspccv/2000",
    "tasks/900",
    "labels/500",
    "lspc/900",
    "lspc/6000",
    "predict/20000",
    "one_row/1",
    "train/900",
)
QUICK = ("lspccv/100", "tasks/80", "predict/500")
SEARCHES = ("lspccv", "tasks", "labels")


def lspccv(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: LSPCCV().fit(X, y)


def tasks(n: int) -> Work:
    X, y, task = make_related_tasks(n_tasks=10, n_samples=n // 10, random_state=0)
    return lambda: MultiTaskLSPCCV().fit(X, y, task=task)


def labels(n: int) -> Work:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = (X @ rng.normal(size=(10, 6)) + rng.normal(size=(n, 6)) > 0).astype(int)
    return lambda: MultiLabelLSPCCV().fit(X, Y)


def lspc(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: LSPC(random_state=0).fit(X, y)


def predict(n: int) -> Work:
    model = LSPC().fit(*enlarged_digits(1000))
    X = enlarged_digits(n, seed=1)[0]
    return lambda: model.predict_proba(X)


def one_row(n: int) -> Work:
    """A hundred answers to `n` rows each, as a server gives them."""
    X, y = enlarged_digits(500)
    model = LSPC().fit(X, y)
    return lambda: [model.predict_proba(X[i : i + n]) for i in range(100)]


def train(n: int) -> Work:
    """The command line on its example table: search, importance, intervals and report."""
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "kinlearn"]
    rows = folder / "clinic.csv"
    run: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*command, "example", str(rows), "--rows", str(n)], **run)
    asked = ["--target", "readmitted", "--task", "site"]
    files = ["--out", str(folder / "model.kin"), "--report", str(folder / "report.html"), "--force"]
    return lambda: subprocess.run([*command, "train", str(rows), *asked, *files], **run)


def measure(name: str) -> float:
    """Return the least seconds of a work in this process."""
    kind, size = name.split("/")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        work: Work = globals()[kind](int(size))
        seconds: list[float] = []
        while len(seconds) < 2 or sum(seconds) < ENOUGH_SECONDS:
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
            if seconds[0] > ENOUGH_SECONDS:  # too long for the first run's imports to matter
                break
    return min(seconds)


def in_child(name: str, setting: str) -> float:
    """Measure a work in a process of its own."""
    variables = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    if setting == "pinned":
        variables |= dict.fromkeys(VARIABLES, "1")
    command = [sys.executable, "-m", MODULE, "--child", name]
    found = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return float(json.loads(found.stdout.splitlines()[-1]))


@contextmanager
def neighbours(number: int) -> Iterator[None]:
    """Keep so many further processes busy for a while."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure_cell(name: str, situation: str, rounds: int) -> dict[str, Any]:
    """Measure both settings in turn."""
    print(f"... {name}, {situation}", flush=True)
    seconds: dict[str, list[float]] = {setting: [] for setting in SETTINGS}
    with neighbours(available_cores() if situation == "neighbours" else 0):
        for _ in range(rounds):
            for setting in SETTINGS:
                seconds[setting].append(in_child(name, setting))
    least = {setting: significant(min(found), 4) for setting, found in seconds.items()}
    kind = "search" if name.split("/")[0] in SEARCHES else "other"
    return {
        **least,
        "ratio": significant(least["default"] / least["pinned"], 4),
        "target": TARGETS["neighbours" if situation == "neighbours" else kind],
    }


def show(cells: dict[str, Any]) -> str:
    """Return the table of cells."""
    rows = []
    for key, cell in cells.items():
        name, situation = key.rsplit("/", 1)
        figures = [f"{cell[figure]:.2f}" for figure in ("default", "pinned", "ratio")]
        met = "yes" if cell["ratio"] <= cell["target"] else "no"
        rows.append([name, situation, *figures, f"≤ {cell['target']:g}", met])
    return table(["work", "machine", "default s", "pinned s", "ratio", "target", "met"], rows)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--works", nargs="+", help="kind/size of works to measure")
    parser.add_argument("--rounds", type=int, help="processes of each setting")
    parser.add_argument("--keep", action="store_true", help="keep cells measured before")
    parser.add_argument("--out", type=Path, default=RESULTS / "defaults.json")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(measure(options.child)))
        return {}
    rounds = options.rounds or (1 if options.quick else 2)
    results = Results(options.out, fresh=not options.keep)
    results.save(machine=machine_facts(), rounds=rounds, cores=available_cores())
    for situation in SITUATIONS:
        for name in options.works or (QUICK if options.quick else WORKS):
            results.cell(
                (name, situation),
                partial(measure_cell, name, situation, rounds),
            )
    print(show(results.cells))
    return results.cells


if __name__ == "__main__":
    main()
