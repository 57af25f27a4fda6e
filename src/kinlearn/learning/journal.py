"""What is to be learnt, on disk before it is acknowledged; in the file of the watch.

A label and what is to be learnt of it are one transaction: both are kept, or neither.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from kinlearn.watch.store import Store

_TABLES = """
CREATE TABLE IF NOT EXISTS learnt (seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, cells TEXT,
    label TEXT);
CREATE TABLE IF NOT EXISTS lines (name TEXT PRIMARY KEY, line TEXT, origin TEXT, epoch INTEGER);
CREATE TABLE IF NOT EXISTS forgotten (name TEXT, id TEXT, number INTEGER, UNIQUE (name, id));
"""


@dataclass(frozen=True)
class Line:
    """A model that learns: what its files are known by.

    Attributes
    ----------
    line : str
        Noted in each file that it writes.
    origin : str
        Checksum of the file that it began with.
    """

    line: str
    origin: str


@dataclass(frozen=True)
class Entry:
    """A row to learn from."""

    seq: int
    cells: dict[str, Any]
    label: str


class Journal:
    """What one model is to learn.

    Parameters
    ----------
    store : Store
        The file of the watch.
    name : str
        The model's name.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name = store, name
        with store.change() as base:
            for command in _TABLES.split(";"):
                base.execute(command)

    def line(self) -> Line | None:
        """What the model is known by; None before it learns."""
        with self.store.change() as base:
            found = base.execute(
                "SELECT line, origin FROM lines WHERE name = ?", (self.name,)
            ).fetchone()
        return None if found is None else Line(*found)

    def begin(self, origin: str) -> Line:
        """Begin anew with a file: what was to be learnt for another model is dropped."""
        line = Line(uuid4().hex, origin)
        with self.store.change() as base:
            base.execute("DELETE FROM learnt WHERE name = ?", (self.name,))
            base.execute("DELETE FROM forgotten WHERE name = ?", (self.name,))
            base.execute(
                "INSERT OR REPLACE INTO lines (name, line, origin, epoch) VALUES (?, ?, ?, 0)",
                (self.name, line.line, line.origin),
            )
        return line

    def write(
        self, base: sqlite3.Connection, cells: list[dict[str, Any]], labels: list[str]
    ) -> None:
        """Keep rows to learn from; inside a change."""
        base.executemany(
            "INSERT INTO learnt (name, cells, label) VALUES (?, ?, ?)",
            [
                (self.name, json.dumps(each), label)
                for each, label in zip(cells, labels, strict=True)
            ],
        )

    def after(self, seq: int) -> list[Entry]:
        """What is to be learnt beyond what a model knows."""
        with self.store.change() as base:
            found = base.execute(
                "SELECT seq, cells, label FROM learnt WHERE name = ? AND seq > ? ORDER BY seq",
                (self.name, seq),
            ).fetchall()
        return [Entry(number, json.loads(cells), label) for number, cells, label in found]

    def drop(self, seq: int | None = None) -> None:
        """Drop what a version on disk knows (up to `seq`), or all that is not yet learnt."""
        with self.store.change() as base:
            if seq is None:
                base.execute("DELETE FROM learnt WHERE name = ?", (self.name,))
            else:
                base.execute("DELETE FROM learnt WHERE name = ? AND seq <= ?", (self.name, seq))

    def forgotten(self) -> set[str]:
        """The ids of rows that were taken out again."""
        with self.store.change() as base:
            found = base.execute("SELECT id FROM forgotten WHERE name = ?", (self.name,)).fetchall()
        return {number for (number,) in found}

    def note_forgotten(self, ids: list[str], number: int) -> None:
        """Note that rows are being taken out, for the so-manieth time."""
        with self.store.change() as base:
            base.executemany(
                "INSERT OR REPLACE INTO forgotten (name, id, number) VALUES (?, ?, ?)",
                [(self.name, each, number) for each in ids],
            )

    def not_forgotten_after(self, number: int) -> None:
        """Drop the notes of what was begun and is in no file."""
        with self.store.change() as base:
            base.execute("DELETE FROM forgotten WHERE name = ? AND number > ?", (self.name, number))


def lines_in(path: Path) -> set[str]:
    """The models that learn whose journal is in a file of a watch."""
    base = sqlite3.connect(path)
    try:
        return {line for (line,) in base.execute("SELECT line FROM lines")}
    except sqlite3.DatabaseError:  # of a watch of models that do not learn, or no watch
        return set()
    finally:
        base.close()
