"""What holds after all events: labels by row and person, skips, notes, flags, and what to undo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kinlearn.studio.events import (
    DEFINE,
    DISAGREEMENT,
    FLAG,
    KEEP,
    LABEL,
    NOTE,
    SKIP,
    SUSPECT,
    UNDO,
    Event,
)

# Labels given in the knowledge of others' settle a row.
SETTLING = (DISAGREEMENT, SUSPECT)


class History:
    """The events that were not taken back.

    An undone event is gone without a trace: what holds is what would hold had it never been.

    Parameters
    ----------
    events : iterable of Event
        In their order.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.rows: dict[int, list[Event]] = {}
        self.mine: dict[str, list[Event]] = {}
        self.definitions: dict[str, str] = {}
        self._told: dict[Any, Any] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take an event in."""
        self._told.clear()
        if event.kind == UNDO:
            self._take_back(event)
        elif event.kind == DEFINE:
            self.definitions[event.value] = event.note
        else:
            self.rows.setdefault(event.row, []).append(event)
            self.mine.setdefault(event.who, []).append(event)

    def _take_back(self, undo: Event) -> None:
        stack = self.mine.get(undo.who, [])
        if not stack or stack[-1].id != undo.of:
            return  # an undo of nothing: written by a later version, or by hand
        event = stack.pop()
        here = self.rows[event.row]
        here.remove(event)
        if not here:
            del self.rows[event.row]

    def to_undo(self, who: str) -> Event | None:
        """What this person's next undo takes back."""
        stack = self.mine.get(who)
        return stack[-1] if stack else None

    def by_person(self, row: int) -> dict[str, Event]:
        """The label of each person who gave one."""
        return {e.who: e for e in self.rows.get(row, ()) if e.kind == LABEL}

    def first_by_person(self, row: int) -> dict[str, Event]:
        """What each person said before anything was settled, for agreement."""
        found: dict[str, Event] = {}
        for event in self.rows.get(row, ()):
            if event.kind == LABEL and event.how not in SETTLING:
                found.setdefault(event.who, event)
        return found

    def label_of(self, row: int) -> Event | None:
        """The label that counts: what settled a disagreement, or what most said, or said first."""
        given = [event for event in self.rows.get(row, ()) if event.kind == LABEL]
        if not given:
            return None
        settled = [event for event in given if event.how in SETTLING]
        if settled:
            return settled[-1]
        latest = {event.who: event for event in given}
        votes = Counter(event.value for event in latest.values())
        most = max(votes.values())
        return next(event for event in latest.values() if votes[event.value] == most)

    def labels(self) -> dict[int, Event]:
        """The labels that count, by row, in the order in which the rows were first labelled."""
        return self._once("labels", self._find_labels)

    def _once(self, name: Any, find: Callable[[], Any]) -> Any:
        """What is asked for many times between two events."""
        if name not in self._told:
            self._told[name] = find()
        return self._told[name]

    def _find_labels(self) -> dict[int, Event]:
        found = {row: event for row in self.rows if (event := self.label_of(row)) is not None}
        first = {row: next(e.id for e in self.rows[row] if e.kind == LABEL) for row in found}
        return {row: found[row] for row in sorted(found, key=first.__getitem__)}

    def skipped(self, who: str | None = None) -> set[int]:
        """Rows that this person, or anybody, put aside and nobody has labelled since."""
        return self._once(("skipped", who), lambda: self._find_skipped(who))

    def _find_skipped(self, who: str | None) -> set[int]:
        return {
            row
            for row, events in self.rows.items()
            if any(e.kind == SKIP and who in (None, e.who) for e in events)
            and not any(e.kind == LABEL for e in events)
        }

    def kept(self, row: int) -> str | None:
        """The label that somebody looked at again and kept."""
        found = [event for event in self.rows.get(row, ()) if event.kind == KEEP]
        return found[-1].value if found else None

    def note_of(self, row: int) -> str:
        """What was noted of a row, last."""
        notes = [event.note for event in self.rows.get(row, ()) if event.kind == NOTE]
        return notes[-1] if notes else ""

    def flagged(self, row: int) -> bool:
        """Whether somebody flagged a row, and nobody took the flag away."""
        flags = [event.value for event in self.rows.get(row, ()) if event.kind == FLAG]
        return bool(flags and flags[-1])

    def disagreements(self) -> list[int]:
        """Rows on which people differ and nothing has been settled."""
        return self._once("disagreements", self._find_disagreements)

    def _find_disagreements(self) -> list[int]:
        found = []
        for row, events in self.rows.items():
            values = {event.value for event in self.by_person(row).values()}
            if len(values) > 1 and not any(e.how in SETTLING for e in events):
                found.append(row)
        return found

    def last_row(self, who: str) -> int:
        """The row this person labelled last; 0 where there is none."""
        return next((e.row for e in reversed(self.mine.get(who, [])) if e.kind == LABEL), 0)
