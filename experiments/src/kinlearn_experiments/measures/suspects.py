"""Wrong labels found: ours beside cleanlab, on tables whose labels were flipped.

Labels are taken to be right as they came, and some of them are flipped: of rows drawn at random to
any other class, or "by class", of some classes alone and always to the same other one. Three ways
name suspects: ``find_suspect_labels`` of the model that ``kinlearn audit`` trains, cleanlab with
its own model (``CleanLearning``, logistic regression in five folds), and cleanlab's label quality
with our model's held-out probabilities. The figure is average precision, of all rows from the most
suspect on. Prints a table and writes ``results/suspects.json``::

    pip install "./experiments[bench]"
    python -m kinlearn_experiments.measures.suspects [--rows 300] [--draws 1]
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, TableFeatures, find_suspect_labels
from kinlearn.datasets._files import data_folder
from kinlearn.tables.training import TABLE_KERNELS
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

OWN = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}
SHARES = (0.05, 0.1, 0.2)
WAYS = ("at random", "by class")
# Of a class, at most so many labels are flipped, so that most of them are right.
MOST_OF_CLASS = 0.4
OURS, CLEANLAB, SAME = "find_suspect_labels", "cleanlab, its model", "cleanlab, our probabilities"
METHODS = (OURS, CLEANLAB, SAME)

Rows = tuple[Any, NDArray[Any]]


def names() -> list[str]:
    """Development tables that can be read here."""
    folder = data_folder()
    files = [] if folder is None else sorted((folder / "tables").glob("*.csv.gz"))
    return [*OWN, *(path.name.removesuffix(".csv.gz") for path in files)]


def load(name: str) -> Rows:
    """Columns and labels as whole numbers."""
    import pandas as pd

    if name in OWN:
        X, y = OWN[name](return_X_y=True, as_frame=True)
    else:
        folder = data_folder()
        assert folder is not None
        X = pd.read_csv(folder / "tables" / f"{name}.csv.gz")
        y = X.pop("class")
    return X, np.unique(np.asarray(y).astype(str), return_inverse=True)[1].ravel()


def drawn(name: str, n_rows: int, rng: np.random.Generator) -> Rows:
    """So many rows, none of a class with fewer than ten."""
    X, y = load(name)
    some = rng.permutation(len(y))[:n_rows]
    sizes = np.bincount(y[some])
    some = np.sort(some[sizes[y[some]] >= 10])
    return X.iloc[some].reset_index(drop=True), np.unique(y[some], return_inverse=True)[1].ravel()


def flipped(y: NDArray[Any], share: float, way: str, rng: np.random.Generator) -> NDArray[Any]:
    """The labels with about so many of them wrong.

    Examples
    --------
    >>> y = np.repeat([0, 1, 2], 100)
    >>> told = flipped(y, 0.1, "by class", np.random.default_rng(0))
    >>> int((told != y).sum()), len(np.unique(y[told != y]))
    (30, 1)
    """
    n_classes, told = int(y.max()) + 1, y.copy()
    wanted = round(share * len(y))
    shift = rng.integers(1, n_classes, len(y))
    if way == "at random":
        wrong = rng.choice(len(y), wanted, replace=False)
    else:
        order, some = rng.permutation(n_classes), np.zeros(0, dtype=np.intp)
        for k in order[: max(1, n_classes // 2)]:
            own = rng.permutation(np.flatnonzero(y == k))
            some = np.append(some, own[: int(MOST_OF_CLASS * len(own))])
        wrong = some[:wanted]
        shift = rng.integers(1, n_classes, n_classes)[y]
    told[wrong] = (y[wrong] + shift[wrong]) % n_classes
    return told


def precision(wrong: NDArray[np.bool_], order: NDArray[Any]) -> float:
    """Average precision of the wrong labels, by an order with the most suspect first."""
    place = np.empty(len(wrong))
    place[order] = -np.arange(len(order))
    return significant(average_precision_score(wrong, place), 4)


def measure(name: str, share: float, way: str, draw: int, n_rows: int) -> dict[str, float]:
    """Average precision of each way to name suspects."""
    from cleanlab.classification import CleanLearning
    from cleanlab.rank import get_label_quality_scores

    rng = np.random.default_rng([draw, int(1000 * share), WAYS.index(way)])
    X, y = drawn(name, n_rows, rng)
    told = flipped(y, share, way, rng)
    rows, wrong = TableFeatures().fit_transform(X), told != y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        model = LSPCCV(kernel=TABLE_KERNELS, random_state=0).fit(rows, told)
        order, seconds = find_suspect_labels(model), time.process_time() - started
        theirs = CleanLearning(seed=0).find_label_issues(rows, told)["label_quality"].to_numpy()
    with_ours = get_label_quality_scores(told, model.held_out_proba())
    return {
        "wrong": int(wrong.sum()),
        "rows": len(y),
        OURS: precision(wrong, order),
        CLEANLAB: precision(wrong, np.argsort(theirs, kind="stable")),
        SAME: precision(wrong, np.argsort(with_ours, kind="stable")),
        "seconds": significant(seconds, 2),
    }


def summary(cells: dict[str, dict[str, float]]) -> list[list[str]]:
    """Mean average precision over tables, for each share and way."""
    rows = []
    for way in WAYS:
        for share in SHARES:
            found = [
                cell for key, cell in cells.items() if key.split("/")[1:3] == [str(share), way]
            ]
            if found:
                means = [np.mean([cell[method] for cell in found]) for method in METHODS]
                ahead = sum(cell[OURS] >= cell[CLEANLAB] for cell in found)
                texts = [f"{mean:.3f}" for mean in means]
                rows.append([f"{share:.0%} {way}", *texts, f"{ahead} of {len(found)}"])
    return rows


HEADER = ["labels flipped", *METHODS, "ours ahead of cleanlab, its model"]


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=None)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--out", type=Path, default=RESULTS / "suspects.json")
    given = parser.parse_args(arguments)
    results = Results(given.out, given.fresh)
    with threadpool_limits(1):
        results.save(machine=machine_facts(), rows=given.rows, versions=versions())
        for draw in range(given.draws):
            for name in given.sets or names():
                for share in SHARES:
                    for way in WAYS:
                        task = partial(measure, name, share, way, draw, given.rows)
                        results.cell((name, share, way, draw), task)
    print(table(HEADER, summary(results.cells)))


def versions() -> dict[str, str]:
    """The rival's version."""
    return {"cleanlab": version("cleanlab")}


if __name__ == "__main__":
    main()
