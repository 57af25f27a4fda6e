"""Real data in tasks, read from the folder that ``KINLEARN_DATA`` names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from _data import _file


class Tasks(NamedTuple):
    """Rows, labels and task ids."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray


def landmine(n_tasks: int = 17, reversed_tasks: tuple[int, ...] = (15, 16)) -> Tasks:
    """Seventeen minefields of mt-lspc, section 4.2: the last two with their labels reversed."""
    from scipy.io import loadmat

    stored = loadmat(_file("landmine", "LandmineData.mat"))
    features = [np.asarray(part, dtype=np.float64) for part in stored["feature"].ravel()[:n_tasks]]
    labels = [np.asarray(part).ravel().astype(int) for part in stored["label"].ravel()[:n_tasks]]
    for t in reversed_tasks:
        labels[t] = 1 - labels[t]
    return Tasks(np.vstack(features), np.concatenate(labels), _ids(labels))


def vowel() -> Tasks:
    """Eleven vowels by fifteen speakers."""
    with np.load(_file("single_task", "vowel.npz")) as stored:
        X, y = stored["X"], stored["y"]
    # The first columns are the part, the speaker and the speaker's sex.
    return Tasks(X[:, 3:] / X[:, 3:].std(axis=0), y.astype(int), X[:, 1].astype(int))


def office() -> Tasks:
    """Ten objects photographed in four ways: square roots of the shares of 800 visual words."""
    from scipy.io import loadmat

    features, labels = [], []
    for name in ("amazon", "Caltech10", "dslr", "webcam"):
        stored = loadmat(_file("office_caltech10", f"{name}_SURF_L10.mat"))
        counts = stored["fts"].astype(np.float64)
        features.append(np.sqrt(counts / counts.sum(axis=1, keepdims=True)))
        labels.append(stored["labels"].ravel().astype(int))
    return Tasks(np.vstack(features), np.concatenate(labels), _ids(labels))


def draw(data: Tasks, n_train: int, seed: int, by_class: bool) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, `n_train` of each task (or of each class of each task), and all others."""
    rng = np.random.default_rng(seed)
    cells = data.task * (data.y.max() + 1) + data.y if by_class else data.task
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(cells == cell))[:n_train] for cell in np.unique(cells)]
    )
    return train, np.setdiff1d(np.arange(len(data.y)), train)


def _ids(parts: list[np.ndarray]) -> np.ndarray:
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])
