"""What is asked of every row, and what the table and the file of labels already say of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.cells.refusals import TableError, quoted
from kinlearn.studio.history import History
from kinlearn.studio.rows import Rows
from kinlearn.studio.store import LabelStore
from kinlearn.tables.targets import read_label_cells

MAX_CLASSES = 100
_FEW = 20
_SHOWN = 3


@dataclass(frozen=True)
class Question:
    """The column to fill with classes, or the columns to fill with yes and no.

    Attributes
    ----------
    target : str
        The column of classes; empty where there are several labels.
    classes : list of str
        The classes, or the labels, in the order of their keys.
    task : str or None
        The column of related tasks.
    several : bool
        Whether a row may be any number of `classes`: each is a column of yes and no.
    """

    target: str
    classes: list[str]
    task: str | None = None
    several: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns of answers."""
        return list(self.classes) if self.several else [self.target]

    @property
    def name(self) -> str:
        """What is asked, in a word or some."""
        return ", ".join(self.columns)

    def checked(self, value: str) -> str:
        """An answer from outside, in its one spelling; refused where it is none."""
        if not self.several:
            if value not in self.classes:
                raise TableError(f"{value!r} is none of the classes here.")
            return value
        try:
            chosen = json.loads(value)
            assert isinstance(chosen, list)
            assert all(name in self.classes for name in chosen)
        except (ValueError, AssertionError, RecursionError):
            raise TableError(f"{value!r} is no list of the labels here.") from None
        return self.written(chosen)

    def written(self, chosen: Sequence[str]) -> str:
        """An answer as it is kept: the class, or a list of the labels that are yes.

        Examples
        --------
        >>> Question("", ["red", "old"], several=True).written(["old", "red"])
        '["red", "old"]'
        """
        if not self.several:
            return chosen[0]
        return json.dumps([name for name in self.classes if name in chosen], ensure_ascii=False)

    def chosen(self, value: str) -> list[str]:
        """The class, or the labels that are yes."""
        return [str(name) for name in json.loads(value)] if self.several else [value]

    def words(self, value: str) -> str:
        """An answer as it is read."""
        return ", ".join(self.chosen(value)) or "none"

    def cells(self, value: str) -> dict[str, str]:
        """What an answer puts into each column."""
        if not self.several:
            return {self.target: value}
        chosen = self.chosen(value)
        return {name: "yes" if name in chosen else "no" for name in self.classes}

    def held_by(self, rows: Rows) -> dict[int, str]:
        """Answers that the table itself holds, by place; of several labels, where all are known."""
        if not self.several:
            held = rows.answered(self.target)
            return {k: str(text) for k, text in enumerate(held) if text is not None}
        table, found = rows.sample.table, []
        for name in self.classes:
            if name not in table.column_names:
                return {}
            found.append(read_label_cells(name, table[name], rows.rules.of_answers))
        values = np.column_stack(found)
        known = np.flatnonzero(~np.isnan(values).any(axis=1))
        names = np.array(self.classes, dtype=object)
        return {int(k): self.written(names[values[k] == 1.0].tolist()) for k in known}


def several_labels(rows: Rows, names: list[str]) -> Question:
    """The question of several yes/no labels."""
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise TableError(
            f"--labels names {min(twice)!r} twice: every label needs a name of its own."
        )
    if len(names) < 2:
        raise TableError(f"--labels names {names[0]!r} alone: use --target for it.")
    question = Question("", _few(names, "--labels"), several=True)
    question.held_by(rows)  # what is neither yes nor no is refused here
    return question


