"""A worker that fits in the background: its last lesson is there at once, and tells its age."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Figures are left out while newer answers wait, but not for more changes than these.
OLDEST_FIGURES = 10


@dataclass(frozen=True)
class Answer:
    """A labelled row as the loop is told of it: its place among the rows to choose from."""

    place: int
    value: str
    how: str


class Loop(Protocol):
    """What learns: one exact fit for any list of answers."""

    def learn(self, answers: Sequence[Answer]) -> None:
        """Fit to these answers and no others."""
        ...

    def first(self, wishes: Wishes) -> dict[str, Any]:
        """The next rows and the model: fields of a :class:`Lesson`."""
        ...

    def rest(self, wishes: Wishes) -> dict[str, Any]:
        """Suspects and figures: the other fields, which nobody waits for."""
        ...


@dataclass(frozen=True)
class Wishes:
    """What the figures are for.

    Attributes
    ----------
    goal : float
        The accuracy to reach.
    max_error : float
        The error allowed among rows that are answered automatically.
    n_next : int
        How many rows to propose.
    closed : frozenset of int
        Places not to propose: put aside, or on somebody's page.
    """

    goal: float = 0.9
    max_error: float = 0.05
    n_next: int = 1
    closed: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Lesson:
    """What was known after so many changes; never changed itself.

    Rows and model come first; suspects and figures may be some changes older, and tell how many.

    Attributes
    ----------
    version : int
        The change it knows of.
    n_labels : int
        Labels it was learnt from.
    seconds : float
        What it took.
    next_rows : list of (int, str)
        Places to ask for next, and why each.
    model : object or None
        The fitted classifier; None before there are two classes.
    classes : list of str
        Of the columns of `held_out`.
    suspects : list of (int, float)
        Places whose label the others contradict, and how probable it is by them.
    held_out : dict of int to ndarray
        Probabilities of labelled rows by a model without them, by place.
    figures : dict
        For the panel.
    figures_version, figures_labels : int
        The change and the labels that suspects and figures know of.
    error : str
        Why nothing could be learnt.
    """

    version: int = 0
    n_labels: int = 0
    seconds: float = 0.0
    next_rows: list[tuple[int, str]] = field(default_factory=list)
    model: Any = None
    classes: list[str] = field(default_factory=list)
    suspects: list[tuple[int, float]] = field(default_factory=list)
    held_out: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    figures_version: int = 0
    figures_labels: int = 0
    error: str = ""


class Teacher:
    """A thread that always learns from the newest answers, and skips those in between.

    Parameters
    ----------
    loop : Loop
        What learns; used by this thread alone.
    wishes : Wishes
        What the figures are for.
    """

    def __init__(self, loop: Loop, wishes: Wishes) -> None:
        self.loop = loop
        self.last = Lesson()
        self.version = 0
        self._answers: tuple[Answer, ...] = ()
        self._wishes = wishes
        self._news = Condition()
        self._ended = False
        self._thread = Thread(target=self._work, name="kinlearn-label", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def tell(self, answers: Sequence[Answer], wishes: Wishes) -> int:
        """Say what holds now; return the number of this change."""
        with self._news:
            self._answers, self._wishes = tuple(answers), wishes
            self.version += 1
            self._news.notify_all()
            return self.version

    def wait(self, version: int, seconds: float) -> Lesson:
        """The newest lesson, after at most so long a wait for one that knows of this change."""
        with self._news:
            self._news.wait_for(lambda: self.last.version >= version or self._ended, seconds)
            return self.last

    def wait_for_figures(self, version: int, seconds: float) -> Lesson:
        """The newest lesson, after at most so long a wait for figures that know of this change."""
        with self._news:
            self._news.wait_for(
                lambda: self.last.figures_version >= version or self._ended, seconds
            )
            return self.last

    def end(self) -> None:
        """Stop after the fit at hand."""
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._ended or self.last.version < self.version)
                if self._ended:
                    return
                version, answers, wishes = self.version, self._answers, self._wishes
            self._learn(version, answers, wishes)

    def _learn(self, version: int, answers: tuple[Answer, ...], wishes: Wishes) -> None:
        started, n_labels = time.perf_counter(), len(answers)
        try:
            self.loop.learn(answers)
            first = self.loop.first(wishes)
            seconds = time.perf_counter() - started
            known: dict[str, Any] = {"version": version, "n_labels": n_labels, "error": ""}
            self._publish(replace(self.last, seconds=seconds, **known, **first))
            in_time = self.version == version
            if in_time or version - self.last.figures_version >= OLDEST_FIGURES:
                rest = {**self.loop.rest(wishes), "figures_version": version}
                self._publish(replace(self.last, figures_labels=n_labels, **rest))
        except Exception as error:  # the page must go on, whatever a fit says
            said = f"{type(error).__name__}: {error}"
            told = replace(self.last, version=version, n_labels=n_labels, error=said)
            self._publish(replace(told, figures_version=version))

    def _publish(self, lesson: Lesson) -> None:
        with self._news:
            self.last = lesson
            self._news.notify_all()
