"""As many handwritten digits as a measurement wants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits


def enlarged_digits(
    n_rows: int, seed: int = 0, noise: float = 0.05
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return `n_rows` standardised digits; beyond the 1797 there are, copies with small noise."""
    rng = np.random.RandomState(seed)
    X, y = load_digits(return_X_y=True)
    varies = X.std(axis=0) > 0
    X = (X[:, varies] - X[:, varies].mean(axis=0)) / X[:, varies].std(axis=0)
    times = -(-n_rows // y.size)
    order = np.concatenate([rng.permutation(y.size) for _ in range(times)])[:n_rows]
    X = X[order].copy()
    X[y.size :] += noise * rng.standard_normal((max(0, n_rows - y.size), X.shape[1]))
    return X, y[order]