def classes_of(rows: Rows, target: str, wanted: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """The classes to choose from: those asked for, those of earlier, or those the column holds."""
    held = rows.answered(target)
    found = sorted({text for text in held if text is not None})
    if wanted:
        return _checked(rows, target, list(wanted), held)
    if earlier:
        more = [name for name in found if name not in earlier]
        return _few([*earlier, *more], target)
    if len(found) < 2:
        has = "has no such column" if target not in rows.file.names else f"holds {quoted(found)}"
        has = "is empty there" if target in rows.file.names and not found else has
        raise TableError(
            f"Which classes can {target!r} have? {rows.file.path.name} {has}: name them with "
            "--classes yes,no, two at least."
        )
    return _few(found, target)


def _checked(rows: Rows, target: str, wanted: list[str], held: Any) -> list[str]:
    twice = {name for name in wanted if wanted.count(name) > 1}
    if twice:
        raise TableError(
            f"--classes names {min(twice)!r} twice: every class needs a name of its own."
        )
    if len(wanted) < 2:
        raise TableError(f"--classes names {wanted[0]!r} alone: there must be two at least.")
    for place, text in enumerate(held):
        if text is not None and text not in wanted:
            raise TableError(
                f"Row {rows.number(place)} holds {text!r} in {target!r}, which is not among "
                f"--classes {quoted(wanted)}: add it there, or mend the table."
            )
    return _few(wanted, target)


def _few(classes: list[str], target: str) -> list[str]:
    if len(classes) > MAX_CLASSES:
        raise TableError(
            f"{target!r} has {len(classes)} different values, such as {quoted(classes, _SHOWN)}: "
            f"that is no column of classes. At most {MAX_CLASSES} can be told apart here."
        )
    return classes


def question_of(facts: dict[str, Any]) -> Question:
    """The question that a file of labels was begun with."""
    return Question(
        facts["target"], list(facts["classes"]), facts.get("task"), facts.get("several", False)
    )


def open_question(rows: Rows, store: LabelStore, question: Question, history: History) -> list[str]:
    """Check that the labels kept are of this table and question; say what changed since."""
    facts, notes = store.facts, []
    earlier = question_of(facts)
    if earlier.target != question.target or earlier.several != question.several:
        asked = f"--labels {','.join(earlier.classes)}" if earlier.several else "--target "
        raise TableError(
            f"{store.path} holds labels for {earlier.name!r}, not for {question.name!r}: give "
            f"{asked}{earlier.target}, or another file with --state."
        )
    used = {name for e in history.labels().values() for name in question.chosen(e.value)}
    gone = sorted(used - set(question.classes))
    if gone:
        raise TableError(
            f"{store.path} holds labels {quoted(gone)}, which --classes does not name: name them, "
            "too, or leave --classes out."
        )
    if facts["sha256"] != rows.sha256:
        notes.append(_changed(rows, store, facts, history))
        store.note_facts(sha256=rows.sha256, n_rows=rows.sample.n_rows_in_file)
    if facts["classes"] != question.classes or facts.get("task") != question.task:
        store.note_facts(classes=question.classes, task=question.task)
    return notes


def _changed(rows: Rows, store: LabelStore, facts: dict[str, Any], history: History) -> str:
    """Whether the rows that were labelled are as they were, or a refusal."""
    moved = []
    checked = 0
    for row, events in history.rows.items():
        place = rows.place(row)
        digests = {event.digest for event in events if event.digest}
        if place is None and row <= rows.sample.n_rows_in_file and not rows.sample.is_whole:
            continue
        checked += 1
        if place is None or digests - {rows.digest(place)}:
            moved.append(row)
    name = rows.file.path.name
    if moved and len(moved) == checked and facts["table"] != name:
        raise TableError(
            f"{store.path} holds labels of {facts['table']}, another table: give another file with "
            "--state. Nothing was changed."
        )
    if moved:
        shown = ", ".join(str(row) for row in sorted(moved)[:_SHOWN])
        raise TableError(
            f"{rows.file.path} has changed since its rows were labelled: {len(moved)} of {checked} "
            f"labelled rows are not what they were (such as {shown}). Nothing was changed: put the "
            f"old table back, or move {store.path.name} away and begin anew; kinlearn label export "
            f"{store.path.name} still gives the labels."
        )
    return (
        f"{name} has changed since: {facts['n_rows']} rows then, {rows.sample.n_rows_in_file} now; "
        "every labelled row is as it was, so all labels hold."
    )
