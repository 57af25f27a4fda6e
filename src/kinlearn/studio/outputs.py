"""What leaves the studio: labels, the whole table with answers, a model file, a report."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import kinlearn
from kinlearn.cells.refusals import TableError
from kinlearn.report import gathering
from kinlearn.report.conclusions import conclusions
from kinlearn.report.page import make_page
from kinlearn.studio.history import History
from kinlearn.studio.labelled_file import LabelledFile
from kinlearn.studio.question import Question
from kinlearn.tables.files import TableFile
from kinlearn.tables.output import safe_cell, write_text
from kinlearn.tables.plain import finite
from kinlearn.tables.scored_copy import score_file
from kinlearn.tables.training import Trained, Wishes, read_training_table, train, training_facts

LABELS, TABLE, MODEL, REPORT = "labels.csv", "table.csv", "model.kin", "report.html"


@dataclass(frozen=True)
class Source:
    """What outputs are made of.

    Attributes
    ----------
    file : TableFile or None
        The table; labels alone do not need it.
    question : Question
        The columns of answers.
    history : History
        What people said.
    max_error : float
        Error allowed among answers that the model gives.
    """

    file: TableFile | None
    question: Question
    history: History
    max_error: float = 0.05


def labels_text(history: History, question: Question) -> str:
    """The labels that count, as CSV: row, label, who, when, note; several with semicolons."""
    stream = io.StringIO()
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(["row", "label", "who", "when", "note"])
    for row, event in sorted(history.labels().items()):
        label = "; ".join(question.chosen(event.value))
        cells = [label, event.who, event.time, history.note_of(row)]
        lines.writerow([row, *map(safe_cell, cells)])
    return stream.getvalue()


def write_labels(source: Source, out: Path) -> None:
    """The labels as CSV."""
    write_text(out, labels_text(source.history, source.question))


def _trained(source: Source) -> tuple[LabelledFile, Trained]:
    question = source.question
    assert source.file is not None
    file = LabelledFile.of(source.file, question, source.history.labels())
    wishes = Wishes(
        target=question.target or None,
        labels=question.columns if question.several else [],
        task=question.task,
        max_error=source.max_error,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return file, train(read_training_table(file, wishes), wishes)


def write_table(source: Source, out: Path) -> None:
    """The whole table with its labels, and class, probabilities and decision of every row."""
    file, trained = _trained(source)
    beginnings = ("predicted", "decision", "p_")
    clash = any(name.startswith(beginnings) for name in file.names)
    score_file(
        trained.model,
        trained.table.schema,
        training_facts(file, trained),
        file,
        out,
        prefix="kin_" if clash else "",
        safe=True,
    )


def _found(source: Source) -> tuple[Trained, dict[str, Any], Any]:
    file, trained = _trained(source)
    facts = training_facts(file, trained)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = gathering.of_training(trained, facts)
    return trained, facts, found


def write_model(source: Source, out: Path) -> None:
    """A model file, as ``kinlearn train`` writes it."""
    trained, facts, found = _found(source)
    facts["summary"] = {
        "conclusions": conclusions(found),
        "figures": {name: value.value for name, value in found.overall.items()},
    }
    kinlearn.save(trained.model, out, facts=finite(facts))


def write_report(source: Source, out: Path) -> None:
    """The report on that model."""
    write_text(out, make_page(_found(source)[2]))


WRITERS: dict[str, Callable[[Source, Path], None]] = {
    LABELS: write_labels,
    TABLE: write_table,
    MODEL: write_model,
    REPORT: write_report,
}


def write_by_name(source: Source, name: str) -> Path:
    """Write one of ``WRITERS`` into a folder of its own, to be sent and removed."""
    if name not in WRITERS:
        raise TableError(f"There is no {name!r} to download: {', '.join(WRITERS)} are.")
    out = Path(mkdtemp(prefix="kinlearn-")) / name
    try:
        WRITERS[name](source, out)
    except BaseException:
        out.unlink(missing_ok=True)
        out.parent.rmdir()
        raise
    return out
