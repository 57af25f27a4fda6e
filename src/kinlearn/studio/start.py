"""From a table and a file of labels to a session, and from them to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kinlearn import LSPCCV, ActiveLearner, MultiTaskLSPCCV
from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import TableError, quoted, unknown_column
from kinlearn.studio.desk import Setting
from kinlearn.studio.history import History
from kinlearn.studio.labelled_file import with_labels_from
from kinlearn.studio.labels_loop import LabelsLoop
from kinlearn.studio.lessons import Teacher, Wishes
from kinlearn.studio.loop import ActiveLoop
from kinlearn.studio.outputs import LABELS as LABELS_OUT
from kinlearn.studio.outputs import MODEL, REPORT, WRITERS, Source, write_by_name
from kinlearn.studio.outputs import TABLE as TABLE_OUT
from kinlearn.studio.pool import POOL_ROWS, Pool, make_pool, schema_of
from kinlearn.studio.question import (
    Question,
    classes_of,
    open_question,
    question_of,
    several_labels,
)
from kinlearn.studio.rows import Rows, read_rows
from kinlearn.studio.safety import new_token
from kinlearn.studio.session import Session
from kinlearn.studio.store import LabelStore, beside
from kinlearn.tables.files import TableFile, open_table
from kinlearn.tables.output import check_output, check_table_suffix
from kinlearn.version import VERSION

# Seconds that the first page may wait for what earlier labels teach.
_FIRST_LESSON = 5.0


@dataclass(frozen=True)
class Asked:
    """What the user asked for.

    Attributes
    ----------
    target : str or None
        Column of classes to fill; that of the file of labels when left out.
    classes : list of str
        Classes; those known when empty.
    labels : list of str
        Yes/no columns to fill together, in place of a target.
    task : str or None
        Column of related tasks.
    people : list of str
        Who labels.
    state : Path or None
        File of labels.
    resume : bool
        Whether to go on where labels are kept already.
    delimiter, encoding : str or None, str
        How the table is written.
    """

    target: str | None = None
    classes: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    task: str | None = None
    people: list[str] = field(default_factory=lambda: ["me"])
    state: Path | None = None
    delimiter: str | None = None
    encoding: str | None = None
    resume: bool = True


@dataclass(frozen=True)
class Studio:
    """A session at work.

    Attributes
    ----------
    session : Session
    store : LabelStore
    teacher : Teacher
    people : dict of str to str
        The person of each token.
    notes : list of str
        What there is to say at the beginning.
    """

    session: Session
    store: LabelStore
    teacher: Teacher
    people: dict[str, str]
    notes: list[str]

    @property
    def n_labels(self) -> int:
        """Rows that people have labelled."""
        return len(self.session.desk.history.labels())

    def close(self) -> None:
        """Stop learning and close the file."""
        self.teacher.end()
        self.store.close()


def start(data: Path, asked: Asked) -> Studio:
    """Open a table and its labels, begin to learn, and say what there is to say."""
    _check_people(asked.people)
    file = open_table(data, delimiter=asked.delimiter, encoding=asked.encoding)
    path = asked.state or beside(data)
    if path.exists() and not asked.resume:
        raise TableError(
            f"{path} holds labels already: leave --no-resume out to go on, or move it away to "
            "begin anew."
        )
    store = LabelStore.open(path) if path.exists() else None
    try:
        return _start(data, asked, file, path, store)
    except BaseException:
        if store is not None:
            store.close()
        raise


def _start(data: Path, asked: Asked, file: Any, path: Path, store: LabelStore | None) -> Studio:
    rows, question = _asked_of(data, asked, file, {} if store is None else store.facts)
    schema = schema_of(rows, question)
    if store is None:
        store = LabelStore.create(path, _facts(rows, question))
    history = History(store.events())
    notes = open_question(rows, store, question, history)
    pool = make_pool(rows, schema, _needed(rows, question, history))
    notes += _said(rows, pool, store, history)
    people = [*asked.people]
    setting = Setting(rows, store, question, pool, people, notes)
    loop = LabelsLoop(pool, question.classes) if question.several else _class_loop(pool, question)
    teacher = Teacher(loop, Wishes())

    def export(name: str) -> Path:
        aim = session.desk.wishes.max_error
        return write_by_name(Source(file, question, History(store.events()), aim), name)

    session = Session(setting, history, teacher, export)
    teacher.start()
    teacher.wait_for_figures(1, _FIRST_LESSON)
    return Studio(session, store, teacher, {new_token(): who for who in people}, notes)


def _asked_of(
    data: Path, asked: Asked, file: TableFile, facts: dict[str, Any]
) -> tuple[Rows, Question]:
    """Read the table, and what is asked of its rows: now, or when its labels were begun."""
    if asked.labels and (asked.target or asked.classes or asked.task):
        raise TableError(
            "--labels stands alone: it goes with neither --target, --classes nor --task."
        )
    earlier = question_of(facts) if facts else None
    target = asked.target or ("" if earlier is None else earlier.target)
    labels = asked.labels
    if not labels and not target and earlier is not None:
        labels = earlier.classes
    if labels:
        rows = read_rows(file, CellRules(), labels, [])
        return rows, several_labels(rows, labels)
    if not target:
        raise TableError(
            f"Give --target, the column of classes to fill, or --labels. {data} has "
            f"{quoted(file.names)}; a new name is possible, too, with --classes."
        )
    task = asked.task or facts.get("task")
    if task is not None and task not in file.names:
        raise unknown_column(task, file.names, str(data))
    if task == target:
        raise TableError(f"--target and --task both name {target!r}: give two columns.")
    rows = read_rows(file, CellRules(), [target], [task] if task else [])
    known = [] if earlier is None or earlier.several else earlier.classes
    return rows, Question(target, classes_of(rows, target, asked.classes, known), task)


def _class_loop(pool: Pool, question: Question) -> ActiveLoop:
    def make() -> ActiveLearner:
        estimator = LSPCCV(random_state=0) if pool.task is None else MultiTaskLSPCCV(random_state=0)
        return ActiveLearner(estimator, pool.X, classes=question.classes, task=pool.task)

    return ActiveLoop(make, pool)


def _facts(rows: Rows, question: Question) -> dict[str, Any]:
    return {
        "table": rows.file.path.name,
        "sha256": rows.sha256,
        "n_rows": rows.sample.n_rows_in_file,
        "names": rows.file.names,
        "delimiter": rows.file.delimiter,
        "encoding": rows.file.encoding,
        "target": question.target,
        "classes": question.classes,
        "task": question.task,
        "several": question.several,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": VERSION,
    }


def _needed(rows: Rows, question: Question, history: History) -> list[int]:
    """Places that must be among the rows to choose from, since something is known of them."""
    given = list(question.held_by(rows))
    said = [place for row in history.rows if (place := rows.place(row)) is not None]
    return sorted({*given[:POOL_ROWS], *said})


def _said(rows: Rows, pool: Pool, store: LabelStore, history: History) -> list[str]:
    said = []
    n_labels = len(history.labels())
    if n_labels:
        said.append(f"{store.path} holds {n_labels} labels: labelling goes on where it was.")
    if len(pool.places) < rows.sample.n_rows_in_file:
        said.append(
            f"Rows are chosen from {len(pool.places)} of {rows.sample.n_rows_in_file}, drawn "
            "evenly; exports answer all of them."
        )
    return said


def _check_people(people: Sequence[str]) -> None:
    twice = {who for who in people if people.count(who) > 1}
    if twice:
        raise TableError(f"--who names {min(twice)!r} twice: everybody needs a name of their own.")


def export_labels(labels: Path, out: Path, table: Path | None, whole: bool) -> str:
    """Write what an ending asks for from a file of labels, and say how much."""
    store = LabelStore.open(labels, alone=False)
    try:
        facts, history = store.facts, History(store.events())
    finally:
        store.close()
    n_labels = len(history.labels())
    wanted, file, question = _wanted(out, whole), None, question_of(facts)
    # the table is never written to, whatever may be replaced
    check_output(out, force=True, inputs=[table or labels.with_name(facts["table"])])
    if wanted != LABELS_OUT:
        table = table or labels.with_name(facts["table"])
        if not table.exists():
            raise TableError(f"There is no table {table} beside the labels: name it with --table.")
        file = open_table(table, delimiter=facts["delimiter"], encoding=facts["encoding"])
        file = with_labels_from(file, labels, []).base
    aim = facts.get("wishes", {}).get("max_error", 0.05)
    WRITERS[wanted](Source(file, question, history, aim), out)
    return f"{n_labels} labels of {facts['table']}."


def _wanted(out: Path, whole: bool) -> str:
    suffix = out.suffix.lower()
    if suffix == ".kin":
        return MODEL
    if suffix in (".html", ".htm"):
        return REPORT
    if whole:
        check_table_suffix(out)
        return TABLE_OUT
    if suffix != ".csv":
        raise TableError(
            f"{out} ends in {suffix or 'nothing'!r}: labels go to .csv, a model to .kin, a report "
            "to .html; a table of another kind needs --whole."
        )
    return LABELS_OUT
