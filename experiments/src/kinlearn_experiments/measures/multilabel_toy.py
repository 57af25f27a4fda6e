"""The toy of the multi-label paper (section 5): does sharing between labels pay?

D = 20, 300 training and 1000 test rows, T = 20 rotated labels, ten seeds. Compares labels learnt
together, labels that share only (sigma, reg), and labels tuned alone, each with the grid combined
(the default) and with its best point alone. Writes ``results/multilabel_toy.json``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, MultiLabelLSPCCV
from kinlearn.datasets import make_rotated_labels
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table


def together(X: np.ndarray, Y: np.ndarray, X_test: np.ndarray, **params: Any) -> np.ndarray:
    """MultiLabelLSPCCV."""
    return MultiLabelLSPCCV(**params).fit(X, Y).predict(X_test)


def alone(X: np.ndarray, Y: np.ndarray, X_test: np.ndarray, **params: Any) -> np.ndarray:
    """Every label tuned by itself."""
    return np.column_stack([LSPCCV(**params).fit(X, y).predict(X_test) for y in Y.T])


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "together": together,
    "together, signed": partial(together, similarity="signed"),
    "independent, shared (sigma, reg)": partial(together, sharings=[0.0]),
    "independent, tuned per label": alone,
}


def error(method: str, combine: str, n_rows: int, n_labels: int, seed: int) -> float:
    """Share of wrong (row, label) pairs on the test rows."""
    X, Y = make_rotated_labels(n_rows + 1000, n_labels, 20, random_state=seed)
    answer = METHODS[method](X[:n_rows], Y[:n_rows], X[n_rows:], combine=combine)
    return significant((answer != Y[n_rows:]).mean())


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "multilabel_toy.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    rules = ("stack", "best")
    with threadpool_limits(1):
        results.save(machine=machine_facts())
        for seed in range(options.seeds):
            for rule in rules:
                for method in METHODS:
                    results.cell(
                        (method, rule, seed),
                        partial(error, method, rule, options.rows, options.labels, seed),
                    )
    means = {
        method: {
            rule: float(
                np.mean([results.cells[f"{method}/{rule}/{s}"] for s in range(options.seeds)])
            )
            for rule in rules
        }
        for method in METHODS
    }
    rows = [[method, *(f"{100 * means[method][r]:.2f} %" for r in rules)] for method in METHODS]
    print(table(["error", "combined (default)", "best point"], rows))
    results.save(means=means, seeds=options.seeds)


if __name__ == "__main__":
    main()
