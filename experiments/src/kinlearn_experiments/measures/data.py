"""Splits of one table: scikit-learn's own sets, and real ones under ``KINLEARN_DATA``.

Every set is standardised by the training rows of each split alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets import load_esc50
from kinlearn.datasets._files import data_folder
from kinlearn_experiments.bench.data.folder import read_npz
from kinlearn_experiments.bench.data.single import SOURCES, Data
from kinlearn_experiments.bench.data.splits import standardised

MADE = "gaussian_mixture"
OWN = tuple(name for name, source in SOURCES.items() if source.file is None and name != MADE)
REAL: dict[str, Callable[[], Data]] = {
    **{name: source.load for name, source in SOURCES.items() if source.file is not None},
    "letter": partial(read_npz, "single_task/letterrecognition.npz"),
    "esc50": partial(load_esc50, return_X_y=True),
}


class Split(NamedTuple):
    """Standardised training and test rows."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]


def names() -> list[str]:
    """Return the data sets that can be loaded here."""
    return [*OWN, *(REAL if data_folder() is not None else ())]


@cache
def load(name: str) -> Data:
    """Return all rows and labels of a data set."""
    X, y = SOURCES[name].load() if name in SOURCES else REAL[name]()
    return np.asarray(X, dtype=np.float64), np.asarray(y)


def split(name: str, n_train: int, seed: int, n_test: int = 2000) -> Split:
    """Draw training rows (two thirds of all, if that is less) and test rows, standardised.

    Test rows of a class that no training row has are left out: no rule can be scored on those.
    """
    X, y = load(name)
    n_train = min(n_train, 2 * y.size // 3)
    order = np.random.RandomState(seed).permutation(y.size)
    train, test = order[:n_train], order[n_train : n_train + n_test]
    test = test[np.isin(y[test], y[train])]
    rows, others = standardised(X[train], X[test])
    return Split(rows, y[train], others, y[test])
