"""The four rules equal their equations, and beta is the minimum it claims to be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, softmax

from kinlearn import LSPC, LSPCCV
from kinlearn.datasets import gaussian_mixture_toy_posterior, make_gaussian_mixture_toy
from kinlearn.posterior import posterior, rounded
from kinlearn.selection.links import fit_beta, smooth
from naive.kernels import naive_kernel
from naive.lspc import naive_coefficients, one_hot
from naive.posterior import naive_beta, naive_raw, naive_rounded, naive_rounded_parameters


@pytest.fixture
def fitted(three_classes):
    X, y = three_classes
    K = naive_kernel("rbf", X, X, 0.5)
    return X, y, K, naive_coefficients(K, one_hot(y), 1e-4)


def lspc(rule, X, y, **settings):
    return LSPC(sigma=0.5, reg=1e-4, posterior=rule, **settings).fit(X, y)


def test_rounded_is_equation_6(fitted):
    X, y, K, A = fitted
    expected = naive_rounded(K, A)
    np.testing.assert_allclose(lspc("rounded", X, y).predict_proba(X), expected, atol=1e-8)


def test_rounded_parameters_is_equation_4(fitted):
    X, y, K, A = fitted
    Q = K @ np.maximum(0, A)
    model = lspc("rounded_parameters", X, y)
    expected = naive_rounded_parameters(K, A)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), Q, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), Q.argmax(axis=1))


def test_raw_is_equation_5_and_may_leave_the_unit_interval(fitted):
    X, y, K, A = fitted
    proba = lspc("raw", X, y).predict_proba(X)
    np.testing.assert_allclose(proba, naive_raw(K, A), atol=1e-7)
    assert proba.min() < 0


def test_calibrated_minimises_the_smoothed_log_loss_of_held_out_scores(fitted):
    X, y, K, A = fitted
    model = lspc("calibrated", X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), softmax(model.beta_ * (K @ A), axis=1), atol=1e-8
    )
    best = naive_beta(model.held_out_scores_, one_hot(y))
    assert model.beta_ == pytest.approx(best, rel=1e-5)


def test_predict_is_the_largest_score_under_every_rule(fitted):
    X, y, _, _ = fitted
    for rule in ("calibrated", "rounded", "rounded_parameters", "raw"):
        model = lspc(rule, X, y)
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_binary_decision_is_the_difference_of_scores(three_classes):
    X, y = three_classes
    y = np.where(y == 2, "b", "a")
    model = LSPC(posterior="raw").fit(X, y)
    proba = model.predict_proba(X)
    assert model.decision_function(X).shape == (60,)
    np.testing.assert_array_equal(model.predict(X) == "b", model.decision_function(X) > 0)
    np.testing.assert_array_equal(proba[:, 1] > proba[:, 0], model.decision_function(X) > 0)


def test_far_from_all_centers_the_fallback_answers(three_classes):
    X, y = three_classes
    y = np.where(np.arange(60) < 30, 0, y)
    far = np.full((1, 4), 1e6)
    uniform = lspc("rounded", X, y).predict_proba(far)
    prior = lspc("rounded", X, y, fallback="prior").predict_proba(far)
    np.testing.assert_allclose(uniform, [[1 / 3] * 3])
    np.testing.assert_allclose(prior, [np.bincount(y) / 60])
    np.testing.assert_allclose(lspc("raw", X, y, fallback="prior").predict_proba(far), prior)


def test_a_beta_that_could_not_be_had_rounds():
    scores = np.array([[0.3, 0.1], [-1.0, -1.0]])
    uniform = np.full(2, 0.5)
    np.testing.assert_array_equal(posterior(scores, "calibrated"), rounded(scores, uniform))


def test_scores_that_point_the_wrong_way_give_beta_zero():
    targets = np.eye(2)[[0, 1, 0, 1]]
    assert fit_beta(1.0 - targets, targets) == 0.0
    assert fit_beta(np.zeros((4, 2)), targets) == 0.0


@pytest.mark.parametrize("size", [-6.88607105e-258, 0.1, 1.0 / 3.0, 7e200])
def test_scores_that_are_alike_but_for_rounding_give_beta_zero(size):
    alike = np.full((12, 3), size)
    assert fit_beta(alike, np.eye(3)[[0] * 12]) == 0.0
    alike[:, 1] = np.nextafter(size, 1.0)
    assert fit_beta(alike, np.eye(3)[[1] * 12]) == 0.0


def test_separable_scores_keep_beta_finite():
    targets = np.eye(3)[np.arange(30) % 3]
    beta = fit_beta(targets, targets)
    # all rows alike: softmax(beta)·target must equal the smoothed target
    assert softmax([beta, 0, 0])[0] == pytest.approx(smooth(targets, 30)[0].max(), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    scores=arrays(np.float64, (12, 3), elements=st.floats(-1e3, 1e3)),
    labels=arrays(np.int64, 12, elements=st.integers(0, 2)),
    weights=arrays(np.float64, 12, elements=st.floats(0.01, 10)),
)
def test_beta_is_stationary_for_any_scores(scores, labels, weights):
    targets = np.eye(3)[labels]
    beta = fit_beta(scores, targets, weights)
    smoothed = smooth(targets, 12)

    def loss(b):
        return -(weights[:, None] * smoothed * log_softmax(b * scores, axis=1)).sum()

    assert np.isfinite(beta)
    assert beta >= 0
    for other in (0.0, 0.99 * beta, 1.01 * beta + 1e-9):
        assert loss(beta) <= loss(other) + 1e-9 * (1 + abs(loss(beta)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_toy_of_the_paper(seed):
    """Section 3.1 of lspc-new: rounding outputs follows the posterior, rounding parameters not."""
    X, y = make_gaussian_mixture_toy(random_state=seed)
    new, _ = make_gaussian_mixture_toy(random_state=100 + seed)
    truth = gaussian_mixture_toy_posterior(new)
    error = {}
    for rule in ("rounded", "rounded_parameters"):
        model = LSPCCV(cv=2, posterior=rule, kernel="rbf").fit(X, y)
        error[rule] = np.sqrt(np.mean((model.predict_proba(new) - truth) ** 2))
    assert error["rounded"] <= 0.07
    assert error["rounded_parameters"] >= 3 * error["rounded"]
