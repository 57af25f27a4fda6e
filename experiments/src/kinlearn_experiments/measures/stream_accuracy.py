"""How far a model from sums is from the same model fitted with its rows at hand, over regs.

Sums square the condition of the features; ``fit`` corrects its solution with the rows, which sums
cannot. Writes ``results/stream_accuracy.json``: the largest difference of scores on new rows.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPC
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

REGS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
WIDTHS = (2.0, 5.0)


def differences(width: float, n_rows: int, n_centers: int) -> list[float]:
    """Largest difference of scores for each reg, 5 features, 3 classes."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(n_rows, 5)), rng.normal(size=(1000, 5))
    y = np.clip(np.rint(X[:, 0] * X[:, 1] + 1), 0, 2).astype(int)
    shared: dict[str, Any] = {"centers": X[:n_centers], "sigma": width, "posterior": "rounded"}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        streamed = LSPC(**shared).fit_stream((X, y))
        for reg in REGS:
            at_hand = LSPC(**shared, reg=reg).fit(X, y)
            from_sums = streamed.set_params(reg=reg).refit()
            gap = at_hand.decision_function(new) - from_sums.decision_function(new)
            found.append(significant(np.abs(gap).max(), 2))
    return found


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--centers", type=int, default=300)
    parser.add_argument("--out", type=Path, default=RESULTS / "stream_accuracy.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        for width in WIDTHS:
            results.cell((width,), partial(differences, width, options.rows, options.centers))
        results.save(
            machine=machine_facts(), rows=options.rows, centers=options.centers, regs=list(REGS)
        )
    rows = [[key, *(f"{value:.1e}" for value in cell)] for key, cell in results.cells.items()]
    print(table(["width, largest difference at reg", *(f"{reg:g}" for reg in REGS)], rows))
    return results


if __name__ == "__main__":
    main()
