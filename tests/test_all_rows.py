"""Training on drawn rows, then over all rows of a table, batch by batch."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kinlearn
from kinlearn import LSPCCV, MultiLabelLSPCCV, train_table
from kinlearn.cli import app
from kinlearn.estimators import _more_rows
from kinlearn.estimators._more_rows import Watch, over_all_rows

pytestmark = pytest.mark.filterwarnings("ignore:The best .* of the grid")
FEW = {"sigmas": [1.0, 2.0], "regs": [1e-5, 1e-3], "n_centers": 40, "polish": 10}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    middle = rng.normal(size=(8, 3)) * 2.0
    y = rng.integers(8, size=6000)
    return middle[y] + 1.0 * rng.normal(size=(6000, 3)), y


def loss(p, y):
    return -np.log(p[np.arange(len(y)), y]).mean()


def test_all_rows_are_gone_over_and_held_out_rows_stay_out(rows):
    X, y = rows
    drawn, everything = slice(0, 600), slice(0, 4000)
    first = LSPCCV(kernel="rbf", metric=None, random_state=0, **FEW).fit(X[drawn], y[drawn])
    Z = np.eye(8)[y]
    said = []

    def batches():
        for start in range(0, 4000, 700):
            part = slice(start, min(start + 700, 4000))
            yield X[part], Z[part]

    before = first.predict_proba(X[:5])
    model = over_all_rows(first, X[drawn], Z[drawn], batches, 4000, said.append)
    assert "All 4000 rows" in model.polish_reason_
    assert loss(model.predict_proba(X[4000:]), y[4000:]) < loss(
        first.predict_proba(X[4000:]), y[4000:]
    )
    held = ~np.isnan(model.held_out_scores_).any(axis=1)
    np.testing.assert_array_equal(held, ~np.isnan(first.held_out_scores_).any(axis=1))
    assert loss(model.held_out_proba()[held], y[drawn][held]) == pytest.approx(
        model.held_out_log_loss_, rel=1e-6
    )
    np.testing.assert_array_equal(first.predict_proba(X[:5]), before)
    assert said[0] == "Sums over all rows, 4000 rows"
    assert said[1].startswith("Pass 1 of at most")
    # the labels of held-out rows play no part, whatever they are
    at = np.flatnonzero(held)[:3]
    other = Z.copy()
    other[at] = np.roll(other[at], 1, axis=1)
    moved = over_all_rows(
        first,
        X[drawn],
        other[drawn],
        lambda: [(X[everything], other[everything])],
        4000,
        said.append,
    )
    assert moved.held_out_log_loss_ > model.held_out_log_loss_


def test_labels_go_over_all_rows(rows):
    X, y = rows
    Y = np.column_stack([y & 1, y & 2, y & 4]).astype(bool).astype(float)
    first = MultiLabelLSPCCV(kernel="rbf", random_state=0, **FEW).fit(X[:600], Y[:600])
    model = over_all_rows(first, X[:600], Y[:600], lambda: [(X[:4000], Y[:4000])], 4000, print)

    def label_loss(p):
        return -np.where(Y[4000:] == 1, np.log(p), np.log1p(-p)).mean()

    ours, theirs = (label_loss(each.predict_proba(X[4000:])) for each in (model, first))
    assert ours < theirs


def table_of(X, y):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).round(6)
    table["kind"] = np.array(["oak", "elm", "fir", "ash", "asp", "bay", "box", "fig"])[y]
    table.loc[::50, "kind"] = None
    return table


@pytest.fixture
def few_rows_are_many(monkeypatch):
    """As if few rows were polished, and quickly tuned."""
    monkeypatch.setattr("kinlearn.estimators._polish.AUTO_ROWS", 300)
    monkeypatch.setattr("kinlearn.training.centers.AUTO_FULL_ROWS", 200)
    monkeypatch.setattr("kinlearn.training.centers.AUTO_CENTERS", 40)
    monkeypatch.setattr("kinlearn.estimators._at_scale.FEWEST_CENTERS", 40)
    monkeypatch.setattr("kinlearn.estimators._at_scale.ROOT_FACTOR", 1.0)
    monkeypatch.setattr("kinlearn.estimators._at_scale.SAMPLE_ROWS", 400)
    monkeypatch.setattr("kinlearn.estimators._at_scale.SAMPLE_CENTERS", 40)


@pytest.mark.usefixtures("few_rows_are_many")
def test_the_command_goes_over_all_rows(rows, tmp_path, monkeypatch):
    X, y = rows
    table = table_of(X, y)
    table[:4000].to_csv(tmp_path / "trees.csv", index=False)
    monkeypatch.setattr(_more_rows, "SECONDS", 0.0)
    monkeypatch.setattr("kinlearn.tables.table_file.BATCH_ROWS", 900)
    out = tmp_path / "model.kin"
    common = ["train", str(tmp_path / "trees.csv"), "--target", "kind", "--max-rows", "1000"]
    common += ["--max-error", "0.3"]
    found = CliRunner().invoke(app, [*common, "--all-rows", "--out", str(out), "--json"])
    assert found.exit_code == 0, found.output
    for words in ("Sums over all rows: ", "rows a second", "left of this pass", "at most"):
        assert words in found.stderr, json.loads(found.stdout)["all_rows"]
    facts = json.loads(found.stdout)
    assert facts["rows"] == 1000
    model = kinlearn.load(out)
    plain = train_table(table[:4000], "kind", max_rows=1000, max_error=0.3)
    test = table[4000:].dropna()
    names = {name: k for k, name in enumerate(model.classes_)}
    truth = test["kind"].map(names).to_numpy()
    ours, theirs = (loss(each.predict_proba(test), truth) for each in (model, plain))
    assert ours < theirs
    again = train_table(table[:4000], "kind", max_rows=1000, all_rows=True, max_error=0.3)
    np.testing.assert_allclose(again.predict_proba(test), model.predict_proba(test), atol=1e-8)


@pytest.mark.usefixtures("few_rows_are_many")
def test_classes_that_no_drawn_row_has_are_counted(rows, tmp_path):
    X, y = rows
    table = table_of(X, y)[:3000]
    table.loc[[7], "kind"] = "yew"
    table.to_csv(tmp_path / "trees.csv", index=False)
    out = str(tmp_path / "model.kin")
    common = ["train", str(tmp_path / "trees.csv"), "--target", "kind", "--out", out, "--all-rows"]
    found = CliRunner().invoke(app, [*common, "--max-rows", "1000"])
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "Rows of classes that no drawn row has are left out: 1 of them" in said
    assert "rows were gone over; 1000 of them chose the rest" in said


def test_where_all_rows_change_nothing(rows, tmp_path):
    X, y = rows
    table = table_of(X, y)[:120]
    table.to_csv(tmp_path / "trees.csv", index=False)
    common = ["train", str(tmp_path / "trees.csv"), "--target", "kind", "--all-rows", "--force"]
    common += ["--out", str(tmp_path / "model.kin")]
    whole = CliRunner().invoke(app, common)
    assert "all rows were trained on at once" in " ".join(whole.output.split())
    few = CliRunner().invoke(app, [*common, "--max-rows", "60"])
    assert "All rows are gone over by a polish only" in " ".join(few.output.split())
    for apart in ("--task", "--group"):
        refused = CliRunner().invoke(app, [*common, apart, "a"])
        assert refused.exit_code != 0
        assert f"--all-rows and {apart} cannot be used together" in " ".join(refused.output.split())


def test_what_is_said_of_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_more_rows.time, "perf_counter", lambda: now[0])
    said = []
    watch = Watch(1000, said.append)
    watch.begin("Pass 1 of at most 3", more=3)
    now[0] = 10.0
    watch.seen(250)
    assert said[-1] == (
        "Pass 1 of at most 3: 25%, 25 rows a second, 30 s left of this pass, 2 min at most"
    )
    watch.begin("Pass 2 of at most 3", more=3)
    now[0] = 20.0
    watch.seen(500)
    assert said[-1].endswith("10 s left of this pass, 30 s at most")
