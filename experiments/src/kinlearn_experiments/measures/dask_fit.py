r"""A fit over Dask partitions beside the same fit in one process, in turn in the same run.

Two workers of one thread each against one process with two threads, at n = 1,000,000 rows, d = 20,
m = 1000 centres and 5 classes::

    python -m kinlearn_experiments.measures.dask_fit [--rows 1000000] [--centers 1000] \
        [--repeats 3] [--quick]

Every worker makes its own partitions from a seed, as it would read its own files; the single
process makes the same rows. Prints a table and writes ``results/dask.json``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPC
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

D, CLASSES = 20, 5


def rows_of(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one partition, and their classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, D))
    y = (X[:, :CLASSES] + 0.5 * X[:, CLASSES : 2 * CLASSES] ** 2).argmax(axis=1)
    return X, y


def lazy_rows(n_rows: int, n_parts: int) -> tuple[da.Array, da.Array]:
    """The same rows as Dask arrays, made where they are needed."""
    size = n_rows // n_parts
    parts = [dask.delayed(rows_of)(seed, size) for seed in range(n_parts)]
    X = [da.from_delayed(part[0], (size, D), float) for part in parts]
    y = [da.from_delayed(part[1], (size,), np.int64) for part in parts]
    return da.concatenate(X), da.concatenate(y)


def model(n_centers: int) -> LSPC:
    return LSPC(centers=rows_of(10**6, n_centers)[0], sigma=5.0, reg=1e-4, polish=None)


def one_process(n_rows: int, n_parts: int, n_centers: int, n_threads: int) -> LSPC:
    """Rows made and added batch by batch, as many BLAS threads as there are workers."""
    fitted = model(n_centers)
    with threadpool_limits(n_threads):
        batches = (rows_of(seed, n_rows // n_parts) for seed in range(n_parts))
        return fitted.fit_stream(batches)


def measure(n_rows: int, n_parts: int, n_centers: int, workers: int, repeats: int) -> Any:
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    seconds: dict[str, list[float]] = {"dask": [], "dask-threads": [], "one process": []}
    differences = []
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster) as client,
    ):
        warm = lazy_rows(4000, 2)
        model(50).fit(*warm)  # imports on the workers
        for _ in range(repeats):
            start = time.perf_counter()
            single = one_process(n_rows, n_parts, n_centers, workers)
            seconds["one process"].append(time.perf_counter() - start)
            start = time.perf_counter()
            spread = model(n_centers).fit(*lazy_rows(n_rows, n_parts))
            seconds["dask"].append(time.perf_counter() - start)
            with client.as_current(), dask.config.set(scheduler="threads", num_workers=workers):
                start = time.perf_counter()
                model(n_centers).fit(*lazy_rows(n_rows, n_parts))
                seconds["dask-threads"].append(time.perf_counter() - start)
            X = rows_of(7, 2000)[0]
            gap = np.abs(single.decision_function(X) - spread.decision_function(X)).max()
            differences.append(float(gap))
    ratios = np.array(seconds["dask"]) / np.array(seconds["one process"])
    threads = np.array(seconds["dask-threads"]) / np.array(seconds["one process"])
    return {
        "seconds": {name: [significant(s, 4) for s in values] for name, values in seconds.items()},
        "ratio": significant(np.median(ratios), 4),
        "ratio_threads": significant(np.median(threads), 4),
        "target": 1.25,
        "largest_difference": max(differences),
        "partitions": n_parts,
    }


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--centers", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="measure cells again")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--out", type=Path, default=RESULTS / "dask.json")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.centers, options.repeats, options.partitions = 4000, 50, 1, 4
    results = Results(options.out, fresh=options.fresh)
    results.save(machine=machine_facts())
    size = (options.rows, options.partitions, options.centers)
    results.cell(
        ("fit", *size), lambda: measure(*size, workers=options.workers, repeats=options.repeats)
    )
    rows = [
        [
            key,
            *(f"{np.median(values):.1f}" for values in cell["seconds"].values()),
            f"{cell['ratio']:.2f}",
            f"≤ {cell['target']}",
            f"{cell['largest_difference']:.1e}",
        ]
        for key, cell in results.cells.items()
    ]
    header = ["fit/rows/partitions/centres", "Dask workers", "Dask threads", "one process"]
    print(table([*header, "ratio", "target", "largest difference"], rows))
    return results


if __name__ == "__main__":
    main()
