"""Who gets which row: four queues, and nobody gets a row that is on another's page."""

from __future__ import annotations

import numpy as np

from kinlearn.studio.desk import Desk
from kinlearn.studio.events import DISAGREEMENT, GIVEN, OVERLAP, STRATEGY, SUSPECT
from kinlearn.studio.lessons import Lesson
from kinlearn.studio.seats import Seat

TO_LABEL, SUSPECTS, DISAGREEMENTS, SKIPPED = "label", "suspects", "disagreements", "skipped"
QUEUES = (TO_LABEL, SUSPECTS, DISAGREEMENTS, SKIPPED)
# Every so many rows of a person, one that another has labelled, to see whether they agree.
OVERLAP_EVERY = 10
# Rows of which the most unsure one is taken while the worker is behind.
_SOME = 200


def is_open(desk: Desk, here: Seat, lesson: Lesson) -> bool:
    """Whether the row on a page still waits for an answer there."""
    row, who, history = here.row, here.who, desk.history
    if here.queue == SUSPECTS:
        return row in desk.suspects(lesson)
    if here.queue == DISAGREEMENTS:
        return row in history.disagreements()
    mine = history.by_person(row)
    if here.how == OVERLAP:
        return who not in mine
    if here.queue == SKIPPED:
        return not mine
    return not mine and row not in desk.given and row not in history.skipped(who)


def next_row(desk: Desk, here: Seat, queue: str, lesson: Lesson) -> tuple[int, str]:
    """A row for this window and why it is asked; 0 where there is none."""
    taken = desk.seats.taken(here)
    if queue != TO_LABEL:
        waiting, how = {
            SUSPECTS: lambda: (desk.suspects(lesson), SUSPECT),
            DISAGREEMENTS: lambda: (desk.history.disagreements(), DISAGREEMENT),
            SKIPPED: lambda: (sorted(desk.history.skipped(here.who)), GIVEN),
        }[queue]()
        return next(((row, how) for row in waiting if row not in taken), (0, ""))
    shared = _shared_row(desk, here.who, taken)
    if shared is not None:
        return shared, OVERLAP
    closed = desk.labels().keys() | taken | desk.history.skipped(here.who)
    for k, how in lesson.next_rows:
        if (row := desk.row_at(k)) not in closed:
            return row, how
    return _fallback(desk, closed, lesson)


def _fallback(desk: Desk, closed: set[int], lesson: Lesson) -> tuple[int, str]:
    """While the worker is behind: what the last fit is unsure of, among some rows by chance."""
    pool, some = desk.setting.pool, []
    for k in pool.shuffled:
        if desk.row_at(int(k)) not in closed:
            some.append(k)
            if len(some) == (_SOME if lesson.model is not None else 1):
                break
    if not some:
        return 0, ""
    if lesson.model is None:
        return desk.row_at(int(some[0])), STRATEGY
    top = np.sort(pool.proba(lesson.model, np.array(some)), axis=1)
    return desk.row_at(int(some[int((top[:, -2] - top[:, -1]).argmax())])), STRATEGY


def _shared_row(desk: Desk, who: str, taken: set[int]) -> int | None:
    """Now and then a row that another person has labelled, to see whether they agree."""
    if len(desk.setting.people) < 2:
        return None
    if desk.n_answered.get(who, 0) % OVERLAP_EVERY != OVERLAP_EVERY - 1:
        return None
    skipped = desk.history.skipped(who)
    for row in desk.history.rows:
        by = desk.history.by_person(row)
        if by and who not in by and row not in taken and row not in skipped:
            return row
    return None
