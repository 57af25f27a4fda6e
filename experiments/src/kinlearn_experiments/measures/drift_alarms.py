"""How often the watch raises alarms: on streams like the training, and on streams that change.

Every stream has a table and a model of its own, drawn anew, and goes through the service's own way:
a model file, rows, windows. Without a change at most one stream in twenty may ever raise an alarm.
Of changes of growing size: the share of streams with an alarm within three windows, and of labels
that come back within so many rows. Writes ``results/drift_alarms.json`` and, of all of it,
``docs/images/drift_power.png``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import kinlearn
from kinlearn.answering.answers import answer_rows
from kinlearn.answering.rows import rows_of_columns
from kinlearn.answering.served_model import ServedModel, load_served
from kinlearn.cells.schema import TableSchema
from kinlearn.plots import PALETTE, subplots
from kinlearn.tables.input_profile import profile_inputs
from kinlearn.tables.pipeline import make_model
from kinlearn.watch.feedback import added, alarm_of, sums_of
from kinlearn.watch.store import Store
from kinlearn.watch.watching import Watch
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, ROOT, Results
from kinlearn_experiments.tables import table

TRAINING, WINDOW, WINDOWS, AFTER = 400, 300, 8, 3
NUMERIC, CATEGORICAL = ["age", "crp", "dose"], ["sex", "site"]
LABELS, BATCH = 1000, 50
SITES = np.array(["a", "b", "c", "d", "e"], dtype=object)
SHARES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
SIZES = {
    "a column moves (deviations)": (0.1, 0.2, 0.3, 0.5, 0.8),
    "a category's share rises": (0.05, 0.1, 0.15, 0.2, 0.3),
    "cells go missing (share)": (0.05, 0.1, 0.15, 0.2, 0.3),
    "a class's share rises": (0.05, 0.1, 0.15, 0.2, 0.3),
}
WRONG = (0.0, 0.03, 0.06, 0.1, 0.15, 0.25)


def drawn(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of a table, with a class that its columns tell in part."""
    age, dose = rng.normal(50, 12, n), rng.normal(size=n)
    crp = np.exp(rng.normal(1.5, 1.0, n))
    sex = rng.choice(["f", "m"], n)
    logit = 0.08 * (age - 50) + 0.8 * (np.log(crp) - 1.5) + dose + 0.5 * (sex == "m")
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "ill", "well")
    age[rng.random(n) < 0.05] = np.nan
    site = rng.choice(SITES, n, p=SHARES)
    return pd.DataFrame(
        {"age": age, "crp": crp, "dose": dose, "sex": sex, "site": site, "state": ill}
    )


def moved(rows: pd.DataFrame, size: float, rng: np.random.Generator) -> pd.DataFrame:
    """A number is larger throughout."""
    return rows.assign(dose=rows["dose"] + size)


def other_sites(rows: pd.DataFrame, size: float, rng: np.random.Generator) -> pd.DataFrame:
    """More rows are of a rare category."""
    return rows.assign(site=np.where(rng.random(len(rows)) < size, "e", rows["site"]))


def missing(rows: pd.DataFrame, size: float, rng: np.random.Generator) -> pd.DataFrame:
    """Cells are empty that were not."""
    return rows.assign(crp=np.where(rng.random(len(rows)) < size, np.nan, rows["crp"]))


def more_ill(rows: pd.DataFrame, size: float, rng: np.random.Generator) -> pd.DataFrame:
    """A class is more frequent, and each class looks as it did."""
    ill = (rows["state"] == "ill").to_numpy()
    wanted = min(0.95, ill.mean() + size)
    weight = np.where(ill, wanted / ill.mean(), (1 - wanted) / (1 - ill.mean()))
    return rows.iloc[rng.choice(len(rows), len(rows), p=weight / weight.sum())]


Change = Callable[[pd.DataFrame, float, np.random.Generator], pd.DataFrame]
CHANGES: dict[str, Change] = dict(zip(SIZES, (moved, other_sites, missing, more_ill), strict=True))


def served_of(rng: np.random.Generator, path: Path) -> ServedModel:
    """A model of a table drawn anew, through a file."""
    rows = drawn(TRAINING, rng)
    schema = TableSchema(NUMERIC, CATEGORICAL, target="state")
    model = make_model(schema, kinlearn.LSPC())
    model.fit(rows, rows["state"].to_numpy(object))
    held = model[-1].held_out_proba()
    answers = {name: held[:, k] for k, name in enumerate(model.classes_.tolist())}
    inputs = profile_inputs(model[0].transform(rows), answers=answers)
    kinlearn.save(model, path, facts={"table": schema.as_facts(), "inputs": inputs})
    return load_served(path)


def alarms(served: ServedModel, rows: pd.DataFrame) -> list[str]:
    """The kinds of alarm that a stream of rows raises."""
    watch = Watch(Store(), WINDOW, most_taken=None)
    columns = {
        name: rows[name].tolist() if name in CATEGORICAL else rows[name].to_numpy()
        for name in served.schema.features
    }
    given = rows_of_columns(served, columns)
    watch.take(given, answer_rows(served, given))
    watch.flush()
    return [each["kind"] for each in watch.state(served)["alarms"]]


