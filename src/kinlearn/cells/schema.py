"""What a model knows of the tables it answers for: columns, kinds, and how cells are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinlearn.cells.cell_rules import MISSING, CellRules, objects
from kinlearn.cells.refusals import TableError, unknown_column
from kinlearn.cells.spelling import EXACT
from kinlearn.optional import require

# A numeric column in which more of a batch than this is no number is another column.
_MOSTLY_TEXT = 0.5


@dataclass(frozen=True)
class TableSchema:
    """The columns of a training table and their parts.

    Attributes
    ----------
    numeric, categorical : list of str
        Columns to learn from.
    target : str or None
        Column of classes.
    labels : list of str
        Columns of yes/no labels, in place of a target.
    task, group : str or None
        Column that names the task; column whose rows are held out together.
    missing, decimal
        As in :class:`kinlearn.cells.cell_rules.CellRules`.
    """

    numeric: list[str]
    categorical: list[str]
    target: str | None = None
    labels: list[str] = field(default_factory=list)
    task: str | None = None
    group: str | None = None
    missing: list[str] = field(default_factory=lambda: list(MISSING))
    decimal: str = "."

    @property
    def rules(self) -> CellRules:
        return CellRules(tuple(self.missing), self.decimal)

    @property
    def features(self) -> list[str]:
        """Columns the pipeline takes, the task first where there is one."""
        return [*([self.task] if self.task else []), *self.numeric, *self.categorical]

    def check(self, names: list[str], where: str) -> None:
        """Refuse a table that lacks a column the model needs."""
        for name in self.features:
            if name not in names:
                error = unknown_column(name, names, where)
                raise TableError(f"The model was trained with column {name!r}. {error}")

    def frame(self, batch: Any, notes: StrayCells | None = None) -> Any:
        """The features of a batch or table as a ``pandas.DataFrame``.

        Numbers are floats with NaN, categories are texts in their one spelling with NaN, so that
        the pipeline sees at prediction exactly what it saw in training.
        """
        pandas = require("pandas", "Reading a table")
        rules = self.rules
        columns: dict[str, Any] = {}
        for name in self.features:
            column = batch.column(name)
            column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            if name in self.numeric:
                columns[name], stray = rules.numbers(column)
                if notes is not None and stray.any():
                    notes.add(name, rules.texts(column), stray)
            else:
                _refuse_lost_digits(name, column)
                columns[name] = pandas.Series(objects(rules.texts(column)), dtype=object)
        return pandas.DataFrame(columns)

    def as_facts(self) -> dict[str, Any]:
        """Plain values, to be stored with a model."""
        return dict(vars(self))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> TableSchema:
        """The schema that :meth:`as_facts` stored."""
        return cls(**facts)


def _refuse_lost_digits(name: str, column: Any) -> None:
    """A reader that makes floats of long whole numbers merges categories."""
    arrow = require("pyarrow", "Reading a table")
    compute = require("pyarrow.compute", "Reading a table")
    if not arrow.types.is_floating(column.type):
        return
    values = column.cast(arrow.float64())
    finite = compute.if_else(compute.is_finite(values), values, arrow.scalar(0.0))
    largest = compute.max(compute.abs(finite)).as_py() or 0.0
    if largest >= EXACT:
        raise TableError(
            f"Column {name!r} holds {largest:.0f} as a float, which has lost its last digits, "
            f"where the model takes categories: read it as text, with dtype={{{name!r}: str}} in "
            "pandas.read_csv."
        )


class StrayCells:
    """Cells of numeric columns that hold no number: counted, and refused where they are many."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def add(self, name: str, texts: Any, stray: np.ndarray) -> None:
        """Count the stray cells of a batch."""
        example = str(texts[int(np.argmax(stray))].as_py())
        known = len(texts) - texts.null_count
        if stray.sum() > _MOSTLY_TEXT * known:
            raise TableError(
                f"Column {name!r} of {self.where} holds texts such as {example!r}, but the model "
                "was trained with numbers there. If such texts mean a missing value, leave the "
                "cells empty."
            )
        self.counts[name] = self.counts.get(name, 0) + int(stray.sum())
        self.examples.setdefault(name, example)

    def sentence_on(self, name: str) -> str:
        """What to tell the user about a column."""
        return (
            f"{self.counts[name]} cells of {name!r} hold no number (such as "
            f"{self.examples[name]!r}): they were answered as missing."
        )

    def sentences(self) -> list[str]:
        """What to tell the user."""
        return [self.sentence_on(name) for name in self.counts]
