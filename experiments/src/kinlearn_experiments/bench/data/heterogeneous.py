"""Tasks whose features differ: one list of tables, few rows a class in each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets import (
    load_ar,
    load_digits_resolutions,
    load_orl,
    load_pie,
    make_heterogeneous_tasks,
)
from kinlearn_experiments.bench.data.splits import codes_of, draw_per_group
from kinlearn_experiments.bench.problem import DataSet, Problem

Lists = tuple[list[NDArray[np.float64]], list[NDArray[Any]]]
TEST_ROWS = 800
FACES = ("ar/AR_100_32x32.mat", "orl/orl_112x92.npz", "pie/PIE_pose27.mat")


def draw(load: Callable[[int], Lists], n_train: int, seed: int) -> Problem:
    """Draw `n_train` rows of every class of every task; all features are left as they are."""
    Xs, ys = load(seed)
    rows, codes, others, truth = [], [], [], []
    for X, y in zip(Xs, ys, strict=True):
        train, test = draw_per_group(y, n_train, TEST_ROWS, seed)
        numbers, true_numbers, known = codes_of(y[train], y[test])
        rows.append(X[train])
        codes.append(numbers)
        others.append(X[test][known])
        truth.append(true_numbers)
    return Problem((rows, codes), (others,), truth, sum(map(len, codes)))


def instruments(seed: int) -> Lists:
    """One latent world seen by three instruments."""
    return make_heterogeneous_tasks(
        n_features=(20, 100, 200), n_samples=400, noise=1.0, separation=0.8, random_state=seed
    )


def resolutions(seed: int) -> Lists:
    """Handwritten digits at three resolutions, no image in two of them."""
    return load_digits_resolutions(random_state=seed)


def faces(seed: int, people: int | None = None) -> Lists:
    """Three databases of faces, their images in fewer pixels than they come in.

    AR: 100 people, PIE: 68 people, both 16 × 16; ORL: 40 people, 28 × 23.
    """
    sets = []
    for load, pixels in ((load_ar, 2), (load_orl, 4), (load_pie, 2)):
        found = load()
        n, height, width = found.images.shape
        blocks = found.images.reshape(n, height // pixels, pixels, width // pixels, pixels)
        sets.append((blocks.mean(axis=(2, 4)).reshape(n, -1) / 255, found.target))
    kept = [np.isin(y, np.unique(y)[:people]) for _, y in sets]
    return (
        [X[mask] for (X, _), mask in zip(sets, kept, strict=True)],
        [y[mask] for (_, y), mask in zip(sets, kept, strict=True)],
    )


DATA = (
    DataSet("instruments", partial(draw, instruments), 5, 5, "generated, rows a class and task"),
    DataSet("instruments_few", partial(draw, instruments), 3, None, "generated, fewer rows"),
    DataSet("resolutions", partial(draw, resolutions), 5, 3, "digits of 16², 8² and 4² pixels"),
    DataSet("resolutions_more", partial(draw, resolutions), 10, None, "digits, more rows a class"),
    DataSet(
        "faces",
        partial(draw, partial(faces, people=40)),
        4,
        None,
        "AR, ORL and PIE, 40 people each, images a person",
        FACES,
    ),
)
