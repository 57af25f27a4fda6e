"""A new task for a fitted model is the conditional optimum, and touches nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kinlearn import MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.datasets import make_related_tasks


@pytest.fixture(scope="module")
def parts():
    X, y, task = make_related_tasks(n_tasks=5, n_samples=20, n_classes=3, random_state=0)
    names = np.array(["a", "b", "d", "e", "c"])
    old = task < 4
    return X[old], y[old], names[task[old]], X[~old], y[~old]


def test_the_new_tasks_parameters_are_stationary(parts):
    X, y, task, X_new, y_new = parts
    reg, sharing = 5e-3, 0.7
    W = np.random.default_rng(0).uniform(size=(4, 4))
    W += W.T
    np.fill_diagonal(W, 0.0)
    model = MultiTaskLSPC(reg=reg, sharing=sharing, sigma=2.0, similarity=W)
    model.fit(X, y, task=task)
    others, N, T = model.coef_[0].copy(), len(y), 4
    weights = np.random.default_rng(1).uniform(0.5, 2, size=len(y_new))
    model.add_task(X_new, y_new, "c", sample_weight=weights)
    assert model.tasks_.tolist() == ["a", "b", "c", "d", "e"]
    theta = model.coef_[0, 2]
    np.testing.assert_array_equal(np.delete(model.coef_[0], 2, axis=0), others)
    phi = rbf_kernel(X_new, X, gamma=1 / 8)
    Z = np.eye(3)[y_new]
    tie = W.sum() / 12
    gamma = reg * sharing / (1 - sharing)
    gradient = (
        phi.T @ (weights[:, None] * (phi @ theta - Z)) / N
        + reg / T * theta
        + gamma * tie / T**2 * (theta - others).sum(axis=0)
    )
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)


@pytest.mark.parametrize(
    "model", [MultiTaskLSPC(sharing=0.8), MultiTaskLSPCCV(), MultiTaskLSPCCV(combine="stack")]
)
def test_other_tasks_do_not_change_and_the_new_one_learns(parts, model):
    X, y, task, X_new, y_new = parts
    model.fit(X, y, task=task)
    before = model.predict_proba(X, task=task)
    shared = model.shared_score(X)
    unseen = model.score(X_new, y_new, task=["c"] * len(y_new))
    model.add_task(X_new, y_new, "c")
    np.testing.assert_array_equal(model.predict_proba(X, task=task), before)
    np.testing.assert_array_equal(model.shared_score(X), shared)
    assert model.score(X_new, y_new, task=["c"] * len(y_new)) >= unseen
    assert model.task_classes_["c"].tolist() == np.unique(y_new).tolist()


def test_a_mix_adds_what_each_of_its_points_would_add(parts):
    X, y, task, X_new, y_new = parts
    mix = MultiTaskLSPCCV(
        sigmas=[1.0, 2.0], sharings=[0.0, 0.5, 1.0], regs=[1e-3, 1e-1], posterior="rounded"
    )
    with pytest.warns(UserWarning, match="The best|add"):
        mix.fit(X, y, task=task)
    mix.add_task(X_new, y_new, "c")
    expected = 0.0
    for params, weight in zip(mix.cv_results_["params"], mix.weights_, strict=True):
        if weight > 0:
            point = MultiTaskLSPC(**params, posterior="rounded").fit(X, y, task=task)
            point.add_task(X_new, y_new, "c")
            expected = expected + weight * point.decision_function(X, task=["c"] * len(y))
    found = mix.decision_function(X, task=["c"] * len(y))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_full_sharing_gives_the_new_task_the_shared_model(parts):
    X, y, task, X_new, y_new = parts
    model = MultiTaskLSPC(sharing=1.0).fit(X, y, task=task).add_task(X_new, y_new, "c")
    scores = model.decision_function(X, task=["c"] * len(y))
    np.testing.assert_allclose(scores, model.shared_score(X), atol=1e-12)


def test_a_new_task_of_known_id_or_class_is_refused(parts):
    X, y, task, X_new, y_new = parts
    model = MultiTaskLSPC().fit(X, y, task=task)
    with pytest.raises(ValueError, match="Task 'a' is known already"):
        model.add_task(X_new, y_new, "a")
    with pytest.raises(ValueError, match="not among the model's classes"):
        model.add_task(X_new, np.full(len(y_new), 9), "c")
    with pytest.raises(TypeError, match="of one kind"):
        model.add_task(X_new, y_new, 3)
    with pytest.raises(ValueError, match="fitted with task ids"):
        MultiTaskLSPC().fit(X, y).add_task(X_new, y_new, "c")
    one = MultiTaskLSPCCV().fit(X, y, task=["only"] * len(y))
    with pytest.raises(ValueError, match="tuned on a single task"):
        one.add_task(X_new, y_new, "c")
