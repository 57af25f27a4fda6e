"""Faces: more ways to reduce and compare them than the paper's Table 2 has, on the same splits.

::

    KINLEARN_DATA=... python -m kinlearn_experiments.measures.faces [--trials 20] [--quick]

The rows of ``kinlearn reproduce faces``, and beside them: the nearest neighbour by the angle
("cosine") instead of the distance; 39 common dimensions (people in ORL - 1; then the ratio is
one in every task, and the tasks no longer matter to each other); and "chosen", which picks one of
CANDIDATES for each split from its training images alone (see `choose`).

Every finished (p, trial) is appended to a cache file (--cache), so that the run can be stopped and
taken up again; a method that a cached trial lacks is added to it. The table and
``results/faces.json`` are written at the end from the cache.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from kinlearn import MTDA, MTDAClassifier
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.reproduce.faces import draw_split, load_faces, reducer
from kinlearn_experiments.reproduce.published_faces import DATABASES, ERRORS
from kinlearn_experiments.results import RESULTS, Results, add_line, read_lines

SMALL = 39
REDUCTIONS = (
    "PCA",
    "LDA-rt",
    "LDA-rt + shrinkage",
    "LDA-tr",
    "LDA-tr + shrinkage",
    "Aggregate",
    "MTDA joint",
    "MTDA alternating",
    "MTDA table1",
    "MTDA joint + shrinkage",
)
CANDIDATES = (
    "LDA-rt + shrinkage",
    "LDA-rt + shrinkage, cosine",
    "LDA-tr",
    "LDA-tr, cosine",
    "MTDA joint",
    "MTDA joint, cosine",
    "MTDA joint + shrinkage",
    "MTDA joint + shrinkage, cosine",
    "MTDA joint + shrinkage, d = 39",
    "MTDA joint + shrinkage, d = 39, cosine",
)


def methods(seed: int) -> dict[str, MTDAClassifier]:
    """Every row of the table, as one call of the library."""
    reducers = {name: reducer(name, seed) for name in REDUCTIONS}
    reducers["MTDA joint, d = 39"] = MTDA(n_components=SMALL)
    reducers["MTDA joint + shrinkage, d = 39"] = MTDA(n_components=SMALL, shrinkage="auto")
    rows = {name: MTDAClassifier(reducer=found) for name, found in reducers.items()}
    for name in [c.removesuffix(", cosine") for c in CANDIDATES if c.endswith("cosine")]:
        rows[f"{name}, cosine"] = MTDAClassifier(reducer=reducers[name], metric="cosine")
    return rows


def choose(Xs: dict[str, np.ndarray], ys: dict[str, np.ndarray], rng: np.random.Generator) -> str:
    """The candidate that separates people it has not seen, by four folds over the people.

    Fitted without a quarter of the people of every database; every image of those is then looked
    up among their other images. It works from two images a person on, where leaving out images
    would leave no scatter within people. Errors are averaged over the three databases: one setting
    for all tasks. Of two settings that are equal the earlier one is taken.
    """
    fold_of = {name: rng.permutation(np.unique(y).size) % 4 for name, y in ys.items()}
    numbers = {name: np.unique(y, return_inverse=True)[1] for name, y in ys.items()}
    errors: dict[str, list[float]] = defaultdict(list)
    for fold in range(4):
        held = {name: fold_of[name][numbers[name]] == fold for name in ys}
        train_X = {name: Xs[name][~held[name]] for name in ys}
        train_y = {name: ys[name][~held[name]] for name in ys}
        fitted: dict[str, Any] = {}
        for candidate in CANDIDATES:
            reduction = candidate.removesuffix(", cosine")
            if reduction not in fitted:
                model = methods(0)[reduction]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # capped at the smaller rank
                    fitted[reduction] = model.fit(train_X, train_y).reducer_
            for name in ys:
                Z = fitted[reduction].transform(Xs[name][held[name]], task=name)
                if candidate.endswith("cosine"):
                    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
                y = ys[name][held[name]]
                gaps = np.sum(Z**2, axis=1) - 2 * Z @ Z.T
                np.fill_diagonal(gaps, np.inf)
                errors[candidate].append(float(np.mean(y[gaps.argmin(axis=1)] != y)))
    return min(CANDIDATES, key=lambda candidate: float(np.mean(errors[candidate])))


def run_trial(
    data: dict[str, Any], p: int, trial: int, before: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Errors of every method on one random split of all databases; those in `before` are kept."""
    rng = np.random.default_rng([p, trial])
    masks = draw_split(data, p, rng)
    train_X = {name: data[name][0][masks[name]] for name in DATABASES}
    train_y = {name: data[name][1][masks[name]] for name in DATABASES}
    result: dict[str, Any] = before or {"p": p, "trial": trial, "error": {}, "objective": {}}
    fitted: dict[str, MTDAClassifier] = {}
    for label, model in methods(trial).items():
        if label in result["error"]:
            continue
        base = label.removesuffix(", cosine")
        if base in fitted:
            model = fitted[base].set_params(metric="cosine")  # the reduction is the same
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # caps, as the header says
                fitted[label] = model.fit(train_X, train_y)
        result["error"][label] = [
            1 - model.score(data[name][0][~masks[name]], data[name][1][~masks[name]], task=name)
            for name in DATABASES
        ]
        if hasattr(model.reducer_, "objective_"):
            result["objective"][label] = model.reducer_.objective_
    if "chosen" not in result:
        result["chosen"] = choose(train_X, train_y, rng)
    result["error"]["chosen"] = result["error"][result["chosen"]]
    return result


