"""Figures of docs/serving.md."""

from __future__ import annotations

import numpy as np

from kinlearn_experiments.quotes.registry import quote, quotes
from kinlearn_experiments.quotes.stored import at, cells
from kinlearn_experiments.tables import table

KINDS = {
    "none": "none",
    "classes": "classes in other shares",
    "rows": "other kinds of rows",
}


def expected(what: str) -> float:
    """The mean over sets and splits."""
    return float(np.mean([cell[what] for cell in cells("expected_accuracy.json").values()]))


@quote("serving.expected")
def expected_table() -> str:
    rows = [
        [said, *(f"{expected(f'{kind}, {name}'):.4f}" for name in ("ours", "NannyML"))]
        for kind, said in KINDS.items()
    ]
    return table(["change", "kinlearn", "NannyML"], rows)


def sets() -> int:
    return len({key.split("/")[0] for key in cells("expected_accuracy.json")})


quotes(
    "serving",
    sets=lambda: str(sets()),
    draws=lambda: str(at("expected_accuracy.json", "repeats")),
    rows=lambda: str(at("expected_accuracy.json", "rows")),
    inside=lambda: f"{100 * expected('inside the interval'):.0f} %",
)
