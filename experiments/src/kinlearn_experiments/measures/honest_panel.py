"""Is the panel of ActiveLearner true? Its interval, its forecast, and its "you can stop".

Many short runs on real sets, each with an expert who knows all labels and with test rows that are
never asked for::

    python -m kinlearn_experiments.measures.honest_panel [--seeds 20]

At fixed numbers of labels: does the 95 % interval of the accuracy cover that on the test rows, also
that of leave-one-out over all labelled rows, which a strategy chose? Half way to a goal (within a
point of what all labels of the pool give): is the forecast within a factor of two of the labels to
go? Where it says "you can stop": how many answers do as many labels again change, and what accuracy
do they bring? Writes ``results/honest_panel.json``; cells that are there are not measured anew.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, ActiveLearner
from kinlearn.active.audit import exact_interval
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.experts import WITHIN, draw, evaluated_at, needed
from kinlearn_experiments.results import RESULTS, Results, finite, significant
from kinlearn_experiments.tables import table

SETS = (
    "banana",
    "digits",
    "magic",
    "marketing",
    "mushroom",
    "penbased",
    "ring",
    "satimage",
    "splice",
    "twonorm",
)
POOL_ROWS, MOST = 300, 110
CHECKED_FROM = 20  # labels; before, an interval is nearly all of [0, 1]
FORECAST_FROM = 10
FACTOR = 2.0
Run = dict[str, list[Any]]


def learner_of(X: Any, classes: Any, seed: int) -> ActiveLearner:
    """Settings as they come, and none tuned, as many runs are wanted."""
    return ActiveLearner(LSPC(random_state=seed), X, classes=classes, random_state=seed)


def one_run(name: str, seed: int) -> Run:
    """What the panel says and what is true, a list each, after so many labels."""
    data = draw(name, seed, POOL_ROWS)
    counts, answers = evaluated_at(MOST), []
    found: Run = {name: [] for name in ("n", "true", "told", "low", "high", "forecast", "settled")}
    found |= {name: [] for name in ("low_of_all_labels", "high_of_all_labels")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        everything = LSPC(random_state=seed).fit(data.X, data.y)
        goal = float((everything.predict(data.X_test) == data.y_test).mean()) - WITHIN
        learner = learner_of(data.X, np.unique(data.y), seed)
        for n in range(1, counts[-1] + 1):
            row = learner.ask()
            assert row is not None
            learner.tell(row, data.y[row])
            if n not in counts or n < FORECAST_FROM or learner.model_ is None:
                continue
            answers.append(learner.model_.predict(data.X_test))
            chosen = exact_interval(*_of_all_labels(learner))
            said: dict[str, Any] = {
                "n": n,
                "true": (answers[-1] == data.y_test).mean(),
                **dict(zip(("told", "low", "high"), learner.accuracy(), strict=True)),
                **dict(zip(("low_of_all_labels", "high_of_all_labels"), chosen, strict=True)),
                "forecast": list(learner.forecast(goal)),
                "settled": learner.panel().settled,
            }
            for key, value in said.items():
                found[key].append(finite(value) if isinstance(value, float) else value)
    return {"goal": [significant(goal)], **found, **_later(found, answers)}


def _of_all_labels(learner: ActiveLearner) -> tuple[int, int]:
    """Labelled rows answered right without their own label, chosen ones too."""
    by = learner.classes_[learner.held_out_proba().argmax(axis=1)]
    truth = np.array(list(learner.labels.values()))
    return int((by == truth).sum()), len(truth)


def _later(found: Run, answers: list[Any]) -> Run:
    """What as many labels again changed and gained, where the run went on so long."""
    changed: list[float | None] = []
    gained: list[float | None] = []
    for k, n in enumerate(found["n"]):
        after = next((j for j, m in enumerate(found["n"]) if m >= 2 * n), None)
        if after is None:
            break
        changed.append(significant((answers[after] != answers[k]).mean(), 4))
        gained.append(significant(found["true"][after] - found["true"][k], 4))
    return {"changed_by_double": changed, "gained_by_double": gained}


def covered(runs: list[Run], which: str = "") -> list[bool]:
    """Whether the interval holds the truth, at all checks."""
    return [
        low <= true <= high
        for run in runs
        for n, true, low, high in zip(
            run["n"], run["true"], run[f"low{which}"], run[f"high{which}"], strict=True
        )
        if n >= CHECKED_FROM
    ]


def half_way(runs: list[Run]) -> list[tuple[int, list[int]]]:
    """Of runs that reach their goal: labels to go at half of them, and the forecast there."""
    found = []
    for run in runs:
        reached = needed(run["n"], run["true"], run["goal"][0])
        if reached is None or reached < 2 * FORECAST_FROM:
            continue
        k = int(np.argmin(np.abs(np.array(run["n"]) - reached / 2)))
        found.append((reached - run["n"][k], run["forecast"][k]))
    return found


def within_factor(found: list[tuple[int, list[int]]]) -> list[bool]:
    """Whether the forecast is within a factor of two."""
    return [to_go / FACTOR <= more <= to_go * FACTOR for to_go, (more, _, _) in found]


def within_range(found: list[tuple[int, list[int]]]) -> list[bool]:
    """Whether the range that is told with the forecast holds what was needed."""
    return [low <= to_go <= high for to_go, (_, low, high) in found]


def gained_after_stop(runs: list[Run]) -> list[float]:
    """Accuracy that as many labels again brought, from where one was first told to stop."""
    found = []
    for run in runs:
        at = run["settled"].index(True) if True in run["settled"] else len(run["n"])
        found += run["gained_by_double"][at : at + 1]
    return found


def summary(cells: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """By set and over all."""
    rows = []
    for name in (*SETS, "all"):
        runs = [run for key, run in cells.items() if name in ("all", key.split("/")[0])]
        if not runs:
            continue
        forecasts, ended = half_way(runs), gained_after_stop(runs)
        parts = (
            covered(runs),
            covered(runs, "_of_all_labels"),
            within_factor(forecasts),
            within_range(forecasts),
        )
        shown = [f"{np.mean(part):.1%}".replace("%", " %") if part else "-" for part in parts]
        gains = f"{100 * np.mean(ended):.1f}" if ended else "-"
        rows.append([name, len(runs), *shown[:2], len(forecasts), *shown[2:], len(ended), gains])
    header = [
        "set",
        "runs",
        "interval holds",
        "of all labels",
        "half ways",
        "factor of two",
        "in the range",
        "stops",
        "points after",
    ]
    return header, [[str(cell) for cell in row] for row in rows]


def main(arguments: list[str] | None = None) -> Results:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "honest_panel.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        results.save(machine=machine_facts(), pool=POOL_ROWS, most=MOST, within=WITHIN)
        for seed in range(options.seeds):
            for name in options.sets:
                results.cell((name, seed), partial(one_run, name, seed))
    print(table(*summary(results.cells)))
    return results


if __name__ == "__main__":
    main()
