"""Answering every row of a table, batch by batch, beside the columns it came with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.refusals import TableError, quoted
from kinlearn.cells.schema import StrayCells, TableSchema
from kinlearn.optional import require
from kinlearn.tables.class_sets import ClassSets
from kinlearn.tables.columns import decimal_marks
from kinlearn.tables.files import TableFile
from kinlearn.tables.hand_over import Answers, answer
from kinlearn.tables.input_check import InputCheck
from kinlearn.tables.output import table_writer

DECIMALS = 6
SEEN_BEFORE = (
    "most of these rows are rows the model was trained on, which it answers better than new ones: "
    "how good it is on new ones is what its report says."
)
ANSWER, HAND_OVER = "answer", "hand over"
# Kernel values held at one time while scoring, in MB.
SCORING_MEMORY_MB = 32


@dataclass
class Scored:
    """What was answered.

    Attributes
    ----------
    n_rows : int
        Rows written.
    n_answered : int
        Rows (for labels: row and label pairs) answered.
    n_handed_over : int
        Those put aside for a person.
    classes : Counter
        How often each class (for labels: each label's yes) was predicted.
    reasons : Counter
        How often each reason for a hand-over was given.
    notes : list of str
        What was out of the ordinary, in sentences.
    inputs : dict
        Whether the rows are like those of the training; see :meth:`InputCheck.as_facts`.
    """

    n_rows: int = 0
    n_answered: int = 0
    n_handed_over: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    inputs: dict[str, Any] = field(default_factory=dict)


def score_file(
    model: Any,
    schema: TableSchema,
    facts: dict[str, Any],
    file: TableFile,
    out: Path,
    *,
    prefix: str = "",
    progress: Callable[[int], None] = lambda _: None,
    safe: bool = False,
    sets: ClassSets | None = None,
) -> Scored:
    """Write `file` to `out` with columns for class, probabilities, decision and its reason added.

    Parameters
    ----------
    model : Pipeline
        As :func:`kinlearn.tables.training.train` makes it.
    schema : TableSchema
        The columns it takes.
    facts : dict
        What the model file notes of its training: the rule for labels, and what rows were like.
    file : TableFile
        The table to answer; a target in it is kept and not looked at.
    out : Path
        Where to write, CSV, TSV or Parquet by its ending.
    prefix : str
        Put before the names of the new columns.
    progress : callable
        Called with the number of rows done.
    safe : bool
        Whether cells that a spreadsheet would take for formulas get a mark before them.
    sets : ClassSets, optional
        Gives every row a set of classes, too.

    Returns
    -------
    Scored
    """
    schema.check(file.names, str(file.path))
    schema, mark, marks = _own_decimal_mark(schema, file)
    strays, check = StrayCells(str(file.path)), InputCheck.of_model(facts)
    result = Scored()
    with table_writer(out, safe, like=file, decimal=mark) as writer:
        for batch in file.batches():
            frame = schema.frame(batch, strays)
            answers = answer(model, frame, facts.get("hand_over", {}), facts.get("inputs"))
            check.add(frame, answers.by_name())
            added = new_columns(answers, prefix)
            if sets is not None:
                added[f"{prefix}set"] = sets.in_words(answers)
            clash = [name for name in added if name in file.names]
            if clash:
                raise TableError(
                    f"{file.path} already has the column{'s' if len(clash) > 1 else ''} "
                    f"{quoted(clash)}: give --prefix, such as --prefix kin_, to name the new ones "
                    "apart."
                )
            writer.write(_beside(batch, added))
            result.n_rows += batch.num_rows
            result.n_answered += int(answers.answered.sum())
            result.n_handed_over += int((~answers.answered).sum())
            result.classes.update(answers.counts())
            result.reasons.update(answers.reason[~answers.answered].tolist())
            progress(result.n_rows)
        if result.n_rows == 0:
            raise TableError(f"{file.path} is empty: it has column names but no rows below them.")
    result.notes = [*file.notes, *marks, *check.sentences(), *strays.sentences()]
    result.inputs = check.as_facts()
    if check.are_training_rows or _is_training_table(file, facts):
        result.notes.insert(0, SEEN_BEFORE)
    return result


def _is_training_table(file: TableFile, facts: dict[str, Any]) -> bool:
    return file.fingerprint() == facts["training"]["sha256"]


def _own_decimal_mark(schema: TableSchema, file: TableFile) -> tuple[TableSchema, str, list[str]]:
    """Numbers as the table at hand writes them, its decimal mark, and a word if it is another."""
    first = next(file.batches(), None)
    usual = {schema.rules_of(name).number_form.decimal for name in schema.numeric}
    if first is None or file.dialect is None or len(usual) != 1:
        return schema, ".", []
    found = decimal_marks(first, schema.rules, schema.numeric)
    if len(found) != 1 or found == usual:
        return schema, min(usual), []
    mark = found.pop()
    name = "comma" if mark == "," else "point"
    said = f"Numbers have a decimal {name} here and had none in training: they were read with it."
    return schema.with_decimal(mark), mark, [said]


def new_columns(answers: Answers, prefix: str) -> dict[str, NDArray]:
    """The columns added to a table, by name."""
    decision = np.where(answers.answered, ANSWER, HAND_OVER)
    proba = np.round(answers.proba, DECIMALS)
    if answers.is_labels:
        columns: dict[str, NDArray] = {}
        for t, name in enumerate(answers.names):
            columns[f"{prefix}predicted_{name}"] = np.where(answers.predicted[:, t], "yes", "no")
            columns[f"{prefix}p_{name}"] = proba[:, t]
            columns[f"{prefix}decision_{name}"] = decision[:, t]
            columns[f"{prefix}reason_{name}"] = answers.reason[:, t]
        return columns
    names = np.array(answers.names, dtype=object)
    return {
        f"{prefix}predicted": names[answers.predicted],
        **{f"{prefix}p_{name}": proba[:, k] for k, name in enumerate(answers.names)},
        f"{prefix}decision": decision,
        f"{prefix}reason": answers.reason,
    }


def _beside(batch: Any, added: dict[str, NDArray]) -> Any:
    arrow = require("pyarrow", "Writing a table")
    arrays = [
        arrow.array(values, arrow.float64())
        if values.dtype.kind == "f"
        else arrow.array(values.tolist(), arrow.string())
        for values in added.values()
    ]
    return arrow.RecordBatch.from_arrays(
        [*batch.columns, *arrays], names=[*batch.schema.names, *added]
    )
