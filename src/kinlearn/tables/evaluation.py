"""Answers for rows the model had not seen: from its leave-one-out scores, or for a new table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kinlearn.selection.decisions import gains

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """Probabilities of rows that did not take part in them, and what these rows were.

    Attributes
    ----------
    classes : list of str
        Names of the classes.
    truth : ndarray of shape (n,)
        Number of each row's class.
    proba : ndarray of shape (n, n_classes)
        Probabilities.
    positions : ndarray of shape (n,)
        Numbers of the rows in their file, from 1.
    origin : str
        How the rows were kept apart, such as "leave-one-out".
    task : ndarray of str, shape (n,), optional
        Names of the rows' tasks.
    group : ndarray of shape (n,), optional
        Rows of one group go together in the bootstrap.
    pairs : bool
        Whether each entry is a row and one of its labels, which then stands as its task.
    costs : ndarray of shape (n_classes, n_classes), optional
        Cost of answering the row's class where the column's is true; else every error costs 1.
    """

    classes: list[str]
    truth: NDArray[np.intp]
    proba: Floats
    positions: NDArray[np.int64]
    origin: str
    task: NDArray | None = None
    group: NDArray | None = None
    pairs: bool = False
    costs: Floats | None = None

    @property
    def n_rows(self) -> int:
        return len(self.truth)

    @property
    def gains(self) -> Floats:
        """What decides, see :func:`kinlearn.selection.decisions.gains`: without costs `proba`."""
        return gains(self.proba, self.costs)

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Number of the class that is answered: of smallest expected cost."""
        return self.gains.argmax(axis=1)

    @property
    def likeliest(self) -> NDArray[np.intp]:
        """Number of the most probable class."""
        return self.proba.argmax(axis=1)

    @property
    def confidence(self) -> Floats:
        """Probability of the most probable class."""
        return self.proba.max(axis=1)

    @property
    def right(self) -> NDArray[np.bool_]:
        return self.predicted == self.truth

    @property
    def of_truth(self) -> Floats:
        """Probability given to the class that each row has."""
        return np.take_along_axis(self.proba, self.truth[:, None], axis=1)[:, 0]

    def part(self, mask: NDArray[np.bool_] | NDArray[np.intp]) -> Evaluation:
        """The rows where `mask` is true, or of these numbers, in their order."""
        return replace(
            self,
            truth=self.truth[mask],
            proba=self.proba[mask],
            positions=self.positions[mask],
            task=None if self.task is None else self.task[mask],
            group=None if self.group is None else self.group[mask],
        )

    def known(self) -> Evaluation:
        """Without the rows that were never held out."""
        return self.part(np.asarray(np.isfinite(self.proba).all(axis=1)))


@dataclass(frozen=True)
class LabelEvaluation:
    """As :class:`Evaluation`, for several yes/no labels a row.

    Attributes
    ----------
    labels : list of str
        Names of the labels.
    truth : ndarray of shape (n, n_labels)
        1, 0, or NaN where unknown.
    proba : ndarray of shape (n, n_labels)
        Probability of a yes.
    """

    labels: list[str]
    truth: Floats
    proba: Floats
    positions: NDArray[np.int64]
    origin: str
    group: NDArray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.truth)

    def known(self) -> LabelEvaluation:
        """Without the rows that were never held out."""
        mask = np.isfinite(self.proba).all(axis=1)
        return replace(
            self,
            truth=self.truth[mask],
            proba=self.proba[mask],
            positions=self.positions[mask],
            group=None if self.group is None else self.group[mask],
        )

    def label(self, number: int) -> Evaluation:
        """One label as a problem of two classes, over the rows where it is known."""
        seen = np.isfinite(self.truth[:, number])
        p = self.proba[seen, number]
        return Evaluation(
            classes=["no", "yes"],
            truth=self.truth[seen, number].astype(np.intp),
            proba=np.column_stack([1.0 - p, p]),
            positions=self.positions[seen],
            origin=self.origin,
            group=None if self.group is None else self.group[seen],
        )

    def pooled(self) -> Evaluation:
        """All known (row, label) pairs as one problem; pairs of a row go together."""
        row, column = np.nonzero(np.isfinite(self.truth))
        p = self.proba[row, column]
        return Evaluation(
            classes=["no", "yes"],
            truth=self.truth[row, column].astype(np.intp),
            proba=np.column_stack([1.0 - p, p]),
            positions=self.positions[row],
            origin=self.origin,
            task=np.array(self.labels, dtype=object)[column],
            group=row if self.group is None else self.group[row],
            pairs=True,
        )
