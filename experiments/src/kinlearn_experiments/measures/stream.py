"""What one pass costs: speed beside bare linear algebra, memory, growth in rows and in tasks.

Prints tables and writes ``results/stream.json`` with the machine's facts. Speed is a ratio of times
measured in turn on the same blocks; memory is the peak of a process of its own, the interpreter
and all libraries included. ``--figure`` draws the growth in tasks.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, MultiTaskLSPC, NormalEquations
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

MODULE = "kinlearn_experiments.measures.stream"
BLOCK = 8192
N_FEATURES, N_CLASSES = 20, 5


def centers(m: int) -> np.ndarray:
    """Centres of their own, so that every part of the benchmark has the same."""
    return np.random.default_rng(1).normal(size=(m, N_FEATURES))


def blocks(n_rows: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows made as they are needed: none of them is ever kept."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, BLOCK):
        X = rng.normal(size=(min(BLOCK, n_rows - start), N_FEATURES))
        yield X, np.clip(np.rint(X[:, 0] * X[:, 1] + 2.0), 0, N_CLASSES - 1).astype(int)


def measure_speed(n_rows: int, m: int) -> dict[str, Any]:
    """Time sums and the bare products they consist of, block by block in turn."""
    C = centers(m)
    sums = NormalEquations(C, sigma=5.0)
    H = np.zeros((m, m), order="F")
    seconds = np.zeros((2, 2))
    for k, (X, y) in enumerate(blocks(n_rows)):
        order = (0, 1) if k % 2 else (1, 0)
        for which in order:
            wall, processor = time.perf_counter(), time.process_time()
            if which == 0:
                sums.update(X, y)
            else:
                Phi = X @ C.T
                np.exp(Phi, out=Phi)
                H = blas.dsyrk(1.0, Phi.T, beta=1.0, c=H, lower=1, overwrite_c=1)
            seconds[which] += time.perf_counter() - wall, time.process_time() - processor
    return {
        "rows": n_rows,
        "centers": m,
        "sums": [significant(s) for s in seconds[0]],
        "bare": [significant(s) for s in seconds[1]],
        "share_of_bare_speed": [significant(s) for s in seconds[1] / seconds[0]],
        "rows_per_processor_second": significant(n_rows / seconds[0, 1]),
    }


def pass_over_rows(n_rows: int, m: int) -> dict[str, Any]:
    """One pass, solved and calibrated; run in a process of its own."""
    wall, processor = time.perf_counter(), time.process_time()
    model = LSPC(centers=centers(m), sigma=5.0, polish=None).fit_stream(blocks(n_rows))
    return {
        "rows": n_rows,
        "centers": m,
        "seconds": [
            significant(time.perf_counter() - wall),
            significant(time.process_time() - processor),
        ],
        "peak_mb": peak_mb(),
        "accuracy": significant(np.mean([model.score(X, y) for X, y in blocks(BLOCK, seed=2)])),
    }


def pass_over_tasks(n_tasks: int, m: int, n_rows: int = 50) -> dict[str, Any]:
    """Many small tasks: sums, solution and calibration; run in a process of its own."""
    rng = np.random.default_rng(0)
    shared, own = rng.normal(size=10), rng.normal(size=(n_tasks, 10))
    wall, processor = time.perf_counter(), time.process_time()
    sums = NormalEquations(rng.normal(size=(m, 10)), sigma=3.0)
    step = 200  # tasks at a time
    for first in range(0, n_tasks, step):
        task = np.repeat(np.arange(first, min(first + step, n_tasks)), n_rows)
        X = rng.normal(size=(task.size, 10))
        sums.update(X, (X @ shared + (X * own[task]).sum(axis=1) > 0).astype(int), task=task)
    added = time.process_time() - processor
    model = MultiTaskLSPC(sharing=0.5).fit_statistics(sums)
    return {
        "tasks": n_tasks,
        "rows": n_tasks * n_rows,
        "centers": m,
        "seconds": [
            significant(time.perf_counter() - wall),
            significant(time.process_time() - processor),
        ],
        "adding": significant(added),
        "sums_mb": significant(sums.nbytes / 2**20),
        "peak_mb": peak_mb(),
        "finite": bool(np.isfinite(model.coef_).all()),
    }


def peak_mb() -> float:
    """Peak resident memory of this process.

    Linux counts it anew for every program; elsewhere the parent's peak before the start is in it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        words = status.read_text().split()
        return significant(int(words[words.index("VmHWM:") + 1]) / 1024)
    return significant(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


Child = Callable[[int, int], dict[str, Any]]
CHILDREN: dict[str, Child] = {
    "rows": pass_over_rows,
    "tasks": pass_over_tasks,
}


def in_process(kind: str, size: int, m: int) -> dict[str, Any]:
    """Measure in a fresh process, whose peak of memory is that of the pass alone."""
    command = [
        sys.executable,
        "-m",
        MODULE,
        "--child",
        kind,
        "--sizes",
        str(size),
        "--centers",
        str(m),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(results: Results) -> str:
    """Return the tables."""
    cells = results.cells
    lines = []
    speed = [cells[key] for key in cells if key.startswith("speed/")]
    if speed:
        header = ["rows", "centres", "rows/s", "of bare speed (wall)", "(processor)"]
        body = [
            [
                row["rows"],
                row["centers"],
                f"{row['rows_per_processor_second']:.0f}",
                *(f"{share:.0%}" for share in row["share_of_bare_speed"]),
            ]
            for row in speed
        ]
        lines += ["one pass, one thread", table(header, body), ""]
    for kind, first in (("rows", "rows"), ("tasks", "tasks")):
        rows = [cells[key] for key in cells if key.startswith(f"{kind}/")]
        if rows:
            header = [first, "centres", "processor s", "peak MB"]
            body = [
                [row[first], row["centers"], f"{row['seconds'][1]:.1f}", f"{row['peak_mb']:.0f}"]
                for row in rows
            ]
            lines += [f"growth in {kind}", table(header, body), ""]
    return "\n".join(lines)


def draw(results: Results, path: Path) -> None:
    """Plot time and memory over the number of tasks."""
    import matplotlib.pyplot as plt

    rows = [v for k, v in results.cells.items() if k.startswith("tasks/")]
    rows.sort(key=lambda row: row["tasks"])
    tasks = [row["tasks"] for row in rows]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, values, label in (
        (axes[0], [row["seconds"][1] for row in rows], "processor seconds"),
        (axes[1], [row["peak_mb"] for row in rows], "peak memory, MB"),
    ):
        axis.plot(tasks, values, "o-")
        axis.set(xlabel="tasks of 50 rows", ylabel=label, xlim=(0, None), ylim=(0, None))
    figure.suptitle(f"{rows[0]['centers']} centres: adding, solving and calibrating")
    figure.savefig(path, dpi=120)


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--centers", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--tasks", type=int, nargs="*", default=[250, 500, 1000, 2000])
    parser.add_argument("--task-centers", type=int, default=500)
    parser.add_argument("--child", choices=sorted(CHILDREN))
    parser.add_argument("--out", type=Path, default=RESULTS / "stream.json")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args(arguments)
    with threadpool_limits(1):
        if options.child:
            print(json.dumps(CHILDREN[options.child](options.sizes[0], options.centers)))
            return
        results = Results(options.out, options.fresh)
        m = options.centers
        results.cell(["speed", options.rows, m], lambda: measure_speed(options.rows, m))
        for size in options.sizes:
            results.cell(["rows", size, m], partial(in_process, "rows", size, m))
        few = options.task_centers
        for size in options.tasks:
            results.cell(["tasks", size, few], partial(in_process, "tasks", size, few))
        results.save(machine=machine_facts())
    print(report(results))
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()
