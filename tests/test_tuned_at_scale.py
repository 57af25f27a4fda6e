"""Tuning on a sample, sums over all rows and the polish; logistic regression at scale."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kinlearn
from kinlearn import (
    LSPCCV,
    HandOver,
    KernelLogisticRegression,
    MultiLabelLSPCCV,
    NormalEquations,
)
from kinlearn.estimators._at_scale import StackedFeatures, automatic_centers
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.problems.fixed_basis import RowFeatures
from kinlearn.solvers import fixed_centers
from kinlearn.solvers.fixed_centers import normal_equations
from naive.logistic import logistic_regression

# a few points are quick, and the best of them may well sit on an edge
pytestmark = pytest.mark.filterwarnings("ignore:The best .* of the grid")
FEW = {"sigmas": [1.0, 2.0], "regs": [1e-5, 1e-3], "n_centers": 40, "polish": 8, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    middle = rng.normal(size=(6, 3)) * 1.5
    y = rng.integers(6, size=1600)
    X = np.hstack([middle[y] + 0.7 * rng.normal(size=(1600, 3)), rng.normal(size=(1600, 3))])
    return X, y


def loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


def test_a_metric_of_a_sample_serves_all_rows(table, tmp_path):
    X, y = table
    model = LSPCCV(kernel="rbf", metric="full", **FEW).fit(X[:1200], y[:1200])
    closed = LSPCCV(kernel="rbf", metric="full", **{**FEW, "polish": None})
    closed.fit(X[:1200], y[:1200])
    assert model.metric_ == "full"
    assert model.feature_relevance_[:3].min() > model.feature_relevance_[3:].max()
    assert model.n_iter_ > 1
    assert loss(model, X[1200:], y[1200:]) < 1.1 * loss(closed, X[1200:], y[1200:])
    assert model.held_out_log_loss_ == pytest.approx(loss(model, X[1200:], y[1200:]), rel=0.35)
    kinlearn.save(model, tmp_path / "model.kin")
    again = kinlearn.load(tmp_path / "model.kin")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_too_few_groups_are_the_reason_for_the_closed_form(table):
    X, y = (part[:600] for part in table)
    model = LSPCCV(kernel="rbf", metric=None, **FEW).fit(X, y, groups=np.arange(600) % 4)
    assert "groups could be held out" in model.polish_reason_


@pytest.mark.parametrize("smooth", [False, True])
def test_a_kernel_without_a_width_is_tried_on_all_rows(table, smooth):
    X, y = table
    if not smooth:  # answers change at thresholds of single columns
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1600, 4))
        y = ((X[:, 0] > 0.5) + (X[:, 1] > -0.3) + (rng.uniform(size=1600) < 0.1) >= 1).astype(int)
    model = LSPCCV(kernel=["rbf", "steps"], metric=None, **FEW).fit(X[:1200], y[:1200])
    alone = LSPCCV(kernel="rbf", metric=None, **FEW).fit(X[:1200], y[:1200])
    assert ("steps" in model.kept_kernels_) or smooth
    assert loss(model, X[1200:], y[1200:]) < 1.02 * loss(alone, X[1200:], y[1200:])


def test_a_few_equal_rows_keep_nothing_from_being_polished(table, monkeypatch):
    from kinlearn.estimators import _polish

    monkeypatch.setattr(_polish, "AUTO_ROWS", 1000)
    X, y = np.vstack([table[0], table[0][:9]]), np.append(table[1], table[1][:9])
    options = {**FEW, "kernel": "rbf", "metric": None, "polish": "auto"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = LSPCCV(**options).fit(X, y)
        model = HandOver(LSPCCV(**options)).fit(X, y)
    assert "outnumber" in plain.polish_reason_
    assert model.estimator_.polish_reason_ == plain.polish_reason_
    held = np.isnan(model.estimator_.held_out_proba()).any(axis=1)
    np.testing.assert_array_equal(held[-9:], held[:9])


def test_groups_of_many_rows_are_polished(table):
    X, y = table
    groups = np.arange(1600) // 4
    model = LSPCCV(kernel="rbf", metric="full", **FEW).fit(X, y, groups=groups)
    assert model.n_iter_ > 1
    known = ~np.isnan(model.held_out_proba()).any(axis=1)
    assert known.sum() >= 100
    assert not np.intersect1d(groups[known], groups[~known]).size


def test_a_second_kernel_stands_beside_the_first(table, monkeypatch):
    from kinlearn.estimators import _at_scale

    monkeypatch.setattr(_at_scale, "WORTH_A_BLOCK", 0.0)
    X, y = table
    model = LSPCCV(kernel=["rbf", "laplacian"], metric=None, **FEW).fit(X, y)
    assert sorted(model.kept_kernels_) == ["laplacian", "rbf"]
    assert model.coef_.shape == (2, 40, 6)
    assert np.isfinite(loss(model, X, y))


def test_stacked_features_are_side_by_side(table):
    X, _ = table
    kernels = [resolve_kernel("rbf"), resolve_kernel("laplacian")]
    maps = [KernelMap(kernel, X[:7], memory_mb=0.01) for kernel in kernels]
    stacked = StackedFeatures(maps, X, [1.5, 1.5])
    assert 0 < len(stacked.kept) < len(X)
    wanted = np.hstack([each.features(X, 1.5) for each in maps])
    found = list(stacked.blocks())
    assert len(found) > 1
    np.testing.assert_allclose(np.vstack([phi for _, phi in found]), wanted)
    some = np.array([5, 900, 17])
    np.testing.assert_allclose(np.vstack([phi for _, phi in stacked.blocks(some)]), wanted[some])


def test_features_are_weighed_in_parts(table, monkeypatch):
    X, _ = table
    source = RowFeatures(KernelMap(resolve_kernel("rbf"), X[:7]), X, 1.5)
    rng = np.random.default_rng(0)
    Z, weights = rng.normal(size=(len(X), 2)), rng.integers(1, 4, len(X)).astype(float)
    wanted = normal_equations(source, Z, weights)
    monkeypatch.setattr(fixed_centers, "WEIGHED_BYTES", 1000)
    for found, whole in zip(normal_equations(source, Z, weights), wanted, strict=True):
        np.testing.assert_allclose(found, whole)


def test_what_asks_for_all_rows_keeps_the_closed_form(table):
    X, y = table
    options = {**FEW, "kernel": "rbf", "metric": None, "polish": "auto"}
    model = LSPCCV(**options).fit(X, y)
    assert "few beside" in model.polish_reason_
    with pytest.raises(ValueError, match="cannot be had"):
        LSPCCV(**{**options, "polish": 4, "cv": 5}).fit(X, y)
    with pytest.raises(ValueError, match="cannot be had"):
        LSPCCV(**{**options, "polish": 4, "store_cv_scores": True}).fit(X, y)


def test_centres_grow_with_the_rows():
    counts = [automatic_centers(n) for n in (1_000, 10_000, 60_000, 10**6, 10**9)]
    assert counts == sorted(counts)
    assert counts[0] == 1500
    assert counts[-1] == 4000


STREAM = {"n_centers": 40, "polish": 8, "random_state": 0, "regs": [1e-6, 1e-4, 1e-2]}


@pytest.fixture
def few_rows_tell(monkeypatch):
    """As if 500 rows were enough to choose kernels from."""
    for module in ("lspc_cv", "multilabel_lspc_cv", "_stream_fit"):
        monkeypatch.setattr(f"kinlearn.estimators.{module}.AUTO_ROWS", 500)
    monkeypatch.setattr("kinlearn.estimators._stream_fit.MEDIAN_ROWS", 500)


def test_a_stream_of_few_rows_keeps_the_first_kernel(table):
    X, y = table
    plain = LSPCCV(kernel=["rbf", "laplacian"], **STREAM).fit_stream((X, y), batch_rows=500)
    assert plain.kept_kernels_ == ["rbf"]
    assert (plain.kernel_, plain.metric_) == ("rbf", "plain")


@pytest.mark.usefixtures("few_rows_tell")
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_a_stream_chooses_kernel_metric_and_width_by_its_first_rows(table, metric, tmp_path):
    X, y = table
    given = {**STREAM, "kernel": ["rbf", "laplacian"], "metric": metric}
    stream = {"batch_rows": 500, "checkpoint": tmp_path / "sums.npz"}
    model = LSPCCV(**given).fit_stream((X[:1200], y[:1200]), **stream)
    assert model.metric_ == metric
    assert model.feature_relevance_[:3].min() > model.feature_relevance_[3:].max()
    assert model.feature_relevance_.mean() == pytest.approx(1.0)
    assert model.n_iter_ > 1
    first = LSPCCV(**{**STREAM, "metric": None}, kernel="rbf")
    first.fit_stream((X[:1200], y[:1200]), batch_rows=500)
    assert loss(model, X[1200:], y[1200:]) < loss(first, X[1200:], y[1200:])
    # the sums know the metric: a resumed stream, a file and rows that come later are in it
    again = LSPCCV(**given).fit_stream((X[:1200], y[:1200]), **stream)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    kinlearn.save(model, tmp_path / "model.kin")
    loaded = kinlearn.load(tmp_path / "model.kin")
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-12)
    model.partial_fit(X[1200:], y[1200:])
    assert model.metric_ == metric
    # the same sums of rows at once
    sums = model.statistics_
    Phi = sums.features().features(X, sums.sigma)
    np.testing.assert_allclose(sums.gram(), Phi.T @ Phi, rtol=1e-9)


@pytest.mark.usefixtures("few_rows_tell")
def test_whatever_brings_the_rows_they_choose_alike(table):
    X, y = table
    model = LSPCCV(kernel=["rbf", "laplacian"], metric="diagonal", **STREAM)
    whole = model.fit_stream((X, y), batch_rows=len(X))
    with pytest.warns(UserWarning, match="closed form"):
        once = clone(model).fit_stream(iter([(X, y)]))
    assert once.best_params_ == whole.best_params_
    drawn = clone(model).fit_stream((X, y), batch_rows=300, centers_from="reservoir")
    assert drawn.metric_ == "diagonal"
    mixed = np.random.default_rng(0).permutation(len(X))
    other = clone(model).fit_stream((X[mixed], y[mixed]), centers_from="reservoir")
    assert other.sigma_ == pytest.approx(drawn.sigma_)
    np.testing.assert_allclose(other.predict_proba(X), drawn.predict_proba(X), atol=1e-6)
    weighed = (X, y, None, np.where(np.arange(len(X)) % 3, 1.0, 0.0))
    assert clone(model).fit_stream(weighed, centers_from="reservoir").metric_ == "diagonal"


@pytest.mark.usefixtures("few_rows_tell")
def test_collections_choose_kernel_metric_and_width(table):
    da = pytest.importorskip("dask.array")
    X, y = table
    model = LSPCCV(kernel=["rbf", "laplacian"], metric="diagonal", **STREAM)
    parts = da.from_array(X, chunks=(600, 6)), da.from_array(y, chunks=600)
    spread = clone(model).fit(*parts)
    assert spread.metric_ == "diagonal"
    assert spread.n_iter_ > 1
    assert loss(spread, X, y) == pytest.approx(loss(model.fit_stream((X, y)), X, y), rel=0.2)


@pytest.mark.usefixtures("few_rows_tell")
def test_streams_of_labels_choose_kernel_metric_and_width(table):
    X, y = table
    Y = np.column_stack([y & 1, y & 2, y & 4]).astype(bool).astype(int)
    model = MultiLabelLSPCCV(metric="diagonal", **STREAM).fit_stream((X, Y), batch_rows=500)
    assert model.metric_ == "diagonal"
    assert model.feature_relevance_[:3].min() > model.feature_relevance_[3:].max()
    assert model.n_iter_ > 1


def test_sums_in_a_metric(table, tmp_path):
    X, y = table
    metric = np.array([1.0, 2.0, 0.5, 0.0, 0.0, 1.0])
    sums = NormalEquations(X[:10], sigma=1.5, metric=metric).update(X, y)
    plain = NormalEquations(X[:10] * metric, sigma=1.5).update(X * metric, y)
    np.testing.assert_allclose(sums.gram(), plain.gram(), rtol=1e-12)
    sums.save(tmp_path / "sums.npz")
    np.testing.assert_array_equal(NormalEquations.load(tmp_path / "sums.npz").metric, metric)
    with pytest.raises(ValueError, match="two metrics"):
        sums.copy().merge(NormalEquations(X[:10], sigma=1.5).update(X, y))
    for wrong in (metric[:3], np.full(6, np.nan)):
        with pytest.raises(ValueError, match="metric must hold a finite number"):
            NormalEquations(X[:10], metric=wrong)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_logistic_regression_in_passes(table, n_classes):
    X, y = table
    y = y % n_classes
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = KernelLogisticRegression(centers=X[:30], sigma=2.0, reg=1e-3, tol=1e-8)
    model.fit_stream((X, y, None, w), batch_rows=500)
    Phi = KernelMap(resolve_kernel("rbf"), X[:30]).features(X, 2.0)
    theirs = logistic_regression(Phi, y, 1e-3, w).predict_proba(Phi)
    assert np.abs(model.predict_proba(X) - theirs).max() < 1e-5
    assert model.gradient_norm_ <= 1e-8
    assert model.beta_ == 1.0
    assert not hasattr(model, "held_out_log_loss_")


def test_logistic_regression_on_dask(table):
    da = pytest.importorskip("dask.array")
    X, y = table
    given = {"centers": X[:30], "sigma": 2.0, "reg": 1e-2, "tol": 1e-8}
    parts = da.from_array(X, chunks=(600, 6)), da.from_array(y, chunks=600)
    spread = KernelLogisticRegression(**given).fit(*parts)
    memory = KernelLogisticRegression(**given).fit(X, y)
    np.testing.assert_allclose(spread.predict_proba(X), memory.predict_proba(X), atol=1e-6)


def test_logistic_regression_says_what_it_cannot(table):
    X, y = table
    model = KernelLogisticRegression(centers=X[:30], sigma=2.0, reg=1e-2)
    with pytest.raises(ValueError, match="until it has converged"):
        model.fit_stream(iter([(X, y)]))
    with pytest.raises(ValueError, match="warm_start adds to sums"):
        model.fit_stream((X, y), warm_start=True)
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        model.set_params(max_iter=2).fit_stream((X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=None, tol=1e-5).fit_stream((X, y))


def test_many_labels_are_tuned_on_a_sample_and_polished(table, tmp_path):
    X, y = table
    Y = np.column_stack([y & 1, y & 2, y & 4]).astype(bool).astype(int)
    few = {**FEW, "kernel": "rbf"}

    def loss_of(model):
        p = np.clip(model.predict_proba(X[1200:]), 1e-12, 1 - 1e-12)
        return -np.where(Y[1200:] == 1, np.log(p), np.log1p(-p)).mean()

    model = MultiLabelLSPCCV(**few).fit(X[:1200], Y[:1200])
    closed = MultiLabelLSPCCV(**{**few, "polish": None}).fit(X[:1200], Y[:1200])
    assert model.n_iter_ > 1
    assert model.sharing_ == 0.0
    assert loss_of(model) < 1.05 * loss_of(closed)
    assert model.held_out_log_loss_ == pytest.approx(loss_of(model), rel=0.35)
    kinlearn.save(model, tmp_path / "model.kin")
    again = kinlearn.load(tmp_path / "model.kin")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    single = MultiLabelLSPCCV(**few).fit(X[:1200], Y[:1200, 0])
    assert single.n_iter_ > 1
    alone = {name: value for name, value in few.items() if name != "sigmas"}
    stream = MultiLabelLSPCCV(**alone).fit_stream((X[:1200], Y[:1200]), batch_rows=500)
    assert stream.n_iter_ > 1
    unseen = Y[:1200].astype(float)
    unseen[0, 0] = np.nan
    for asked, given in ((few, unseen), ({**few, "sharings": [0.5]}, Y[:1200])):
        with pytest.raises(ValueError, match="cannot be had"):
            MultiLabelLSPCCV(**asked).fit(X[:1200], given)
