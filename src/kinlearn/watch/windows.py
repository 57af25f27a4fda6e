"""A window of rows: what arrived, what was answered, and how that differs from the training.

All tests of all windows of a stream together raise a false alarm in at most one stream of twenty,
however long it is: window k gets the part ``1 / ((k+1) log²(k+1))``, scaled to sum to one, of that
risk, and its tests share it evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.tables.input_check import NOTHING_KNOWN, InputCheck
from kinlearn.tables.shift_tests import counts_p, mean_p
from kinlearn.watch.expected import Expected, Usual, expected_accuracy

Floats = NDArray[np.float64]

FALSE_ALARMS = 0.05
_SUM = 2.11  # of 1 / ((k + 1) log²(k + 1)) over k ≥ 1
_OWN_TESTS = 2
_FAMILIARITY_BINS = 10
# Rows whose support tells what is usual.
_REFERENCE_ROWS = 500
# Smaller differences are not named, however sure they are.
_LEAST_MOVED = 0.1
_LEAST_DROP = 0.03


def risk_of(k: int, false_alarms: float = FALSE_ALARMS) -> float:
    """The part of the risk that window k gets, counted from 1.

    Examples
    --------
    >>> 0.02 < risk_of(1) < 0.03, sum(risk_of(k) for k in range(1, 10**4)) < 0.05
    (True, True)
    """
    return float(false_alarms / (_SUM * (k + 1) * np.log(k + 1) ** 2))


@dataclass(eq=False)
class Window:
    """Rows of one model as they arrive.

    Attributes
    ----------
    inputs : dict
        What the model remembers of its training rows; see
        :func:`kinlearn.tables.input_profile.profile_inputs`.
    classes : list of str
        Names of the columns of probabilities.
    usual : Usual or None
        Probabilities of the training rows, held out.
    task : str, optional
        The column of tasks.
    is_labels : bool
        Whether each column is a label of its own, so that rows have an answer for each.
    """

    inputs: dict[str, Any]
    classes: list[str]
    usual: Usual | None = None
    task: str | None = None
    is_labels: bool = False
    check: InputCheck = field(init=False)
    proba: list[Floats] = field(default_factory=list)
    familiarity: list[Floats] = field(default_factory=list)
    tasks: list[NDArray] = field(default_factory=list)
    predicted: list[NDArray] = field(default_factory=list)
    n_rows: int = 0
    n_handed_over: int = 0

    def __post_init__(self) -> None:
        self.check = InputCheck({**NOTHING_KNOWN, **self.inputs}, task=self.task)

    def add(
        self,
        frame: Any,
        proba: Floats,
        answered: NDArray[np.bool_],
        familiarity: Floats | None = None,
        tasks: NDArray | None = None,
        predicted: NDArray | None = None,
    ) -> None:
        """Take further rows; `predicted` are the answers, the most probable ones if left out."""
        self.n_rows += len(proba)
        if predicted is None:
            predicted = proba > 0.5 if self.is_labels else proba.argmax(axis=1)
        self.predicted.append(predicted.astype(np.intp))
        self.n_handed_over += int((~answered).sum())
        self.proba.append(proba)
        if familiarity is not None:
            self.familiarity.append(familiarity)
        if tasks is not None:
            self.tasks.append(tasks)
        columns = self.check.profile["columns"]
        answers = {name: proba[:, k] for k, name in enumerate(self.classes)}
        known = {name: p for name, p in answers.items() if name in self.check.profile["answers"]}
        self.check.add(frame if columns else proba, known)

    def closed(self, k: int, false_alarms: float = FALSE_ALARMS) -> dict[str, Any]:
        """What there is to say of the window, the k-th of its model, as plain values."""
        proba = np.concatenate(self.proba)
        level = risk_of(k, false_alarms)
        predicted = np.concatenate(self.predicted)
        found = expected_accuracy(self._of_answers(proba), self.usual, predicted.ravel())
        alarms = [
            {"kind": each.kind, "column": each.column, "sentence": each.sentence}
            for each in self.check.differences(level / 2)
            if each.alarming
        ]
        alarms += self._own_alarms(proba, found, level / 2 / _OWN_TESTS)
        familiar = np.concatenate(self.familiarity) if self.familiarity else np.zeros(0)
        return {
            "rows": self.n_rows,
            "handed_over": self.n_handed_over,
            "expected": vars(found),
            "tasks": self._by_task(proba, predicted),
            "classes": dict(zip(self.classes, proba.mean(axis=0).tolist(), strict=True)),
            "familiarity": _histogram(familiar).tolist(),
            "alarms": alarms,
        }

    def _of_answers(self, proba: Floats) -> Floats:
        """Probabilities of one answer in each row, of labels that of yes and no."""
        if not self.is_labels:
            return proba
        return np.column_stack([1.0 - proba.ravel(), proba.ravel()])

    def _by_task(self, proba: Floats, predicted: NDArray[np.intp]) -> dict[str, Any]:
        if not self.tasks:
            return {}
        tasks = np.concatenate(self.tasks).astype(str)
        return {
            str(name): vars(
                expected_accuracy(
                    self._of_answers(proba[tasks == name]),
                    answers=predicted[tasks == name].ravel(),
                )
            )
            for name in np.unique(tasks)[:200]
        }

    def _own_alarms(self, proba: Floats, found: Expected, level: float) -> list[dict[str, str]]:
        alarms = []
        if self.familiarity:
            seen = _histogram(np.concatenate(self.familiarity))
            usual = np.full(_FAMILIARITY_BINS, _REFERENCE_ROWS / _FAMILIARITY_BINS)
            low = seen[0] / seen.sum()
            if counts_p(usual, seen) < level and low > 0.1 + _LEAST_MOVED:
                alarms.append(
                    {
                        "kind": "familiarity",
                        "column": "",
                        "sentence": f"{low:.0%} of the rows are as unlike the training rows as one "
                        "in ten of these is.",
                    }
                )
        if self.usual is None:
            return alarms
        sure, now = self.usual.stated, proba[np.arange(len(proba)), np.concatenate(self.predicted)]
        spread = float(max(sure.std(), now.std()))
        p = mean_p(found.accuracy, found.n_rows, float(sure.mean()), len(sure), spread)
        drop = float(sure.mean()) - found.accuracy
        if p < level and drop > _LEAST_DROP:
            alarms.append(
                {
                    "kind": "expected accuracy",
                    "column": "",
                    "sentence": f"About {found.accuracy:.1%} of the answers are expected to be "
                    f"right, where it was {float(sure.mean()):.1%} for the training rows.",
                }
            )
        return alarms


def _histogram(values: Floats) -> Floats:
    edges = np.linspace(0.0, 1.0, _FAMILIARITY_BINS + 1)[1:-1]
    found = np.bincount(np.searchsorted(edges, values), minlength=_FAMILIARITY_BINS)
    return found.astype(np.float64)
