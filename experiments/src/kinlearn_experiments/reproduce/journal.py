"""Measurements that survive an interruption: a line of JSON for each, written at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinlearn_experiments.results import add_line, read_lines


class Journal:
    """A file of finished cells; a rerun goes on from there.

    Parameters
    ----------
    path : Path
        The file; a last line that was cut off by an interruption is ignored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kinlearn_experiments.reproduce.journal import Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Journal(Path(folder) / "toy.jsonl").add("a/0", 0.5)
    ...     Journal(Path(folder) / "toy.jsonl").found
    {'a/0': 0.5}
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {e["key"]: e["value"] for e in read_lines(path)}

    def add(self, key: str, value: Any) -> None:
        """Keep a cell."""
        self.found[key] = value
        add_line(self.path, {"key": key, "value": value})
