r"""Do stated figures hold where the truth is known? Hand-over's bound, and figures of noise.

Training sets are drawn again and again from known distributions. For each setting of *hand-over*:
the share of repetitions in which more answers to 4,000 new rows are wrong than ``max_error``
allows, beside the share that ``confidence`` leaves. For *noise*, labels that are exactly balanced
and say nothing: accuracy and log-loss as stated for held-out rows, beside those of new rows::

    python -m kinlearn_experiments.measures.simulated [--repeats 300] [--noise-repeats 10] \
        [--jobs 2] [--parts noise]

Writes ``results/simulated.json``. 40 minutes on two cores.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, HandOver
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

Drawn = tuple[np.ndarray, np.ndarray]
NEW_ROWS = 4000
SIZES = (60, 200)
TARGETS = ((0.1, 0.9), (0.2, 0.8))  # max_error and confidence
GROUP = 5
NOISE = {"n": (20, 30, 60, 100, 200), "d": (1, 5, 10), "c": (2, 3)}


def two(n: int, rng: np.random.Generator) -> Drawn:
    """Two Gaussian classes."""
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


def three(n: int, rng: np.random.Generator) -> Drawn:
    """Three classes along one of four columns."""
    y, X = rng.integers(0, 3, n), rng.normal(size=(n, 4))
    X[:, 0] += 1.5 * y
    return X, y


def heavy(n: int, rng: np.random.Generator) -> Drawn:
    """Columns without a variance."""
    y, X = rng.integers(0, 2, n), rng.standard_t(1.5, size=(n, 3))
    X[:, 0] += 2.0 * y
    return X, y


def category(n: int, rng: np.random.Generator) -> Drawn:
    """One column of three levels."""
    x = rng.integers(0, 3, n)
    return x[:, None].astype(float), (rng.random(n) < np.array([0.05, 0.5, 0.93])[x]).astype(int)


def noise(n: int, rng: np.random.Generator) -> Drawn:
    """Labels that nothing speaks of."""
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


KINDS: dict[str, Callable[[int, np.random.Generator], Drawn]] = {
    "two classes": two,
    "three classes": three,
    "heavy tails": heavy,
    "one category": category,
    "noise": noise,
}
# how the same rows may come more than once
REPEATED = ("every row twice", f"groups of {GROUP}")


def draw(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return training rows, labels and groups."""
    if kind in KINDS:
        return *KINDS[kind](n, rng), None
    if kind == REPEATED[0]:
        X, y = two(n, rng)
        return np.repeat(X, 2, axis=0), np.repeat(y, 2), None
    X, y = two(n // GROUP, rng)  # near copies that share their label
    X = np.repeat(X, GROUP, axis=0) + 0.1 * rng.normal(size=(n // GROUP * GROUP, 2))
    return X, np.repeat(y, GROUP), np.repeat(np.arange(n // GROUP), GROUP)


def one_hand_over(
    kind: str, n: int, max_error: float, confidence: float, seed: int
) -> dict[str, float]:
    """Share answered of new rows, and the error among them (0 without any)."""
    rng = np.random.default_rng([seed, n, 7])
    model = HandOver(LSPCCV(), max_error=max_error, confidence=confidence, min_familiarity=0)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y, groups = draw(kind, n, rng)
        if np.unique(y).size < 2:
            return {"answered": 0.0, "error": 0.0}
        model.fit(X, y, groups=groups)
        X, y = KINDS.get(kind, two)(NEW_ROWS, rng)
        found = model.assess(X)
    wrong = (found.predicted != y)[found.answered]
    return {
        "answered": float(found.answered.mean()),
        "error": float(wrong.mean()) if wrong.size else 0.0,
    }


def one_noise(n: int, d: int, c: int, seed: int) -> dict[str, float]:
    """Accuracy and log-loss as stated for held-out rows, and those of new ones."""
    rng = np.random.default_rng([seed, n, d, c])
    X, y = rng.normal(size=(n, d)), rng.permutation(np.arange(n) % c)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LSPCCV().fit(X, y)
        stated = model.held_out_proba()
        fresh = model.predict_proba(rng.normal(size=(NEW_ROWS, d)))
    truth = rng.integers(0, c, NEW_ROWS)
    return {
        "stated": float(np.mean(stated.argmax(axis=1) == y)),
        "new": float(np.mean(fresh.argmax(axis=1) == truth)),
        "stated_loss": float(log_loss(y, stated, labels=range(c))),
        "new_loss": float(log_loss(truth, fresh, labels=range(c))),
    }


def measure_hand_over(
    kind: str, n: int, max_error: float, confidence: float, repeats: int, jobs: int
) -> dict[str, Any]:
    found = Parallel(n_jobs=jobs)(
        delayed(one_hand_over)(kind, n, max_error, confidence, seed) for seed in range(repeats)
    )
    return {
        "repeats": repeats,
        "over": significant(np.mean([one["error"] > max_error for one in found])),
        "allowed": significant(1.0 - confidence),
        "answered": significant(np.mean([one["answered"] for one in found])),
        "answering": significant(np.mean([one["answered"] > 0 for one in found])),
    }


def measure_noise(n: int, d: int, c: int, repeats: int, jobs: int) -> dict[str, Any]:
    found = Parallel(n_jobs=jobs)(delayed(one_noise)(n, d, c, seed) for seed in range(repeats))
    return {key: [significant(one[key]) for one in found] for key in found[0]}


def show_hand_over(cells: dict[str, Any]) -> str:
    rows = []
    for key, cell in cells.items():
        kind, n, max_error, _ = key.split("/")
        figures = [f"{100 * cell[name]:.1f} %" for name in ("over", "allowed", "answered")]
        rows.append([kind, n, max_error, *figures])
    return table(["rows", "n", "max_error", "over it", "allowed", "answered"], rows)


def summarise_noise(cells: dict[str, Any]) -> dict[str, float]:
    """Mean difference between stated and new, its standard error, and the highest stated."""
    ahead = np.concatenate([np.subtract(cell["stated"], cell["new"]) for cell in cells.values()])
    losses = np.concatenate(
        [np.divide(cell["stated_loss"], cell["new_loss"]) for cell in cells.values()]
    )
    highest = max(
        max(cell["stated"]) for key, cell in cells.items() if int(key.split("/")[0]) >= 60
    )
    return {
        "draws": ahead.size,
        "ahead": float(ahead.mean()),
        "standard_error": float(ahead.std() / np.sqrt(ahead.size)),
        "highest": highest,
        "loss_ratio": float(losses.mean()),
    }


def part_of(cells: dict[str, Any], part: str) -> dict[str, Any]:
    """Return the cells of a part, by the rest of their names."""
    return {key.partition("/")[2]: cell for key, cell in cells.items() if key.startswith(part)}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure what is missing, print the tables, write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--noise-repeats", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, *REPEATED])
    parser.add_argument("--parts", nargs="+", default=["noise", "hand-over"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "simulated.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    results.save(machine=machine_facts())
    if "noise" in options.parts:
        for n, d, c in product(*NOISE.values()):
            if n <= max(options.sizes):
                results.cell(
                    ("noise", n, d, c),
                    partial(measure_noise, n, d, c, options.noise_repeats, options.jobs),
                )
        print(summarise_noise(part_of(results.cells, "noise")))
    if "hand-over" in options.parts:
        for kind, n, target in product(options.kinds, options.sizes, TARGETS):
            results.cell(
                ("hand-over", kind, n, *target),
                partial(
                    measure_hand_over, kind, n, *target, repeats=options.repeats, jobs=options.jobs
                ),
            )
        print(show_hand_over(part_of(results.cells, "hand-over")))
    return results.cells


if __name__ == "__main__":
    main()
