"""The polish of many tasks."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from kinlearn import LSPC, MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.problems.coding import Coding
from kinlearn.problems.polish import Polish
from kinlearn.problems.polish_coordinates import (
    HeldRows,
    OneTaskCoordinates,
    RowSums,
    TaskCoordinates,
    directions,
    gram_products,
    log_loss_of_tasks,
)
from kinlearn.solvers.log_loss_pass import log_loss_pass
from kinlearn.solvers.task_covariance import task_covariances
from naive.logistic import correlated_tasks

RING = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)


def related(n=400, n_tasks=5, n_classes=3, seed=0, apart=0.8):
    """Rows of tasks whose classes sit near each other's; the first task has most rows."""
    rng = np.random.default_rng(seed)
    middle = 1.2 * rng.normal(size=(n_classes, 4))
    moved = middle + apart * rng.normal(size=(n_tasks, n_classes, 4))
    share = np.full(n_tasks, 0.5 / (n_tasks - 1))
    share[0] = 0.5
    task, y = rng.choice(n_tasks, n, p=share), rng.integers(n_classes, size=n)
    return moved[task, y] + rng.normal(size=(n, 4)), y, task


def posed(Phi, y, task, C, reg, n_held=60, norm=None, **options):
    n_tasks, n_classes = len(C), int(y.max()) + 1
    Z, coding = np.eye(n_classes)[y], Coding.of_classes(n_classes)
    targets = coding.targets(Z)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    fitted = weights[:, None] * coding.fitted(targets)
    moments = np.stack([Phi[task == t].T @ fitted[task == t] for t in range(n_tasks)])
    masses = np.bincount(task, weights, n_tasks)
    H = Phi.T @ (weights[:, None] * Phi)
    some = slice(0, n_held)
    held = HeldRows(Phi[some], targets[some], weights[some], task[some])
    sums = RowSums(H, moments, float(weights.sum()), masses)

    def product(theta):
        return gram_products(
            [(t, (Phi[task == t], None, weights[task == t])) for t in range(n_tasks)], theta
        )

    polish = Polish(TaskCoordinates(sums, C, reg, product, norm), held, coding, **options)
    return polish, targets, weights


def run(polish, Phi, targets, weights, task):
    own = [(t, np.flatnonzero(task == t)) for t in np.unique(task)]
    while not polish.done:
        blocks = [(int(t), (Phi[at], targets[at], weights[at])) for t, at in own]
        polish.tell(*log_loss_of_tasks(blocks, polish.coef, polish.coding.sigmoids))
    return polish


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sharing", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("similarity", [np.ones((5, 5)), RING], ids=["uniform", "ring"])
def test_to_convergence_it_is_logistic_regression_of_tasks(n_classes, sharing, similarity):
    X, y, task = related(n=250, n_classes=n_classes)
    Phi = KernelMap(resolve_kernel("rbf"), X[:12]).features(X, 2.0)
    C, reg = task_covariances(similarity, np.array([sharing]))[0], 3e-3
    options = {"penalty": reg / 5, "tol": 1e-9, "max_passes": 3000}
    polish, targets, weights = posed(Phi, y, task, C, reg, **options)
    run(polish, Phi, targets, weights, task)
    theta = polish.coding.columns(polish.best_coef)
    ours = softmax(np.einsum("nm,nmk->nk", Phi, theta[task]), axis=1)
    theirs = correlated_tasks(Phi, y, task, C, reg, weights)
    assert np.abs(ours - theirs).max() < 1e-5


@pytest.mark.parametrize("sharing", [0.0, 0.6, 1.0])
def test_it_starts_from_the_closed_form(sharing):
    X, y, task = related(n=300)
    Phi = KernelMap(resolve_kernel("rbf"), X[:12]).features(X, 2.0)
    C, reg = task_covariances(RING, np.array([sharing]))[0], 1e-3
    polish, _, weights = posed(Phi, y, task, C, reg, n_held=40)
    theta = polish.coordinates.coef(polish.coordinates.closed_form())
    # Lemma 1 of mt-lspc: (Phi Phi^T * C_tt' + ridge D^-1) a = Z, without the held-out rows
    own, Z = slice(40, None), np.eye(3)[y]
    ridge = reg * weights[own].sum() / 5
    tied = Phi[own] @ Phi[own].T * C[np.ix_(task[own], task[own])]
    duals = np.linalg.solve(tied + np.diag(ridge / weights[own]), Z[own])
    expected = np.einsum("tn,nm,nk->tmk", C[:, task[own]], Phi[own], duals)
    ours, naive = (np.einsum("nm,nmk->nk", Phi, part[task]) for part in (theta, expected))
    assert np.abs(ours - naive).max() < 0.02 * np.abs(naive).max()


