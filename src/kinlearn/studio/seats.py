"""Browser windows at work, and the row each of them has: nobody gets another's row."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

# Seconds without a word after which a window's row may go to another.
PATIENCE = 1800.0
MOST = 500


@dataclass
class Seat:
    """A window.

    Attributes
    ----------
    who : str
        The person.
    row : int
        The row on the page; 0 for none.
    how : str
        Why it was asked.
    queue : str
        Where it came from.
    seen : float
        When the window last spoke.
    """

    who: str
    row: int = 0
    how: str = ""
    queue: str = ""
    seen: float = 0.0


class Seats:
    """All windows.

    Parameters
    ----------
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all: dict[tuple[str, str], Seat] = {}

    def at(self, who: str, seat: str) -> Seat:
        """The window of a person; those silent for long are forgotten."""
        now = self._clock()
        self._all = {k: s for k, s in self._all.items() if now - s.seen < PATIENCE}
        key = (who, seat[:64])
        if key not in self._all and len(self._all) >= MOST:
            del self._all[min(self._all, key=lambda k: self._all[k].seen)]
        found = self._all.setdefault(key, Seat(who))
        found.seen = now
        return found

    def leave(self, who: str, seat: str) -> None:
        """Forget a window that was closed."""
        self._all.pop((who, seat[:64]), None)

    def taken(self, but: Seat) -> set[int]:
        """Rows on other windows' pages."""
        return {seat.row for seat in self._all.values() if seat is not but and seat.row}

    def rows(self) -> set[int]:
        """Rows on any page."""
        return {seat.row for seat in self._all.values() if seat.row}

    @property
    def n_open(self) -> int:
        """How many windows there are."""
        return len(self._all)
