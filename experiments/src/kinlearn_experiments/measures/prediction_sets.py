"""Sets of classes beside MAPIE's and crepes', around the same classifier: coverage and size.

Every repetition draws training and test rows anew, the same ones for all. ``PredictionSets`` and
the cross-conformal sets of MAPIE fit on all training rows; split sets hold back half of them, with
the classes in proportion. The classifier is LSPC as it comes, on standardised columns. Rivals that
are not installed are passed over. Prints a table and writes ``results/prediction_sets.json``::

    pip install "./experiments[bench]"
    python -m kinlearn_experiments.measures.prediction_sets [--repeats 200]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, PredictionSets
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.data import REAL, load
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

SETS = ("digits", "satimage")
SIZES = (50, 100, 400)
N_TEST = 500
COVERAGE = 0.9
SMALLEST_PART = 0.5  # of the training rows, which split sets hold back

Sets = NDArray[np.bool_]


class Draw(NamedTuple):
    """Rows to train on and to test with."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    seed: int


def classifier() -> Any:
    """What all sets are made of."""
    return make_pipeline(StandardScaler(), LSPC())


def halves(draw: Draw) -> list[NDArray[Any]]:
    """Rows to fit, rows to compare with, and the labels of both."""
    found: list[NDArray[Any]] = train_test_split(
        draw.X, draw.y, test_size=SMALLEST_PART, stratify=draw.y, random_state=draw.seed
    )
    return found


def ours(draw: Draw) -> Sets:
    """Leave-one-out, which comes with the fit."""
    model = PredictionSets(classifier(), coverage=COVERAGE).fit(draw.X, draw.y)
    return model.predict_set(draw.X_test)


def mapie_split(draw: Draw) -> Sets:
    """Half of the rows held back."""
    from mapie.classification import SplitConformalClassifier

    X, X_back, y, y_back = halves(draw)
    model = SplitConformalClassifier(
        classifier(), confidence_level=COVERAGE, conformity_score="lac", prefit=False
    )
    model.fit(X, y).conformalize(X_back, y_back)
    return np.asarray(model.predict_set(draw.X_test)[1][:, :, 0], dtype=bool)


def mapie_cross(draw: Draw) -> Sets:
    """Five folds."""
    from mapie.classification import CrossConformalClassifier

    model = CrossConformalClassifier(
        classifier(),
        confidence_level=COVERAGE,
        conformity_score="lac",
        cv=5,
        random_state=draw.seed,
    )
    model.fit_conformalize(draw.X, draw.y)
    return np.asarray(model.predict_set(draw.X_test)[1][:, :, 0], dtype=bool)


def crepes_split(draw: Draw) -> Sets:
    """Half of the rows held back, ties broken at random."""
    from crepes import WrapClassifier

    X, X_back, y, y_back = halves(draw)
    model = WrapClassifier(classifier())
    model.fit(X, y)
    model.calibrate(X_back, y_back, seed=draw.seed)
    found = model.predict_set(draw.X_test, confidence=COVERAGE, labels=False, seed=draw.seed)
    return np.asarray(found, dtype=bool)


OURS = "PredictionSets"
# Name, what must be installed, and what gives the sets.
METHODS: dict[str, tuple[str | None, Callable[[Draw], Sets]]] = {
    OURS: (None, ours),
    "MAPIE, split": ("mapie", mapie_split),
    "MAPIE, cross": ("mapie", mapie_cross),
    "crepes, split": ("crepes", crepes_split),
}


def drawn(name: str, n_train: int, seed: int) -> Draw:
    """Training and test rows of a set, with the classes in proportion."""
    X, y = load(name)
    rows, others, labels, theirs = train_test_split(
        X, y, train_size=n_train, test_size=N_TEST, stratify=y, random_state=seed
    )
    return Draw(rows, labels, others, theirs, seed)


def measure(name: str, n_train: int, method: str, repeats: int) -> dict[str, float]:
    """Mean coverage and size over repetitions, with their standard errors."""
    held, sizes, empty = [], [], []
    for seed in range(repeats):
        draw = drawn(name, n_train, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sets = METHODS[method][1](draw)
        codes = np.searchsorted(np.unique(draw.y), draw.y_test)
        held.append(sets[np.arange(len(codes)), codes].mean())
        sizes.append(sets.sum(axis=1).mean())
        empty.append((~sets.any(axis=1)).mean())
    error = np.sqrt(max(repeats - 1, 1))
    return {
        "coverage": significant(np.mean(held), 4),
        "coverage_error": significant(np.std(held) / error, 2),
        "size": significant(np.mean(sizes), 4),
        "size_error": significant(np.std(sizes) / error, 2),
        "empty": significant(np.mean(empty), 3),
    }


def available(names: tuple[str, ...]) -> list[str]:
    """Sets of data that can be loaded here."""
    from kinlearn.datasets._files import data_folder

    return [name for name in names if name not in REAL or data_folder() is not None]


def show(cells: dict[str, dict[str, float]]) -> str:
    """Coverage and mean size, a line for each set and number of rows."""
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for key, cell in cells.items():
        name, size, method = key.split("/")
        text = f"{cell['coverage']:.3f}, {cell['size']:.2f}"
        lines.setdefault((name, size), {})[method] = text
    rows = [
        [f"{name}, {size} rows", *(found.get(method, "") for method in METHODS)]
        for (name, size), found in lines.items()
    ]
    return table(["coverage, mean size", *METHODS], rows)


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--out", type=Path, default=RESULTS / "prediction_sets.json")
    given = parser.parse_args(arguments)
    results = Results(given.out, given.fresh)
    needed = {package for package, _ in METHODS.values() if package and find_spec(package)}
    with threadpool_limits(1):
        results.save(
            machine=machine_facts(),
            coverage=COVERAGE,
            repeats=given.repeats,
            versions={package: version(package) for package in sorted(needed)},
        )
        for name in available(tuple(given.sets)):
            for size in given.sizes:
                for method, (package, _) in METHODS.items():
                    if package is None or package in needed:
                        task = partial(measure, name, size, method, given.repeats)
                        results.cell((name, size, method), task)
    print(show(results.cells))


if __name__ == "__main__":
    main()
