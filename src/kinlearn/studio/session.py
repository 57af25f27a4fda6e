"""A labelling session: what the page asks and tells, one method each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Any

from kinlearn.cells.refusals import TableError
from kinlearn.studio import shown
from kinlearn.studio.desk import Desk, Setting
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
from kinlearn.studio.history import History
from kinlearn.studio.lessons import Teacher, Wishes
from kinlearn.studio.queues import DISAGREEMENTS, QUEUES, SUSPECTS, TO_LABEL, is_open, next_row
from kinlearn.studio.seats import Seat

# Seconds an answer waits for the fit that knows of it; beyond, the next row is of the last fit.
EXACT_WAIT = 0.25
# From so many labels on nothing waits.
BACKGROUND_FROM = 10_000
LONGEST_NOTE = 2_000
_RECENT = 30


class Session:
    """What the page asks and tells; every method gets the person first.

    Parameters
    ----------
    setting : Setting
        Table, file of labels, question.
    history : History
        What the file holds.
    teacher : Teacher
        What learns.
    exporter : callable
        Makes the file of a name, for a download.
    """

    def __init__(
        self,
        setting: Setting,
        history: History,
        teacher: Teacher,
        exporter: Callable[[str], Path],
    ) -> None:
        wishes = Wishes(**setting.store.facts.get("wishes", {}))
        self.desk = Desk(setting, history, teacher, wishes)
        self._exporter = exporter
        self._lock = RLock()
        self.desk.retrain()

    # -- what is asked ------------------------------------------------------------------------

    def about(self, who: str) -> dict[str, Any]:
        """What does not change from row to row."""
        with self._lock:
            return shown.about(self.desk, who)

    def now(
        self, who: str, seat: str = "", queue: str = TO_LABEL, order: bool = False
    ) -> dict[str, Any]:
        """The row of this window, and all that is shown beside it."""
        queue = queue if queue in QUEUES else TO_LABEL
        with self._lock:
            desk, lesson = self.desk, self.desk.teacher.last
            here = desk.seats.at(who, seat)
            if not (here.row and here.queue == queue and is_open(desk, here, lesson)):
                here.row, here.how = next_row(desk, here, queue, lesson)
                here.queue = queue
            return {
                "queue": queue,
                "row": shown.row(desk, here, lesson, order) if here.row else None,
                "counts": shown.counts(desk, who, lesson),
                "undo": shown.undo(desk, who),
                "model": shown.figures(desk, lesson),
            }

    def figures(self, who: str, after: int = -1, patience: float = 20.0) -> dict[str, Any]:
        """The model's figures, once there are newer ones than those of a change."""
        lesson = self.desk.teacher.wait_for_figures(after + 1, patience)
        with self._lock:
            return shown.figures(self.desk, lesson)

    def why(self, who: str, seat: str = "") -> dict[str, Any]:
        """What speaks for the model's answer on this window's row."""
        with self._lock:
            here = self.desk.seats.at(who, seat)
            return shown.why(self.desk, here.row, self.desk.teacher.last)

    def recent(self, who: str) -> dict[str, Any]:
        """What this person did last."""
        with self._lock:
            mine = self.desk.history.mine.get(who, [])[-_RECENT:]
            return {
                "events": [
                    {"kind": e.kind, "row": e.row, "value": e.value, "note": e.note, "time": e.time}
                    for e in reversed(mine)
                ]
            }

    def media(self, row: int, column: int) -> Path | None:
        """The file behind a cell that shows an image or a sound."""
        rows = self.desk.setting.rows
        names = list(rows.media)
        place = rows.place(row)
        if place is None or not 0 <= column < len(names):
            return None
        value = rows.sample.table[names[column]][place].as_py()
        return None if value is None else rows.media[names[column]].file(str(value))

    def export(self, name: str) -> Path:
        """A file with what there is by now."""
        return self._exporter(name)

    # -- what is told -------------------------------------------------------------------------

    def answer(self, who: str, seat: str, queue: str, row: int, value: str) -> dict[str, Any]:
        """Take a label: it is on disk when this returns."""
        with self._lock:
            here, desk = self._here(who, seat, row), self.desk
            value = desk.setting.question.checked(value)
            how = {SUSPECTS: SUSPECT, DISAGREEMENTS: DISAGREEMENT}.get(queue, here.how)
            said = shown.answered(desk, row, value, desk.teacher.last)
            desk.do(Event(LABEL, who, row, value, how=how, digest=desk.digest(row)))
            desk.n_answered[who] = desk.n_answered.get(who, 0) + 1
            here.row = 0
            version = desk.retrain()
        self._await(version)
        return {"said": said}

    def keep(self, who: str, seat: str, row: int) -> dict[str, Any]:
        """Keep a label that was suspect."""
        with self._lock:
            here, desk = self._here(who, seat, row), self.desk
            label = desk.labels().get(row, "")
            desk.do(Event(KEEP, who, row, label, digest=desk.digest(row)))
            here.row = 0
            return {"said": f"Row {row} stays {desk.setting.question.words(label)}."}

    def skip(self, who: str, seat: str, row: int) -> dict[str, Any]:
        """Put a row aside."""
        with self._lock:
            here, desk = self._here(who, seat, row), self.desk
            desk.do(Event(SKIP, who, row, how=here.how, digest=desk.digest(row)))
            here.row = 0
            version = desk.retrain()
        self._await(version)
        return {"said": f"Row {row} was skipped."}

    def undo(self, who: str, seat: str) -> dict[str, Any]:
        """Take back what this person did last, and show that row again."""
        with self._lock:
            desk = self.desk
            last = desk.history.to_undo(who)
            if last is None:
                return {"said": "There is nothing to undo."}
            here = desk.seats.at(who, seat)
            desk.do(Event(UNDO, who, last.row, of=last.id))
            back = last.kind in (LABEL, SKIP) and last.how not in (SUSPECT, DISAGREEMENT)
            if back and last.row not in desk.seats.taken(here):
                here.row, here.how, here.queue = last.row, last.how, TO_LABEL
            version = desk.retrain() if last.kind in (LABEL, SKIP) else 0
        self._await(version)
        return {"said": self._undone(last), "kind": last.kind, "row": last.row}

    def flag(self, who: str, seat: str, row: int) -> dict[str, Any]:
        """Flag a row, or take the flag away."""
        with self._lock:
            self._here(who, seat, row)
            desk = self.desk
            flagged = not desk.history.flagged(row)
            desk.do(Event(FLAG, who, row, "yes" if flagged else "", digest=desk.digest(row)))
        return {"said": f"Row {row} is {'flagged' if flagged else 'no longer flagged'}."}

    def note(self, who: str, seat: str, row: int, text: str) -> dict[str, Any]:
        """Note something of a row."""
        with self._lock:
            self._here(who, seat, row)
            desk, text = self.desk, text.strip()[:LONGEST_NOTE]
            if text == desk.history.note_of(row):
                return {"said": ""}
            desk.do(Event(NOTE, who, row, note=text, digest=desk.digest(row)))
        return {"said": f"The note on row {row} is kept."}

    def leave(self, who: str, seat: str) -> dict[str, Any]:
        """Give back the row of a window that is closed."""
        with self._lock:
            self.desk.seats.leave(who, seat)
        return {"said": ""}

    def define(self, who: str, name: str, text: str) -> dict[str, Any]:
        """Say what a class means."""
        with self._lock:
            if name not in self.desk.setting.question.classes:
                raise TableError(f"{name!r} is none of the classes here.")
            self.desk.do(Event(DEFINE, who, value=name, note=text.strip()[:LONGEST_NOTE]))
        return {"said": f"What {name} means is kept."}

    def aim(self, who: str, goal: float, max_error: float) -> dict[str, Any]:
        """Say which accuracy is wanted, and which error is allowed among automatic answers."""
        if not (0.0 < goal < 1.0 and 0.0 < max_error < 1.0):
            raise TableError("A goal and an error are shares between 0 and 100 %.")
        with self._lock:
            self.desk.wishes = Wishes(float(goal), float(max_error))
            self.desk.setting.store.note_facts(wishes={"goal": goal, "max_error": max_error})
            version = self.desk.retrain()
        self._await(version)
        return {"said": ""}

    # -- inside -------------------------------------------------------------------------------

    def _await(self, version: int) -> None:
        teacher = self.desk.teacher
        if version and teacher.last.n_labels < BACKGROUND_FROM:
            teacher.wait(version, EXACT_WAIT)

    def _here(self, who: str, seat: str, row: int) -> Seat:
        here = self.desk.seats.at(who, seat)
        if here.row != row:
            raise TableError(f"Row {row} is no longer on this page: nothing was changed.")
        return here

    def _undone(self, event: Event) -> str:
        words = self.desk.setting.question.words
        what = {SKIP: "skipping", NOTE: "the note", FLAG: "the flag", KEEP: "what was kept"}
        if event.kind == LABEL:
            return f"Undone: the label {words(event.value)} of row {event.row}."
        return f"Undone: {what[event.kind]} of row {event.row}."