def label_alarm(served: ServedModel, rows: pd.DataFrame, wrong: float, seed: int) -> int | None:
    """After how many labels an alarm is raised, of which so many are not what they would be."""
    rng = np.random.default_rng(seed)
    columns = {name: rows[name].tolist() for name in served.schema.features}
    found = answer_rows(served, rows_of_columns(served, columns))
    truth = (rows["state"] == served.classes[1]).to_numpy(dtype=np.intp)
    # an answer that would be right is wrong instead
    turned = (rng.random(len(truth)) < wrong) & (truth == found.predicted)
    truth = np.where(turned, 1 - truth, truth)
    sums = None
    for start in range(0, len(rows), BATCH):
        some = slice(start, start + BATCH)
        sums = added(sums, sums_of(found.proba[some], truth[some], found.predicted[some]))
        if alarm_of(sums) is not None:
            return start + BATCH
    return None


def no_change(runs: int, folder: Path) -> dict[str, Any]:
    """Streams like the training: how many ever raise an alarm."""
    rng = np.random.default_rng(0)
    raised, labels, kinds = 0, 0, []
    for seed in range(runs):
        served = served_of(rng, folder / "model.kin")
        rows = drawn(WINDOWS * WINDOW, rng)
        found = alarms(served, rows)
        raised += bool(found)
        kinds += found
        labels += label_alarm(served, rows, 0.0, seed) is not None
    return {"runs": runs, "raised": raised, "raised by labels": labels, "kinds": sorted(set(kinds))}


def power(name: str, size: float, runs: int, folder: Path) -> float:
    """The share of streams of a change that raise an alarm."""
    rng, raised = np.random.default_rng(1), 0
    for _ in range(runs):
        served = served_of(rng, folder / "model.kin")
        rows = CHANGES[name](drawn(AFTER * WINDOW, rng), size, rng)
        raised += bool(alarms(served, rows))
    return raised / runs


def label_power(wrong: float, runs: int, folder: Path) -> dict[str, Any]:
    """Alarms of labels where accuracy falls by so much: how often, and after how many labels."""
    rng, after = np.random.default_rng(2), []
    for seed in range(runs):
        served = served_of(rng, folder / "model.kin")
        after.append(label_alarm(served, drawn(LABELS, rng), wrong, seed))
    seen = sorted(each for each in after if each is not None)
    middle = seen[(runs - 1) // 2] if len(seen) > (runs - 1) // 2 else None
    return {"raised": len(seen) / runs, "labels until half are": middle}


def draw(cells: dict[str, Any], path: Path) -> None:
    """The share of streams with an alarm by the size of the change."""
    figure, axes = subplots(1, 3, panel_size=(3.9, 3.4), sharey=True)
    first, *others = SIZES
    panels: tuple[tuple[dict[str, tuple[float, ...]], str], ...] = (
        ({first: SIZES[first]}, "a column moves by so many deviations"),
        ({each: SIZES[each] for each in others}, "so much more of all rows"),
        ({"labels": WRONG}, "so many more answers are wrong"),
    )
    for ax, (curves, under) in zip(axes.ravel(), panels, strict=True):
        for k, (name, sizes) in enumerate(curves.items()):
            found = [cells[f"{name}/{size}"] for size in sizes]
            shares = [each["raised"] if isinstance(each, dict) else each for each in found]
            label = name.removesuffix(" (share)") if len(curves) > 1 else None
            ax.plot(sizes, shares, marker="o", color=PALETTE[k], label=label)
        ax.axhline(0.05, color="0.6", linewidth=0.8, linestyle="--")
        ax.set(xlabel=under, ylim=(-0.03, 1.03), xlim=(0, None))
        if len(curves) > 1:
            ax.legend(
                frameon=False, fontsize=8, ncol=2, columnspacing=1.0, loc="lower center",
                bbox_to_anchor=(0.5, 0.99),
            )  # fmt: skip
    axes[0, 0].set_ylabel("share of streams with an alarm")
    figure.savefig(path, dpi=110)


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--power-runs", type=int, default=25)
    parser.add_argument("--out", type=Path, default=RESULTS / "drift_alarms.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    few = options.power_runs
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        results.cell(("no change",), partial(no_change, options.runs, folder))
        for change, sizes in SIZES.items():
            for size in sizes:
                results.cell((change, size), partial(power, change, size, few, folder))
        for wrong in WRONG:
            results.cell(("labels", wrong), partial(label_power, wrong, few, folder))
    results.save(
        machine=machine_facts(), training=TRAINING, window=WINDOW, windows=WINDOWS, after=AFTER,
        labels=LABELS, power_runs=few,
    )  # fmt: skip
    if options.out == RESULTS / "drift_alarms.json":
        draw(results.cells, ROOT / "docs/images/drift_power.png")
    print(table(["", ""], [[key, str(cell)] for key, cell in results.cells.items()]))
    return results


if __name__ == "__main__":
    main()
