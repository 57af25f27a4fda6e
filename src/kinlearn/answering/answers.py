"""What a model says of rows: probabilities, class, decision with its reason, familiarity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.answering.refusals import Refusal
from kinlearn.answering.rows import Rows
from kinlearn.answering.served_model import ServedModel
from kinlearn.estimators._both import numbers_of, proba_and_answers
from kinlearn.pipelines import before_last, last_step
from kinlearn.tables.scored_copy import ANSWER, HAND_OVER

UNSURE, UNFAMILIAR = "unsure", "unfamiliar"


@dataclass(frozen=True)
class RowAnswers:
    """Answers for rows of one model.

    Attributes
    ----------
    served : ServedModel
        Which model has answered.
    proba : ndarray of shape (n, c)
        Probability of each class, or of each label's yes.
    predicted : ndarray of shape (n,) or (n, c)
        Number of the class, or whether the label is a yes.
    answered : ndarray of bool, of the shape of `predicted`
        Whether the answer stands; else it is handed over.
    reason : ndarray of texts, of the shape of `predicted`
        ``"answer"``, or why not: unsure, unfamiliar or unknown task.
    familiarity : ndarray of shape (n,) or None
        None where it was not asked for, or cannot be told.
    """

    served: ServedModel
    proba: NDArray[np.float64]
    predicted: NDArray
    answered: NDArray[np.bool_]
    reason: NDArray
    familiarity: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.proba)

    def part(self, start: int, stop: int) -> RowAnswers:
        """Answers of some of the rows."""
        familiar = None if self.familiarity is None else self.familiarity[start:stop]
        return RowAnswers(
            self.served,
            self.proba[start:stop],
            self.predicted[start:stop],
            self.answered[start:stop],
            self.reason[start:stop],
            familiar,
        )

    def chosen(self, at: NDArray[np.intp]) -> RowAnswers:
        """Answers of some of the rows, by number."""
        return RowAnswers(
            self.served,
            self.proba[at],
            self.predicted[at],
            self.answered[at],
            self.reason[at],
            None if self.familiarity is None else self.familiarity[at],
        )

    @property
    def classes(self) -> NDArray:
        """The class of every row."""
        return self.served.classes[self.predicted]

    @property
    def stated(self) -> NDArray[np.float64]:
        """The probability of every answer that was given."""
        if self.served.is_labels:
            return np.where(self.predicted, self.proba, 1.0 - self.proba)
        return np.asarray(self.proba[np.arange(len(self)), self.predicted])

    @property
    def decisions(self) -> NDArray:
        """``"answer"`` or ``"hand over"``."""
        return np.where(self.answered, ANSWER, HAND_OVER)


def joined(parts: list[RowAnswers]) -> RowAnswers:
    """Answers of one model to parts of a request, as one."""
    if len(parts) == 1:
        return parts[0]
    familiar = [part.familiarity for part in parts if part.familiarity is not None]
    return RowAnswers(
        parts[0].served,
        np.concatenate([part.proba for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate([part.answered for part in parts]),
        np.concatenate([part.reason for part in parts]),
        np.concatenate(familiar) if len(familiar) == len(parts) else None,
    )


def answer_rows(served: ServedModel, rows: Rows, *, familiarity: bool = True) -> RowAnswers:
    """Answer rows, in one matrix product for each kernel.

    Without `familiarity` it is computed only where the hand-over rule asks for it.
    """
    if served.is_labels and served.from_table:
        return _labels(served, rows)
    X, rule = features_of(served, rows), served.rule
    given = {} if rows.task is None else {"task": rows.task}
    if rule is not None:
        found = rule.assess(X, **given)
        familiar = found.familiarity
        if familiar is None and familiarity and hasattr(last_step(rule.estimator_), "familiarity"):
            familiar = rule.familiarity(X)
        predicted = numbers_of(rule.classes_, found.predicted)
        return _finite(
            RowAnswers(served, found.proba, predicted, found.answered, found.reason, familiar), rows
        )
    proba, predicted, familiar = proba_and_answers(
        served.classifier, X, given, familiar=familiarity
    )
    if served.is_labels:
        predicted = predicted.astype(bool)
    answered = np.ones(predicted.shape, dtype=bool)
    reason = np.full(predicted.shape, ANSWER, dtype=object)
    return _finite(RowAnswers(served, proba, predicted, answered, reason, familiar), rows)


def features_of(served: ServedModel, rows: Rows) -> Any:
    """Rows as the last step of the model sees them."""
    if served.reader is not None and isinstance(rows.cells, dict):
        return served.reader.numbers(rows.cells)
    if served.from_table:  # cells are read already
        return served.model[1:-1].transform(rows.X)
    return before_last(served.model, rows.X)


def _labels(served: ServedModel, rows: Rows) -> RowAnswers:
    """Labels of a table, by the rule noted in the file."""
    X, last = features_of(served, rows), served.classifier
    rule = served.facts["hand_over"]
    proba, predicted, familiar = proba_and_answers(last, X, {}, familiar=True)
    assert familiar is not None
    known = (familiar >= rule["min_familiarity"])[:, None]
    sure = np.maximum(proba, 1.0 - proba) > rule["threshold"]
    reason = np.where(known, np.where(sure, ANSWER, UNSURE), UNFAMILIAR)
    predicted = predicted.astype(bool)
    return _finite(RowAnswers(served, proba, predicted, sure & known, reason, familiar), rows)


def _finite(found: RowAnswers, rows: Rows) -> RowAnswers:
    lost = ~np.isfinite(found.proba).all(axis=1)
    if lost.any():
        row = int(np.argmax(lost)) + 1
        raise Refusal(
            f"Row {row} holds numbers too large to compute with: give its columns in the units the "
            "model was trained with.",
            row=row,
        )
    return found
