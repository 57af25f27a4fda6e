"""Steps of conjugate gradients where labels are unobserved, over regs and shares of missing labels.

Writes ``results/unobserved_labels.json``. Steps are counted, not timed, over both systems that a
fit of yes/no labels solves.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import MultiLabelLSPC
from kinlearn.datasets import make_rotated_labels
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results
from kinlearn_experiments.tables import table

SHARES = (0.1, 0.3, 0.6)
REGS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


def steps(share: float, n_rows: int, n_labels: int, seed: int) -> list[int]:
    """Steps to the default tolerance for each reg."""
    X, Y = make_rotated_labels(n_rows, n_labels, random_state=seed)
    observed = Y.astype(float)
    observed[np.random.default_rng(seed).random(Y.shape) < share] = np.nan
    model = MultiLabelLSPC(posterior="rounded")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [model.set_params(reg=reg).fit(X, observed).n_iter_ for reg in REGS]


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "unobserved_labels.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        for share in SHARES:
            for seed in range(options.seeds):
                results.cell(
                    (share, seed), partial(steps, share, options.rows, options.labels, seed)
                )
        results.save(
            machine=machine_facts(), rows=options.rows, labels=options.labels, regs=list(REGS)
        )
    rows = [[key, *cell] for key, cell in results.cells.items()]
    print(table(["unobserved/seed, steps at reg", *(f"{reg:g}" for reg in REGS)], rows))
    return results


if __name__ == "__main__":
    main()
