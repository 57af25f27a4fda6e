"""What all benchmarks share: tables, geometric means, and results that survive an interruption."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


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
            self.content = json.loads(path.read_text())

    @property
    def cells(self) -> dict[str, Any]:
        return self.content["cells"]

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
        partial = self.path.with_suffix(".partial")
        partial.write_text(lines_of(self.content) + "\n")
        partial.replace(self.path)


def lines_of(content: Any, depth: int = 2) -> str:
    """Return JSON with a line for each entry of the outer levels, so that changes can be read."""
    if depth == 0 or not isinstance(content, (dict, list)) or not content:
        return json.dumps(content, sort_keys=True, ensure_ascii=False)
    if isinstance(content, list):
        return "[\n" + ",\n".join(lines_of(entry, 0) for entry in content) + "\n]"
    entries = (
        f"{json.dumps(key, ensure_ascii=False)}: {lines_of(value, depth - 1)}"
        for key, value in content.items()
    )
    return "{\n" + ",\n".join(entries) + "\n}"


def significant(value: Any, digits: int = 5) -> Any:
    """Round to so many digits, for files a person can read."""
    return float(f"{float(value):.{digits}g}")


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(values)))))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table, which reads well in a terminal too."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join(
        "-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join([line(cells[0]), rule + "|", *(line(row) for row in cells[1:])])
