"""Closed-form held-out scores equal refitting without the rows and their centres."""

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, TimeSeriesSplit

from kinlearn import LSPC
from kinlearn.solvers.few_weights import FewWeightsSpectrum
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.training.splits import Splits
from naive.held_out import (
    convention,
    held_out_at_centers,
    held_out_by_refitting,
    held_out_classwise,
)
from naive.kernels import naive_kernel
from naive.lspc import naive_ridge, one_hot
from one_kernel import LSPCCV

SIGMAS, REGS = [0.8, 1.9], [1e-6, 1e-3, 0.3]


def shuffled_folds(k, X, y):
    """Folds of passed rows, as a user may give them."""
    return list(StratifiedKFold(k, shuffle=True, random_state=0).split(X, y))


def search(**settings):
    return LSPCCV(sigmas=SIGMAS, regs=REGS, store_cv_scores=True, **settings)


def expected_scores(X, y, blocks, weights=None, ridge_of=None):
    return np.stack(
        [
            held_out_by_refitting(
                naive_kernel("rbf", X, X, sigma), one_hot(y), reg, blocks, weights, ridge_of
            )
            for sigma in SIGMAS
            for reg in REGS
        ]
    )


@pytest.mark.filterwarnings("ignore:The best")
class TestAgainstRefitting:
    def test_leave_one_out(self, three_classes):
        X, y = three_classes
        model = search().fit(X, y)
        expected = expected_scores(X, y, np.arange(60)[:, None])
        np.testing.assert_allclose(model.cv_scores_, expected, atol=1e-8)
        np.testing.assert_array_equal(model.cv_rows_, np.arange(60))

    def test_weighted_leave_one_out(self, three_classes, rng):
        X, y = three_classes
        weights = rng.uniform(0.2, 3.0, size=60)
        model = search().fit(X, y, sample_weight=weights)
        expected = expected_scores(X, y, np.arange(60)[:, None], weights, convention)
        np.testing.assert_allclose(model.cv_scores_, expected, atol=1e-8)

    @pytest.mark.parametrize("given", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_five_folds(self, weighted, given, three_classes, rng):
        X, y = three_classes
        weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
        cv = shuffled_folds(5, X, y) if given else 5
        model = search(cv=cv).fit(X, y, sample_weight=weights)
        folds = model.cv_rows_.reshape(5, 12)
        if given:
            np.testing.assert_array_equal(folds, [test for _, test in cv])
        expected = expected_scores(X, y, folds, weights)
        found = np.empty_like(expected)
        found[:, model.cv_rows_] = model.cv_scores_
        np.testing.assert_allclose(found, expected, atol=1e-8)

    def test_folds_are_stratified_and_blind_to_the_order_of_rows(self, three_classes, rng):
        X, y = three_classes
        order = rng.permutation(60)
        model, mixed = search(cv=5).fit(X, y), search(cv=5).fit(X[order], y[order])
        folds = model.cv_rows_.reshape(5, 12)
        assert sorted(model.cv_rows_) == list(range(60))
        assert all((np.bincount(y[fold]) == 4).all() for fold in folds)
        for fold, other in zip(folds, order[mixed.cv_rows_].reshape(5, 12), strict=True):
            assert set(fold) == set(other)
        drawn = search(cv=5, random_state=3).fit(X, y)
        assert set(drawn.cv_rows_[:12]) != set(folds[0])

    @pytest.mark.parametrize("weighted", [False, True])
    def test_groups(self, weighted, three_classes, rng):
        X, y = three_classes
        weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
        groups = rng.integers(0, 12, size=60)
        model = search().fit(X, y, groups=groups, sample_weight=weights)
        blocks = [np.flatnonzero(groups == g) for g in np.unique(groups)]
        expected = expected_scores(X, y, blocks, weights)
        found = np.empty_like(expected)
        found[:, model.cv_rows_] = model.cv_scores_
        np.testing.assert_allclose(found, expected, atol=1e-8)

    def test_groups_of_equal_rows_are_leave_one_out(self, three_classes):
        X, y = three_classes
        X, y = np.vstack([X, X[:4]]), np.append(y, y[:4])
        alike = np.append(np.arange(60), np.arange(4))
        by_row, by_group = search().fit(X, y), search().fit(X, y, groups=-alike)
        np.testing.assert_array_equal(by_row.held_out_scores_, by_group.held_out_scores_)

    def test_groups_of_one_are_leave_one_out(self, three_classes):
        X, y = three_classes
        by_row, by_group = search().fit(X, y), search().fit(X, y, groups=np.arange(60)[::-1])
        np.testing.assert_array_equal(by_row.cv_scores_, by_group.cv_scores_)

    def test_training_on_less_than_the_rest(self, three_classes):
        X, y = three_classes
        order = np.random.default_rng(1).permutation(60)
        X, y = X[order], y[order]
        cv = TimeSeriesSplit(3)
        model = search(cv=cv).fit(X, y)
        start = 0
        for train, test in cv.split(X):
            for p, (sigma, reg) in enumerate((s, r) for s in SIGMAS for r in REGS):
                K = naive_kernel("rbf", X, X, sigma)
                A = naive_ridge(
                    K[np.ix_(train, train)],
                    one_hot(y)[train],
                    reg * train.size,
                    np.ones(train.size),
                )
                found = model.cv_scores_[p, start : start + test.size]
                np.testing.assert_allclose(found, K[np.ix_(test, train)] @ A, atol=1e-8)
            start += test.size
        never = np.setdiff1d(np.arange(60), model.cv_rows_)
        assert np.isnan(model.held_out_scores_[never]).all()

    def test_repeated_folds_hold_rows_out_more_than_once(self, three_classes):
        X, y = three_classes
        model = search(cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)).fit(
            X, y
        )
        assert model.cv_scores_.shape == (6, 120, 3)
        assert "split5_test_score" in model.cv_results_

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("held", ["loo", "folds", "groups", "large folds"])
    def test_fixed_centers(self, held, weighted, three_classes, rng):
        X, y = three_classes
        weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
        centers = rng.uniform(size=(15, 4)) if held != "large folds" else rng.uniform(size=(4, 4))
        groups = rng.integers(0, 12, size=60) if held == "groups" else None
        cv = shuffled_folds(5, X, y) if "folds" in held else "loo"
        model = search(cv=cv, centers=centers).fit(X, y, groups=groups, sample_weight=weights)
        blocks, ridge_of = list(np.arange(60)[:, None]), convention
        if "folds" in held:
            blocks, ridge_of = [test for _, test in cv], None
        elif held == "groups":
            blocks, ridge_of = [np.flatnonzero(groups == g) for g in np.unique(groups)], None
        for p, (sigma, reg) in enumerate((s, r) for s in SIGMAS for r in REGS):
            Phi = naive_kernel("rbf", X, centers, sigma)
            expected = held_out_at_centers(Phi, one_hot(y), reg, blocks, weights, ridge_of)
            found = np.empty((60, 3))
            found[model.cv_rows_] = model.cv_scores_[p]
            np.testing.assert_allclose(found, expected, atol=1e-8)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("cv", ["loo", 4])
    def test_classwise(self, cv, weighted, three_classes, rng):
        X, y = three_classes
        weights = rng.uniform(0.2, 3.0, size=60) if weighted else None
        folds = shuffled_folds(4, X, y)
        model = search(cv=cv if cv == "loo" else folds, basis="classwise")
        model.fit(X, y, sample_weight=weights)
        blocks, ridge_of = list(np.arange(60)[:, None]), convention
        if cv == 4:
            blocks, ridge_of = [test for _, test in folds], None
        for p, (sigma, reg) in enumerate((s, r) for s in SIGMAS for r in REGS):
            K = naive_kernel("rbf", X, X, sigma)
            expected = held_out_classwise(K, y, reg, blocks, weights, ridge_of)
            found = np.empty((60, 3))
            found[model.cv_rows_] = model.cv_scores_[p]
            np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("cv", ["loo", 5])
