"""Values whose squares overflow are refused in a sentence; below, nothing is NaN."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kinlearn import (
    LSPC,
    LSPCCV,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MultiLabelLSPC,
    MultiLabelLSPCCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
    NormalEquations,
)

MODELS = [
    LSPC,
    LSPCCV,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MultiLabelLSPC,
    MultiLabelLSPCCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
]
LARGEST = {
    "rbf": 1e150,
    "laplacian": 1e150,
    "exponential": 1e150,
    "matern32": 1e150,
    "chi2": 1e150,
    "cosine": 1e150,
    "linear": 1e40,
    "polynomial": 1e40,
}


def data(rng, n_rows=40):
    X = rng.uniform(size=(n_rows, 3))
    return X, (X[:, 0] > 0.5).astype(int)


def with_value(X, value):
    X = X.copy()
    X[7, 1] = value
    return X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_refuses_what_cannot_be_squared(model, sparse, rng):
    X, y = data(rng)
    form = sp.csr_matrix if sparse else np.asarray
    for value in (1e151, -1e160, 1e308):
        dirty = form(with_value(X, value))
        expected = rf"Column 1 \(counted from 0\) holds {value:g}".replace("+", r"\+")
        with pytest.raises(ValueError, match=expected):
            model().fit(dirty, y)
        fitted = model().fit(form(X), y)
        for answer in (fitted.predict, fitted.predict_proba, fitted.decision_function):
            with pytest.raises(ValueError, match=expected):
                answer(dirty)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", LARGEST)
@pytest.mark.filterwarnings("ignore:Columns spread")
def test_every_kernel_has_its_largest_value(kernel, sparse, rng):
    X, y = data(rng)
    form = sp.csr_matrix if sparse else np.asarray
    with pytest.raises(ValueError, match=rf"beyond .* the arithmetic of kernel='{kernel}'"):
        LSPC(kernel=kernel).fit(form(with_value(X, 1.1 * LARGEST[kernel])), y)
    largest = 0.9 * LARGEST[kernel]
    # the third power of an inner product is a matter of the width
    sigma = 1e40 if kernel == "polynomial" else "median"
    for n_centers in (None, 10):
        dirty = form(with_value(X, largest))
        model = LSPC(kernel=kernel, sigma=sigma, n_centers=n_centers, random_state=0).fit(dirty, y)
        assert np.isfinite(model.predict_proba(dirty)).all()
        model = LSPC(kernel=kernel, sigma=sigma, n_centers=n_centers, random_state=0)
        assert np.isfinite(model.fit(form(X), y).predict_proba(dirty)).all()


@pytest.mark.filterwarnings("ignore:Columns spread", "ignore:The best")
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential", "matern32", "cosine"])
@pytest.mark.parametrize("model", MODELS)
def test_just_below_nothing_is_nan(model, kernel, rng):
    X, y = data(rng)
    dirty = with_value(X, 0.9e150)
    fitted = model(kernel=kernel).fit(dirty, y)
    assert np.isfinite(fitted.predict_proba(dirty)).all()


def test_the_column_has_its_name(rng):
    X, y = data(rng)
    frame = pd.DataFrame(X, columns=["age", "income", "height"])
    model = LSPC().fit(frame, y)
    frame.loc[3, "income"] = 1e200
    with pytest.raises(ValueError, match=r"Column 'income' holds 1e\+200 \(row 3\)"):
        model.predict(frame)
    with pytest.raises(ValueError, match=r"Column 'income' holds 1e\+200"):
        LSPC().fit(frame, y)


def test_given_centers_and_familiar_rows_are_looked_at(rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match=r"Column 1 .* holds"):
        LSPC(centers=with_value(X, 1e200)).fit(X, y)
    with pytest.raises(ValueError, match=r"Column 1 .* holds"):
        LSPC().fit(X, y).familiarity(with_value(X, 1e200))


def test_batches_are_looked_at(rng):
    X, y = data(rng)
    dirty = with_value(X, 1e200)
    with pytest.raises(ValueError, match=r"Column 1 .* holds"):
        LSPC(n_centers=5).partial_fit(dirty, y)
    with pytest.raises(ValueError, match=r"Column 1 .* holds"):
        LSPC(n_centers=5).partial_fit(X, y).partial_fit(dirty, y)
    with pytest.raises(ValueError, match=r"Column 1 .* holds"):
        NormalEquations(X[:5]).update(dirty, y)
    with pytest.raises(ValueError, match=r"Column 1 .* holds"):
        NormalEquations(dirty)


def test_a_polynomial_that_overflows_says_so(rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match="to the power degree=3, which overflows"):
        LSPC(kernel="polynomial", sigma=1.0).fit(with_value(X, 1e30), y)
    model = LSPC(kernel="polynomial", sigma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="to the power degree=3, which overflows"):
        model.predict_proba(with_value(X, 1e35))
    with pytest.raises(ValueError, match=r"degree=2\.5, which is no real number"):
        LSPC(kernel="polynomial", degree=2.5, coef0=0.0).fit(X - 0.5, y)


def test_kernel_values_that_overflow_are_refused(rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match=r"returned values up to .*e\+20.*divide them"):
        LSPC(kernel=lambda A, B: 1e200 * A @ B.T).fit(X, y)
    with pytest.raises(ValueError, match="the arithmetic of kernel='precomputed'"):
        LSPC(kernel="precomputed").fit(1e200 * X @ X.T, y)


@pytest.mark.filterwarnings("ignore:Columns spread", "ignore:The best")
@pytest.mark.parametrize("value", [1e12, 1e20, 0.9e40])
@pytest.mark.parametrize(
    "model",
    [
        LSPC(),
        LSPC(n_centers=10, random_state=0),
        LSPC(class_weight="balanced"),
        LSPC(basis="classwise"),
        LSPCCV(n_centers=10, random_state=0),
        MultiLabelLSPC(n_centers=10, random_state=0),
        MultiTaskLSPC(n_centers=10, random_state=0),
    ],
)
def test_a_row_that_nothing_else_predicts_is_held_out_all_the_same(model, value, rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    model = clone(model).set_params(kernel="linear").fit(with_value(X, value), y)
    assert np.isfinite(model.held_out_scores_).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("selection", ["leverage", "kmeans++", "random"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
@pytest.mark.parametrize("scale", [0.0, 1e-200, 1.0])
def test_rows_too_small_to_square_are_no_matter_for_a_decomposition(kernel, selection, scale, rng):
    X = scale * rng.normal(size=(12, 3)) + (1.0 if scale == 0.0 else 0.0)
    X[:3, 0] += scale * 1e-3
    y = np.arange(12) % 2
    model = LSPC(kernel=kernel, n_centers=2, center_selection=selection, random_state=0)
    if scale == 0.0:
        with pytest.warns(UserWarning, match="identical|exceeds"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_single_precision_rows_are_never_too_large_to_square(model, sparse, rng):
    X, y = data(rng)
    form = sp.csr_matrix if sparse else np.asarray
    X = form(with_value(X, 1e30).astype(np.float32))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Columns spread|The best")
        warnings.filterwarnings("ignore", "", ConvergenceWarning)
        fitted = model().fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all()


@pytest.mark.parametrize("weight", [1e-16, 1e5, 1e16])
def test_one_row_of_another_weight_is_no_singular_matrix(weight, rng):
    X, y = data(rng)
    weights = np.ones(len(y))
    weights[3] = weight
    model = LSPCCV().fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()
