"""All rows of a table, read batch by batch, for a model that was trained on drawn ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from kinlearn import HandOver
from kinlearn.cells.cell_rules import CellRules, objects
from kinlearn.estimators._more_rows import carries_on, over_all_rows
from kinlearn.tables.files import TableFile
from kinlearn.tables.hand_over import bare_classifier
from kinlearn.tables.targets import read_label_cells
from kinlearn.tables.training import (
    Progress,
    Trained,
    TrainingTable,
    Wishes,
    held_out_evaluation,
    rules_of_classes,
)


def train_on_all_rows(
    file: TableFile, trained: Trained, wishes: Wishes, progress: Progress = lambda _: None
) -> tuple[Trained, list[str]]:
    """Carry a model of drawn rows on over all rows of its table.

    Parameters
    ----------
    file : TableFile
        The table it was trained on.
    trained : Trained
        To some of its rows.
    wishes : Wishes
        As it was trained by.
    progress : callable
        Told how far it has come.

    Returns
    -------
    Trained
        Judged by the rows that were held out before, which have no part in it either; as it was
        where all rows would change nothing.
    list of str
        What came of it, in sentences.
    """
    table = trained.table
    known = table.sample.n_rows_in_file - table.n_without_answer
    if len(table.y) >= known:
        return trained, ["--all-rows changes nothing: all rows were trained on at once."]
    inner = bare_classifier(trained.model)
    if not carries_on(inner):
        why = getattr(inner, "polish_reason_", "")
        if getattr(inner, "tasks_", None) is not None:
            why = "The model is of tasks, which are polished in memory."
        said = f"--all-rows changes nothing: {why} All rows are gone over by a polish only."
        return trained, [said]
    reader = TableReader.of(trained, wishes)
    X, targets = trained.model[1:-1].transform(table.frame), reader.targets_of(table)
    found = over_all_rows(inner, X, targets, lambda: reader.batches(file), known, progress)
    last = trained.model[-1]
    name = trained.model.steps[-1][0]
    if isinstance(last, HandOver):
        found = last.around(found, X, table.y)
    model = Pipeline([*trained.model.steps[:-1], (name, found)])
    notes = [bare_classifier(model).polish_reason_]
    if reader.strange:
        notes.append(
            f"Rows of classes that no drawn row has are left out: {reader.strange} of them. A "
            "larger --max-rows draws such rows, too."
        )
    evaluation = held_out_evaluation(model, table)
    return replace(trained, model=model, evaluation=evaluation), notes


@dataclass
class TableReader:
    """Reads batches of a table as the training rows were read.

    Attributes
    ----------
    steps : Pipeline
        From cells to features.
    table : TrainingTable
    classes : list of str
        Classes; empty for labels.
    learnt : ndarray of bool
        Of labels, which vary.
    rules : CellRules
        For the cells of the answers.
    strange : int
        Rows, in the last pass, of classes that are not among these.
    """

    steps: Any
    table: TrainingTable
    classes: list[str]
    learnt: NDArray[np.bool_]
    rules: CellRules
    strange: int = field(default=0)

    @classmethod
    def of(cls, trained: Trained, wishes: Wishes) -> TableReader:
        schema, inner = trained.table.schema, bare_classifier(trained.model)
        classes = [] if schema.labels else [str(name) for name in inner.classes_]
        rules = rules_of_classes(schema.rules, schema.forms, wishes)
        steps = trained.model[1:-1]
        return cls(steps, trained.table, classes, inner.model_.labels.learnt, rules)

    def targets_of(self, table: TrainingTable) -> NDArray[np.float64]:
        """Of the rows that the model was trained on."""
        if table.schema.labels:
            return np.asarray(table.y[:, self.learnt], dtype=np.float64)
        return self._one_hot(table.y)[1]

    def batches(self, file: TableFile) -> Iterator[tuple[Any, NDArray[np.float64]]]:
        """Features and targets of all rows with an answer, from the beginning."""
        self.strange = 0
        for batch in file.batches():
            usable, targets = self._answers(batch)
            if not usable.any():
                continue
            frame = self.table.schema.frame(batch).loc[usable]
            yield self.steps.transform(frame), targets[usable]

    def _answers(self, batch: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        schema = self.table.schema
        if schema.labels:
            read = [
                read_label_cells(name, batch.column(name), self.rules) for name in schema.labels
            ]
            values = np.column_stack(read)[:, self.learnt]
            return np.asarray(~np.isnan(values).any(axis=1)), values
        texts = self.rules.texts(batch.column(str(schema.target)))
        usable, targets = self._one_hot(objects(texts))
        self.strange += int((texts.is_valid().to_numpy(zero_copy_only=False) & ~usable).sum())
        return usable, targets

    def _one_hot(self, y: NDArray) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        place = {name: k for k, name in enumerate(self.classes)}
        codes = np.array([place.get(name, -1) for name in y.tolist()], dtype=np.intp)
        targets = np.zeros((len(codes), len(self.classes)))
        usable = codes >= 0
        targets[usable, codes[usable]] = 1.0
        return usable, targets
