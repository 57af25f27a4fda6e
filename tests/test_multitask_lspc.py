"""MultiTaskLSPC against the objective it minimises, its limits, and what users may do wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from kinlearn import LSPC, MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.datasets import make_related_tasks
from naive.lspc import one_hot
from naive.tasks import naive_task_parameters, naive_task_scores, shared_and_own


def columns(model, X, **given):
    """Scores with one column a class, also for two classes."""
    return model._task_scores(X, given.get("task"), "decision_function")


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(6, 18),
    n_tasks=st.integers(2, 4),
    n_classes=st.integers(2, 4),
    sharing=st.floats(0.0, 0.99),
    weighted=st.booleans(),
    uniform=st.booleans(),
)
def test_scores_minimise_the_objective(seed, n, n_tasks, n_classes, sharing, weighted, uniform):
    rng = np.random.default_rng(seed)
    X, X_new = rng.normal(size=(n, 3)), rng.normal(size=(5, 3))
    task = np.r_[np.arange(n_tasks), rng.integers(n_tasks, size=n - n_tasks)]
    y = np.r_[0, 1, rng.integers(n_classes, size=n - 2)]
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    W = rng.uniform(size=(n_tasks, n_tasks))
    W = np.ones((n_tasks, n_tasks)) if uniform else W + W.T
    np.fill_diagonal(W, 0.0)
    model = MultiTaskLSPC(
        sharing=sharing, reg=0.01, sigma=1.5, similarity=W, posterior="rounded"
    ).fit(X, y, task=task, sample_weight=weights)
    task_new = rng.integers(n_tasks, size=5)
    Z = (y[:, None] == model.classes_).astype(float)
    gamma = 1 / (2 * 1.5**2)
    phi, phi_new = rbf_kernel(X, X, gamma=gamma), rbf_kernel(X_new, X, gamma=gamma)
    theta = naive_task_parameters(phi, task, Z, weights, W, 0.01, sharing)
    expected = naive_task_scores(phi_new, task_new, theta)
    np.testing.assert_allclose(columns(model, X_new, task=task_new), expected, atol=1e-8)


@pytest.fixture(scope="module")
def related():
    return make_related_tasks(n_tasks=4, n_samples=[30, 12, 20, 9], n_classes=3, random_state=0)


def test_no_sharing_is_separate_lspcs_on_the_same_centers(related):
    X, y, task = related
    model = MultiTaskLSPC(sharing=0.0, reg=1e-2, sigma=2.0, posterior="rounded")
    model.fit(X, y, task=task)
    N, T = len(y), 4
    for t in range(T):
        rows = task == t
        reg = 1e-2 * N / (T * rows.sum())
        own = LSPC(reg=reg, sigma=2.0, centers=X, posterior="rounded").fit(X[rows], y[rows])
        known = np.isin(model.classes_, own.classes_)
        expected = own._scores(X)
        np.testing.assert_allclose(columns(model, X, task=[t] * N)[:, known], expected, atol=1e-8)


def test_full_sharing_is_one_pooled_lspc(related):
    X, y, task = related
    model = MultiTaskLSPC(sharing=1.0, reg=1e-2, posterior="rounded").fit(X, y, task=task)
    pooled = LSPC(reg=1e-2, posterior="rounded").fit(X, y)
    np.testing.assert_allclose(columns(model, X, task=task), pooled._scores(X), atol=1e-8)


def test_full_sharing_is_pooled_also_where_tasks_hold_the_same_rows(related):
    X, y, _ = related
    X, y, task = np.vstack([X, X]), np.r_[y, y[::-1]], np.repeat(["a", "b"], len(y))
    model = MultiTaskLSPC(sharing=1.0, posterior="rounded").fit(X, y, task=task)
    pooled = LSPC(posterior="rounded").fit(X, y)
    np.testing.assert_allclose(columns(model, X, task=task), pooled._scores(X), atol=1e-8)


@pytest.mark.parametrize(("lambda_", "gamma"), [(0.1, 0.03), (0.01, 3.0)])
def test_the_papers_parameters_solve_the_papers_equation_4(related, lambda_, gamma):
    X, y, task = related
    model = MultiTaskLSPC.from_paper(lambda_, gamma, sigma=2.0, posterior="rounded")
    model.fit(X, y, task=task)
    phi = rbf_kernel(X, X, gamma=1 / 8)
    beta = shared_and_own(phi, task, one_hot(y), 4, lambda_, gamma)
    expected = naive_task_scores(phi, task, beta[0] + beta[1:])
    np.testing.assert_allclose(columns(model, X, task=task), expected, atol=1e-8)
    np.testing.assert_allclose(model.shared_score(X), phi @ beta[0], atol=1e-8)


def test_gamma_zero_is_the_minimum_norm_solution(related):
    X, y, task = related
    model = MultiTaskLSPC.from_paper(0.5, 0.0, sigma=0.5, posterior="rounded")
    assert model.reg == model.sharing == 0.0
    model.fit(X, y, task=task)
    Z = (y[:, None] == model.classes_).astype(float)
    phi = rbf_kernel(X, X, gamma=2.0)
    for t in range(4):
        theta = np.linalg.pinv(phi[task == t]) @ Z[task == t]
        scores = columns(model, X, task=[t] * len(y))
        np.testing.assert_allclose(scores, phi @ theta, atol=1e-8)
    # The limit is approached, and can be calibrated as any other fit.
    near = MultiTaskLSPC.from_paper(0.5, 1e-9, sigma=0.5, posterior="rounded").fit(X, y, task=task)
    np.testing.assert_allclose(columns(near, X, task=task), columns(model, X, task=task), atol=1e-6)
    calibrated = MultiTaskLSPC.from_paper(0.5, 0.0, sigma=0.5).fit(X, y, task=task)
    assert np.isfinite(calibrated.predict_proba(X, task=task)).all()


def test_infinite_parameters_of_the_paper_are_the_limits():
    assert MultiTaskLSPC.from_paper(0.3, np.inf).sharing == 1.0
    assert MultiTaskLSPC.from_paper(np.inf, 0.2).get_params()["reg"] == 0.2
    for wrong in ((0.0, 1.0), (1.0, -1.0), (np.inf, np.inf)):
        with pytest.raises(ValueError, match=r"lambda_|gamma"):
            MultiTaskLSPC.from_paper(*wrong)


def test_an_unseen_task_gets_the_shared_part_and_parts_add_up(related):
    X, y, task = related
    model = MultiTaskLSPC(sharing=0.7).fit(X, y, task=task)
    new = model.decision_function(X, task=np.full(len(y), 77))
    np.testing.assert_array_equal(new, model.shared_score(X))
    total = model.shared_score(X) + model.task_score(X, task=task)
    np.testing.assert_allclose(total, model.decision_function(X, task=task), atol=1e-12)
    mean = np.mean([columns(model, X, task=[t] * len(y)) for t in range(4)], axis=0)
    np.testing.assert_allclose(new, 0.7 * mean, atol=1e-10)
    strict = MultiTaskLSPC(unseen="error").fit(X, y, task=task)
    with pytest.raises(ValueError, match="task 77 were seen in fit"):
        strict.predict(X, task=np.full(len(y), 77))


@pytest.mark.parametrize("posterior", ["calibrated", "rounded", "rounded_parameters", "raw"])
def test_without_task_it_is_lspc(related, posterior):
    X, y, _ = related
    single = LSPC(posterior=posterior).fit(X, y)
    for ids in ({}, {"task": ["here"] * len(y)}):
        model = MultiTaskLSPC(posterior=posterior).fit(X, y, **ids)
        np.testing.assert_array_equal(model.predict_proba(X, **ids), single.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X, **ids), single.predict(X))
        assert model.score(X, y, **ids) == single.score(X, y)


def test_leave_one_out_scores_equal_refits(related):
    X, y, task = related
    settings = {"sharing": 0.6, "sigma": 2.0, "centers": X}
    n = len(y)
    reg = 5e-3
    model = MultiTaskLSPC(reg=reg, **settings).fit(X, y, task=task)
    for i in range(0, n, 5):
        keep = np.arange(n) != i
        refit = MultiTaskLSPC(reg=reg, posterior="rounded", **settings)
        refit.fit(X[keep], y[keep], task=task[keep])
        expected = columns(refit, X[[i]], task=task[[i]])[0]
        np.testing.assert_allclose(model.held_out_scores_[i], expected, atol=1e-8)


def test_a_row_held_out_does_not_predict_itself_as_a_centre(related):
    X, y, task = related
    n = len(y)
    pooled = MultiTaskLSPC(sharing=1.0, sigma=2.0).fit(X, y, task=task)
    single = LSPC(sigma=2.0).fit(X, y)
    np.testing.assert_allclose(pooled.held_out_scores_, single.held_out_scores_, atol=1e-8)
    np.testing.assert_allclose(pooled.predict_proba(X, task=task), single.predict_proba(X))
    # Without sharing, leaving a row out is refitting its task without row and centre.
    model = MultiTaskLSPC(sharing=0.0, sigma=2.0, reg=1e-2).fit(X, y, task=task)
    for i in (0, 35, 50):
        keep = (np.arange(n) != i) & (task == task[i])
        reg = 1e-2 * (n - 1) / (4 * keep.sum())
        own = LSPC(reg=reg, sigma=2.0, centers=np.delete(X, i, axis=0), posterior="rounded")
        own.fit(X[keep], y[keep])
        known = np.isin(model.classes_, own.classes_)
        expected = own._scores(X[[i]])[0]
        np.testing.assert_allclose(model.held_out_scores_[i, known], expected, atol=1e-8)


def test_groups_are_left_out_together_when_calibrating(related):
    X, y, task = related
    groups = np.arange(len(y)) // 3
    settings = {"sharing": 0.6, "sigma": 2.0, "centers": X}
    model = MultiTaskLSPC(**settings).fit(X, y, task=task, groups=groups)
    for g in (0, 4, 9):
        keep = groups != g
        refit = MultiTaskLSPC(posterior="rounded", **settings)
        refit.fit(X[keep], y[keep], task=task[keep])
        expected = columns(refit, X[~keep], task=task[~keep])
        np.testing.assert_allclose(model.held_out_scores_[~keep], expected, atol=1e-8)


def test_repeated_rows_are_weights_and_zero_weights_are_absent(related):
    X, y, task = related
    counts = np.random.default_rng(1).integers(0, 3, size=len(y))
    counts[task == 3] = 0  # a whole task without weight was never seen
    weighted = MultiTaskLSPC().fit(X, y, task=task, sample_weight=counts)
    repeated = MultiTaskLSPC().fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), task=np.repeat(task, counts)
    )
    assert weighted.tasks_.tolist() == repeated.tasks_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(
        weighted.predict_proba(X, task=task), repeated.predict_proba(X, task=task), atol=1e-9
    )


def test_tasks_may_lack_classes_and_have_their_own():
    X, y, task = make_related_tasks(n_tasks=3, n_samples=[25, 25, 1], n_classes=3, random_state=3)
    y = np.array(["a", "b", "c"])[y]
    keep = ~((task == 0) & (y == "c")) & ~((task == 1) & (y == "a"))
    X, y, task = X[keep], y[keep], np.array(["one", "two", "three"])[task[keep]]
    model = MultiTaskLSPC().fit(X, y, task=task)
    proba = model.predict_proba(X, task=task)
    assert proba.shape == (len(y), 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.task_classes_["one"].tolist() == ["a", "b"]
    assert model.task_classes_["two"].tolist() == ["b", "c"]
    assert len(model.task_classes_["three"]) == 1


def test_ids_may_be_any_hashable(related):
    X, y, task = related
    reference = MultiTaskLSPC().fit(X, y, task=task).predict_proba(X, task=task)
    for names in (["a", "b", "c", "d"], [(0, "x"), (1, "y"), "z", 3], [0.5, 1.5, 2.5, 3.5]):
        ids = [names[t] for t in task]
        model = MultiTaskLSPC().fit(X, y, task=ids)
        np.testing.assert_allclose(model.predict_proba(X, task=ids), reference, atol=1e-10)


def test_similarity_by_matrix_frame_and_dict_are_the_same(related):
    X, y, task = related
    names = np.array(["a", "b", "c", "d"])
    W = np.array([[0, 1, 0.2, 0], [1, 0, 0.5, 0], [0.2, 0.5, 0, 0.3], [0, 0, 0.3, 0]])
    shuffled = [2, 0, 3, 1]
    frame = pd.DataFrame(W, index=names, columns=names).iloc[shuffled, shuffled]
    pairs = {("a", "b"): 1, ("a", "c"): 0.2, ("c", "b"): 0.5, ("d", "c"): 0.3}
    nested = {a: {b: W[i, j] for j, b in enumerate(names)} for i, a in enumerate(names)}
    found = [
        MultiTaskLSPC(similarity=s)
        .fit(X, y, task=names[task])
        .decision_function(X, task=names[task])
        for s in (W, frame, pairs, nested)
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-12)
    uniform = MultiTaskLSPC().fit(X, y, task=names[task]).decision_function(X, task=names[task])
    assert np.abs(found[0] - uniform).max() > 1e-3


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (np.array([[0, 1], [0.5, 0]]), "must be symmetric, but is 1 from task 'a' to 'b' and 0.5"),
        (np.array([[0, -1], [-1, 0]]), "must not be negative, but is -1 between tasks 'a' and 'b'"),
        (np.ones((3, 3)), r"shape \(3, 3\), but there are 2 tasks"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN or infinite"),
        ({("a", "x"): 1.0}, "lacks task 'b'"),
        ({"a": 1.0}, r"must be \{\(id, id\): weight\}"),
        (pd.DataFrame([[1.0]], index=["a"], columns=["a"]), "lacks task 'b' among its rows"),
        ("cosine", "similarity='cosine' is not known"),
    ],
)
def test_wrong_similarities_are_sentences(similarity, message):
    X, y, task = make_related_tasks(n_tasks=2, n_samples=10, random_state=0)
    with pytest.raises(ValueError, match=message):
        MultiTaskLSPC(similarity=similarity).fit(X, y, task=np.array(["a", "b"])[task])


def test_wrong_input_is_a_sentence(related):
    X, y, task = related
    model = MultiTaskLSPC().fit(X, y, task=task)
    with pytest.raises(ValueError, match=r"fitted on 4 tasks .* predict_proba needs task="):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="task has 3 ids but X has 71 samples"):
        MultiTaskLSPC().fit(X, y, task=[1, 2, 3])
    with pytest.raises(ValueError, match="missing ids"):
        MultiTaskLSPC().fit(X, y, task=np.where(task == 0, np.nan, task))
    with pytest.raises(ValueError, match="fitted without task ids"):
        MultiTaskLSPC().fit(X, y).predict(X, task=task)
    with pytest.raises(ValueError, match="needs at least two classes"):
        MultiTaskLSPC().fit(X, np.zeros(len(y)), task=task)
    with pytest.raises(ValueError, match=r"sharing must lie between 0 and 1, but 1\.5 was given"):
        MultiTaskLSPC(sharing=1.5).fit(X, y, task=task)
    with pytest.raises(ValueError, match="unseen='mean' is not known"):
        MultiTaskLSPC(unseen="mean").fit(X, y, task=task)
    with pytest.raises(ValueError, match="reg must be a positive number"):
        MultiTaskLSPC(reg=-1.0).fit(X, y, task=task)
    with pytest.raises(ValueError, match="out of range: X has 5 columns"):
        MultiTaskLSPC(task_column=9).fit(X, y)
    with pytest.raises(TypeError, match="convert them to one kind"):
        model.predict(X, task=["0"] * len(y))


def test_many_rows_are_warned_of_or_refused_before_the_work(monkeypatch, related):
    X, y, task = related
    monkeypatch.setattr("kinlearn.problems.tasks_dual.WARN_TASK_ROWS", 50)
    with pytest.warns(UserWarning, match="71 distinct rows of several tasks take about"):
        MultiTaskLSPC().fit(X, y, task=task)
    monkeypatch.setattr("os.sysconf", lambda name: 1)
    with pytest.raises(MemoryError, match="a number of centers"):
        MultiTaskLSPC().fit(X, y, task=task)


def test_sparse_rows_are_the_same_as_dense_ones(related):
    X, y, task = related
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = MultiTaskLSPC(sigma=2.0).fit(X, y, task=task)
    sparse = MultiTaskLSPC(sigma=2.0).fit(sp.csr_matrix(X), y, task=task)
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csr_matrix(X), task=task),
        dense.predict_proba(X, task=task),
        atol=1e-8,
    )


def test_a_second_fit_forgets_the_first(related):
    X, y, task = related
    model = MultiTaskLSPCCV(sigmas=[2.0], regs=[1e-2], sharings=[0.5]).fit(X, y, task=task)
    assert hasattr(model, "sharing_report_")
    model.fit(X, y)
    assert model.tasks_ is None
    assert not hasattr(model, "sharing_report_")
    assert not hasattr(model, "mix_sigmas_")


@pytest.mark.parametrize("options", [{"n_centers": 20, "random_state": 0}, {"kernel": "laplacian"}])
def test_other_kernels_and_fewer_centers(related, options):
    X, y, task = related
    model = MultiTaskLSPC(**options).fit(X, y, task=task)
    assert model.score(X, y, task=task) > 0.5
    assert model.coef_.shape == (1, 4, model.n_centers_, 3)


def test_precomputed_kernels_are_the_same_as_computed_ones(related):
    X, y, task = related
    K = rbf_kernel(X, X, gamma=1 / 8)
    computed = MultiTaskLSPC(sigma=2.0).fit(X, y, task=task)
    given = MultiTaskLSPC(kernel="precomputed").fit(K, y, task=task)
    np.testing.assert_allclose(
        given.predict_proba(K, task=task), computed.predict_proba(X, task=task), atol=1e-8
    )


def test_rounded_parameters_are_never_negative(related):
    X, y, task = related
    model = MultiTaskLSPC(posterior="rounded_parameters").fit(X, y, task=task)
    assert model.coef_.min() >= 0.0
    np.testing.assert_allclose(model.predict_proba(X, task=task).sum(axis=1), 1.0)
