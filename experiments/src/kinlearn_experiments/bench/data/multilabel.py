"""Multi-label sets: rows that carry several yes/no labels each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_multilabel_classification

from kinlearn.datasets import load_esc50, load_multilabel, make_rotated_labels
from kinlearn_experiments.bench.data.splits import standardised
from kinlearn_experiments.bench.problem import DataSet, Problem

Data = tuple[NDArray[np.float64], NDArray[Any]]
TEST_ROWS = 1500
# A label needs members on either side in all folds of a calibration inside those of a search.
LEAST_MEMBERS = 10
# Rivals that fit every label alone would take a day on hundreds of them.
MOST_LABELS = 15
SIZE, QUICK_SIZE = 250, 100


def draw(load: Callable[[int], Data], n_train: int, seed: int) -> Problem:
    """Draw at most `n_train` rows, half of all at most; the most evenly split labels are kept."""
    X, Y = load(seed)
    n_train = min(n_train, len(X) // 2)
    order = np.random.RandomState(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + TEST_ROWS]
    on = Y[train].sum(axis=0, dtype=np.int64)  # of numbers without a sign, differences would wrap
    usable = (on >= LEAST_MEMBERS) & (n_train - on >= LEAST_MEMBERS)
    rows, others = standardised(X[train], X[test])
    even = np.argsort(np.abs(2 * on - n_train), kind="stable")
    kept = np.sort([label for label in even if usable[label]][:MOST_LABELS])
    labels = Y[:, kept].astype(np.int64)
    return Problem((rows, labels[train]), (others,), list(labels[test].T), n_train)


def rotated(seed: int) -> Data:
    """Labels that are half-planes turned step by step: section 5 of the multi-label paper."""
    return make_rotated_labels(1200, n_labels=10, random_state=seed)


def random_topics(seed: int) -> Data:
    """Bags of words with several topics each, scikit-learn's generator."""
    X, Y = make_multilabel_classification(
        1200, n_features=20, n_classes=8, n_labels=2, random_state=seed
    )
    return X, Y


def digit_properties(seed: int) -> Data:
    """What can be said of a handwritten digit: odd, five or more, prime, closed loop, triple."""
    X, y = load_digits(return_X_y=True)
    sets = ((1, 3, 5, 7, 9), (5, 6, 7, 8, 9), (2, 3, 5, 7), (0, 4, 6, 8, 9), (0, 3, 6, 9))
    return X, np.column_stack([np.isin(y, members) for members in sets])


def stored(name: str, seed: int) -> Data:
    """A set of the folder, the same for all seeds."""
    found: Data = (
        load_esc50("tags", return_X_y=True)
        if name == "esc50_tags"
        else load_multilabel(name, return_X_y=True)
    )
    return found


def _stored(name: str, about: str, file: str | None = None) -> DataSet:
    path = file or f"multilabel/{name}.npz"
    return DataSet(name, partial(draw, partial(stored, name)), SIZE, None, about, (path,))


DATA = (
    DataSet("rotated", partial(draw, rotated), SIZE, None, "toy of the paper, 10 labels"),
    DataSet("topics", partial(draw, random_topics), SIZE, QUICK_SIZE, "generated, 8 labels"),
    DataSet(
        "digit_properties", partial(draw, digit_properties), SIZE, QUICK_SIZE, "digits, 5 labels"
    ),
    _stored("emotions", "moods of music, 6 labels"),
    _stored("yeast", "genes, 14 labels"),
    _stored("scene", "pictures, 6 labels"),
    _stored("cal500", "tags of music, 15 of 174"),
    _stored("esc50_tags", "tags of sounds, 15 of 21 labels", "esc50/esc50_fsd_multilabel.npz"),
)
