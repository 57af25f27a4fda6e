"""Do unlabelled rows help when they enter S_t, as the conclusion of the MTDA paper suggests?

    python -m kinlearn_experiments.measures.unlabelled [--trials 10]

Half of the rows without labels enter S_t, the other half is the test set; 1-NN error of LDA-tr and
LDA-rt, with labelled rows alone and with unlabelled ones. With KINLEARN_DATA the faces are used
too. Writes ``results/unlabelled.json``.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import linalg
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kinlearn.solvers.ratio_trace import ratio_trace
from kinlearn.solvers.scatter import ReducedScatter, reduce_scatter, shrinkage_ridge
from kinlearn.solvers.trace_ratio import trace_ratio
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.reproduce.faces import draw_of_each, load_faces
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table


def with_unlabelled(X: np.ndarray, y: np.ndarray, more: np.ndarray) -> ReducedScatter:
    """S_t over all rows, S_b over the labelled ones."""
    everything = np.vstack([X, more])
    reduced = reduce_scatter(everything, np.zeros(len(everything), dtype=np.intp), 1)
    Z = (X - reduced.mean) @ reduced.basis
    counts = np.bincount(y)
    means = np.stack([Z[y == k].mean(axis=0) for k in range(counts.size)])
    root = ((means - Z.mean(axis=0)) * np.sqrt(counts / len(y))[:, None]).T
    nothing = np.zeros((reduced.rank, 0))
    return replace(reduced, between_root=root, within_rows=Z - means[y], within_null=nothing)


def total_ratio(task: ReducedScatter, ridge: float) -> np.ndarray:
    """Directions of the largest S_b over S_t + ridge I."""
    weight = 1 / np.sqrt(task.total + ridge)
    left, _, _ = linalg.svd(task.between_root * weight[:, None], full_matrices=False)
    return left[:, : task.n_classes - 1] * weight[:, None]


def error(
    task: ReducedScatter, W: np.ndarray, train: tuple[np.ndarray, ...], test: tuple[np.ndarray, ...]
) -> float:
    """Error of the nearest neighbour after the projection."""
    A, B = ((X - task.mean) @ (task.basis @ W) for X in (train[0], test[0]))
    gaps = np.sum(A**2, axis=1) - 2 * B @ A.T
    return float(np.mean(train[1][gaps.argmin(axis=1)] != test[1]))


def methods() -> dict[str, tuple[bool, Callable[[ReducedScatter, int], np.ndarray]]]:
    """(uses unlabelled rows, directions of a task) per column."""

    def tr(shrinkage: float | str) -> Callable[[ReducedScatter, int], np.ndarray]:
        return lambda task, count: trace_ratio(
            [task], count, ridges=[shrinkage_ridge(task, shrinkage)]
        ).projections[0]

    def spread(share: float) -> Callable[[ReducedScatter, int], np.ndarray]:
        return lambda task, count: total_ratio(task, share * float(task.total.mean()))

    def tr_total(share: float) -> Callable[[ReducedScatter, int], np.ndarray]:
        return lambda task, count: trace_ratio(
            [task], count, ridges=[share * float(task.total.mean())]
        ).projections[0]

    return {
        "tr": (False, tr(0)),
        "tr auto": (False, tr("auto")),
        "rt auto": (
            False,
            lambda task, count: ratio_trace(task, ridge=shrinkage_ridge(task, "auto"))[0],
        ),
        "tr unl.": (True, tr_total(0)),
        "tr unl. 0.1": (True, tr_total(0.1)),
        "tr unl. 1": (True, tr_total(1)),
        "rt unl.": (True, spread(0)),
        "rt unl. 0.1": (True, spread(0.1)),
        "rt unl. 1": (True, spread(1)),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS / "unlabelled.json")
    args = parser.parse_args(arguments)
    data = {}
    for name, loader in (
        ("digits", load_digits),
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
    ):
        X, y = loader(return_X_y=True)
        data[name] = (X if name == "digits" else StandardScaler().fit_transform(X), y)
    if os.environ.get("KINLEARN_DATA"):
        data["ORL"] = load_faces()["ORL"]
    rows = {}
    with threadpool_limits(1):
        for name, (X, y) in data.items():
            y = np.unique(y, return_inverse=True)[1]
            for p in (3, 5) if name == "ORL" else (3, 10, 20):
                found = defaultdict(list)
                for trial in range(args.trials):
                    rng = np.random.default_rng([p, trial])
                    mask = draw_of_each(y, p, rng)
                    rest = rng.permutation(np.flatnonzero(~mask))
                    unlabelled, test = np.array_split(rest, 2)
                    labelled = X[mask], y[mask]
                    plain = reduce_scatter(*labelled, y.max() + 1)
                    more = with_unlabelled(*labelled, X[unlabelled])
                    for column, (uses, directions) in methods().items():
                        task = more if uses else plain
                        W = directions(task, int(y.max()))
                        found[column].append(error(task, W, labelled, (X[test], y[test])))
                rows[f"{name}, {p} a class"] = {
                    column: significant(np.mean(values), 3) for column, values in found.items()
                }
        facts = machine_facts()
    print(table(["1-NN error", *methods()], [(key, *row.values()) for key, row in rows.items()]))
    Results(args.out, fresh=True).save(machine=facts, trials=args.trials, error=rows)


if __name__ == "__main__":
    main()
