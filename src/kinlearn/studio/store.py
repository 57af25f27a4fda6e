"""One SQLite file with all that people said, on disk before it is acknowledged.

Events are only ever added: an undo is an event, too. So a process may be killed at any moment; what
was acknowledged is there, and what was not is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from kinlearn.cells.refusals import TableError
from kinlearn.studio.events import Event

FORMAT = 1
SUFFIX = ".labels.db"
_APPLICATION = 0x6B696E6C  # "kinl", in the file's header
_COLUMNS = "kind, who, row, value, note, how, digest, of, id, time"
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL,
    row INTEGER NOT NULL, value TEXT NOT NULL, note TEXT NOT NULL, how TEXT NOT NULL,
    digest TEXT NOT NULL, of INTEGER NOT NULL
) STRICT;
"""


# What is always noted, and as what.
_NOTED: dict[str, Any] = {
    "table": str,
    "sha256": str,
    "n_rows": int,
    "delimiter": str | None,
    "encoding": str | None,
    "target": str,
    "classes": list,
}


def beside(table: Path) -> Path:
    """Where the labels of a table are kept.

    Examples
    --------
    >>> beside(Path("data/clinic.csv")).name
    'clinic.labels.db'
    """
    return table.with_name(table.stem + SUFFIX)


class LabelStore:
    """The file of labels.

    Parameters
    ----------
    path : Path
        The file; :meth:`open` and :meth:`create` check it.
    alone : bool, default=True
        Whether no other process may have it open to write.
    """

    def __init__(self, path: Path, alone: bool = True) -> None:
        self.path = path
        self._writing = Lock()
        self._guard = _hold(path) if alone else None
        self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._base.execute("PRAGMA busy_timeout = 5000")

    @classmethod
    def create(cls, path: Path, facts: dict[str, Any]) -> LabelStore:
        """Begin a file, with what is known of its table."""
        # Another name first: a file that is there is whole.
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        with suppress(FileNotFoundError):
            fresh.unlink()
        base = sqlite3.connect(fresh, isolation_level=None)
        try:
            base.executescript(
                f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {FORMAT};{_TABLES}"
            )
            base.executemany(
                "INSERT INTO facts VALUES (?, ?)",
                [(name, json.dumps(value)) for name, value in facts.items()],
            )
        finally:
            base.close()
        fresh.replace(path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, alone: bool = True) -> LabelStore:
        """Open a file that is there, or say in a sentence why it cannot be used."""
        if not path.is_file():
            raise TableError(f"There is no file of labels {path}: kinlearn label makes one.")
        store = cls(path, alone)
        try:
            store._check()
            store._base.execute("PRAGMA journal_mode = WAL")
            store._base.execute("PRAGMA synchronous = FULL")
        except sqlite3.DatabaseError as error:
            store.close()
            raise store._damaged(str(error)) from None
        except TableError:
            store.close()
            raise
        return store

    def _check(self) -> None:
        found = self._base.execute("PRAGMA application_id").fetchone()[0]
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if found != _APPLICATION:
            raise self._damaged("it is another program's")
        if version > FORMAT:
            raise TableError(
                f"{self.path} was written by a newer kinlearn (format {version}, this one knows "
                f"{FORMAT}): update kinlearn."
            )
        said = self._base.execute("PRAGMA quick_check(1)").fetchone()[0]
        if said != "ok":
            raise self._damaged(str(said).replace("\n", " "))
        for table in ("facts", "events"):
            self._base.execute(f"SELECT COUNT(*) FROM {table}")
        try:
            whole = _are_whole(self.facts)
        except ValueError:
            whole = False
        if not whole:
            raise self._damaged("what it notes of its table is not whole")

    def _damaged(self, how: str) -> TableError:
        return TableError(
            f"{self.path} is damaged, or no file of labels ({how}). Nothing was changed in it: put "
            "a copy of it back, or move it away to begin anew."
        )

    def append(self, event: Event) -> Event:
        """Put an event on disk and return it with its number and time; it holds from then on."""
        return self.append_all([event])[0]

    def append_all(self, events: Sequence[Event]) -> list[Event]:
        """Put several events on disk, all or none."""
        with self._writing:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._base.execute("BEGIN IMMEDIATE")
            try:
                last = self._base.execute("SELECT COALESCE(MAX(id), 0) FROM events").fetchone()[0]
                made = [replace(event, id=last + 1 + k, time=now) for k, event in enumerate(events)]
                self._base.executemany(
                    f"INSERT INTO events ({_COLUMNS}) VALUES ({', '.join('?' * 10)})",
                    [astuple(event) for event in made],
                )
                self._base.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._base.execute("ROLLBACK")
                raise
        return made

    def events(self) -> list[Event]:
        """All events, in order."""
        with self._writing:
            rows = self._base.execute(f"SELECT {_COLUMNS} FROM events ORDER BY id").fetchall()
        return [Event(*row) for row in rows]

    @property
    def facts(self) -> dict[str, Any]:
        """What is noted of the table and the question."""
        with self._writing:
            rows = self._base.execute("SELECT name, value FROM facts").fetchall()
        return {name: json.loads(value) for name, value in rows}

    def note_facts(self, **facts: Any) -> None:
        """Replace facts."""
        with self._writing:
            self._base.execute("BEGIN IMMEDIATE")
            self._base.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)",
                [(name, json.dumps(value)) for name, value in facts.items()],
            )
            self._base.execute("COMMIT")

    def close(self) -> None:
        """Close the file; nothing is lost if this never happens."""
        with self._writing:
            self._base.close()
        if self._guard is not None:
            os.close(self._guard)
            self._guard = None


def _are_whole(facts: dict[str, Any]) -> bool:
    """Whether all that must be noted of a table is there."""
    noted = all(name in facts and isinstance(facts[name], kind) for name, kind in _NOTED.items())
    wishes = facts.get("wishes", {})
    if not noted or not isinstance(wishes, dict) or not wishes.keys() <= {"goal", "max_error"}:
        return False
    shares = all(isinstance(share, (int, float)) and 0 < share < 1 for share in wishes.values())
    return shares and all(isinstance(name, str) for name in facts["classes"])


def _hold(path: Path) -> int | None:
    """Keep other studios out for as long as this process lives, whatever ends it."""
    try:
        import fcntl
    except ImportError:  # this system has no such locks
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise TableError(
            f"{path} is open in another kinlearn label: use its page, or end it first. Two people "
            "share one with --who anna,ben."
        ) from None
    return handle