def summarise(trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation per cell, and whether a row is significantly the best.

    A star: the lowest mean of its column, and paired t-tests over the splits against every row with
    a different result give p < 0.05. Rows that use the same setting are not set against each other.
    """
    table = []
    for p in sorted({trial["p"] for trial in trials}):
        of_p = [trial for trial in trials if trial["p"] == p]
        errors = {
            label: np.array([trial["error"][label] for trial in of_p if label in trial["error"]])
            for label in of_p[0]["error"]
        }
        for column, database in enumerate(DATABASES):
            single = {label: e[:, column] for label, e in errors.items() if label != "chosen"}
            best = min(single, key=lambda label: single[label].mean())
            rivals = [
                e
                for e in single.values()
                if len(e) == len(of_p) and not np.array_equal(e, single[best])
            ]
            star = all(
                stats.ttest_rel(single[best], e, alternative="less").pvalue < 0.05 for e in rivals
            )
            for label, e in errors.items():
                row = {"p": p, "database": database, "method": label, "n_trials": len(e)}
                row["mean"] = float(e[:, column].mean())
                row["std"] = float(e[:, column].std(ddof=1)) if len(e) > 1 else 0.0
                row["lowest"] = label == best
                row["significantly_best"] = bool(label == best and star and len(of_p) > 1)
                if label in ERRORS:
                    row["paper"] = ERRORS[label][p - 2][column]
                row["paper_mtda"] = ERRORS["MTDA"][p - 2][column]
                table.append(row)
    return table


def show(table: list[dict[str, Any]]) -> str:
    """The table as Markdown, one block per p."""
    lines = []
    for p in sorted({row["p"] for row in table}):
        n_trials = max(row["n_trials"] for row in table if row["p"] == p)
        lines += [f"\np = {p} ({n_trials} splits)\n"]
        lines += ["| method | " + " | ".join(DATABASES) + " |", "|---" * 4 + "|"]
        for label in dict.fromkeys(row["method"] for row in table):
            cells = []
            for database in DATABASES:
                row = next(
                    r for r in table if (r["p"], r["method"], r["database"]) == (p, label, database)
                )
                cell = f"{100 * row['mean']:.1f} ± {100 * row['std']:.1f}"
                cell = f"**{cell}**" if row["lowest"] else cell
                cells.append(cell + (" ★" if row["significantly_best"] else ""))
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        for label, blocks in ERRORS.items():
            cells = [f"{100 * value:.1f}" for value in blocks[p - 2]]
            lines.append(f"| *paper: {label}* | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure what the cache lacks, print the table, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="2 trials, p = 2 only, no file")
    parser.add_argument("--cache", type=Path, default=Path("faces-trials.jsonl"))
    parser.add_argument("--out", type=Path, default=RESULTS / "faces.json")
    options = parser.parse_args(arguments)
    data = load_faces()
    with threadpool_limits(1):
        if options.quick:
            print(show(summarise([run_trial(data, 2, trial) for trial in range(2)])))
            return
        done = {(line["p"], line["trial"]): line for line in read_lines(options.cache)}
        # All p for one trial before the next, so that an early stop leaves a balanced table.
        for trial in range(options.trials):
            for p in (2, 3, 4, 5):
                before = done.get((p, trial))
                if before and before["error"].keys() >= methods(trial).keys():
                    continue
                done[p, trial] = run_trial(data, p, trial, before)
                add_line(options.cache, done[p, trial])
        facts = machine_facts()
    trials = [line for (_, trial), line in sorted(done.items()) if trial < options.trials]
    rows = summarise(trials)
    print(show(rows))
    chosen: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    objective: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in trials:
        chosen[line["p"]][line["chosen"]] += 1
        for label, value in line["objective"].items():
            objective[line["p"]][label].append(value)
    means = {p: {k: float(np.mean(v)) for k, v in d.items()} for p, d in objective.items()}
    results = Results(options.out, fresh=True)
    results.save(machine=facts, table=rows, chosen=chosen, objective=means)


if __name__ == "__main__":
    main()
