"""Tables of very many columns: what is said of them in a few lines, and what is shuffled."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kinlearn import LSPC, LSPCCV, TableFeatures
from kinlearn.cells.schema import TableSchema
from kinlearn.cli.column_summary import MOST_LINES, column_lines
from kinlearn.report.importance import MOST_COLUMNS, importance_of, relevant_columns
from kinlearn.tables.pipeline import make_model
from naive.importance import naive_importance


def column(name, kind="numeric", why="12 different numbers", n_missing=0):
    return SimpleNamespace(name=name, kind=kind, why=why, n_missing=n_missing)


def test_few_columns_have_a_line_each():
    found = column_lines([column(f"x{i}") for i in range(MOST_LINES)])
    assert len(found) == MOST_LINES
    assert found[0] == ["x0", "numeric", "12 different numbers", ""]


def test_many_columns_share_lines_by_kind_and_reason():
    columns = [column(f"g{i}", why=f"{200 + i} different numbers", n_missing=2) for i in range(500)]
    columns.insert(3, column("id", "dropped", "a number of its own for every row"))
    columns += [column(f"c{i}", "categorical", "3 categories") for i in range(9)]
    assert column_lines(columns) == [
        ["g0 ... g499 (500 columns)", "numeric", "200 to 699 different numbers", "1000"],
        ["id", "dropped", "a number of its own for every row", ""],
        ["c0 ... c8 (9 columns)", "categorical", "3 categories", ""],
    ]


def test_numbers_are_shuffled_in_the_place_of_cells(rng):
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(120) < 0.1, np.nan, rng.normal(size=120)),
            "c": np.array(["u", "v", "w"], dtype=object)[rng.integers(0, 3, 120)],
        }
    )
    y = np.where((frame["c"] == "u") | (frame["a"] > 0.5), "no", "yes").astype(object)
    for first in ("a", "c"):
        schema = TableSchema(numeric=["a"], categorical=["c"])
        model = make_model(schema, LSPC()).fit(frame, y)
        found = importance_of(model, schema, frame, y, seed=3, columns=[first])
        assert found[0].loss == pytest.approx(naive_importance(model, frame, y, first, 3))


def test_of_very_many_columns_the_relevant_ones_are_shuffled(rng):
    X = rng.normal(size=(150, 3 * MOST_COLUMNS))
    frame = pd.DataFrame(X, columns=[f"g{i}" for i in range(X.shape[1])])
    y = np.where(X[:, 7] + X[:, 90] > 0, "yes", "no").astype(object)
    schema = TableSchema(numeric=list(frame), categorical=[])
    classifier = LSPCCV(kernel="rbf", sigmas=[15.0], regs=[1e-2])
    model = make_model(schema, classifier).fit(frame, y)
    chosen = relevant_columns(model, schema)
    assert len(chosen) == MOST_COLUMNS
    assert {"g7", "g90"} <= set(chosen)


def test_origins_are_one_for_each_column():
    frame = pd.DataFrame({"t": ["x", "y"] * 20, "a": [1.0, None] * 20, "c": ["u", "v"] * 20})
    frame["when"] = pd.date_range("2024-01-01", periods=40)
    features = TableFeatures(task="t", thresholds=3).fit(frame)
    names, origins = features.get_feature_names_out(), features.origins()
    assert len(names) == len(origins)
    assert all(name.startswith(origin) for name, origin in zip(names, origins, strict=True))
