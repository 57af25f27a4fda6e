"""MTDA as users meet it: solvers, lists and dicts, shrinkage, output, and refusals."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from kinlearn import MTDA, TraceRatioLDA
from naive.discriminants import dense_scatter, naive_optimum, objective, random_tasks

NARROW = ((12, 20, 9), (60, 80, 50), (5, 4, 6))
WIDE = ((60, 80, 100), (30, 40, 24), (5, 4, 6))


@pytest.mark.parametrize(("shape", "n_components"), [(NARROW, 3), (WIDE, 8), (WIDE, 3)])
@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_solvers_attain_the_naive_optimum_with_orthonormal_components(shape, n_components, solver):
    Xs, ys = random_tasks(0, *shape)
    mtda = MTDA(n_components=n_components, solver=solver, random_state=0).fit(Xs, ys)
    best = naive_optimum(Xs, ys, n_components)
    assert mtda.objective_ == pytest.approx(best, abs=1e-8)
    assert objective(Xs, ys, mtda.components_) == pytest.approx(best, abs=1e-8)
    assert mtda.alpha_ == mtda.objective_ == mtda.objective_path_[-1]
    assert np.all(np.diff(mtda.objective_path_) >= -1e-14)
    for U, X in zip(mtda.components_, Xs, strict=True):
        assert U.shape == (n_components, X.shape[1])
        np.testing.assert_allclose(U @ U.T, np.eye(n_components), atol=1e-10)


@pytest.mark.parametrize("init", ["random", "pca", "lda"])
@pytest.mark.parametrize("n_intermediate", [None, 8, 45])
def test_alternating_from_every_start(init, n_intermediate):
    Xs, ys = random_tasks(1, *WIDE)
    best = MTDA(n_components=7).fit(Xs, ys).objective_
    mtda = MTDA(
        n_components=7,
        solver="alternating",
        init=init,
        n_intermediate=n_intermediate,
        random_state=0,
    ).fit(Xs, ys)
    assert mtda.objective_ == pytest.approx(best, abs=1e-8)
    assert np.all(np.diff(mtda.objective_path_) >= -1e-14)
    for U in mtda.components_:
        np.testing.assert_allclose(U @ U.T, np.eye(7), atol=1e-10)


def test_table1_ends_below_the_optimum_and_stays_orthonormal():
    Xs, ys = random_tasks(2, *NARROW)
    best = MTDA(n_components=3).fit(Xs, ys).objective_
    printed = MTDA(
        n_components=3, solver="table1", init="random", n_intermediate=6, random_state=0
    ).fit(Xs, ys)
    assert printed.objective_ < best - 0.01
    assert objective(Xs, ys, printed.components_) == pytest.approx(printed.objective_)
    # d' above the rank of every task: W needs directions outside the span.
    Xs, ys = random_tasks(2, *WIDE)
    wide = MTDA(n_components=3, solver="table1", n_intermediate=50, random_state=0).fit(Xs, ys)
    for U in wide.components_:
        np.testing.assert_allclose(U @ U.T, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
@pytest.mark.parametrize("shrinkage", [0, 0.3, "auto"])
def test_one_task_is_trace_ratio_lda(shape, shrinkage):
    Xs, ys = random_tasks(3, *shape)
    single = TraceRatioLDA(n_components=3, shrinkage=shrinkage).fit(Xs[0], ys[0])
    mtda = MTDA(n_components=3, shrinkage=shrinkage).fit(Xs[:1], ys[:1])
    assert mtda.objective_ == pytest.approx(single.objective_, abs=1e-12)
    np.testing.assert_allclose(
        mtda.components_[0].T @ mtda.components_[0],
        single.components_.T @ single.components_,
        atol=1e-8,
    )
    np.testing.assert_allclose(
        np.abs(mtda.transform(Xs[0])), np.abs(single.transform(Xs[0])), atol=1e-7
    )


@pytest.mark.parametrize("solver", ["joint", "alternating", "table1"])
def test_the_first_coordinate_has_the_most_scatter_between_classes(solver):
    Xs, ys = random_tasks(3, *NARROW)
    mtda = MTDA(n_components=3, solver=solver, random_state=0).fit(Xs, ys)
    for X, y, U in zip(Xs, ys, mtda.components_, strict=True):
        S_b = U @ dense_scatter(X, y)[0] @ U.T
        np.testing.assert_allclose(S_b, np.diag(np.diag(S_b)), atol=1e-10)
        assert np.all(np.diff(np.diag(S_b)) <= 1e-12)


def test_dicts_and_lists_give_the_same_and_other_classes_are_fine():
    Xs, ys = random_tasks(4, *NARROW)
    labels = [np.array(["red", "green", "blue", "grey", "pink"])[ys[0]], ys[1], ys[2] * 10.0]
    names = ["old", "new", 7]
    by_position = MTDA(n_components=2).fit(Xs, labels)
    by_name = MTDA(n_components=2).fit(
        dict(zip(names, Xs, strict=True)), dict(zip(names, labels, strict=True))
    )
    assert by_name.tasks_ == names
    assert list(by_name.components_) == names
    assert isinstance(by_position.components_, list)
    for k, name in enumerate(names):
        np.testing.assert_array_equal(by_name.components_[name], by_position.components_[k])
        np.testing.assert_array_equal(
            by_name.transform(Xs[k], task=name), by_position.transform(Xs[k], task=k)
        )
    assert by_name.classes_["old"].tolist() == ["blue", "green", "grey", "pink", "red"]
    everything = by_name.transform_all(dict(zip(names, Xs, strict=True)))
    assert set(everything) == set(names)
    fitted = MTDA(n_components=2).fit_transform(Xs, labels)
    np.testing.assert_array_equal(fitted[1], everything["new"])
    np.testing.assert_allclose(fitted[1].mean(axis=0), 0, atol=1e-10)


def test_shrinkage_lowers_alpha_and_automatic_shrinkage_is_per_task():
    Xs, ys = random_tasks(5, *WIDE)
    alphas = [MTDA(n_components=3, shrinkage=s).fit(Xs, ys).alpha_ for s in (0, 0.1, 1, 10)]
    assert np.all(np.diff(alphas) < 0)
    automatic = MTDA(n_components=3, shrinkage="auto").fit(Xs, ys)
    assert len(set(automatic.shrinkage_)) == 3
    assert all(value > 0 for value in automatic.shrinkage_)
    assert MTDA(n_components=3, shrinkage=0.3).fit(Xs, ys).shrinkage_ == pytest.approx([0.3] * 3)


def test_pandas_in_and_out_pickle_and_clone():
    Xs, ys = random_tasks(6, *NARROW)
    frames = [
        pd.DataFrame(X, columns=[f"t{k}_{j}" for j in range(X.shape[1])]) for k, X in enumerate(Xs)
    ]
    mtda = MTDA(n_components=2).set_output(transform="pandas").fit(frames, ys)
    out = mtda.transform(frames[1], task=1)
    assert list(out.columns) == ["mtda0", "mtda1"]
    assert all(isinstance(Z, pd.DataFrame) for Z in mtda.fit_transform(frames, ys))
    assert mtda.feature_names_[0][0] == "t0_0"
    with pytest.raises(ValueError, match="same columns in the same order"):
        mtda.transform(frames[1][frames[1].columns[::-1]], task=1)
    restored = pickle.loads(pickle.dumps(mtda))
    pd.testing.assert_frame_equal(restored.transform(frames[1], task=1), out)
    assert clone(MTDA(n_components=5, shrinkage="auto")).get_params()["shrinkage"] == "auto"


def test_more_components_than_the_rank_are_capped_with_a_warning_that_names_the_cap():
    Xs, ys = random_tasks(7, (12, 3), (40, 40), (4, 3))
    with pytest.warns(UserWarning, match="n_components=5 is more than the smallest rank.*at 3"):
        mtda = MTDA(n_components=5).fit(Xs, ys)
    assert mtda.n_components_ == 3
    with pytest.warns(UserWarning, match="n_intermediate=5 .* capped at 3"):
        MTDA(n_components=2, n_intermediate=5, solver="alternating").fit(Xs, ys)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    widths=st.lists(st.integers(2, 40), min_size=1, max_size=4),
    n=st.integers(8, 30),
    n_classes=st.integers(2, 4),
    n_components=st.integers(1, 4),
    kind=st.sampled_from([np.float64, np.float32, np.int64]),
    shrinkage=st.sampled_from([0, 0.1, "auto"]),
)
def test_any_tasks_give_orthonormal_components_that_no_random_frame_beats(
    seed, widths, n, n_classes, n_components, kind, shrinkage
):
    rng = np.random.default_rng(seed)
    Xs = [(5 * rng.normal(size=(n, d))).astype(kind) for d in widths]
    ys = [rng.permutation(np.arange(n) % n_classes).astype(str) for _ in widths]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*capped at")
        mtda = MTDA(n_components=n_components, shrinkage=shrinkage).fit(Xs, ys)
    count = min(n_components, min(mtda.ranks_))
    assert mtda.n_components_ == count
    for X, U in zip(Xs, mtda.components_, strict=True):
        np.testing.assert_allclose(U @ U.T, np.eye(count), atol=1e-10)
        assert mtda.transform_all(Xs)[0].dtype == np.float64
        assert U.shape == (count, X.shape[1])
    assert 0 < mtda.objective_ <= 1
    if shrinkage == 0:
        exact = [X.astype(float) for X in Xs]
        assert objective(exact, ys, mtda.components_) == pytest.approx(mtda.objective_, abs=1e-9)
        # Random frames inside the span: projections of the training rows.
        frames = [
            np.linalg.qr((X - X.mean(axis=0)).T @ rng.normal(size=(n, count)))[0].T for X in exact
        ]
        assert objective(exact, ys, frames) <= mtda.objective_ + 1e-9


def bad_tasks():
    return random_tasks(8, (5, 7), (12, 15), (3, 3))


def with_nan():
    Xs, ys = bad_tasks()
    Xs[1][3, 2] = np.nan
    return Xs, ys


def with_one_class():
    Xs, ys = bad_tasks()
    return Xs, [ys[0], np.zeros(15)]


def with_lonely_classes():
    Xs, ys = bad_tasks()
    return Xs, [ys[0], np.arange(15)]


def with_constant_features():
    Xs, ys = bad_tasks()
    return [Xs[0], np.ones((15, 7)) * 0.1], ys


def with_short_labels():
    Xs, ys = bad_tasks()
    return Xs, [ys[0], ys[1][:-1]]


def with_missing_label():
    Xs, ys = bad_tasks()
    labels = ys[1].astype(float)
    labels[0] = np.nan
    return Xs, [ys[0], labels]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (with_nan, "Input X of task 1 contains NaN"),
        (with_one_class, "Task 1 has only one class"),
        (with_lonely_classes, "Task 1 has 15 rows in 15 classes, one row each"),
        (with_constant_features, "Task 1: every one of its 7 features is constant"),
        (with_short_labels, "Task 1 has 15 rows in X but 14 labels"),
        (with_missing_label, "Task 1: y contains NaN"),
        (lambda: (bad_tasks()[0], bad_tasks()[1][:1]), "Xs has 2 tasks but ys has 1"),
        (lambda: ([], []), "Xs holds no task"),
        (
            lambda: ({"a": bad_tasks()[0][0]}, {"b": bad_tasks()[1][0]}),
            "same tasks as keys; only one of them has 'a', 'b'",
        ),
    ],
)
def test_bad_tasks_are_refused_by_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        MTDA().fit(*make())


@pytest.mark.parametrize(
    ("Xs", "ys", "sentence"),
    [
        (np.zeros((4, 2)), [0, 1, 0, 1], r"of shape \(4, 2\); for one task pass \[X\]"),
        ({"a": np.zeros((4, 2))}, [[0, 1, 0, 1]], "ys is a list; give ys as a dict"),
        ([np.zeros((4, 2))], {"a": [0, 1, 0, 1]}, "ys is a dict; give ys as a list"),
        ("text", ["text"], "Xs must be a list or a dict"),
    ],
)
def test_other_containers_are_refused_by_a_sentence(Xs, ys, sentence):
    with pytest.raises(TypeError, match=sentence):
        MTDA().fit(Xs, ys)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, not 0"),
        ({"n_components": 1.5}, "n_components must be a whole number"),
        ({"solver": "magic"}, 'solver must be one of "joint", "alternating", "table1"'),
        ({"shrinkage": -1}, 'shrinkage must be a number of at least 0 or "auto", not -1'),
        ({"shrinkage": "some"}, "shrinkage must be"),
        ({"tol": -1}, "tol must be a number of at least 0"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"solver": "alternating", "init": "guess"}, "init must be one of"),
        (
            {"solver": "alternating", "n_components": 3, "n_intermediate": 2},
            "n_intermediate=2 is less than n_components=3",
        ),
    ],
)
def test_bad_parameters_are_refused_by_a_sentence(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        MTDA(**params).fit(*bad_tasks())


def test_a_class_of_one_row_is_fine():
    Xs, ys = bad_tasks()
    ys[0] = ys[0].copy()
    ys[0][0] = 9
    mtda = MTDA().fit(Xs, ys)
    assert 9 in mtda.classes_[0]
    assert np.isfinite(mtda.components_[0]).all()


def test_wrong_use_at_transform_is_refused_by_a_sentence():
    Xs, ys = bad_tasks()
    with pytest.raises(NotFittedError):
        MTDA().transform(Xs[0], task=0)
    mtda = MTDA().fit(Xs, ys)
    with pytest.raises(ValueError, match=r"Task 2 was not seen in fit; the known tasks are 0, 1"):
        mtda.transform(Xs[0], task=2)
    with pytest.raises(ValueError, match="Task 'a' was not seen"):
        mtda.transform(Xs[0], task="a")
    with pytest.raises(ValueError, match=r"Task \[0, 1\] was not seen"):
        mtda.transform(Xs[0], task=[0, 1])
    with pytest.raises(ValueError, match="knows 2 tasks, 0, 1; say which one"):
        mtda.transform(Xs[0])
    with pytest.raises(ValueError, match="X has 7 features, but task 0 was fitted with 5"):
        mtda.transform(Xs[1], task=0)
    with pytest.raises(ValueError, match="Input X of task 1 contains NaN"):
        mtda.transform(with_nan()[0][1], task=1)
    with pytest.raises(ValueError, match="Xs has 1 tasks but 2 were fitted"):
        mtda.transform_all(Xs[:1])


def test_an_unfinished_alternation_warns():
    Xs, ys = random_tasks(9, *NARROW)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1"):
        MTDA(n_components=3, max_iter=1, tol=0).fit(Xs, ys)


def test_a_very_wide_task_takes_memory_in_proportion_to_its_data():
    """50,000 features and 120 rows: a square matrix of the features would take 20 GB."""
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(120, 50_000)), rng.normal(size=(50, 10))]
    ys = [np.arange(120) % 4, np.arange(50) % 3]
    mtda = MTDA(n_components=3).fit(Xs, ys)
    np.testing.assert_allclose(mtda.components_[0] @ mtda.components_[0].T, np.eye(3), atol=1e-10)
