"""The search over width, sharing and reg against refitting every point."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold

from kinlearn import MultiTaskLSPC
from kinlearn.datasets import make_related_tasks
from kinlearn.selection import sharing_report as reporting
from one_kernel import LSPCCV, MultiTaskLSPCCV

GRID = {"sigmas": [1.0, 2.0, 4.0], "sharings": [0.0, 0.6, 1.0], "regs": [1e-4, 1e-2, 1.0]}
pytestmark = pytest.mark.filterwarnings("ignore:The best")


@pytest.fixture(scope="module")
def related():
    return make_related_tasks(n_tasks=5, n_samples=[18, 9, 14, 11, 8], random_state=0)


def columns(model, X, task):
    return model._task_scores(X, task, "decision_function")


def refit_scores(params, X, y, task, train, test):
    model = MultiTaskLSPC(**params, posterior="rounded", centers=X)
    model.fit(X[train], y[train], task=task[train])
    return columns(model, X[test], task[test])


def test_leave_one_out_of_every_point_equals_refitting(related):
    X, y, task = related
    model = MultiTaskLSPCCV(**GRID, store_cv_scores=True, centers=X).fit(X, y, task=task)
    n = len(y)
    assert model.cv_scores_.shape == (27, n, 2)
    for p in range(0, 27, 4):
        params = model.cv_results_["params"][p]
        for i in (0, 17, 44):
            train = np.flatnonzero(np.arange(n) != i)
            expected = refit_scores(params, X, y, task, train, [i])[0]
            np.testing.assert_allclose(model.cv_scores_[p, i], expected, atol=1e-8)


@pytest.mark.parametrize("kind", ["splitter", "groups", "group splitter"])
def test_folds_and_groups_of_every_point_equal_refitting(related, kind):
    X, y, task = related
    groups = np.random.default_rng(0).integers(6, size=len(y))
    if kind == "splitter":
        cv, given = KFold(4, shuffle=True, random_state=0), {}
        pairs = list(cv.split(X))
    else:
        cv = "loo" if kind == "groups" else GroupKFold(3)
        given = {"groups": groups}
        pairs = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(6)]
        if kind == "group splitter":
            pairs = list(cv.split(X, y, groups))
    model = MultiTaskLSPCCV(**GRID, cv=cv, store_cv_scores=True, centers=X)
    model.fit(X, y, task=task, **given)
    position = {int(row): k for k, row in enumerate(model.cv_rows_)}
    for p in (0, 13, 20):
        for train, test in pairs[:2]:
            expected = refit_scores(model.cv_results_["params"][p], X, y, task, train, test)
            found = model.cv_scores_[p, [position[int(i)] for i in test]]
            np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_number_of_folds_is_stratified_by_task(related):
    X, y, task = related
    model = MultiTaskLSPCCV(**GRID, cv=4, store_cv_scores=True).fit(X, y, task=task)
    assert {f"split{k}_test_score" for k in range(4)} <= set(model.cv_results_)
    n = len(y)
    assert sorted(model.cv_rows_) == list(range(n))
    sizes = np.array([n // 4 + (k < n % 4) for k in range(4)])  # folds differ by one row at most
    folds = np.split(model.cv_rows_, np.cumsum(sizes)[:-1])
    for stratum in (task, y, task * 10 + y):
        shares = np.array([np.bincount(stratum[fold], minlength=60) for fold in folds])
        assert np.ptp(shares, axis=0).max() <= 2


@pytest.mark.parametrize("combine", ["best", "stack", "within_se"])
def test_the_model_is_the_weighted_mix_of_its_points(related, combine):
    X, y, task = related
    model = MultiTaskLSPCCV(**GRID, combine=combine, posterior="rounded").fit(X, y, task=task)
    assert model.weights_.sum() == pytest.approx(1.0)
    expected, shared = 0.0, 0.0
    for params, weight in zip(model.cv_results_["params"], model.weights_, strict=True):
        if weight > 0:
            point = MultiTaskLSPC(**params, posterior="rounded").fit(X, y, task=task)
            expected = expected + weight * point.decision_function(X, task=task)
            shared = shared + weight * point.shared_score(X)
    np.testing.assert_allclose(model.decision_function(X, task=task), expected, atol=1e-8)
    np.testing.assert_allclose(model.shared_score(X), shared, atol=1e-8)
    new = model.decision_function(X, task=np.full(len(y), 99))
    np.testing.assert_allclose(new, model.shared_score(X), atol=1e-12)
    best = model.cv_results_["params"][model.best_index_]
    assert best == {"sigma": model.sigma_, "sharing": model.sharing_, "reg": model.reg_}
    if combine == "best":
        assert model.weights_[model.best_index_] == 1.0


def test_each_width_has_one_vote_under_within_se(related):
    X, y, task = related
    model = MultiTaskLSPCCV(**GRID, combine="within_se").fit(X, y, task=task)
    used = np.flatnonzero(model.weights_)
    sigmas = model.cv_results_["param_sigma"][used]
    assert len(np.unique(sigmas)) == len(sigmas)
    assert model.best_index_ in used
    for k, sigma in zip(used, sigmas, strict=True):
        same = model.cv_results_["param_sigma"] == sigma
        assert model.cv_results_["mean_test_score"][k] == pytest.approx(
            model.cv_results_["mean_test_score"][same].max()
        )


def test_mixing_without_kept_decompositions_gives_the_same_model(related, monkeypatch):
    X, y, task = related
    kept = MultiTaskLSPCCV(**GRID).fit(X, y, task=task)
    monkeypatch.setattr("kinlearn.problems.tasks_dual.KEPT_SOLUTIONS_MB", 0)
    monkeypatch.setattr("kinlearn.problems.tasks_dual.KEPT_SPECTRA_MB", 0)
    anew = MultiTaskLSPCCV(**GRID, n_jobs=2).fit(X, y, task=task)
    np.testing.assert_allclose(anew.coef_, kept.coef_, atol=1e-8)


def test_wide_kernels_by_rank_give_the_same_model(monkeypatch):
    X, y, task = make_related_tasks(n_tasks=8, n_samples=30, n_features=2, random_state=0)
    grid = {"sigmas": [1.0, 20.0], "sharings": [0.0, 0.6, 1.0], "regs": [1e-4, 1e-2]}
    by_rank = MultiTaskLSPCCV(**grid, store_cv_scores=True).fit(X, y, task=task)
    monkeypatch.setattr("kinlearn.solvers.multitask_wide.LEAST_ROWS", 1000)
    exact = MultiTaskLSPCCV(**grid, store_cv_scores=True).fit(X, y, task=task)
    np.testing.assert_allclose(by_rank.cv_scores_, exact.cv_scores_, atol=1e-6)
    assert (by_rank.cv_scores_ != exact.cv_scores_).any()
    np.testing.assert_allclose(
        by_rank.decision_function(X, task=task), exact.decision_function(X, task=task), atol=1e-4
    )


def test_scores_of_the_best_point_are_what_their_names_say(related):
    X, y, task = related
    for scoring in ("squared_error", "roc_auc", "accuracy"):
        for average in ("pooled", "tasks"):
            model = MultiTaskLSPCCV(
                **GRID, scoring=scoring, average=average, combine="best", store_cv_scores=True
            ).fit(X, y, task=task)
            q = model.cv_scores_[model.best_index_]
            parts = [task >= 0] if average == "pooled" else [task == t for t in range(5)]

            def value(rows, q=q, scoring=scoring):
                if scoring == "roc_auc":
                    if len(np.unique(y[rows])) < 2:
                        return np.nan
                    return roc_auc_score(y[rows], q[rows, 1] - q[rows, 0])
                if scoring == "accuracy":
                    return (q[rows].argmax(axis=1) == y[rows]).mean()
                return -np.square(q[rows] - np.eye(2)[y[rows]]).mean()

            expected = np.nanmean([value(rows) for rows in parts])
            assert model.best_score_ == pytest.approx(expected)


def test_auc_by_task_pools_where_no_task_has_both_classes():
    X, y, task = make_related_tasks(n_tasks=4, n_samples=12, random_state=1)
    y = (task % 2).astype(int)
    model = MultiTaskLSPCCV(
        **GRID, scoring="roc_auc", average="tasks", combine="best", store_cv_scores=True
    ).fit(X, y, task=task)
    q = model.cv_scores_[model.best_index_]
    assert model.best_score_ == pytest.approx(roc_auc_score(y, q[:, 1] - q[:, 0]))


def test_a_callable_is_scored_per_task_too(related):
    X, y, task = related

    def error(y_true, scores):
        return -np.mean((scores > 0) != y_true)

    model = MultiTaskLSPCCV(**GRID, scoring=error, average="tasks", combine="best")
    named = MultiTaskLSPCCV(**GRID, scoring="accuracy", average="tasks", combine="best")
    model.fit(X, y, task=task)
    named.fit(X, y, task=task)
    assert model.best_score_ == pytest.approx(named.best_score_ - 1.0)


def test_the_sharing_report_compares_like_with_like(related):
    X, y, task = related
    model = MultiTaskLSPCCV(**GRID, combine="best", store_cv_scores=True).fit(X, y, task=task)
    report = model.sharing_report_
    sharing = model.cv_results_["param_sharing"]
    mean = model.cv_results_["mean_test_score"]
    Z = np.eye(2)[y]
    for name, value in (("independent", 0.0), ("pooled", 1.0)):
        best = np.where(sharing == value, mean, -np.inf).argmax()
        errors = -np.square(model.cv_scores_[best] - Z).mean(axis=1)
        expected = [errors[task == t].mean() for t in range(5)]
        np.testing.assert_allclose(report[name], expected)
        np.testing.assert_allclose(report[f"gain_over_{name}"], report["shared"] - report[name])
        assert report["overall"][name] == pytest.approx(mean[best])
    assert report["overall"]["shared"] == pytest.approx(model.best_score_)
    assert report["task"].tolist() == [0, 1, 2, 3, 4]
    assert report["n_rows"].tolist() == [18, 9, 14, 11, 8]


def test_the_report_leaves_out_what_the_grid_lacks(related):
    X, y, task = related
    model = MultiTaskLSPCCV(**{**GRID, "sharings": [0.5, 1.0]}).fit(X, y, task=task)
    assert np.isnan(model.sharing_report_["independent"]).all()
    assert np.isnan(model.sharing_report_["overall"]["independent"])
    assert np.isfinite(model.sharing_report_["pooled"]).all()
    assert reporting.sharing_report.__doc__


def test_sharing_is_found_where_tasks_are_related_and_left_where_they_are_not():
    settings = {"n_tasks": 8, "n_samples": 25, "n_features": 3, "sharpness": 12.0}
    X, y, task = make_related_tasks(relatedness=1.0, random_state=0, **settings)
    same = MultiTaskLSPCCV(combine="best").fit(X, y, task=task)
    X, y, task = make_related_tasks(relatedness=0.0, random_state=0, **settings)
    unrelated = MultiTaskLSPCCV(combine="best").fit(X, y, task=task)
    assert same.sharing_ >= 0.95
    assert unrelated.sharing_ < 1.0
    related, apart = same.sharing_report_["overall"], unrelated.sharing_report_["overall"]
    assert related["shared"] > related["independent"] + 0.01
    assert apart["shared"] > apart["pooled"] + 0.01
    assert apart["shared"] < apart["independent"] + 0.01


def test_probabilities_beat_separate_and_pooled_models_on_related_tasks():
    X, y, task, truth = make_related_tasks(
        n_tasks=10,
        n_samples=220,
        n_features=3,
        relatedness=0.7,
        return_posterior=True,
        random_state=1,
    )
    train = np.arange(len(y)) % 220 < 20
    test = ~train
    losses = {}
    for name, sharings in {"mt": None, "separate": [0.0], "pooled": [1.0]}.items():
        model = MultiTaskLSPCCV(sharings=sharings).fit(X[train], y[train], task=task[train])
        losses[name] = log_loss(y[test], model.predict_proba(X[test], task=task[test]))
    assert losses["mt"] < losses["separate"]
    assert losses["mt"] < losses["pooled"]
    assert losses["mt"] > log_loss(y[test], truth[test])


def test_without_task_it_is_lspccv(related):
    X, y, _ = related
    for combine in ("stack", "within_se", "best"):
        single = LSPCCV(combine=combine).fit(X, y)
        model = MultiTaskLSPCCV(combine=combine).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), single.predict_proba(X))
        assert (model.sigma_, model.reg_) == (single.sigma_, single.reg_)


def test_repeated_rows_are_weights(related):
    X, y, task = related
    counts = np.random.default_rng(2).integers(0, 3, size=len(y))
    weighted = MultiTaskLSPCCV(**GRID).fit(X, y, task=task, sample_weight=counts)
    repeated = MultiTaskLSPCCV(**GRID).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), task=np.repeat(task, counts)
    )
    np.testing.assert_allclose(
        weighted.predict_proba(X, task=task), repeated.predict_proba(X, task=task), atol=1e-8
    )


def test_wrong_choices_are_sentences(related):
    X, y, task = related
    for wrong, message in (
        ({"sharings": [0.5, 2.0]}, "Each of sharings must lie between 0 and 1, but 2.0"),
        ({"sharings": []}, "sharings is empty"),
        ({"average": "macro"}, "average='macro' is not known"),
        ({"combine": "vote"}, "combine='vote' is not known"),
        ({"cv": 200}, "cv=200 folds need"),
    ):
        with pytest.raises(ValueError, match=message):
            MultiTaskLSPCCV(**wrong).fit(X, y, task=task)
