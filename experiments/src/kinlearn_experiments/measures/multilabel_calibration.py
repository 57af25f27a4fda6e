"""One beta for all labels, or one per label, and how firmly it stays near the common one.

Fits MultiLabelLSPCCV on half of each set under ``KINLEARN_DATA`` and prints the log-loss on the
other half by strength of the pull. Writes ``results/multilabel_calibration.json``.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import MultiLabelLSPCCV
from kinlearn.selection.links import shrunk_beta
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.multilabel_data import SETS, split
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

STRENGTHS = (0.0, 3.0, 10.0, 30.0)


def losses(name: str, seed: int) -> dict[str, float]:
    """Log-loss on the other half with the common beta and with betas of every strength."""
    (X, Y), (X_test, Y_test) = split(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultiLabelLSPCCV().fit(X, Y)
    held_out, scores = model.held_out_scores_, model.decision_function(X_test)

    def loss(betas: np.ndarray | float) -> float:
        z = betas * scores
        return significant((np.logaddexp(0.0, z) - Y_test * z).mean())

    def beta(label: int, strength: float) -> float:
        d, z = held_out[:, label], Y[:, label].astype(np.float64)
        q, targets = np.column_stack([-d, d]) / 2, np.column_stack([1 - z, z])
        return shrunk_beta(q, targets, np.ones(len(z)), model.beta_, len(z), strength)

    found = {"common": loss(model.beta_)}
    for strength in STRENGTHS:
        found[f"{strength:g}"] = loss(np.array([beta(t, strength) for t in range(Y.shape[1])]))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--sets", nargs="*", default=["emotions", "esc50", "cal500"], choices=list(SETS)
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "multilabel_calibration.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    rows = []
    with threadpool_limits(1):
        results.save(machine=machine_facts())
        for name in options.sets:
            found = [
                results.cell((name, seed), partial(losses, name, seed))
                for seed in range(options.repeats)
            ]
            rows.append([name, *(f"{np.mean([f[k] for f in found]):.4f}" for k in found[0])])
    print(table(["log-loss", "common", *(f"pull {s:g}" for s in STRENGTHS)], rows))


if __name__ == "__main__":
    main()
