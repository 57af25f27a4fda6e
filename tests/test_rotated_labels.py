import numpy as np
import pytest

from kinlearn.datasets import make_rotated_labels


def test_labels_are_cut_by_rotating_lines():
    X, Y = make_rotated_labels(500, n_labels=8, random_state=3)
    for t in range(1, 9):
        angle = 2 * np.pi * t / 8
        assert (Y[:, t - 1] == (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] > 0)).all()
    rho = np.corrcoef(Y.T)
    assert rho[0, 1] > 0.3
    assert rho[0, 4] < -0.9


def test_the_seed_decides():
    first, again = (make_rotated_labels(random_state=5)[0] for _ in range(2))
    assert (first == again).all()
    assert first.shape == (300, 20)


def test_too_small_requests_are_refused():
    with pytest.raises(ValueError, match="n_features must be at least 2"):
        make_rotated_labels(n_features=1)
    with pytest.raises(ValueError, match="n_labels must be at least 1"):
        make_rotated_labels(n_labels=0)
