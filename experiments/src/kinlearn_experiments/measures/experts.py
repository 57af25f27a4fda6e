"""Simulated experts: how many labels are needed, when rows are asked for by whom?

A pool of rows, an expert who knows all labels, and test rows that nobody asks for. Needed are the
labels after which the accuracy on test rows is within one point of that of all labels of the pool.
Beside :class:`~kinlearn.ActiveLearner` as it comes (audit share included) stand random choice with
the same classifier, and the uncertainty sampling of scikit-activeml and of modAL with the
classifiers of their first examples: logistic regression and a random forest::

    pip install "kinlearn-experiments[bench]"
    python -m kinlearn_experiments.measures.experts [--roles chosen] [--methods kinlearn random]

modAL 0.4.2.1 needs scikit-learn 1.7 or older, and so an environment of its own. Writes
``results/experts.json``; cells that are there are not measured anew.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, ActiveLearner
from kinlearn_experiments.bench.data.tables import TABLES, encoded, read_table
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.data import load
from kinlearn_experiments.results import RESULTS, Results, geometric_mean, significant
from kinlearn_experiments.tables import table

# How the strategy asks was chosen on the first; the others are for the report.
SETS = {
    "chosen": (
        "australian",
        "pima",
        "tic-tac-toe",
        "wisconsin",
        "banana",
        "shuttle",
        "led7digit",
    ),
    "reported": (
        "breast_cancer",
        "digits",
        "magic",
        "mammographic",
        "monk-2",
        "mushroom",
        "penbased",
        "ring",
        "satimage",
        "splice",
        "twonorm",
    ),
}
POOL_ROWS, TEST_ROWS = 600, 2_000
# Labels at most; a run that needs more counts as these, which is kind to whom it befalls.
MOST = 300
FIRST, GROWTH = 8, 1.1
# So many evaluations in a row are averaged: one alone is there by chance too early.
IN_A_ROW = 3
WITHIN = 0.01
# Random rows of known label that modAL's learner begins with.
MODAL_START = 10

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class Pool(NamedTuple):
    """Rows to ask for, and rows to judge by, prepared by the first."""

    X: Floats
    y: NDArray[Any]
    X_test: Floats
    y_test: NDArray[Any]


@cache
def columns_of(name: str) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """The columns of a set, and its labels."""
    if name in TABLES:
        return tuple(read_table(f"tables/{name}.csv.gz"))  # type: ignore[return-value]
    X, y = load(name)
    return list(X.T), y


def draw(name: str, seed: int, pool_rows: int | None = None) -> Pool:
    """Draw a pool, two thirds of all rows at most, and test rows."""
    columns, y = columns_of(name)
    order = np.random.default_rng(seed).permutation(len(y))
    n_pool = min(pool_rows or POOL_ROWS, 2 * len(y) // 3)
    pool, test = order[:n_pool], order[n_pool : n_pool + TEST_ROWS]
    test = test[np.isin(y[test], y[pool])]
    X = np.hstack([encoded(column, pool) for column in columns])
    return Pool(X[pool], y[pool], X[test], y[test])


# A method yields, after so many labels, a function of rows that answers them.
Answerer = Callable[[Floats], NDArray[Any]]
Method = Callable[[Pool, int, list[int]], Iterator[tuple[int, Answerer]]]


def ours(data: Pool, seed: int, counts: list[int]) -> Iterator[tuple[int, Answerer]]:
    """The library's learner with its default strategy and its audit."""
    yield from told_by(learner_of(data, seed), data, counts)


def told_by(
    learner: ActiveLearner, data: Pool, counts: list[int]
) -> Iterator[tuple[int, Answerer]]:
    """Ask, tell, and stop at each of the counts."""
    while (row := learner.ask()) is not None:
        learner.tell(row, data.y[row])
        if (n := len(learner.labels)) in counts and learner.model_ is not None:
            yield n, learner.model_.predict


def learner_of(data: Pool, seed: int, **given: Any) -> ActiveLearner:
    return ActiveLearner(
        LSPCCV(random_state=seed), data.X, classes=np.unique(data.y), random_state=seed, **given
    )


def by_chance(data: Pool, seed: int, counts: list[int]) -> Iterator[tuple[int, Answerer]]:
    """The same classifier, taught random rows."""
    learner = learner_of(data, seed)
    order = np.random.default_rng([seed, 1]).permutation(len(data.y))
    for count in counts:
        new = order[len(learner.labels) : count]
        learner.tell_many(new.tolist(), data.y[new].tolist())
        if learner.model_ is not None:
            yield count, learner.model_.predict


def activeml(data: Pool, seed: int, counts: list[int]) -> Iterator[tuple[int, Answerer]]:
    """scikit-activeml's first example: uncertainty by entropy, logistic regression."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
    from skactiveml.utils import MISSING_LABEL

    classes, codes = np.unique(data.y, return_inverse=True)
    told = np.full(len(codes), MISSING_LABEL)
    model = SklearnClassifier(LogisticRegression(), classes=np.arange(len(classes)))
    query = UncertaintySampling(method="entropy", random_state=seed)
    for n in range(1, counts[-1] + 1):
        [row] = query.query(X=data.X, y=told, clf=model)
        told[row] = codes[row]
        if n in counts:
            yield n, _answers(model.fit(data.X, told), classes)


def _answers(model: Any, classes: NDArray[Any]) -> Answerer:
    return lambda X: classes[model.predict(X).astype(int)]


def modal(data: Pool, seed: int, counts: list[int]) -> Iterator[tuple[int, Answerer]]:
    """modAL's first example: uncertainty sampling, a random forest."""
    from modAL.models import ActiveLearner as ModalLearner

    order = np.random.default_rng([seed, 1]).permutation(len(data.y))
    is_open = np.ones(len(data.y), dtype=bool)
    is_open[order[:MODAL_START]] = False
    first = order[:MODAL_START]
    learner = ModalLearner(
        RandomForestClassifier(random_state=seed),
        X_training=data.X[first],
        y_training=data.y[first],
    )
    for n in range(MODAL_START, counts[-1] + 1):
        if n in counts:
            yield n, learner.predict
        rows = np.flatnonzero(is_open)
        [at], _ = learner.query(data.X[rows])
        is_open[rows[at]] = False
        learner.teach(data.X[rows[at : at + 1]], data.y[rows[at : at + 1]])


