r"""Two versions of the library side by side: what a change cost, or saved.

Every work runs in processes of its own, in turn with the one and the other source tree first on
the path, BLAS threads pinned to one; what counts is the least processor time of each::

    git worktree add --detach ../before COMMIT
    python -m kinlearn_experiments.measures.versions ../before/src [--rounds 3] \
        [--works lspccv/1000 tasks/400]

Prints a table of ratios, this tree over the other, and writes ``results/versions.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kinlearn
from kinlearn import (
    LSPC,
    LSPCCV,
    KernelLogisticRegressionCV,
    MultiLabelLSPCCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
)
from kinlearn.datasets import make_related_tasks
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.digits import enlarged_digits
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

MODULE = "kinlearn_experiments.measures.versions"
Work = Callable[[], Any]
HERE = Path(kinlearn.__file__).resolve().parent.parent
WORKS = (
    "lspc/1000",
    "lspccv/300",
    "lspccv/1000",
    "lspccv/2000",
    "centres/20000",
    "predict/20000",
    "tasks/400",
    "tasks_cv/400",
    "labels_cv/400",
    "klr_cv/200",
    "stream/20000",
)
OURS = Path(__file__).resolve().parents[2]  # the source folder of this package
ENOUGH_SECONDS = 2.0


def lspc(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: LSPC().fit(X, y)


def lspccv(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: LSPCCV().fit(X, y)


def centres(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: LSPC(n_centers=400, random_state=0).fit(X, y)


def predict(n: int) -> Work:
    model = LSPCCV().fit(*enlarged_digits(500))
    X = enlarged_digits(n, seed=1)[0]
    return lambda: model.predict_proba(X)


def tasks(n: int) -> Work:
    X, y, task = make_related_tasks(n_tasks=10, n_samples=n // 10, random_state=0)
    return lambda: MultiTaskLSPC().fit(X, y, task=task)


def tasks_cv(n: int) -> Work:
    X, y, task = make_related_tasks(n_tasks=10, n_samples=n // 10, random_state=0)
    return lambda: MultiTaskLSPCCV().fit(X, y, task=task)


def labels_cv(n: int) -> Work:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = (X @ rng.normal(size=(10, 6)) + rng.normal(size=(n, 6)) > 0).astype(int)
    return lambda: MultiLabelLSPCCV().fit(X, Y)


def klr_cv(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: KernelLogisticRegressionCV(sigmas=[8.0, 16.0], regs=[1e-4, 1e-3]).fit(X, y)


def stream(n: int) -> Work:
    X, y = enlarged_digits(n)
    return lambda: LSPC(n_centers=300, random_state=0).fit_stream((X, y))


def measure(name: str) -> float:
    """Return the least processor seconds of a work in this process."""
    kind, size = name.split("/")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work: Work = globals()[kind](int(size))
        seconds: list[float] = []
        while len(seconds) < 3 or sum(seconds) < ENOUGH_SECONDS:
            start = time.process_time()
            work()
            seconds.append(time.process_time() - start)
    return min(seconds)


def in_child(name: str, source: Path) -> float:
    """Measure a work in a process of its own."""
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(source), str(OURS)]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [
        sys.executable,
        "-m",
        MODULE,
        str(source),
        "--child",
        name,
    ]
    found = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return float(json.loads(found.stdout.splitlines()[-1]))


def compare(name: str, other: Path, rounds: int) -> dict[str, float]:
    """Measure both versions in turn."""
    print(f"... {name}", flush=True)
    seconds: dict[Path, list[float]] = {HERE: [], other: []}
    for _ in range(rounds):
        for source, found in seconds.items():
            found.append(in_child(name, source))
    this, that = min(seconds[HERE]), min(seconds[other])
    return {
        "this": significant(this, 4),
        "other": significant(that, 4),
        "ratio": significant(this / that, 4),
    }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="source folder of the other version")
    parser.add_argument("--works", nargs="+", default=list(WORKS), help="kind/size of works")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each version")
    parser.add_argument("--out", type=Path, default=RESULTS / "versions.json")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(measure(options.child)))
        return {}
    other = options.other.resolve()
    results = Results(options.out, fresh=True)
    results.save(machine=machine_facts(), rounds=options.rounds)
    for name in options.works:
        results.cell((name,), partial(compare, name, other, options.rounds))
    rows = [
        [name, f"{cell['this']:.3f}", f"{cell['other']:.3f}", f"{cell['ratio']:.2f}"]
        for name, cell in results.cells.items()
    ]
    print(table(["work", "this s", "other s", "ratio"], rows))
    return results.cells


if __name__ == "__main__":
    main()
