"""Single-task sets: one table of rows, one label each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from kinlearn.bench.data.folder import read_csv_one_hot, read_npz
from kinlearn.bench.data.splits import codes_of, standardised
from kinlearn.bench.problem import DataSet, Problem
from kinlearn.datasets import (
    load_fashion_mnist,
    load_landmine,
    load_vowel,
    make_gaussian_mixture_toy,
)

Data = tuple[NDArray[np.float64], NDArray[Any]]
TEST_ROWS = 2000
SIZE, QUICK_SIZE = 300, 120
# A class needs members in all folds of a calibration inside all folds of a search.
LEAST_MEMBERS = 10


def draw(load: Callable[[], Data], n_train: int, seed: int) -> Problem:
    """Draw at most `n_train` rows, two thirds of all at most, and test rows from the others.

    Classes too rare among the training rows are left out, for all methods alike.
    """
    X, y = load()
    n_train = min(n_train, 2 * len(y) // 3)
    order = np.random.RandomState(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + TEST_ROWS]
    classes, counts = np.unique(y[train], return_counts=True)
    train = train[np.isin(y[train], classes[counts >= LEAST_MEMBERS])]
    codes, truth, known = codes_of(y[train], y[test])
    rows, others = standardised(X[train], X[test][known])
    return Problem((rows, codes), (others,), [truth], len(train))


def own(name: str) -> Data:
    """A set that comes with scikit-learn."""
    found: Data = getattr(datasets, f"load_{name}")(return_X_y=True)
    return found


def toy() -> Data:
    """The one-dimensional mixture of the LSPC paper."""
    return make_gaussian_mixture_toy(1500, random_state=0)


def fashion() -> Data:
    """The ten thousand test images of Fashion-MNIST."""
    X, y = load_fashion_mnist(subset="test", return_X_y=True)
    return X / 255.0, y


def _rows(load: Callable[..., Data]) -> Callable[[], Data]:
    return partial(load, return_X_y=True)


def _stored(name: str, file: str, load: Callable[[], Data], about: str) -> DataSet:
    return DataSet(name, partial(draw, load), SIZE, None, about, (file,))


def _npz(name: str, about: str, file: str | None = None) -> DataSet:
    path = file or f"single_task/{name}.npz"
    return _stored(name, path, partial(read_npz, path), about)


DATA = (
    DataSet(
        "iris", partial(draw, partial(own, "iris")), SIZE, QUICK_SIZE, "3 kinds of iris, 4 features"
    ),
    DataSet("wine", partial(draw, partial(own, "wine")), SIZE, QUICK_SIZE, "3 wines, 13 features"),
    DataSet(
        "breast_cancer",
        partial(draw, partial(own, "breast_cancer")),
        SIZE,
        QUICK_SIZE,
        "2 classes, 30",
    ),
    DataSet(
        "digits",
        partial(draw, partial(own, "digits")),
        SIZE,
        QUICK_SIZE,
        "10 digits of 8 × 8 pixels",
    ),
    DataSet(
        "gaussian_mixture", partial(draw, toy), SIZE, QUICK_SIZE, "toy of the LSPC paper, 1 feature"
    ),
    _npz("banana", "2 classes, 2 features"),
    _npz("magic", "gamma rays or hadrons, 10 features"),
    _stored(
        "adult",
        "single_task/adult.data",
        partial(read_csv_one_hot, "single_task/adult.data"),
        "income, categories one-hot",
    ),
    _stored("landmine", "landmine/LandmineData.mat", _rows(load_landmine), "6 % mines, 9 features"),
    _npz("shuttle", "7 very uneven classes, 9 features"),
    _npz("satimage", "6 kinds of soil, 36 features"),
    _npz("penbased", "10 digits by pen, 16 features"),
    _stored("vowel", "single_task/vowel.npz", _rows(load_vowel), "11 vowels, 10 features"),
    _stored(
        "fashion",
        "fashion_mnist/t10k-images-idx3-ubyte.gz",
        fashion,
        "10 kinds of clothes, 784 pixels",
    ),
)
