"""The watch's numbers in SQLite: sums, windows, alarms and feedback, shared by all workers.

Only sums are kept, unless rows are asked for. What was acknowledged is on disk: a process that is
killed loses at most the traffic of the last second.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from kinlearn.watch.feedback import added

WATCH_SUFFIX = ".watch.sqlite"
# Bounds on what is kept.
MOST_WINDOWS = 2000
MOST_ALARMS = 1000
MOST_IDS = 1_000_000
MOST_ROWS = 100_000
_BUSY_SECONDS = 30.0
_TABLES = """
CREATE TABLE IF NOT EXISTS sums (name TEXT, version TEXT, kind TEXT, content TEXT,
    PRIMARY KEY (name, version, kind));
CREATE TABLE IF NOT EXISTS windows (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
    version TEXT, k INTEGER, at REAL, content TEXT);
CREATE INDEX IF NOT EXISTS windows_of ON windows (name, version);
CREATE TABLE IF NOT EXISTS alarms (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
    version TEXT, at REAL, kind TEXT, place TEXT, sentence TEXT);
CREATE TABLE IF NOT EXISTS ids (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, id TEXT,
    UNIQUE (name, id));
CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
    version TEXT, id TEXT, at REAL, content TEXT, label TEXT);
CREATE INDEX IF NOT EXISTS rows_of ON rows (name, id);
"""


class Store:
    """A file of the watch, for one process.

    Parameters
    ----------
    path : path or ":memory:"
        The file, made when it is not there.
    """

    def __init__(self, path: Path | str = ":memory:") -> None:
        self._lock = RLock()
        self._base = sqlite3.connect(
            str(path), timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=FULL")
        self._base.execute("PRAGMA secure_delete=ON")
        self._base.executescript(_TABLES)

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._base.close()

    def scrub(self) -> None:
        """Leave no trace of what was deleted in the log that SQLite keeps beside the file."""
        with self._lock:
            self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on disk when it ends, or nothing."""
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._base.execute(query, values).fetchall()

    # -- sums -------------------------------------------------------------------------------------

    def add(self, name: str, version: str, kind: str, sums: dict[str, Any]) -> dict[str, Any]:
        """Add to the sums of a kind, and return them."""
        with self.change() as base:
            return _add(base, name, version, kind, sums)

    def sums(self, kind: str) -> dict[tuple[str, str], dict[str, Any]]:
        """The sums of a kind, by name and version of the model."""
        found = self._all("SELECT name, version, content FROM sums WHERE kind = ?", kind)
        return {(name, version): json.loads(content) for name, version, content in found}

    def sums_of(self, name: str, version: str) -> dict[str, dict[str, Any]]:
        """All sums of a model, by their kind."""
        found = self._all(
            "SELECT kind, content FROM sums WHERE name = ? AND version = ?", name, version
        )
        return {kind: json.loads(content) for kind, content in found}

    # -- windows ----------------------------------------------------------------------------------

    def put_window(
        self, name: str, version: str, closed: Callable[[int], dict[str, Any]]
    ) -> dict[str, Any]:
        """Keep a window and its alarms; `closed` says what it holds, given its number from 1."""
        with self.change() as base:
            [last] = base.execute(
                "SELECT COALESCE(MAX(k), 0) FROM windows WHERE name = ? AND version = ?",
                (name, version),
            ).fetchone()
            content = closed(int(last) + 1)
            base.execute(
                "INSERT INTO windows (name, version, k, at, content) VALUES (?, ?, ?, ?, ?)",
                (name, version, int(last) + 1, time.time(), json.dumps(content)),
            )
            for alarm in content["alarms"]:
                _alarm(base, name, version, alarm["kind"], alarm["column"], alarm["sentence"])
            base.execute(
                "DELETE FROM windows WHERE number <= (SELECT MAX(number) FROM windows) - ?",
                (MOST_WINDOWS,),
            )
        return content

    def windows(self, name: str, version: str, most: int = 200) -> list[dict[str, Any]]:
        """The last windows of a model, the oldest first."""
        found = self._all(
            "SELECT k, at, content FROM windows WHERE name = ? AND version = ? "
            "ORDER BY number DESC LIMIT ?",
            name, version, most,
        )  # fmt: skip
        return [{"k": k, "at": at, **json.loads(content)} for k, at, content in reversed(found)]

    def alarms(self, name: str, version: str, most: int = 50) -> list[dict[str, Any]]:
        """The last alarms of a model, the newest first."""
        found = self._all(
            "SELECT at, kind, place, sentence FROM alarms WHERE name = ? AND version = ? "
            "ORDER BY number DESC LIMIT ?",
            name, version, most,
        )  # fmt: skip
        keys = ("at", "kind", "column", "sentence")
        return [dict(zip(keys, row, strict=True)) for row in found]

    # -- feedback ---------------------------------------------------------------------------------

    def new_ids(self, base: sqlite3.Connection, name: str, ids: list[str | None]) -> list[bool]:
        """Which of these were not told before; to be called inside a change."""
        fresh = []
        for each in ids:
            if each is None:
                fresh.append(True)
                continue
            done = base.execute("INSERT OR IGNORE INTO ids (name, id) VALUES (?, ?)", (name, each))
            fresh.append(done.rowcount == 1)
        base.execute(
            "DELETE FROM ids WHERE number <= (SELECT MAX(number) FROM ids) - ?", (MOST_IDS,)
        )
        return fresh

    def add_within(
        self, base: sqlite3.Connection, name: str, version: str, kind: str, sums: dict[str, Any]
    ) -> dict[str, Any]:
        """As :meth:`add`, inside a change."""
        return _add(base, name, version, kind, sums)

    def alarm_within(
        self, base: sqlite3.Connection, name: str, version: str, kind: str, sentence: str
    ) -> None:
        """Keep an alarm of a kind that is raised once, inside a change."""
        known = base.execute(
            "SELECT 1 FROM alarms WHERE name = ? AND version = ? AND kind = ?",
            (name, version, kind),
        ).fetchone()
        if known is None:
            _alarm(base, name, version, kind, "", sentence)

    # -- rows, where they are asked for -----------------------------------------------------------

    def keep_rows(self, name: str, version: str, rows: list[tuple[str, str]]) -> None:
        """Keep rows with their ids, the newest ones."""
        now = time.time()
        with self.change() as base:
            base.executemany(
                "INSERT INTO rows (name, version, id, at, content) VALUES (?, ?, ?, ?, ?)",
                [(name, version, number, now, content) for number, content in rows],
            )
            base.execute(
                "DELETE FROM rows WHERE number <= (SELECT MAX(number) FROM rows) - ?", (MOST_ROWS,)
            )

    def kept_row(self, name: str, number: str) -> dict[str, Any] | None:
        """A row that was kept."""
        found = self._all("SELECT content FROM rows WHERE name = ? AND id = ?", name, number)
        return json.loads(found[0][0]) if found else None

    def forget_row(self, name: str, number: str) -> int:
        """Take a row out again; how many there were."""
        with self.change() as base:
            done = base.execute("DELETE FROM rows WHERE name = ? AND id = ?", (name, number))
            return done.rowcount


def _add(
    base: sqlite3.Connection, name: str, version: str, kind: str, sums: dict[str, Any]
) -> dict[str, Any]:
    key = (name, version, kind)
    found = base.execute(
        "SELECT content FROM sums WHERE name = ? AND version = ? AND kind = ?", key
    ).fetchone()
    total: dict[str, Any] = added(None if found is None else json.loads(found[0]), sums)
    base.execute(
        "INSERT OR REPLACE INTO sums (name, version, kind, content) VALUES (?, ?, ?, ?)",
        (*key, json.dumps(total)),
    )
    return total


def _alarm(
    base: sqlite3.Connection, name: str, version: str, kind: str, place: str, sentence: str
) -> None:
    base.execute(
        "INSERT INTO alarms (name, version, at, kind, place, sentence) VALUES (?, ?, ?, ?, ?, ?)",
        (name, version, time.time(), kind, place, sentence),
    )
    base.execute(
        "DELETE FROM alarms WHERE number <= (SELECT MAX(number) FROM alarms) - ?", (MOST_ALARMS,)
    )
