"""Conjugate gradients find what forming and decomposing the matrix of centres finds."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from kinlearn import LSPC
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.problems import pcg_basis
from kinlearn.solvers import solver_choice
from kinlearn.solvers.center_preconditioner import CholeskyPreconditioner, NystromPreconditioner
from kinlearn.solvers.feature_passes import FeaturePasses, FoldedTargets
from kinlearn.solvers.pcg import ridge_pcg
from kinlearn.solvers.solver_choice import choose_solver
from kinlearn.training.label_table import read_classes
from kinlearn.training.splits import Block, Splits
from kinlearn.training.training_set import make_training_set
from naive.lspc import naive_coefficients


@pytest.fixture
def data(rng):
    X = rng.normal(size=(900, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    return X, y


def calibration_folds(X, y, groups=None):
    """The folds of a model whose random_state is 0."""
    data = make_training_set(X, read_classes(y, "LSPC"), None, None, "LSPC")
    seed = LSPC(random_state=0)._seed()
    return data.validation(pcg_basis.CALIBRATION_FOLDS, groups, seed=seed).splits


def splits_of(fold, n_folds):
    """Leave the rows of each number out; a negative number is never left out."""
    blocks = [np.flatnonzero(fold == j) for j in range(n_folds)]
    return Splits(
        fold.size,
        [Block(rows, np.arange(rows.size)) for rows in blocks],
        np.concatenate([np.empty(0, np.intp), *blocks]),
        np.concatenate([[0], np.cumsum([rows.size for rows in blocks], dtype=np.intp)]),
    )


def plain(**parameters):
    """Two models that differ in nothing but the solver."""
    parameters = {"n_centers": 120, "random_state": 0, **parameters}
    return LSPC(solver="direct", **parameters), LSPC(solver="pcg", **parameters)


@pytest.mark.parametrize("reg", [1e-7, 1e-5, 1e-3, 1e-1])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_equal_the_direct_solvers(data, rng, reg, weighted):
    X, y = data
    weight = rng.uniform(0.1, 3.0, size=y.size) if weighted else None
    direct, pcg = (model.fit(X, y, weight) for model in plain(reg=reg))
    assert (direct.solver_, pcg.solver_) == ("direct", "pcg")
    assert_allclose(pcg.decision_function(X), direct.decision_function(X), atol=1e-6)
    assert 1 <= pcg.n_iter_ < 100


@pytest.mark.parametrize(
    "kernel", ["laplacian", "exponential", "matern32", "chi2", "polynomial", "linear", "cosine"]
)
def test_every_kernel(data, kernel):
    X, y = data
    X = np.abs(X)
    direct, pcg = (model.fit(X, y) for model in plain(kernel=kernel))
    assert_allclose(pcg.decision_function(X), direct.decision_function(X), atol=2e-6)


def test_precomputed_and_sparse(data):
    X, y = data
    K = X @ X.T
    direct, pcg = (model.fit(K, y) for model in plain(kernel="precomputed"))
    assert_allclose(pcg.decision_function(K), direct.decision_function(K), atol=1e-6)
    S = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    direct, pcg = (model.fit(S, y) for model in plain())
    assert_allclose(pcg.decision_function(S), direct.decision_function(S), atol=1e-6)


def test_classwise_basis(data):
    X, y = data
    direct, pcg = (model.fit(X, y) for model in plain(basis="classwise"))
    assert_allclose(pcg.decision_function(X), direct.decision_function(X), atol=1e-5)
    own = np.array([y[(c == X).all(axis=1)][0] for c in pcg.centers_])
    assert (pcg.coef_[0][own[:, None] != np.arange(3)] == 0).all()


def test_given_centers_have_no_class(data):
    X, y = data
    with pytest.raises(ValueError, match="centers of known class"):
        LSPC(solver="pcg", centers=X[:5], basis="classwise").fit(X, y)


@pytest.mark.parametrize("every", [False, True])
def test_held_out_scores_are_those_of_refitting_without_the_fold(data, every):
    """A row held out leaves its centre in place, unless every row is a centre."""
    X, y = data[0][:150], data[1][:150]
    sigma = 1.5
    kernel = resolve_kernel("rbf")
    model = LSPC(solver="pcg", sigma=sigma, n_centers=None if every else 40, random_state=0)
    model.fit(X, y)
    folds = calibration_folds(X, y)
    assert len(folds.blocks) == 5
    for removed in (block.removed for block in folds.blocks):
        trained = np.setdiff1d(np.arange(150), removed)
        centers = X[trained] if every else model.centers_
        Phi = KernelMap(kernel, centers).features(X, sigma)
        A = naive_coefficients(Phi[trained], np.eye(3)[y[trained]], 1e-3)
        assert_allclose(model.held_out_scores_[removed], Phi[removed] @ A, atol=2e-6)


def test_groups_are_held_out_whole(data, rng):
    X, y = data
    groups = rng.integers(0, 12, size=y.size)
    model = plain()[1].fit(X, y, groups=groups)
    assert np.isfinite(model.held_out_scores_).all()
    folds = calibration_folds(X, y, groups)
    for removed in (block.removed for block in folds.blocks):
        assert not set(groups[removed]) & set(np.delete(groups, removed))
    with pytest.raises(ValueError, match="one group only"):
        plain()[1].fit(X, y, groups=np.zeros(y.size))


def test_calibration_is_near_the_leave_one_out_one(data):
    X, y = data
    direct, pcg = (model.fit(X, y) for model in plain())
    assert pcg.beta_ == pytest.approx(direct.beta_, rel=0.05)


def test_single_precision_keeps_the_digits_it_promises(data):
    X, y = data
    single = plain()[1].set_params(precision="single").fit(X, y)
    double = plain()[0].fit(X, y)
    assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=0.01)
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=3e-4)


def test_stopping_short_says_what_to_do(data):
    X, y = data
    model = plain()[1].set_params(max_iter=2, reg=1e-7)
    with pytest.warns(ConvergenceWarning, match=r"after 2 steps.*Raise max_iter or reg"):
        model.fit(X, y)
    assert model.n_iter_ == 2


def test_bad_settings_are_refused_in_a_sentence(data):
    X, y = data
    for bad, message in [
        ({"solver": "cg"}, r"solver='cg' is not known"),
        ({"precision": "half"}, r"precision='half' is not known"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
    ]:
        with pytest.raises(ValueError, match=message):
            LSPC(**bad).fit(X, y)


def test_features_are_never_stored_as_a_whole(rng):
    X = rng.normal(size=(12_000, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LSPC(n_centers=400, solver="pcg", memory_mb=8, tol=1e-2, sigma=2.0, random_state=0)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    assert peak < 26  # all features: 37 MB


def test_kept_blocks_stay_within_the_memory_allowed():
    def make(rows):
        return np.zeros((rows.stop - rows.start, 1000))

    passes = FeaturePasses(make, 5000, 1000, memory_mb=24)
    data = FoldedTargets(np.ones((5000, 1)), None)
    passes.normal_product(np.ones((1000, 1)), data)
    kept = sum(block.nbytes for block in passes.kept if block is not None)
    assert 0 < kept <= 24 * 2**20
    assert passes.n_kept < len(passes.blocks)
    roomy = FeaturePasses(make, 5000, 1000, memory_mb=80)
    assert roomy.n_kept == len(roomy.blocks)


def test_verbose_tells_solver_and_progress(data, capsys):
    X, y = data
    plain()[1].set_params(verbose=True).fit(X, y)
    shown = capsys.readouterr().out
    assert 'solver pcg. solver="pcg" was asked for.' in shown
    assert "step 1: relative error" in shown


def test_automatic_choice(data, monkeypatch):
    X, y = data
    small = LSPC(n_centers=120, random_state=0).fit(X, y)
    assert small.solver_ == "direct"
    assert "fewer than 5000" in small.solver_reason_
    assert small.n_iter_ == 1
    assert "All rows are centers" in LSPC().fit(X[:100], y[:100]).solver_reason_
    monkeypatch.setattr(solver_choice, "PCG_CENTERS", 100)
    chosen = LSPC(n_centers=250, posterior="rounded", random_state=0).fit(X, y)
    assert chosen.solver_ == "pcg"
    assert "operations by conjugate gradients" in chosen.solver_reason_


def test_choice_follows_the_cost():
    size = {"n_columns": 30, "held_out_rows": 20_000, "all_rows": False, "n_centers": 6000}
    few = choose_solver("auto", n_rows=10**6, n_features=20, kept_share=0.0, **size)
    wide = choose_solver("auto", n_rows=10**6, n_features=5000, kept_share=0.0, **size)
    kept = choose_solver("auto", n_rows=10**6, n_features=5000, kept_share=1.0, **size)
    assert (few.solver, wide.solver, kept.solver) == ("pcg", "direct", "pcg")


def test_sampled_preconditioner(data, monkeypatch):
    """Beyond many centres the preconditioner sees only some of them; the answer is the same."""
    X, y = data
    monkeypatch.setattr(pcg_basis, "FULL_PRECONDITIONER", 100)
    monkeypatch.setattr(pcg_basis, "SAMPLED_CENTERS", 60)
    direct, pcg = (model.fit(X, y) for model in plain(reg=1e-2))
    assert_allclose(pcg.decision_function(X), direct.decision_function(X), atol=2e-5)
    assert pcg.n_iter_ < 60


def test_preconditioners_against_the_naive_form(rng):
    B = rng.normal(size=(12, 12))
    K, N = B @ B.T, rng.uniform(0.5, 2.0, size=12)
    exact = np.linalg.inv(K @ np.diag(N) @ K + 0.3 * np.eye(12))
    R = rng.normal(size=(12, 3))
    assert_allclose(CholeskyPreconditioner.of(K.copy(), N, 0.3)(R), exact @ R)
    whole = NystromPreconditioner.of(K.copy(), N, 0.3)
    assert_allclose(whole(R), exact @ R, rtol=1e-6, atol=1e-8)
    some = NystromPreconditioner.of(K[:, :5].copy(), N[:5], 0.3)(np.eye(12))
    assert_allclose(some, some.T, atol=1e-12)
    assert np.linalg.eigvalsh(some).min() > 0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    n_folds=st.integers(0, 4),
    memory_mb=st.floats(1e-4, 1.0),
    weighted=st.booleans(),
)
def test_passes_against_the_naive_sums(seed, n_folds, memory_mb, weighted):
    rng = np.random.default_rng(seed)
    Phi, Z = rng.normal(size=(31, 7)), rng.normal(size=(31, 2))
    weights = rng.uniform(0.5, 2.0, size=31) if weighted else None
    fold = rng.permutation(np.arange(31) % (n_folds + 1)) - 1  # -1 is never left out
    data = FoldedTargets(Z, weights, splits_of(fold, n_folds))
    passes = FeaturePasses(lambda rows: Phi[rows].copy(), 31, 7, memory_mb=memory_mb)
    filled = np.ones(31) if weights is None else weights
    A = rng.normal(size=(7, 2 * (n_folds + 1)))
    rhs, gathered = passes.right_hand_side(data, nearest=True)
    image = passes.normal_product(A, data)
    assert_allclose(gathered, np.bincount(Phi.argmax(axis=1), filled, minlength=7))
    for j in range(n_folds + 1):
        kept = filled * (fold != j - 1) if j else filled
        part = slice(2 * j, 2 * j + 2)
        assert data.totals()[j] == pytest.approx(kept.sum())
        assert_allclose(rhs[:, part], Phi.T @ (kept[:, None] * Z), atol=1e-12)
        assert_allclose(image[:, part], Phi.T @ (kept[:, None] * (Phi @ A[:, part])), atol=1e-11)
    scores = passes.held_out_scores(A, data)
    for entry, i in enumerate(data.splits.rows):
        part = slice(2 * (fold[i] + 1), 2 * (fold[i] + 1) + 2)
        assert_allclose(scores[entry], Phi[i] @ A[:, part], atol=1e-12)


def test_columns_do_not_disturb_each_other(rng):
    B = rng.normal(size=(9, 9))
    H = B @ B.T + np.eye(9)
    rhs = np.column_stack([np.zeros(9), rng.normal(size=9), 1e8 * rng.normal(size=9)])
    found = ridge_pcg(lambda A: H @ A, rhs, lambda R: R, tol=1e-12, max_iter=50)
    assert found.converged
    assert_allclose(found.solution, np.linalg.solve(H, rhs), rtol=1e-9, atol=1e-12)
    assert (found.solution[:, 0] == 0).all()


def test_several_threads_give_the_same_sums(rng, monkeypatch):
    from kinlearn.solvers import feature_passes

    Phi = rng.normal(size=(200, 11))
    data = FoldedTargets(rng.normal(size=(200, 2)), None, splits_of(np.arange(200) % 3, 3))
    A = rng.normal(size=(11, 8))
    answers = []
    for n_threads in (1, 3):
        monkeypatch.setattr(feature_passes, "room", lambda n=n_threads: n)
        passes = FeaturePasses(lambda rows: Phi[rows].copy(), 200, 11, memory_mb=0.01)
        assert len(passes.blocks) > 3
        answers.append(passes.normal_product(A, data))
        assert np.array_equal(answers[-1], passes.normal_product(A, data))
    assert_allclose(answers[0], answers[1], atol=1e-10)


def test_folds_are_a_partition(data):
    """One pass serves every fold only because no row is held out twice."""
    X, y = data
    folds = calibration_folds(X, y)
    assert sorted(folds.rows) == list(range(y.size))
    assert len(folds.blocks) == 5
    for removed in (block.removed for block in folds.blocks):
        counts = np.bincount(y[removed], minlength=3)
        assert_allclose(counts, np.bincount(y) / 5, atol=1.0)


def test_folds_do_not_depend_on_the_order_of_rows(data, rng):
    X, y = data
    order = rng.permutation(y.size)
    models = [plain()[1].fit(X, y), plain()[1].fit(X[order], y[order])]
    assert models[0].beta_ == pytest.approx(models[1].beta_, rel=1e-5)