METHODS: dict[str, Method] = {
    "kinlearn": ours,
    "random": by_chance,
    "scikit-activeml": activeml,
    "modAL": modal,
}
ALL_LABELS: dict[str, Callable[[int], Any]] = {
    "kinlearn": lambda seed: LSPCCV(random_state=seed),
    "scikit-activeml": lambda seed: LogisticRegression(),
    "modAL": lambda seed: RandomForestClassifier(random_state=seed),
}


def evaluated_at(most: int) -> list[int]:
    """Numbers of labels, a tenth apart."""
    counts = [FIRST]
    while (after := int(np.ceil(GROWTH * counts[-1]))) <= most:
        counts.append(after)
    return counts


def needed(counts: list[int], accuracy: list[float], target: float) -> int | None:
    """Labels after which the accuracy is there, on average over three evaluations in a row."""
    if len(accuracy) < IN_A_ROW:
        return None
    means = np.convolve(accuracy, np.full(IN_A_ROW, 1 / IN_A_ROW), "valid")
    reached = np.flatnonzero(means >= target - 1e-9)
    return counts[int(reached[0])] if len(reached) else None


def of_all_labels(name: str, seed: int, which: str) -> dict[str, float]:
    """The accuracy that all labels of the pool give."""
    data = draw(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ALL_LABELS[which](seed).fit(data.X, data.y)
    return {"accuracy": significant((model.predict(data.X_test) == data.y_test).mean())}


def one_run(name: str, seed: int, method: Method, targets: list[float]) -> dict[str, Any]:
    """Accuracies after so many labels, until all targets are reached."""
    data = draw(name, seed)
    counts = evaluated_at(min(MOST, len(data.y)))
    seen: list[int] = []
    found: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for count, answers in method(data, seed, counts):
            seen.append(count)
            found.append(significant((answers(data.X_test) == data.y_test).mean()))
            if all(needed(seen, found, target) is not None for target in targets):
                break
    return {"counts": seen, "accuracy": found}


def measure(results: Results, name: str, seed: int, which: str) -> None:
    """One method on one draw of a set."""

    def goal(whose: str) -> float:
        cell = results.cell(("all", name, seed, whose), partial(of_all_labels, name, seed, whose))
        return float(cell["accuracy"]) - WITHIN

    targets = [goal("kinlearn"), goal("kinlearn" if which == "random" else which)]
    results.cell(("run", name, seed, which), partial(one_run, name, seed, METHODS[which], targets))


def labels_needed(
    cells: dict[str, Any], name: str, which: str, own: bool = False
) -> dict[str, int]:
    """Labels by draw, until within a point of all labels by ours, or by the method's own."""
    found = {}
    for key, cell in cells.items():
        kind, set_, seed, *method = key.split("/")
        if (kind, set_, *method) != ("run", name, which):
            continue
        whose = which if own and which != "random" else "kinlearn"
        target = cells[f"all/{name}/{seed}/{whose}"]["accuracy"] - WITHIN
        found[seed] = needed(cell["counts"], cell["accuracy"], target) or MOST
    return found


def ratio(cells: dict[str, Any], name: str, which: str, own: bool = False) -> float | None:
    """Our labels over those of another, on the draws that both were measured on."""
    ours, others = labels_needed(cells, name, "kinlearn"), labels_needed(cells, name, which, own)
    both = ours.keys() & others.keys()
    return sum(ours[s] for s in both) / sum(others[s] for s in both) if both else None


def summary(cells: dict[str, Any], role: str) -> tuple[list[str], list[list[str]]]:
    """Mean labels needed by set, and the geometric mean of ratios to ours."""
    ways = [(who, own) for own in (False, True) for who in METHODS if not (own and who == "random")]
    ways.remove(("kinlearn", True))
    names = [name for name in SETS[role] if labels_needed(cells, name, "kinlearn")]
    ways = [way for way in ways if any(labels_needed(cells, name, *way) for name in names)]
    rows = []
    for name in names:
        means = [list(labels_needed(cells, name, *way).values()) for way in ways]
        to_random = ratio(cells, name, "random")
        shown = [f"{np.mean(found):.0f}" if found else "-" for found in means]
        rows.append([name, *shown, "-" if to_random is None else f"{to_random:.2f}"])
    last = ["kinlearn ÷ it"]
    for way in ways:
        known = [found for name in names if (found := ratio(cells, name, *way)) is not None]
        last.append("" if way[0] == "kinlearn" else f"{geometric_mean(known):.2f}")
    header = ["set", *(f"{who}, own" if own else who for who, own in ways), "÷ random"]
    return header, [*rows, [*last, ""]]


def main(arguments: list[str] | None = None) -> Results:
    """Measure what is missing, print the tables, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--roles", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--sets", nargs="+", default=None)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "experts.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        results.save(machine=machine_facts(), within=WITHIN, most=MOST, pool=POOL_ROWS)
        for role in options.roles:
            for seed in range(options.seeds):
                for name in options.sets or SETS[role]:
                    for which in options.methods:
                        measure(results, name, seed, which)
            print(table(*summary(results.cells, role)))
    return results


if __name__ == "__main__":
    main()
