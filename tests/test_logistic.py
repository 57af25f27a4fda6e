"""Kernel logistic regression against scikit-learn's logistic regression on the same features."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from kinlearn import LSPC, KernelLogisticRegression
from naive.kernels import naive_kernel
from naive.logistic import logistic_regression


@pytest.fixture
def data(rng):
    y = rng.integers(0, 3, size=80)
    return rng.normal(size=(80, 3)) + y[:, None] * [1.0, -0.5, 0.0], y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning:sklearn")
@pytest.mark.parametrize("n_centers", [None, 15])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("reg", [1e-1, 1e-3])
def test_optimum_is_that_of_logistic_regression(reg, n_classes, weighted, n_centers, data, rng):
    X, y = data
    y = y % n_classes
    weights = rng.uniform(0.2, 3.0, size=80) if weighted else None
    proba = {}
    for solver in ("newton", "lbfgs"):
        model = KernelLogisticRegression(
            sigma=1.5, reg=reg, solver=solver, n_centers=n_centers, random_state=0
        ).fit(X, y, sample_weight=weights)
        assert model.gradient_norm_ <= 1e-7
        proba[solver] = model.predict_proba(X)
    Phi = naive_kernel("rbf", X, model.centers_, 1.5)
    expected = logistic_regression(Phi, y, reg, weights).predict_proba(Phi)
    np.testing.assert_allclose(proba["newton"], expected, atol=1e-5)
    np.testing.assert_allclose(proba["lbfgs"], expected, atol=1e-5)


def test_the_gradient_of_the_written_objective_vanishes(data):
    X, y = data
    y = (y == 2).astype(int)
    model = KernelLogisticRegression(sigma=1.5, reg=1e-3).fit(X, y)
    Phi = naive_kernel("rbf", X, X, 1.5)
    theta = model.coef_[0, :, 1] - model.coef_[0, :, 0]
    gradient = Phi.T @ (expit(Phi @ theta) - y) / 80 + 1e-3 * theta
    assert np.linalg.norm(gradient) <= 1e-7
    np.testing.assert_allclose(model.decision_function(X), Phi @ theta, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(Phi @ theta), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", ["median", 0.8, 8.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_newton_needs_few_factorisations_at_a_thousand_rows(n_classes, sigma, rng):
    X = rng.normal(size=(1000, 5))
    cuts = [0.0] if n_classes == 2 else [-0.4, 0.4]
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=1000), cuts)
    model = KernelLogisticRegression(sigma=sigma, reg=1e-4).fit(X, y)
    assert model.gradient_norm_ <= 1e-7
    # beyond two classes, factorisations are made only where conjugate gradients would take longer
    assert model.n_factorisations_ <= (8 if n_classes == 2 else 8 * 4)
    assert model.n_iter_ <= 8
    if sigma != 0.8:
        theta = model.coef_[0] if n_classes == 3 else model.coef_[0, :, 1:] - model.coef_[0, :, :1]
        Phi = naive_kernel("rbf", X, X, model.sigma_)
        slopes = model.predict_proba(X) - np.eye(n_classes)[y]
        slopes = slopes if n_classes == 3 else slopes[:, 1:]
        gradient = Phi.T @ slopes / 1000 + 1e-4 * theta
        assert np.linalg.norm(gradient) <= 1e-7


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("reg", [1e-8, 1e3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_data_and_extreme_regs_converge_or_say_so(n_classes, reg, solver, rng):
    y = np.arange(60) % n_classes
    X = rng.normal(size=(60, 2)) * 0.1 + 5.0 * np.column_stack([y, -y])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = KernelLogisticRegression(reg=reg, solver=solver).fit(X, y)
    converged = model.gradient_norm_ <= 1e-7
    assert converged or ["raise max_iter" in str(w.message) for w in said] == [True]
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba.argmax(axis=1) == y).all() or reg > 1


def test_stopping_early_warns_with_what_to_do(data):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations.*raise max_iter"):
        KernelLogisticRegression(max_iter=1, reg=1e-5).fit(*data)


def test_duplicate_rows_are_weights(data):
    X, y = data
    doubled = KernelLogisticRegression().fit(np.vstack([X, X[:9]]), np.r_[y, y[:9]])
    weights = np.r_[np.full(9, 2.0), np.ones(71)]
    weighted = KernelLogisticRegression().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(doubled.predict_proba(X), weighted.predict_proba(X), atol=1e-6)


def test_contradicting_labels_on_one_row_are_a_mean(rng):
    X = np.array([[0.0], [0.0], [0.0], [0.0], [9.0], [9.0]])
    y = np.array([0, 1, 1, 1, 0, 0])
    proba = KernelLogisticRegression(sigma=1.0, reg=1e-6).fit(X, y).predict_proba([[0.0]])
    assert proba[0, 1] == pytest.approx(0.75, abs=0.01)


def test_same_features_as_lspc(data):
    X, y = data
    settings = {"n_centers": 20, "random_state": 3}
    klr, lspc = KernelLogisticRegression(**settings).fit(X, y), LSPC(**settings).fit(X, y)
    np.testing.assert_array_equal(klr.centers_, lspc.centers_)
    assert klr.sigma_ == lspc.sigma_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "sgd"}, "solver='sgd' is not known"),
        ({"tol": -1.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a positive whole number"),
        ({"reg": 0.0}, "reg must be a positive number"),
    ],
)
def test_bad_settings(settings, message, data):
    with pytest.raises(ValueError, match=message):
        KernelLogisticRegression(**settings).fit(*data)
