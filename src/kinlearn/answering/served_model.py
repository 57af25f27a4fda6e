"""A model that answers for tables: loaded, with its columns, version and checksum, and checked."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kinlearn
from kinlearn import HandOver
from kinlearn.answering.ready import bare_classifier, make_ready
from kinlearn.archives.errors import KinFileError
from kinlearn.cells.schema import TableSchema
from kinlearn.cells.spelling import number_in
from kinlearn.encoding.read_cells import ReadCells
from kinlearn.encoding.table_features import TableFeatures
from kinlearn.pipelines import last_step
from kinlearn.tables.pipeline import encoders_of, task_names

TASK = "task"
_VERSION_LETTERS = 12
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model, what it takes, and which one it is.

    Attributes
    ----------
    name : str
        What clients call it.
    model : estimator
        As it was loaded.
    schema : TableSchema
        Its columns, by kind.
    checksum, version : str
        SHA-256 of the file, and the first letters of it.
    info : dict
        As :func:`kinlearn.model_info` has it.
    from_table : bool
        Whether ``kinlearn train`` made it, so that cells are read by rules of its own.
    named : bool
        Whether it was fitted to columns with names, and so takes a DataFrame.
    levels : dict of {str: set of str}
        Categories by column, as far as they are known.
    takes_missing : bool
        Whether cells may be missing.
    line : str
        Of a model that learns on: what all it becomes has in common.
    """

    name: str
    model: Any
    schema: TableSchema
    checksum: str
    info: dict[str, Any] = field(repr=False)
    from_table: bool = True
    named: bool = True
    levels: dict[str, set[str]] = field(default_factory=dict, repr=False)
    takes_missing: bool = True
    line: str = ""

    @property
    def watched_as(self) -> str:
        """What the watch knows it by: of a model that learns, all that it becomes together."""
        return self.line or self.version

    @property
    def version(self) -> str:
        return self.checksum[:_VERSION_LETTERS]

    @property
    def facts(self) -> dict[str, Any]:
        return self.info["facts"]

    @cached_property
    def numeric_marks(self) -> NDArray[np.float64]:
        """Numbers that mean a missing cell, such as -9."""
        marks = [number_in(text, self.schema.decimal) for text in self.schema.missing]
        return np.array([mark for mark in marks if mark is not None])

    @property
    def is_labels(self) -> bool:
        return bool(self.schema.labels)

    @property
    def classes(self) -> NDArray:
        """Classes, or names of labels, in the order of the columns of probabilities."""
        if self.is_labels:
            return np.array(self.schema.labels, dtype=object)
        return np.asarray(self.classifier.classes_)

    @property
    def classifier(self) -> Any:
        """The last step: a hand-over rule, or the bare classifier."""
        return last_step(self.model)

    @property
    def rule(self) -> HandOver | None:
        """The rule that puts unsure rows aside, if there is one."""
        last = self.classifier
        return last if isinstance(last, HandOver) else None

    @cached_property
    def reader(self) -> ReadCells | None:
        """What makes numbers of the cells of a table; None where its steps are somebody else's."""
        step = self.model.named_steps.get("columns") if self.from_table else None
        return ReadCells(step) if isinstance(step, TableFeatures) else None

    @property
    def is_matrix(self) -> bool:
        """Whether rows are plain numbers without names."""
        return not self.named and not self.from_table

    @cached_property
    def all_numbers(self) -> bool:
        """Whether every column is one of numbers."""
        return self.schema.features == self.schema.numeric

    @property
    def task_given_apart(self) -> bool:
        """Whether the task goes to the model beside the rows."""
        return self.schema.task is not None and not self.from_table

    def as_facts(self) -> dict[str, str]:
        """Which model has answered."""
        return {"model": self.name, "version": self.version, "checksum": self.checksum}


