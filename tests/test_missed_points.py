"""Points that least squares leaves out of a stack, and log-loss has a use for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from kinlearn import LSPCCV
from kinlearn.selection import search
from kinlearn.selection.combine import worth_beside
from kinlearn.selection.links import fit_beta, smooth


@pytest.fixture
def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    targets = np.eye(3)[rng.integers(0, 3, 60)]
    scores = targets * rng.uniform(0.1, 1.0, (5, 60, 1)) + rng.normal(0, 0.5, (5, 60, 3))
    return scores, targets, rng.integers(1, 4, 60).astype(float)


def test_gains_are_those_of_a_newton_step_by_differences(points) -> None:
    scores, targets, weights = points
    mixed = scores[0] - scores[0].mean(axis=1, keepdims=True)
    beta, smoothed = fit_beta(mixed, targets, weights, 60), smooth(targets, 60)

    def loss(weight: float, q: np.ndarray) -> float:
        logs = log_softmax(beta * mixed + weight * q, axis=1)
        return float(-weights @ (smoothed * logs).sum(axis=1) + 0.5 * weight**2)

    h, expected = 1e-4, []
    for q in scores:
        down, here, up = loss(-h, q), loss(0.0, q), loss(h, q)
        slope, curvature = (up - down) / (2 * h), (up - 2 * here + down) / h**2
        expected.append(slope**2 / (2 * curvature) if slope < 0 else 0.0)
    worth = worth_beside(scores[0], targets, weights, 60)
    gains = np.array([worth(q) for q in scores])
    np.testing.assert_allclose(gains, expected, rtol=1e-4, atol=1e-6)
    assert gains[0] < 1e-6  # its weight is the best already, but for the prior
    assert gains[1:].max() > 1.0


def test_points_join_a_stack_that_has_a_use_for_them(monkeypatch) -> None:
    monkeypatch.setattr(search, "MATERIAL_LOSS", 1e-3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] + 0.5 * X[:, 3] > 0)
    kept = []
    for rounds in (0, search.ROUNDS_OF_MORE):
        monkeypatch.setattr(search, "ROUNDS_OF_MORE", rounds)
        model = LSPCCV(kernel=["rbf", "laplacian"], metric=None, random_state=0).fit(X, y)
        kept.append(set(np.flatnonzero(model.weights_)))
        assert model.weights_.min() >= 0.0
        assert model.weights_.sum() == pytest.approx(1.0)
    assert kept[1] - kept[0]


def test_the_bound_on_blocks_holds_for_points_that_join(monkeypatch) -> None:
    monkeypatch.setattr(search, "MATERIAL_LOSS", 0.0)
    monkeypatch.setattr(search, "MOST_BLOCKS", 4)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    model = LSPCCV(random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    assert len(model.kept_sigmas_) <= 4
