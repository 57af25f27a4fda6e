"""Rows that coincide: one copy is held out, the others stay, label by label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from kinlearn import MultiLabelLSPC, MultiLabelLSPCCV
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.problems.labels import LabelsProblem
from kinlearn.training.label_table import read_labels
from kinlearn.training.training_set import make_training_set
from naive.held_out import one_by_one
from naive.labels import naive_label_scores

T, SIGMA = 3, 1.5
GRID = {"sigmas": [SIGMA], "regs": [1e-3, 1e-1], "sharings": [0.0, 0.8]}
POINTS = [(1e-3, 0.0), (1e-3, 0.8), (1e-1, 0.8)]  # reg and sharing
W = np.ones((T, T)) - np.eye(T)

pytestmark = pytest.mark.filterwarnings("ignore:The best (sigma|reg)")


@pytest.fixture
def coarse():
    """40 rows of which many coincide, with labels that differ; some stand alone."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 2)).astype(float)
    X[34:] += rng.random((6, 2)) / 3
    Y = (X @ rng.standard_normal((2, T)) + 0.8 * rng.standard_normal((40, T)) > 0.5).astype(float)
    return X, Y


def with_gaps(Y):
    Y = Y.copy()
    Y[np.random.default_rng(1).random(Y.shape) < 0.25] = np.nan
    return Y


def given_centers(X, count):
    return None if count is None else np.unique(X, axis=0)[:count]


def held_out(X, Y, cv, solver="auto", n_centers=None, sample_weight=None, class_weight=None):
    """What is held out, and the scores of every point of the solver that fits the labels."""
    data = make_training_set(X, read_labels(Y), sample_weight, class_weight, "here")
    centers = data.X if n_centers is None else given_centers(X, n_centers)
    problem = LabelsProblem(
        KernelMap(resolve_kernel("rbf"), centers),
        data,
        "uniform",
        None,
        own_centers=n_centers is None,
        keep=True,
        solver=solver,
        tol=1e-12,
        max_iter=10_000,
    )
    validation = data.validation(cv)
    scores = [
        problem.solve({"sigma": SIGMA, "reg": reg, "sharing": sharing}, validation.splits)[1]
        for reg, sharing in POINTS
    ]
    return validation, np.stack(scores)


def assert_is_refitting(X, Y, found, folds, weights=None, **settings):
    """Every row's scores at every point are those of a fit to the other folds."""
    validation, scores = found
    for train, test in folds:
        kept = None if weights is None else weights[train]
        for point, own in zip(POINTS, scores, strict=True):
            q = naive_label_scores(X[train], Y[train], X[test], SIGMA, *point, W, kept, **settings)
            own = own[validation.entry[test]]
            sums = q.sum(axis=-1)
            assert_allclose(own[:, :T], q[..., 1] - q[..., 0], atol=1e-7)
            assert_allclose(own[:, T:], sums if own.shape[1] == 2 * T else sums[:, :1], atol=1e-7)


def parts(n, count):
    tests = np.array_split(np.random.default_rng(3).permutation(n), count)
    return [(np.setdiff1d(np.arange(n), test), test) for test in tests]


