"""Figures of docs/large.md and docs/dask.md, from ``pcg.json`` and ``dask.json``."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.solvers.solver_choice import EXPONENTIAL
from kinlearn_experiments.measures import pcg
from kinlearn_experiments.quotes.registry import digits, extent, power, quote, quotes
from kinlearn_experiments.quotes.stored import QuoteError, at, cells
from kinlearn_experiments.tables import table

MANY = (5000, 10_000)  # centres at which the direct solver may not have been measured


def fits() -> dict[tuple[int, str], dict[str, Any]]:
    """Measured fits by (centres, solver), fewest centres first, the direct solver first of all."""
    found = {}
    for key, cell in cells("pcg.json", "fit/").items():
        _, size, solver = key.split("/")
        found[int(size), solver] = cell
    order = list(pcg.VARIANTS)
    return dict(sorted(found.items(), key=lambda item: (item[0][0], order.index(item[0][1]))))


def both(one: str, other: str, what: str) -> list[float]:
    """Ratios of one solver's figure to another's, wherever both were measured."""
    found = fits()
    ratios = [
        found[size, one][what] / found[size, other][what]
        for size, solver in found
        if solver == one and (size, other) in found
    ]
    if not ratios:
        raise QuoteError(f"pcg.json has no number of centres with both {one} and {other}.")
    return ratios


@quote("large.fits")
def fits_table() -> str:
    known = {f"fit/{size}/{solver}": cell for (size, solver), cell in fits().items()}
    return pcg.show(known)


@quote("large.steps")
def steps_table() -> str:
    rows = []
    for key, steps in cells("pcg.json", "steps/").items():
        _, n_rows, n_centers = key.split("/")
        rows.append([f"steps, {int(n_rows):,} rows, {int(n_centers):,} centres", *steps])
    return table(["reg", *(power(reg) for reg in pcg.REGS)], rows)


FEATURES, HELD_OUT = 784, 20_000  # of Fashion-MNIST; rows whose leave-one-out is computed


def operations(n: float, m: float) -> float:
    """Of the direct solver, as ``solver="auto"`` counts them."""
    features = n * m * (2 * FEATURES + EXPONENTIAL)
    return n * m**2 + 13 * m**3 + 2 * HELD_OUT * m**2 + 2 * features


@quote("large.direct")
def direct_sentence() -> str:
    """What is known of the direct solver at many centres: its time, or what it would take."""
    found = fits()
    least = min(size for size, solver in found if solver == "direct")
    unit = found[least, "direct"]
    rate = unit["processor_seconds"] / operations(unit["n_rows"], least)
    parts = []
    for size in MANY:
        if (size, "direct") not in found:
            would = rate * operations(unit["n_rows"], size)
            parts.append(f"about {digits(would)} at {size:,} centres")
    if not parts:
        return "The direct solver was measured at every number of centres above."
    return (
        f"Where the direct solver was not measured, its operations and its speed at {least:,} "
        f"centres give an estimate of its CPU seconds: {' and '.join(parts)}."
    )


@quote("large.beta")
def beta_gap() -> str:
    """By how much five folds make beta smaller than leave-one-out does."""
    gaps = [100 * (1 - ratio) for ratio in both("pcg", "direct", "beta")]
    return f"{extent(gaps, '{:.1f}'.format)} %"


def sizes_of(*solvers: str) -> str:
    shared = [
        size
        for size, solver in fits()
        if solver == solvers[0] and all((size, other) in fits() for other in solvers)
    ]
    return " and ".join(f"{size:,}" for size in shared)


quotes(
    "large",
    beta_centres=lambda: sizes_of("pcg", "direct"),
    single=lambda: extent(
        both("pcg-single-kept", "pcg-kept", "processor_seconds"), "{:.2f}".format
    ),
    kept=lambda: extent(both("pcg", "pcg-kept", "processor_seconds"), "{:.1f}".format),
    ahead=lambda: extent(both("direct", "pcg-single-kept", "processor_seconds"), "{:.1f}".format),
    remade=lambda: extent(both("pcg", "direct", "processor_seconds"), "{:.1f}".format),
)


@quote("dask.fits")
def dask_table() -> str:
    rows = []
    for key, cell in cells("dask.json", "fit/").items():
        _, n_rows, parts, m = key.split("/")
        seconds = cell["seconds"]
        rows.append(
            [
                f"{int(n_rows):,} rows, {int(parts)} partitions, {int(m):,} centres",
                *(
                    f"{np.median(seconds[k]):.0f} s"
                    for k in ("dask", "dask-threads", "one process")
                ),
                f"{cell['ratio']:.2f}",
                f"{cell['largest_difference']:.0e}",
            ]
        )
    header = ["fit", "workers", "Dask's threads", "one process", "workers / one process"]
    return table([*header, "largest difference of scores"], rows)


quotes(
    "dask",
    target=lambda: f"{next(iter(cells('dask.json').values()))['target']:g}",
    load=lambda: f"{at('dask.json', 'machine', 'load_average'):.1f}",
    cores=lambda: str(at("dask.json", "machine", "cores")),
)


@quote("dask.verdict")
def dask_verdict() -> str:
    """Where the aim was met, and where it was not."""
    found = cells("dask.json", "fit/")
    met = [key for key, cell in found.items() if cell["ratio"] <= cell["target"]]
    if len(met) == len(found):
        return "It was met in every row"
    return f"It was met in {len(met)} of {len(found)} rows"
