"""Single-task sets: one table of rows, one label each.

The sets named here are development sets: defaults were chosen on them. The tables of `tables.py`,
one half of which is held out, join them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from kinlearn.datasets import (
    load_fashion_mnist,
    load_landmine,
    load_vowel,
    make_gaussian_mixture_toy,
)
from kinlearn_experiments.bench.data import tables
from kinlearn_experiments.bench.data.folder import read_csv_one_hot, read_npz
from kinlearn_experiments.bench.data.splits import codes_of, draw_rows, standardised
from kinlearn_experiments.bench.problem import DataSet, Problem
from kinlearn_experiments.bench.roles import DEVELOPMENT

Data = tuple[NDArray[np.float64], NDArray[Any]]
SIZE, QUICK_SIZE = 300, 120


def draw(load: Callable[[], Data], n_train: int, seed: int) -> Problem:
    """Draw rows and standardise them by the training rows."""
    X, y = load()
    train, test = draw_rows(y, n_train, seed)
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


def fashion(subset: str = "test") -> Data:
    """Images of Fashion-MNIST, pixels between 0 and 1; ten thousand of them are for testing."""
    X, y = load_fashion_mnist(subset=subset, return_X_y=True)
    return X / 255.0, y


class Source(NamedTuple):
    """Where rows and labels come from."""

    load: Callable[[], Data]
    about: str
    file: str | None = None


def _npz(name: str, about: str) -> Source:
    path = f"single_task/{name}.npz"
    return Source(partial(read_npz, path), about, path)


ADULT = "single_task/adult.data"
SOURCES = {
    "iris": Source(partial(own, "iris"), "3 kinds of iris, 4 features"),
    "wine": Source(partial(own, "wine"), "3 wines, 13 features"),
    "breast_cancer": Source(partial(own, "breast_cancer"), "2 classes, 30"),
    "digits": Source(partial(own, "digits"), "10 digits of 8 × 8 pixels"),
    "gaussian_mixture": Source(toy, "toy of the LSPC paper, 1 feature"),
    "banana": _npz("banana", "2 classes, 2 features"),
    "magic": _npz("magic", "gamma rays or hadrons, 10 features"),
    "adult": Source(partial(read_csv_one_hot, ADULT), "income, categories one-hot", ADULT),
    "landmine": Source(
        partial(load_landmine, return_X_y=True),
        "6 % mines, 9 features",
        "landmine/LandmineData.mat",
    ),
    "shuttle": _npz("shuttle", "7 very uneven classes, 9 features"),
    "satimage": _npz("satimage", "6 kinds of soil, 36 features"),
    "penbased": _npz("penbased", "10 digits by pen, 16 features"),
    "vowel": Source(
        partial(load_vowel, return_X_y=True), "11 vowels, 10 features", "single_task/vowel.npz"
    ),
    "fashion": Source(
        fashion, "10 kinds of clothes, 784 pixels", "fashion_mnist/t10k-images-idx3-ubyte.gz"
    ),
}
# Rows and classes, known before anything is read.
EXTENTS = {
    "iris": (150, 3),
    "wine": (178, 3),
    "breast_cancer": (569, 2),
    "digits": (1797, 10),
    "gaussian_mixture": (3000, 2),
    "banana": (5300, 2),
    "magic": (19020, 2),
    "adult": (32561, 2),
    "landmine": (14820, 2),
    "shuttle": (58000, 7),
    "satimage": (6435, 6),
    "penbased": (10992, 10),
    "vowel": (990, 11),
    "fashion": (10000, 10),
}
DATA = (
    *(
        DataSet(
            name,
            partial(draw, source.load),
            SIZE,
            QUICK_SIZE if source.file is None else None,
            source.about,
            () if source.file is None else (source.file,),
            DEVELOPMENT,
            *EXTENTS[name],
        )
        for name, source in SOURCES.items()
    ),
    *tables.DATA,
)
