"""The rivals written here do what they say, and every method of every suite gives probabilities."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import scale

from kinlearn.metrics import brier_score, expected_calibration_error
from kinlearn_experiments.bench.methods.multitask import WithTask
from kinlearn_experiments.bench.methods.neighbours import MLkNN
from kinlearn_experiments.bench.methods.prevalidated_ridge import PrevalidatedRidge, left_out_scores
from kinlearn_experiments.bench.qualities import qualities
from kinlearn_experiments.bench.suites import SUITES

# Small splits on which every method can run; how good it is does not matter here.
SMALL = {"single": ("wine", 45), "multitask": ("related", 12), "multilabel": ("topics", 60)}
SMALL["heterogeneous"] = ("instruments", 4)
METHODS = [
    pytest.param(suite, method, id=f"{suite.name}-{method.name}")
    for suite in SUITES.values()
    for method in suite.methods
    if method.missing() is None
]


@pytest.mark.parametrize(("suite", "method"), METHODS)
def test_every_method_gives_probabilities(suite, method):
    name, size = SMALL[suite.name]
    problem = suite.data_set(name).draw(size, 0)
    if suite.name == "multilabel":
        X, Y = problem.train
        problem = replace(problem, train=(X, Y[:, :2]), truth=problem.truth[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method.make(problem)
        suite.fit(model, problem)
        found = qualities(problem.truth, suite.predict(model, problem))
    assert 0 <= found["accuracy"] <= 1
    assert np.isfinite(list(found.values())).all()


def test_prevalidated_scores_are_of_refits(rng):
    X, Z = rng.normal(size=(12, 5)), np.eye(3)[rng.integers(0, 3, 12)]
    centred = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    prior = Z.mean(axis=0)
    found = left_out_scores(U, s, U.T @ (Z - prior), Z, prior, reg=0.7)
    for i in range(12):
        kept = np.arange(12) != i
        # Ridge leaves its intercept free, as the formula does.
        refit = Ridge(alpha=0.7).fit(X[kept], Z[kept])
        np.testing.assert_allclose(found[i], refit.predict(X[[i]])[0], atol=1e-10)


def test_prevalidated_ridge_is_ridge_with_a_softmax():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    model = PrevalidatedRidge().fit(X, y)
    scores = Ridge(alpha=model.reg_).fit(X, np.eye(3)[y]).predict(X)
    expected = np.exp(model.beta_ * scores)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_mlknn_is_the_papers_formula(rng):
    X, Y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=(40, 3))
    model = MLkNN(candidates=(5,)).fit(X, Y)
    row = rng.normal(size=(1, 2))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    counts = Y[np.argsort(distances, axis=1)[:, :5]].sum(axis=1)
    near = np.argsort(np.linalg.norm(X - row, axis=1))[:5]
    for label in range(3):
        k = Y[near, label].sum()
        prior = (1 + Y[:, label].sum()) / (2 + 40)
        on, off = counts[Y[:, label] == 1, label], counts[Y[:, label] == 0, label]
        a = prior * (1 + (on == k).sum()) / (6 + len(on))
        b = (1 - prior) * (1 + (off == k).sum()) / (6 + len(off))
        assert model.predict_proba(row)[0, label] == pytest.approx(a / (a + b))


def test_codings_of_the_task():
    X, task = np.array([[2.0, 3.0], [4.0, 5.0]]), np.array([7, 9])
    model = WithTask(None, coding="interactions")
    model.tasks_ = np.array([7, 9])
    np.testing.assert_array_equal(
        model._joined(X, task), [[2, 3, 1, 0, 2, 3, 0, 0], [4, 5, 0, 1, 0, 0, 4, 5]]
    )
    model.coding = "number"
    np.testing.assert_array_equal(model._joined(X, task)[:, -1], [0, 1])


def test_measures_of_one_block_are_the_usual_ones(rng):
    _, y = load_iris(return_X_y=True)
    proba = rng.dirichlet([1, 1, 1], size=len(y))
    found = qualities([y], [proba])
    assert found["log_loss"] == pytest.approx(log_loss(y, proba))
    assert found["auc"] == pytest.approx(roc_auc_score(y, proba, multi_class="ovr"))
    assert found["brier"] == pytest.approx(brier_score(y, proba))
    assert found["ece"] == pytest.approx(expected_calibration_error(y, proba))


def test_measures_of_blocks_weigh_rows_and_average_auc(rng):
    truth = [rng.integers(0, 2, 30), rng.integers(0, 3, 60)]
    proba = [rng.dirichlet(np.ones(c), size=n) for c, n in ((2, 30), (3, 60))]
    found = qualities(truth, proba)
    parts = [qualities([y], [p]) for y, p in zip(truth, proba, strict=True)]
    for name in ("accuracy", "log_loss", "brier"):
        assert found[name] == pytest.approx((parts[0][name] + 2 * parts[1][name]) / 3)
    assert found["auc"] == pytest.approx((parts[0]["auc"] + parts[1]["auc"]) / 2)


def test_one_certain_mistake_does_not_decide_and_one_class_has_no_auc():
    found = qualities([np.array([0])], [np.array([[0.0, 1.0]])])
    assert found["log_loss"] == pytest.approx(-np.log(1e-6))
    assert np.isnan(found["auc"])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([[0.5, 0.6]], "no probabilities"),
        ([[np.nan, 1.0]], "not finite"),
        ([[1.0, 0.0]] * 2, r"shape \(2, 2\) for 1 rows"),
        ([[1.5, -0.5]], "least value -0.5"),
    ],
)
def test_what_is_no_probability_is_refused(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        qualities([np.array([0])], [np.array(table)])