def test_one_task_goes_the_same_steps():
    X, y, _ = related(n_tasks=2)
    Phi = KernelMap(resolve_kernel("rbf"), X[:30]).features(X, 2.0)
    nothing = np.zeros(len(y), dtype=int)
    polish, targets, weights = posed(Phi, y, nothing, np.eye(1), 1e-4)
    run(polish, Phi, targets, weights, nothing)
    sums = polish.coordinates.sums
    alone = OneTaskCoordinates(RowSums(sums.gram, sums.moments[0], sums.weight), 1e-4)
    apart = Polish(alone, polish.held, polish.coding)
    while not apart.done:
        apart.tell(*log_loss_pass([(Phi, targets, weights)], apart.coef, False))
    assert apart.helped
    np.testing.assert_allclose(polish.path, apart.path, rtol=1e-9)
    np.testing.assert_allclose(polish.best_coef[0], apart.best_coef, rtol=1e-6, atol=1e-9)


def test_held_out_rows_have_no_say_in_their_start():
    X, y, task = related()
    Phi = KernelMap(resolve_kernel("rbf"), X[:30]).features(X, 2.0)
    C = task_covariances(np.ones((5, 5)), np.array([0.6]))[0]
    polish, _, _ = posed(Phi, y, task, C, 1e-4, n_held=15)
    # other labels of the held-out rows lead to the same start
    changed = y.copy()
    changed[:15] = (changed[:15] + 1) % 3
    other, _, _ = posed(Phi, changed, task, C, 1e-4, n_held=15)
    np.testing.assert_allclose(
        other.coordinates.closed_form(), polish.coordinates.closed_form(), atol=1e-12
    )


def test_directions_of_tasks_that_share_nothing_are_theirs():
    similarity = np.zeros((4, 4))
    similarity[:2, :2] = similarity[2:, 2:] = 1.0
    C = task_covariances(similarity, np.array([0.7]))[0]
    spread, variances = directions(C)
    np.testing.assert_allclose(spread @ spread.T, C, atol=1e-14)
    assert all((column[:2] == 0).all() or (column[2:] == 0).all() for column in spread.T)
    assert variances.max() == pytest.approx(1.0)


# -- estimators -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    X, y, task = related(n=7000, apart=0.6)
    return X, y, np.array(["a", "b", "c", "d", "e"])[task]


@pytest.fixture(scope="module")
def polished(many):
    X, y, task = (part[:5500] for part in many)
    model = MultiTaskLSPC(n_centers=60, sigma=2.0, reg=1e-5, sharing=0.6, random_state=0)
    return model.fit(X, y, task=task)


def test_it_lowers_the_log_loss_of_new_rows(many, polished):
    X, y, task = many
    seen, new = slice(0, 5500), slice(5500, None)
    assert polished.polish_reason_.endswith("by far.")
    assert polished.n_iter_ > 1
    assert polished.polish_path_.min() < polished.polish_path_[0]
    closed = MultiTaskLSPC(**{**polished.get_params(), "polish": None})
    closed.fit(X[seen], y[seen], task=task[seen])
    assert closed.polish_reason_ == "polish=None asks for the closed form."
    ours, theirs = (
        log_loss(y[new], model.predict_proba(X[new], task=task[new]))
        for model in (polished, closed)
    )
    assert ours < 0.97 * theirs
    held = polished.held_out_proba()
    at = ~np.isnan(held).any(axis=1)
    assert 500 < at.sum() <= 2000
    assert log_loss(y[seen][at], held[at]) == pytest.approx(polished.held_out_log_loss_, rel=1e-9)
    assert log_loss(y[seen][at], held[at]) == pytest.approx(ours, rel=0.2)


def test_where_no_step_helped_it_is_the_closed_form_and_says_so():
    X, y, task = related(n=3000, apart=0.6, seed=2)
    model = MultiTaskLSPC(n_centers=30, polish=6, sigma=2.0, random_state=0)
    model.fit(X, y, task=task)
    assert model.polish_path_.argmin() == 0
    assert model.polish_reason_ == "The held-out log-loss did not fall in a polish."
    assert np.isfinite(model.held_out_scores_).all()
    closed = MultiTaskLSPC(**{**model.get_params(), "polish": None}).fit(X, y, task=task)
    np.testing.assert_allclose(
        model.predict_proba(X[:50], task=task[:50]), closed.predict_proba(X[:50], task=task[:50])
    )


