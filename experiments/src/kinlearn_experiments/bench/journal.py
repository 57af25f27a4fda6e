"""Finished cells on disk: kept one by one as they finish, whatever happens next.

While a run is going on, every finished cell is one line appended to ``cells.jsonl``. A run that
ends folds these into ``bench.json``; one that was killed leaves the lines, and the next run goes on
from both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from kinlearn_experiments.results import add_line, read_lines, write_json

RESULTS = "bench.json"
LINES = "cells.jsonl"


class Key(NamedTuple):
    """Which cell.

    Cells were kept with their size from the beginning, so that older files are read as well.
    """

    suite: str
    data: str
    method: str
    seed: int
    size: int


def key_of(cell: dict[str, Any]) -> Key:
    """The key of a stored cell."""
    return Key(cell["suite"], cell["data"], cell["method"], int(cell["seed"]), int(cell["size"]))


class Journal:
    """Cells of a folder.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    fresh : bool
        Whether to forget what the folder holds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kinlearn_experiments.bench.journal import Journal, Key
    >>> folder = Path(tempfile.mkdtemp())
    >>> cell = {"suite": "single", "data": "iris", "method": "LSPCCV", "seed": 0, "size": 300}
    >>> Journal(folder).add(cell)
    >>> Journal(folder).cells[Key("single", "iris", "LSPCCV", 0, 300)]["size"]
    300
    """

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self.folder = folder
        self.content: dict[str, Any] = {}
        self.cells: dict[Key, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            for name in (RESULTS, LINES):
                (folder / name).unlink(missing_ok=True)
        stored = folder / RESULTS
        if stored.exists():
            self.content = read_results(stored)
        for cell in (*self.content.pop("cells", ()), *read_lines(folder / LINES)):
            self.cells[key_of(cell)] = cell

    def add(self, cell: dict[str, Any]) -> None:
        """Keep a finished cell, for good."""
        add_line(self.folder / LINES, cell)
        self.cells[key_of(cell)] = cell

    def finish(self, **facts: Any) -> dict[str, Any]:
        """Write all cells and the facts beside them to one file, and drop the lines."""
        self.content.update(facts)
        content = self.content | {"cells": [self.cells[key] for key in sorted(self.cells)]}
        write_json(self.folder / RESULTS, content)
        (self.folder / LINES).unlink(missing_ok=True)
        return content


def read_results(path: Path) -> dict[str, Any]:
    """The content of a results file, or a sentence that says why it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path} is not a results file ({error.msg} in line {error.lineno}): give another "
            "folder, or start anew with --fresh."
        ) from error
    if not isinstance(content, dict) or "cells" not in content:
        raise ValueError(f"{path} holds no cells: give another folder, or start anew with --fresh.")
    return content
