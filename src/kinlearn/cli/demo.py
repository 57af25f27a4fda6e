"""``kinlearn demo``: every part of the library at work on data that needs no download."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cli.refusal import refusing

TAKE_AWAY = (
    "1. A table needs three commands: train, predict, report. Open the report: conclusions first.",
    "2. What is unsure, or unlike the training rows, goes to a person, with a reason for each.",
    "3. Beside its rivals: judge by the tables above, and use another model where it is better.",
)


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the pictures; made if it does not exist.")
    ] = Path("demo-output"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits and the models.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer data sets, rows and splits: a few seconds.")
    ] = False,
) -> None:
    """Make a table, train, report and predict; then compare kinlearn with its rivals.

    The data are made up or ship with scikit-learn, so nothing is downloaded.
    """
    # Imported here so that --help and --version do not wait for what only the demo needs.
    from rich.console import Console

    from kinlearn.cli.demo_parts import PARTS
    from kinlearn.plots._style import require_matplotlib

    console = Console()
    started = time.perf_counter()
    with refusing():
        # Asked first, because the pictures come last.
        require_matplotlib("kinlearn demo")
        out.mkdir(parents=True, exist_ok=True)
        made: dict[str, Path] = {}
        for part in PARTS:
            result = part(out, console, seed=seed, quick=quick)
            for table in result.tables:
                console.print(table)
            for path in result.paths:
                # A path cut in two by a line break could not be copied.
                console.print(f"Picture: {path.resolve()}", soft_wrap=True, highlight=False)
            made.update(result.files)
        if made:
            console.print()
        for what, path in made.items():
            console.print(f"{what}: {path.resolve()}", soft_wrap=True, highlight=False)
        console.print()
        for line in TAKE_AWAY:
            console.print(line, highlight=False)
    console.print(f"Done in {time.perf_counter() - started:.1f} s.")
