"""Figures of the polish in docs/large.md, from ``polish.json``."""

from __future__ import annotations

from typing import Any

from kinlearn_experiments.measures.polish import slope
from kinlearn_experiments.quotes.registry import digits, quote, quotes
from kinlearn_experiments.quotes.stored import at, cells
from kinlearn_experiments.tables import table

NAMES = {"letter": "letter", "shuttle": "shuttle", "tmc2007": "tmc2007, 22 labels"}
NAMES |= {"fashion": "Fashion-MNIST", "magic": "magic", "adult": "Adult"}
OBJECTIVES = {"ours": "`KernelLogisticRegression.fit_stream`", "lbfgs": "`LogisticRegression`"}
OBJECTIVES |= {"saga": "… `solver='saga'`, 100 epochs", "sgd": "`SGDClassifier`, 100 epochs"}


def pairs() -> dict[tuple[str, int], dict[str, Any]]:
    """Cells of both methods, and of the closed form, by set and number of centres."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for key, cell in cells("polish.json", "").items():
        name, *rest = key.split("/")
        if len(rest) == 2 and name in NAMES:
            found.setdefault((name, int(rest[1])), {})[rest[0]] = cell
    order = list(NAMES)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


@quote("polish.compared")
def compared() -> str:
    lines = []
    for (name, m), own in pairs().items():
        if "polished" not in own:
            continue
        line = [NAMES[name], f"{m:,}"]
        for method in ("closed", "polished", "nystroem"):
            cell = own.get(method)
            line += ["", ""] if cell is None else [shown(cell["log_loss"]), seconds(cell)]
        lines.append(line)
    header = ["set", "centres", "closed form", "seconds", "polished", "seconds"]
    return table([*header, "Nystroem + logistic regression", "seconds"], lines)


def shown(loss: float) -> str:
    return f"{loss:.4f}" if loss < 0.05 else f"{loss:.3f}"


def seconds(cell: dict[str, Any]) -> str:
    return digits(cell["seconds"])


def both() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Ours and Nystroem's, wherever both were measured."""
    return [
        (own["polished"], own["nystroem"])
        for own in pairs().values()
        if {"polished", "nystroem"} <= set(own)
    ]


@quote("polish.ahead")
def ahead() -> str:
    found = both()
    better = sum(ours["log_loss"] < theirs["log_loss"] for ours, theirs in found)
    quicker = sum(ours["seconds"] < theirs["seconds"] for ours, theirs in found)
    return (
        f"At equal centres the polish has the lower log-loss in {better} of {len(found)} "
        "comparisons with logistic regression on Nystroem features (C = 100), and takes less time "
        f"in {quicker}."
    )


@quote("polish.trees")
def trees() -> str:
    parts = []
    for name, ours in (("letter", "tuned"), ("magic", "tuned"), ("adult", "train")):
        own = at("polish.json", "cells", f"{name}/{ours}")
        rival = at("polish.json", "cells", f"{name}/lightgbm")
        parts.append(f"{NAMES[name]} {own['log_loss']:.3f} beside {rival['log_loss']:.3f}")
    return "; ".join(parts)


@quote("polish.converged")
def converged() -> str:
    lines = [
        [
            OBJECTIVES[name],
            seconds(one),
            "0" if one["above_least"] == 0 else f"{one['above_least']:.0e}",
            f"{one['log_loss']:.4f}",
        ]
        for name, one in at("polish.json", "cells", "converged/magic").items()
        if name in OBJECTIVES
    ]
    return table(["", "seconds", "objective above the least", "log-loss of new rows"], lines)


def grown(what: str) -> str:
    return f"{slope(list(cells('polish.json', 'growth/').values()), what):.2f}"


quotes(
    "polish",
    slope=lambda: grown("seconds"),
    pass_slope=lambda: grown("pass"),
    memory=lambda: digits(
        at("polish.json", "cells", "memory/polished", "peak_mb")
        / at("polish.json", "cells", "memory/closed", "peak_mb"),
        3,
    ),
)
