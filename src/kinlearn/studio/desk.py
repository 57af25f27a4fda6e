"""The state of a session, and what follows from it: which labels hold, what is told of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from kinlearn.studio.events import GIVEN, LABEL, OVERLAP, Event
from kinlearn.studio.history import History
from kinlearn.studio.lessons import Answer, Lesson, Teacher, Wishes
from kinlearn.studio.pool import Pool
from kinlearn.studio.question import Question
from kinlearn.studio.rows import Rows
from kinlearn.studio.seats import Seats
from kinlearn.studio.store import LabelStore

# Where answers come faster than fits, so many more rows are proposed at a time, at most.
MOST_AHEAD = 10


@dataclass(frozen=True)
class Setting:
    """What a session is about.

    Attributes
    ----------
    rows : Rows
    store : LabelStore
    question : Question
    pool : Pool
    people : list of str
    notes : list of str
        What there is to say at the beginning.
    """

    rows: Rows
    store: LabelStore
    question: Question
    pool: Pool
    people: list[str]
    notes: list[str]


@dataclass
class Desk:
    """A session's state; whoever changes it holds the session's lock.

    Attributes
    ----------
    setting : Setting
    history : History
    teacher : Teacher
    wishes : Wishes
        What the figures are for.
    seats : Seats
    given : dict of int to str
        Answers that the table itself holds, by row.
    n_answered : dict of str to int
        Rows that each person has answered since the start.
    """

    setting: Setting
    history: History
    teacher: Teacher
    wishes: Wishes
    seats: Seats = field(default_factory=Seats)
    given: dict[int, str] = field(default_factory=dict)
    n_answered: dict[str, int] = field(default_factory=dict)
    _order: tuple[int, list[str]] = (0, [])

    def __post_init__(self) -> None:
        rows = self.setting.rows
        held = self.setting.question.held_by(rows)
        self.given = {rows.number(place): value for place, value in held.items()}

    def do(self, event: Event) -> None:
        """On disk first, then in force."""
        self.history.add(self.setting.store.append(event))

    def labels(self) -> dict[int, str]:
        """The answer that counts of every labelled row, those of the table among them."""
        said = {row: event.value for row, event in self.history.labels().items()}
        return {**self.given, **said}

    def digest(self, row: int) -> str:
        """What a row holds, in short."""
        place = self.setting.rows.place(row)
        return "" if place is None else self.setting.rows.digest(place)

    def place(self, row: int) -> int | None:
        """The number of a row among those to choose from, if it is one."""
        place = self.setting.rows.place(row)
        return None if place is None else self.setting.pool.where.get(place)

    def row_at(self, k: int) -> int:
        """The row of a number among those to choose from."""
        return self.setting.rows.number(int(self.setting.pool.places[k]))

    def answers(self) -> list[Answer]:
        """What the loop is told: the table's answers, then people's in the order of their rows."""
        found = []
        labels = self.history.labels()
        for row, value in self.given.items():
            if row not in labels and (k := self.place(row)) is not None:
                found.append(Answer(k, value, GIVEN))
        for row, event in labels.items():
            if (k := self.place(row)) is not None:
                first = next(e for e in self.history.rows[row] if e.kind == LABEL)
                how = GIVEN if row in self.given or first.how == OVERLAP else first.how
                found.append(Answer(k, event.value, how or GIVEN))
        return found

    def retrain(self) -> int:
        """Tell the teacher what holds now; return the number of this change."""
        closed = self.history.skipped() | self.seats.rows()
        behind = self.teacher.version - self.teacher.last.version
        wishes = replace(
            self.wishes,
            n_next=max(1, self.seats.n_open) + min(behind, MOST_AHEAD),
            closed=frozenset(k for row in closed if (k := self.place(row)) is not None),
        )
        return self.teacher.tell(self.answers(), wishes)

    def suspects(self, lesson: Lesson) -> list[int]:
        """Rows whose labels the others contradict, and which nobody has kept since."""
        labels = self.labels()
        found = []
        for k, _ in lesson.suspects:
            row = self.row_at(k)
            if row in labels and self.history.kept(row) != labels[row]:
                found.append(row)
        return found

    def thought(self, row: int, lesson: Lesson) -> dict[str, float] | None:
        """What the model thinks, without the row's own label where it has one."""
        k = self.place(row)
        if k is None or lesson.model is None:
            return None
        if k in lesson.held_out:
            names, by = lesson.classes, lesson.held_out[k]
        else:
            names = [str(name) for name in lesson.model.classes_]
            by = self.setting.pool.proba(lesson.model, np.array([k]))[0]
        found = {name: float(p) for name, p in zip(names, by, strict=True)}
        return {name: found.get(name, 0.0) for name in self.setting.question.classes}

    def relevance(self, lesson: Lesson) -> list[str]:
        """Columns by relevance, told anew when the labels have grown by a quarter."""
        if lesson.model is None:
            return []
        told, order = self._order
        if not order or not told <= lesson.n_labels < math.ceil(1.25 * told) + 1:
            order = self.setting.pool.relevance(lesson.model)
            self._order = lesson.n_labels, order
        return order
