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
    """Tables to print and pictures to name, in order."""

    tables: list[Table] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)


class Part(Protocol):
    """A part: works, shows its progress on ``console`` and puts its pictures into ``out``."""

    def __call__(self, out: Path, console: Console, *, seed: int, quick: bool) -> PartResult:
        """Run the part; ``quick`` asks for a few seconds of work at most."""
        ...


def progress_bar(console: Console) -> Progress:
    """The progress bar of every part; it leaves no trace when the part is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
