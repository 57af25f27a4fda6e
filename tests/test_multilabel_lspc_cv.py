"""MultiLabelLSPCCV: held-out scores in closed form, and what is chosen by them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.metrics import (
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from kinlearn import MultiLabelLSPC
from kinlearn.datasets import make_rotated_labels
from kinlearn.kernels import median_width, resolve_kernel
from naive.kernels import naive_kernel
from naive.labels import naive_label_parameters
from naive.lspc import naive_coefficients
from one_kernel import LSPCCV, MultiLabelLSPCCV

SMALL = {"sigmas": [2.0, 4.0], "regs": [1e-4, 1e-3, 1e-2], "sharings": [0.0, 0.8, 1.0]}


@pytest.fixture
def labels():
    X, Y = make_rotated_labels(60, n_labels=4, n_features=3, random_state=0)
    flip = np.random.default_rng(0).random(Y.shape) < 0.1
    return X, np.where(flip, 1 - Y, Y)


def quiet_search(**params):
    """A search whose given grid may well have its optimum on an edge."""
    return MultiLabelLSPCCV(**{**SMALL, **params})


def held_out(model):
    """Held-out scores of the model's own mix of points, before scales and offsets."""
    scores = np.full((60, model.cv_scores_.shape[2]), np.nan)
    scores[model.cv_rows_] = np.tensordot(model.weights_, model.cv_scores_, 1)
    return scores


pytestmark = pytest.mark.filterwarnings("ignore:The best (sigma|reg)")


@pytest.mark.parametrize("similarity", ["correlation", "signed"])
def test_every_point_equals_refitting_without_the_row(labels, similarity):
    X, Y = labels
    W = MultiLabelLSPC(similarity=similarity).fit(X, Y).similarity_
    model = quiet_search(similarity=similarity, store_cv_scores=True).fit(X, Y)
    assert model.cv_scores_.shape == (18, 60, 5)
    for i in (0, 17, 42):
        rest = np.delete(np.arange(60), i)
        for p, point in enumerate(model.cv_results_["params"]):
            if point["sharing"] == 1.0:
                continue  # the limit is compared in the tests of the solvers
            K = naive_kernel("rbf", X, X, point["sigma"])
            A, signs, reg = K[np.ix_(rest, rest)], 2.0 * Y[rest] - 1, point["reg"]
            differences = naive_label_parameters(A, signs, W, reg, point["sharing"])
            sums = naive_coefficients(A, np.ones((59, 1)), reg)
            expected = K[i, rest] @ np.hstack([differences, sums])
            assert_allclose(model.cv_scores_[p, i], expected, atol=1e-8)


def test_folds_equal_refitting(labels):
    X, Y = labels
    cv = KFold(4, shuffle=True, random_state=0)
    model = quiet_search(cv=cv, combine="best", similarity="uniform", store_cv_scores=True)
    model.fit(X, Y)
    best = MultiLabelLSPC(
        sigma=model.sigma_, reg=model.reg_, sharing=model.sharing_, similarity="uniform"
    )
    expected = cross_val_predict(best, X, Y, cv=cv, method="decision_function")
    assert_allclose(held_out(model)[:, :4], expected, atol=1e-8)
    assert "split3_test_score" in model.cv_results_


