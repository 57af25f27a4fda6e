"""The toy problem of the LSPC-new paper against its densities."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from kinlearn.datasets import gaussian_mixture_toy_posterior, make_gaussian_mixture_toy
from naive.toy import naive_posterior


def test_posterior_is_bayes_rule():
    x = np.linspace(-8, 8, 401)
    found = gaussian_mixture_toy_posterior(x[:, None])
    np.testing.assert_allclose(found, naive_posterior(x), rtol=1e-10)


def test_posterior_is_right_far_out_where_the_densities_are_zero():
    found = gaussian_mixture_toy_posterior([[-1e4], [-50.0], [50.0], [1e4]])
    np.testing.assert_allclose(found[:, 1], 1.0)
    np.testing.assert_allclose(found[1:3, 0], 2 * np.exp(2 - 2 * 50), rtol=1e-10)
    np.testing.assert_array_equal(found[[0, 3], 0], 0.0)


def test_samples_follow_the_densities():
    X, y = make_gaussian_mixture_toy(n_per_class=40_000, random_state=0)
    assert X.shape == (80_000, 1)
    middle, sides = X[y == 1, 0], X[y == 2, 0]
    assert len(middle) == len(sides) == 40_000
    np.testing.assert_allclose([middle.mean(), middle.var()], [0, 1], atol=0.03)
    np.testing.assert_allclose([sides.mean(), sides.var()], [0, 5], atol=0.06)
    np.testing.assert_allclose((sides > 0).mean(), 0.5, atol=0.01)
    truth = gaussian_mixture_toy_posterior(X)
    # No other posterior has a lower expected log-loss than the true one.
    assert log_loss(y, truth) < min(
        log_loss(y, truth**p / (truth**p).sum(1)[:, None]) for p in (0.9, 1.1)
    )


def test_the_same_seed_gives_the_same_shuffled_samples():
    X, y = make_gaussian_mixture_toy(random_state=3)
    again, y_again = make_gaussian_mixture_toy(250, np.random.RandomState(3))
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert set(y[:20]) == {1, 2}


@pytest.mark.parametrize("n_per_class", [0, -1, 2.5, True, "many"])
def test_a_wrong_number_is_told(n_per_class):
    with pytest.raises(ValueError, match="n_per_class must be a whole number of at least 1; got"):
        make_gaussian_mixture_toy(n_per_class)


def test_more_than_one_feature_is_told():
    with pytest.raises(ValueError, match="the one feature of this toy problem; it has 2 columns"):
        gaussian_mixture_toy_posterior([[1.0, 2.0]])
