"""Fits whose centres are kept while labels come: the same as fits to all labels afresh."""

import numpy as np
import pytest
import scipy.sparse as sp

from kinlearn import LSPC, LSPCCV, ActiveLearner
from kinlearn.active import kept_centers, refits
from kinlearn.active.kept_centers import may_keep
from kinlearn.active.refits import Refits
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.solvers.added_rows import AddedRows
from naive.held_out import ridge_without_own_centre


@pytest.fixture(autouse=True)
def from_few_labels(monkeypatch):
    monkeypatch.setattr(refits, "KEPT_FROM", 40)


def rows_of(kind):
    random = np.random.default_rng(0)
    X = random.normal(size=(160, 3))
    if kind == "repeated":
        X = np.round(X[:, :2])
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "a", np.where(random.random(160) < 0.5, "b", "c"))
    return (sp.csr_matrix(X) if kind == "sparse" else X), y


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_rows_added_and_taken_away(ridge):
    Phi = np.random.default_rng(0).normal(size=(30, 6))
    Z = np.eye(3)[np.arange(30) % 3]
    rows = AddedRows(Phi[:12], ridge)
    for phi in Phi[12:]:
        rows.add(phi)
    for _ in range(5):
        assert rows.can_drop
        rows.drop_last()
    for n in (25, 26):
        if n > rows.n_rows:
            rows.add(Phi[25])
        M = np.linalg.inv(Phi[:n].T @ Phi[:n] + ridge * np.eye(6))
        np.testing.assert_allclose(rows.M, M, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            rows.leverage, np.diagonal(Phi[:n] @ M @ Phi[:n].T), rtol=0, atol=1e-10
        )
        A, other = rows.solution(Z[:n]), ridge * n / (n - 1)
        np.testing.assert_allclose(A, M @ Phi[:n].T @ Z[:n], atol=1e-10)
        there = np.linalg.solve(Phi[:n].T @ Phi[:n] + other * np.eye(6), Phi[:n].T @ Z[:n])
        np.testing.assert_allclose(rows.at(A, other), there, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "repeated", "sparse"])
def test_it_is_the_fresh_fit_with_these_centers(kind):
    X, y = rows_of(kind)
    table = Refits(LSPCCV(kernel=["rbf", "laplacian"], random_state=0), X, None)
    order = np.random.default_rng(1).permutation(160)
    settings = table.tuned(order[:50], y[order[:50]])
    assert set(settings["centers"]) <= set(order[:50].tolist())
    kernel, sigma, ridge = (settings[name] for name in ("kernel", "sigma", "ridge"))
    for n in (50, 51, 53, 52, 90, 60, 91):  # added, taken away, begun anew, an earlier one beside
        rows = order[:n]
        found = table.fit(settings, rows, y[rows])
        reg = ridge / (n - 1)
        fresh = LSPC(
            kernel=kernel, sigma=sigma, reg=reg, centers=X[settings["centers"]], polish=None
        ).fit(X[rows], y[rows], groups=np.arange(n))
        np.testing.assert_allclose(found.model.coef_, fresh.coef_, rtol=1e-9, atol=1e-9)
        dense = X.toarray() if sp.issparse(X) else X
        equal = (dense[rows][:, None] == dense[settings["centers"]]).all(axis=2)
        own = np.where(equal.any(axis=1), equal.argmax(axis=1), -1)
        Phi = KernelMap(resolve_kernel(kernel), X[settings["centers"]]).features(X[rows], sigma)
        Z = (y[rows][:, None] == fresh.classes_) * 1.0
        scores = ridge_without_own_centre(Phi, own, Z, ridge)
        np.testing.assert_allclose(found.model.held_out_scores_, scores, rtol=0, atol=1e-9)
        answers = found.proba(np.arange(160))
        anew = Refits(table.estimator, X, None).fit(settings, rows, y[rows])
        np.testing.assert_allclose(answers, anew.model.predict_proba(X), rtol=0, atol=1e-7)
        np.testing.assert_array_equal(answers, found.proba(np.arange(160)))


def test_features_beyond_the_memory_are_computed_again():
    X, y = rows_of("plain")
    table = Refits(LSPCCV(kernel="rbf", random_state=0, memory_mb=0.02), X, None)
    rows = np.arange(60)
    found = table.fit(table.tuned(rows, y[:60]), rows, y[:60])
    assert found.kept.most < 60
    np.testing.assert_allclose(
        found.proba(np.arange(160)), found.model.predict_proba(X), rtol=0, atol=1e-12
    )


def test_undone_corrected_and_replayed():
    X, y = rows_of("plain")
    learner = ActiveLearner(LSPCCV(kernel="rbf", metric=None), X)
    for _ in range(52):
        row = learner.ask()
        learner.tell(row, y[row])
    before, row = learner.predict_proba(), learner.ask()
    learner.tell(row, "a")
    learner.tell(row, "b")
    assert np.abs(learner.predict_proba() - before).max() > 1e-6
    learner.undo()
    learner.undo()
    np.testing.assert_allclose(learner.predict_proba(), before, rtol=0, atol=1e-9)
    again = ActiveLearner(LSPCCV(kernel="rbf", metric=None), X).replay(learner.log)
    np.testing.assert_allclose(again.predict_proba(), before, rtol=0, atol=1e-9)
    np.testing.assert_allclose(learner.model_.predict_proba(X), before, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "given",
    [
        {"n_centers": 20},
        {"centers": np.zeros((1, 3))},
        {"basis": "classwise"},
        {"class_weight": "balanced"},
        {"kernel": "precomputed"},
    ],
)
def test_what_the_user_chose_is_left_alone(given):
    assert may_keep(LSPCCV(), np.zeros((2, 3)))
    assert not may_keep(LSPCCV(**given), np.zeros((2, 3)))
    assert not may_keep(LSPCCV(), np.zeros((2, 3), dtype=np.float32))


def test_after_many_updates_sums_are_made_anew(monkeypatch):
    monkeypatch.setattr(kept_centers, "MOST_UPDATES", 2)
    X, y = rows_of("plain")
    table = Refits(LSPCCV(kernel="rbf", random_state=0), X, None)
    settings = table.tuned(np.arange(60), y[:60])
    for n in range(60, 66):
        found = table.fit(settings, np.arange(n), y[:n])
        assert found.kept._sums.n_updates <= 3


def test_given_centers_that_are_rows_do_not_vouch_for_themselves():
    X, y = rows_of("plain")
    chosen = LSPC(n_centers=30, random_state=0).fit(X, y)
    given = LSPC(centers=chosen.centers_).fit(X, y)
    np.testing.assert_array_equal(given.support_, chosen.support_)
