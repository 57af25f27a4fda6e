"""Figures of docs/active_learning.md on suspect labels."""

from __future__ import annotations

from kinlearn_experiments.measures.suspects import HEADER, summary
from kinlearn_experiments.quotes.registry import quote, quotes
from kinlearn_experiments.quotes.stored import at, cells
from kinlearn_experiments.tables import table


@quote("suspects.found")
def found() -> str:
    """Average precision of each way, by share and kind of wrong labels."""
    return table(HEADER, summary(cells("suspects.json")))


quotes(
    "suspects",
    tables=lambda: str(len({key.split("/")[0] for key in cells("suspects.json")})),
    rows=lambda: str(at("suspects.json", "rows")),
)