@pytest.mark.parametrize("solver", ["auto", "cg"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_centers", [None, 5])
def test_leave_one_out_leaves_one_copy_out(coarse, solver, gaps, n_centers):
    X, Y = coarse
    Y = with_gaps(Y) if gaps else Y
    found = held_out(X, Y, "loo", solver, n_centers)
    centers = given_centers(X, n_centers)
    assert found[1].shape[1] < len(X)  # equal rows of equal labels have one entry
    assert_is_refitting(X, Y, found, one_by_one(len(X)), centers=centers)


@pytest.mark.parametrize("solver", ["auto", "cg"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("count", [20, 3])  # small blocks in closed form, large ones refitted
@pytest.mark.parametrize("n_centers", [None, 5])
def test_folds_leave_their_own_copies_out(coarse, solver, gaps, count, n_centers):
    X, Y = coarse
    Y = with_gaps(Y) if gaps else Y
    folds = parts(len(X), count)
    found = held_out(X, Y, folds, solver, n_centers)
    assert_is_refitting(X, Y, found, folds, centers=given_centers(X, n_centers))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("count", [20, 3])
def test_folds_of_weighted_copies(coarse, gaps, count):
    X, Y = coarse
    Y = with_gaps(Y) if gaps else Y
    weights = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    folds = parts(len(X), count)
    found = held_out(X, Y, folds, sample_weight=weights)
    assert_is_refitting(X, Y, found, folds, weights)


@pytest.mark.parametrize("cv", ["loo", "folds"])
def test_class_weights_of_the_copies_that_stay(coarse, cv):
    X, Y = coarse
    folds = one_by_one(len(X)) if cv == "loo" else parts(len(X), 3)
    found = held_out(X, Y, cv if cv == "loo" else folds, class_weight={0: 1.0, 1: 4.0})
    assert_is_refitting(X, Y, found, folds, factors=(1.0, 4.0))


def test_groups_part_copies(coarse):
    X, Y = coarse
    groups = np.random.default_rng(5).integers(0, 12, len(X))
    model = MultiLabelLSPC(similarity="uniform", sigma=SIGMA, reg=1e-2).fit(X, Y, groups=groups)
    for group in (0, 5):
        rest = groups != group
        q = naive_label_scores(X[rest], Y[rest], X[~rest], SIGMA, 1e-2, 0.5, W)
        expected = q[..., 1] - q[..., 0]
        assert_allclose(model.held_out_scores_[~rest, :T], expected, atol=1e-8)


def test_groups_of_one_row_are_leave_one_out(coarse):
    X, Y = coarse
    plain = MultiLabelLSPC().fit(X, Y)
    apart = MultiLabelLSPC().fit(X, Y, groups=np.arange(len(X)))
    assert_allclose(plain.held_out_scores_, apart.held_out_scores_, atol=1e-10)


MODELS = {
    "one fit": lambda: MultiLabelLSPC(tol=1e-11),
    "conjugate gradients": lambda: MultiLabelLSPC(solver="cg", tol=1e-11),
    "search": lambda: MultiLabelLSPCCV(**GRID),
}


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("gaps", [False, True])
def test_every_row_twice_and_weights_times_a_thousand_change_nothing(coarse, name, gaps):
    X, Y = coarse
    Y = with_gaps(Y) if gaps else Y
    once = MODELS[name]().fit(X, Y)
    twice = MODELS[name]().fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    heavy = MODELS[name]().fit(X, Y, sample_weight=np.full(len(X), 1000.0))
    for other in (twice, heavy):
        assert_allclose(other.betas_, once.betas_, rtol=1e-5)
        assert_allclose(other.predict_proba(X), once.predict_proba(X), atol=1e-5)


def test_every_row_twice_under_a_class_weight(coarse):
    X, Y = coarse
    settings = {"class_weight": "balanced", "tol": 1e-11}
    once = MultiLabelLSPC(**settings).fit(X, Y)
    twice = MultiLabelLSPC(**settings).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    heavy = MultiLabelLSPC(**settings).fit(X, Y, sample_weight=np.full(len(X), 1000.0))
    for other in (twice, heavy):
        assert_allclose(other.predict_proba(X), once.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("gaps", [False, True])
def test_weights_are_repetitions(coarse, name, gaps):
    X, Y = coarse
    Y = with_gaps(Y) if gaps else Y
    weights = np.random.default_rng(2).integers(1, 4, len(X))
    again = np.repeat(np.arange(len(X)), weights)
    weighted = MODELS[name]().fit(X, Y, sample_weight=weights)
    repeated = MODELS[name]().fit(X[again], Y[again])
    assert_allclose(weighted.betas_, repeated.betas_, rtol=1e-5)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("shape", ["1-d", "indicators"])
@pytest.mark.parametrize("model", [MultiLabelLSPC, MultiLabelLSPCCV])
def test_one_binary_column_is_as_good_as_logistic_regression(shape, model):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 400)
    y = (rng.random(400) < np.where(x == 1, 0.7, 0.2)).astype(int)
    X, X_new = x[:200, None].astype(float), x[200:, None].astype(float)
    fitted = model().fit(X, y[:200] if shape == "1-d" else y[:200, None])
    proba = fitted.predict_proba(X_new)
    proba = proba[:, 1] if shape == "1-d" else proba[:, 0]
    reference = LogisticRegression().fit(X, y[:200]).predict_proba(X_new)[:, 1]
    assert log_loss(y[200:], proba) <= 1.02 * log_loss(y[200:], reference)


def test_folds_of_copies_do_not_see_how_they_were_passed(coarse):
    X, Y = coarse
    Y = with_gaps(Y)
    twice, counts = np.repeat(np.arange(40), 2), np.random.default_rng(2).integers(1, 4, 40)
    again = np.repeat(np.arange(40), counts)

    def found(rows, weights=None):
        data = make_training_set(X[rows], read_labels(Y[rows]), weights, None, "here")
        return data.validation("loo", closed_form=False)

    def assert_alike(one, other):
        assert one.n_copies == other.n_copies
        assert_allclose(one.copies, other.copies)
        for a, b in zip(one.splits.blocks, other.splits.blocks, strict=True):
            assert (a.removed == b.removed).all()
            assert (a.leaving is None) == (b.leaving is None)
            if a.leaving is not None:
                assert_allclose(a.leaving.share, b.leaving.share)

    once = found(np.arange(40))
    assert len(once.splits.blocks) == 5
    assert_alike(once, found(twice))
    assert_alike(found(np.arange(40), counts), found(again))
    for validation in (once, found(twice), found(np.arange(40), counts), found(again)):
        assert (validation.entry >= 0).all()
        assert_allclose(validation.copies.sum(), validation.n_copies)
        tested = np.bincount(validation.entry, validation.share, validation.copies.size)
        assert (tested <= 1 + 1e-12).all()
