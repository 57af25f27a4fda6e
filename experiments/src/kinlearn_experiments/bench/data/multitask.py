"""Multi-task sets: rows with a label and a task, few labels in each task."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from kinlearn.datasets import (
    load_landmine,
    load_office_caltech,
    load_vowel,
    make_related_tasks,
)
from kinlearn_experiments.bench.data.splits import codes_of, draw_per_group, standardised
from kinlearn_experiments.bench.problem import DataSet, Problem

TEST_ROWS = 4000


class Tasks(NamedTuple):
    """Rows, labels and task ids."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    task: NDArray[np.int64]


def draw(
    load: Callable[[int], Tasks],
    n_train: int,
    seed: int,
    *,
    by_class: bool = False,
    standardise: bool = True,
) -> Problem:
    """Draw `n_train` rows of each task, or of each class of each task; test rows by task."""
    data = load(seed)
    numbers = np.unique(data.y, return_inverse=True)[1]
    groups = data.task * (numbers.max() + 1) + numbers if by_class else data.task
    train, test = draw_per_group(groups, n_train, TEST_ROWS, seed)
    codes, truth, known = codes_of(data.y[train], data.y[test])
    test = test[known]
    X, X_test = data.X[train], data.X[test]
    if standardise:
        X, X_test = standardised(X, X_test)
    task = data.task[test]
    return Problem(
        (X, codes, data.task[train]),
        (X_test, task),
        [truth[task == t] for t in np.unique(task)],
        len(train),
    )


def related(seed: int, **params: Any) -> Tasks:
    """Generated tasks, anew for every seed."""
    X, y, task = make_related_tasks(n_samples=300, random_state=seed, **params)
    return Tasks(X, y, task)


def digit_pairs(seed: int) -> Tasks:
    """Is it the greater digit of the pair? Five tasks of two digits each."""
    X, y = load_digits(return_X_y=True)
    return Tasks(X, y % 2, y // 2)


def landmine(seed: int = 0, n_tasks: int = 17, reversed_tasks: tuple[int, ...] = (15, 16)) -> Tasks:
    """Seventeen minefields of mt-lspc, section 4.2: the last two with their labels reversed."""
    fields = load_landmine(n_tasks=n_tasks, reversed_tasks=reversed_tasks)
    return Tasks(fields.data, fields.target, fields.task)


def vowel(seed: int = 0) -> Tasks:
    """Eleven vowels by fifteen speakers."""
    vowels = load_vowel()
    return Tasks(vowels.data, vowels.target, vowels.task)


DOMAINS = tuple(
    f"office_caltech10/{name}_SURF_L10.mat" for name in ("amazon", "Caltech10", "dslr", "webcam")
)


def office(seed: int = 0) -> Tasks:
    """Ten objects photographed in four ways: square roots of the shares of 800 visual words."""
    objects = load_office_caltech()
    shares = objects.data / objects.data.sum(axis=1, keepdims=True)
    return Tasks(np.sqrt(shares), objects.target, np.unique(objects.task, return_inverse=True)[1])


def _generated(name: str, size: int, quick_size: int | None, about: str, **params: Any) -> DataSet:
    return DataSet(name, partial(draw, partial(related, **params)), size, quick_size, about)


DATA = (
    _generated("related", 30, 20, "generated, rows a task", n_tasks=8, relatedness=0.8),
    _generated(
        "related_reversed", 30, None, "one task reversed", n_tasks=8, relatedness=0.8, n_reversed=1
    ),
    _generated("related_classes", 40, None, "three classes", n_tasks=6, n_classes=3),
    _generated("unrelated", 30, None, "tasks that share little", n_tasks=8, relatedness=0.2),
    DataSet("digit_pairs", partial(draw, digit_pairs), 30, 20, "five pairs of digits, rows a task"),
    DataSet(
        "landmine",
        partial(draw, landmine),
        35,
        None,
        "17 minefields, two reversed, rows a task",
        ("landmine/LandmineData.mat",),
    ),
    DataSet(
        "vowel",
        partial(draw, vowel, by_class=True),
        2,
        None,
        "15 speakers, rows a vowel and speaker",
        ("single_task/vowel.npz",),
    ),
    DataSet(
        "office_caltech10",
        # Shares of words are of one scale as they are.
        partial(draw, office, by_class=True, standardise=False),
        3,
        None,
        "4 sources of pictures, rows a class and source",
        DOMAINS,
    ),
)
