"""What a model knows of the tables it answers for: columns, kinds, and how cells are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinlearn.cells.cell_rules import MISSING, CellRules, objects
from kinlearn.cells.forms import form_as_facts, form_from_facts
from kinlearn.cells.refusals import TableError, columns_there, quoted, unknown_column
from kinlearn.cells.spelling import EXACT
from kinlearn.optional import require

# A column of numbers of which more than this is no number is another column, once so many cells
# have been seen: a row alone is answered as it would be among others.
_MOSTLY_TEXT = 0.5
ENOUGH = 20


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
    dates : list of str
        Columns of dates to learn from.
    forms : dict
        How the cells of a column are written, by its name, where that is out of the ordinary: what
        :func:`kinlearn.cells.forms.form_as_facts` makes.
    """

    numeric: list[str]
    categorical: list[str]
    target: str | None = None
    labels: list[str] = field(default_factory=list)
    task: str | None = None
    group: str | None = None
    missing: list[str] = field(default_factory=lambda: list(MISSING))
    decimal: str = "."
    dates: list[str] = field(default_factory=list)
    forms: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def rules(self) -> CellRules:
        """How cells are read, whatever their column."""
        return CellRules(tuple(self.missing), self.decimal)

    def rules_of(self, name: str) -> CellRules:
        """How the cells of a column are read."""
        form = form_from_facts(self.forms[name]) if name in self.forms else None
        return replace(self.rules, form=form, name=name)

    @property
    def features(self) -> list[str]:
        """Columns the pipeline takes, the task first where there is one."""
        first = [self.task] if self.task else []
        return [*first, *self.numeric, *self.dates, *self.categorical]

    def with_decimal(self, mark: str) -> TableSchema:
        """The same columns, the numbers of which are written with another decimal mark."""
        other = "." if mark == "," else ","
        forms = dict(self.forms)
        for name in self.numeric:
            form = self.rules_of(name).number_form
            if form.decimal != mark:
                own = replace(form, decimal=mark, thousands=other if form.thousands else "")
                forms[name] = form_as_facts(own)
        return replace(self, forms=forms)

    def check(self, names: list[str], where: str) -> None:
        """Refuse a table that lacks a column the model needs."""
        absent = [name for name in self.features if name not in names]
        if not absent:
            return
        if len(absent) == 1:
            error = unknown_column(absent[0], names, where)
            raise TableError(f"The model was trained with column {absent[0]!r}. {error}")
        raise TableError(
            f"The model was trained with columns {quoted(absent, 20)}, which {where} does not "
            f"have. {columns_there(names)}"
        )

    def frame(self, batch: Any, notes: StrayCells | None = None) -> Any:
        """The features of a batch or table as a ``pandas.DataFrame``.

        Numbers are floats with NaN, dates are of the type datetime64 with NaT, categories are texts
        in their one spelling with NaN, so that the pipeline sees at prediction exactly what it saw
        in training.
        """
        pandas = require("pandas", "Reading a table")
        columns: dict[str, Any] = {}
        for name in self.features:
            rules = self.rules_of(name)
            column = batch.column(name)
            column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            if name in self.numeric:
                columns[name], stray, other = rules.numbers_and_marks(column)
                if notes is not None:
                    _note(notes, name, column, rules, stray, "number")
                    notes.add_other_marks(name, column, rules, other)
            elif name in self.dates:
                columns[name], stray = rules.dates(column)
                if notes is not None:
                    _note(notes, name, column, rules, stray, "date")
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


def _note(
    notes: StrayCells, name: str, column: Any, rules: CellRules, stray: np.ndarray, due: str
) -> None:
    if stray.any():
        notes.add(name, rules.texts(column), stray, due)
    else:
        notes.saw(name, len(column) - column.null_count)


class StrayCells:
    """Cells that hold no number, or no date, where one is due: counted, refused where many.

    Parameters
    ----------
    where : str
        What to call the table.
    enough : int
        How many cells of a column must have been seen before it is refused.
    """

    def __init__(self, where: str, enough: int = ENOUGH) -> None:
        self.where = where
        self.enough = enough
        self.counts: dict[str, int] = {}
        self.known: dict[str, int] = {}
        self.examples: dict[str, str] = {}
        self.due: dict[str, str] = {}
        self.other_marks: dict[str, tuple[int, str]] = {}

    def saw(self, name: str, n_known: int) -> None:
        """Count cells that are not missing."""
        self.known[name] = self.known.get(name, 0) + n_known

    def add(self, name: str, texts: Any, stray: np.ndarray, due: str = "number") -> None:
        """Count the stray cells of a batch."""
        self.saw(name, len(texts) - texts.null_count)
        self.counts[name] = self.counts.get(name, 0) + int(stray.sum())
        self.examples.setdefault(name, str(texts[int(np.argmax(stray))].as_py()))
        self.due[name] = due
        known = self.known[name]
        if known >= self.enough and self.counts[name] > _MOSTLY_TEXT * known:
            raise TableError(
                f"Column {name!r} of {self.where} holds texts such as {self.examples[name]!r}, but "
                f"the model was trained with {due}s there. If such texts mean a missing value, "
                "leave the cells empty."
            )

    def add_other_marks(self, name: str, column: Any, rules: CellRules, other: np.ndarray) -> None:
        """Count the cells that were read by the decimal mark that training did not have."""
        if other.any():
            seen, example = self.other_marks.get(name, (0, ""))
            example = example or str(rules.as_written(column)[int(np.argmax(other))].as_py())
            self.other_marks[name] = (seen + int(other.sum()), example)

    def sentence_on(self, name: str) -> str:
        """What to tell the user about a column's stray cells."""
        return (
            f"{self.counts[name]} cells of {name!r} hold no {self.due[name]} (such as "
            f"{self.examples[name]!r}): they were answered as missing."
        )

    def sentence_on_marks(self, name: str) -> str:
        """What to tell the user about a column's decimal marks."""
        count, example = self.other_marks[name]
        return (
            f"{count} cells of {name!r} have another decimal mark than in training (such as "
            f"{example!r}): they were read by their own."
        )

    def sentences(self) -> list[str]:
        """What to tell the user."""
        marks = [self.sentence_on_marks(name) for name in self.other_marks]
        return [*(self.sentence_on(name) for name in self.counts), *marks]
