"""Tasks that are unlike have a scale and an offset of their own, kept wherever a model goes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from kinlearn import compress, load, save, to_onnx
from kinlearn.datasets import make_related_tasks
from kinlearn.selection.class_scales import OFFSET_PRECISION, SCALE_PRECISION, fit_class_scales
from kinlearn.selection.links import smooth
from kinlearn.selection.task_scales import fit_task_scales, spread_of_tasks
from one_kernel import MultiTaskLSPCCV

GRID = {"sigmas": [2.0, 4.0], "sharings": [0.5, 1.0], "regs": [1e-3, 1e-1]}
pytestmark = pytest.mark.filterwarnings("ignore:The best")


@pytest.fixture(scope="module")
def unlike():
    """Scores that are right up to a scale and an offset of each task."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(6), 80)
    truth = rng.normal(size=(480, 3))
    scales = np.array([0.5, 0.8, 1.0, 1.2, 1.5, 2.0])[task, None]
    offsets = rng.normal(size=(6, 3))[task]
    y = (scales * truth + offsets + rng.gumbel(size=truth.shape)).argmax(axis=1)
    return truth, np.eye(3)[y], task


@pytest.fixture(scope="module")
def fitted():
    """A model of tasks that are pooled but differ in the share of their classes."""
    X, y, task = make_related_tasks(n_tasks=4, n_samples=40, relatedness=1.0, random_state=3)
    rng = np.random.default_rng(1)
    kept = (y == task % 2) | (rng.random(len(y)) < 0.25)
    X, y, task = X[kept], y[kept], task[kept]
    model = MultiTaskLSPCCV(**{**GRID, "sharings": [1.0]}).fit(X, y, task=task)
    assert np.ptp(model.task_scale_) > 0 or np.ptp(model.task_intercept_, axis=0).max() > 0
    return model, X, y, task


def test_the_fit_is_the_minimum_of_its_objective(unlike):
    q, z, task = unlike
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=len(q))
    start = fit_class_scales(q, z, weights, 1.0, 480)
    a, b, s, o = fit_task_scales(q, z, weights, task, 6, start, 1.0, 480)
    targets = smooth(z, 480)
    logits = start[0] * q + start[1]
    own, scale = spread_of_tasks(start[0] * q, logits, targets, weights, task, 6)
    assert own > 0
    assert scale > 0

    def objective(x):
        a, b, s, o = x[:3], x[3:6], x[6:12], x[12:].reshape(6, 3)
        losses = -(targets * log_softmax(s[task, None] * a * q + b + o[task], axis=1)).sum(axis=1)
        prior = SCALE_PRECISION * np.square(a - 1.0).sum() + OFFSET_PRECISION * np.square(b).sum()
        prior += np.square(s - 1.0).sum() / scale + np.square(o).sum() / own
        return float(weights @ losses + 0.5 * prior)

    found = np.concatenate([a, b, s, o.ravel()])
    common = np.concatenate([*start, np.ones(6), np.zeros(18)])
    least = minimize(objective, found, method="BFGS").fun
    # common and own numbers are fitted in turns, of which there are two
    assert objective(found) - least < 0.02 * (objective(common) - least)
    np.testing.assert_allclose(o.sum(axis=1), 0.0, atol=1e-9)


def test_tasks_that_are_alike_keep_the_common_numbers():
    rng = np.random.default_rng(4)
    q = rng.normal(size=(400, 2))
    y = (q + rng.gumbel(size=q.shape)).argmax(axis=1)
    found = []
    for seed in range(5):
        task = np.random.default_rng(seed).integers(8, size=400)
        start = np.ones(2), np.zeros(2)
        found.append(fit_task_scales(q, np.eye(2)[y], np.ones(400), task, 8, start, 1.0, 400))
    assert sum(each is None for each in found) >= 3


def test_a_task_without_held_out_rows_has_the_common_calibration(unlike):
    q, z, task = unlike
    start = fit_class_scales(q, z, np.ones(480), 1.0, 480)
    found = fit_task_scales(q, z, np.ones(480), task, 8, start, 1.0, 480)
    np.testing.assert_array_equal(found[2][6:], 1.0)
    np.testing.assert_array_equal(found[3][6:], 0.0)


def test_offsets_bring_the_shares_of_tasks_in(fitted):
    model, X, y, task = fitted
    proba = model.predict_proba(X, task=task)[:, 1]
    alike = model.predict_proba(X, task=np.full(len(y), 99))[:, 1]
    own, common = (
        np.mean([abs(p[task == t].mean() - y[task == t].mean()) for t in range(4)])
        for p in (proba, alike)
    )
    assert own < 0.6 * common


def test_scores_are_those_of_the_parts(fitted):
    model, X, y, task = fitted
    scores = model._task_scores(X, task, "decision_function")
    plain = model.model_.scores(X, 512, np.full(len(y), -1)) - model.intercept_
    expected = model.task_scale_[task, None] * plain + model.task_intercept_[task]
    np.testing.assert_allclose(scores, expected, atol=1e-9)  # sharing = 1: tasks differ in these
    total = model.shared_score(X) + model.task_score(X, task=task)
    np.testing.assert_allclose(total, model.decision_function(X, task=task), atol=1e-12)
    np.testing.assert_array_equal(
        model.shared_score(X), model.decision_function(X, task=np.full(len(y), 99))
    )


def test_files_and_smaller_models_keep_them(fitted, tmp_path):
    model, X, _, task = fitted
    asked = np.append(task[1:], 99)
    save(model, tmp_path / "model.kin")
    again = load(tmp_path / "model.kin")
    np.testing.assert_array_equal(
        again.predict_proba(X, task=asked), model.predict_proba(X, task=asked)
    )
    np.testing.assert_array_equal(again.task_intercept_, model.task_intercept_)
    small = compress(model, model.n_centers_ - 1, X, task=task)
    np.testing.assert_array_equal(small.task_scale_, model.task_scale_)


def test_a_graph_has_them(fitted):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, X, _, task = fitted
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    asked = np.append(task[1:], 99)
    found = session.run(["probabilities"], {"X": X, "task": asked.astype(np.int64)})[0]
    np.testing.assert_allclose(found, model.predict_proba(X, task=asked), atol=1e-9)


def test_a_task_that_is_added_has_the_common_calibration(fitted, tmp_path):
    model, X, y, task = fitted
    save(model, tmp_path / "model.kin")
    more = load(tmp_path / "model.kin").add_task(X[:9], y[:9], -1)
    assert more.tasks_.tolist() == [-1, 0, 1, 2, 3]
    assert more.task_scale_[0] == 1.0
    np.testing.assert_array_equal(more.task_intercept_[0], model.intercept_)
    np.testing.assert_array_equal(
        more.predict_proba(X, task=task), model.predict_proba(X, task=task)
    )
    # at sharing = 1 a new task is the shared model
    np.testing.assert_allclose(
        more.decision_function(X, task=np.full(len(y), -1)), model.shared_score(X), atol=1e-9
    )


def test_held_out_figures_are_by_what_the_other_folds_taught(fitted):
    model, _, y, _ = fitted
    proba = model.held_out_proba()
    assert np.isfinite(proba).all()
    losses = -np.log(proba[np.arange(len(y)), y])
    assert 0.2 < losses.mean() < 0.9
