"""The page of measured choices, made from the figures of ``results/selection.json`` alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn_experiments.results import geometric_mean
from kinlearn_experiments.tables import table

Cell = dict[str, dict[str, list[float]]]
SMALLEST_ERROR = 1e-3  # an error of zero has no ratio


def cells_of(content: dict[str, Any], part: str) -> dict[int, dict[str, Cell]]:
    """Return the cells of one part, by size and data set."""
    found: dict[int, dict[str, Cell]] = {}
    for key, cell in content["cells"].items():
        name, data_set, size = key.split("/")
        if name == part:
            found.setdefault(int(size), {})[data_set] = cell
    return dict(sorted(found.items()))


def mean(cell: Cell, option: str, what: str) -> float:
    return float(np.mean(cell[option][what]))


def ratio(cell: Cell, option: str, reference: str, what: str) -> float:
    """Ratio of the means over splits."""
    least = SMALLEST_ERROR if what == "error" else 0.0
    return max(mean(cell, option, what), least) / max(mean(cell, reference, what), least)


def ratio_error(cell: Cell, option: str, reference: str, what: str) -> float:
    """Standard error of that ratio, from the differences on each split."""
    a, b = np.array(cell[option][what]), np.array(cell[reference][what])
    if a.size < 2:
        return float("nan")
    return float(np.std(a - a.mean() / b.mean() * b, ddof=1) / np.sqrt(a.size) / b.mean())


def overall(cells: dict[str, Cell], option: str, reference: str, what: str) -> float:
    """Geometric mean of the ratios over data sets."""
    return geometric_mean(ratio(cell, option, reference, what) for cell in cells.values())


def ratios_table(cells: dict[str, Cell], reference: str, what: str = "log_loss") -> str:
    """One row a data set: the reference's value, and the others' ratios to it with their errors."""
    options = [option for option in next(iter(cells.values())) if option != reference]
    rows = []
    for data_set, cell in cells.items():
        others = [
            f"{ratio(cell, option, reference, what):.3f}"
            f" ± {ratio_error(cell, option, reference, what):.3f}"
            for option in options
        ]
        rows.append([data_set, f"{mean(cell, reference, what):.4f}", *others])
    rows.append(
        [
            "**geometric mean**",
            "",
            *(f"**{overall(cells, option, reference, what):.3f}**" for option in options),
        ]
    )
    return table(["data set", reference, *options], rows)


def errors_table(by_size: dict[int, dict[str, Cell]], reference: str, size_name: str) -> str:
    """Geometric means of log-loss and error ratios, one row an option and size."""
    rows = []
    for size, cells in by_size.items():
        for option in next(iter(cells.values())):
            ratios = [ratio(cell, option, reference, "log_loss") for cell in cells.values()]
            seconds = geometric_mean(
                np.median(cell[option]["seconds"]) / np.median(cell[reference]["seconds"])
                for cell in cells.values()
            )
            rows.append(
                [
                    option,
                    size,
                    len(cells),
                    f"{geometric_mean(ratios):.3f}",
                    f"{max(ratios):.3f}",
                    f"{overall(cells, option, reference, 'error'):.3f}",
                    f"{seconds:.2f}",
                ]
            )
    header = ["", size_name, "sets", "log-loss ratio", "the worst set", "error ratio", "time ratio"]
    return table(header, rows)


def section(by_size: dict[int, dict[str, Cell]], reference: str, size_name: str) -> str:
    """The overall table, and the details of every size."""
    parts = [errors_table(by_size, reference, size_name)]
    for size, cells in by_size.items():
        seeds = len(next(iter(next(iter(cells.values())).values()))["log_loss"])
        parts.append(
            f"Test log-loss at {size_name} = {size}, mean of {seeds} splits; ratios to "
            f"`{reference}` with their standard errors:"
        )
        parts.append(ratios_table(cells, reference))
    return "\n\n".join(parts)


def auto_table(by_size: dict[int, dict[str, Cell]]) -> str:
    """Log-loss, error and time for each number of centres."""
    rows = [
        [
            data_set,
            size,
            option,
            f"{mean(cell, option, 'log_loss'):.4f}",
            f"{mean(cell, option, 'error'):.4f}",
            f"{mean(cell, option, 'seconds'):.1f}",
        ]
        for size, cells in by_size.items()
        for data_set, cell in cells.items()
        for option in cell
    ]
    return table(["data set", "rows", "centres", "log-loss", "error", "seconds"], rows)


PAGE = """# Measured choices

Made by `python -m kinlearn_experiments.measures.selection` from
`experiments/results/selection.json`; to change a figure, measure again. Data sets are those of
scikit-learn and those under `KINLEARN_DATA`, standardised by their training rows; a set takes part
at a size when two thirds of its rows reach it. Test rows: up to 2000. All ratios are to the option
named in the heading; smaller is better.

## By what to select one grid point: `scoring`

`LSPCCV(combine="best", scoring=...)`, ratios to `"squared_error"`, the default. Measured when
default grids still widened for a gain of a tenth of a percent (now one percent), on a busy
machine: the time ratios are rough.

{scoring}

## What to make of the whole grid: `combine`

`LSPCCV(combine=...)`, ratios to `"best"`, the best grid point alone. The default is `"stack"`. The
splits are none of those the rules were developed on. With 60 rows there is little to learn weights
from, and `"within_se"` is the steadier choice; with 300 stacking is ahead almost everywhere.

{combine}

## How to choose a subset of centres: `center_selection`

`LSPCCV(n_centers=m)` on 4000 rows, ratios to `"random"`. The default is `"kmeans++"`.

{centers}

## How many centres: `n_centers="auto"`

`LSPCCV(n_centers=m)` on larger training sets, one split each, seconds of one core.

{auto}
"""


def page(content: dict[str, Any]) -> str:
    """Return the Markdown page; a part not measured yet says so."""
    missing = "Not measured yet."
    found = {part: cells_of(content, part) for part in ("scoring", "combine", "centers", "auto")}
    return PAGE.format(
        scoring=section(found["scoring"], "squared_error", "n") if found["scoring"] else missing,
        combine=section(found["combine"], "best", "n") if found["combine"] else missing,
        centers=section(found["centers"], "random", "centres") if found["centers"] else missing,
        auto=auto_table(found["auto"]) if found["auto"] else missing,
    )