def test_best_point_is_the_plain_estimator(labels):
    X, Y = labels
    search = quiet_search(combine="best").fit(X, Y)
    plain = MultiLabelLSPC(sigma=search.sigma_, reg=search.reg_, sharing=search.sharing_).fit(X, Y)
    assert_allclose(search.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    assert_allclose(search.beta_, plain.beta_)
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


@pytest.mark.parametrize("combine", ["stack", "within_se"])
def test_mixes_are_mixes_of_the_points(labels, combine):
    X, Y = labels
    search = quiet_search(combine=combine, store_cv_scores=True).fit(X, Y)
    assert_allclose(search.weights_.sum(), 1.0)
    expected = 0.0
    for weight, point in zip(search.weights_, search.cv_results_["params"], strict=True):
        if weight > 0:
            expected = expected + weight * MultiLabelLSPC(**point).fit(X, Y)._scores(X)
    if combine == "stack":  # each class's score has its own scale and offset
        off, on = np.stack(search.class_scale_, axis=1)

        def turned(columns):
            sums = columns[:, Y.shape[1] :]
            ones, zeros = (
                (sums + columns[:, : Y.shape[1]]) / 2,
                (sums - columns[:, : Y.shape[1]]) / 2,
            )
            return np.hstack([on * ones - off * zeros, sums]) + search.intercept_

        expected = turned(expected)
    assert_allclose(search.decision_function(X), expected[:, : Y.shape[1]], atol=1e-8)


def test_reported_scores_are_of_points_chosen_by_other_rows(labels):
    X, Y = labels
    search = quiet_search(combine="best", store_cv_scores=True).fit(X, Y)
    near = np.abs(search.cv_scores_ - search.held_out_scores_[search.cv_rows_]).max(axis=2)
    assert_allclose(near.min(axis=0), 0.0, atol=1e-12)
    chosen = near.argmin(axis=0)
    assert 1 <= len(np.unique(chosen)) <= 5


def test_one_label_equals_lspccv():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for target in (y, (y == 1).astype(int)):
        expected = LSPCCV().fit(X, target)
        model = MultiLabelLSPCCV().fit(X, target)
        assert model.sigma_ == expected.sigma_
        assert model.reg_ == expected.reg_
        assert_allclose(model.best_score_, expected.best_score_, rtol=1e-9)
        assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)
    column = MultiLabelLSPCCV().fit(X, target[:, None])
    assert_allclose(column.predict_proba(X)[:, 0], expected.predict_proba(X)[:, 1], atol=1e-5)


def test_criteria_are_those_of_scikit_learn(labels):
    X, Y = labels

    def proba(model):
        return 1 / (1 + np.exp(-model.beta_ * d(model)))

    def d(model):
        return held_out(model)[:, :4]

    def on(model):
        return d(model) > 0

    expected = {
        "log_loss": lambda m: (
            -np.mean([log_loss(Y[:, t], proba(m)[:, t], labels=[0, 1]) for t in range(4)])
        ),
        "hamming_loss": lambda m: -hamming_loss(Y, on(m)),
        "f1_micro": lambda m: f1_score(Y, on(m), average="micro"),
        "f1_macro": lambda m: f1_score(Y, on(m), average="macro"),
        "roc_auc": lambda m: roc_auc_score(Y, d(m)),
        "lrap": lambda m: label_ranking_average_precision_score(Y, d(m)),
    }
    for name, criterion in expected.items():
        model = quiet_search(scoring=name, combine="best", store_cv_scores=True).fit(X, Y)
        assert_allclose(model.best_score_, criterion(model), atol=1e-10)
    own = quiet_search(scoring=lambda Y, q: -hamming_loss(Y, q > 0), combine="best").fit(X, Y)
    assert own.best_score_ == quiet_search(scoring="hamming_loss").fit(X, Y).best_score_
    alias = quiet_search(scoring="neg_log_loss").fit(X, Y)
    assert alias.best_score_ == quiet_search(scoring="log_loss").fit(X, Y).best_score_


@pytest.mark.parametrize("scoring", ["squared_error", "log_loss", "hamming_loss", "f1_macro"])
def test_columns_of_classes_can_be_tuned(scoring):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    Y = np.column_stack([y, (y + 1) % 3, y == 0])
    model = quiet_search(scoring=scoring).fit(X, Y)
    assert [p.shape[1] for p in model.predict_proba(X)] == [3, 3, 2]
    assert (model.predict(X) == Y).mean() > 0.9
    assert model.beta_ > 0
    assert 0 <= model.sharing_ <= 1
    with pytest.raises(ValueError, match="more than two classes"):
        quiet_search(scoring="lrap").fit(X, Y)


