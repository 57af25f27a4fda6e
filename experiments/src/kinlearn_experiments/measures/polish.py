"""The logistic polish: log-loss and time beside the closed form, Nystroem features and boosting.

Real sets at equal numbers of centres and one width, half the median distance or all of it, and the
best of three regs, which with more centres is that of the fewest; what
passes cost beside the pass that makes the sums; and how time grows with rows. Writes
``results/polish.json``; the sets need ``KINLEARN_DATA``. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, LSPCCV, KernelLogisticRegression, MultiLabelLSPC
from kinlearn.kernels import KernelMap, median_width, resolve_kernel
from kinlearn.problems.coding import Coding
from kinlearn.problems.polish import Polish
from kinlearn.problems.polish_coordinates import HeldRows, OneTaskCoordinates, RowSums
from kinlearn.solvers.log_loss_pass import log_loss_pass
from kinlearn.sums.gram import gram
from kinlearn.tables.pipeline import make_model
from kinlearn.tables.training import TABLE_KERNELS
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.stream_data import get, quality, rival, rivals
from kinlearn_experiments.measures.table import adult_table, split_adult
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

SETS = ("letter", "shuttle", "magic", "tmc2007", "fashion")
REGS = (1e-7, 1e-6, 1e-5)
TUNED = ("letter", "shuttle", "magic")
# The closed form is measured up to so many centres.
MOST_CLOSED = 500
# Widths in units of the median distance; words of a text are rows of length one.
FACTOR = {"tmc2007": 1.0}
PASSES = 5
# A stream of made-up rows; prints its peak memory in kB.
STREAM = """
import resource
import sys

import numpy as np

from kinlearn import LSPC

m, polish = int(sys.argv[1]), int(sys.argv[2]) or None


def batches():
    rng = np.random.default_rng(1)
    for _ in range(20):
        X = rng.normal(size=(8192, 20))
        yield X, (X[:, :10] + 0.5 * rng.normal(size=(8192, 10))).argmax(axis=1)


model = LSPC(n_centers=m, sigma=3.0, reg=1e-6, polish=polish, random_state=0).fit_stream(batches)
assert (model.n_iter_ > 1) == (polish is not None)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
# Features of all rows are kept between passes up to so many MB.
MEMORY = 5120
# From so many centres on reg is chosen anew, among these.
MANY, REGS_OF_MANY = 5000, (1e-5, 1e-4)
# Rivals are measured up to so many entries of their features.
RIVAL_ENTRIES = 100_000_000


def fitted(
    polish: Any,
    m: int,
    width: float,
    regs: tuple[float, ...],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
) -> dict[str, Any]:
    """The best of some regs by the held-out log-loss; time includes all fits."""
    start = time.process_time()
    kind = LSPC if np.ndim(y) == 1 else MultiLabelLSPC
    found = []
    for reg in regs:
        model = kind(sigma=width, reg=reg, n_centers=m, polish=polish, random_state=0)
        model.set_params(memory_mb=MEMORY).fit(X, y)
        if polish is None:
            truth = model.held_out_proba()
            seen = ~np.isnan(truth).any(axis=1)
            told = quality(truth[seen], y[seen])["log_loss"]
        else:
            told = float(model.polish_path_.min())
        found.append((told, model))
    best = min(found, key=lambda pair: pair[0])[1]
    seconds = time.process_time() - start
    return {
        "reg": best.reg,
        "regs": len(regs),
        "passes": int(best.n_iter_),
        "seconds": significant(seconds),
        **quality(np.asarray(best.predict_proba(X_test)), y_test),
    }