def test_scores_are_of_the_shared_and_the_individual_part(many, polished):
    X, _, task = many
    whole = polished.decision_function(X[:9], task=task[:9])
    parts = polished.shared_score(X[:9]) + polished.task_score(X[:9], task=task[:9])
    np.testing.assert_allclose(whole, parts, atol=1e-10)
    unseen = polished.predict_proba(X[:9], task=["z"] * 9)
    np.testing.assert_allclose(unseen.sum(axis=1), 1.0)


def test_a_row_of_two_tasks_is_two_rows(many):
    X, y, task = many
    first = np.flatnonzero(task == "a")[:1500]
    X, y = np.vstack([X[first]] * 2), np.tile(y[first], 2)
    task = np.repeat(["a", "b"], 1500)
    model = MultiTaskLSPC(n_centers=40, polish=6, sharing=0.5, random_state=0)
    model.fit(X, y, task=task)
    assert model.polish_path_.size > 1
    assert np.isfinite(model.held_out_scores_).all(axis=1).sum() == pytest.approx(375, abs=1)


def test_files_and_fewer_centres(tmp_path, many, polished):
    import kinlearn

    X, _, task = many
    kinlearn.save(polished, tmp_path / "model.kin")
    again = kinlearn.load(tmp_path / "model.kin")
    np.testing.assert_array_equal(
        again.predict_proba(X[:50], task=task[:50]), polished.predict_proba(X[:50], task=task[:50])
    )


def test_without_tasks_it_is_the_polish_of_one(many):
    X, y, _ = (part[:5200] for part in many)
    same = {"n_centers": 40, "sigma": 2.0, "random_state": 0}
    one, many_tasks = LSPC(**same).fit(X, y), MultiTaskLSPC(**same).fit(X, y)
    assert one.n_iter_ == many_tasks.n_iter_
    np.testing.assert_allclose(
        many_tasks.predict_proba(X[:50]), one.predict_proba(X[:50]), atol=1e-7
    )


def test_tuned_tasks_are_polished_where_that_holds_rows_out_better(many):
    X, y, task = (part[:5500] for part in many)
    model = MultiTaskLSPCCV(
        n_centers=40, sigmas=[1.5], regs=[1e-5], sharings=[0.6], kernel="rbf", random_state=0
    )
    model.fit(X, y, task=task)
    assert model.n_iter_ > 1
    assert model.weights_.sum() == 1.0
    assert not hasattr(model, "mix_weights_")
    assert np.isfinite(model.sharing_report_["overall"]["shared"])
    held = model.held_out_proba()
    at = ~np.isnan(held).any(axis=1)
    assert log_loss(y[at], held[at]) == pytest.approx(model.held_out_log_loss_, rel=1e-9)


def test_random_labels_of_tasks_are_not_taken_for_known():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(6000, 8)), rng.integers(6, size=6000)
    y = rng.integers(2, size=6000)
    model = MultiTaskLSPC(n_centers=100, sharing=0.5, random_state=0).fit(X, y, task=task)
    held = model.held_out_proba()
    at = ~np.isnan(held).any(axis=1)
    noise = 2 * 0.5 / np.sqrt(at.sum())
    assert log_loss(y[at], held[at]) > np.log(2) - noise
    p = model.predict_proba(rng.normal(size=(3000, 8)), task=rng.integers(6, size=3000))
    assert np.abs(p - 0.5).mean() < 0.1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"polish": 0}, "1 or more, but 0"),
        ({"polish": 5, "reg": 0.0, "n_centers": 20}, "reg=0 is a limit"),
        ({"polish": 5, "posterior": "rounded", "n_centers": 20}, "log-odds"),
    ],
)
def test_refused(many, options, words):
    X, y, task = (part[:300] for part in many)
    with pytest.raises(ValueError, match=words):
        MultiTaskLSPC(**options).fit(X, y, task=task)


def test_streams_of_tasks_have_the_closed_form(many):
    X, y, task = (part[:600] for part in many)
    batches = [(X, y, task)]
    with pytest.raises(ValueError, match="in memory"):
        MultiTaskLSPC(polish=5, n_centers=20).fit_stream(batches)
    assert not hasattr(MultiTaskLSPC(n_centers=20).fit_stream(batches), "polish_path_")


def test_a_polished_model_takes_no_further_task(many, polished):
    X, y, _ = (part[:40] for part in many)
    with pytest.raises(ValueError, match="polish=None"):
        polished.add_task(X, y, task="new")
