"""Figures of docs/serving.md."""

from __future__ import annotations

from typing import Any

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
        [
            said,
            *(f"{expected(f'{kind}, {name}'):.4f}" for name in ("ours", "NannyML")),
            f"{no_worse(kind)} of {sets()}",
        ]
        for kind, said in KINDS.items()
    ]
    return table(["change", "kinlearn", "NannyML", "kinlearn no worse"], rows)


def no_worse(kind: str) -> int:
    """Sets on which the error of kinlearn is at most NannyML's."""
    gaps: dict[str, float] = {}
    for key, cell in cells("expected_accuracy.json").items():
        name = key.split("/")[0]
        gap = cell[f"{kind}, ours"] - cell[f"{kind}, NannyML"]
        gaps[name] = gaps.get(name, 0.0) + gap
    return sum(gap <= 0 for gap in gaps.values())


def sets() -> int:
    return len({key.split("/")[0] for key in cells("expected_accuracy.json")})


def served(cell: str, what: str) -> float:
    """One figure of the service under load."""
    return float(cells("serving.json")[cell][what])


def share(way: str) -> str:
    """Rows a second beside bare predict_proba, by processor time."""
    return f"{100 * served('batches', f'{way}, share of bare by processor time'):.0f} %"


def counts(cell: dict[str, Any], *what: str) -> str:
    return ", ".join(f"{cell[each]:,.0f}" for each in what)


def waits(*what: str) -> str:
    return ", ".join(f"{served('single rows', each):.1f} ms" for each in what)


@quote("serving.under_load")
def load_table() -> str:
    swaps, kills = cells("serving.json")["swaps"], cells("service_kills.json")["kills"]
    clients, bad = (cells("serving.json")[name] for name in ("clients at once", "malformed bodies"))
    long = cells("serving.json")["a long table"]
    refused = sum(n for said, n in bad["answered"].items() if said.startswith("4"))
    turns = (long[f"MB after the {turn}"] for turn in ("first", "second", "third"))
    rows = [
        ["1,000 rows as raw tensors: rows a second beside `predict_proba`", share("raw tensor")],
        ["the same as tensors of JSON", share("JSON tensor")],
        ["the same as JSON records, with decision and familiarity", share("records")],
        ["a single row, 100 a second: median wait, 99th percentile", waits("p50 ms", "p99 ms")],
        ["an address that computes nothing, the same way", waits("ping p50 ms", "ping p99 ms")],
        ["32 clients at once: requests, without an answer", counts(clients, "asked", "lost")],
        [
            f"{swaps['swaps']} swaps of the model: requests, failed, mixed of two models",
            counts(swaps, "requests", "failed", "mixed"),
        ],
        [
            f"`kill -9` {kills['kills']} times: labels acknowledged, in the sums",
            counts(kills, "labels acknowledged", "rows in the sums"),
        ],
        [
            "largest relative difference of these sums to one fit of all rows",
            f"{kills['largest difference of sums, relative']:.0e}",
        ],
        ["bodies made to do harm: sent, refused", f"{bad['bodies']:,}, {refused:,}"],
        [
            "memory (MB) before them, after half, after all",
            counts(bad, "MB before", "MB after 500", "MB after 1000"),
        ],
        [
            f"memory (MB) before tables of {long['rows']:,} rows, after one, two, three",
            ", ".join(f"{each:.0f}" for each in (long["MB before"], *turns)),
        ],
    ]
    return table(["what", "figure"], rows)


def drift(what: str) -> Any:
    """What was seen where nothing changes."""
    return cells("drift_alarms.json")["no change"][what]


def rows_of(windows: str) -> str:
    """Rows of so many windows."""
    return f"{at('drift_alarms.json', 'window') * at('drift_alarms.json', windows):,}"


quotes(
    "serving",
    centers=lambda: f"{at('serving.json', 'centers'):,}",
    load=lambda: f"{served('single rows', 'load average'):.0f}",
    streams=lambda: str(drift("runs")),
    raised=lambda: str(drift("raised")),
    raised_labels=lambda: str(drift("raised by labels")),
    drift_rows=lambda: rows_of("windows"),
    drift_window=lambda: str(at("drift_alarms.json", "window")),
    drift_training=lambda: str(at("drift_alarms.json", "training")),
    drift_after=lambda: rows_of("after"),
    drift_labels=lambda: f"{at('drift_alarms.json', 'labels'):,}",
    power_runs=lambda: str(at("drift_alarms.json", "power_runs")),
    sets=lambda: str(sets()),
    draws=lambda: str(at("expected_accuracy.json", "repeats")),
    rows=lambda: str(at("expected_accuracy.json", "rows")),
    inside=lambda: f"{100 * expected('inside the interval'):.0f} %",
)
