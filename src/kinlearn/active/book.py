"""The book of labels: what was told of which row, and how to take it back.

Events are the only state. An event changes labels or skipped rows, and knows what was there before
it, so that undoing is exact and without limit. The log of all events, undoing included, replayed
into an empty book gives the same book.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

EVENTS = ("tell", "skip", "settings")


@dataclass(frozen=True)
class Event:
    """One step.

    Attributes
    ----------
    kind : {"tell", "skip", "settings"}
    rows : tuple of int
        The rows it is about.
    values : tuple
        The classes told, of settings the settings.
    how : tuple of str
        Why each row was asked for; ``"given"`` where it was not.
    """

    kind: str
    rows: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()
    how: tuple[str, ...] = ()

    def written(self) -> dict[str, Any]:
        """As plain values, for a file."""
        entry: dict[str, Any] = {"event": self.kind}
        if self.kind == "settings":
            return entry | {"settings": self.values[0]}
        entry["rows"] = list(self.rows)
        if self.kind == "tell":
            entry |= {"y": list(self.values), "how": list(self.how)}
        return entry


def read_event(entry: Any) -> Event | None:
    """The event of an entry of the log; None for an entry that undoes the one before."""
    kind = entry.get("event") if isinstance(entry, dict) else None
    if kind == "undo":
        return None
    if kind not in EVENTS:
        raise ValueError(
            f"The log holds {entry!r}, which is no event: an entry is a dict with 'event' one of "
            f"{[*EVENTS, 'undo']}, as in ActiveLearner.log."
        )
    if kind == "settings":
        return Event(kind, values=(entry["settings"],))
    rows = tuple(int(row) for row in entry["rows"])
    if kind == "skip":
        return Event(kind, rows)
    return Event(kind, rows, tuple(entry["y"]), tuple(entry["how"]))


@dataclass(frozen=True)
class _Done:
    """An event in force, and what it replaced."""

    event: Event
    labels: tuple[Any, ...]
    tuned_on: Any


@dataclass
class Book:
    """Labels so far, in the order in which their rows were first told.

    Attributes
    ----------
    labels : dict
        Class by row number.
    how : dict
        Why each of these rows was asked for.
    skipped : dict
        Rows that were passed over; how often.
    log : list of dict
        All events, as plain values.
    tuned_on : object
        What the settings in force were found on; kept here so that undoing brings it back.
    """

    labels: dict[int, Any] = field(default_factory=dict)
    how: dict[int, str] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)
    tuned_on: Any = None
    _done: list[_Done] = field(default_factory=list)

    def apply(self, event: Event) -> None:
        """Do what an event says, and write it down."""
        before = tuple((self.labels.get(row), self.how.get(row)) for row in event.rows)
        self._done.append(_Done(event, before, self.tuned_on))
        self.log.append(event.written())
        if event.kind == "tell":
            for row, value, how in zip(event.rows, event.values, event.how, strict=True):
                self.labels[row] = value
                self.how[row] = self.how.get(row, how)
        elif event.kind == "skip":
            for row in event.rows:
                self.skipped[row] = self.skipped.get(row, 0) + 1

    def undo(self) -> Event | None:
        """Take the last event in force back, and return it; None where there is none."""
        if not self._done:
            return None
        done = self._done.pop()
        self.log.append({"event": "undo"})
        self.tuned_on = done.tuned_on
        event = done.event
        if event.kind == "skip":
            for row in event.rows:
                self.skipped[row] -= 1
                if not self.skipped[row]:
                    del self.skipped[row]
        elif event.kind == "tell":
            for row, (label, how) in reversed(list(zip(event.rows, done.labels, strict=True))):
                if how is None:
                    del self.labels[row], self.how[row]
                else:
                    self.labels[row], self.how[row] = label, how
        return event

    @property
    def n_events(self) -> int:
        """How many events are in force."""
        return len(self._done)
