"""Held-out scores as reported: what scores a row was learnt without its label."""

import numpy as np
import pytest

from kinlearn import LSPC
from kinlearn.posterior import Link
from kinlearn.selection.links import fit_beta
from naive.lspc import one_hot
from one_kernel import LSPCCV

GRID = {"sigmas": [0.7, 1.5, 4.0], "regs": [1e-4, 1e-2, 0.1, 1.0]}
pytestmark = pytest.mark.filterwarnings("ignore:The best")


def noisy(n):
    rng = np.random.default_rng(5)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    return rng.normal(size=(n, 2)) + y[:, None] * [0.5, -0.3], y


def report_folds(model, n_links=5):
    """Rows of one fold have one link."""
    _, fold = np.unique(model.held_out_links_, axis=0, return_inverse=True)
    assert fold.max() == n_links - 1
    return fold.ravel()


def with_shares_of(y, others):
    """Weights of other rows in which the classes weigh as in all rows."""
    weights = np.bincount(y)[y[others]] / np.bincount(y[others])[y[others]]
    return weights * others.size / weights.sum()


def best_point(cv_scores, y, weights):
    errors = np.square(cv_scores - one_hot(y)).sum(axis=2) @ weights
    return int(errors.argmin())


def test_the_best_point_is_chosen_by_the_other_folds():
    X, y = noisy(260)
    model = LSPCCV(**GRID, combine="best", store_cv_scores=True, precision="double").fit(X, y)
    fold = report_folds(model)
    for j in range(5):
        own, others = np.flatnonzero(fold == j), np.flatnonzero(fold != j)
        assert (np.abs(np.bincount(y[own]) - np.bincount(y) / 5) <= 1).all()
        weights = np.ones(others.size)
        best = best_point(model.cv_scores_[:, others], y[others], weights)
        expected = model.cv_scores_[best]
        np.testing.assert_allclose(model.held_out_scores_[own], expected[own], atol=1e-12)
        beta = fit_beta(expected[others], one_hot(y)[others], weights, 260)
        np.testing.assert_allclose(model.held_out_links_[own, 0], beta, rtol=1e-6)
        proba = Link(beta)(expected[own])
        np.testing.assert_allclose(model.held_out_proba()[own], proba, atol=1e-6)


def test_few_rows_are_searched_again_without_the_fold():
    X, y = noisy(80)
    settings = {**GRID, "combine": "best", "store_cv_scores": True}
    model = LSPCCV(**settings).fit(X, y)
    fold = report_folds(model)
    for j in range(5):
        own, others = np.flatnonzero(fold == j), np.flatnonzero(fold != j)
        without = LSPCCV(**settings).fit(X[others], y[others])
        weights = with_shares_of(y, others)
        best = best_point(without.cv_scores_, y[others], weights)
        np.testing.assert_allclose(model.held_out_scores_[own], model.cv_scores_[best, own])
        beta = fit_beta(without.cv_scores_[best], one_hot(y)[others], weights, others.size)
        np.testing.assert_allclose(model.held_out_links_[own, 0], beta, rtol=1e-6)


@pytest.mark.parametrize("n", [80, 260])
def test_one_point_reports_its_leave_one_out_scores(n):
    X, y = noisy(n)
    model = LSPCCV(sigmas=[1.5], regs=[0.01], combine="best", store_cv_scores=True).fit(X, y)
    np.testing.assert_allclose(model.held_out_scores_, model.cv_scores_[0], atol=1e-12)
    single = LSPC(sigma=1.5, reg=0.01).fit(X, y)
    np.testing.assert_allclose(single.held_out_scores_, model.cv_scores_[0], atol=1e-7)


def test_groups_are_reported_whole():
    X, y = noisy(120)
    groups = np.random.default_rng(0).integers(0, 30, size=120)
    for model in (LSPC(), LSPCCV(**GRID, combine="best")):
        fold = report_folds(model.fit(X, y, groups=groups))
        assert all(np.unique(fold[groups == g]).size == 1 for g in range(30))


@pytest.mark.parametrize("kernel", ["linear", "cosine", "precomputed"])
def test_a_kernel_without_a_width_is_searched_again(kernel):
    """One decomposition is all the search takes, but the rows are needed once more."""
    X, y = noisy(60)
    given = X @ X.T if kernel == "precomputed" else X
    model = LSPCCV(kernel=kernel).fit(given, y)
    assert np.isfinite(model.held_out_proba()).all()
