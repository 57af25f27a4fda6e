"""Drawing splits: the same rows for every method, standardised by the training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn_experiments.bench.problem import LEAST_MEMBERS, most_rows

Floats = NDArray[np.float64]
Index = NDArray[np.intp]
TEST_ROWS = 2000


def standardised(train: Floats, *others: Floats) -> list[Floats]:
    """Centre and scale by the training rows; features constant in these are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.data.splits import standardised
    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[5.0, 5.0]]))
    [array([[-1.], [ 1.]]), array([[3.]])]
    """
    varies = np.ptp(train, axis=0) > 0
    mean, spread = train[:, varies].mean(axis=0), train[:, varies].std(axis=0)
    return [(rows[:, varies] - mean) / spread for rows in (train, *others)]


def draw_rows(y: NDArray[Any], n_train: int, seed: int) -> tuple[Index, Index]:
    """At most `n_train` rows, two thirds of all at most, and test rows from the others.

    Classes too rare among the training rows are left out there, for all methods alike.
    """
    n_train = min(n_train, most_rows(len(y)))
    order = np.random.RandomState(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + TEST_ROWS]
    classes, counts = np.unique(y[train], return_counts=True)
    return train[np.isin(y[train], classes[counts >= LEAST_MEMBERS])], test


def codes_of(
    y_train: NDArray[Any], y_test: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Class numbers by the training labels, and which test rows have a class seen in training."""
    classes = np.unique(y_train)
    known = np.isin(y_test, classes)
    numbers = np.searchsorted(classes, y_train).astype(np.int64)
    return numbers, np.searchsorted(classes, y_test[known]).astype(np.int64), known


def draw_per_group(
    groups: NDArray[Any], n_train: int, n_test: int, seed: int
) -> tuple[Index, Index]:
    """`n_train` rows of every group, and of the other rows at most `n_test`, at random."""
    rng = np.random.default_rng(seed)
    chosen, left = [], []
    for group in np.unique(groups):
        order = rng.permutation(np.flatnonzero(groups == group))
        chosen.append(order[:n_train])
        left.append(order[n_train:])
    others = rng.permutation(np.concatenate(left))
    return np.sort(np.concatenate(chosen)), np.sort(others[:n_test])