def checksum_of(path: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def stamp_of(path: Path) -> tuple[int, int, int]:
    """What changes when a file is replaced."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino


def load_served(path: Path | str, name: str | None = None, memory_mb: int = 64) -> ServedModel:
    """Load a model file and see whether it answers.

    Parameters
    ----------
    path : path
        The file.
    name : str, optional
        What to call it; the file's name without its ending when left out.
    memory_mb : int
        Bound on what one block of kernel values takes.

    Raises
    ------
    KinFileError
        When the file is no model, is damaged, or does not answer.
    """
    path = Path(path)
    for _ in range(3):
        before = stamp_of(path)
        checksum = checksum_of(path)
        info, model = kinlearn.model_info(path), kinlearn.load(path)
        if stamp_of(path) == before:
            break
    return made_served(model, info, checksum, name or path.stem, str(path), memory_mb)


def made_served(
    model: Any, info: dict[str, Any], checksum: str, name: str, where: str, memory_mb: int = 64
) -> ServedModel:
    """A served model of one that is loaded already, checked."""
    bare = bare_classifier(model)
    make_ready(model, memory_mb)
    facts = info["facts"]
    try:
        if "table" in facts:
            schema = TableSchema.from_facts(facts["table"])
            levels = _levels(model, schema)
            served = ServedModel(name, model, schema, checksum, info, levels=levels)
        else:
            served = _of_estimator(name, model, checksum, info, bare)
        check_itself(served)
    except KinFileError:
        raise
    except Exception as error:
        raise KinFileError(f"{where} cannot be served: it does not answer ({error}).") from None
    return served


def _levels(model: Any, schema: TableSchema) -> dict[str, set[str]]:
    """The categories every categorical column (and the task) had in training."""
    known: dict[str, set[str]] = {}
    if schema.categorical:
        encoder = encoders_of(model)["categories"][-1]
        for name, levels in zip(schema.categorical, encoder.categories_, strict=True):
            known[name] = {str(level) for level in levels}
    if schema.task is not None:
        known[schema.task] = set(task_names(model))
    return known


def _of_estimator(
    name: str, model: Any, checksum: str, info: dict[str, Any], bare: Any
) -> ServedModel:
    """Of an estimator or pipeline that was saved from Python."""
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"a {type(model).__name__} has no predict_proba")
    columns = info["features"]
    if not columns:
        raise ValueError("its tasks have columns of their own, and a service takes one table")
    task = None
    if getattr(bare, "tasks_", None) is not None and _task_column(model, bare) is None:
        task = TASK
    labels: list[str] = []
    if getattr(bare, "many_labels", False) and not bare.model_.labels.single:
        if not bare.model_.labels.indicator:
            raise ValueError("it answers for several columns of classes at once")
        labels = [str(each) for each in bare.model_.labels.names]
    dates = _date_columns(model)
    numeric = [c["name"] for c in columns if c["type"] != "category" and c["name"] not in dates]
    schema = TableSchema(
        numeric=numeric,
        categorical=[c["name"] for c in columns if c["type"] == "category"],
        dates=dates,
        labels=labels,
        task=task,
    )
    named = getattr(model, "feature_names_in_", None) is not None
    levels = {}
    if task is not None:
        levels[task] = {str(each) for each in bare.tasks_.tolist()}
    return ServedModel(name, model, schema, checksum, info, False, named, levels)


def _date_columns(model: Any) -> list[str]:
    """The columns that the first step of a pipeline reads as dates."""
    first = model.steps[0][1] if hasattr(model, "steps") else None
    return list(first.dates_) if isinstance(first, TableFeatures) else []


def _task_column(model: Any, bare: Any) -> Any:
    for each in (last_step(model), bare):
        if getattr(each, "task_column", None) is not None:
            return each.task_column
    return None


def check_itself(served: ServedModel) -> None:
    """Answer for a row made up, and for one with every cell missing."""
    from kinlearn.answering.answers import answer_rows
    from kinlearn.answering.rows import rows_of_columns

    example = {name: [value] for name, value in example_row(served).items()}
    found = answer_rows(served, rows_of_columns(served, example))
    if not np.isfinite(found.proba).all():
        raise ValueError("the probabilities of a plain row are no numbers")
    if not served.is_labels and not np.allclose(found.proba.sum(axis=1), 1.0, atol=1e-6):
        raise ValueError("the probabilities of a plain row do not sum to one")
    try:
        missing = {name: [None] for name in served.schema.features}
        answer_rows(served, rows_of_columns(served, missing))
    except Exception:
        object.__setattr__(served, "takes_missing", False)


def example_row(served: ServedModel) -> dict[str, Any]:
    """A row that the model could be asked about, made of what it knows of its columns.

    Cells of the training table are shown as far as its facts hold them: one a column.
    """
    noted = {
        column["name"]: column.get("example")
        for column in served.facts.get("training", {}).get("columns", [])
    }
    row: dict[str, Any] = {}
    for name in served.schema.features:
        if name in served.schema.numeric:
            row[name] = _number(noted.get(name), served.schema.decimal)
        elif name in served.schema.dates:
            row[name] = noted.get(name) or "2024-01-31"
        else:
            levels = sorted(served.levels.get(name, set()) - {"(missing)", "nan"})
            row[name] = noted.get(name) or (levels[0] if levels else "a")
    return row


def _number(text: Any, decimal: str) -> float:
    try:
        return float(str(text).replace(decimal, "."))
    except ValueError:
        return 0.0
