"""Smaller models, and models for another prevalence."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn import (
    LSPC,
    LSPCCV,
    HandOver,
    KernelLogisticRegression,
    MultiLabelLSPC,
    MultiTaskLSPC,
    compress,
    with_prior,
)
from kinlearn.datasets import make_related_tasks
from kinlearn.estimators.prior_shift import PriorShift


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700] / 16, y[:700], X[700:] / 16, y[700:]


# -- compress ---------------------------------------------------------------------------------


def test_few_centers_lose_little(digits):
    X, y, X_new, y_new = digits
    model = make_pipeline(StandardScaler(with_std=False), LSPC()).fit(X, y)
    small = compress(model, 200, X_new, y_new)
    report = small.compression_
    assert (report["n_centers_before"], report["n_centers_after"]) == (700, 200)
    assert report["n_rows"] == len(y_new)
    assert report["accuracy_before"] == pytest.approx(model.score(X_new, y_new))
    assert report["accuracy_after"] == pytest.approx(small.score(X_new, y_new))
    assert report["accuracy_after"] > report["accuracy_before"] - 0.03
    change = np.abs(model.predict_proba(X_new) - small.predict_proba(X_new))
    assert report["max_change"] == pytest.approx(change.max())
    assert report["agreement"] == np.mean(model.predict(X_new) == small.predict(X_new))
    assert model[-1].n_centers_ == 700  # left as it was
    assert not hasattr(small[-1], "held_out_scores_")


def test_all_centers_change_nothing(digits):
    X, y, X_new, _ = digits
    model = LSPC(reg=1e-1).fit(X[:200], y[:200])
    small = compress(model, 200)
    np.testing.assert_allclose(small.predict_proba(X_new), model.predict_proba(X_new), atol=1e-3)
    assert small.compression_["max_change"] < 1e-3


def test_more_centers_lose_less(digits):
    X, y, X_new, _ = digits
    model = LSPC().fit(X, y)
    changes = [compress(model, m, X_new).compression_["mean_change"] for m in (20, 100, 400)]
    assert changes[0] > changes[1] > changes[2]


def test_every_kernel_estimator_can_be_compressed():
    X, y, task = make_related_tasks(n_tasks=4, n_samples=40, random_state=0)
    Y = np.column_stack([y, X[:, 0] > 0]).astype(int)
    models = [
        (LSPCCV().fit(X, y), {}),
        (LSPC(kernel="laplacian", basis="classwise").fit(X, y), {}),
        (LSPC(kernel="cosine").fit(sp.csr_matrix(X), y), {}),
        (KernelLogisticRegression().fit(X, y), {}),
        (MultiLabelLSPC().fit(X, Y), {}),
        (MultiTaskLSPC().fit(X, y, task=task), {"task": task}),
        (MultiTaskLSPC(task_column=2).fit(np.column_stack([X, task]), y), {}),
    ]
    for model, given in models:
        small = compress(model, 60)
        rows = sp.csr_matrix(X) if sp.issparse(model.centers_) else X
        if getattr(model, "task_column", None) is not None:
            rows = np.column_stack([X, task])
        change = small.predict_proba(rows, **given) - model.predict_proba(rows, **given)
        assert np.abs(change).mean() < 0.1
        assert small.compression_["agreement"] > 0.85
        assert small.n_centers_ == 60 == small.centers_.shape[0]


def test_a_compressed_multi_task_model_takes_further_tasks():
    X, y, task = make_related_tasks(n_tasks=4, n_samples=40, random_state=0)
    model = MultiTaskLSPC().fit(X, y, task=task)
    small = compress(model, 100)
    rows = task == task[0]
    for each in (model, small):
        each.add_task(X[rows], y[rows], 99)
    ids = np.full(len(X), 99)
    change = small.predict_proba(X, task=ids) - model.predict_proba(X, task=ids)
    assert np.abs(change).mean() < 0.1


def test_compressed_models_are_saved_with_their_report(digits, tmp_path):
    X, y, X_new, _ = digits
    model = compress(LSPC().fit(X, y), 50)
    kinlearn.save(model, tmp_path / "small.kin")
    again = kinlearn.load(tmp_path / "small.kin")
    assert again.compression_ == model.compression_
    np.testing.assert_array_equal(again.predict_proba(X_new), model.predict_proba(X_new))
    assert kinlearn.model_info(tmp_path / "small.kin")["training_rows_held"] == 50
    assert (again.familiarity(X_new + 50) == 0).all()


def test_what_cannot_be_compressed(digits):
    X, y, *_ = digits
    model = LSPC().fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="n_centers must lie between 1 and 100"):
        compress(model, 101)
    with pytest.raises(TypeError, match="got a LogisticRegression"):
        compress(LogisticRegression().fit(X[:100], y[:100]), 5)
    with pytest.raises(TypeError, match="got a HandOver"):
        compress(HandOver(LSPC(), max_error=0.3).fit(X[:100], y[:100]), 5)
    with pytest.raises(ValueError, match="precomputed"):
        compress(LSPC(kernel="precomputed").fit(X[:100] @ X[:100].T, y[:100]), 5)


# -- with_prior -------------------------------------------------------------------------------


def two_normals(n, share, rng):
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * y[:, None], y


def test_probabilities_fit_the_new_prevalence():
    rng = np.random.default_rng(0)
    model = LSPC().fit(*two_normals(600, 0.5, rng))
    X, y = two_normals(20_000, 0.1, rng)
    shifted = with_prior(model, {0: 0.9, 1: 0.1})

    def loss(proba):
        return -np.log(proba[np.arange(len(y)), y]).mean()

    assert loss(shifted.predict_proba(X)) < loss(model.predict_proba(X)) - 0.1
    assert shifted.predict_proba(X)[:, 1].mean() == pytest.approx(0.1, abs=0.02)
    assert shifted.score(X, y) > model.score(X, y)


def test_the_training_prior_changes_nothing_and_arrays_equal_dicts(three_classes):
    X, y = three_classes
    model = LSPC().fit(X, y)
    np.testing.assert_allclose(
        with_prior(model, model.prior_).predict_proba(X), model.predict_proba(X), atol=1e-14
    )
    one, other = with_prior(model, [1, 2, 1]), with_prior(model, {2: 0.25, 0: 0.25, 1: 0.5})
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-14)
    p = model.predict_proba(X) * np.array([0.25, 0.5, 0.25]) / model.prior_
    np.testing.assert_allclose(one.predict_proba(X), p / p.sum(axis=1, keepdims=True), atol=1e-14)


def test_a_class_that_no_longer_exists(three_classes):
    X, y = three_classes
    proba = with_prior(LSPC().fit(X, y), [0, 1, 1]).predict_proba(X)
    assert (proba[:, 0] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_other_classifiers_need_the_training_prior(three_classes):
    X, y = three_classes
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="give it as training_prior"):
        with_prior(model, [1, 1, 2])
    shifted = with_prior(model, [1, 1, 2], training_prior=[1, 1, 1])
    assert (shifted.predict_proba(X)[:, 2] >= model.predict_proba(X)[:, 2]).all()
    with pytest.raises(AttributeError):
        shifted.familiarity(X)


def test_tasks_pipelines_and_files(tmp_path):
    X, y, task = make_related_tasks(n_tasks=3, n_samples=30, random_state=0)
    scaled = make_pipeline(StandardScaler(), MultiTaskLSPC())
    model = scaled.fit(X, y, multitasklspc__task=task)
    shifted = with_prior(model, dict(zip(model.classes_.tolist(), [0.2, 0.8], strict=True)))
    kinlearn.save(shifted, tmp_path / "m")
    again = kinlearn.load(tmp_path / "m")
    np.testing.assert_array_equal(
        again.predict_proba(X, task=task), shifted.predict_proba(X, task=task)
    )
    np.testing.assert_array_equal(
        again.familiarity(X), model[-1].familiarity(model[0].transform(X))
    )


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({0: 0.5, 1: 0.5}, "2 is missing"),
        ({0: 1, 1: 1, 2: 1, 7: 1}, "7 is none of them"),
        ([0.5, 0.5], "3 classes"),
        ([1, -1, 1], "at least 0"),
        ([0, 0, 0], "not all 0"),
    ],
)
def test_priors_that_make_no_sense(prior, message, three_classes):
    X, y = three_classes
    with pytest.raises(ValueError, match=message):
        with_prior(LSPC().fit(X, y), prior)


def test_many_labels_are_refused(three_classes):
    X, y = three_classes
    model = MultiLabelLSPC().fit(X, np.column_stack([y > 0, y > 1]).astype(int))
    with pytest.raises(TypeError, match="answers for several"):
        with_prior(model, [0.5, 0.5])


def test_fitting_the_wrapper_equals_wrapping_the_fitted(three_classes):
    X, y = three_classes
    one = PriorShift(LSPC(), prior=[1, 2, 3]).fit(X, y)
    other = with_prior(LSPC().fit(X, y), [1, 2, 3])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-14)
