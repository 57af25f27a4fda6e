"""Where a command speaks: results on stdout, progress on stderr, one JSON object if asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kinlearn.report.plain import finite


class Terminal:
    """The two streams of a command.

    Parameters
    ----------
    as_json : bool
        Whether stdout is for one JSON object alone.
    out_taken : bool
        Whether stdout is for a table, so that what is said goes to stderr.
    """

    def __init__(self, as_json: bool = False, out_taken: bool = False) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False, stderr=out_taken)
        self._progress = Console(stderr=True, highlight=False)

    def say(self, text: str = "") -> None:
        """Print a sentence for a person, taken as it is."""
        if not self.as_json:
            # Text, because a column named [red] is not a colour.
            self._out.print(Text(text))

    def bullets(self, sentences: Iterable[str]) -> None:
        """Print sentences, each behind a bullet."""
        for sentence in sentences:
            self.say(f"• {sentence}")

    def heading(self, text: str) -> None:
        """Print what comes next."""
        if not self.as_json:
            self._out.print()
            self._out.print(Text(text, style="bold"))

    def path(self, what: str, path: Path) -> None:
        """Print a path on a line of its own, never broken in two."""
        if not self.as_json:
            self._out.print(Text(f"{what}: {path.resolve()}"), soft_wrap=True)

    def table(self, header: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
        """Print a table of plain texts."""
        if self.as_json:
            return
        table = Table(box=None, pad_edge=False, header_style="dim")
        for i, name in enumerate(header):
            table.add_column(name, justify="right" if i in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self._out.print(table)

    @contextmanager
    def working(self, what: str) -> Iterator[Stage]:
        """Show on stderr what is going on: a spinner on a terminal, a line elsewhere."""
        stage = Stage(self._progress)
        if not self._progress.is_terminal:
            stage(what)
            yield stage
            return
        with self._progress.status(Text(what)) as status:
            stage.status = status
            yield stage

    def result(self, content: dict[str, Any]) -> None:
        """Print the JSON object, if one was asked for."""
        if self.as_json:
            print(json.dumps(finite(content), ensure_ascii=False, allow_nan=False))


class Stage:
    """Says what is worked on now."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.status: Any = None

    def __call__(self, what: str) -> None:
        if self.status is not None:
            self.status.update(Text(what))
        else:
            self._console.print(Text(what))
