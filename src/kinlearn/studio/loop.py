"""The library's loop as the studio uses it: any list of answers in, one lesson out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn import ActiveLearner
from kinlearn.active.panel import Panel
from kinlearn.selection.hand_over import choose_threshold
from kinlearn.studio.lessons import Answer, Wishes
from kinlearn.studio.pool import Pool

# Rows by which the share that can be answered is told, and how sure the bound on their error is.
_JUDGED = 500
_RISK = 0.05
# With fewer rows drawn at random nothing is forecast.
LEAST_AUDIT = 4


class ActiveLoop:
    """An :class:`~kinlearn.ActiveLearner` that follows a list of answers.

    Where answers were only added or taken back at the end, the learner is told so; after any other
    change it begins anew, so that what it knows is always what these answers alone would teach.

    Parameters
    ----------
    make : callable
        Makes a learner that knows nothing.
    pool : Pool
        The rows to choose from.
    """

    def __init__(self, make: Callable[[], ActiveLearner], pool: Pool) -> None:
        self.make = make
        self.pool = pool
        self.learner = make()
        self.told: list[Answer] = []

    def learn(self, answers: Sequence[Answer]) -> None:
        """Know these answers and no others."""
        same = 0
        for old, new in zip(self.told, answers, strict=False):
            if old != new:
                break
            same += 1
        if same == len(answers):
            for _ in range(len(self.told) - same):
                self.learner.undo()
        else:
            if same < len(self.told):
                self.learner, same = self.make(), 0
            self.learner.replay([_entry(answer) for answer in answers[same:]])
        self.told = list(answers)

    def first(self, wishes: Wishes) -> dict[str, Any]:
        """The next rows and the model."""
        learner = self.learner
        next_rows: list[tuple[int, str]] = []
        while len(next_rows) < wishes.n_next:
            row = learner.ask(exclude=[*wishes.closed, *(row for row, _ in next_rows)])
            if row is None:
                break
            next_rows.append((row, learner._asked[row]))
        return {"next_rows": next_rows, "model": learner.model_}

    def rest(self, wishes: Wishes) -> dict[str, Any]:
        """Suspects and figures."""
        learner = self.learner
        classes = [str(name) for name in learner.classes_]
        suspects = learner.suspects()
        held_out = learner.held_out_proba()
        place = {row: k for k, row in enumerate(learner.labels)}
        column = {name: k for k, name in enumerate(classes)}
        return {
            "classes": classes,
            "suspects": [
                (row, float(held_out[place[row], column[str(learner.labels[row])]]))
                for row in suspects
            ],
            "held_out": {row: held_out[k] for row, k in place.items()},
            "figures": self._figures(wishes) if learner.model_ is not None else {},
        }

    def _figures(self, wishes: Wishes) -> dict[str, Any]:
        panel = self.learner.panel()
        curve = [point for point in panel.learning_curve if point[0] < panel.n_labels]
        return {
            "audit": panel.n_audit,
            "accuracy": list(panel.accuracy),
            "log_loss": list(panel.log_loss),
            "recall": [
                {"class": str(name), "recall": list(found), "labels": panel.labels_of[name]}
                for name, found in panel.recall.items()
            ],
            "curve": [
                {"labels": n, "accuracy": list(figure)}
                for n, figure in [*curve, (panel.n_labels, panel.accuracy)]
            ],
            "forecast": self._forecast(wishes.goal, panel),
            "answerable": self._answerable(wishes.max_error),
        }

    def _forecast(self, goal: float, panel: Panel) -> dict[str, Any] | None:
        """Labels to go, and whether further ones are worth it, each in a sentence."""
        if panel.n_audit < LEAST_AUDIT or len(panel.learning_curve) < 2:
            return None
        found = self.learner.forecast(goal)
        wanted = f"an accuracy of {100 * goal:.0f} %"
        range_ = f"{found.low} to {found.high} in four cases of five"
        said = f"About {_labels(found.more)} to reach {wanted}: {range_}."
        if found.more == 0:
            said = f"You have probably reached {wanted}."
            if found.high:
                said = f"{said[:-1]}; if not, {_labels(found.high)} should do."
        told = {"sentence": said, "changes": panel.can_stop, "stop": panel.settled}
        return {**found._asdict(), **told}

    def _answerable(self, max_error: float) -> dict[str, Any]:
        """The share of unlabelled rows that may be answered, by the audit's rows."""
        learner = self.learner
        labels, how = learner.labels, learner.how
        audited = np.array([how[row] == "audit" for row in labels], dtype=bool)
        held_out = learner.held_out_proba()[audited]
        names = learner.classes_.astype(str)
        truth = np.searchsorted(names, np.array([str(value) for value in labels.values()]))[audited]
        if not len(truth):
            return {"share": 0.0, "threshold": None, "max_error": max_error}
        wrong = held_out.argmax(axis=1) != truth
        threshold = choose_threshold(held_out.max(axis=1), wrong, max_error, _RISK).value
        rows, share = self._open_rows(labels), 0.0
        if rows.size:
            share = float((learner.predict_proba(rows).max(axis=1) > threshold).mean())
        return {
            "share": share,
            "threshold": float(threshold) if np.isfinite(threshold) else None,
            "max_error": max_error,
        }

    def _open_rows(self, labels: dict[int, Any]) -> NDArray[np.intp]:
        order = np.random.default_rng(2).permutation(len(self.pool.places))
        return np.array([row for row in order[: 2 * _JUDGED] if row not in labels][:_JUDGED], int)


def _labels(more: int) -> str:
    return f"{more} more {'label' if more == 1 else 'labels'}"


def _entry(answer: Answer) -> dict[str, Any]:
    return {"event": "tell", "rows": [answer.place], "y": [answer.value], "how": [answer.how]}
