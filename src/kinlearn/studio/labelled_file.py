"""A table as it would be with its labels written into it, which they never are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import TableError
from kinlearn.optional import require
from kinlearn.studio.events import Event
from kinlearn.studio.history import History
from kinlearn.studio.question import Question, open_question, question_of
from kinlearn.studio.rows import read_rows
from kinlearn.studio.store import LabelStore
from kinlearn.tables.files import TableFile


@dataclass(frozen=True, kw_only=True)
class LabelledFile(TableFile):
    """A table whose columns of answers are filled with labels.

    Attributes
    ----------
    base : TableFile
        The table as it stands.
    question : Question
        The columns, and what an answer puts into them.
    labels : dict of int to dict
        Cells of these columns by row, from 1; other rows keep what they have.
    rules : CellRules
        How cells are read.
    """

    base: TableFile
    question: Question
    labels: dict[int, dict[str, str]]
    rules: CellRules = field(default_factory=CellRules)

    @property
    def files(self) -> list[Path]:
        """Where the bytes of the table are."""
        return self.base.files

    def _parts(self) -> Iterator[Any]:
        """Yield the table's batches, labels filled in."""
        seen = 0
        for batch in self.base.batches():
            for name in self.question.columns:
                batch = self._filled(batch, name, seen)
            seen += batch.num_rows
            yield batch

    def _filled(self, batch: Any, name: str, seen: int) -> Any:
        arrow = require("pyarrow", "Reading a table")
        if name in batch.schema.names:
            place = batch.schema.names.index(name)
            values = self.rules.of_answers.texts(batch.column(place)).to_pylist()
        else:
            place, values = batch.num_columns, [None] * batch.num_rows
        for k in range(batch.num_rows):
            if (told := self.labels.get(seen + k + 1)) is not None:
                values[k] = told[name]
        columns, names = list(batch.columns), list(batch.schema.names)
        columns[place : place + 1] = [arrow.array(values, arrow.string())]
        names[place : place + 1] = [name]
        return arrow.RecordBatch.from_arrays(columns, names=names)

    @classmethod
    def of(cls, file: TableFile, question: Question, labels: dict[int, Event]) -> LabelledFile:
        """The table with these labels."""
        names = [*file.names, *(name for name in question.columns if name not in file.names)]
        cells = {row: question.cells(event.value) for row, event in labels.items()}
        return cls(
            path=file.path,
            names=names,
            dialect=file.dialect,
            notes=file.notes,
            title=file.title,
            base=file,
            question=question,
            labels=cells,
        )


def with_labels_from(file: TableFile, path: Path, columns: list[str]) -> LabelledFile:
    """The table with the labels of a file of labels, once it is known to be theirs.

    Parameters
    ----------
    file : TableFile
        The table.
    path : Path
        The file of labels.
    columns : list of str
        The columns of answers the user named; any when empty.
    """
    store = LabelStore.open(path, alone=False)
    try:
        history, question = History(store.events()), question_of(store.facts)
        if columns and columns != question.columns:
            raise TableError(
                f"{path} holds labels for {question.name!r}, not for {', '.join(columns)!r}: leave "
                "--target and --labels out, or name these."
            )
        open_question(read_rows(file, CellRules(), question.columns, []), store, question, history)
    finally:
        store.close()
    return LabelledFile.of(file, question, history.labels())
