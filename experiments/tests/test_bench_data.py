"""Splits of the benchmark: the same for every method, no row on both sides, real files if there."""

import numpy as np
import pytest

from kinlearn_experiments.bench.data import multilabel, splits
from kinlearn_experiments.bench.data.folder import read_csv_one_hot
from kinlearn_experiments.bench.data.single import draw
from kinlearn_experiments.bench.suites import SUITES

AVAILABLE = [
    pytest.param(suite, entry, id=f"{suite.name}-{entry.name}")
    for suite in SUITES.values()
    for entry in suite.data
    if entry.missing() is None
]


def flat(arrays):
    for array in arrays:
        if isinstance(array, list):
            yield from array
        else:
            yield array


@pytest.mark.parametrize(("suite", "entry"), AVAILABLE)
def test_splits_are_repeatable_and_disjoint(suite, entry):
    one, two = entry.draw(entry.size, 1), entry.draw(entry.size, 1)
    other = entry.draw(entry.size, 2)
    for a, b in zip(flat(one.train), flat(two.train), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(
        a.shape != b.shape or (a != b).any()
        for a, b in zip(flat(one.train), flat(other.train), strict=True)
    )
    assert one.n_train > 0
    assert all(codes.size and codes.min() >= 0 for codes in one.truth)
    for rows in flat(one.train[:1]):
        assert np.isfinite(rows).all()
    n_rows = sum(len(rows) for rows in flat(one.test[:1]))
    assert sum(map(len, one.truth)) in (n_rows, n_rows * len(one.truth))


@pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
def test_some_data_are_always_there(suite, monkeypatch):
    monkeypatch.delenv("KINLEARN_DATA", raising=False)
    always = [entry for entry in suite.data if entry.missing() is None]
    assert len(always) >= 2
    assert all(entry in always for entry in suite.data if entry.quick_size is not None)
    absent = next(entry for entry in suite.data if entry.files)
    assert absent.missing().startswith("set KINLEARN_DATA to a folder that holds ")


def test_a_folder_without_the_file_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path))
    entry = SUITES["single"].data_set("banana")
    assert entry.missing() == "KINLEARN_DATA lacks single_task/banana.npz"


def test_names_are_unique():
    for suite in SUITES.values():
        for entries in (suite.data, suite.methods):
            names = [entry.name for entry in entries]
            assert len(set(names)) == len(names)
        assert suite.method(suite.ours)


def test_rare_classes_and_constant_features_are_left_out(rng):
    X = np.column_stack([rng.normal(size=90), np.ones(90)])
    y = np.array(["a"] * 50 + ["b"] * 37 + ["c"] * 3)
    problem = draw(lambda: (X, y), 60, 0)
    rows, codes = problem.train
    assert rows.shape[1] == 1
    assert set(codes) == {0, 1}
    assert set(problem.truth[0]) == {0, 1}
    np.testing.assert_allclose([rows.mean(), rows.std()], [0, 1], atol=1e-12)


@pytest.mark.parametrize("kind", ["uint8", "int64", "bool"])
def test_of_many_labels_the_most_evenly_split_are_kept(rng, kind):
    X, shares = rng.normal(size=(400, 3)), np.linspace(0.1, 0.9, 17)
    Y = (rng.random((400, 17)) < shares).astype(kind)
    labels = multilabel.draw(lambda seed: (X, Y), 200, 0).train[1]
    assert labels.shape[1] == multilabel.MOST_LABELS
    # the two that are left out are at the ends
    assert 0.1 < labels.mean(axis=0).min() < labels.mean(axis=0).max() < 0.9
    np.testing.assert_allclose(labels.mean(axis=0), shares[1:-1], atol=0.15)


def test_rows_of_every_group_are_drawn():
    groups = np.repeat([3, 5], [10, 20])
    train, test = splits.draw_per_group(groups, 4, 100, seed=0)
    assert [(groups[train] == g).sum() for g in (3, 5)] == [4, 4]
    assert len(np.intersect1d(train, test)) == 0
    assert len(train) + len(test) == 30


def test_tables_with_categories_are_read(monkeypatch, tmp_path):
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path))
    (tmp_path / "t.csv").write_text("1, red, no\n2, blue, yes\n")
    X, y = read_csv_one_hot("t.csv")
    np.testing.assert_array_equal(X, [[1, 0, 1], [2, 1, 0]])
    np.testing.assert_array_equal(y, [0, 1])
