"""NormalEquations: sums that do not depend on how rows were batched, ordered or merged."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kinlearn import NormalEquations
from kinlearn.sums.batch_targets import read_targets
from kinlearn.sums.packed_matrix import add_gram, packed_zeros, symmetric
from kinlearn.sums.row_hash import entry_hashes, row_hashes
from kinlearn.sums.storage import from_arrays, to_arrays
from kinlearn.sums.subtraction import NeverAddedError
from naive.kernels import naive_kernel


def make(rng, n=80, d=3, n_classes=3, n_tasks=4):
    X = rng.normal(size=(n, d))
    y = rng.integers(n_classes, size=n)
    task = np.array(["a", "b", "c", "d", "e"])[rng.integers(n_tasks, size=n)]
    weights = rng.integers(1, 4, size=n).astype(float)
    return X, y, task, weights


def assert_same(one, other, atol=1e-10):
    assert one.n_rows == other.n_rows
    assert one.weight == pytest.approx(other.weight)
    np.testing.assert_array_equal(one.classes, other.classes)
    np.testing.assert_allclose(one.target_sums(), other.target_sums(), atol=atol)
    if one.tasks is not None:
        np.testing.assert_array_equal(one.tasks, other.tasks)
        np.testing.assert_array_equal(one.class_counts(), other.class_counts())
    for task in [None] if one.tasks is None else one.tasks:
        np.testing.assert_allclose(one.gram(task), other.gram(task), atol=atol)
        np.testing.assert_allclose(one.moments(task), other.moments(task), atol=atol)
    mine, theirs = one.held_out_sample(), other.held_out_sample()
    assert (mine is None) == (theirs is None)
    if mine is not None:
        assert mine.limit == theirs.limit
        np.testing.assert_array_equal(mine.keys, theirs.keys)
        np.testing.assert_array_equal(mine.X, theirs.X)
        np.testing.assert_array_equal(mine.task, theirs.task)
        np.testing.assert_allclose(mine.targets, theirs.targets, atol=atol)


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("n_rows", [7, 801])  # added as they are, or as a product
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_packed_storage_is_the_gram_matrix_stored_once(size, n_rows, n_parts, rng, monkeypatch):
    monkeypatch.setattr("kinlearn.sums.gram.MOST_PARTS", n_parts)
    rows = rng.normal(size=(n_rows, size))
    packed = add_gram(packed_zeros(size), rows)
    assert packed.size == size * (size + 1) // 2
    np.testing.assert_allclose(symmetric(packed, size), rows.T @ rows, atol=1e-10)
    np.testing.assert_allclose(symmetric(add_gram(packed, rows, -1.0), size), 0.0, atol=1e-10)


def test_sums_are_the_naive_ones(rng):
    X, y, _, weights = make(rng)
    centers = X[:6]
    sums = NormalEquations(centers, sigma=1.5).update(X, y, sample_weight=weights)
    Phi, Z = naive_kernel("rbf", X, centers, 1.5), np.eye(3)[y]
    np.testing.assert_allclose(sums.gram(), Phi.T @ (weights[:, None] * Phi), atol=1e-10)
    np.testing.assert_allclose(sums.moments(), Phi.T @ (weights[:, None] * Z), atol=1e-10)
    np.testing.assert_allclose(sums.target_sums(), weights @ Z)
    assert sums.n_rows == 80


@pytest.mark.parametrize("m", [6, 40])
def test_tasks_have_sums_of_their_own_thin_or_not(m, rng):
    X, y, task, weights = make(rng)
    sums = NormalEquations(X[:m], sigma=1.5).update(X, y, task=task, sample_weight=weights)
    assert (sums.task_sums()[0].thin is not None) == (m == 40)
    for t in "abcd":
        own = task == t
        Phi, w = naive_kernel("rbf", X[own], X[:m], 1.5), weights[own][:, None]
        np.testing.assert_allclose(sums.gram(t), Phi.T @ (w * Phi), atol=1e-10)
        np.testing.assert_allclose(sums.moments(t), Phi.T @ (w * np.eye(3)[y[own]]), atol=1e-10)


def test_indicators_bring_their_products(rng):
    X, Y = rng.normal(size=(40, 2)), rng.integers(2, size=(40, 3))
    sums = NormalEquations(X[:5]).update(X, Y)
    Phi, Z = naive_kernel("rbf", X, X[:5], 1.0), np.column_stack([np.ones(40), Y])
    np.testing.assert_allclose(sums.moments(), Phi.T @ Z, atol=1e-12)
    np.testing.assert_allclose(sums.target_sums(), Z.T @ Z)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_batching_order_and_merging_gives_the_same_sums(data):
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    with_tasks = data.draw(st.booleans())
    capacity = data.draw(st.sampled_from([0, 7, 1000]))
    X, y, task, weights = make(rng, n=40)
    X[rng.integers(40, size=5)] = X[0]  # equal rows, possibly in different tasks
    # sorted by label and task, new classes and tasks turn up late in the stream
    order = np.lexsort([task, y]) if data.draw(st.booleans()) else rng.permutation(40)
    centers = rng.normal(size=(data.draw(st.sampled_from([3, 12])), 3))
    template = NormalEquations(centers, n_held_out=capacity)

    def add(sums, rows):
        ids = task[rows] if with_tasks else None
        return sums.update(X[rows], y[rows], task=ids, sample_weight=weights[rows])

    whole = add(template.copy(), np.arange(40))
    cuts = np.sort(rng.integers(0, 41, size=data.draw(st.integers(0, 6))))
    parts = np.split(order, cuts)
    streamed = template.copy()
    for rows in parts:
        add(streamed, rows)
    assert_same(streamed, whole)
    pieces = [add(template.copy(), rows) for rows in parts]
    rng.shuffle(pieces)
    assert_same(sum(pieces), whole)
    half = len(pieces) // 2
    assert_same(sum(pieces[half:], template.copy()) + sum(pieces[:half], template.copy()), whole)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([3, 30]))
def test_removing_gives_the_sums_of_what_is_left(seed, with_tasks, m):
    rng = np.random.default_rng(seed)
    X, y, task, weights = make(rng, n=50)
    gone = rng.random(50) < 0.4
    ids = task if with_tasks else None

    def part(rows):
        return X[rows], y[rows], None if ids is None else ids[rows], weights[rows]

    centers = rng.normal(size=(m, 3))
    sums = NormalEquations(centers).update(*part(np.arange(50)))
    for rows in np.array_split(np.flatnonzero(gone), 3):
        sums.downdate(*part(rows))
    assert_same(sums, NormalEquations(centers).update(*part(np.flatnonzero(~gone))), atol=1e-9)


def test_removing_everything_leaves_nothing(rng):
    X, y, task, _ = make(rng)
    sums = NormalEquations(X[:5]).update(X, y, task=task).downdate(X, y, task=task)
    assert sums.n_rows == 0
    assert len(sums.tasks) == 0
    assert_same(sums.update(X, y, task=task), NormalEquations(X[:5]).update(X, y, task=task))


@pytest.mark.parametrize("n_held_out", [0, 10, 2000])
def test_what_was_never_added_is_not_removed(n_held_out, rng):
    X, y, _, _ = make(rng, n=30)
    sums = NormalEquations(rng.normal(size=(40, 3)), sigma=0.7, n_held_out=n_held_out)
    sums.update(X, y)
    before = sums.copy()
    with pytest.raises(NeverAddedError, match=r"cannot have been added|never added"):
        sums.downdate(X[:1] + 2.0, y[:1])
    with pytest.raises(NeverAddedError, match=r"cannot have been added|never added"):
        sums.downdate(X[:1], [(y[0] + 1) % 3])  # another label
    with pytest.raises(NeverAddedError, match=r"weight of 31 were to be removed, .* weigh 30"):
        sums.downdate(np.vstack([X, X[:1]]), np.append(y, y[0]))
    with pytest.raises(NeverAddedError, match=r"No rows of \[9\] were added"):
        sums.downdate(X[:1], [9])
    n_ones = int((y == 1).sum())
    with pytest.raises(NeverAddedError, match=f"Rows of 1 .* {n_ones + 1} .* weigh {n_ones}"):
        sums.downdate(X[: n_ones + 1], np.ones(n_ones + 1, dtype=int))
    with pytest.raises(NeverAddedError, match="weight of 90"):
        sums.downdate(X, y, sample_weight=np.full(30, 3.0))
    assert_same(sums, before)


@pytest.mark.parametrize("m", [4, 60])
def test_tasks_refuse_rows_of_others(m, rng):
    X, y, task, _ = make(rng, n=60)
    sums = NormalEquations(X[:m], n_held_out=0).update(X, y, task=task)
    row = int(np.flatnonzero(task == "a")[0])
    with pytest.raises(NeverAddedError, match="No rows of task 'z'"):
        sums.downdate(X[[row]], y[[row]], task=["z"])
    if m == 60:  # few rows: all of them are known
        with pytest.raises(NeverAddedError, match="from task 'b' cannot have been added"):
            sums.downdate(X[[row]], y[[row]], task=["b"])


def test_files_keep_everything_without_pickle(tmp_path, rng):
    X, y, task, weights = make(rng)
    labels = np.array(["red", "green", "blue"])[y]
    for centers in (X[:4], X[:60]):
        sums = NormalEquations(centers, kernel="laplacian", sigma=2.0, n_held_out=11)
        sums.update(X, labels, task=task, sample_weight=weights)
        sums.save(tmp_path / "sums.npz")
        back = NormalEquations.load(tmp_path / "sums.npz")
        assert_same(back, sums, atol=0)
        assert (back.kernel, back.sigma, back.n_held_out) == ("laplacian", 2.0, 11)
        assert_same(back.update(X, labels, task=task), sums.update(X, labels, task=task))
    assert [p.name for p in tmp_path.iterdir()] == ["sums.npz"]
    assert_same(pickle.loads(pickle.dumps(sums)), sums, atol=0)
    arrays = to_arrays(sums, {"batches": 3})
    assert all(array.dtype != object for array in arrays.values())
    assert from_arrays(arrays)[1] == {"batches": 3}


def test_files_with_sparse_rows_and_indicators(tmp_path, rng):
    X = sp.random(30, 8, density=0.3, format="csr", random_state=0)
    Y = rng.integers(2, size=(30, 2))
    Y = pd.DataFrame(Y, columns=["p", "q"])
    sums = NormalEquations(X[:5], kernel="linear").update(X, Y)
    sums.save(tmp_path / "sums.npz")
    back = NormalEquations.load(tmp_path / "sums.npz")
    np.testing.assert_allclose(back.gram(), sums.gram())
    assert back.classes.tolist() == ["p", "q"]
    dense = NormalEquations(X[:5].toarray(), kernel="linear").update(X.toarray(), Y)
    np.testing.assert_allclose(dense.gram(), sums.gram(), atol=1e-12)
    np.testing.assert_array_equal(dense.held_out_sample().keys, sums.held_out_sample().keys)


def test_a_failed_write_leaves_the_old_file(tmp_path, rng, monkeypatch):
    X, y, _, _ = make(rng)
    sums = NormalEquations(X[:4]).update(X, y)
    sums.save(tmp_path / "sums.npz")

    def fails(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OSError, match="disk full"):
        sums.update(X, y).save(tmp_path / "sums.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["sums.npz"]
    assert NormalEquations.load(tmp_path / "sums.npz").n_rows == 80


def test_new_labels_are_zero_before_they_appear(rng):
    X, Y = rng.normal(size=(20, 2)), rng.integers(2, size=(20, 3))
    Y[:10, 2] = 0
    sums = NormalEquations(X[:4]).update(X[:10], Y[:10, :2]).update(X[10:], Y[10:])
    assert_same(sums, NormalEquations(X[:4]).update(X, Y))


def test_bad_batches_change_nothing(rng):
    X, y, task, _ = make(rng, n=20)
    sums = NormalEquations(X[:4]).update(X, y)
    before = sums.copy()
    bad = X.copy()
    bad[3, 1] = np.nan
    cases = [
        ((bad, y), "NaN"),
        ((X[:, :2], y), "X has 2 features, but the centers have 3"),
        ((X, y[:-1]), "X has 20 rows, but y has 19"),
        ((X, y.astype(str)), "all numbers"),
        ((X, np.eye(3)[y]), "indicators of many labels"),
        ((X, y, task), "with task ids, but those so far without"),
        ((X, y, None, -np.ones(20)), "[Nn]egative"),
        ((X, np.full((20, 2), np.nan)), "every label observed"),
        ((X, np.full((20, 2), 2.0)), "0/1"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            sums.update(*arguments)
    assert_same(sums, before)


def test_only_sums_over_the_same_features_merge(rng):
    X, y, _, _ = make(rng)
    sums = NormalEquations(X[:4]).update(X, y)
    for other, message in [
        (NormalEquations(X[:5]), "same centers"),
        (NormalEquations(X[1:5]), "same centers"),
        (NormalEquations(X[:4], sigma=2.0), "sigma=1.0 and 2.0"),
        (NormalEquations(X[:4], kernel="laplacian"), "kernel='rbf' and 'laplacian'"),
    ]:
        with pytest.raises(ValueError, match=message):
            sums.merge(other)
    with pytest.raises(TypeError):
        sums + 3
    with pytest.raises(ValueError, match="precomputed"):
        NormalEquations(X[:4], kernel="precomputed")


def test_interrupted_sums_are_those_before(rng, monkeypatch):
    X, y, _, _ = make(rng)
    sums = NormalEquations(X[:4]).update(X, y)
    before = sums.copy()

    def interrupts(self, *args):
        raise KeyboardInterrupt

    monkeypatch.setattr("kinlearn.sums.task_sums.TaskSums.add", interrupts)
    with pytest.raises(KeyboardInterrupt):
        sums.update(X, y)
    assert_same(sums, before, atol=0)


def test_hashes_tell_rows_apart_and_know_equal_ones(rng):
    X = rng.normal(size=(2000, 5)).astype(np.float32)
    X[0, 0], X[1] = 0.0, X[2]
    keys = row_hashes(X)
    assert np.unique(keys).size == 1999
    np.testing.assert_array_equal(keys, row_hashes(X.astype(np.float64)))
    np.testing.assert_array_equal(keys, row_hashes(sp.csr_matrix(X)))
    assert row_hashes(np.array([[-0.0, 1.0]])) == row_hashes(np.array([[0.0, 1.0]]))
    # uniform enough that the smallest are a random sample
    assert abs((keys < np.uint64(2**63)).mean() - 0.5) < 0.05


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_the_sample_can_be_drawn_from_the_rows_at_once(kind, rng):
    """Whoever has the rows finds those that sums keep, however these were added."""
    X, y, _, _ = make(rng)
    X[:20] = X[20:40]  # some of them with other labels
    Y = y if kind == "classes" else rng.integers(2, size=(80, 3))
    sums = NormalEquations(X[:5], n_held_out=15)
    for part in np.array_split(rng.permutation(80), 4):
        sums.update(X[part], Y[part])
    keys = entry_hashes(row_hashes(X), read_targets(Y).salts(np.arange(80)))
    np.testing.assert_array_equal(sums.held_out_sample().keys, np.unique(keys)[:15])


def test_the_sample_is_bounded_and_condensing_keeps_no_rows(rng):
    X, y, task, _ = make(rng)
    sums = NormalEquations(X[:60], n_held_out=10).update(X, y, task=task)
    assert sums.held_out_sample().size == 10
    grams = {t: sums.gram(t) for t in sums.tasks}
    sums.condense()
    assert sums.held_out_sample() is None
    assert all(s.thin is None for s in sums.task_sums())
    for t, gram in grams.items():
        np.testing.assert_allclose(sums.gram(t), gram, atol=1e-12)
    assert not any(name.startswith("sample") for name in to_arrays(sums))


def test_memory_is_what_planning_says(rng):
    X, y, task, _ = make(rng)
    m, c = 30, 3
    one = NormalEquations(rng.normal(size=(m, 3))).update(X, y)
    assert one.nbytes == pytest.approx(4 * m**2 + 8 * m * c, rel=0.06)
    many = NormalEquations(rng.normal(size=(m, 3))).update(X, y, task=task)
    sizes = np.unique(task, return_counts=True)[1]
    assert (sizes < m).all()
    planned = sum(8 * min(n * m, m * m / 2) + 8 * m * c for n in sizes)
    assert many.nbytes <= 1.3 * planned
