r"""Many centres: conjugate gradients beside forming and decomposing the matrix of centres.

Fashion-MNIST, 60,000 rows of 784 pixels, read from ``KINLEARN_DATA``; without it, digits with small
noise::

    python -m kinlearn_experiments.measures.pcg [--sizes 2000 5000 10000] \
        [--variants direct pcg pcg-kept] [--quick]

Every cell is one fit: wall and processor seconds, steps, test error and log-loss. A further part
counts steps against the strength of the regularisation. Prints tables and writes
``results/pcg.json``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from kinlearn import LSPC
from kinlearn.datasets._files import data_folder
from kinlearn_experiments.bench.data.single import fashion
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.digits import enlarged_digits
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

# Near the best of a grid searched by LSPCCV on 15,000 rows with 1000 centres.
FASHION = {"sigma": 6.0, "reg": 1e-5}
VARIANTS: dict[str, dict[str, Any]] = {
    "direct": {"solver": "direct"},
    "pcg": {"solver": "pcg"},
    "pcg-kept": {"solver": "pcg", "memory_mb": 6000},
    "pcg-single": {"solver": "pcg", "precision": "single"},
    "pcg-single-kept": {"solver": "pcg", "precision": "single", "memory_mb": 3000},
    "pcg-loose-single-kept": {
        "solver": "pcg",
        "precision": "single",
        "memory_mb": 3000,
        "tol": 1e-3,
    },
}
REGS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def load(n_rows: int | None) -> tuple[Data, dict[str, Any]]:
    """Return the data and the settings of the kernel."""
    if data_folder() is not None:
        X, y = fashion("train")
        return (X[:n_rows], y[:n_rows], *fashion("test")), FASHION
    X, y = enlarged_digits((n_rows or 4000) + 500)
    return (X[:-500], y[:-500], X[-500:], y[-500:]), {"reg": 1e-5}


def fit_cell(data: Data, variant: str, n_centers: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit once and look at the test rows."""
    X, y, X_test, y_test = data
    model = LSPC(n_centers=n_centers, random_state=0, polish=None, **settings, **VARIANTS[variant])
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    probabilities = model.predict_proba(X_test)
    return {
        "seconds": significant(wall, 4),
        "processor_seconds": significant(processor, 4),
        "steps": model.n_iter_,
        "error": significant(np.mean(model.predict(X_test) != y_test)),
        "log_loss": significant(log_loss(y_test, probabilities, labels=model.classes_)),
        "beta": significant(model.beta_),
        "n_rows": len(y),
    }


def steps_cell(data: Data, n_rows: int, n_centers: int, settings: dict[str, Any]) -> list[int]:
    """Steps for each reg, on some of the rows."""
    X, y = data[0][:n_rows], data[1][:n_rows]
    shared = {**settings, "n_centers": n_centers, "posterior": "rounded", "random_state": 0}
    return [LSPC(solver="pcg", **{**shared, "reg": reg}).fit(X, y).n_iter_ for reg in REGS]


def show(cells: dict[str, Any]) -> str:
    """Return the two tables."""
    fits = {tuple(key.split("/")[1:]): cell for key, cell in cells.items() if key[:4] == "fit/"}
    rows = []
    for (size, variant), cell in sorted(fits.items(), key=lambda item: int(item[0][0])):
        unit = fits.get((size, "direct"))
        ratio = unit["processor_seconds"] / cell["processor_seconds"] if unit else None
        rows.append(
            [
                size,
                variant,
                f"{cell['seconds']:.0f}",
                f"{cell['processor_seconds']:.0f}",
                "" if ratio is None else f"{ratio:.1f}×",
                cell["steps"],
                f"{cell['error']:.4f}",
                f"{cell['log_loss']:.4f}",
            ]
        )
    header = ["centres", "solver", "seconds", "CPU seconds", "speed-up", "steps", "error"]
    parts = [table([*header, "log-loss"], rows)]
    counted = [[key.split("/", 1)[1], *cell] for key, cell in cells.items() if key[:5] == "steps"]
    if counted:
        parts.append(table(["rows/centres, steps at reg", *(f"{r:g}" for r in REGS)], counted))
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000, 10_000])
    parser.add_argument("--variants", nargs="+", default=["direct", "pcg"], choices=VARIANTS)
    parser.add_argument("--rows", type=int, help="training rows; all when left out")
    parser.add_argument("--steps", type=int, nargs=2, metavar=("ROWS", "CENTRES"))
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    parser.add_argument("--fresh", action="store_true", help="measure cells again")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--out", type=Path, default=RESULTS / "pcg.json")
    options = parser.parse_args(arguments)
    if options.quick:
        options.sizes, options.rows, options.steps = [200], 1000, (500, 100)
    results = Results(options.out, fresh=options.fresh)
    data, settings = load(options.rows)
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results.save(machine=machine_facts(), threads=options.threads, settings=settings)
        for size in options.sizes:
            for variant in options.variants:
                results.cell(
                    ("fit", size, variant), partial(fit_cell, data, variant, size, settings)
                )
        if options.steps:
            rows, m = options.steps
            results.cell(("steps", rows, m), partial(steps_cell, data, rows, m, settings))
    print(show(results.cells))
    return results


if __name__ == "__main__":
    main()
