"""Splits of data in tasks: so many rows of each for training, all others for testing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn_experiments.bench.data.multitask import Tasks, landmine, office
from kinlearn_experiments.bench.data.multitask import vowel as vowels

__all__ = ["Tasks", "draw", "landmine", "office", "vowel"]


def vowel() -> Tasks:
    """Eleven vowels by fifteen speakers, features of one spread."""
    found = vowels()
    return found._replace(X=found.X / found.X.std(axis=0))


def draw(
    data: Tasks, n_train: int, seed: int, by_class: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training rows, `n_train` of each task (or of each class of each task), and all others."""
    rng = np.random.default_rng(seed)
    cells = data.task * (data.y.max() + 1) + data.y if by_class else data.task
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(cells == cell))[:n_train] for cell in np.unique(cells)]
    )
    return train, np.setdiff1d(np.arange(len(data.y)), train)
