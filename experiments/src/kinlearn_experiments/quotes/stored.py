"""Committed results, read such that a look-up that finds nothing says what it looked for."""

from __future__ import annotations

import json
from typing import Any

from kinlearn_experiments.results import RESULTS, ROOT

REPRODUCTION = ROOT / "docs" / "reproduction"


class QuoteError(Exception):
    """A figure that cannot be quoted, in a sentence."""


class Stored(dict[str, Any]):
    """A dictionary of a results file that knows where it is."""

    def __init__(self, content: dict[str, Any], place: str) -> None:
        super().__init__(
            (key, wrapped(value, f"{place} > {key}")) for key, value in content.items()
        )
        self.place = place

    def __missing__(self, key: str) -> Any:
        near = ", ".join(list(self)[:6]) or "nothing"
        raise QuoteError(f"{self.place} has no entry {key!r}; it has {near}, ...")

    def starting(self, start: str) -> dict[str, Any]:
        """Entries whose key begins so; none is an error."""
        found = {key: value for key, value in self.items() if key.startswith(start)}
        if not found:
            raise QuoteError(f"{self.place} has no entry that begins with {start!r}.")
        return found


def wrapped(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return Stored(value, place)
    if isinstance(value, list):
        return [wrapped(entry, f"{place} > {i}") for i, entry in enumerate(value)]
    return value


_files: dict[str, Stored] = {}
read: list[str] = []  # names of the files read since this list was last emptied


def stored(name: str) -> Stored:
    """The content of a results file: ``klr.json``, or ``reproduction/landmine.json``."""
    read.append(name)
    if name not in _files:
        folder, file = RESULTS, name
        if name.startswith("reproduction/"):
            folder, file = REPRODUCTION, name.removeprefix("reproduction/")
        if not (folder / file).is_file():
            where = folder.relative_to(ROOT).as_posix()
            raise QuoteError(f"There is no results file {file} in {where}.")
        _files[name] = Stored(json.loads((folder / file).read_text("utf-8")), name)
    return _files[name]


def cells(name: str, start: str = "") -> dict[str, Any]:
    """The cells of a results file whose key begins with `start`."""
    found: Stored = stored(name)["cells"]
    return found.starting(start)


def at(name: str, *keys: str) -> Any:
    """The entry at the end of a path; numbers index lists."""
    value: Any = stored(name)
    for depth, key in enumerate(keys):
        if isinstance(value, list):
            if not key.isdigit() or int(key) >= len(value):
                where = " > ".join((name, *keys[:depth]))
                raise QuoteError(f"{where} is a list of {len(value)} and has no entry {key!r}.")
            value = value[int(key)]
        elif isinstance(value, Stored):
            value = value[key]
        else:
            where = " > ".join((name, *keys[:depth]))
            raise QuoteError(f"{where} is {value!r}, so that it has no entry {key!r}.")
    return value