def tuned(X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    """``LSPCCV`` with its defaults."""
    start = time.process_time()
    model = LSPCCV(random_state=0).fit(X, y)
    seconds = significant(time.process_time() - start)
    return {
        "centers": model.n_centers_,
        "kernels": "+".join(model.kept_kernels_),
        "seconds": seconds,
        **quality(model.predict_proba(X_test), y_test),
    }


def boosted(X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    """LightGBM, number of leaves and rounds chosen on a fifth of the rows."""
    import lightgbm
    from sklearn.model_selection import train_test_split

    start = time.process_time()
    rows, held, labels, truth = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    found = []
    for leaves in (15, 31, 63):
        for rate in (0.03, 0.1):
            model = lightgbm.LGBMClassifier(
                n_estimators=1500, num_leaves=leaves, learning_rate=rate, n_jobs=1, verbose=-1
            )
            stop = lightgbm.early_stopping(30, verbose=False)
            model.fit(rows, labels, eval_set=[(held, truth)], callbacks=[stop])
            loss = quality(np.asarray(model.predict_proba(held)), truth)["log_loss"]
            found.append((loss, leaves, rate, model.best_iteration_))
    _, leaves, rate, rounds = min(found)
    best = lightgbm.LGBMClassifier(
        n_estimators=rounds, num_leaves=leaves, learning_rate=rate, n_jobs=1, verbose=-1
    ).fit(X, y)
    seconds = significant(time.process_time() - start)
    return {"seconds": seconds, **quality(np.asarray(best.predict_proba(X_test)), y_test)}


def adult(method: str) -> dict[str, Any]:
    """Adult through the columns of ``kinlearn train``; LightGBM is told which are categories."""
    with tempfile.TemporaryDirectory() as folder:
        schema, X, y, X_test, y_test = split_adult(adult_table(Path(folder)), 0)
    truth = (y_test == y.max()).astype(int)
    if method == "lightgbm":
        kinds = dict.fromkeys(schema.categorical, "category")
        both = pd.concat([X, X_test]).astype(kinds)
        y = (y == y.max()).astype(int)
        return boosted(both.iloc[: len(X)], y, both.iloc[len(X) :], truth)
    start = time.process_time()
    found = make_model(schema, LSPCCV(kernel=TABLE_KERNELS, random_state=0)).fit(X, y)
    seconds, last = significant(time.process_time() - start), found[-1]
    return {
        "centers": last.n_centers_,
        "kernels": "+".join(last.kept_kernels_),
        "seconds": seconds,
        **quality(found.predict_proba(X_test), truth),
    }


def converged(reg: float, m: int, width: float, data: tuple[Any, ...]) -> dict[str, Any]:
    """Ours in passes beside scikit-learn on explicit features: one objective, without intercept."""
    X, y, X_test, y_test = data
    features = KernelMap(resolve_kernel("rbf"), X[:m], MEMORY)
    signs = np.where(y == y.max(), 1.0, -1.0)
    given = {"fit_intercept": False, "random_state": 0}
    plain = partial(LogisticRegression, C=1.0 / (len(y) * reg), **given)
    start = time.process_time()
    Phi = features.features(X, width)
    making = time.process_time() - start
    rivals: dict[str, Any] = {
        "lbfgs": plain(max_iter=5000, tol=1e-6),
        "saga": plain(solver="saga", max_iter=100),
        "sgd": SGDClassifier("log_loss", alpha=reg, max_iter=100, tol=None, **given),
    }
    start = time.process_time()
    ours = KernelLogisticRegression(centers=X[:m], sigma=width, reg=reg, tol=1e-6)
    ours.fit_stream((X, y))
    seconds = {"ours": time.process_time() - start}
    scores = {"ours": (ours.decision_function(X), ours.decision_function(X_test))}
    Phi_test = features.features(X_test, width)
    norms = {"ours": float(np.square(ours.coef_[0][:, 1] - ours.coef_[0][:, 0]).sum())}
    for name, model in rivals.items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(Phi, y)
        seconds[name] = making + time.process_time() - start
        scores[name] = model.decision_function(Phi), model.decision_function(Phi_test)
        norms[name] = float(np.square(model.coef_).sum())
    least, found = np.inf, {"rows": len(y), "centers": m, "reg": reg, "passes": ours.n_iter_}
    objective = {
        name: np.logaddexp(0.0, -signs * own).mean() + reg / 2.0 * norms[name]
        for name, (own, _) in scores.items()
    }
    least = min(objective.values())
    for name, (_, new) in scores.items():
        p = 1.0 / (1.0 + np.exp(-new))
        found[name] = {
            "seconds": significant(seconds[name]),
            "above_least": float(f"{objective[name] - least:.1e}"),
            "log_loss": quality(np.column_stack([1.0 - p, p]), y_test)["log_loss"],
        }
    return found


def costs(n_rows: int, m: int, c: int, d: int) -> dict[str, float]:
    """What passes take beside the one that makes the sums, features kept and made again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, d))
    y = (X[:, :c] + 0.5 * rng.normal(size=(n_rows, c))).argmax(axis=1)
    features, sigma, Z = KernelMap(resolve_kernel("rbf"), X[:m], 4096), 0.7 * d**0.5, np.eye(c)[y]

    def made() -> Any:
        for rows, phi in features.feature_blocks(X, sigma):
            yield phi, Z[rows], None

    start = time.process_time()
    H, h = np.zeros((m, m)), np.zeros((m, c))
    for phi, targets, _ in made():
        H += gram(phi)
        h += phi.T @ targets
    sums = time.process_time() - start
    few = min(500, n_rows // 4)
    held = HeldRows(features.features(X[:few], sigma), Z[:few], np.ones(few))
    row_sums = RowSums(H, h, float(n_rows))
    kept = list(made())
    found = {"sums": sums}
    sources: dict[str, Callable[[], Any]] = {"kept": lambda: kept, "made_again": made}
    for name, blocks in sources.items():
        coordinates = OneTaskCoordinates(row_sums, 1e-5)
        polish = Polish(coordinates, held, Coding.of_classes(c), max_passes=PASSES)
        start = time.process_time()
        for _ in range(PASSES):
            polish.tell(*log_loss_pass(blocks(), polish.coef, polish.coding.sigmoids))
        found[name] = time.process_time() - start
    return {
        "rows": n_rows,
        "centers": m,
        "classes": c,
        "features": d,
        **{name: significant(value) for name, value in found.items()},
        "ratio_kept": significant(found["kept"] / sums),
        "ratio_made_again": significant(found["made_again"] / sums),
    }


def growth(n_rows: int, m: int) -> dict[str, float]:
    """Processor seconds of a polished stream of so many rows, made batch by batch."""

    def batches() -> Any:
        rng = np.random.default_rng(1)
        for first in range(0, n_rows, 10_000):
            X = rng.normal(size=(min(10_000, n_rows - first), 10))
            yield X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0.5 * X[:, 2] * X[:, 3]).astype(int)

    ends: dict[int, float] = {}

    def note(progress: Any) -> None:
        ends[progress.polish_pass] = time.process_time()

    start = time.process_time()
    model = LSPC(n_centers=m, sigma=3.0, reg=1e-6, polish=PASSES, random_state=0)
    model.fit_stream(batches, progress=note)
    seconds, last = time.process_time() - start, max(ends)
    return {
        "rows": n_rows,
        "seconds": significant(seconds),
        "sums": significant(ends[0] - start),
        "passes": last,
        "pass": significant((ends[last] - ends[1]) / (last - 1)),
    }


def slope(cells: list[dict[str, float]], what: str = "seconds") -> float:
    """Of the logarithm of the seconds by that of the rows."""
    rows, seconds = ([np.log(cell[name]) for cell in cells] for name in ("rows", what))
    return float(np.polyfit(rows, seconds, 1)[0])


def memory(m: int, polish: int | None) -> dict[str, float]:
    """Peak memory of a process of its own that streams 164,000 rows, with a polish or without."""
    run = subprocess.run(
        [sys.executable, "-c", STREAM, str(m), str(polish or 0)],
        check=True,
        capture_output=True,
        text=True,
    )
    return {"centers": m, "peak_mb": significant(float(run.stdout) / 1024.0)}


def report(results: Results) -> str:
    """Log-loss, and times as ratios to the polished fit, set by set."""
    rows = []
    for key, cell in results.cells.items():
        if "log_loss" not in cell:
            continue
        name, _, rest = key.partition("/")
        m = rest.split("/")[-1]
        unit = results.cells.get(f"{name}/polished/{m}", cell)
        rows.append(
            [
                key,
                f"{cell['accuracy']:.4f}",
                f"{cell['log_loss']:.4f}",
                f"{cell['log_loss'] / unit['log_loss']:.2f}",
                f"{cell['seconds'] / unit['seconds']:.2f}",
            ]
        )
    found = [table(["set/method/centres", "accuracy", "log-loss", "÷ ours", "time ÷ ours"], rows)]
    for key, cell in results.cells.items():
        if "ratio_kept" in cell:
            found.append(
                f"{PASSES} passes ÷ the sums ({key}): {cell['ratio_kept']:.2f} with features kept, "
                f"{cell['ratio_made_again']:.2f} with features made again"
            )
    grown = [cell for key, cell in results.cells.items() if key.startswith("growth/")]
    if len(grown) > 1:
        found.append(
            f"time grows as rows to the power {slope(grown):.3f}; that of the sums, centres "
            f"included, {slope(grown, 'sums'):.3f}, of a pass {slope(grown, 'pass'):.3f}"
        )
    peaks = [results.cells.get(f"memory/{kind}") for kind in ("closed", "polished")]
    if all(peaks):
        closed, polished = (float(cell["peak_mb"]) for cell in peaks if cell)
        found.append(f"peak memory {polished / closed:.2f} times that of the closed form")
    for key, cell in results.cells.items():
        if key.startswith("converged/"):
            lines = [
                [
                    name,
                    f"{one['seconds']:.1f}",
                    f"{one['above_least']:.1e}",
                    f"{one['log_loss']:.4f}",
                ]
                for name, one in cell.items()
                if isinstance(one, dict)
            ]
            header = [f"{key}, {cell['passes']} passes", "seconds", "above the least", "log-loss"]
            found.append(table(header, lines))
    return "\n".join(found)


def main(arguments: list[str] | None = None) -> Results:
    """Measure what is missing and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--centers", type=int, nargs="*", default=[500])
    parser.add_argument("--tuned", nargs="*", default=list(TUNED))
    parser.add_argument("--no-boosting", action="store_true")
    parser.add_argument("--cost-rows", type=int, nargs="*", default=[20_000])
    parser.add_argument("--cost-centers", type=int, default=1000)
    parser.add_argument("--growth", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--growth-centers", type=int, default=300)
    parser.add_argument("--memory", type=int, default=1000, help="centres; 0 for none")
    parser.add_argument("--adult", nargs="*", default=["train", "lightgbm"])
    parser.add_argument("--converged", nargs="*", default=["magic"], help="of two classes")
    parser.add_argument("--fresh", action="store_true", help="measure cells again")
    parser.add_argument("--out", type=Path, default=RESULTS / "polish.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=options.fresh)
    with threadpool_limits(1):
        for n_rows in options.cost_rows:
            key = ["costs", n_rows, options.cost_centers]
            results.cell(key, partial(costs, n_rows, options.cost_centers, 10, 20))
        for n_rows in options.growth:
            results.cell(["growth", n_rows], partial(growth, n_rows, options.growth_centers))
        for kind, passes in (("closed", None), ("polished", PASSES)) if options.memory else ():
            results.cell(["memory", kind], partial(memory, options.memory, passes))
        for method in options.adult:
            results.cell(["adult", method], partial(adult, method))
        for name in options.converged:
            data = get(name)
            width = 0.5 * median_width(data[0][:2000], resolve_kernel("rbf"))
            results.cell(["converged", name], partial(converged, 1e-5, 500, width, data))
        for name in dict.fromkeys([*options.sets, *options.tuned]):
            data = get(name)
            width = FACTOR.get(name, 0.5) * median_width(data[0][:2000], resolve_kernel("rbf"))
            if name in options.tuned:
                results.cell([name, "tuned"], partial(tuned, *data))
                if not options.no_boosting:
                    results.cell([name, "lightgbm"], partial(boosted, *data))
            regs: tuple[float, ...] = REGS
            for m in options.centers if name in options.sets else []:
                regs = REGS_OF_MANY if m >= MANY else regs
                make_ours = partial(fitted, "auto", m, width, regs, *data)
                regs = (results.cell([name, "polished", m], make_ours)["reg"],)
                if m <= MOST_CLOSED:
                    make_closed = partial(fitted, None, m, width, REGS, *data)
                    results.cell([name, "closed", m], make_closed)
                if data[0].shape[0] * m <= RIVAL_ENTRIES:
                    make = rivals(name, m, width)[f"nystroem/{m}"]
                    results.cell([name, "nystroem", m], partial(rival, make, *data))
        results.save(machine=machine_facts())
    print(report(results))
    return results


if __name__ == "__main__":
    main()
