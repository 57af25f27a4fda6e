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
from kinlearn.tables.files import TableFile
from kinlearn.tables.hand_over import Answers, answer
from kinlearn.tables.output import table_writer
from kinlearn.tables.pipeline import category_levels

DECIMALS = 6
ANSWER, HAND_OVER = "answer", "hand over"
# Kernel values held at one time while scoring, in MB.
SCORING_MEMORY_MB = 32
_MAX_REMEMBERED = 1000


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
    notes : list of str
        What was out of the ordinary, in sentences.
    """

    n_rows: int = 0
    n_answered: int = 0
    n_handed_over: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def score_file(
    model: Any,
    schema: TableSchema,
    hand_over: dict[str, Any],
    file: TableFile,
    out: Path,
    *,
    prefix: str = "",
    progress: Callable[[int], None] = lambda _: None,
) -> Scored:
    """Write `file` to `out` with columns for class, probabilities and decision added.

    Parameters
    ----------
    model : Pipeline
        As :func:`kinlearn.tables.training.train` makes it.
    schema : TableSchema
        The columns it takes.
    hand_over : dict
        The rule for labels, as stored with the model; empty for classes.
    file : TableFile
        The table to answer; a target in it is kept and not looked at.
    out : Path
        Where to write, CSV, TSV or Parquet by its ending.
    prefix : str
        Put before the names of the new columns.
    progress : callable
        Called with the number of rows done.

    Returns
    -------
    Scored
    """
    schema.check(file.names, str(file.path))
    strays, news = StrayCells(str(file.path)), NewCategories(category_levels(model, schema))
    result = Scored()
    with table_writer(out) as writer:
        for batch in file.batches():
            frame = schema.frame(batch, strays)
            news.add(frame)
            answers = answer(model, frame, hand_over)
            added = new_columns(answers, prefix)
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
            progress(result.n_rows)
        if result.n_rows == 0:
            raise TableError(f"{file.path} is empty: it has column names but no rows below them.")
    result.notes = [*news.sentences(schema.task), *strays.sentences()]
    return result


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
        return columns
    names = np.array(answers.names, dtype=object)
    return {
        f"{prefix}predicted": names[answers.predicted],
        **{f"{prefix}p_{name}": proba[:, k] for k, name in enumerate(answers.names)},
        f"{prefix}decision": decision,
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


class NewCategories:
    """Categories that training did not have: counted by column."""

    def __init__(self, known: dict[str, set[str]]) -> None:
        self.known = known
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in known}

    def add(self, frame: Any) -> None:
        """Count those of a batch."""
        for name, levels in self.known.items():
            found = frame[name].dropna()
            fresh = found[~found.isin(levels)]
            if len(fresh) and len(self.counts[name]) < _MAX_REMEMBERED:
                self.counts[name].update(fresh.tolist())

    def sentences(self, task: str | None) -> list[str]:
        """What to tell the user, and how such rows were answered."""
        said = []
        for name, counts in self.counts.items():
            if not counts:
                continue
            shown = quoted([value for value, _ in counts.most_common(3)], 3)
            how = (
                "answered by what all tasks share"
                if name == task
                else f"answered without help from {name!r}"
            )
            said.append(
                f"{counts.total()} rows have a value of {name!r} that training did not have "
                f"(such as {shown}): {how}."
            )
        return said
