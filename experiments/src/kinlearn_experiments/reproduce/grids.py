"""Grids of the papers: those of MT-LSPC, which the others leave unstated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LAMBDAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
GAMMAS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
WIDTHS = (1 / 2, 2 / 3, 5 / 6, 1.0, 4 / 3, 5 / 3)


def median_distance(squared: NDArray[np.float64]) -> float:
    """Return the median distance between all pairs of rows; 1 where there is none above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.reproduce.grids import median_distance
    >>> median_distance(np.array([[0.0, 4.0], [4.0, 0.0]]))
    2.0
    """
    pairs = squared[np.triu_indices(len(squared), 1)]
    median = float(np.sqrt(np.median(pairs))) if pairs.size else 0.0
    return median if median > 0 else 1.0


def squared_distances(X: NDArray, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
    """Return squared Euclidean distances between some rows of X and others."""
    norms = np.einsum("ij,ij->i", X, X)
    squared = norms[rows, None] + norms[columns] - 2.0 * X[rows] @ X[columns].T
    return np.maximum(squared, 0.0)