def test_selection_equals_brute_force(cv, three_classes):
    X, y = three_classes
    Z = one_hot(y)
    cv_folds = shuffled_folds(5, X, y)
    model = search(cv=cv if cv == "loo" else cv_folds, combine="best").fit(X, y)
    folds = [test for _, test in cv_folds]
    blocks = list(np.arange(60)[:, None]) if cv == "loo" else folds
    expected = [
        -np.mean([np.mean((scores[b] - Z[b]) ** 2) for b in (folds if cv == 5 else [slice(None)])])
        for scores in expected_scores(X, y, blocks)
    ]
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, atol=1e-8)
    best = int(np.argmax(expected))
    assert model.best_index_ == best
    assert model.cv_results_["params"][best] == {"sigma": model.sigma_, "reg": model.reg_}
    refit = LSPC(sigma=model.sigma_, reg=model.reg_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), refit.decision_function(X), atol=1e-9)
    if cv == "loo":
        np.testing.assert_allclose(model.predict_proba(X), refit.predict_proba(X), atol=1e-9)


def test_copies_do_not_vouch_for_each_other_in_a_group(rng):
    """Random labels on doubled rows: who says that copies are one thing is not told them."""
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)
    model = LSPC(sigma=0.1, reg=1e-6)
    model.fit(np.vstack([X, X]), np.r_[y, y], groups=np.tile(np.arange(60), 2))
    held_out = model.held_out_scores_.argmax(axis=1)
    assert (held_out == np.r_[y, y]).mean() < 0.7


