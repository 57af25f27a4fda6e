"""Data sets of the benchmarks: scikit-learn's own, and real ones under ``KINLEARN_DATA``.

Every set is numeric when it leaves here (categories one-hot) and is standardised by the training
rows of each split alone.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets

Data = tuple[np.ndarray, np.ndarray]


class Split(NamedTuple):
    """Standardised training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def data_folder() -> Path | None:
    """Return the folder ``KINLEARN_DATA`` names, if it is set and there."""
    folder = os.environ.get("KINLEARN_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def _file(*parts: str) -> Path:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("Set KINLEARN_DATA to the folder that holds the data sets.")
    return folder.joinpath(*parts)


def _npz(*parts: str) -> Data:
    with np.load(_file(*parts)) as stored:
        return stored["X"].astype(np.float64), stored["y"]


def _vowel() -> Data:
    X, y = _npz("single_task", "vowel.npz")
    return X[:, 3:], y  # the first columns are the part, the speaker and the speaker's sex


def _adult() -> Data:
    lines = _file("single_task", "adult.data").read_text().splitlines()
    table = np.array([line.split(", ") for line in lines if line.strip()])
    columns = []
    for values in table[:, :-1].T:
        try:
            columns.append(values.astype(np.float64)[:, None])
        except ValueError:
            columns.append((values[:, None] == np.unique(values)).astype(np.float64))
    return np.hstack(columns), (table[:, -1] == ">50K").astype(np.int64)


def _landmine() -> Data:
    from scipy.io import loadmat

    stored = loadmat(_file("landmine", "LandmineData.mat"))
    return (
        np.vstack([np.asarray(part, dtype=np.float64) for part in stored["feature"].ravel()]),
        np.concatenate([np.asarray(part).ravel() for part in stored["label"].ravel()]).astype(int),
    )


def _fashion() -> Data:
    folder = _file("fashion_mnist")
    images = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes())
    X = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784)
    return X / 255.0, np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)


OWN: dict[str, Callable[[], Data]] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
}
REAL: dict[str, Callable[[], Data]] = {
    "banana": lambda: _npz("single_task", "banana.npz"),
    "magic": lambda: _npz("single_task", "magic.npz"),
    "adult": _adult,
    "landmine": _landmine,
    "shuttle": lambda: _npz("single_task", "shuttle.npz"),
    "satimage": lambda: _npz("single_task", "satimage.npz"),
    "penbased": lambda: _npz("single_task", "penbased.npz"),
    "vowel": _vowel,
    "letter": lambda: _npz("single_task", "letterrecognition.npz"),
    "fashion": _fashion,
    "esc50": lambda: _npz("esc50", "esc50_features.npz"),
}


def names() -> list[str]:
    """Return the data sets that can be loaded here."""
    return [*OWN, *(REAL if data_folder() is not None else ())]


@cache
def load(name: str) -> Data:
    """Return all rows and labels of a data set."""
    X, y = (OWN | REAL)[name]()
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
    varies = np.ptp(X[train], axis=0) > 0
    mean, spread = X[train].mean(axis=0)[varies], X[train].std(axis=0)[varies]
    return Split(
        (X[train][:, varies] - mean) / spread,
        y[train],
        (X[test][:, varies] - mean) / spread,
        y[test],
    )


def enlarged_digits(n_rows: int, seed: int = 0, noise: float = 0.05) -> Data:
    """Return `n_rows` standardised digits; beyond the 1797 there are, copies with small noise."""
    rng = np.random.RandomState(seed)
    X, y = load("digits")
    varies = X.std(axis=0) > 0
    X = (X[:, varies] - X[:, varies].mean(axis=0)) / X[:, varies].std(axis=0)
    times = -(-n_rows // y.size)
    order = np.concatenate([rng.permutation(y.size) for _ in range(times)])[:n_rows]
    X = X[order].copy()
    X[y.size :] += noise * rng.standard_normal((max(0, n_rows - y.size), X.shape[1]))
    return X, y[order]
