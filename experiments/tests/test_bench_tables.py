"""Tables with categories and missing cells: learnt from training rows alone, halves kept apart."""

import gzip

import numpy as np
import pytest

from kinlearn_experiments.bench.data import single, tables
from kinlearn_experiments.bench.roles import CHOSEN_ON, DEVELOPMENT, HELD_OUT
from kinlearn_experiments.bench.suites import SUITES

HELD = ["bands", "bupa", "heart", "mammographic", "monk-2", "mushroom", "ring", "splice", "twonorm"]


@pytest.fixture
def table(monkeypatch, tmp_path):
    """Write lines as a table of the data folder, and give its name."""
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path))
    tables.columns_of.cache_clear()
    yield lambda lines: (tmp_path / "t.csv.gz").write_bytes(
        gzip.compress("\n".join(lines).encode())
    )
    tables.columns_of.cache_clear()


def test_cells_are_read_as_numbers_or_categories(table):
    table(["a,b,class", "1,red,yes", " ?,,no", "3, blue,yes"])
    (a, b), y = tables.read_table("t.csv.gz")
    np.testing.assert_array_equal(a, [1, np.nan, 3])
    assert list(b) == ["red", "", "blue"]
    assert list(y) == ["yes", "no", "yes"]


def test_another_last_column_is_refused(table):
    table(["a,b", "1,2"])
    with pytest.raises(ValueError, match=r"last column of t\.csv\.gz is 'b'; 'class' was expected"):
        tables.read_table("t.csv.gz")


def test_missing_cells_are_filled_and_told():
    column = np.array([1.0, 3.0, np.nan, np.nan, 5.0])
    found = tables.encoded(column, np.array([0, 1, 2]))
    np.testing.assert_array_equal(found, [[-1, 0], [1, 0], [0, 1], [0, 1], [3, 0]])
    # none missing in training: no column that says so
    np.testing.assert_array_equal(
        tables.encoded(column, np.array([0, 1])).ravel(), [-1, 1, 0, 0, 3]
    )
    assert tables.encoded(column, np.array([2, 3])).shape == (5, 0)
    words = tables.encoded(np.array(["u", "", "v"]), np.array([0, 1]))
    np.testing.assert_array_equal(words, [[0, 1], [1, 0], [0, 0]])


def test_test_rows_change_nothing_that_is_learnt(table, rng):
    def lines(far):
        rows = [f"{value:.3f},{'pq'[i % 2]},{i % 2}" for i, value in enumerate(base)]
        _, test = tables.draw_rows(np.array([row[-1] for row in rows]), 40, 0)
        for i in test:
            rows[i] = f"{far},z,{rows[i][-1]}"
        return ["a,b,class", *rows]

    base = rng.normal(size=60)
    drawn = []
    for far in (7, 7000):
        table(lines(far))
        tables.columns_of.cache_clear()
        drawn.append(tables.draw("t.csv.gz", 40, 0))
    np.testing.assert_array_equal(drawn[0].train[0], drawn[1].train[0])
    assert drawn[0].train[0].shape == (40, 3)
    np.testing.assert_allclose(drawn[0].train[0][:, 0].mean(), 0, atol=1e-12)
    # a category never seen in training is none of those seen
    assert not drawn[0].test[0][:, 1:].any()


def test_roles_are_settled():
    roles = {entry.name: entry.role for entry in SUITES["single"].data}
    assert [name for name, role in roles.items() if role == HELD_OUT] == HELD
    assert sum(role == CHOSEN_ON for role in roles.values()) == 10
    assert {roles[name] for name in single.SOURCES} == {DEVELOPMENT}
    assert list(tables.TABLES) == sorted(tables.TABLES)


@pytest.mark.parametrize("entry", SUITES["single"].data, ids=lambda entry: entry.name)
def test_rows_and_classes_are_those_of_the_data(entry):
    if entry.missing():
        pytest.skip(entry.missing())
    if entry.name in tables.TABLES:
        columns, y = tables.read_table(entry.files[0])
        facts = tables.TABLES[entry.name]
        assert len(columns) == facts.features
        assert sum(column.dtype.kind != "f" for column in columns) == facts.categories
    else:
        y = single.SOURCES[entry.name].load()[1]
    assert (len(y), len(np.unique(y))) == (entry.rows, entry.classes)
