"""Figures of the README and of pages that speak of alternatives, from ``bench.json``."""

from __future__ import annotations

from functools import cache

import numpy as np

from kinlearn_experiments.bench.groups import Group
from kinlearn_experiments.bench.reading import Verdict, verdicts
from kinlearn_experiments.bench.report import FIGURE, summaries_of
from kinlearn_experiments.bench.roles import HELD_OUT
from kinlearn_experiments.bench.statistics import MATERIAL
from kinlearn_experiments.bench.suites import SUITES
from kinlearn_experiments.bench.summary import SuiteSummary
from kinlearn_experiments.quotes.registry import quote, quotes
from kinlearn_experiments.quotes.stored import QuoteError, stored
from kinlearn_experiments.results import RESULTS
from kinlearn_experiments.tables import table

WORDS = {
    "win": "better, significantly",
    "ahead": "ahead",
    "level": "level",
    "behind": "**behind**",
    "loss": "**worse, significantly**",
}


# Of one task, the pages quote one role and size.
SINGLE = Group("single", HELD_OUT, 400)


@cache
def all_summaries(changed: float) -> dict[str, SuiteSummary]:
    return {
        summary.name: summary
        for summary in summaries_of(stored("bench.json")["cells"])
        if summary.name != SINGLE.suite or summary.group == SINGLE
    }


def summaries() -> dict[str, SuiteSummary]:
    stored("bench.json")  # so that it is named as the source
    return all_summaries((RESULTS / "bench.json").stat().st_mtime)


def suite(name: str) -> SuiteSummary:
    if name not in summaries():
        raise QuoteError(f"bench.json has no cells of the suite {name}.")
    return summaries()[name]


def times(value: float) -> str:
    return "" if not np.isfinite(value) else f"{value:.0f}×" if value >= 10 else f"{value:.2g}×"


def places(summary: SuiteSummary) -> dict[str, int]:
    ranks = summary.mean_ranks(FIGURE)
    return {
        name: int((ranks < rank).sum()) + 1
        for name, rank in zip(summary.methods, ranks, strict=True)
    }


def by_rank(summary: SuiteSummary) -> list[Verdict]:
    order = places(summary)
    return sorted(verdicts(summary), key=lambda verdict: order[verdict.rival])


@quote("bench.alternatives")
def alternatives_table() -> str:
    """One task: every rival, the best rank first, ours among them."""
    summary = suite("single")
    order = places(summary)
    rows = [
        [
            verdict.rival,
            order[verdict.rival],
            times(verdict.loss_ratio),
            f"{verdict.wins}/{verdict.ties}/{verdict.losses}",
            WORDS[verdict.outcome],
            times(verdict.time_ratio),
        ]
        for verdict in by_rank(summary)
    ]
    rows.append([f"**{summary.ours}**", order[summary.ours], "1×", "", "", "1×"])
    rows.sort(key=lambda row: int(str(row[1])))
    header = ["method, tuned", "place", "log-loss ÷ ours", "sets won/tied/lost by ours"]
    return table([*header, "ours is", "tuned fit ÷ ours"], rows)


@quote("bench.suites")
def suites_table() -> str:
    """Each suite in a row: the place of ours, and how it stands against its rivals."""
    rows = []
    for name, summary in summaries().items():
        found = [verdict.outcome for verdict in verdicts(summary)]
        order = places(summary)
        rows.append(
            [
                SUITES[name].title,
                f"`{summary.ours}`",
                f"{order[summary.ours]} of {len(order)}",
                *(str(found.count(kind)) for kind in WORDS),
                lost_sets(summary),
            ]
        )
    header = ["problem", "ours", "place", "significantly better", "ahead", "level", "behind"]
    return table([*header, "significantly worse", "sets on which another is better"], rows)


def lost_sets(summary: SuiteSummary) -> str:
    """Sets on which some rival's log-loss is lower, materially and by the t-test."""
    means, own = summary.means(FIGURE), summary.methods.index(summary.ours)
    outcomes = summary.outcomes(FIGURE)
    lost = sum(
        any(
            outcomes[method][d] == "loss" and means[d, m] <= (1 - MATERIAL) * means[d, own]
            for m, method in enumerate(summary.methods)
            if m != own
        )
        for d in range(len(summary.data))
    )
    return f"{lost} of {len(summary.data)}"


@quote("bench.faster")
def faster() -> str:
    """Rivals of one task whose tuned fit is quicker than ours."""
    rivals = by_rank(suite("single"))
    found = [v.rival for v in rivals if v.time_ratio < 1]
    if len(found) == len(rivals):
        return "all of them"
    return ", ".join(found) if found else "none"


quotes(
    "bench",
    lost=lambda: lost_sets(suite("single")),
    sets=lambda: str(len(suite("single").data)),
    most_rows=lambda: str(suite("single").rows[1]),
)
