"""Progress of ``kinlearn bench``: what is measured now, how much is done, how long it may take."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from kinlearn_experiments.bench.journal import Key
from kinlearn_experiments.commands.progress import cell_bar


class CellProgress:
    """A bar with the time left on a terminal, a line a data set elsewhere.

    Called with a key and None when a cell begins, and with the cell when it is known; cells that
    were known before do not count towards the speed.

    Examples
    --------
    >>> from rich.console import Console
    >>> from kinlearn_experiments.bench.journal import Key
    >>> from kinlearn_experiments.commands.bench_progress import CellProgress
    >>> key = Key("single", "iris", "LSPCCV", 0, 300)
    >>> with CellProgress(Console(), total=1) as progress:
    ...     progress(key, None)
    ...     progress(key, {"status": "done"})
    single, iris, split 0, size 300
    """

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        # Cells differ a lot: the speed is that of the whole run.
        self._bar = cell_bar(console, speed_estimate_period=24 * 3600.0)
        self._task = self._bar.add_task("", total=total)
        self._measuring = False
        self._group: tuple[str, str, int, int] | None = None

    def __enter__(self) -> CellProgress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def __call__(self, key: Key, cell: dict[str, Any] | None) -> None:
        """Show that a cell has begun (None) or is known."""
        if cell is None:
            self._measuring = True
            self._bar.update(self._task, description=f"{key.data}: {key.method}")
            group = (key.suite, key.data, key.seed, key.size)
            if group != self._group and not self._console.is_terminal:
                self._console.print(
                    f"{key.suite}, {key.data}, split {key.seed}, size {key.size}", highlight=False
                )
            self._group = group
            return
        if not self._measuring:
            # Known before: neither work done nor work to do.
            task = self._bar.tasks[0]
            self._bar.update(self._task, total=(task.total or 1) - 1)
            return
        self._measuring = False
        self._bar.advance(self._task)
        if cell["status"] != "done":
            self._console.print(
                f"{key.suite}, {key.data}, {key.method}, split {key.seed}: {cell['reason']}",
                highlight=False,
            )
