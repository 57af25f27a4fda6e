"""The peak of memory of one pass over wide rows, beside what ``kinlearn plan`` says of it.

Prints a table and writes ``results/stream_memory.json`` with the machine's facts. Each peak is that
of a process of its own, the interpreter and all libraries included; rows are made batch by batch,
and the stream chooses its centres itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPC
from kinlearn.planning import plan
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.stream import peak_mb
from kinlearn_experiments.results import RESULTS, Results
from kinlearn_experiments.tables import table

# rows, features, centres and rows of a batch
MODULE = "kinlearn_experiments.measures.stream_memory"
SIZES = (
    (20_000, 20, 1000, 8192),
    (40_000, 200, 3000, 8192),
    (20_000, 784, 1000, 8192),
    (10_000, 2000, 100, 2000),
    (20_000, 2000, 100, 8192),
    (20_000, 2000, 500, 8192),
    (9000, 5000, 200, 8192),
)


def blocks(
    n_rows: int, n_features: int, batch_rows: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows made as they are needed."""
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, batch_rows):
        X = rng.normal(size=(min(batch_rows, n_rows - start), n_features))
        yield X, (X[:, 0] > 0).astype(int)


def one_pass(n_rows: int, n_features: int, m: int, batch_rows: int) -> dict[str, Any]:
    """Fit from one pass; run in a process of its own."""
    source = blocks(n_rows, n_features, batch_rows)
    LSPC(n_centers=m, polish=None, random_state=0).fit_stream(source, batch_rows=batch_rows)
    return {
        "rows": n_rows,
        "features": n_features,
        "centers": m,
        "batch_rows": batch_rows,
        "peak_mb": peak_mb(),
    }


def in_process(*sizes: int) -> dict[str, Any]:
    """Measure in a fresh process, whose peak of memory is that of the pass alone."""
    command = [
        sys.executable,
        "-m",
        MODULE,
        "--child",
        *map(str, sizes),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def planned_mb(cell: dict[str, Any]) -> float:
    """What the formula says of a measured pass."""
    sizes = cell["rows"], cell["features"], cell["centers"]
    return plan(*sizes, batch_rows=cell["batch_rows"]).memory_bytes / 2**20


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", help="four numbers instead of all of SIZES")
    parser.add_argument("--child", type=int, nargs=4)
    parser.add_argument("--out", type=Path, default=RESULTS / "stream_memory.json")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args(arguments)
    with threadpool_limits(1):
        if options.child:
            print(json.dumps(one_pass(*options.child)))
            return
        results = Results(options.out, options.fresh)
        for sizes in [tuple(options.sizes)] if options.sizes else SIZES:
            results.cell(sizes, partial(in_process, *sizes))
        results.save(machine=machine_facts())
    header = ["rows", "features", "centres", "rows of a batch", "peak MB", "formula"]
    keys = ("rows", "features", "centers", "batch_rows")
    print(
        table(
            header,
            [
                [*(cell[key] for key in keys), f"{cell['peak_mb']:.0f}", f"{planned_mb(cell):.0f}"]
                for cell in results.cells.values()
            ],
        )
    )


if __name__ == "__main__":
    main()
