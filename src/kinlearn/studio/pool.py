"""The rows to choose from, as the model sees them, and as they can be taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.refusals import TableError
from kinlearn.cells.schema import TableSchema
from kinlearn.optional import require
from kinlearn.studio.question import Question
from kinlearn.studio.rows import Rows
from kinlearn.tables.columns import features_of
from kinlearn.tables.pipeline import make_model

Floats = NDArray[np.float64]

# Rows to choose from: of a larger table as many are drawn evenly.
POOL_ROWS = 20_000
# Rows and labelled rows by which the importance of columns is told.
_TRIED = 16
_NEAREST = 2


@dataclass(frozen=True)
class Pool:
    """The rows to choose from.

    Attributes
    ----------
    places : ndarray of int
        Where they are held in the table.
    frame : DataFrame
        Their columns to learn from.
    steps : Pipeline
        From such a frame to what the model sees; fitted on all of them, without labels.
    X : ndarray
        What the model sees.
    task : ndarray or None
        Their tasks.
    """

    places: NDArray[np.intp]
    frame: Any
    steps: Any
    X: Floats
    task: NDArray | None

    @cached_property
    def where(self) -> dict[int, int]:
        """The number here of a row held at a place."""
        return {int(place): k for k, place in enumerate(self.places)}

    def proba(self, model: Any, ks: NDArray[np.intp]) -> Floats:
        """Probabilities of rows, in the order of the model's classes."""
        task = {} if self.task is None else {"task": self.task[ks]}
        return np.asarray(model.predict_proba(self.X[ks], **task))

    def nearest(self, k: int, labelled: Sequence[int]) -> list[tuple[int, float]]:
        """The labelled rows that are most like row `k`, and how far they are."""
        others = np.array([j for j in labelled if j != k], dtype=np.intp)
        if others.size == 0:
            return []
        apart = np.sqrt(((self.X[others] - self.X[k]) ** 2).sum(axis=1))
        order = np.argsort(apart, kind="stable")[:_NEAREST]
        return [(int(others[j]), float(apart[j])) for j in order]

    def what_matters(self, model: Any, k: int, column: int) -> list[tuple[str, float]]:
        """By how much each column moves the probability of one class for row `k`.

        The probability as it is, less its mean with the column's cell replaced by those of other
        rows; largest first.
        """
        names = list(self.frame.columns)
        others = self._others
        tried = [self.frame.iloc[[k]]]
        for name in names:
            changed = self.frame.iloc[np.full(len(others), k)].reset_index(drop=True)
            changed[name] = self.frame[name].iloc[others].to_numpy()
            tried.append(changed)
        proba = self._proba(model, tried, k)[:, column]
        means = proba[1:].reshape(len(names), len(others)).mean(axis=1)
        found = list(zip(names, (proba[0] - means).tolist(), strict=True))
        return sorted(found, key=lambda one: -abs(one[1]))

    def _proba(self, model: Any, frames: list[Any], k: int) -> Floats:
        pandas = require("pandas", "Reading a table")
        X = self.steps.transform(pandas.concat(frames, ignore_index=True))
        task = None if self.task is None else np.full(len(X), self.task[k], dtype=object)
        return np.asarray(model.predict_proba(X, **({} if task is None else {"task": task})))

    @cached_property
    def shuffled(self) -> NDArray[np.intp]:
        """The rows in an order by chance, the same every time."""
        return np.random.default_rng(3).permutation(len(self.places))

    @cached_property
    def _others(self) -> NDArray[np.intp]:
        chosen = np.random.default_rng(0).permutation(len(self.places))[:_TRIED]
        return np.asarray(chosen, dtype=np.intp)

    def relevance(self, model: Any) -> list[str]:
        """Columns by how much they move probabilities on the whole, the most relevant first."""
        moved = dict.fromkeys(self.frame.columns, 0.0)
        for k in self._others[: _TRIED // 3]:
            proba = self._proba(model, [self.frame.iloc[[k]]], int(k))[0]
            for name, effect in self.what_matters(model, int(k), int(proba.argmax())):
                moved[name] += abs(effect)
        return sorted(moved, key=lambda name: -moved[name])


def make_pool(rows: Rows, schema: TableSchema, needed: Sequence[int]) -> Pool:
    """Draw the rows to choose from, with those that are needed, and prepare what the model sees."""
    everything = np.arange(rows.n_rows)
    if rows.n_rows > POOL_ROWS:
        drawn = np.random.default_rng(1).permutation(rows.n_rows)[:POOL_ROWS]
        everything = np.union1d(drawn, np.asarray(needed, dtype=np.intp)).astype(np.intp)
    table = rows.sample.table.take(everything)
    alone = TableSchema(
        schema.numeric, schema.categorical, missing=schema.missing, decimal=schema.decimal
    )
    frame = alone.frame(table)
    steps = make_model(alone, "passthrough")[:-1]
    X = np.asarray(steps.fit_transform(frame), dtype=np.float64)
    task = None
    if schema.task is not None:
        texts = schema.rules.texts(table[schema.task].combine_chunks())
        task = np.array([text or "(missing)" for text in texts.to_pylist()], dtype=object)
    return Pool(everything, frame, steps, X, task)


def schema_of(rows: Rows, question: Question) -> TableSchema:
    """The columns that the table is learnt from."""
    kinds = features_of(rows.columns)
    if not any(kinds.values()):
        raise TableError(
            f"No column of {rows.file.path} is fit to learn from: ids, dates, free text and "
            "columns with the same value everywhere are left out. Add one that tells rows apart."
        )
    return TableSchema(
        numeric=kinds["numeric"],
        categorical=kinds["categorical"],
        target=question.target or None,
        labels=question.columns if question.several else [],
        task=question.task,
        missing=list(rows.rules.missing),
        decimal=rows.rules.decimal,
    )
