"""The watch of a process: takes what was answered, keeps sums, closes windows, takes labels."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.answering.answers import RowAnswers, joined
from kinlearn.answering.rows import Rows, together
from kinlearn.answering.served_model import ServedModel
from kinlearn.watch.expected import Usual, of_sums
from kinlearn.watch.feedback import added, advice, alarm_of, judged, sums_of
from kinlearn.watch.reference import new_window, usual_of
from kinlearn.watch.store import Store
from kinlearn.watch.windows import Window

log = logging.getLogger("kinlearn.watch")
TRAFFIC, FEEDBACK, TASK_FEEDBACK, REQUESTS = "traffic", "feedback", "feedback of ", "requests"
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
# Rows between two looks that are taken into windows; of more, the first ones.
MOST_TAKEN = 1000
# Cells that may wait for the next look.
_MOST_CELLS = 4_000_000
_MOST_TASKS = 200
# Rows of small requests that are looked at together.
_PIECE = 500


@dataclass(eq=False)
class _Model:
    served: ServedModel
    usual: Usual | None
    window: Window
    waiting: list[tuple[Rows, RowAnswers]] = field(default_factory=list)
    n_cells: int = 0
    sums: dict[str, Any] | None = None


class Watch:
    """Watches the models of one process.

    Parameters
    ----------
    store : Store
        Where numbers are kept.
    window_rows : int
        Rows of a window.
    most_taken : int, optional
        Rows that are taken into windows at each :meth:`flush`; all of them when left out.
    """

    def __init__(
        self, store: Store, window_rows: int = 500, most_taken: int | None = MOST_TAKEN
    ) -> None:
        self.store, self.window_rows, self.most_taken = store, window_rows, most_taken
        self._models: dict[tuple[str, str], _Model] = {}
        self._requests: dict[str, Any] = {}
        self._lock = Lock()
        self._flushing = Lock()

    # -- taking -----------------------------------------------------------------------------------

    def seen(self, path: str, status: int, seconds: float) -> None:
        """Note a request; quick, for it is on the way of each."""
        at = int(np.searchsorted(SECONDS, seconds))
        with self._lock:
            key = f"{path} {status}"
            known = self._requests.setdefault(
                key, {"count": 0, "seconds": 0.0, "bins": [0] * (len(SECONDS) + 1)}
            )
            known["count"] += 1
            known["seconds"] += seconds
            known["bins"][at] += 1

    def take(self, rows: Rows, found: RowAnswers) -> None:
        """Note what was answered; it is looked at later, by :meth:`flush`."""
        served = found.served
        key = (served.name, served.watched_as)
        with self._lock:
            model = self._models.get(key)
            if model is None:
                usual = usual_of(served)
                model = _Model(served, usual, new_window(served, usual))
                self._models[key] = model
            if model.n_cells < _MOST_CELLS:
                model.waiting.append((rows, found))
                model.n_cells += rows.size
            else:  # more than is looked at
                model.sums = added(model.sums, _traffic(rows, found))

    def flush(self, *, all_of_it: bool = False) -> None:
        """Bring everything to the store, and close the windows that are full.

        Parameters
        ----------
        all_of_it : bool
            Whether windows that are not full are closed too.
        """
        with self._flushing:
            with self._lock:
                requests, self._requests = self._requests, {}
                taken = []
                for model in self._models.values():
                    taken.append((model, model.sums, model.waiting))
                    model.sums, model.waiting, model.n_cells = None, [], 0
            if requests:
                self.store.add("", "", REQUESTS, requests)
            for model, sums, waiting in taken:
                waiting = _joined(waiting)
                for rows, found in waiting:
                    sums = added(sums, _traffic(rows, found))
                if sums is not None:
                    self.store.add(model.served.name, model.served.watched_as, TRAFFIC, sums)
                n_rows = 0
                for rows, found in waiting:
                    if self.most_taken is None or n_rows < self.most_taken:
                        self._into_window(model, rows, found)
                        n_rows += len(found)
                if all_of_it and model.window.n_rows:
                    self._close(model)

    def _into_window(self, model: _Model, rows: Rows, found: RowAnswers) -> None:
        start = 0
        while start < len(found):
            stop = start + self.window_rows - model.window.n_rows
            few, answers = rows.part(start, stop), found.part(start, stop)
            answered: NDArray[np.bool_] = np.all(np.atleast_2d(answers.answered.T), axis=0)
            tasks = tasks_of(model.served, few)
            model.window.add(
                few.X, answers.proba, answered, answers.familiarity, tasks, answers.predicted
            )
            if model.window.n_rows >= self.window_rows:
                self._close(model)
            start = stop

    def _close(self, model: _Model) -> None:
        name, version = model.served.name, model.served.watched_as
        content = self.store.put_window(name, version, model.window.closed)
        for alarm in content["alarms"]:
            log.info("Model %s: %s", name, alarm["sentence"])
        model.window = new_window(model.served, model.usual)

    # -- labels -----------------------------------------------------------------------------------

    def feedback(
        self,
        rows: Rows,
        found: RowAnswers,
        truth: NDArray[np.intp],
        ids: Sequence[str | None],
        before_commit: Any = None,
    ) -> tuple[int, dict[str, Any]]:
        """Take true labels; they are on disk when this returns.

        Parameters
        ----------
        rows, found : Rows and RowAnswers
            The rows and what the model says of them.
        truth : ndarray of shape (n,)
            Numbers of the true classes, -1 for one the model does not know.
        ids : list of str or None
            What names each label, so that it counts once however often it is sent.
        before_commit : callable, optional
            Given the connection and which rows are new, in the same transaction.

        Returns
        -------
        (int, dict)
            How many were new, and what all labels so far say of the model.
        """
        served = found.served
        name, version = served.name, served.watched_as
        with self.store.change() as base:
            fresh = np.array(self.store.new_ids(base, name, list(ids)), dtype=bool)
            if before_commit is not None:
                before_commit(base, fresh)
            if fresh.any():
                tasks = tasks_of(served, rows)
                proba, answers = found.proba[fresh], found.predicted[fresh]
                new = sums_of(proba, truth[fresh], answers)
                total = self.store.add_within(base, name, version, FEEDBACK, new)
                if tasks is not None:
                    self._by_task(base, served, tasks[fresh], proba, truth[fresh], answers)
                self._alarm(base, served, total)
            else:
                total = {}
        total = total or self.store.sums_of(name, version).get(FEEDBACK, {})
        return int(fresh.sum()), (judged(total) if total else {})

    def _by_task(
        self,
        base: Any,
        served: ServedModel,
        tasks: NDArray,
        proba: NDArray[np.float64],
        truth: NDArray[np.intp],
        answers: NDArray[np.intp],
    ) -> None:
        for task in np.unique(tasks)[:_MOST_TASKS]:
            own = tasks == task
            new = sums_of(proba[own], truth[own], answers[own])
            kind = TASK_FEEDBACK + str(task)
            self.store.add_within(base, served.name, served.watched_as, kind, new)

    def _alarm(self, base: Any, served: ServedModel, sums: dict[str, Any]) -> None:
        side = alarm_of(sums)
        if side is None:
            return
        told = judged(sums)
        advised = self._advice(served, sums)
        sentence = (
            f"{told['observed_accuracy']:.1%} of {sums['rows']} labelled answers are right, where "
            f"{told['stated_accuracy']:.1%} were expected. {advised}"
        )
        self.store.alarm_within(base, served.name, served.watched_as, f"feedback {side}", sentence)

    # -- telling ----------------------------------------------------------------------------------

    def state(self, served: ServedModel) -> dict[str, Any]:
        """All that is known of a model in use, as plain values."""
        name, version = served.name, served.watched_as
        sums = self.store.sums_of(name, version)
        windows = self.store.windows(name, version)
        labels = sums.get(FEEDBACK)
        feedback: dict[str, Any] | None = None
        if labels is not None:
            feedback = {
                **judged(labels),
                "bins": labels["bins"],
                "alarm": alarm_of(labels),
                "advice": self._advice(served, labels) if alarm_of(labels) else None,
                "tasks": {
                    kind.removeprefix(TASK_FEEDBACK): judged(each)
                    for kind, each in sums.items()
                    if kind.startswith(TASK_FEEDBACK)
                },
            }
        usual = self.usual(served)
        return {
            **served.as_facts(),
            "classes": [str(each) for each in served.classes.tolist()],
            "usual_accuracy": None if usual is None else usual.accuracy,
            "traffic": sums.get(TRAFFIC),
            "expected": _latest(windows, sums.get(TRAFFIC), usual),
            "windows": windows,
            "feedback": feedback,
            "alarms": self.store.alarms(name, version),
        }

    def usual(self, served: ServedModel) -> Usual | None:
        """Probabilities of a model's training rows, held out."""
        key = (served.name, served.watched_as)
        with self._lock:
            model = self._models.get(key)
            if model is None:
                usual = usual_of(served)
                self._models[key] = model = _Model(served, usual, new_window(served, usual))
            return model.usual

    def _advice(self, served: ServedModel, sums: dict[str, Any]) -> str:
        usual = self.usual(served)
        classes = [str(each) for each in served.classes.tolist()]
        return advice(sums, classes, None if usual is None else usual.prior.tolist())


