"""What a part of the demo takes and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table


@dataclass(frozen=True)
class PartResult:
    """Tables to print, pictures to name, and other files by what they are; in order."""

    tables: list[Table] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    files: dict[str, Path] = field(default_factory=dict)


class Part(Protocol):
    """A part: works, shows its progress on ``console`` and puts its pictures into ``out``."""

    def __call__(self, out: Path, console: Console, *, seed: int, quick: bool) -> PartResult:
        """Run the part; ``quick`` asks for a few seconds of work at most."""
        ...


class Steps:
    """Progress of a part: a bar on a terminal, a line per stage where no bar can be shown.

    Examples
    --------
    >>> from rich.console import Console
    >>> with Steps(Console(), total=2) as steps:
    ...     steps.stage("LSPC on wine")
    ...     steps.advance(2)
    LSPC on wine
    """

    def __init__(self, console: Console, *, total: int) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Steps:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._console.is_terminal:  # a bar never shown would leave an empty line
            self._bar.stop()

    def stage(self, description: str) -> None:
        """Say what is being worked on now."""
        self._bar.update(self._task, description=description)
        if not self._console.is_terminal:
            self._console.print(description, highlight=False)

    def advance(self, n_steps: int = 1) -> None:
        """Count steps as done."""
        self._bar.advance(self._task, n_steps)
