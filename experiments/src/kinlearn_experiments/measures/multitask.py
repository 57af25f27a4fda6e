"""What many tasks cost, in units of the linear algebra of one.

Every row is a ratio of two works timed in turn in this same run, BLAS threads pinned::

    python -m kinlearn_experiments.measures.multitask [--quick] [--threads 1]

Prints a table with the target of each row and writes ``results/multitask.json``; a rerun measures
what is missing there.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from kinlearn import MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.datasets import make_related_tasks
from kinlearn.kernels import median_width, resolve_kernel
from kinlearn.selection.grid import SHARINGS, default_regs, default_sigmas
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.timing import paired_ratio, side_by_side
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

Row = dict[str, Any]


def data(n_rows: int, n_tasks: int, n_classes: int = 2) -> tuple[np.ndarray, ...]:
    """`n_rows` rows of related tasks of equal size."""
    sizes = np.full(n_tasks, n_rows // n_tasks)
    sizes[: n_rows % n_tasks] += 1
    return make_related_tasks(
        n_tasks=n_tasks, n_samples=sizes.tolist(), n_features=9, n_classes=n_classes, random_state=0
    )


def row(name: str, n: int, ratio: tuple[float, float], target: float, **facts: Any) -> Row:
    """One line of the table: wall-clock and processor time as ratios."""
    wall, processor = map(significant, ratio)
    return {"row": name, "n": n, "wall": wall, "processor": processor, "at_most": target, **facts}


def fit_rows(n: int, repeats: int) -> list[Row]:
    """One fit, its calibration included: more tasks, and more classes, at the same N."""

    def fit(n_tasks: int, n_classes: int) -> Any:
        X, y, task = data(n, n_tasks, n_classes)
        return lambda: MultiTaskLSPC().fit(X, y, task=task)

    works = {"2 tasks": fit(2, 2), "100 tasks": fit(100, 2), "10 classes": fit(2, 10)}
    times = side_by_side(works, repeats)
    return [
        row("fit, 100 tasks / 2 tasks", n, paired_ratio(times["100 tasks"], times["2 tasks"]), 1.2),
        row(
            "fit, 10 classes / 2 classes",
            n,
            paired_ratio(times["10 classes"], times["2 tasks"]),
            1.3,
        ),
    ]


def search_rows(n: int, repeats: int) -> list[Row]:
    """The whole search over 840 points of one kernel, beside one decomposition and refitting."""
    X, y, task = data(n, 17)
    median = median_width(X, resolve_kernel("rbf"))
    grid: dict[str, Any] = {
        "sigmas": default_sigmas(median),
        "sharings": SHARINGS,
        "regs": default_regs(),
    }
    n_points = int(np.prod([len(values) for values in grid.values()]))
    # Without structure, so that divide and conquer finds nothing to deflate.
    symmetric = np.random.default_rng(0).standard_normal((n, n))
    symmetric += symmetric.T
    point = MultiTaskLSPC(sigma=median, posterior="rounded")
    works = {
        "search": lambda: MultiTaskLSPCCV(kernel="rbf", **grid).fit(X, y, task=task),
        "dsyevd": lambda: eigh(symmetric, driver="evd", check_finite=False),
        "one fit": lambda: point.fit(X, y, task=task),
    }
    times = side_by_side(works, repeats)
    # Leave-one-out by refitting takes a fit for each row at each point: one is timed, and counted.
    brute = paired_ratio(times["search"], times["one fit"] * (n_points * n))
    return [
        row(
            f"search of {n_points} points with leave-one-out / dsyevd(N)",
            n,
            paired_ratio(times["search"], times["dsyevd"]),
            35.0,
            seconds=significant(np.median(times["search"][:, 0])),
        ),
        row(f"search of {n_points} points / refitting for every row", n, brute, 1 / 50),
    ]


def show(rows: list[Row]) -> str:
    """The table, with what was aimed at."""
    header = ("ratio", "N", "wall", "processor", "at most")
    lines = [
        (r["row"], r["n"], f"{r['wall']:.3g}", f"{r['processor']:.3g}", f"{r['at_most']:.3g}")
        for r in rows
    ]
    return table(header, lines)


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    parser.add_argument("--fresh", action="store_true", help="measure everything anew")
    parser.add_argument("--out", type=Path, default=RESULTS / "multitask.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=options.fresh or options.quick)
    sizes = ((400,), ((300, 1),)) if options.quick else ((1000, 2000), ((595, 5), (2000, 1)))
    rows: list[Row] = []
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for n in sizes[0]:
            rows += results.cell(("fit", n), partial(fit_rows, n, 3 if options.quick else 7))
        for n, repeats in sizes[1]:
            rows += results.cell(("search", n), partial(search_rows, n, repeats))
        results.save(machine=machine_facts(), threads=options.threads)
    print(show(rows))
    return rows


if __name__ == "__main__":
    main()
