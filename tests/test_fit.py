"""A fit equals the written formula: all kernels, bases, weights, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from kinlearn import LSPC
from naive.kernels import naive_kernel
from naive.lspc import naive_classwise_scores, naive_coefficients, one_hot

KERNELS = ["rbf", "laplacian", "exponential", "matern32", "chi2", "polynomial", "linear", "cosine"]
REGS = [1e-6, 1e-3, 1.0]


def scores(model, X):
    values = model.decision_function(X)
    assert values.ndim == 2
    return values


@pytest.mark.parametrize("posterior", ["calibrated", "rounded"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_full_basis(kernel, reg, weighted, posterior, three_classes, rng):
    X, y = three_classes
    weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
    model = LSPC(kernel=kernel, sigma=1.3, reg=reg, posterior=posterior)
    model.fit(X, y, sample_weight=weights)
    A = naive_coefficients(naive_kernel(kernel, X, X, 1.3), one_hot(y), reg, weights)
    new = np.abs(rng.normal(size=(30, 4)) + 1.0)
    expected = naive_kernel(kernel, new, X, 1.3) @ A
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(scores(model, new), expected, atol=1e-8 * scale)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_rows_give_the_dense_scores(kernel, three_classes):
    X, y = three_classes
    X = np.where(X < 0.8, 0.0, X)
    dense = LSPC(kernel=kernel, sigma=1.3).fit(X, y)
    sparse = LSPC(kernel=kernel, sigma=1.3).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(scores(sparse, sp.csr_array(X)), scores(dense, X), atol=1e-8)


@pytest.mark.parametrize("posterior", ["calibrated", "rounded"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("given", [False, True])
def test_subset_and_given_centers(given, reg, weighted, posterior, three_classes, rng):
    X, y = three_classes
    weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
    centers = rng.uniform(size=(9, 4)) if given else None
    model = LSPC(
        sigma=1.3,
        reg=reg,
        posterior=posterior,
        centers=centers,
        n_centers="auto" if given else 11,
        random_state=0,
    ).fit(X, y, sample_weight=weights)
    assert model.n_centers_ == (9 if given else 11)
    C = model.centers_
    A = naive_coefficients(naive_kernel("rbf", X, C, 1.3), one_hot(y), reg, weights)
    np.testing.assert_allclose(scores(model, X), naive_kernel("rbf", X, C, 1.3) @ A, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_centers", [None, 30])
@pytest.mark.parametrize("posterior", ["calibrated", "rounded"])
@pytest.mark.parametrize("reg", REGS)
def test_classwise_basis(reg, posterior, n_centers, weighted, three_classes, rng):
    X, y = three_classes
    weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
    model = LSPC(
        sigma=1.3,
        reg=reg,
        basis="classwise",
        posterior=posterior,
        n_centers=n_centers,
        random_state=0,
    ).fit(X, y, sample_weight=weights)
    owner = {tuple(row): label for row, label in zip(X, y, strict=True)}
    center_class = np.array([owner[tuple(row)] for row in model.centers_])
    K, Z = naive_kernel("rbf", X, model.centers_, 1.3), one_hot(y)
    expected = naive_classwise_scores(K, K, center_class, Z, reg, weights)
    np.testing.assert_allclose(scores(model, X), expected, atol=1e-8)


def test_precomputed_and_callable_equal_the_named_kernel(three_classes):
    X, y = three_classes
    K = naive_kernel("rbf", X, X, 1.3)
    named = LSPC(sigma=1.3).fit(X, y)
    precomputed = LSPC(kernel="precomputed").fit(K, y)
    called = LSPC(kernel=lambda A, B: naive_kernel("rbf", A, B, 1.3)).fit(X, y)
    np.testing.assert_allclose(precomputed.predict_proba(K), named.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(called.predict_proba(X), named.predict_proba(X), atol=1e-9)


def test_precomputed_with_duplicates_zero_weights_and_a_subset(three_classes, rng):
    X, y = three_classes
    X, y = np.vstack([X, X[:5]]), np.r_[y, y[:5]]
    weights = np.ones(65)
    weights[10:15] = 0.0
    K = naive_kernel("rbf", X, X, 1.3)
    named = LSPC(sigma=1.3).fit(X, y, sample_weight=weights)
    model = LSPC(kernel="precomputed").fit(K, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(K), named.predict_proba(X), atol=1e-9)
    subset = LSPC(kernel="precomputed", n_centers=12, random_state=0).fit(K, y)
    assert subset.coef_.shape == (1, 12, 3)
    C = X[subset.centers_]
    given = LSPC(sigma=1.3, centers=C).fit(X, y)
    np.testing.assert_allclose(subset.predict_proba(K), given.predict_proba(X), atol=1e-9)


def test_a_doubled_row_is_a_doubled_weight(three_classes):
    X, y = three_classes
    doubled = LSPC().fit(np.vstack([X, X[:7]]), np.r_[y, y[:7]])
    weighted = LSPC().fit(X, y, sample_weight=np.r_[np.full(7, 2.0), np.ones(53)])
    np.testing.assert_allclose(doubled.predict_proba(X), weighted.predict_proba(X), atol=1e-10)
    assert doubled.held_out_scores_.shape == (67, 3)
    np.testing.assert_array_equal(doubled.held_out_scores_[60:], doubled.held_out_scores_[:7])


def test_a_row_of_no_weight_is_no_row(three_classes):
    X, y = three_classes
    weights = np.ones(60)
    weights[::3] = 0.0
    kept = weights > 0
    with_zeros = LSPC().fit(X, y, sample_weight=weights)
    without = LSPC().fit(X[kept], y[kept])
    np.testing.assert_allclose(with_zeros.predict_proba(X), without.predict_proba(X), atol=1e-12)
    assert np.isnan(with_zeros.held_out_scores_[~kept]).all()
    assert with_zeros.sigma_ == without.sigma_


def test_equal_weights_are_no_weights(three_classes):
    X, y = three_classes
    plain = LSPC().fit(X, y)
    for weight in (0.3, 7.0):
        model = LSPC().fit(X, y, sample_weight=np.full(60, weight))
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-12)


def test_class_weight_moves_the_fit_but_calibration_stays_at_prevalence(rng):
    y = (rng.uniform(size=400) < 0.1).astype(int)
    X = rng.normal(size=(400, 2)) + y[:, None]
    balanced = LSPC(class_weight="balanced").fit(X, y)
    weights = np.where(y == 1, 1 / y.mean(), 1 / (1 - y.mean()))
    by_hand = LSPC().fit(X, y, sample_weight=weights, groups=np.arange(400))  # no copies
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-8)
    assert abs(balanced.beta_ - by_hand.beta_) > 1e-3
    np.testing.assert_allclose(balanced.prior_, [1 - y.mean(), y.mean()])


def test_shuffling_the_rows_changes_nothing(rng):
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, size=300)
    order = rng.permutation(300)
    for method in ("kmeans++", "random", "leverage"):
        settings = {"n_centers": 20, "center_selection": method, "random_state": 0}
        model = LSPC(**settings).fit(X, y)
        shuffled = LSPC(**settings).fit(X[order], y[order])
        np.testing.assert_allclose(model.predict_proba(X), shuffled.predict_proba(X), atol=1e-9)


def test_an_indefinite_kernel_is_fitted_as_features_with_a_warning(rng):
    K = rng.normal(size=(30, 30))
    K = K + K.T
    y = rng.integers(0, 2, size=30)
    for posterior in ("calibrated", "rounded"):
        with pytest.warns(UserWarning, match="not positive semi-definite"):
            model = LSPC(kernel="precomputed", posterior=posterior).fit(K, y)
        expected = K @ naive_coefficients(K, one_hot(y), 1e-3)
        np.testing.assert_allclose(
            model.decision_function(K), expected[:, 1] - expected[:, 0], atol=1e-8
        )
