"""What the page is told: the row, what is thought of it and why, counts and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.studio.agreement import cohens_kappa
from kinlearn.studio.desk import Desk
from kinlearn.studio.events import LABEL
from kinlearn.studio.lessons import Lesson
from kinlearn.studio.queues import DISAGREEMENTS, SUSPECTS
from kinlearn.studio.seats import Seat

_MATTER = 5
_BESIDE = 6


def about(desk: Desk, who: str) -> dict[str, Any]:
    """What does not change from row to row."""
    setting = desk.setting
    return {
        "table": setting.rows.file.path.name,
        "rows": setting.rows.sample.n_rows_in_file,
        "pool": len(setting.pool.places),
        "target": setting.question.name,
        "classes": setting.question.classes,
        "several": setting.question.several,
        "task": setting.question.task,
        "who": who,
        "people": setting.people,
        "state": setting.store.path.name,
        "notes": setting.notes,
        "definitions": desk.history.definitions,
        "goal": desk.wishes.goal,
        "max_error": desk.wishes.max_error,
    }


def row(desk: Desk, here: Seat, lesson: Lesson, order: bool) -> dict[str, Any]:
    """The row on a page."""
    rows, number, question = desk.setting.rows, here.row, desk.setting.question
    place, k = rows.place(number), desk.place(number)
    assert place is not None
    media = list(rows.media)
    cells = [
        {
            "name": cell.name,
            "kind": cell.kind,
            "text": cell.text,
            "whole": cell.whole,
            "used": cell.used,
            **({"column": media.index(cell.name)} if cell.name in media else {}),
        }
        for cell in rows.cells(place, desk.relevance(lesson) if order else ())
    ]
    task = desk.setting.pool.task
    by = desk.history.by_person(number) if here.queue == DISAGREEMENTS else {}
    label = desk.labels().get(number) if here.queue == SUSPECTS else None
    return {
        "row": number,
        "how": here.how,
        "cells": cells,
        "task": None if task is None or k is None else str(task[k]),
        "note": desk.history.note_of(number),
        "flagged": desk.history.flagged(number),
        "label": None if label is None else question.words(label),
        "chosen": [] if label is None else question.chosen(label),
        "theirs": [{"who": who, "value": question.words(e.value)} for who, e in by.items()],
        "thought": desk.thought(number, lesson),
    }


def answered(desk: Desk, number: int, value: str, lesson: Lesson) -> str:
    """What is said of an answer: whether the model thought so, too."""
    question, thought = desk.setting.question, desk.thought(number, lesson)
    words = question.words(value)
    if thought is None:
        return f"Row {number}: {words}."
    if question.several:
        expected = question.written([name for name, p in thought.items() if p > 0.5])
        if expected == value:
            return f"Row {number}: {words}, as the model thought."
        return f"Row {number}: {words}. The model thought {question.words(expected)}."
    best = max(thought, key=lambda name: thought[name])
    sure = f"({100 * thought[best]:.0f} %)"
    if best == value:
        return f"Row {number}: {words}, as the model thought {sure}."
    return f"Row {number}: {words}. The model thought {best} {sure}."


def why(desk: Desk, number: int, lesson: Lesson) -> dict[str, Any]:
    """What speaks for the model's answer: columns that matter, labelled rows that are like it."""
    place = desk.place(number)
    if place is None or lesson.model is None:
        return {"row": number, "matter": [], "nearest": []}
    pool, rows, question = desk.setting.pool, desk.setting.rows, desk.setting.question
    best = int(pool.proba(lesson.model, np.array([place]))[0].argmax())
    matter = pool.what_matters(lesson.model, place, best)
    labels = desk.labels()
    labelled = {k: value for one, value in labels.items() if (k := desk.place(one)) is not None}
    near = []
    for other, apart in pool.nearest(place, list(labelled)):
        texts = rows.texts_of(int(pool.places[other]))
        shown = [name for name, _ in matter[:_BESIDE]]
        near.append(
            {
                "row": rows.number(int(pool.places[other])),
                "label": question.words(labelled[other]),
                "apart": apart,
                "cells": [{"name": name, "text": texts[name]} for name in shown],
            }
        )
    return {
        "row": number,
        "class": str(lesson.model.classes_[best]),
        "matter": [{"name": name, "effect": effect} for name, effect in matter[:_MATTER]],
        "nearest": near,
    }


def counts(desk: Desk, who: str, lesson: Lesson) -> dict[str, Any]:
    """How many there are of everything."""
    history = desk.history
    labels = history.labels()
    return {
        "labelled": len(labels),
        "given": len(desk.given.keys() - labels.keys()),
        "mine": sum(event.kind == LABEL for event in history.mine.get(who, ())),
        "skipped": len(history.skipped(who)),
        "suspects": len(desk.suspects(lesson)),
        "disagreements": len(history.disagreements()),
        "agreement": _agreement(desk),
    }


def _agreement(desk: Desk) -> list[dict[str, Any]]:
    """Cohen's kappa of every two people, over the rows that both labelled."""
    found = []
    people = desk.setting.people
    for i, one in enumerate(people):
        for two in people[i + 1 :]:
            pairs = [
                (by[one].value, by[two].value)
                for number in desk.history.rows
                if one in (by := desk.history.first_by_person(number)) and two in by
            ]
            kappa = cohens_kappa([a for a, _ in pairs], [b for _, b in pairs])
            found.append({"people": [one, two], "rows": len(pairs), "kappa": kappa})
    return found


def undo(desk: Desk, who: str) -> dict[str, Any] | None:
    """What the next undo of a person takes back."""
    last = desk.history.to_undo(who)
    return None if last is None else {"kind": last.kind, "row": last.row}


def figures(desk: Desk, lesson: Lesson) -> dict[str, Any]:
    """The model's figures, and how old they are."""
    return {
        "version": lesson.figures_version,
        "labels": lesson.figures_labels,
        "behind": desk.teacher.version - lesson.figures_version,
        "seconds": lesson.seconds,
        "ready": bool(lesson.figures),
        "error": lesson.error,
        **lesson.figures,
    }
