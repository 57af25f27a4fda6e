"""What is promised of probabilities holds on the simplest tables, and for new rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from kinlearn import (
    LSPC,
    LSPCCV,
    HandOver,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
)

pytestmark = pytest.mark.filterwarnings("ignore:The best", "ignore:No threshold")


def check_rules(model, X):
    """Nothing turns a class's scores round, and decisions are those of the scores."""
    assert (model.class_scale_ >= 0).all()
    assert (model.weights_ >= 0).all()
    scores = model.decision_function(X)
    chosen = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chosen])


# -- one column -------------------------------------------------------------------------------


def flipped(n, rng):
    x = rng.integers(0, 2, size=n)
    return x[:, None].astype(float), x ^ (rng.random(n) < 0.05)


@pytest.mark.parametrize("seed", range(2))
def test_one_binary_column(seed):
    rng = np.random.default_rng(seed)
    X, y = flipped(500, rng)
    X_new, y_new = flipped(4000, rng)
    model = HandOver(LSPCCV(), max_error=0.1).fit(X, y)
    assert (model.predict(X_new) == y_new).mean() >= 0.93
    single = model.estimator_
    error = (single.predict(X_new) != y_new).mean()
    held_out = (single.held_out_proba().argmax(axis=1) != y).mean()
    assert abs(held_out - error) <= 3 * np.sqrt(0.05 * 0.95 / 500)
    check_rules(single, X_new)


def levels(n_levels, n, rng, chances):
    level = rng.integers(0, n_levels, size=n)
    y = (rng.random(n)[:, None] > np.cumsum(chances[level], axis=1)[:, :-1]).sum(axis=1)
    return np.eye(n_levels)[level], y


@pytest.mark.parametrize("n_levels", [2, 3, 10])
def test_one_categorical_column(n_levels):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        chances = rng.dirichlet(np.ones(3), size=n_levels)
        X, y = levels(n_levels, 1000, rng, chances)
        X_new, y_new = levels(n_levels, 20_000, rng, chances)
        model = LSPCCV().fit(X, y)
        loss = log_loss(y_new, model.predict_proba(X_new))
        theirs = log_loss(y_new, LogisticRegression().fit(X, y).predict_proba(X_new))
        assert loss <= 1.02 * theirs, (seed, loss / theirs)
        check_rules(model, X_new)


# -- noise ------------------------------------------------------------------------------------


def balanced_noise(n, d, n_classes, rng):
    return rng.normal(size=(n, d)), rng.permutation(np.arange(n) % n_classes)


