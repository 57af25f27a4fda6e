"""Real data in tasks, read from the folder that ``KINLEARN_DATA`` names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinlearn.datasets import load_landmine, load_office_caltech, load_vowel


class Tasks(NamedTuple):
    """Rows, labels and task ids."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray


def landmine(n_tasks: int = 17, reversed_tasks: tuple[int, ...] = (15, 16)) -> Tasks:
    """Seventeen minefields of mt-lspc, section 4.2: the last two with their labels reversed."""
    found = load_landmine(n_tasks=n_tasks, reversed_tasks=reversed_tasks)
    return Tasks(found.data, found.target, found.task)


def vowel() -> Tasks:
    """Eleven vowels by fifteen speakers."""
    found = load_vowel()
    return Tasks(found.data / found.data.std(axis=0), found.target, found.task)


def office() -> Tasks:
    """Ten objects photographed in four ways: square roots of the shares of 800 visual words."""
    found = load_office_caltech()
    shares = found.data / found.data.sum(axis=1, keepdims=True)
    return Tasks(np.sqrt(shares), found.target, np.unique(found.task, return_inverse=True)[1])


def draw(data: Tasks, n_train: int, seed: int, by_class: bool) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, `n_train` of each task (or of each class of each task), and all others."""
    rng = np.random.default_rng(seed)
    cells = data.task * (data.y.max() + 1) + data.y if by_class else data.task
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(cells == cell))[:n_train] for cell in np.unique(cells)]
    )
    return train, np.setdiff1d(np.arange(len(data.y)), train)
