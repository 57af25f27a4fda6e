"""Figures of docs/klr.md, from ``klr.json``."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn_experiments.measures import klr
from kinlearn_experiments.quotes.registry import digits, extent, quote, quotes
from kinlearn_experiments.quotes.stored import cells

Rows = list[dict[str, Any]]


def rows(part: str) -> Rows:
    return list(cells("klr.json", f"{part}/").values())


def fits(kind: str | None = None, classes: int | None = None) -> Rows:
    found = [
        row
        for row in rows("fit")
        if (kind is None or row["kind"] == kind) and (classes is None or row["classes"] == classes)
    ]
    return sorted(found, key=lambda row: (row["classes"], row["kind"] == "multi", row["n"]))


def processor(found: Rows, key: str) -> list[float]:
    return [row[key][1] for row in found]


def landmine_times(key: str) -> list[float]:
    return [row["klr"]["seconds"][1] / row[key]["seconds"][1] for row in rows("landmine")]


@quote("klr.fits")
def fit_table() -> str:
    return klr.show_fits(fits())


@quote("klr.tuned")
def tuned_table() -> str:
    return klr.show_tuned(sorted(rows("tuned"), key=lambda row: (row["kind"], row["n"])))


@quote("klr.landmine")
def landmine_table() -> str:
    return klr.show_landmine(rows("landmine"))


@quote("klr.wall")
def wall_clock() -> str:
    """By how much wall-clock ratios differ at most from those of processor time."""
    pairs = [
        pair for row in fits() for key, pair in row.items() if " / " in key and "rounded" not in key
    ]
    return f"{max(abs(wall / cpu - 1) for wall, cpu in pairs):.0%}".replace("%", " %")


@quote("klr.newton_fewest")
def factorisations() -> str:
    return extent([row["newton"]["factorisations"] for row in fits("single", 2)], str, to=" or ")


@quote("klr.lbfgs_gain")
def lbfgs_gain() -> str:
    """By how much L-BFGS is faster than Newton at ten classes, at most."""
    found = fits("single", 10)
    return digits(max(row["newton / lspc"][1] / row["lbfgs / lspc"][1] for row in found))


@quote("klr.better")
def better_draws() -> str:
    """In how many of the draws the default multi-task search ranks better."""
    found = rows("landmine")
    won = sum(row["lspc"]["auc"] > row["klr"]["auc"] for row in found)
    return f"{won} of {len(found)} draws"


@quote("klr.best_better")
def best_better() -> str:
    found = rows("landmine")
    gain = np.mean([row["lspc best"]["auc"] - row["lspc"]["auc"] for row in found])
    return f"{gain:+.3f}".replace("-", "−")


quotes(
    "klr",
    bare=lambda: extent(processor(fits(classes=2), "newton / lspc rounded")),
    calibrated=lambda: extent(processor(fits(classes=2), "newton / lspc")),
    ten_calibrated=lambda: extent(processor(fits(classes=10), "newton / lspc")),
    ten_bare=lambda: extent(processor(fits(classes=10), "newton / lspc rounded")),
    loo=lambda: extent(processor(rows("tuned"), "newton / lspc, leave-one-out")),
    folds=lambda: extent(processor(rows("tuned"), "newton / lspc, 5 folds")),
    several=lambda: extent([r["newton"]["factorisations"] for r in fits("multi")], str),
    landmine_times=lambda: extent(landmine_times("lspc")),
    landmine_best=lambda: extent(landmine_times("lspc best")),
    draws=lambda: str(len(rows("landmine"))),
)
