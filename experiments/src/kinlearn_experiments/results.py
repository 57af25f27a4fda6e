"""Results on disk: files of cells that survive an interruption, and numbers a person can read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[2]  # in a checkout, the folder of this distribution
ROOT = HERE.parent
RESULTS = HERE / "results" if (HERE / "pyproject.toml").is_file() else Path("results")


class Results:
    """A JSON file of cells, each measured once and written at once; a rerun goes on from there.

    Parameters
    ----------
    path : Path
        The file.
    fresh : bool
        Whether to forget what it holds.
    """

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.content: dict[str, Any] = {"cells": {}}
        if path.exists() and not fresh:
            self.content = json.loads(path.read_text(encoding="utf-8"))

    @property
    def cells(self) -> dict[str, Any]:
        """What was measured, by the parts of its key with strokes between them."""
        found: dict[str, Any] = self.content["cells"]
        return found

    def cell(self, key: Sequence[object], measure: Callable[[], Any]) -> Any:
        """Return the cell of that key, measuring it if it is missing."""
        name = "/".join(str(part) for part in key)
        if name not in self.cells:
            self.cells[name] = measure()
            self.save()
        return self.cells[name]

    def save(self, **facts: Any) -> None:
        """Write everything, with further facts beside the cells."""
        self.content.update(facts)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.path, self.content)


def write_json(path: Path, content: Any) -> None:
    """Write a file that is always whole: a reader finds the old content or the new one."""
    partial = path.with_suffix(".partial")
    partial.write_text(readable(content) + "\n", encoding="utf-8")
    partial.replace(path)


def readable(content: Any, depth: int = 2) -> str:
    """Return JSON with a line for each entry of the outer levels, so that changes can be read.

    Examples
    --------
    >>> from kinlearn_experiments.results import readable
    >>> print(readable({"seeds": 2, "cells": [{"loss": 0.1}, {"loss": 0.2}]}))
    {
    "seeds": 2,
    "cells": [
    {"loss": 0.1},
    {"loss": 0.2}
    ]
    }
    """
    if depth == 0 or not isinstance(content, (dict, list)) or not content:
        return json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        return "[\n" + ",\n".join(readable(entry, 0) for entry in content) + "\n]"
    entries = (
        f"{json.dumps(key, ensure_ascii=False)}: {readable(value, depth - 1)}"
        for key, value in content.items()
    )
    return "{\n" + ",\n".join(entries) + "\n}"


def read_lines(path: Path) -> Iterator[Any]:
    """Yield the entry of every line; a last one that was cut off by the end of its writer goes."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole, _, torn = content.rpartition(b"\n")
    if torn:
        os.truncate(path, len(content) - len(torn))
    for line in whole.splitlines():
        yield json.loads(line)


def add_line(path: Path, entry: Any) -> None:
    """Keep an entry for good: one write to the end of the file, then to the disk."""
    with open(path, "ab", buffering=0) as file:
        file.write((json.dumps(entry, ensure_ascii=False) + "\n").encode())
        os.fsync(file.fileno())


def significant(value: Any, digits: int = 5) -> float:
    """Round to so many digits, for files a person can read."""
    return float(f"{float(value):.{digits}g}")


def finite(value: float, digits: int = 4) -> float | None:
    """So many digits, or None for what JSON does not have."""
    return significant(value, digits) if np.isfinite(value) else None


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(values)))))
