"""Probabilities over heterogeneous tasks: what they are made of, and that they can be trusted."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import ortho_group
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from kinlearn import (
    LSPC,
    LSPCCV,
    MTDA,
    HeterogeneousLSPC,
    MultiTaskLSPCCV,
    RatioTraceLDA,
    load,
    save,
)
from kinlearn.datasets import make_heterogeneous_tasks
from kinlearn.estimators._weighed_models import mixing_weights, weights_of_tasks
from kinlearn.estimators.heterogeneous_lspc import _spread_folds
from kinlearn.selection.links import fit_beta
from kinlearn.solvers.alignment import align_class_means

FAST = LSPC(reg=1e-2)


class PooledLSPC(ClassifierMixin, BaseEstimator):
    """A classifier that takes task= and treats all tasks as one."""

    def fit(self, X, y, task=None):
        self.seen_tasks_ = np.unique(task)
        self.rows_ = X
        self.model_ = LSPC(reg=1e-2).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X, task=None):
        return self.model_.decision_function(X)

    def predict_proba(self, X, task=None):
        return self.model_.predict_proba(X)


@pytest.fixture(scope="module")
def tasks():
    return make_heterogeneous_tasks(
        n_features=(6, 40, 80), n_samples=(45, 40, 36), n_classes=(3, 2, 4), random_state=0
    )


@pytest.mark.filterwarnings("ignore:Columns spread")
def test_it_is_a_reduction_and_lspc_with_its_own_calibration(tasks):
    Xs, ys = tasks
    model = HeterogeneousLSPC(
        reducer=MTDA(n_components=3, shrinkage=0.5), estimator=FAST, random_state=0
    ).fit(Xs, ys)
    reducer = MTDA(n_components=3, shrinkage=0.5).fit(Xs, ys)
    for k, (X, y) in enumerate(zip(Xs, ys, strict=True)):
        Z = reducer.transform(X, task=k)
        lspc = clone(FAST).fit(Z, y)
        scores = lspc.decision_function(Z)
        np.testing.assert_allclose(model.decision_function(X, task=k), scores, atol=1e-10)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        expected = softmax(model.beta_[k] * scores, axis=1)
        probabilities = model.predict_proba(X, task=k)
        np.testing.assert_allclose(probabilities, expected, atol=1e-10)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(
            model.predict(X, task=k), model.classes_[k][probabilities.argmax(axis=1)]
        )
        uncalibrated = HeterogeneousLSPC(
            reducer=MTDA(n_components=3, shrinkage=0.5), estimator=FAST, cv=None
        ).fit(Xs, ys)
        np.testing.assert_allclose(
            uncalibrated.predict_proba(X, task=k), lspc.predict_proba(Z), atol=1e-10
        )
        np.testing.assert_array_equal(uncalibrated.predict(X, task=k), lspc.predict(Z))


def test_beta_comes_from_rows_held_out_of_reduction_and_classifier():
    Xs, ys = make_heterogeneous_tasks(
        n_features=(6, 30), n_samples=30, n_classes=3, separation=1.0, random_state=1
    )
    reducer = MTDA(n_components=2, shrinkage=0.5)
    model = HeterogeneousLSPC(reducer=reducer, estimator=FAST, cv=3, random_state=5).fit(Xs, ys)
    rng = np.random.RandomState(5)
    folds = [_spread_folds(y, 3, rng) for y in ys]
    scores = [np.zeros((30, 3)) for _ in Xs]
    for fold in range(3):
        train = [of_task != fold for of_task in folds]
        fitted = clone(reducer).fit(
            [X[m] for X, m in zip(Xs, train, strict=True)],
            [y[m] for y, m in zip(ys, train, strict=True)],
        )
        for k in range(2):
            lspc = clone(FAST).fit(fitted.transform(Xs[k][train[k]], task=k), ys[k][train[k]])
            held = ~train[k]
            scores[k][held] = lspc.decision_function(fitted.transform(Xs[k][held], task=k))
    for k in range(2):
        assert model.beta_[k] == pytest.approx(fit_beta(scores[k], np.eye(3)[ys[k]]), rel=1e-6)


def test_cross_fitting_cures_overconfidence():
    """Overlapping classes, few rows, many features: held out must mean of the reduction too."""
    Xs, ys = make_heterogeneous_tasks(
        n_features=(20, 100, 200), n_samples=300, noise=1.0, separation=0.8, random_state=4
    )
    train, test = slice(0, 24), slice(24, 300)
    losses = {}
    for cv in (None, "auto"):
        model = HeterogeneousLSPC(estimator=LSPCCV(), cv=cv, random_state=0)
        model.fit([X[train] for X in Xs], [y[train] for y in ys])
        losses[cv] = np.mean(
            [
                log_loss(ys[k][test], model.predict_proba(Xs[k][test], task=k), labels=range(4))
                for k in range(3)
            ]
        )
    assert losses["auto"] < 0.95 * losses[None]
    assert losses["auto"] < np.log(4)


def test_a_classifier_that_knows_tasks_gets_aligned_rows_of_all_tasks():
    """The same world seen three ways: aligned, the class means of all tasks meet."""
    Xs, ys = make_heterogeneous_tasks(
        n_features=(10, 40, 80), n_samples=60, n_classes=4, noise=0.1, random_state=2
    )
    model = HeterogeneousLSPC(reducer=RatioTraceLDA(), estimator=PooledLSPC(), random_state=0).fit(
        dict(zip("abc", Xs, strict=True)), dict(zip("abc", ys, strict=True))
    )
    assert model.estimators_.seen_tasks_.tolist() == [0, 1, 2]
    rows = np.split(model.estimators_.rows_, 3)
    means = np.array(
        [[Z[y == k].mean(axis=0) for k in range(4)] for Z, y in zip(rows, ys, strict=True)]
    )
    spread = np.abs(means - means.mean(axis=0)).max()
    assert spread < 0.15 * np.abs(means).max()
    for k, name in enumerate("abc"):
        assert model.score(Xs[k], ys[k], task=name) > 0.95
        np.testing.assert_allclose(model.predict_proba(Xs[k], task=name).sum(axis=1), 1)


def test_a_shared_classifier_answers_with_the_classes_of_the_task(tasks):
    Xs, ys = tasks
    for cv in (None, 3):
        model = HeterogeneousLSPC(
            reducer=MTDA(n_components=3, shrinkage=0.5), estimator=PooledLSPC(), cv=cv
        ).fit(Xs, ys)
        for k, n_classes in enumerate((3, 2, 4)):
            probabilities = model.predict_proba(Xs[k], task=k)
            assert probabilities.shape == (len(Xs[k]), n_classes)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1)
            assert set(model.predict(Xs[k], task=k)) <= set(ys[k])


def test_two_rows_a_class_can_be_calibrated():
    Xs, ys = make_heterogeneous_tasks(
        n_features=(30, 60), n_samples=20, n_classes=10, random_state=3
    )
    model = HeterogeneousLSPC(estimator=FAST, cv=5, random_state=0).fit(Xs, ys)
    assert all(np.isfinite(beta) and beta > 0 for beta in model.beta_)


def test_automatic_folds_from_five_rows_a_class_on():
    for n_samples, cross_fitted in ((12, False), (20, True)):
        Xs, ys = make_heterogeneous_tasks(n_features=(9, 30), n_samples=n_samples, random_state=0)
        model = HeterogeneousLSPC(estimator=FAST, random_state=0).fit(Xs, ys)
        assert (model.beta_ is not None) == cross_fitted
    with pytest.raises(ValueError, match="cv must be one of \"auto\", not 'loo'"):
        HeterogeneousLSPC(cv="loo").fit(Xs, ys)


def test_folds_keep_lonely_classes_and_leave_scatter_within():
    codes = np.repeat(np.arange(6), 2)
    codes = np.append(codes, 6)
    folds = _spread_folds(codes, 3, np.random.RandomState(0))
    assert folds[-1] == -1
    for fold in range(3):
        remaining = np.bincount(codes[folds != fold], minlength=7)
        assert remaining.min() == 1
        assert remaining.max() == 2


def test_alignment_recovers_turned_shifted_and_scaled_copies():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(6, 4))
    copies = [
        scale * M @ ortho_group.rvs(4, random_state=seed) + rng.normal(size=4)
        for seed, scale in enumerate((1.0, 0.2, 5.0))
    ]
    maps = align_class_means(copies)
    aligned = [(C - offset) @ A for C, (offset, A) in zip(copies, maps, strict=True)]
    for other in aligned[1:]:
        np.testing.assert_allclose(other, aligned[0], atol=1e-8)
    for _, A in maps:
        scale = np.trace(A.T @ A) / 4
        np.testing.assert_allclose(A.T @ A, scale * np.eye(4), atol=1e-10)


def test_refusals_are_sentences(tasks):
    Xs, ys = tasks
    with pytest.raises(TypeError, match="KNeighborsClassifier has no decision_function"):
        HeterogeneousLSPC(estimator=KNeighborsClassifier()).fit(Xs, ys)
    with pytest.raises(ValueError, match="cv must be a whole number of at least 2, not 1"):
        HeterogeneousLSPC(cv=1).fit(Xs, ys)
    with pytest.raises(ValueError, match=r"gives them \[1, 2, 3\] dimensions"):
        HeterogeneousLSPC(reducer=RatioTraceLDA(), estimator=PooledLSPC()).fit(Xs, ys)
    named = [ys[0], ys[1].astype(str), ys[2]]
    with pytest.raises(ValueError, match="some tasks are labelled by numbers and others by names"):
        HeterogeneousLSPC(reducer=MTDA(), estimator=PooledLSPC()).fit(Xs, named)
    model = HeterogeneousLSPC(estimator=FAST, cv=None).fit(Xs, ys)
    with pytest.raises(ValueError, match="Task 'x' was not seen in fit"):
        model.predict_proba(Xs[0], task="x")
    own = HeterogeneousLSPC(estimator=KNeighborsClassifier(3), cv=None).fit(Xs, ys)
    assert own.predict_proba(Xs[1], task=1).shape == (40, 2)


@pytest.fixture(scope="module")
def by_default():
    Xs, ys = make_heterogeneous_tasks(
        n_features=(5, 12), n_samples=60, n_classes=3, noise=1.0, separation=1.0, random_state=6
    )
    few = [X[:24] for X in Xs], [y[:24] for y in ys]
    return HeterogeneousLSPC(random_state=0).fit(*few), Xs, ys, few


def test_by_default_the_common_space_and_the_task_alone_are_weighed(by_default, tmp_path):
    model, Xs, _, (few, few_y) = by_default
    shared = HeterogeneousLSPC(estimator=MultiTaskLSPCCV(kernel="rbf"), random_state=0)
    shared.fit(few, few_y)
    for k, X in enumerate(Xs):
        alone = LSPCCV().fit(few[k], few_y[k])
        weights = model.weights_[k]
        assert weights.sum() == pytest.approx(1.0)
        assert (weights > 0).all()
        expected = weights[0] * shared.predict_proba(X, task=k)
        expected = expected + weights[1] * alone.predict_proba(X)
        proba = model.predict_proba(X, task=k)
        np.testing.assert_allclose(proba, expected, atol=1e-9)
        np.testing.assert_allclose(np.exp(model.decision_function(X, task=k)), proba, atol=1e-12)
        found = model.predict(X, task=k)
        np.testing.assert_array_equal(found, model.classes_[k][proba.argmax(axis=1)])
    save(model, tmp_path / "model.kin")
    again = load(tmp_path / "model.kin")
    np.testing.assert_array_equal(
        again.predict_proba(Xs[1], task=1), model.predict_proba(Xs[1], task=1)
    )
    np.testing.assert_array_equal(again.weights_[0], model.weights_[0])


def test_without_folds_both_weigh_the_same(by_default):
    _, _, _, (few, few_y) = by_default
    model = HeterogeneousLSPC(cv=None).fit(few, few_y)
    assert model.beta_ is None
    np.testing.assert_array_equal(model.weights_, 0.5)
    lonely = HeterogeneousLSPC().fit([few[0][:5]], [np.array([0, 0, 1, 2, 3])])
    np.testing.assert_array_equal(lonely.weights_[0], 0.5)  # no fold leaves any scatter
    named = HeterogeneousLSPC(cv=None, reducer=RatioTraceLDA()).fit(
        {"a": few[0], "b": few[1]}, {"a": few_y[0], "b": few_y[1].astype(str)}
    )  # labels of two kinds share no classifier
    assert isinstance(named.estimators_["a"], LSPCCV)
    assert named.predict(few[1], task="b").dtype.kind == "U"


def test_weights_are_those_of_the_most_likely_mixture():
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.05, 1.0, size=(40, 2)) * [1.0, 0.7]
    for prior in (np.ones(2), np.array([3.0, 8.0])):

        def loss(v, prior=prior):
            pair = np.array([v, 1.0 - v])
            return -np.log(chances @ pair).sum() - prior @ np.log(pair)

        expected = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded").x
        assert mixing_weights(chances, prior)[0] == pytest.approx(expected, abs=1e-4)


def test_a_task_without_rows_of_its_own_to_hold_out_takes_the_common_weights():
    codes = np.zeros(30, dtype=np.intp), np.zeros(5, dtype=np.intp)
    sure, unsure = np.full((30, 2), 0.9), np.full((30, 2), 0.4)
    nothing = np.full((5, 2), np.nan)
    first, second = weights_of_tasks([[sure, unsure], [nothing, nothing]], codes)
    np.testing.assert_allclose(second, mixing_weights(np.array([[0.9, 0.4]] * 30), np.ones(2)))
    assert first[0] >= second[0] > 0.9
