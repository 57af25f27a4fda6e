"""Multi-task kernel logistic regression against a naive joint solve, its limits and hard cases."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kinlearn import (
    KernelLogisticRegression,
    MultiTaskKernelLogisticRegression,
    MultiTaskLSPC,
)
from kinlearn.datasets import make_related_tasks
from naive.logistic import naive_task_logistic_scores, shared_and_individual, task_gradient


@pytest.fixture(scope="module", params=[2, 3])
def related(request):
    X, y, task = make_related_tasks(
        n_tasks=4, n_samples=[30, 12, 20, 9], n_classes=request.param, random_state=0
    )
    return X, y, task


def two_columns(scores):
    return np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning:sklearn")
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("reg", "sharing"), [(1e-1, 0.3), (1e-3, 0.8)])
def test_it_equals_a_joint_solve_over_shared_and_individual_features(
    related, reg, sharing, weighted, solver
):
    X, y, task = related
    weights = np.random.default_rng(0).uniform(0.3, 2.0, len(y)) if weighted else None
    model = MultiTaskKernelLogisticRegression(reg=reg, sharing=sharing, sigma=2.0, solver=solver)
    model.fit(X, y, task=task, sample_weight=weights)
    phi = rbf_kernel(X, X, gamma=1 / 8)
    expected, shared = shared_and_individual(phi, y, task, 4, reg, sharing, weights)
    np.testing.assert_allclose(model.predict_proba(X, task=task), expected, atol=1e-5)
    found = model.shared_score(X)
    if found.ndim == 2:  # adding one number to all classes' scores changes no probability
        shared = shared - shared.mean(axis=1, keepdims=True)
        found = found - found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, np.squeeze(shared), atol=1e-3)
    assert model.gradient_norm_ <= 1e-7


@pytest.mark.parametrize("sharing", [0.0, 0.4, 0.99])
def test_the_gradient_of_the_written_objective_vanishes(related, sharing):
    X, y, task = related
    rng = np.random.default_rng(1)
    W = rng.uniform(size=(4, 4))
    W = W + W.T
    np.fill_diagonal(W, 0.0)
    reg, N = 1e-2, len(y)
    model = MultiTaskKernelLogisticRegression(reg=reg, sharing=sharing, sigma=2.0, similarity=W)
    model.fit(X, y, task=task)
    phi = rbf_kernel(X, model.centers_, gamma=1 / 8)
    theta, Z = model.coef_[0], np.eye(len(model.classes_))[y]
    scores = np.einsum("nm,nmc->nc", phi, theta[task])
    slopes = (np.exp(log_softmax(scores, axis=1)) - Z) / N
    if theta.shape[2] == 2:
        theta, slopes = theta[:, :, 1:] - theta[:, :, :1], slopes[:, 1:]
    gradient = task_gradient(theta, phi, slopes, task, W, reg, sharing)
    assert np.linalg.norm(gradient) <= 1e-7


def test_general_similarities_minimise_the_objective():
    X, y, task = make_related_tasks(n_tasks=3, n_samples=8, random_state=1)
    W = np.array([[0, 1, 0.2], [1, 0, 0], [0.2, 0, 0]])
    reg, sharing = 1e-2, 0.7
    phi = rbf_kernel(X, X, gamma=1 / 8)
    expected = naive_task_logistic_scores(phi, y, task, W, reg, sharing)
    model = MultiTaskKernelLogisticRegression(reg=reg, sharing=sharing, sigma=2.0, similarity=W)
    model.fit(X, y, task=task)
    np.testing.assert_allclose(model.decision_function(X, task=task), expected, atol=1e-4)


def test_no_sharing_is_separate_models_on_the_same_centers(related):
    X, y, task = related
    model = MultiTaskKernelLogisticRegression(sharing=0.0, reg=1e-2, sigma=2.0)
    model.fit(X, y, task=task)
    N, T = len(y), 4
    for t in range(T):
        rows = task == t
        own = KernelLogisticRegression(
            reg=1e-2 * N / (T * rows.sum()), sigma=2.0, centers=X, tol=1e-10
        ).fit(X[rows], y[rows])
        if len(own.classes_) == len(model.classes_):
            proba = model.predict_proba(X, task=np.full(N, t))
            np.testing.assert_allclose(proba, own.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_full_sharing_is_one_pooled_model(related, solver):
    X, y, task = related
    model = MultiTaskKernelLogisticRegression(sharing=1.0, reg=1e-2, solver=solver)
    model.fit(X, y, task=task)
    pooled = KernelLogisticRegression(reg=1e-2, solver=solver).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X, task=task), pooled.predict_proba(X), atol=1e-6
    )
    assert model.sigma_ == pooled.sigma_


def test_an_unseen_task_gets_the_shared_part_and_parts_add_up(related):
    X, y, task = related
    model = MultiTaskKernelLogisticRegression(sharing=0.7).fit(X, y, task=task)
    new = model.decision_function(X, task=np.full(len(y), 77))
    np.testing.assert_array_equal(new, model.shared_score(X))
    mean = np.mean([model.decision_function(X, task=[t] * len(y)) for t in range(4)], axis=0)
    np.testing.assert_allclose(new, 0.7 * mean, atol=1e-9)
    total = model.shared_score(X) + model.task_score(X, task=task)
    np.testing.assert_allclose(total, model.decision_function(X, task=task), atol=1e-12)
    strict = MultiTaskKernelLogisticRegression(unseen="error").fit(X, y, task=task)
    with pytest.raises(ValueError, match="task 77 were seen in fit"):
        strict.predict(X, task=np.full(len(y), 77))


def test_without_task_it_is_kernel_logistic_regression(related):
    X, y, _ = related
    single = KernelLogisticRegression().fit(X, y)
    for ids in ({}, {"task": ["here"] * len(y)}):
        model = MultiTaskKernelLogisticRegression().fit(X, y, **ids)
        np.testing.assert_array_equal(model.predict_proba(X, **ids), single.predict_proba(X))
        assert model.score(X, y, **ids) == single.score(X, y)
        assert model.n_factorisations_ == single.n_factorisations_


def test_same_features_and_face_as_multitask_lspc(related):
    X, y, task = related
    frame = pd.DataFrame(X).rename(columns=str).assign(site=task)
    settings = {"task_column": "site", "n_centers": 15, "random_state": 2}
    klr = MultiTaskKernelLogisticRegression(**settings).fit(frame, y)
    lspc = MultiTaskLSPC(**settings).fit(frame, y)
    np.testing.assert_array_equal(klr.centers_, lspc.centers_)
    assert klr.sigma_ == lspc.sigma_
    assert klr.coef_.shape == lspc.coef_.shape
    assert klr.shared_coef_.shape == lspc.shared_coef_.shape
    assert klr.predict_proba(frame).shape == lspc.predict_proba(frame).shape


def test_repeated_rows_are_weights_and_zero_weights_are_absent(related):
    X, y, task = related
    counts = np.random.default_rng(1).integers(0, 3, size=len(y))
    counts[task == 3] = 0  # a whole task without weight was never seen
    weighted = MultiTaskKernelLogisticRegression().fit(X, y, task=task, sample_weight=counts)
    repeated = MultiTaskKernelLogisticRegression().fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), task=np.repeat(task, counts)
    )
    assert weighted.tasks_.tolist() == repeated.tasks_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(
        weighted.predict_proba(X, task=task), repeated.predict_proba(X, task=task), atol=1e-6
    )


def test_the_same_row_in_two_tasks_with_opposite_labels():
    X = np.array([[0.0], [0.0], [3.0], [3.0]])
    y, task = np.array([0, 1, 1, 0]), np.array(["a", "b", "a", "b"])
    model = MultiTaskKernelLogisticRegression(sharing=0.2, reg=1e-4, sigma=1.0)
    model.fit(X, y, task=task)
    assert model.n_centers_ == 2
    assert model.score(X, y, task=task) == 1.0
    np.testing.assert_allclose(model.shared_score(X), 0.0, atol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("reg", [1e-9, 1e-4, 1e4])
@pytest.mark.parametrize("sharing", [0.0, 0.5, 1.0])
def test_one_class_tasks_separable_classes_and_extreme_regs(sharing, reg, solver):
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], [20, 20, 6])
    y = np.where(task == 2, 1, np.arange(46) % 2)
    X = rng.normal(size=(46, 2)) * 0.1 + 4.0 * np.column_stack([y, -y])
    X[1] = X[3]  # a duplicate
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = MultiTaskKernelLogisticRegression(sharing=sharing, reg=reg, solver=solver)
        model.fit(X, y, task=task)
    converged = model.gradient_norm_ <= 1e-7
    assert converged or ["raise max_iter" in str(w.message) for w in said] == [True]
    proba = model.predict_proba(X, task=task)
    assert np.isfinite(proba).all()
    if reg < 1:
        assert model.score(X, y, task=task) == 1.0
        # the task of one class leans to it everywhere where it is on its own
        alone = model.predict_proba(X[y == 1], task=np.full((y == 1).sum(), 2))
        assert (alone[:, 1] > 0.5).all()
    else:
        np.testing.assert_allclose(proba, 0.5, atol=0.01)
    assert model.task_classes_[2].tolist() == [1]


def test_stopping_early_warns_with_what_to_do(related):
    X, y, task = related
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations.*raise max_iter"):
        MultiTaskKernelLogisticRegression(max_iter=1, reg=1e-5).fit(X, y, task=task)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sharing": 1.5}, r"sharing must lie between 0 and 1, but 1\.5 was given"),
        ({"solver": "sgd"}, "solver='sgd' is not known"),
        ({"reg": 0}, "reg must be a positive number, but 0 was given"),
        ({"unseen": "mean"}, "unseen='mean' is not known"),
        ({"similarity": np.ones((2, 2))}, "there are 4 tasks"),
    ],
)
def test_wrong_settings_are_sentences(related, settings, message):
    X, y, task = related
    with pytest.raises(ValueError, match=message):
        MultiTaskKernelLogisticRegression(**settings).fit(X, y, task=task)


def test_predicting_without_ids_is_refused(related):
    X, y, task = related
    model = MultiTaskKernelLogisticRegression().fit(X, y, task=task)
    with pytest.raises(ValueError, match=r"fitted on 4 tasks .* predict_proba needs task="):
        model.predict_proba(X)
