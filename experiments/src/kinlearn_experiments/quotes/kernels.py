"""Figures of docs/which_kernel.md."""

from __future__ import annotations

from kinlearn_experiments.bench.data.tables import DATA
from kinlearn_experiments.bench.roles import HELD_OUT
from kinlearn_experiments.measures import unseen_tables
from kinlearn_experiments.measures.kernels import WAYS, ratios
from kinlearn_experiments.quotes.registry import quote
from kinlearn_experiments.quotes.stored import cells
from kinlearn_experiments.results import geometric_mean
from kinlearn_experiments.tables import table


@quote("kernels.sets")
def sets() -> str:
    """Sets of kernels by log-loss and time over the Gaussian alone."""
    stored = cells("kernels.json")
    kept = {data.name for data in DATA if data.role == HELD_OUT}
    rows = []
    for way in WAYS:
        found = ratios(stored, way)
        worst = max(found, key=found.__getitem__)
        better = sum(value < 0.99 for value in found.values())
        rows.append(
            [
                way,
                f"{geometric_mean(found.values()):.3f}",
                f"{geometric_mean(v for name, v in found.items() if name not in kept):.3f}",
                f"{geometric_mean(v for name, v in found.items() if name in kept):.3f}",
                f"{geometric_mean(v for name, v in found.items() if name != 'monk-2'):.3f}",
                f"{sorted(found.values())[len(found) // 2]:.3f}",
                f"{better} of {len(found)}",
                f"{found[worst]:.2f} ({worst})",
                f"{geometric_mean(ratios(stored, way, 'seconds').values()):.1f}",
            ]
        )
    header = [
        "kernels",
        "geometric mean",
        "sets to choose by",
        "held-out tables",
        "without monk-2",
        "median set",
        "better by 1 %",
        "worst set",
        "time",
    ]
    return table(header, rows)


@quote("kernels.unseen")
def unseen() -> str:
    """The default over the Gaussian alone on tables these were not chosen on."""
    stored = cells("unseen_tables.json")
    lines = [unseen_tables.line(stored, size) for size in unseen_tables.SIZES]
    return table(unseen_tables.header(), lines)
