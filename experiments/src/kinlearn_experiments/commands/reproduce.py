"""``kinlearn reproduce``: an experiment of the papers, our figures beside the published ones."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

LINE_EVERY = 20.0  # seconds between lines of progress where no bar can be shown


class Protocol(StrEnum):
    """Whose rules an experiment follows."""

    paper = "paper"
    ours = "ours"
    both = "both"


def add(app: typer.Typer) -> None:
    """Add the command to the command line of kinlearn."""
    app.command(epilog="Example: kinlearn reproduce landmine --quick --out reproduction")(reproduce)


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which experiment; see --list.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Name the experiments and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats: under two minutes.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of repeats; the paper's if left out.")
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(help="The paper's grids, folds and scores, kinlearn's defaults, or both."),
    ] = Protocol.both,
    out: Annotated[Path, typer.Option(help="Folder for NAME.md, NAME.json and pictures.")] = Path(
        "reproduction"
    ),
    pairs: Annotated[
        str | None,
        typer.Option(help="For umist: pairs of people that are the tasks, as 2-3,4-6."),
    ] = None,
) -> None:
    """Run an experiment of the papers and write our figures beside the published ones.

    A run that is stopped goes on where it was when started again with the same --out. Real data are
    read from the folder that KINLEARN_DATA names.
    """
    # Imported here because the command line, when it is imported, loads this module.
    from rich.console import Console

    from kinlearn.cli.refusal import refusing
    from kinlearn_experiments.reproduce import NAMES, get_experiment
    from kinlearn_experiments.reproduce.experiment import PROTOCOLS

    console = Console()
    with refusing():
        if list_:
            for known in NAMES:
                experiment = get_experiment(known)
                console.print(f"{known:<16}{experiment.source}", highlight=False, soft_wrap=True)
            return
        if name is None:
            raise ValueError("Name an experiment, or use --list to see them.")
        from kinlearn.plots._style import require_matplotlib
        from kinlearn_experiments.reproduce.markdown import verdicts
        from kinlearn_experiments.reproduce.runner import run

        experiment = get_experiment(name)
        require_matplotlib("kinlearn reproduce")
        if pairs is not None and name != "umist":
            raise ValueError(f"--pairs is for umist only, not for {name}.")
        options = experiment.options(
            seeds,
            quick,
            protocols=PROTOCOLS if protocol is Protocol.both else (protocol.value,),
            pairs=None if pairs is None else parse_pairs(pairs),
        )
        with CellProgress(console) as progress:
            path, page = run(experiment, options, out, progress.report)
        for finding in page.findings:
            verdict = verdicts(options)[0 if finding.holds else 1]
            console.print(f"{verdict}: {finding.claim} ({finding.figures})", highlight=False)
        console.print(f"Page: {path.resolve()}", soft_wrap=True, highlight=False)


def parse_pairs(text: str) -> tuple[tuple[int, int], ...]:
    """Return pairs of numbers from ``2-3,4-6``.

    Examples
    --------
    >>> from kinlearn_experiments.commands.reproduce import parse_pairs
    >>> parse_pairs("2-3,4-6")
    ((2, 3), (4, 6))
    """
    found = []
    for part in text.split(","):
        numbers = part.strip().split("-")
        if len(numbers) != 2 or not all(number.strip().isdigit() for number in numbers):
            raise ValueError(
                f"--pairs must look like 2-3,4-6 with numbers of people, but {part!r} is in it."
            )
        found.append((int(numbers[0]), int(numbers[1])))
    return tuple(found)


class CellProgress:
    """A bar with the time left on a terminal; now and then a line elsewhere."""

    def __init__(self, console: Console) -> None:
        from kinlearn_experiments.commands.progress import cell_bar

        self._console = console
        self._bar = cell_bar(console)
        self._task = self._bar.add_task("", total=None)
        self._started: tuple[float, int] | None = None
        self._spoken = 0.0

    def __enter__(self) -> CellProgress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def report(self, done: int, total: int, key: str) -> None:
        """Say how far it is."""
        now = time.monotonic()
        if self._started is None:
            self._started = (now, done)
        self._bar.update(self._task, completed=done, total=total, description=key)
        if self._console.is_terminal or (now - self._spoken < LINE_EVERY and key):
            return
        self._spoken = now
        since, before = self._started
        left = ""
        if key and done > before:
            seconds = (now - since) / (done - before) * (total - done)
            left = f", about {seconds / 60:.0f} min left"
        self._console.print(f"{done} of {total} cells{left}", highlight=False)
