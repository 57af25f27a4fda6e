"""The loop of several yes/no labels: a learner for each, all told of the same rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn import LSPCCV, ActiveLearner
from kinlearn.studio.lessons import Answer, Wishes
from kinlearn.studio.loop import ActiveLoop
from kinlearn.studio.pool import Pool

Floats = NDArray[np.float64]


class LabelsModel:
    """What the learners of all labels say of a row, side by side.

    Attributes
    ----------
    classes_ : ndarray of str
        The labels.
    """

    def __init__(self, models: dict[str, Any]) -> None:
        self.models = models
        self.classes_ = np.array(list(models), dtype=object)

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probability of yes for every label; one half where nothing is known."""
        found = np.full((len(X), len(self.models)), 0.5)
        for k, model in enumerate(self.models.values()):
            if model is not None:
                found[:, k] = model.predict_proba(X)[:, list(model.classes_).index("yes")]
        return found


class LabelsLoop:
    """A learner for each label; they take turns in saying which row is asked next.

    All have the same random order of rows, so that a row drawn at random is so for each of them.

    Parameters
    ----------
    pool : Pool
        The rows to choose from.
    labels : list of str
        The labels.
    """

    def __init__(self, pool: Pool, labels: Sequence[str]) -> None:
        def make() -> ActiveLearner:
            return ActiveLearner(LSPCCV(random_state=0), pool.X, classes=["no", "yes"])

        self.loops = {name: ActiveLoop(make, pool) for name in labels}
        self._n_told = 0

    def learn(self, answers: Sequence[Answer]) -> None:
        """Know these answers and no others."""
        chosen = [(answer, json.loads(answer.value)) for answer in answers]
        for name, loop in self.loops.items():
            loop.learn([replace(a, value="yes" if name in yes else "no") for a, yes in chosen])
        self._n_told = len(answers)

    def first(self, wishes: Wishes) -> dict[str, Any]:
        """The next rows, by the label whose turn it is, and the models of all."""
        turn = list(self.loops.values())[self._n_told % len(self.loops)]
        models = {name: loop.learner.model_ for name, loop in self.loops.items()}
        known = any(model is not None for model in models.values())
        return {**turn.first(wishes), "model": LabelsModel(models) if known else None}

    def rest(self, wishes: Wishes) -> dict[str, Any]:
        """Suspects and figures."""
        found = {name: loop.rest(wishes) for name, loop in self.loops.items()}
        suspects: dict[int, float] = {}
        for one in found.values():
            for row, p in one["suspects"]:
                suspects[row] = min(p, suspects.get(row, 1.0))
        return {
            "classes": list(self.loops),
            "suspects": sorted(suspects.items(), key=lambda one: one[1]),
            "held_out": self._held_out(found),
            "figures": self._figures(
                {n: one["figures"] for n, one in found.items() if one["figures"]}
            ),
        }

    def _held_out(self, found: dict[str, dict[str, Any]]) -> dict[int, Floats]:
        rows: dict[int, Floats] = {}
        for k, one in enumerate(found.values()):
            for row, proba in one["held_out"].items():
                rows.setdefault(row, np.full(len(found), 0.5))[k] = proba[
                    one["classes"].index("yes")
                ]
        return rows

    def _figures(self, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Means over the labels; the intervals, too, for labels of one row go together."""
        if not known:
            return {}
        accuracy = np.mean([one["accuracy"] for one in known.values()], axis=0).tolist()
        audit = max(one["audit"] for one in known.values())
        return {
            "audit": audit,
            "accuracy": accuracy,
            "log_loss": np.mean([one["log_loss"] for one in known.values()], axis=0).tolist(),
            "recall": [
                {"class": name, "recall": one["accuracy"], "labels": self._n_told}
                for name, one in known.items()
            ],
            "curve": [],
            "forecast": None,
            "answerable": None,
        }
