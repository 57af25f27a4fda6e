"""Which answers are given, and which are put aside for a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.tables.schema import TableSchema


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
    """

    names: list[str]
    proba: NDArray[np.float64]
    predicted: NDArray
    answered: NDArray[np.bool_]

    @property
    def is_labels(self) -> bool:
        return self.predicted.ndim == 2

    def counts(self) -> dict[str, int]:
        """How often each class, or each label's yes, was predicted."""
        if self.is_labels:
            found = self.predicted.sum(axis=0)
        else:
            found = np.bincount(self.predicted, minlength=len(self.names))
        return dict(zip(self.names, found.tolist(), strict=True))
