r"""Least squares beside the logistic loss: the time of one fit, of a tuned fit, and Landmine.

Kernel logistic regression here has the same features, grids and folds, so that only the loss
differs. Every ratio is of works timed in turn in this same run, BLAS threads pinned::

    KINLEARN_DATA=... python -m kinlearn_experiments.measures.klr [--quick] \
        [--parts fit tuned landmine] [--seeds 5]

Prints tables and writes ``results/klr.json``; a rerun measures what is missing there. Landmine is
left out where ``KINLEARN_DATA`` is not set.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from kinlearn import (
    LSPC,
    LSPCCV,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
)
from kinlearn.datasets import make_related_tasks
from kinlearn.kernels import median_width, resolve_kernel
from kinlearn.selection.grid import SHARINGS, default_regs, default_sigmas
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.timing import paired_ratio, side_by_side
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

SIZES = (200, 500, 1000, 2000)
# The tuned multi-task fit of 2000 rows is left out for its time.
TUNED = tuple(
    (kind, n) for n in SIZES for kind in ("single", "multi") if (kind, n) != ("multi", 2000)
)
PARTS = ("fit", "landmine", "tuned")
REG = 1e-4
N_TASKS = 17
Row = dict[str, Any]


def data(n_rows: int, n_classes: int = 2) -> tuple[np.ndarray, ...]:
    """`n_rows` rows of related tasks of nearly equal size."""
    sizes = np.full(N_TASKS, n_rows // N_TASKS)
    sizes[: n_rows % N_TASKS] += 1
    return make_related_tasks(
        n_tasks=N_TASKS, n_samples=sizes.tolist(), n_features=9, n_classes=n_classes, random_state=0
    )


def fit_row(kind: str, n: int, n_classes: int, repeats: int) -> Row:
    """One fit of each: LSPC calibrated and bare, and logistic regression by both solvers."""
    X, y, task = data(n, n_classes)
    given = {"task": task} if kind == "multi" else {}
    lspc: Any = LSPC
    klr: Any = KernelLogisticRegression
    if kind == "multi":
        lspc, klr = MultiTaskLSPC, MultiTaskKernelLogisticRegression
    models = {
        "lspc": lspc(reg=REG),
        "lspc rounded": lspc(reg=REG, posterior="rounded"),
        "newton": klr(reg=REG),
        "lbfgs": klr(reg=REG, solver="lbfgs"),
    }
    works = {name: partial(model.fit, X, y, **given) for name, model in models.items()}
    times = side_by_side(works, repeats)
    row: Row = {"kind": kind, "n": n, "classes": n_classes}
    row["seconds"] = {name: significant(np.median(t[:, 0]), 3) for name, t in times.items()}
    for solver in ("newton", "lbfgs"):
        model = models[solver]
        for base in ("lspc", "lspc rounded"):
            wall, processor = paired_ratio(times[solver], times[base])
            row[f"{solver} / {base}"] = [significant(wall, 3), significant(processor, 3)]
        row[solver] = {
            "iterations": model.n_iter_,
            "factorisations": model.n_factorisations_,
            "gradient_norm": significant(model.gradient_norm_, 2),
        }
    return row


def tuned_row(kind: str, n: int) -> Row:
    """Whole tuned fits on the same grid and folds, and LSPC's own default beside."""
    X, y, task = data(n)
    median = median_width(X, resolve_kernel("rbf"))
    grid: dict[str, Any] = {"sigmas": default_sigmas(median), "regs": default_regs()}
    given = {}
    lspc: Any = LSPCCV
    klr: Any = KernelLogisticRegressionCV
    if kind == "multi":
        grid["sharings"], given = SHARINGS, {"task": task}
        lspc, klr = MultiTaskLSPCCV, MultiTaskKernelLogisticRegressionCV
    works = {
        "lspc, 5 folds": lambda: lspc(**grid, cv=5, combine="best").fit(X, y, **given),
        "lspc, leave-one-out": lambda: lspc(**grid).fit(X, y, **given),
        "newton": lambda: klr(**grid).fit(X, y, **given),
    }
    seconds = {name: timed(work)[1] for name, work in works.items()}
    row: Row = {"kind": kind, "n": n, "points": int(np.prod([len(v) for v in grid.values()]))}
    row["seconds"] = {name: significant(pair[0], 3) for name, pair in seconds.items()}
    for base in ("lspc, 5 folds", "lspc, leave-one-out"):
        ratio = np.divide(seconds["newton"], seconds[base])
        row[f"newton / {base}"] = [significant(value, 3) for value in ratio]
    return row


