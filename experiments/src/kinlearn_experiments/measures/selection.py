r"""The choices behind the defaults, measured: criterion, combination, centres.

::

    python -m kinlearn_experiments.measures.selection [--quick] \
        [--parts scoring combine centers auto]

Cells are written to ``results/selection.json`` one by one, so that an interrupted run goes on where
it stopped; the page ``docs/choices.md`` is made from that file alone (``--parts`` with nothing
after it only makes the page).
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.choices_page import page
from kinlearn_experiments.measures.data import Split, load, names, split
from kinlearn_experiments.results import RESULTS, ROOT, Results, significant

SCORINGS = ("squared_error", "log_loss", "brier", "accuracy")
RULES = ("best", "stack", "within_se")
SELECTIONS = ("random", "kmeans++", "leverage")
LARGER_SETS = ("magic", "satimage", "penbased", "letter")
AUTO_SETS = ("letter", "adult", "shuttle")
# The splits before this one served to develop the rules that are compared here.
FIRST_SPLIT = 2000
PAGE = ROOT / "docs" / "choices.md"


def score(model: LSPCCV, data: Split) -> dict[str, float]:
    """Fit, and return test log-loss, test error and the seconds of the fit."""
    start = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    proba = model.predict_proba(data.X_test)
    truth = np.searchsorted(model.classes_, data.y_test)
    right = proba[np.arange(truth.size), truth]
    return {
        "log_loss": significant(-np.log(np.maximum(right, 1e-15)).mean(), 4),
        "error": significant((proba.argmax(axis=1) != truth).mean(), 4),
        "seconds": significant(seconds, 3),
    }


def compare(
    models: dict[str, LSPCCV], name: str, n: int, seeds: int, n_test: int
) -> dict[str, dict[str, list[float]]]:
    """Return test scores of each model over splits of one data set, the same for all."""
    out: dict[str, dict[str, list[float]]] = {}
    for seed in range(FIRST_SPLIT, FIRST_SPLIT + seeds):
        data = split(name, n, seed, n_test)
        for option, model in models.items():
            for what, value in score(model, data).items():
                out.setdefault(option, {}).setdefault(what, []).append(value)
    return out


def scoring_models() -> dict[str, LSPCCV]:
    return {name: LSPCCV(combine="best", scoring=name) for name in SCORINGS}


def combine_models() -> dict[str, LSPCCV]:
    return {rule: LSPCCV(combine=rule) for rule in RULES}


def center_models(m: int) -> dict[str, LSPCCV]:
    return {
        method: LSPCCV(n_centers=m, center_selection=method, random_state=0)
        for method in SELECTIONS
    }


def auto_models(counts: tuple[int, ...]) -> dict[str, LSPCCV]:
    return {str(m): LSPCCV(n_centers=m, random_state=0) for m in counts}


def big_enough(name: str, n: int) -> bool:
    """Whether a data set has that many training rows."""
    return 2 * load(name)[1].size // 3 >= n


def measure(parts: list[str], sets: list[str], results: Results, quick: bool) -> None:
    """Measure the parts asked for, cell by cell."""

    def cell(
        part: str, name: str, n: int, models: dict[str, LSPCCV], seeds: int, test: int
    ) -> None:
        key = (part, name, n)
        if "/".join(map(str, key)) not in results.cells:
            print(f"... {part}: {name}, n = {n}", flush=True)
        results.cell(key, lambda: compare(models, name, n, seeds, test))

    few = 2 if quick else None
    for n in (60,) if quick else (100, 300):
        for name in sets:
            if "scoring" in parts and big_enough(name, n):
                cell("scoring", name, n, scoring_models(), few or 10, 2000)
    for n in (60,) if quick else (60, 300):
        for name in sets:
            if "combine" in parts and big_enough(name, n):
                cell("combine", name, n, combine_models(), few or 20, 2000)
    for m in (30,) if quick else (100, 200, 300):
        for name in sets if quick else LARGER_SETS:
            if "centers" in parts and name in names():
                models = center_models(m)
                key = ("centers", name, m)
                if "/".join(map(str, key)) not in results.cells:
                    print(f"... centers: {name}, {m} centres", flush=True)
                n = 90 if quick else 4000
                results.cell(key, partial(compare, models, name, n, few or 4, 2000))
    for name in sets[:1] if quick else AUTO_SETS:
        if "auto" in parts and name in names():
            models = auto_models((30, 60) if quick else (1000, 1500, 2000))
            cell("auto", name, 90 if quick else 10_000, models, 1, 5000)


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rows of two data sets")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    parser.add_argument(
        "--parts", nargs="*", default=["scoring", "combine", "centers", "auto"], help="what to do"
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier cells")
    parser.add_argument("--out", type=Path, default=RESULTS / "selection.json")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    sets = ["iris", "wine"] if options.quick else names()
    results = Results(options.out, fresh=options.fresh)
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        measure(options.parts, sets, results, options.quick)
        if options.parts:
            results.save(machine=machine_facts())
    text = page(results.content)
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(text)
    print(text)
    return results


if __name__ == "__main__":
    main()
