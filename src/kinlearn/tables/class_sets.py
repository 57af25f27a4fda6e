"""Sets of classes for the rows of a table, from what a stored model held out of its training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.refusals import TableError
from kinlearn.selection.conformal import conforming, own_scores
from kinlearn.tables.hand_over import Answers, bare_classifier

# Between the classes of a set; a cell that is empty is an empty set.
BETWEEN = " | "


@dataclass(frozen=True)
class ClassSets:
    """Sets that hold the true class in a share of cases.

    Attributes
    ----------
    coverage : float
        That share.
    scores : ndarray of shape (n,)
        ``1 - p`` of the recorded class of each training row, held out.
    """

    coverage: float
    scores: NDArray[np.float64]

    @classmethod
    def of_model(cls, model: Any, coverage: float) -> ClassSets:
        """Read what a model held out.

        Parameters
        ----------
        model : Pipeline
            As :func:`kinlearn.tables.training.train` makes it.
        coverage : float
            The share of rows whose set is to hold the true class.
        """
        if not 0.0 < coverage < 1.0:
            raise TableError(f"--sets is a share between 0 and 1, such as 0.9; got {coverage:g}.")
        classifier = bare_classifier(model)
        codes = getattr(classifier, "held_out_codes_", None)
        if codes is None:
            raise TableError(
                "This model does not know the answers it was trained on, as one from an older "
                "version: train it again for --sets."
            )
        if codes.ndim > 1:
            raise TableError("--sets is for one target: this model answers several yes/no labels.")
        proba = classifier.held_out_proba()
        known = ~np.isnan(proba).any(axis=1)
        return cls(coverage, own_scores(proba[known], codes[known]))

    def in_words(self, answers: Answers) -> NDArray[np.object_]:
        """The sets as texts, the most probable class first."""
        names = np.array(answers.names, dtype=object)
        inside = conforming([self.scores], [1.0 - answers.proba], self.coverage)
        order = np.argsort(-answers.proba, axis=1, kind="stable")
        texts = [
            BETWEEN.join(names[k] for k in row if own[k])
            for row, own in zip(order, inside, strict=True)
        ]
        return np.array(texts, dtype=object)
