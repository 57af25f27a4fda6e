"""The generator keeps what its knobs promise."""

from __future__ import annotations

import numpy as np
import pytest

from kinlearn.datasets import make_related_tasks


def test_sizes_balance_and_labels_follow_the_posterior():
    sizes = [4000, 2000, 1000]
    X, y, task, posterior = make_related_tasks(
        n_tasks=3,
        n_samples=sizes,
        n_classes=3,
        class_balance=[0.7, 0.2, 0.1],
        return_posterior=True,
        random_state=0,
    )
    assert X.shape == (7000, 5)
    assert np.bincount(task).tolist() == sizes
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    np.testing.assert_allclose(posterior.mean(axis=0), [0.7, 0.2, 0.1], atol=1e-6)
    np.testing.assert_allclose(np.bincount(y) / len(y), [0.7, 0.2, 0.1], atol=0.02)
    # The labels are drawn from the posterior: its own log-loss is its entropy, up to chance.
    chosen = np.log(posterior[np.arange(len(y)), y])
    entropy = (posterior * np.log(posterior)).sum(axis=1)
    assert abs((chosen - entropy).mean()) < 0.02


def posterior_correlation(relatedness):
    """Correlation over x of two tasks' probabilities, at points both tasks are asked about."""
    correlations = []
    for seed in range(20):
        _, _, task, posterior = make_related_tasks(
            n_tasks=2,
            n_samples=300,
            relatedness=relatedness,
            sharpness=0.5,
            return_posterior=True,
            random_state=_SamePoints(seed),
        )
        a, b = posterior[task == 0, 0], posterior[task == 1, 0]
        correlations.append(np.corrcoef(a, b)[0, 1])
    return np.mean(correlations)


class _SamePoints(np.random.RandomState):
    """Draws the same features for both tasks, so that their surfaces can be compared."""

    def normal(self, loc=0.0, scale=1.0, size=None):
        drawn = super().normal(loc, scale, size)
        if scale == 1.5:
            drawn[len(drawn) // 2 :] = drawn[: len(drawn) // 2]
        return drawn


def test_relatedness_is_the_correlation_of_the_surfaces():
    assert posterior_correlation(1.0) == pytest.approx(1.0, abs=1e-6)
    assert posterior_correlation(0.5) == pytest.approx(0.5, abs=0.2)
    assert abs(posterior_correlation(0.0)) < 0.2


def test_reversed_tasks_have_their_labels_turned():
    settings = {"n_tasks": 3, "n_samples": 50, "return_posterior": True, "random_state": 3}
    _, _, task, straight = make_related_tasks(**settings)
    _, _, _, turned = make_related_tasks(**settings, n_reversed=1)
    np.testing.assert_allclose(turned[task == 2], straight[task == 2, ::-1])
    np.testing.assert_allclose(turned[task < 2], straight[task < 2])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"relatedness": 1.5}, "relatedness must lie between 0 and 1, got 1.5"),
        ({"n_reversed": 9, "n_tasks": 4}, "n_reversed must lie"),
        ({"n_samples": [1, 2], "n_tasks": 3}, "names 2 sizes for n_tasks=3"),
        ({"class_balance": [1.0, -1.0]}, "one positive share"),
    ],
)
def test_wrong_knobs_are_sentences(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_related_tasks(**wrong)