def test_groups_that_share_a_row_are_held_out_one_by_one(three_classes):
    X, y = three_classes
    X = np.vstack([X, X[:1]])
    y = np.r_[y, y[0]]
    groups = np.r_[np.repeat(np.arange(12), 5), 7]
    model = LSPC(sigma=0.8, reg=1e-3).fit(X, y, groups=groups)
    K, Z = naive_kernel("rbf", X, X, 0.8), one_hot(y)
    for group in range(12):
        out, rest = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        # the copy that stays is a row and a centre; of two in training one is a centre
        centers = rest[:-1] if {0, 60} <= set(rest) else rest
        A = naive_ridge(K[np.ix_(rest, centers)], Z[rest], 1e-3 * rest.size, np.ones(rest.size))
        expected = K[np.ix_(out, centers)] @ A
        np.testing.assert_allclose(model.held_out_scores_[out], expected, atol=1e-8)


def test_single_precision_selects_like_double(rng):
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0).astype(int)
    double = LSPCCV(precision="double", combine="best").fit(X, y)
    single = LSPCCV(precision="single", combine="best").fit(X, y)
    assert (single.sigma_, single.reg_) == pytest.approx((double.sigma_, double.reg_))
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-3)


def test_the_model_of_a_single_precision_search_is_solved_in_double(rng):
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = LSPCCV(precision="single", combine="within_se").fit(X, y)
    total = sum(
        weight
        * LSPC(sigma=p["sigma"], reg=p["reg"], posterior="raw").fit(X, y).decision_function(X)
        for p, weight in zip(model.cv_results_["params"], model.weights_, strict=True)
        if weight > 0
    )
    np.testing.assert_allclose(model.decision_function(X), total, atol=1e-8)


def test_the_fast_weighted_path_agrees_with_the_exact_one(rng, monkeypatch):
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    weights = rng.uniform(0.2, 3.0, size=150)
    for basis in ("full", "classwise"):
        settings = {"basis": basis, "store_cv_scores": True, "combine": "best"}
        exact = LSPCCV(precision="double", **settings).fit(X, y, sample_weight=weights)
        fast = LSPCCV(precision="single", **settings).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(fast.cv_scores_, exact.cv_scores_, atol=1e-4)
        np.testing.assert_allclose(fast.predict_proba(X), exact.predict_proba(X), atol=1e-3)
    exact = LSPC(reg=1e-5).fit(X, y, sample_weight=weights)
    monkeypatch.setattr("kinlearn.problems.basis.FAST_ROWS", 100)
    fast = LSPC(reg=1e-5).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(fast.coef_, exact.coef_, atol=1e-8)
    np.testing.assert_allclose(fast.held_out_scores_, exact.held_out_scores_, atol=1e-6)


