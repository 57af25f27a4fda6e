"""Which answers are given, and which are put aside for a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn import HandOver
from kinlearn.cells.schema import TableSchema
from kinlearn.selection.hand_over import choose_threshold, independent_share
from kinlearn.tables.input_profile import NOTHING_KNOWN
from kinlearn.tables.reasons import (
    ANSWERED,
    FAR,
    NOTHING_PROVEN,
    UNKNOWN_TASK,
    strangest_cells,
    unlike,
    unsure,
)

# How sure the bound on the error is, and what share of usual rows counts as unfamiliar, for labels.
CONFIDENCE = 0.95
MIN_FAMILIARITY = 0.01


@dataclass(frozen=True)
class Answers:
    """Answers for rows of a table.

    Attributes
    ----------
    names : list of str
        Classes, or labels.
    proba : ndarray of shape (n, len(names))
        Probability of each class, or of each label's yes.
    predicted : ndarray of shape (n,) or (n, n_labels)
        Number of the class, or whether the label is a yes.
    answered : ndarray of bool, of the shape of `predicted`
        Whether the answer stands; else it is handed over.
    reason : ndarray of str, of the shape of `predicted`
        Why it is handed over; empty where it is not.
    """

    names: list[str]
    proba: NDArray[np.float64]
    predicted: NDArray
    answered: NDArray[np.bool_]
    reason: NDArray[np.object_]

    @property
    def is_labels(self) -> bool:
        return self.predicted.ndim == 2

    def by_name(self) -> dict[str, NDArray[np.float64]]:
        """The probabilities of each class, or of each label's yes."""
        return dict(zip(self.names, self.proba.T, strict=True))

    def counts(self) -> dict[str, int]:
        """How often each class, or each label's yes, was predicted."""
        if self.is_labels:
            found = self.predicted.sum(axis=0)
        else:
            found = np.bincount(self.predicted, minlength=len(self.names))
        return dict(zip(self.names, found.tolist(), strict=True))


def with_hand_over(
    classifier: Any, schema: TableSchema, max_error: float, per_task: bool = False
) -> Any:
    """The classifier with the rule that puts unsure rows aside; labels have theirs beside it."""
    if schema.labels:
        return classifier
    # The preprocessor puts the task's number first.
    column = None if schema.task is None else 0
    return HandOver(classifier, max_error=max_error, per_task=per_task, task_column=column)


def bare_classifier(model: Any) -> Any:
    """The fitted classifier inside a pipeline, without the hand-over rule around it."""
    last = model[-1]
    return last.estimator_ if isinstance(last, HandOver) else last


def label_rule(
    truth: NDArray[np.float64],
    proba: NDArray[np.float64],
    max_error: float,
    groups: NDArray | None = None,
) -> dict[str, float]:
    """One threshold for all labels, from held-out (row, label) pairs.

    The bound is on the error among answered pairs. Pairs of one row, or of one group of rows, count
    as the fewer the more they err together.
    """
    known = np.isfinite(truth) & np.isfinite(proba)
    row = np.arange(len(truth)) if groups is None else np.asarray(groups)
    together = np.broadcast_to(row[:, None], truth.shape)[known]
    p = proba[known]
    confidence = np.maximum(p, 1.0 - p)
    wrong = (p > 0.5) != (truth[known] == 1.0)
    share = independent_share(wrong, together)
    found = choose_threshold(confidence, wrong, max_error, 1.0 - CONFIDENCE, share)
    return {
        # JSON has no infinity; no confidence exceeds 1, so 1 answers nothing just as well.
        "threshold": min(found.value, 1.0),
        "max_error": max_error,
        "confidence": CONFIDENCE,
        "min_familiarity": MIN_FAMILIARITY,
    }


def answer(
    model: Any, frame: Any, rule: dict[str, Any], profile: dict[str, Any] | None = None
) -> Answers:
    """Answer rows that :meth:`TableSchema.frame` has made, so that the first step is done.

    Classes by the model's own rule, labels by the one stored beside it. By the `profile` of the
    training rows, rows with a cell far beyond them are handed over too, and columns are named.
    """
    X = model[1:-1].transform(frame)
    last = model[-1]
    strange, column = strangest_cells(frame, profile or NOTHING_KNOWN)
    near = strange <= FAR
    if isinstance(last, HandOver):
        found = last.assess(X)
        names = [str(name) for name in last.classes_]
        words = unsure(found.proba, names)
        if not (last.per_task or np.isfinite(last.threshold_)):
            words[:] = NOTHING_PROVEN
        words[found.reason == "unknown task"] = UNKNOWN_TASK
        odd = (found.reason == "unfamiliar") | ~near
        words[odd] = unlike(strange[odd], column[odd])
        answered = found.answered & near
        words[answered] = ANSWERED
        predicted = np.searchsorted(last.classes_, found.predicted)
        return Answers(names, found.proba, predicted, answered, words)
    proba = last.predict_proba(X)
    confidence = np.maximum(proba, 1.0 - proba)
    familiar = (last.familiarity(X) >= rule["min_familiarity"]) & near
    answered = (confidence > rule["threshold"]) & familiar[:, None]
    names = [str(name) for name in rule["labels"]]
    proven = rule["threshold"] < 1.0
    words = np.full(
        proba.shape, "unsure between no and yes" if proven else NOTHING_PROVEN, dtype=object
    )
    words[~familiar] = unlike(strange[~familiar], column[~familiar])[:, None]
    words[answered] = ANSWERED
    return Answers(names, proba, last.predict(X).astype(bool), answered, words)