def timed(work: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """The result, and wall-clock and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - processor)


def landmine_row(seed: int) -> Row:
    """Seventeen minefields, two reversed, 35 labels each: both losses, tuned in turn."""
    from kinlearn_experiments.measures.task_data import draw, landmine

    mines = landmine()
    train, test = draw(mines, 35, seed, by_class=False)
    X, y, task = mines.X[test], mines.y[test], mines.task[test]
    row: Row = {"seed": seed}
    models = {
        "lspc": MultiTaskLSPCCV(),
        "klr": MultiTaskKernelLogisticRegressionCV(),
        "lspc best": MultiTaskLSPCCV(cv=5, combine="best"),
    }
    for name, model in models.items():
        model, seconds = timed(
            partial(model.fit, mines.X[train], mines.y[train], task=mines.task[train])
        )
        scores = model.decision_function(X, task=task)
        areas = [roc_auc_score(y[task == t], scores[task == t]) for t in np.unique(task)]
        proba = np.clip(model.predict_proba(X, task=task)[np.arange(len(y)), y], 1e-15, 1.0)
        row[name] = {
            "auc": significant(np.mean(areas)),
            "log_loss": significant(-np.log(proba).mean()),
            "seconds": [significant(value, 3) for value in seconds],
        }
    return row


def show_fits(rows: list[Row]) -> str:
    """Time of logistic regression in units of LSPC's."""
    header = ("fit", "n", "classes", "newton / LSPC", "newton / bare", "Cholesky", "L-BFGS / LSPC")
    lines = [
        (
            r["kind"],
            r["n"],
            r["classes"],
            f"{r['newton / lspc'][1]:.3g}",
            f"{r['newton / lspc rounded'][1]:.3g}",
            r["newton"]["factorisations"],
            f"{r['lbfgs / lspc'][1]:.3g}",
        )
        for r in rows
    ]
    return table(header, lines)


def show_tuned(rows: list[Row]) -> str:
    """Time of the tuned logistic regression in units of the tuned LSPC's."""
    header = ("tuned", "n", "points", "KLR / LSPC, both 5 folds", "KLR / LSPC, leave-one-out")
    lines = [
        (
            r["kind"],
            r["n"],
            r["points"],
            f"{r['newton / lspc, 5 folds'][1]:.3g}",
            f"{r['newton / lspc, leave-one-out'][1]:.3g}",
        )
        for r in rows
    ]
    return table(header, lines)


def show_landmine(rows: list[Row]) -> str:
    """Means over seeds."""
    names = {
        "lspc": "MultiTaskLSPCCV()",
        "lspc best": 'MultiTaskLSPCCV(cv=5, combine="best")',
        "klr": "MultiTaskKernelLogisticRegressionCV()",
    }
    lines = []
    for key, name in names.items():
        auc = np.array([r[key]["auc"] for r in rows])
        loss = np.mean([r[key]["log_loss"] for r in rows])
        ratio = np.median([r["klr"]["seconds"][1] / r[key]["seconds"][1] for r in rows])
        error = auc.std(ddof=1) / np.sqrt(len(auc)) if len(auc) > 1 else float("nan")
        lines.append((name, len(rows), f"{auc.mean():.3f} ± {error:.3f}", f"{loss:.3f}", ratio))
    header = ("Landmine, 17 × 35", "seeds", "AUC", "log-loss", "KLR's time over its")
    return table(header, [(*line[:4], f"{line[4]:.3g}") for line in lines])


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    parser.add_argument("--fresh", action="store_true", help="measure everything anew")
    parser.add_argument("--out", type=Path, default=RESULTS / "klr.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=options.fresh)
    sizes, tuned = options.sizes, [cell for cell in TUNED if cell[1] in options.sizes]
    if options.quick:
        sizes, tuned = [60], [("single", 60)]
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "fit" in options.parts:
            for n in sizes:
                for kind, classes in (("single", 2), ("multi", 2), ("single", 10)):
                    repeats = 1 if n >= 2000 or options.quick else 5
                    if classes == 2 or n <= 1000:
                        results.cell(
                            ("fit", n, kind, classes),
                            partial(fit_row, kind, n, classes, repeats),
                        )
        if "landmine" in options.parts and os.environ.get("KINLEARN_DATA"):
            for seed in range(options.seeds):
                results.cell(("landmine", seed), partial(landmine_row, seed))
        if "tuned" in options.parts:
            for kind, n in tuned:
                results.cell(("tuned", n, kind), partial(tuned_row, kind, n))
        results.save(machine=machine_facts(), threads=options.threads, reg=REG)
    for part, show in (("fit", show_fits), ("tuned", show_tuned), ("landmine", show_landmine)):
        rows = [cell for key, cell in results.cells.items() if key.startswith(part + "/")]
        if rows:
            print(show(rows), end="\n\n")
    return results


if __name__ == "__main__":
    main()
