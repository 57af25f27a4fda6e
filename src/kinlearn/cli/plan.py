"""``kinlearn plan``: memory, processor hours and cores of a fit to many rows."""

from __future__ import annotations

from typing import Annotated

import typer

from kinlearn.cli.refusal import refusing


def plan(
    rows: Annotated[float, typer.Option(help="Rows, for example 1e9.")],
    features: Annotated[int, typer.Option(help="Features of a row.")],
    centers: Annotated[int, typer.Option(help="Centres of the model.")],
    classes: Annotated[int, typer.Option(help="Classes, or labels.")] = 2,
    tasks: Annotated[int, typer.Option(help="Tasks, with about as many rows each.")] = 1,
    passes: Annotated[
        int,
        typer.Option(help="Further passes of the polish, mostly 8 to 16; 0 for the closed form."),
    ] = 0,
    hours: Annotated[float, typer.Option(help="Hours within which it should be done.")] = 1.0,
) -> None:
    """Say what a fit to many rows takes: memory, time, cores.

    The formulas and how they compare with measurements are on the page "Planning for scale".
    """
    from kinlearn.planning import plan as make_plan

    with refusing():
        if not hours > 0:
            raise ValueError(f"--hours must be greater than 0, but {hours:g} was given.")
        found = make_plan(rows, features, centers, classes, tasks, passes=passes)
        cores = found.cores_within(3600 * hours)
    typer.echo(f"Sums                {size_text(found.sums_bytes)}, also what each machine sends")
    typer.echo(f"Memory              {size_text(found.memory_bytes)} a process, whatever the rows")
    typer.echo(f"Processor time      {time_text(3600 * found.hours)}")
    if passes:
        typer.echo(f"  of it {passes:<2} passes   {time_text(found.polish_seconds)}")
    typer.echo(f"  of it the solve   {time_text(found.solve_seconds)}, on one machine at the end")
    wanted = time_text(3600 * hours)
    if cores is None:
        typer.echo(f"Within {wanted:<13}no number of cores: the solve alone takes longer")
    else:
        typer.echo(f"Within {wanted:<13}{cores:,} cores")


def size_text(n_bytes: float) -> str:
    """Bytes for a reader.

    Examples
    --------
    >>> from kinlearn.cli.plan import size_text
    >>> size_text(16.1e6), size_text(2.5e9)
    ('16 MB', '2.5 GB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            value = n_bytes / size
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"


def time_text(seconds: float) -> str:
    """Seconds for a reader.

    Examples
    --------
    >>> from kinlearn.cli.plan import time_text
    >>> time_text(0.31), time_text(90), time_text(7200)
    ('0.3 s', '1.5 min', '2.0 h')
    """
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size or unit == "s":
            value = seconds / size
            return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    raise AssertionError("unreachable")
