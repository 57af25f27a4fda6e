r"""What LSPC costs, in units of the linear algebra no implementation can avoid.

Every row is a ratio of two works timed in turn in this same run, BLAS threads pinned::

    python -m kinlearn_experiments.measures.lspc [--quick] [--threads 2] \
        [--parts fits prediction large]

Prints a table with the target of each row and writes ``results/lspc.json``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh, lapack
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, LSPCCV
from kinlearn.kernels import median_width, resolve_kernel
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.digits import enlarged_digits
from kinlearn_experiments.measures.timing import paired_ratio, peak_memory, side_by_side
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

Row = dict[str, Any]
PARTS = ("fits", "prediction", "large")


def squared_distances(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """``||x - c||²`` by one matrix product."""
    product = X @ (-2.0 * centers.T)
    product += np.square(X).sum(axis=1)[:, None]
    product += np.square(centers).sum(axis=1)
    return product


def gaussian(X: np.ndarray, sigma: float) -> np.ndarray:
    """The square kernel matrix, written plainly."""
    K = squared_distances(X, X)
    K *= -0.5 / sigma**2
    return np.exp(K, out=K)


def kernel_syrk_potrf(X: np.ndarray, sigma: float, ridge: float) -> np.ndarray:
    """The least that one solution of ``K² + ridge·I`` takes."""
    gram = blas.dsyrk(1.0, gaussian(X, sigma).T, lower=1)
    gram.flat[:: X.shape[0] + 1] += ridge
    return lapack.dpotrf(gram, lower=1, overwrite_a=1)[0]


def bare_scores(X: np.ndarray, model: LSPC, block_bytes: int) -> np.ndarray:
    """Blockwise exp(gemm)·gemm: norms ride along as two further columns of the first product."""
    centers, coef = model.centers_, model.coef_[0]
    scale = -0.5 / model.sigma_**2
    left = np.vstack(
        [-2.0 * scale * centers.T, np.full(len(centers), scale), scale * (centers**2).sum(axis=1)]
    )
    right = np.ones((X.shape[0], X.shape[1] + 2))
    right[:, :-2] = X
    right[:, -2] = np.square(X).sum(axis=1)
    out = np.empty((X.shape[0], coef.shape[1]))
    size = max(1, block_bytes // (8 * len(centers)))
    for start in range(0, X.shape[0], size):
        block = right[start : start + size] @ left
        np.matmul(np.exp(block, out=block), coef, out=out[start : start + size])
    return out


def timed_rows(n: int, repeats: int, notify: Callable[[str], None]) -> list[Row]:
    """Fits at one n, beside one dsyevd or one Cholesky factorisation."""
    X, y = enlarged_digits(n)
    sigma = median_width(X, resolve_kernel("rbf"))
    K = gaussian(X, sigma)
    works = {
        "dsyevd": lambda: eigh(K, driver="evd", check_finite=False),
        "ssyevd": lambda: eigh(K.astype(np.float32), driver="evd", check_finite=False),
        "cv_auto": lambda: LSPCCV().fit(X, y),
        "cv_double": lambda: LSPCCV(precision="double").fit(X, y),
        "calibrated": lambda: LSPC().fit(X, y),
        "cholesky": lambda: kernel_syrk_potrf(X, sigma, n * 1e-3),
        "rounded": lambda: LSPC(posterior="rounded").fit(X, y),
    }
    notify(f"fits at n = {n}")
    seconds = side_by_side(works, repeats)
    grid = len(LSPCCV().fit(X, y).weights_)
    return [
        ratio_row(f"LSPCCV, {grid} points, in dsyevd", n, seconds, "cv_auto", "dsyevd", 8.0, 5.0),
        ratio_row("LSPCCV in double, in dsyevd", n, seconds, "cv_double", "dsyevd", None),
        ratio_row("LSPC calibrated, in dsyevd", n, seconds, "calibrated", "dsyevd", 1.3),
        ratio_row("LSPC rounded, in kernel + syrk + potrf", n, seconds, "rounded", "cholesky", 1.5),
        ratio_row("ssyevd, in dsyevd", n, seconds, "ssyevd", "dsyevd", None),
    ]


def ratio_row(
    what: str,
    n: int,
    seconds: dict[str, np.ndarray],
    work: str,
    unit: str,
    target: float | None,
    goal: float | None = None,
) -> Row:
    wall, processor = paired_ratio(seconds[work], seconds[unit])
    return {
        "what": what,
        "n": n,
        "ratio": significant(wall, 4),
        "ratio_processor_time": significant(processor, 4),
        "seconds": significant(np.median(seconds[work][:, 0]), 4),
        "unit_seconds": significant(np.median(seconds[unit][:, 0]), 4),
        "target": target,
        "goal": goal,
    }


def prediction_rows(n: int, n_rows: int, repeats: int, notify: Callable[[str], None]) -> list[Row]:
    """Prediction beside the bare blockwise form, and the memory it takes."""
    X, y = enlarged_digits(n)
    X_new = enlarged_digits(n_rows, seed=1)[0]
    model = LSPC().fit(X, y)
    mix = LSPCCV().fit(X, y)
    notify(f"prediction of {n_rows} rows with {n} centres")
    works: dict[str, Callable[[], Any]] = {
        "predict": lambda: model.predict_proba(X_new),
        # the better of a block that stays in the cache and one that does not
        "bare_small": lambda: bare_scores(X_new, model, 2 << 20),
        "bare_large": lambda: bare_scores(X_new, model, 32 << 20),
        "predict_mix": lambda: mix.predict_proba(X_new),
    }
    seconds = side_by_side(works, repeats)
    seconds["bare"] = np.minimum(seconds["bare_small"], seconds["bare_large"])
    widths = mix.kept_sigmas_.size
    rows = [
        ratio_row(f"predict_proba, {n_rows} rows, in bare", n, seconds, "predict", "bare", 1.4),
        ratio_row(f"the same, a mix of {widths} widths", n, seconds, "predict_mix", "bare", None),
    ]
    for row, fitted in zip(rows, (model, mix), strict=True):
        output = n_rows * fitted.classes_.size * 8 / 2**20
        peak = peak_memory(partial(fitted.predict_proba, X_new)) - output
        row["memory_mb"] = significant(peak, 3)
        row["memory_target_mb"] = 300
    return rows


def large_fit_row(n_rows: int, notify: Callable[[str], None]) -> list[Row]:
    """A fit far beyond what all centres would allow."""
    notify(f"fit of {n_rows} rows")
    X, y = enlarged_digits(n_rows)
    start = time.perf_counter()
    model = LSPC(random_state=0).fit(X, y)
    elapsed = time.perf_counter() - start
    peak = peak_memory(lambda: LSPC(random_state=0).fit(X, y))
    return [
        {
            "what": f"LSPC().fit, {n_rows} rows, {model.n_centers_} centres",
            "n": n_rows,
            "ratio": None,
            "seconds": significant(elapsed, 4),
            "memory_mb": significant(peak, 3),
            "memory_target_mb": 1024,
        }
    ]


def show(rows: list[Row]) -> str:
    """Return the table of rows."""

    def text(value: Any, form: str = "{:.2f}") -> str:
        return "" if value is None else form.format(value)

    return table(
        ["work", "n", "ratio", "in CPU time", "target", "seconds", "extra MB", "MB allowed"],
        [
            [
                row["what"],
                row["n"],
                text(row["ratio"]),
                text(row.get("ratio_processor_time")),
                text(row.get("target"), "≤ {:g}"),
                text(row["seconds"], "{:.3f}"),
                text(row.get("memory_mb"), "{:.0f}"),
                text(row.get("memory_target_mb"), "{:d}"),
            ]
            for row in rows
        ],
    )


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    parser.add_argument("--repeats", type=int, help="rounds of timing")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of training rows")
    parser.add_argument("--rows", type=int, help="rows predicted, and rows of the large fit")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--keep", action="store_true", help="keep cells measured before")
    parser.add_argument("--out", type=Path, default=RESULTS / "lspc.json")
    options = parser.parse_args(arguments)
    sizes = options.sizes or ([500] if options.quick else [1000, 2000])
    repeats = options.repeats or (3 if options.quick else 7)
    n_rows = options.rows or (10_000 if options.quick else 100_000)

    def notify(what: str) -> None:
        print(f"... {what}", flush=True)

    results = Results(options.out, fresh=not options.keep)
    works: dict[tuple[object, ...], Callable[[], list[Row]]] = {}
    for n in sizes:
        works["fits", n] = partial(timed_rows, n, repeats, notify)
    for n in sizes:
        works["prediction", n] = partial(prediction_rows, n, n_rows, max(2, repeats // 2), notify)
    works["large", n_rows] = lambda: large_fit_row(n_rows, notify)
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results.save(machine=machine_facts(), threads=options.threads, repeats=repeats)
        for key, work in works.items():
            if key[0] in options.parts:
                results.cell(key, work)
    rows = [row for cell in results.cells.values() for row in cell]
    print(show(rows))
    return rows


if __name__ == "__main__":
    main()