def test_gaps_are_tuned_by_folds(labels):
    X, Y = labels
    gaps = Y.astype(float)
    gaps[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    model = quiet_search(threshold="loo_f1", scoring="roc_auc").fit(X, gaps)
    assert (model.predict(X) == Y).mean() > 0.75
    assert model.residual_ <= 1e-8
    assert model.n_iter_ >= 1
    default = MultiLabelLSPCCV(sigmas=[2.0]).fit(X, gaps)
    assert len(default.cv_results_["params"]) >= 28
    gaps[np.arange(60), np.arange(60) % 4] = np.nan
    with pytest.raises(ValueError, match="not defined on any held-out part"):
        quiet_search(scoring="lrap").fit(X, gaps)


def test_groups_and_weights(labels):
    X, Y = labels
    groups = np.arange(60) // 2
    model = quiet_search(combine="best", similarity="uniform").fit(X, Y, groups=groups)
    kept = groups != 7
    rest = MultiLabelLSPC(
        sigma=model.sigma_, reg=model.reg_, sharing=model.sharing_, similarity="uniform"
    ).fit(X[kept], Y[kept])
    assert_allclose(model.held_out_scores_[~kept, :4], rest.decision_function(X[~kept]), atol=1e-8)
    counts = np.random.default_rng(0).integers(0, 3, 60)
    again = np.repeat(np.arange(60), counts)
    weighted = quiet_search().fit(X, Y, sample_weight=counts)
    repeated = quiet_search().fit(X[again], Y[again])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sharings": [0.5, 2.0]}, "Each of sharings must lie between 0"),
        ({"sharings": []}, "sharings is empty"),
        ({"regs": [0.0]}, "regs must hold positive numbers"),
        ({"scoring": "jaccard"}, "scoring='jaccard' is not known"),
        ({"combine": "vote"}, "combine='vote' is not known"),
        ({"cv": "half"}, "cv='half' is not known"),
    ],
)
def test_bad_parameters_are_refused(labels, params, message):
    with pytest.raises(ValueError, match=message):
        quiet_search(**params).fit(*labels)


def test_identical_rows_cannot_be_tuned_on():
    with pytest.raises(ValueError, match="use MultiLabelLSPC"):
        MultiLabelLSPCCV().fit(np.zeros((4, 2)), np.array([[0, 1], [1, 1], [1, 0], [1, 0]]))


def test_grid_left_out_is_wide(labels):
    X, Y = labels
    model = MultiLabelLSPCCV().fit(X, Y)
    assert set(model.cv_results_["param_sharing"]) == {0, 0.2, 0.5, 0.8, 0.95, 0.99, 1}
    assert len(set(model.cv_results_["param_reg"])) >= 20
    assert len(model.weights_) == len(model.cv_results_["params"])


@pytest.mark.slow
def test_toy_of_the_paper():
    """D = 20, n = 300, T = 20, three seeds: sharing beats learning labels alone."""
    errors = []
    for seed in range(3):
        X, Y = make_rotated_labels(1300, n_labels=20, n_features=20, random_state=seed)
        X, Y, X_test, Y_test = X[:300], Y[:300], X[300:], Y[300:]
        grid = {
            "sigmas": median_width(X, resolve_kernel("rbf")) * np.array([1.0, 2.0]),
            "regs": np.logspace(-5, -1, 6),
        }
        together = MultiLabelLSPCCV(**grid).fit(X, Y)
        shared = MultiLabelLSPCCV(sharings=[0.0], **grid).fit(X, Y)
        alone = np.column_stack([LSPCCV(**grid).fit(X, y).predict(X_test) for y in Y.T])
        answers = (together.predict(X_test), shared.predict(X_test), alone)
        errors.append([(answer != Y_test).mean() for answer in answers])
    together, shared, alone = np.mean(errors, axis=0)
    assert together <= 0.062
    assert together <= shared
    assert together <= alone - 0.004
