"""Where a command speaks: results on stdout, progress on stderr, one JSON object if asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinlearn.tables.plain import finite

if TYPE_CHECKING:
    from rich.console import Console


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
        from rich.console import Console

        self.as_json = as_json
        # Texts are taken as they are: a column named [red] is not a colour.
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        self._out = Console(stderr=out_taken, **plain)
        self._progress = Console(stderr=True, **plain)

    def say(self, text: str = "") -> None:
        """Print a sentence for a person, taken as it is."""
        if not self.as_json:
            self._out.print(text)

    def bullets(self, sentences: Iterable[str]) -> None:
        """Print sentences, each behind a bullet."""
        for sentence in sentences:
            self.say(f"• {sentence}")

    def heading(self, text: str) -> None:
        """Print what comes next."""
        if not self.as_json:
            self._out.print()
            self._out.print(text, style="bold")

    def path(self, what: str, path: Path) -> None:
        """Print a path on a line of its own, never broken in two."""
        if not self.as_json:
            self._out.print(f"{what}: {path.resolve()}", soft_wrap=True)

    def table(self, header: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
        """Print a table of plain texts."""
        if self.as_json:
            return
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="dim")
        for i, name in enumerate(header):
            table.add_column(name, justify="right" if i in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        self._out.print(table)

    @contextmanager
    def working(self, what: str) -> Iterator[Stage]:
        """Show on stderr what is going on: a spinner on a terminal, a line elsewhere."""
        stage = Stage(self._progress)
        if not self._progress.is_terminal:
            stage(what)
            yield stage
            return
        from rich.text import Text

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
            from rich.text import Text

            self.status.update(Text(what))
        else:
            self._console.print(what)
