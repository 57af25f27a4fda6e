"""Finished cells on disk: kept one by one as they finish, whatever happens next.

While a run is going on, every finished cell is one line appended to ``cells.jsonl``. A run that
ends folds these into ``bench.json``; one that was killed leaves the lines, and the next run goes on
from both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = "bench.json"
LINES = "cells.jsonl"


class Key(NamedTuple):
    """Which cell."""

    suite: str
    data: str
    method: str
    seed: int


def key_of(cell: dict[str, Any]) -> Key:
    """The key of a stored cell."""
    return Key(cell["suite"], cell["data"], cell["method"], int(cell["seed"]))


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
    >>> from kinlearn.bench.journal import Journal, Key
    >>> folder = Path(tempfile.mkdtemp())
    >>> cell = {"suite": "single", "data": "iris", "method": "LSPCCV", "seed": 0, "status": "done"}
    >>> Journal(folder).add(cell)
    >>> Journal(folder).cells[Key("single", "iris", "LSPCCV", 0)]["status"]
    'done'
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
        for cell in (*self.content.pop("cells", ()), *_whole_lines(folder / LINES)):
            self.cells[key_of(cell)] = cell

    def add(self, cell: dict[str, Any]) -> None:
        """Keep a finished cell, for good: one write to the end of the file, then to the disk."""
        line = (json.dumps(cell, ensure_ascii=False) + "\n").encode()
        with open(self.folder / LINES, "ab", buffering=0) as file:
            file.write(line)
            os.fsync(file.fileno())
        self.cells[key_of(cell)] = cell

    def finish(self, **facts: Any) -> dict[str, Any]:
        """Write all cells and the facts beside them to one file, and drop the lines."""
        self.content.update(facts)
        content = self.content | {"cells": [self.cells[key] for key in sorted(self.cells)]}
        path = self.folder / RESULTS
        partial = path.with_suffix(".partial")
        partial.write_text(readable(content) + "\n", encoding="utf-8")
        partial.replace(path)
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


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Cells of the lines; a last one that was cut off by the end of its writer is dropped."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole, _, torn = content.rpartition(b"\n")
    if torn:
        os.truncate(path, len(content) - len(torn))
    for line in whole.splitlines():
        yield json.loads(line)


def readable(content: dict[str, Any]) -> str:
    """JSON with a line for every entry and cell, so that changes can be read."""
    return "{\n" + ",\n".join(_entries(content)) + "\n}"


def _entries(content: dict[str, Any]) -> Iterable[str]:
    for name, value in content.items():
        if isinstance(value, list) and value:
            lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            yield f"{json.dumps(name)}: [\n{lines}\n]"
        else:
            yield f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
