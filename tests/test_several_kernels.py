"""Several kernels, and kernels in a learnt metric, in one stack."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn import (
    LSPC,
    LSPCCV,
    KernelLogisticRegressionCV,
    MultiLabelLSPCCV,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPCCV,
)
from kinlearn.kernels import resolve_kernel
from kinlearn.kernels.metric import in_metric
from kinlearn.solvers.gradient_metric import mean_outer_gradient, metric_of, relevances

pytestmark = pytest.mark.filterwarnings("ignore:The best (reg|sigma) is:UserWarning")
SEVERAL = ["rbf", "laplacian", "linear"]
GRID = {"regs": [1e-5, 1e-3, 1e-1]}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:90]
    return StandardScaler().fit_transform(X[rows]), y[rows]


def fitted(name, wine, **options):
    """A tuned estimator, and what answers for rows."""
    X, y = wine
    task = np.arange(len(y)) % 3
    if name == "LSPCCV":
        model = LSPCCV(**GRID, **options).fit(X, y)
    elif name == "MultiTaskLSPCCV":
        model = MultiTaskLSPCCV(sharings=[0, 0.5, 1], **GRID, **options).fit(X, y, task=task)
        return model, partial(model.predict_proba, task=task)
    elif name == "MultiLabelLSPCCV":
        Y = np.column_stack([y == k for k in range(3)]).astype(int)
        model = MultiLabelLSPCCV(sharings=[0, 0.5], **GRID, **options).fit(X, Y)
    elif name == "KernelLogisticRegressionCV":
        model = KernelLogisticRegressionCV(**GRID, combine="within_se", **options).fit(X, y)
    else:
        model = MultiTaskKernelLogisticRegressionCV(
            sharings=[0, 0.5], sigmas=[4.0], combine="within_se", **GRID, **options
        ).fit(X, y, task=task)
        return model, partial(model.predict_proba, task=task)
    return model, model.predict_proba


TUNED = [
    "LSPCCV",
    "MultiTaskLSPCCV",
    "MultiLabelLSPCCV",
    "KernelLogisticRegressionCV",
    "MultiTaskKernelLogisticRegressionCV",
]
WAYS = [{"kernel": SEVERAL}, {"kernel": SEVERAL, "metric": "diagonal"}]


@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.parametrize("options", WAYS, ids=["kernels", "metric"])
@pytest.mark.parametrize("name", TUNED)
def test_models_of_several_kernels_are_kept_stored_and_pickled(name, options, wine, tmp_path):
    model, answer = fitted(name, wine, **options)
    X, _ = wine
    proba = answer(X)
    assert len(model.kept_kernels_) == len(model.kept_sigmas_) == len(model.coef_)
    assert {"kernel", "sigma", "reg"} <= model.best_params_.keys()
    assert model.best_params_["kernel"] == model.kernel_
    assert len(model.cv_results_["param_kernel"]) == len(model.weights_)
    kinlearn.save(model, tmp_path / "model.kin")
    for other in (kinlearn.load(tmp_path / "model.kin"), pickle.loads(pickle.dumps(model))):
        again = partial(other.predict_proba, **getattr(answer, "keywords", {}))
        assert np.array_equal(again(X), proba)
        assert other.kernel == SEVERAL
    small = kinlearn.compress(model, len(model.centers_))
    again = partial(small.predict_proba, **getattr(answer, "keywords", {}))
    assert np.abs(again(X) - proba).max() < 1e-4


@pytest.mark.parametrize("options", WAYS, ids=["kernels", "metric"])
def test_onnx_answers_the_same(options, wine):
    runtime = pytest.importorskip("onnxruntime")
    model, answer = fitted("LSPCCV", wine, **options)
    X, _ = wine
    session = runtime.InferenceSession(kinlearn.to_onnx(model).SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[1]
    assert np.abs(found - answer(X)).max() < 1e-9


def test_a_list_of_one_is_that_kernel(wine):
    one, alone = fitted("LSPCCV", wine, kernel="rbf")
    several, listed = fitted("LSPCCV", wine, kernel=["rbf"])
    X, _ = wine
    assert np.array_equal(alone(X), listed(X))
    assert one.best_params_ == several.best_params_


def test_the_grid_is_that_of_every_kernel_alone(wine):
    model, _ = fitted("LSPCCV", wine, kernel=SEVERAL, combine="best", store_cv_scores=True)
    for kernel in SEVERAL:
        alone, _ = fitted("LSPCCV", wine, kernel=kernel, combine="best", store_cv_scores=True)
        own = model.cv_results_["param_kernel"] == kernel
        assert np.allclose(model.cv_scores_[own], alone.cv_scores_, atol=1e-9)
        assert np.array_equal(
            model.cv_results_["param_sigma"][own], alone.cv_results_["param_sigma"]
        )
    assert model.kept_kernels_ == [model.kernel_]


def test_points_of_all_kernels_are_stacked_together(wine):
    _, y = wine
    model, _ = fitted("LSPCCV", wine, kernel=SEVERAL, posterior="rounded", store_cv_scores=True)
    Z = np.eye(3)[y[model.cv_rows_]]
    found, _ = nnls(model.cv_scores_.reshape(len(model.weights_), -1).T, Z.ravel(), maxiter=10_000)
    found /= found.sum()
    mixed = [np.tensordot(w, model.cv_scores_, axes=1) for w in (found, model.weights_)]
    assert np.square(mixed[1] - Z).sum() <= 1.001 * np.square(mixed[0] - Z).sum()


def test_scores_are_the_sum_over_kernels(wine):
    X, _ = wine
    model, _ = fitted("LSPCCV", wine, kernel=SEVERAL, metric="diagonal")
    total = model.intercept_ + 0.0
    for kernel, sigma, coef in zip(
        model.model_.kernels, model.kept_sigmas_, model.coef_, strict=True
    ):
        rows, centers = X, model.centers_
        if kernel.metric is not None:
            rows, centers = X * kernel.metric, centers * kernel.metric
        if kernel.name == "linear":
            K = rows @ centers.T
        else:
            gap = rows[:, None] - centers
            K = (
                np.exp(-np.abs(gap).sum(-1) / sigma)
                if kernel.name == "laplacian"
                else np.exp(-np.square(gap).sum(-1) / (2 * sigma**2))
            )
        total = total + K @ coef
    assert np.allclose(total, model.decision_function(X), atol=1e-10)


def test_a_task_is_added_to_several_kernels(wine):
    X, y = wine
    task = np.arange(len(y)) % 3
    model = MultiTaskLSPCCV(kernel=SEVERAL, metric="diagonal").fit(X, y, task=task)
    model.add_task(X[:30], y[:30], task=9)
    assert model.score(X[:30], y[:30], task=np.full(30, 9)) > 0.9


def test_refusals_are_sentences(wine):
    X, y = wine
    with pytest.raises(ValueError, match="LSPC takes one kernel"):
        LSPC(kernel=["rbf", "linear"]).fit(X, y)
    with pytest.raises(ValueError, match="names no kernel"):
        LSPCCV(kernel=[]).fit(X, y)
    with pytest.raises(ValueError, match="more than once"):
        LSPCCV(kernel=["rbf", "rbf"]).fit(X, y)
    with pytest.raises(ValueError, match="no other kernel can stand beside it"):
        LSPCCV(kernel=["precomputed", "rbf"]).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="metric='round' is not known"):
        LSPCCV(metric="round").fit(X, y)
    with pytest.raises(ValueError, match="is not known"):
        LSPCCV(kernel=["rbf", "gaussian"]).fit(X, y)


@pytest.mark.parametrize("Estimator", [LSPCCV, MultiTaskLSPCCV])
def test_far_from_all_rows_the_default_is_not_sure(Estimator):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5))
    y = (X @ [1.0, 1.0, 0.0, 0.0, 0.0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    model = Estimator().fit(X, y)
    assert model.predict_proba(X).max(axis=1).mean() > 0.85
    assert model.predict_proba(1000 * X).max(axis=1).max() < 0.7


def test_sparse_rows_have_a_diagonal_metric(wine):
    import scipy.sparse as sp

    X, y = wine
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = LSPCCV(kernel=["rbf"], metric="diagonal", combine="best", **GRID)
    dense, sparse = model.fit(X, y), clone(model).fit(sp.csr_matrix(X), y)
    assert np.allclose(dense.feature_relevance_, sparse.feature_relevance_)
    # folds, without which the metric is learnt once more, are dealt by how rows are stored
    assert np.abs(dense.predict_proba(X) - sparse.predict_proba(sp.csr_matrix(X))).max() < 1e-2


# -- the metric -----------------------------------------------------------------------------------


def test_the_mean_outer_gradient_is_that_of_differences():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    Z, weights = np.eye(2)[y], rng.uniform(0.5, 2.0, 40)
    model = LSPC(kernel="rbf", sigma=1.5, reg=1e-2, posterior="raw")
    model.fit(X, y, sample_weight=weights)

    def scores(rows):
        return model.model_.scores(rows, 100.0)

    step, gradients = 1e-5, []
    for j in range(3):
        shift = np.zeros(3)
        shift[j] = step
        gradients.append((scores(X + shift) - scores(X - shift)) / (2 * step))
    naive = np.einsum("jnc,knc,n->jk", gradients, gradients, weights / weights.sum()) / 2
    found = mean_outer_gradient(X, Z, weights, 1.5, 1e-2, whole=True)
    assert np.allclose(found, naive, rtol=1e-6)
    diagonal = mean_outer_gradient(X, Z, weights, 1.5, 1e-2, whole=False)
    assert np.allclose(diagonal, np.diag(naive), rtol=1e-6)
    assert relevances(diagonal).mean() == pytest.approx(1.0)
    whole = metric_of(found)
    assert np.trace(whole @ whole.T) == pytest.approx(3.0)


def test_a_kernel_in_a_metric_is_the_kernel_of_mapped_rows():
    rng = np.random.default_rng(2)
    X, C = rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    for metric in (rng.uniform(size=4), rng.normal(size=(4, 2))):
        kernel = resolve_kernel("laplacian")
        seen = kernel.in_metric(metric).measure(C).block(X)
        assert np.allclose(seen, kernel.measure(in_metric(C, metric)).block(in_metric(X, metric)))


def test_relevance_finds_the_columns_that_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 10))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    model = LSPCCV(kernel=["rbf", "laplacian"], metric="diagonal").fit(X, y)
    plain = LSPCCV(kernel=["rbf", "laplacian"], metric=None).fit(X, y)
    order = np.argsort(-model.feature_relevance_)
    assert set(order[:2]) == {0, 1}
    assert model.feature_relevance_.mean() == pytest.approx(1.0)
    new = rng.normal(size=(2000, 10))
    truth = (np.sin(2 * new[:, 0]) + new[:, 1] > 0).astype(int)
    loss = [-np.log(m.predict_proba(new)[np.arange(2000), truth]).mean() for m in (model, plain)]
    assert loss[0] < 0.97 * loss[1]
    refit = clone(model).set_params(metric=None).fit(X, y)
    assert not hasattr(refit, "feature_relevance_")


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_noise_is_not_learnt_metric_and_all(metric):
    losses = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 20)), rng.permutation(np.arange(120) % 2)
        model = LSPCCV(kernel=SEVERAL, metric=metric).fit(X, y)
        proba = model.held_out_proba()
        losses.append(-np.log(proba[np.arange(120), y]).mean() - np.log(2))
    losses = np.array(losses)
    assert losses.mean() > -2 * losses.std(ddof=1) / np.sqrt(len(losses))
