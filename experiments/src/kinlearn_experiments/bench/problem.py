"""What a cell is made of: one split of a data set, a way to draw it, a method to fit on it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets._files import VARIABLE, data_folder
from kinlearn_experiments.bench.roles import DEVELOPMENT

Codes = NDArray[np.int64]
# Steps of training rows; a set takes part at a larger one only where that gives it more rows.
SIZES = (100, 400, 1500)
# A class needs members in all folds of a calibration inside all folds of a search.
LEAST_MEMBERS = 10
Blocks = list[NDArray[np.float64]]


def most_rows(rows: int) -> int:
    """Training rows that a split may take of so many: two thirds, the others are for testing."""
    return 2 * rows // 3


@dataclass(frozen=True)
class Problem:
    """One split: what ``fit`` and ``predict_proba`` get, and the truth.

    Attributes
    ----------
    train, test : tuple
        Arguments, which depend on the suite: rows and labels, rows, labels and tasks, and so on.
    truth : list of ndarray
        Class numbers of the test rows in blocks: one block, or one for each task or label.
    n_train : int
        Training rows.
    """

    train: tuple[Any, ...]
    test: tuple[Any, ...]
    truth: list[Codes]
    n_train: int


@dataclass(frozen=True)
class DataSet:
    """A data set and how splits are drawn from it.

    Attributes
    ----------
    name : str
    draw : callable of (size, seed) to Problem
    size : int
        Training size of the full run, in the unit that ``about`` names.
    quick_size : int or None
        The same for the quick run; None leaves the set out of it.
    about : str
        A few words for the list.
    files : sequence of str
        What it needs below ``KINLEARN_DATA``; empty for data that are always there.
    role : str
        One of `ROLES`: whether defaults were chosen on it.
    rows, classes : int or None
        Of the whole set, where its sizes are rows and may be asked for.
    """

    name: str
    draw: Callable[[int, int], Problem]
    size: int
    quick_size: int | None
    about: str
    files: Sequence[str] = ()
    role: str = DEVELOPMENT
    rows: int | None = None
    classes: int | None = None

    def takes(self, size: int) -> bool:
        """Whether the set has a place among those measured at so many training rows.

        It has not where a smaller size of `SIZES` already takes all the rows it can give, nor where
        its classes would be so small on average that many were left out as too rare.

        Examples
        --------
        >>> from kinlearn_experiments.bench.problem import DataSet
        >>> entry = DataSet("small", None, 400, None, "", rows=300, classes=2)
        >>> [size for size in (100, 400, 1500) if entry.takes(size)]
        [100, 400]
        """
        if self.rows is None or self.classes is None:
            return False
        most = most_rows(self.rows)
        below = max((step for step in SIZES if step < size), default=0)
        return most > below and 2 * min(size, most) >= 3 * LEAST_MEMBERS * self.classes

    def missing(self) -> str | None:
        """Say what is missing, or nothing if the set can be read here."""
        if not self.files:
            return None
        folder = data_folder()
        if folder is None:
            return f"set {VARIABLE} to a folder that holds {', '.join(self.files)}"
        absent = [name for name in self.files if not (folder / name).exists()]
        return f"{VARIABLE} lacks {', '.join(absent)}" if absent else None


@dataclass(frozen=True)
class Method:
    """A method and how it is tuned.

    Attributes
    ----------
    name : str
    make : callable of Problem to estimator
        Makes the estimator unfitted; it may look at the training rows, as for a grid of widths.
    tuning : str
        How it is tuned, in a few words.
    package : str or None
        The optional package it needs.
    install : str
        How to get that.
    """

    name: str
    make: Callable[[Problem], Any]
    tuning: str
    package: str | None = None
    install: str = 'pip install "kinlearn-experiments[bench]"'

    def missing(self) -> str | None:
        """Say how to get what is missing, or nothing if the method can run here."""
        if self.package is None or importlib.util.find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed ({self.install})"


@dataclass(frozen=True)
class Suite:
    """Data sets and methods of one kind of problem.

    Attributes
    ----------
    name, title : str
    ours : str
        The method that times are ratios to and that tests compare with.
    data, methods : sequence
    fit : callable of (estimator, Problem)
    predict : callable of (estimator, Problem) to one table of probabilities for each block
    sized : bool
        Whether sizes are training rows that may be asked for; figures of each are then told apart.
    """

    name: str
    title: str
    ours: str
    data: Sequence[DataSet]
    methods: Sequence[Method]
    fit: Callable[[Any, Problem], Any]
    predict: Callable[[Any, Problem], Blocks]
    sized: bool = False

    def data_set(self, name: str) -> DataSet:
        """The data set of that name."""
        return next(entry for entry in self.data if entry.name == name)

    def method(self, name: str) -> Method:
        """The method of that name."""
        return next(entry for entry in self.methods if entry.name == name)
