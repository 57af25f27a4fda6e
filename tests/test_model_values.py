"""A fitted model is a value: nothing done to its estimator or to the data changes it."""

import copy
import pickle

import numpy as np
import pytest

import kinlearn
from kinlearn import LSPC, LSPCCV, MultiLabelLSPC, MultiLabelLSPCCV, MultiTaskLSPC
from kinlearn.training.label_table import read_labels
from kinlearn.training.training_set import make_training_set


def rows(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


def inner(A, B):
    return A @ B.T


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "polynomial", inner])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_every_kernel_is_pickled_and_copied(kernel, copied):
    X, y = rows()
    model = LSPC(kernel=kernel, sigma=1.5, degree=2, coef0=0.5).fit(X, y)
    np.testing.assert_array_equal(copied(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "changed", [{"kernel": "linear"}, {"posterior": "raw"}, {"sigma": 9.0}, {"degree": 5}]
)
def test_parameters_set_after_the_fit_change_neither_answers_nor_files(changed, tmp_path):
    X, y = rows()
    model = LSPC(kernel="polynomial", sigma=1.5, degree=2).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(**changed)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    kinlearn.save(model, tmp_path / "m.kin")
    np.testing.assert_array_equal(kinlearn.load(tmp_path / "m.kin").predict_proba(X), before)


def test_arrays_that_were_passed_may_change():
    X, y = rows()
    centers = X[:10].copy()
    for model in (LSPC(centers=centers), LSPC(), MultiTaskLSPC(centers=centers)):
        X, y = rows()
        asked = X.copy()
        before = model.fit(X, y).predict_proba(asked)
        X[:], y[:] = 7.0, 0
        centers_before = centers.copy()
        centers[:] = 3.0
        np.testing.assert_array_equal(model.predict_proba(asked), before)
        centers[:] = centers_before


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("Estimator", [MultiLabelLSPC, MultiLabelLSPCCV])
def test_models_of_rounded_parameters_are_saved(Estimator, tmp_path):
    X, y = rows()
    Y = np.column_stack([y, X[:, 1] > 0, y ^ (X[:, 1] > 0)]).astype(int)
    grid = {} if Estimator is MultiLabelLSPC else {"sigmas": [1.0, 2.0], "regs": [1e-2, 1e-1, 1]}
    model = Estimator(posterior="rounded_parameters", threshold="loo_f1", **grid).fit(X, Y)
    kinlearn.save(model, tmp_path / "m.kin")
    again = kinlearn.load(tmp_path / "m.kin")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_label_that_is_not_observed_is_a_kind_of_its_own():
    X, y = rows()
    Y = y[:, None].astype(float)
    Y[np.random.default_rng(1).random((60, 1)) < 0.2] = np.nan
    data = make_training_set(X, read_labels(Y), None, None, "here")
    assert data.units.size == 60
    once, twice = (MultiLabelLSPC().fit(X, np.repeat(Y, k, axis=1)) for k in (1, 2))
    assert once.betas_[0] == pytest.approx(twice.betas_[0], rel=1e-3)


def test_class_weights_of_labels_may_name_other_classes():
    X, y = rows()
    model = MultiLabelLSPC(class_weight={0: 1.0, 7: 3.0})
    plain = MultiLabelLSPC().fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), plain)
    with pytest.raises(ValueError, match="class_weight"):
        LSPC(class_weight={7: 3.0}).fit(X, y)


def test_fitted_attributes_cannot_be_set():
    X, y = rows()
    model = LSPCCV().fit(X, y)
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros(3)