@pytest.mark.parametrize(("n", "n_seeds"), [(20, 16), (40, 16), (100, 8)])
def test_noise_is_reported_as_noise(n, n_seeds):
    """Labels exactly balanced: what is held out tells no more and no less than new rows do."""
    ahead, ratios, excess = [], [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng([n, seed])
        d, n_classes = (1, 3, 5)[seed % 3], 2 + seed % 2
        X, y = balanced_noise(n, d, n_classes, rng)
        X_new, y_new = balanced_noise(1000, d, n_classes, rng)
        model = LSPCCV().fit(X, y)
        check_rules(model, X_new[:20])
        proba = model.held_out_proba()
        correct = (proba.argmax(axis=1) == y).mean()
        if n >= 60:
            assert correct <= 0.75, (n, d, n_classes, seed, correct)
        ahead.append(correct - (model.predict(X_new) == y_new).mean())
        ratios.append(log_loss(y, proba) / log_loss(y_new, model.predict_proba(X_new)))
        excess.append(log_loss(y, proba) - np.log(n_classes))
    assert abs(np.mean(ahead)) <= 3 * standard_error(ahead)
    # twenty rows promise less than new rows give, if anything
    assert 0.9 <= np.mean(ratios) <= (1.12 if n == 20 else 1.1), np.mean(ratios)
    # nor is noise reported below the entropy of its classes
    assert np.mean(excess) >= -2 * standard_error(excess)


def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


# -- class weights ----------------------------------------------------------------------------


def rare(n, prevalence, rng):
    y = (rng.random(n) < prevalence).astype(int)
    return rng.normal(size=(n, 5)) + y[:, None] * [1.0, 0.5, 0.0, 0.0, 0.0], y


@pytest.mark.parametrize("prevalence", [0.05, 0.1])
@pytest.mark.parametrize("Estimator", [LSPC, LSPCCV, MultiTaskLSPC])
def test_balanced_classes_keep_the_prevalence(Estimator, prevalence):
    rng = np.random.default_rng(0)
    X, y = rare(2000, prevalence, rng)
    X_new, y_new = rare(8000, prevalence, rng)
    settings = {"n_centers": 150, "random_state": 0}
    given, new = {}, {}
    if Estimator is MultiTaskLSPC:
        given, new = {"task": np.arange(2000) % 2}, {"task": np.arange(8000) % 2}
    if Estimator is LSPCCV:
        settings.update(sigmas=[1.0, 2.0, 4.0], regs=np.logspace(-5, 0, 6), kernel="rbf")
    plain = Estimator(**settings).fit(X, y, **given).predict_proba(X_new, **new)
    model = Estimator(**settings, class_weight="balanced").fit(X, y, **given)
    balanced = model.predict_proba(X_new, **new)
    assert balanced[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)
    assert log_loss(y_new, balanced) <= 1.05 * log_loss(y_new, plain)
    assert (model.predict(X_new, **new) == 1).mean() > 1.5 * prevalence  # decisions lean


# -- rows in an order -------------------------------------------------------------------------


def twenty_classes(n, rng):
    y = np.arange(n) % 20
    centers = np.random.default_rng(1).normal(size=(20, 6)) * 1.5
    task = rng.integers(0, 4, size=n)
    X = centers[y] + rng.normal(size=(n, 6)) + 0.3 * task[:, None]
    return X, y, task


def test_tasks_sorted_by_class_are_tuned_like_shuffled_ones():
    rng = np.random.default_rng(0)
    X, y, task = twenty_classes(400, rng)
    X_new, y_new, task_new = twenty_classes(2000, rng)
    grid = {"sigmas": [2.0, 4.0], "sharings": [0.5, 1.0], "regs": [1e-4, 1e-3, 1e-2]}
    accuracy = []
    for order in (np.argsort(y, kind="stable"), rng.permutation(400)):
        model = MultiTaskLSPCCV(**grid, cv=5).fit(X[order], y[order], task=task[order])
        accuracy.append((model.predict(X_new, task=task_new) == y_new).mean())
    assert abs(accuracy[0] - accuracy[1]) <= 0.02


def test_rows_sorted_by_class_have_the_same_folds():
    rng = np.random.default_rng(0)
    X, y, _ = twenty_classes(200, rng)
    order = np.argsort(y, kind="stable")
    grid = {"sigmas": [2.0, 4.0], "regs": [1e-4, 1e-3, 1e-2], "kernel": "rbf"}
    mixed, ordered = (
        LSPCCV(**grid, cv=5, store_cv_scores=True, precision="double").fit(X[rows], y[rows])
        for rows in (np.arange(200), order)
    )
    for k in range(5):
        part = slice(40 * k, 40 * k + 40)
        assert set(mixed.cv_rows_[part]) == set(order[ordered.cv_rows_[part]])
    name = "mean_test_score"
    np.testing.assert_allclose(mixed.cv_results_[name], ordered.cv_results_[name], atol=1e-9)
    np.testing.assert_allclose(mixed.predict_proba(X), ordered.predict_proba(X), atol=1e-5)


def test_logistic_tasks_sorted_by_class_are_tuned_like_shuffled_ones():
    rng = np.random.default_rng(0)
    X, y = rare(120, 0.5, rng)
    task = rng.integers(0, 3, size=120)
    grid = {"sigmas": [1.5, 4.0], "sharings": [0.0, 0.7], "regs": [1e-3, 1e-2, 0.1]}
    fitted = [
        MultiTaskKernelLogisticRegressionCV(**grid).fit(X[rows], y[rows], task=task[rows])
        for rows in (np.argsort(y, kind="stable"), rng.permutation(120))
    ]
    first, second = (model.predict_proba(X, task=task) for model in fitted)
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_a_refit_forgets_the_links_of_the_fit_before():
    rng = np.random.default_rng(0)
    coarse, labels = rng.integers(0, 2, size=(200, 1)).astype(float), rng.integers(0, 2, size=200)
    model = LSPC(class_weight="balanced").fit(coarse, labels)
    assert hasattr(model, "gamma_")
    X = rng.normal(size=(40, 2))
    model.set_params(class_weight=None, posterior="rounded").fit(X, labels[:40])
    left = {"gamma_", "score_floor_", "prior_shift_", "held_out_links_", "held_out_scores_"}
    assert not left & set(vars(model))


def test_categories_that_tell_nothing_are_not_reported_as_if_they_did():
    """Of many copies, one that leaves moves no majority: what is reported must not gain by that."""
    ahead, grid = [], {"sigmas": [1.0, 2.0, 4.0], "regs": np.logspace(-5, 0, 6)}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        level = rng.integers(0, 3, 100)
        y = (rng.random(100) < np.array([0.05, 0.5, 0.93])[level]).astype(int)
        model = LSPCCV(**grid, kernel="rbf").fit(level[:, None].astype(float), y)
        held_out = np.mean(model.held_out_proba().argmax(axis=1) == y)
        answers = model.predict(np.arange(3.0)[:, None])
        truth = np.array([0.05, 0.5, 0.93])
        ahead.append(held_out - np.mean(np.where(answers == 1, truth, 1.0 - truth)))
    assert np.mean(ahead) < 0.017