def _latest(
    windows: list[dict[str, Any]], traffic: dict[str, Any] | None, usual: Usual | None
) -> dict[str, Any] | None:
    """The accuracy expected now: of the last window, or else of all rows so far."""
    if windows:
        return dict(windows[-1]["expected"])
    if traffic is None:
        return None
    return vars(of_sums(traffic["stated"], traffic["variance"], traffic["answers"], usual))


def tasks_of(served: ServedModel, rows: Rows) -> NDArray | None:
    """The tasks of rows, as texts."""
    task = served.schema.task
    if task is None:
        return None
    ids = rows.task
    if ids is None:
        assert isinstance(rows.cells, dict)
        ids = rows.cells[task]
    return np.asarray([str(each) for each in ids], dtype=object).astype(str)


def _n_missing(column: NDArray) -> int:
    return int((column != column).sum())  # so are NaN and NaT alone


def _joined(waiting: list[tuple[Rows, RowAnswers]]) -> list[tuple[Rows, RowAnswers]]:
    """The same rows in fewer pieces: single rows take long when each is looked at alone."""
    found: list[tuple[Rows, RowAnswers]] = []
    few: list[tuple[Rows, RowAnswers]] = []
    n_few = 0
    for each in [*waiting, None]:
        if few and (each is None or n_few + len(each[1]) > _PIECE):
            rows, answers = zip(*few, strict=True)
            found.append((together(rows), joined(list(answers))))
            few, n_few = [], 0
        if each is not None:
            few.append(each)
            n_few += len(each[1])
    return found


def _traffic(rows: Rows, found: RowAnswers) -> dict[str, Any]:
    """What answered rows add to the sums."""
    sure = found.stated
    names = [str(each) for each in found.served.classes.tolist()]
    counts = (
        found.predicted.sum(axis=0)
        if found.served.is_labels
        else np.bincount(found.predicted, minlength=len(names))
    )
    given = found.reason.ravel().tolist()
    reasons = {reason: given.count(reason) for reason in set(given)}
    sums: dict[str, Any] = {
        "rows": len(found),
        "answers": int(sure.size),
        "stated": float(sure.sum()),
        "variance": float((sure * (1.0 - sure)).sum()),
        "classes": dict(zip(names, counts.tolist(), strict=True)),
        "reasons": reasons,
        "unseen": rows.unseen,
    }
    if isinstance(rows.cells, dict):
        gone = {name: _n_missing(column) for name, column in rows.cells.items()}
        sums["missing"] = {name: n for name, n in gone.items() if n}
    if found.familiarity is not None:
        low = float((found.familiarity < 0.1).sum())
        sums["familiar"] = {
            "rows": len(found), "sum": float(found.familiarity.sum()), "low": low,
        }  # fmt: skip
    return sums
