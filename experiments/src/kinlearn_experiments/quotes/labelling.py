"""Figures of docs/active_learning.md and docs/label.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn_experiments.measures import chance_panel, experts, honest_panel, label_latency
from kinlearn_experiments.quotes.registry import quote, quotes
from kinlearn_experiments.quotes.stored import cells
from kinlearn_experiments.results import geometric_mean
from kinlearn_experiments.tables import table

# Draws of each set by which it was settled how the accuracy is set right.
SETTLED_ON = 4


@quote("labelling.reported")
def reported() -> str:
    """Labels needed on sets that nothing was chosen on."""
    return table(*experts.summary(cells("experts.json"), "reported"))


@quote("labelling.chosen")
def chosen() -> str:
    """Labels needed on the sets by which the strategy was chosen."""
    return table(*experts.summary(cells("experts.json"), "chosen"))


@quote("labelling.panel")
def panel() -> str:
    """What the panel says and what is true."""
    return table(*honest_panel.summary(cells("honest_panel.json")))


@quote("labelling.latency")
def latency() -> str:
    """From a key to the next row."""
    return table(*label_latency.summary(cells("label_latency.json")))


def to_random(*roles: str) -> str:
    """Labels needed over those of random choice, the geometric mean over sets."""
    stored = cells("experts.json")
    names = [name for role in roles for name in experts.SETS[role]]
    found = [experts.ratio(stored, name, "random") for name in names]
    return f"{geometric_mean(ratio for ratio in found if ratio is not None):.2f}"


def runs(first: int = 0) -> list[Any]:
    found = cells("honest_panel.json").items()
    return [run for key, run in found if int(key.split("/")[1]) >= first]


def by_chance(estimator: str, strategy: str, which: int) -> str:
    """What is told where labels are chance, or how often its interval holds."""
    found = chance_panel.told(cells("chance_panel.json"), estimator, strategy)
    return f"{100 * found[which]:.0f} %"


def share(values: list[bool]) -> str:
    return f"{100 * np.mean(values):.1f} %"


quotes(
    "labelling",
    to_random=lambda: to_random("reported"),
    to_random_chosen=lambda: to_random("chosen"),
    to_random_all=lambda: to_random("reported", "chosen"),
    runs=lambda: str(len(runs())),
    covered=lambda: share(honest_panel.covered(runs())),
    covered_later=lambda: share(honest_panel.covered(runs(SETTLED_ON))),
    covered_by_all=lambda: share(honest_panel.covered(runs(), "_of_all_labels")),
    chance_told=lambda: by_chance("LSPCCV", "mixed", 0),
    chance_held=lambda: by_chance("LSPCCV", "mixed", 1),
    chance_told_untuned=lambda: by_chance("LSPC", "mixed", 0),
    chance_told_random=lambda: by_chance("LSPC", "random", 0),
    half_ways=lambda: str(len(honest_panel.half_way(runs()))),
    factor=lambda: share(honest_panel.within_factor(honest_panel.half_way(runs()))),
    range=lambda: share(honest_panel.within_range(honest_panel.half_way(runs()))),
)
