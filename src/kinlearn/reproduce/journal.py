"""Measurements that survive an interruption: a line of JSON for each, written at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


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
    >>> from kinlearn.reproduce.journal import Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Journal(Path(folder) / "toy.jsonl").add("a/0", 0.5)
    ...     Journal(Path(folder) / "toy.jsonl").found
    {'a/0': 0.5}
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path.exists():
            content = path.read_text(encoding="utf-8")
            for line in content.splitlines():
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:
                    continue
                self.found[entry["key"]] = entry["value"]
            if content and not content.endswith("\n"):
                with path.open("a", encoding="utf-8") as stream:
                    stream.write("\n")

    def add(self, key: str, value: Any) -> None:
        """Keep a cell."""
        self.found[key] = value
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"key": key, "value": value}) + "\n")
