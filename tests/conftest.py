import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def three_classes(rng):
    """Sixty rows of four positive features in three overlapping classes."""
    y = np.repeat([0, 1, 2], 20)
    X = np.abs(rng.normal(size=(60, 4)) + y[:, None] * [1.0, 0.5, 0.0, -0.3] + 1.0)
    return X, y
