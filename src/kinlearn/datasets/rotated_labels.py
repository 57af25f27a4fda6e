"""The toy of the multi-label paper: labels cut by lines that rotate in a plane."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array: TypeAlias = NDArray[np.float64]


def make_rotated_labels(
    n_samples: int = 300,
    n_labels: int = 20,
    n_features: int = 20,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Array, NDArray[np.int64]]:
    """Standard normal rows; label t is on when ``cos(2πt/T) x_1 + sin(2πt/T) x_2 > 0``.

    Section 5 of the multi-label paper (t = 1..T). Neighbouring labels agree on most rows, opposite
    ones exclude each other, and all but the first two features are noise.

    Parameters
    ----------
    n_samples, n_labels, n_features : int
        Rows, labels, features: 300, 20 and 20 in the paper.
    random_state : int, RandomState or None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_labels) of 0 and 1

    Examples
    --------
    >>> from kinlearn.datasets import make_rotated_labels
    >>> X, Y = make_rotated_labels(100, n_labels=4, random_state=0)
    >>> X.shape, Y.shape
    ((100, 20), (100, 4))
    >>> bool((Y[:, 3] == (X[:, 0] > 0)).all())
    True
    """
    if n_features < 2:
        raise ValueError(
            f"n_features must be at least 2, but it is {n_features}: the labels are cut in the "
            "plane of the first two features."
        )
    if n_labels < 1:
        raise ValueError(f"n_labels must be at least 1, but it is {n_labels}.")
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    angles = 2.0 * np.pi * np.arange(1, n_labels + 1) / n_labels
    return X, (X[:, :2] @ np.stack([np.cos(angles), np.sin(angles)]) > 0).astype(np.int64)
