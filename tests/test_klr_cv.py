"""The tuned logistic estimators: every held-out score is a refit, and the grids are LSPC's."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from kinlearn import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskKernelLogisticRegressionCV,
)
from kinlearn.datasets import make_related_tasks
from naive.held_out import group_by_group, one_by_one
from naive.logistic import softmaxed
from one_kernel import LSPCCV, MultiTaskLSPCCV

GRID = {"sigmas": [0.7, 2.0, 6.0], "regs": [1e-5, 1e-4, 1e-3, 1e-2, 0.1]}
TASK_GRID = {"sigmas": [1.0, 3.0], "sharings": [0.0, 0.6, 1.0], "regs": [1e-4, 1e-2, 0.1]}
pytestmark = pytest.mark.filterwarnings("ignore:The best")


@pytest.fixture(params=[2, 3])
def data(request, rng):
    y = rng.integers(0, request.param, size=60)
    return rng.normal(size=(60, 3)) + y[:, None] * [1.0, -0.5, 0.0], y


@pytest.fixture(scope="module")
def related():
    return make_related_tasks(n_tasks=4, n_samples=[18, 9, 14, 11], random_state=0)


def pairs_of(cv, X, y, groups):
    if cv == "loo":
        return one_by_one(len(y)) if groups is None else group_by_group(groups)
    return list(cv.split(X, y, groups))


@pytest.mark.parametrize(
    ("cv", "grouped"),
    [
        (StratifiedKFold(5, shuffle=True, random_state=0), False),
        ("loo", True),
        (KFold(3, shuffle=True, random_state=0), False),
        (GroupKFold(3), True),
    ],
)
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_every_held_out_score_is_a_refit_without_row_and_centre(data, cv, grouped, solver):
    X, y = data
    groups = np.arange(60) % 7 if grouped else None
    settings = {"solver": solver, "tol": 1e-9 if solver == "newton" else 1e-7}
    model = KernelLogisticRegressionCV(**GRID, cv=cv, store_cv_scores=True, **settings)
    model.fit(X, y, groups=groups)
    position = {int(row): k for k, row in enumerate(model.cv_rows_)}
    for p in (0, 7, 14):
        params = model.cv_results_["params"][p]
        for train, test in pairs_of(cv, X, y, groups)[1:3]:
            refit = KernelLogisticRegression(**params, **settings).fit(X[train], y[train])
            found = model.cv_scores_[p, [position[int(i)] for i in test]]
            expected, near = refit.predict_proba(X[test]), 1e-5 if solver == "newton" else 1e-3
            np.testing.assert_allclose(softmaxed(found), expected, atol=near)


def test_leave_one_out_is_a_refit_for_every_row(data):
    X, y = data[0][:24], data[1][:24]
    grid = {"sigmas": [2.0], "regs": [1e-2, 1.0]}
    model = KernelLogisticRegressionCV(**grid, cv="loo", store_cv_scores=True).fit(X, y)
    for i in (0, 11, 23):
        keep = np.arange(24) != i
        refit = KernelLogisticRegression(sigma=2.0, reg=1e-2).fit(X[keep], y[keep])
        expected = refit.predict_proba(X[[i]])[0]
        np.testing.assert_allclose(softmaxed(model.cv_scores_[0])[i], expected, atol=1e-5)


def test_fixed_centres_are_kept_when_rows_are_held_out(data):
    X, y = data
    model = KernelLogisticRegressionCV(**GRID, centers=X[:10], store_cv_scores=True).fit(X, y)
    test = model.cv_rows_[:12]  # the first of five folds
    train = np.setdiff1d(np.arange(60), test)
    params = model.cv_results_["params"][7]
    refit = KernelLogisticRegression(**params, centers=X[:10]).fit(X[train], y[train])
    found = model.cv_scores_[7, : len(test)]
    np.testing.assert_allclose(softmaxed(found), refit.predict_proba(X[test]), atol=1e-5)


def test_the_model_is_a_fit_of_the_best_point(data):
    X, y = data
    model = KernelLogisticRegressionCV(**GRID).fit(X, y)
    best = model.cv_results_["params"][model.best_index_]
    assert best == {"sigma": model.sigma_, "reg": model.reg_}
    refit = KernelLogisticRegression(**best).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), refit.predict_proba(X), atol=1e-5)
    assert model.gradient_norm_ <= 1e-7
    assert (model.cv_results_["max_gradient_norm"] <= 1e-7).all()


def test_scores_are_of_its_own_posterior(data):
    X, y = data
    n_classes = len(np.unique(y))
    cases = {
        None: lambda q: -log_loss(y, softmaxed(q)),
        "neg_log_loss": lambda q: -log_loss(y, softmaxed(q)),
        "brier": lambda q: -np.square(softmaxed(q) - np.eye(n_classes)[y]).sum(axis=1).mean(),
        "squared_error": lambda q: -np.square(softmaxed(q) - np.eye(n_classes)[y]).sum(1).mean(),
        "accuracy": lambda q: (q.argmax(axis=1) == y).mean(),
        "roc_auc": lambda q: (
            roc_auc_score(y, q[:, 1] - q[:, 0])
            if n_classes == 2
            else np.mean([roc_auc_score(y == k, q[:, k]) for k in range(3)])
        ),
    }
    for scoring, value in cases.items():
        model = KernelLogisticRegressionCV(
            **GRID, scoring=scoring, cv="loo", store_cv_scores=True
        ).fit(X, y, groups=np.arange(60) // 20)
        scores = np.empty((60, n_classes))
        scores[model.cv_rows_] = model.cv_scores_[model.best_index_]
        assert model.best_score_ == pytest.approx(value(scores))
    own = KernelLogisticRegressionCV(**GRID, scoring=lambda y, q: float(np.mean(q))).fit(X, y)
    assert np.isfinite(own.best_score_)


def test_within_se_averages_the_log_odds_of_one_point_a_width(data):
    X, y = data
    for scoring in (None, "roc_auc"):
        model = KernelLogisticRegressionCV(**GRID, combine="within_se", scoring=scoring).fit(X, y)
        used = np.flatnonzero(model.weights_)
        assert model.weights_.sum() == pytest.approx(1.0)
        assert np.unique(model.cv_results_["param_sigma"][used]).size == used.size
        expected = sum(
            model.weights_[p]
            * KernelLogisticRegression(**model.cv_results_["params"][p]).fit(X, y)._scores(X)
            for p in used
        )
        np.testing.assert_allclose(model._scores(X), expected, atol=1e-3)


def test_default_grids_and_widening_are_those_of_lspccv(rng):
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=30) > 0).astype(int)
    klr = KernelLogisticRegressionCV(cv=2).fit(X, y)
    lspc = LSPCCV(cv=2).fit(X, y)
    for name in ("param_sigma", "param_reg"):
        theirs, ours = (np.unique(m.cv_results_[name]) for m in (lspc, klr))
        common = np.intersect1d(theirs.round(12), ours.round(12))
        assert common.size >= (6 if name == "param_sigma" else 20)
    assert set(lspc.cv_results_) <= set(klr.cv_results_)
    assert np.nanmax(np.abs(klr.held_out_scores_)) < np.inf


def test_weights_are_repeated_rows(data):
    X, y = data
    counts = np.random.default_rng(2).integers(0, 3, size=len(y))
    of = np.repeat(np.arange(60), counts)  # the row of each copy
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    of_copies = [
        tuple(np.flatnonzero(np.isin(of, part)) for part in (train, test)) for train, test in folds
    ]
    weighted = KernelLogisticRegressionCV(**GRID, cv=folds).fit(X, y, sample_weight=counts)
    repeated = KernelLogisticRegressionCV(**GRID, cv=of_copies).fit(X[of], y[of])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_folds_side_by_side_give_the_same(data):
    X, y = data
    one, two = (KernelLogisticRegressionCV(**GRID, n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"combine": "stack"}, "combine='stack' is not known"),
        ({"scoring": "mse"}, "scoring='mse' is not known"),
        ({"cv": 100}, "cv=100 folds need"),
        ({"regs": [0.0, 1.0]}, "regs must hold positive numbers"),
        ({"solver": "sgd"}, "solver='sgd' is not known"),
    ],
)
def test_wrong_choices_are_sentences(data, settings, message):
    with pytest.raises(ValueError, match=message):
        KernelLogisticRegressionCV(**settings).fit(*data)


def test_an_unfinished_search_says_so(data):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = KernelLogisticRegressionCV(sigmas=[2.0], regs=[1e-6], max_iter=1).fit(*data)
    messages = [str(w.message) for w in said if w.category is ConvergenceWarning]
    assert [("held-out fits of its best point" in m, "raise max_iter" in m) for m in messages] == [
        (True, True),
        (False, True),
    ]
    assert model.cv_results_["max_gradient_norm"][0] > 1e-7


# -- several tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize("centers", ["rows", "given"])
def test_every_held_out_score_of_tasks_is_a_refit(related, centers):
    X, y, task = related
    given = {"centers": X} if centers == "given" else {}
    cv = KFold(4, shuffle=True, random_state=0)
    model = MultiTaskKernelLogisticRegressionCV(**TASK_GRID, cv=cv, store_cv_scores=True, **given)
    model.fit(X, y, task=task)
    position = {int(row): k for k, row in enumerate(model.cv_rows_)}
    for p in (0, 5, 8, 13):
        params = model.cv_results_["params"][p]
        for train, test in list(cv.split(X))[:2]:
            refit = MultiTaskKernelLogisticRegression(**params, **given)
            refit.fit(X[train], y[train], task=task[train])
            found = model.cv_scores_[p, [position[int(i)] for i in test]]
            expected = refit.predict_proba(X[test], task=task[test])
            np.testing.assert_allclose(softmaxed(found), expected, atol=1e-5)


@pytest.mark.parametrize("combine", ["best", "within_se"])
def test_the_multitask_model_is_the_mix_of_its_points(related, combine):
    X, y, task = related
    model = MultiTaskKernelLogisticRegressionCV(**TASK_GRID, combine=combine).fit(X, y, task=task)
    expected, shared = 0.0, 0.0
    for params, weight in zip(model.cv_results_["params"], model.weights_, strict=True):
        if weight > 0:
            point = MultiTaskKernelLogisticRegression(**params).fit(X, y, task=task)
            expected = expected + weight * point.decision_function(X, task=task)
            shared = shared + weight * point.shared_score(X)
    np.testing.assert_allclose(model.decision_function(X, task=task), expected, atol=1e-3)
    np.testing.assert_allclose(model.shared_score(X), shared, atol=1e-3)
    best = model.cv_results_["params"][model.best_index_]
    assert best == {"sigma": model.sigma_, "sharing": model.sharing_, "reg": model.reg_}
    assert {f"split{k}_test_score" for k in range(5)} <= set(model.cv_results_)


def test_folds_of_tasks_are_those_of_multitask_lspccv(related):
    X, y, task = related
    klr = MultiTaskKernelLogisticRegressionCV(**TASK_GRID, store_cv_scores=True)
    lspc = MultiTaskLSPCCV(**TASK_GRID, cv=5, store_cv_scores=True)
    klr.fit(X, y, task=task)
    lspc.fit(X, y, task=task)
    np.testing.assert_array_equal(klr.cv_rows_, lspc.cv_rows_)
    assert klr.cv_results_["params"] == lspc.cv_results_["params"]
    assert set(klr.sharing_report_) == set(lspc.sharing_report_)
    assert klr.sharing_report_["overall"]["shared"] == pytest.approx(klr.best_score_)


def test_sharing_is_found_where_tasks_are_related():
    X, y, task = make_related_tasks(
        n_tasks=6, n_samples=15, n_features=3, sharpness=12.0, relatedness=1.0, random_state=0
    )
    grid = {"sigmas": [1.0, 2.0, 4.0], "regs": [1e-5, 1e-4, 1e-3, 1e-2]}
    model = MultiTaskKernelLogisticRegressionCV(**grid).fit(X, y, task=task)
    assert model.sharing_ >= 0.5
    overall = model.sharing_report_["overall"]
    assert overall["shared"] > overall["independent"]


def test_one_task_is_the_single_task_search(data):
    X, y = data
    single = KernelLogisticRegressionCV(**GRID).fit(X, y)
    model = MultiTaskKernelLogisticRegressionCV(**GRID).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), single.predict_proba(X))
    assert (model.sigma_, model.reg_) == (single.sigma_, single.reg_)


def test_auc_by_task_can_be_tuned_for(related):
    X, y, task = related
    model = MultiTaskKernelLogisticRegressionCV(
        **TASK_GRID, scoring="roc_auc", average="tasks", combine="within_se"
    ).fit(X, y, task=task)
    assert 0.5 < model.best_score_ <= 1.0
    with pytest.raises(ValueError, match="average='macro' is not known"):
        MultiTaskKernelLogisticRegressionCV(average="macro").fit(X, y, task=task)


def test_a_precomputed_kernel_is_searched_as_its_own_kernel(data):
    X, y = data
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 8)
    regs = [1e-4, 1e-2, 1.0]
    own = KernelLogisticRegressionCV(sigmas=[2.0], regs=regs).fit(X, y)
    given = KernelLogisticRegressionCV(kernel="precomputed", regs=regs).fit(K, y)
    assert given.reg_ == own.reg_
    np.testing.assert_allclose(given.predict_proba(K), own.predict_proba(X), atol=1e-4)


def test_class_weights_count_in_the_default_criterion_only(data):
    X, y = data
    settings = {**GRID, "class_weight": {0: 5.0, 1: 1.0, 2: 1.0}, "store_cv_scores": True}
    if len(np.unique(y)) == 2:
        settings["class_weight"].pop(2)
    weights = np.array([5.0, 1.0, 1.0])[y]
    for scoring, w in ((None, weights), ("log_loss", None)):
        model = KernelLogisticRegressionCV(**settings, scoring=scoring, cv=KFold(2)).fit(X, y)
        scores = model.cv_scores_[model.best_index_]
        halves = [slice(0, 30), slice(30, 60)]
        labels = model.classes_
        expected = [
            -log_loss(
                y[part],
                softmaxed(scores[part]),
                sample_weight=None if w is None else w[part],
                labels=labels,
            )
            for part in halves
        ]
        assert model.best_score_ == pytest.approx(np.mean(expected))
