"""Short ways to an answer give what the long ones do, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import kinlearn
from kinlearn import LSPC, LSPCCV, HandOver, MultiLabelLSPC, MultiTaskLSPC, TableFeatures
from kinlearn.answering.answers import answer_rows
from kinlearn.answering.ready import make_ready
from kinlearn.answering.rows import (
    Rows,
    rows_of_columns,
    rows_of_numbers,
    rows_of_records,
    together,
)
from kinlearn.answering.served_model import load_served
from kinlearn.encoding.read_cells import ReadCells
from kinlearn.estimators._both import in_one_pass, proba_and_familiarity
from kinlearn.estimators.prior_shift import PriorShift
from kinlearn.watch.reference import usual_of


def table(n, seed):
    """Columns of every kind: skewed counts, dates, many and few categories, missing cells."""
    rng = np.random.default_rng(seed)
    dates = np.datetime64("2020-01-01") + (np.arange(n) * 7).astype("timedelta64[D]")
    found = pd.DataFrame(
        {
            "dose": rng.normal(size=n),
            "cells": np.exp(3 * rng.normal(size=n)),
            "seen": dates.astype("datetime64[us]"),
            "site": rng.choice(["north", "south"], n).astype(object),
            "code": [f"c{k}" for k in rng.integers(0, 30, n)],
            "sex": rng.choice(["f", "m"], n).astype(object),
        }
    )
    for name in ("dose", "seen", "sex", "code"):
        found.loc[rng.random(n) < 0.1, name] = None
    return found


@pytest.mark.parametrize(
    "options", [{}, {"task": "site"}, {"thresholds": 5}, {"max_categories": 6, "drop": ["dose"]}]
)
def test_cells_that_are_read_become_the_numbers_of_their_table(options):
    features = TableFeatures(**options).fit(table(200, 0))
    new = table(60, 1)
    new.loc[:3, ["site", "sex", "code"]] = ["elsewhere", "?!", "(missing)"]
    read = features.cells_.transform(new)
    cells = {name: read[name].to_numpy() for name in read}
    wanted = features.transform(new)
    np.testing.assert_array_equal(ReadCells(features).numbers(cells), wanted)
    one = {name: column[:1] for name, column in cells.items()}
    np.testing.assert_array_equal(ReadCells(features).numbers(one), wanted[:1])


MODELS = {
    "all rows": LSPC(),
    "few centres": LSPC(n_centers=20),
    "one centre": LSPC(n_centers=1),
    "distances": LSPC(kernel="matern32"),
    "angles": LSPC(kernel="cosine"),
    "several": LSPCCV(kernel=["laplacian", "rbf"], metric=None),
    "metric": LSPCCV(kernel="rbf", metric="diagonal"),
    "tasks": MultiTaskLSPC(),
    "a rule": HandOver(LSPC(), max_error=0.3),
    "another's": LogisticRegression(),
}


@pytest.mark.parametrize("name", MODELS)
def test_one_pass_gives_probabilities_and_familiarity(name):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    tasks = name == "tasks"
    model = MODELS[name].fit(X, y, **({"task": np.arange(80) % 2} if tasks else {}))
    given = {"task": np.arange(400) % 3} if tasks else {}
    proba = model.predict_proba(new, **given)
    familiar = model.familiarity(new) if hasattr(model, "familiarity") else None
    for _ in range(2):
        told, also = proba_and_familiarity(model, new, given)
        np.testing.assert_array_equal(told, proba)
        np.testing.assert_array_equal(also, familiar)
        make_ready(model, 64)
        np.testing.assert_array_equal(model.predict_proba(new, **given), proba)
    quick = {"all rows", "few centres", "metric", "several"}
    assert in_one_pass(model) == (name in quick)


LEANING = {
    "weights": LSPC(class_weight="balanced"),
    "weights of three": LSPCCV(class_weight="balanced", kernel="rbf", metric=None),
    "tasks": MultiTaskLSPC(class_weight="balanced"),
    "costs": HandOver(LSPC(), max_error=0.4, costs={(0, 1): 3.0}),
    "prevalence": PriorShift(LSPC(), prior={0: 0.1, 1: 0.9}),
    "thresholds": MultiLabelLSPC(threshold=0.2),
    "another's": LogisticRegression(class_weight="balanced"),
}


@pytest.mark.parametrize("name", LEANING)
def test_the_class_is_the_one_that_the_model_predicts(tmp_path, name):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(120, 3)), rng.normal(size=(300, 3))
    score = X[:, 0] + rng.normal(size=120)
    y = np.digitize(score, [0.3, 1.2]) if name == "weights of three" else (score > 1).astype(int)
    y = np.column_stack([y, X[:, 1] > 1]).astype(int) if name == "thresholds" else y
    tasks = name == "tasks"
    model = LEANING[name].fit(X, y, **({"task": np.arange(120) % 2} if tasks else {}))
    given = {"task": np.arange(300) % 3} if tasks else {}
    kinlearn.save(model, tmp_path / "m.kin")
    served = load_served(tmp_path / "m.kin")
    rows = Rows(new, given.get("task"))
    for familiar in (True, False):
        found = answer_rows(served, rows, familiarity=familiar)
        told = found.predicted if served.is_labels else found.classes
        np.testing.assert_array_equal(told, model.predict(new, **given))
        np.testing.assert_array_equal(found.proba, model.predict_proba(new, **given))
    likeliest = found.proba > 0.5 if served.is_labels else found.proba.argmax(axis=1)
    leans = (found.predicted != likeliest).any(axis=None)
    assert leans == (name not in ("prevalence", "another's"))
    assert (found.stated < 0.5).any() == leans or found.proba.shape[1] > 2
    usual = usual_of(served)
    assert (usual is None) == (name in ("thresholds", "prevalence", "another's"))
    if usual is not None:
        own = found.stated.mean() if found.served.rule is None else usual.accuracy
        assert abs(usual.accuracy - own) < 0.08
        assert (usual.stated < usual.proba.max(axis=1)).any()


def test_sparse_rows_take_one_pass_too():
    rng = np.random.default_rng(1)
    X = csr_matrix(rng.poisson(0.3, size=(60, 8)).astype(float))
    model = LSPC().fit(X, np.arange(60) % 2)
    assert in_one_pass(model)
    told, familiar = proba_and_familiarity(model, X, {})
    np.testing.assert_array_equal(told, model.predict_proba(X))
    np.testing.assert_array_equal(familiar, model.familiarity(X))


@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
def test_numbers_alone_are_read_as_column_by_column(tmp_path, names):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=names)
    kinlearn.save(LSPC().fit(X if names else X.to_numpy(), np.arange(30) % 2), tmp_path / "m.kin")
    served = load_served(tmp_path / "m.kin")
    columns = served.schema.features
    cells = [[1.5, 2, -3.0], [2**60, 0, 1e75], [0.1, 1e-300, 7]]
    found = rows_of_records(
        served, [dict(zip(reversed(columns), row[::-1], strict=True)) for row in cells]
    )
    by_column = [list(column) for column in zip(*cells, strict=True)]
    expected = rows_of_columns(served, dict(zip(columns, by_column, strict=True)))
    np.testing.assert_array_equal(np.asarray(found.X), np.asarray(expected.X))
    assert type(found.X) is type(expected.X)
    assert found.notes == expected.notes == []
    # whatever is out of the ordinary is looked at column by column
    for odd in (None, "1", True, 1e76):
        assert rows_of_numbers(served, [1.0, odd, 2.0], 1) is None
    assert rows_of_numbers(served, np.array([1.0, np.nan, 2.0]), 1) is None


def test_rows_of_several_requests_keep_what_is_counted_of_them():
    parts = [
        Rows({"a": np.array([1.0, np.nan]), "b": np.array(["x", "y"], object)}, unseen={"b": 1}),
        Rows({"a": np.array([3.0]), "b": np.array(["z"], object)}, unseen={"b": 1}),
    ]
    whole = together(parts)
    assert (len(whole), whole.size, whole.unseen) == (3, 6, {"b": 2})
    assert whole.X["b"].tolist() == ["x", "y", "z"]
    assert whole.part(1, 3).X["b"].tolist() == ["y", "z"]
