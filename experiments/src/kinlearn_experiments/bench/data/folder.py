"""Tables of the user's data folder that no loader of kinlearn reads."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets import DataFileMissing
from kinlearn.datasets._files import VARIABLE, data_folder

Floats = NDArray[np.float64]


def path_of(name: str) -> Path:
    """Path of a file below the folder."""
    folder = data_folder()
    if folder is None:
        raise DataFileMissing(f"Set {VARIABLE} to a folder that holds {name}.")
    return folder / name


@cache
def read_npz(name: str) -> tuple[Floats, NDArray[Any]]:
    """Rows and labels of an npz file."""
    with np.load(path_of(name), allow_pickle=False) as stored:
        return stored["X"].astype(np.float64), stored["y"]


@cache
def read_csv_one_hot(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Rows of a file of comma-separated values, categories one-hot; the last is the label."""
    lines = path_of(name).read_text().splitlines()
    table = np.array([line.split(", ") for line in lines if line.strip()])
    columns = []
    for values in table[:, :-1].T:
        try:
            columns.append(values.astype(np.float64)[:, None])
        except ValueError:
            columns.append((values[:, None] == np.unique(values)).astype(np.float64))
    return np.hstack(columns), np.unique(table[:, -1], return_inverse=True)[1].astype(np.int64)
