"""Many rows, fewer centres: each task's sums give what the dual of all rows gives."""

from itertools import pairwise

import numpy as np
import pytest

from kinlearn import MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.datasets import make_related_tasks
from kinlearn.estimators import multitask_lspc_cv
from kinlearn.problems import tasks_from_sums


@pytest.fixture
def tasks():
    return make_related_tasks(n_tasks=5, n_samples=60, random_state=0)


@pytest.fixture
def choose(monkeypatch):
    """Force the primal, or the dual."""

    def force(primal):
        monkeypatch.setattr(tasks_from_sums, "primal_is_cheaper", lambda *a, **k: primal)

    return force


@pytest.mark.parametrize("similarity", ["uniform", "differs"])
@pytest.mark.parametrize("sharing", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_centers", [15, 120])
def test_primal_equals_dual(tasks, choose, similarity, sharing, n_centers):
    X, y, task = tasks
    weights = 1.0 + np.arange(len(y)) % 3
    if similarity == "differs":
        similarity = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) + 0.5
    models = []
    for primal in (True, False):
        choose(primal)
        model = MultiTaskLSPC(
            n_centers=n_centers, sharing=sharing, similarity=similarity, random_state=0
        )
        models.append(model.fit(X, y, task=task, sample_weight=weights))
    one, other = models
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-8)
    np.testing.assert_allclose(one.shared_coef_, other.shared_coef_, atol=1e-8)
    np.testing.assert_allclose(one.held_out_scores_, other.held_out_scores_, atol=1e-8)
    assert one.beta_ == pytest.approx(other.beta_, rel=1e-6)


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize("combine", ["within_se", "best", "stack"])
def test_the_search_is_the_same(tasks, choose, combine):
    X, y, task = tasks
    found = []
    for primal in (True, False):
        choose(primal)
        model = MultiTaskLSPCCV(
            n_centers=20,
            sigmas=[1.0, 3.0],
            sharings=[0.0, 0.5, 1.0],
            regs=[1e-4, 1e-2],
            combine=combine,
            random_state=0,
        )
        found.append(model.fit(X, y, task=task))
    one, other = found
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=1e-9
    )
    np.testing.assert_allclose(
        one.predict_proba(X, task=task), other.predict_proba(X, task=task), atol=1e-6
    )
    assert (one.sigma_, one.sharing_, one.reg_) == (other.sigma_, other.sharing_, other.reg_)


@pytest.mark.filterwarnings("ignore:The best")
def test_many_rows_are_no_longer_a_matter_of_the_dual(monkeypatch):
    X, y, task = make_related_tasks(n_tasks=6, n_samples=1200, random_state=1)
    model = MultiTaskLSPC(n_centers=60, random_state=0).fit(X, y, task=task)  # no warning
    assert model.score(X, y, task=task) > 0.7
    monkeypatch.setattr(multitask_lspc_cv, "GRID_ROWS", 500)
    search = MultiTaskLSPCCV(
        n_centers=30,
        sigmas=[2.0],
        sharings=[0.0, 0.5],
        regs=[1e-4, 1e-2],
        polish=None,
        random_state=0,
    ).fit(X, y, task=task)
    assert np.isfinite(search.held_out_scores_).any(axis=1).sum() == 500


def test_held_out_rows_are_cut_at_whole_tasks():
    task = np.repeat(np.arange(4), [3000, 3000, 5000, 10])
    parts = tasks_from_sums._whole_tasks(np.arange(task.size), task)
    assert sum(map(len, parts)) == task.size
    assert all(not set(task[a]) & set(task[b]) for a, b in pairwise(parts))
    assert len(parts) == 3
