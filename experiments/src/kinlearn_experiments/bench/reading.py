"""What the figures say, in sentences computed from them: where ours wins, is level, loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinlearn_experiments.bench.report import FIGURE
from kinlearn_experiments.bench.statistics import LEVEL, MATERIAL
from kinlearn_experiments.bench.summary import SuiteSummary

KINDS = {
    "win": "Wins, significantly over data sets, against",
    "ahead": "Ahead on more sets than behind, not significantly over all, of",
    "level": "Level with",
    "behind": "Behind on more sets than ahead, not significantly over all,",
    "loss": "Loses, significantly over data sets, to",
}


@dataclass(frozen=True)
class Verdict:
    """Ours against one rival over all data sets of a suite.

    Attributes
    ----------
    rival : str
    wins, ties, losses : int
        Data sets, by the paired t-test over splits.
    p_value : float
        Wilcoxon's test over data sets, corrected by Holm.
    loss_ratio, time_ratio : float
        The rival's log-loss and fit time over ours, geometric means; NaN where it has none.
    """

    rival: str
    wins: int
    ties: int
    losses: int
    p_value: float
    loss_ratio: float
    time_ratio: float

    @property
    def outcome(self) -> str:
        """Of ours: "win" or "loss" by the test over data sets, else "ahead", "level" or "behind".

        With few data sets that test cannot be significant; then the sets won and lost are counted.
        """
        if self.p_value <= LEVEL:
            return "loss" if self.loss_ratio < 1 else "win"
        if self.wins == self.losses:
            return "level"
        return "ahead" if self.wins > self.losses else "behind"


def verdicts(summary: SuiteSummary) -> list[Verdict]:
    """A verdict on every rival, in the order of the methods."""
    tests = summary.wilcoxon(FIGURE)
    loss, time = summary.ratios(FIGURE), summary.ratios("fit_cpu_seconds")
    return [
        Verdict(
            name,
            *summary.counts(FIGURE, name),
            tests[name],
            float(loss[m]),
            float(time[m]),
        )
        for m, name in enumerate(summary.methods)
        if name != summary.ours
    ]


def short_answer(summary: SuiteSummary) -> str:
    """One line a suite: the rank, and how many rivals are beaten, level, better."""
    found = [verdict.outcome for verdict in verdicts(summary)]
    ranks = summary.mean_ranks(FIGURE)
    own = ranks[summary.methods.index(summary.ours)]
    place = int((ranks < own).sum()) + 1
    return (
        f"`{summary.ours}` has place {place} of {len(ranks)} by mean rank of the log-loss over "
        f"{_count(len(summary.data), 'data set')}. Of {_count(len(found), 'rival')} it is "
        f"significantly better than {found.count('win')} and ahead of {found.count('ahead')} more, "
        f"level with {found.count('level')}, behind {found.count('behind')} and significantly "
        f"worse than {found.count('loss')}."
    )


def reading(summary: SuiteSummary) -> list[str]:
    """Paragraphs: wins, ties, losses, sets on which another is better, and the cost."""
    found = verdicts(summary)
    return [
        *(
            f"**{title}**: " + _named([v for v in found if v.outcome == kind])
            for kind, title in KINDS.items()
        ),
        "**Sets on which another is better** (by 2 % of log-loss or more, and by the t-test): "
        + _better_elsewhere(summary),
        "**Sets on which ours is the best of all**: " + _best_sets(summary),
        "**Cost**: " + _cost(found),
    ]


def _named(chosen: list[Verdict]) -> str:
    if not chosen:
        return "none."
    parts = [
        f"{v.rival} (log-loss {_times(v.loss_ratio)} ours; {v.wins}/{v.ties}/{v.losses})"
        for v in sorted(chosen, key=lambda v: -v.loss_ratio if v.loss_ratio == v.loss_ratio else 0)
    ]
    return "; ".join(parts) + "."


def _better_elsewhere(summary: SuiteSummary) -> str:
    """For each set with a significantly and materially better rival, the best such rival."""
    means, own = summary.means(FIGURE), summary.methods.index(summary.ours)
    outcomes = summary.outcomes(FIGURE)
    parts = []
    for d, name in enumerate(summary.data):
        better = [
            m
            for m, method in enumerate(summary.methods)
            if m != own
            and outcomes[method][d] == "loss"
            and not means[d, m] > (1 - MATERIAL) * means[d, own]
        ]
        if better:
            best = min(better, key=lambda m: float(means[d, m]))
            parts.append(
                f"{name} ({summary.methods[best]} {means[d, best]:.3f}, ours {means[d, own]:.3f}"
                + (f"; {len(better)} methods)" if len(better) > 1 else ")")
            )
    if not parts:
        return "none."
    return f"{len(parts)} of {len(summary.data)}: " + "; ".join(parts) + "."


def _best_sets(summary: SuiteSummary) -> str:
    ranks, own = summary.ranks(FIGURE), summary.methods.index(summary.ours)
    names = [name for d, name in enumerate(summary.data) if ranks[d, own] == ranks[d].min()]
    if not names:
        return "none."
    return f"{len(names)} of {len(summary.data)}: " + ", ".join(names) + "."


def _cost(found: list[Verdict]) -> str:
    known = [v for v in found if np.isfinite(v.time_ratio)]
    slower = sorted((v for v in known if v.time_ratio > 1.25), key=lambda v: -v.time_ratio)
    faster = sorted((v for v in known if v.time_ratio < 0.8), key=lambda v: v.time_ratio)
    alike = [v for v in known if 0.8 <= v.time_ratio <= 1.25]
    cheap = [v for v in faster if v.outcome not in ("win", "ahead")]
    parts = []
    if slower:
        parts.append(
            "the whole tuned fit takes longer than ours with "
            + ", ".join(f"{v.rival} ({_times(v.time_ratio)})" for v in slower)
        )
    if alike:
        parts.append("about as long with " + ", ".join(v.rival for v in alike))
    if faster:
        parts.append(
            "less with " + ", ".join(f"{v.rival} ({_times(v.time_ratio)})" for v in faster)
        )
    text = "; ".join(parts) + "."
    if cheap:
        text += (
            " Cheaper and not behind ours in log-loss, so try first where time matters: "
            + ", ".join(v.rival for v in cheap)
            + "."
        )
    return text


def _times(value: float) -> str:
    if not np.isfinite(value):
        return "unknown times"
    return f"{value:.0f}×" if value >= 10 else f"{value:.2g}×" if value < 0.1 else f"{value:.2f}×"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