@pytest.mark.parametrize("reg", [1e-6, 1e-5, 1e-3, 1.0])
def test_leave_one_out_of_a_single_fit_equals_the_search(reg, three_classes):
    X, y = three_classes
    single = LSPC(sigma=1.3, reg=reg).fit(X, y)
    search = LSPCCV(sigmas=[1.3], regs=[reg], combine="best").fit(X, y)
    np.testing.assert_allclose(single.held_out_scores_, search.held_out_scores_, atol=1e-8)
    np.testing.assert_allclose(single.coef_, search.coef_, atol=1e-7 * np.abs(search.coef_).max())
    assert single.beta_ == pytest.approx(search.beta_, rel=1e-7)


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("cv", ["loo", 5, "groups"])
def test_few_rows_of_another_weight(cv, three_classes):
    X, y = three_classes
    weights = np.full(60, np.sqrt(0.5))  # no multiples of one unit, which would be copies
    weights[[3, 30, 41]] = [1.4, 0.2, 2.1]
    groups = np.arange(60) % 12 if cv == "groups" else None
    folds = shuffled_folds(5, X, y)
    model = search(cv=folds if cv == 5 else "loo")
    model.fit(X, y, sample_weight=weights, groups=groups)
    blocks, ridge_of = list(np.arange(60)[:, None]), convention
    if cv == 5:
        blocks, ridge_of = [test for _, test in folds], None
    elif cv == "groups":
        blocks, ridge_of = [np.flatnonzero(groups == g) for g in range(12)], None
    expected = expected_scores(X, y, blocks, weights, ridge_of)
    found = np.empty_like(expected)
    found[:, model.cv_rows_] = model.cv_scores_
    np.testing.assert_allclose(found, expected, atol=1e-8)
    single = LSPC(sigma=0.8, reg=1e-3).fit(X, y, sample_weight=weights)
    A = naive_ridge(naive_kernel("rbf", X, X, 0.8), one_hot(y), 1e-3 * weights.sum(), weights)
    np.testing.assert_allclose(single.coef_[0], A, atol=1e-8 * np.abs(A).max())


def test_few_weights_in_single_precision(rng):
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X, y = np.vstack([X, X[:4]]), np.r_[y, y[:4]]
    # weights of near-collinear points may differ, so that the best point is what is compared
    settings = {"combine": "best"}
    exact, fast = (LSPCCV(precision=p, **settings).fit(X, y) for p in ("double", "single"))
    assert (fast.sigma_, fast.reg_) == pytest.approx((exact.sigma_, exact.reg_))
    np.testing.assert_allclose(fast.predict_proba(X), exact.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("held", ["loo", "blocks"])
@pytest.mark.parametrize("few_weights", [False, True])
def test_a_wide_kernel_is_searched_in_its_range(held, few_weights, rng):
    X = rng.normal(size=(200, 1))
    Z = one_hot(X[:, 0] > 0.3)
    K = naive_kernel("rbf", X, X, 3.0)
    exact, narrow = SymmetricSpectrum.of(K.copy(), Z), SymmetricSpectrum.to_select(K.copy(), Z)
    assert narrow.U.shape[1] < 30
    if few_weights:
        weights = np.r_[np.full(3, 2.0), np.ones(197)]
        exact, narrow = (FewWeightsSpectrum(s, weights, np.arange(3)) for s in (exact, narrow))
    splits, group = Splits.one_out(200), np.arange(200) % 40
    if held == "blocks":
        pairs = ((np.flatnonzero(group != g), np.flatnonzero(group == g)) for g in range(40))
        splits = Splits.from_train_test(200, pairs)
    regs = np.array([1e-6, 1e-3, 0.1])
    np.testing.assert_allclose(
        narrow.held_out(regs, splits), exact.held_out(regs, splits), atol=2e-3
    )
