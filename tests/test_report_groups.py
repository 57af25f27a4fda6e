"""Which way columns push, whether all are served alike, and what to do next."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from kinlearn import LSPC
from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import TableError
from kinlearn.cells.schema import TableSchema
from kinlearn.cli import app
from kinlearn.report.effects import effect_picture, effects_of
from kinlearn.report.groups import group_names, groups_by
from kinlearn.report.importance import Importance
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.pipeline import make_model
from kinlearn.tables.sample import Sample

runner = CliRunner()


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(0)
    n = 220
    frame = pd.DataFrame({"age": rng.uniform(20, 70, n), "kind": rng.choice(["new", "old"], n)})
    frame["kind"] = frame["kind"].astype(object)
    push = (frame["age"] - 45) / 10 + np.where(frame["kind"] == "new", 1.0, -1.0)
    return frame, np.where(push + 0.5 * rng.normal(size=n) > 0, "buys", "goes").astype(object)


def test_effects_show_the_way_of_a_column(shop):
    frame, y = shop
    model = make_model(TableSchema(["age"], ["kind"], "y"), LSPC()).fit(frame, y)
    importance = [Importance("age", 0.3, 0.2, 0.4), Importance("kind", 0.2, 0.1, 0.3)]
    age, kind = effects_of(model, frame, importance, [(0, "buys")], 0)
    assert np.corrcoef(age.values, age.means[0])[0, 1] > 0.9
    assert sum(age.shares) == pytest.approx(1.0, abs=0.1)
    at = dict(zip(kind.values, kind.means[0], strict=True))
    assert at["new"] > at["old"] + 0.2
    assert kind.sentence.startswith("kind: 'buys' is least expected at 'old'")
    for effect in (age, kind):
        svg = effect_picture(effect)
        assert "nan" not in svg
        places = re.findall(r'c?[xy]="(-?[\d.]+)"', svg)
        assert all(-1 <= float(place) <= 561 for place in places)
    # By hand: the column set to one value in all of the same rows.
    rng = np.random.default_rng(0)
    rows = frame.iloc[np.sort(rng.choice(len(frame), 150, replace=False))]
    naive = model.predict_proba(rows.assign(age=age.values[2]))[:, 0].mean()
    assert age.means[0][2] == pytest.approx(naive)


def test_effects_of_nothing(shop):
    frame, y = shop
    model = make_model(TableSchema(["age"], ["kind"], "y"), LSPC()).fit(frame, y)
    unsure = [Importance("age", 0.0, -0.1, 0.1)]
    assert effects_of(model, frame, unsure, [(0, "buys")], 0) == []


def test_groups_are_counted_as_by_hand():
    rng = np.random.default_rng(0)
    n = 300
    sex = rng.choice(["f", "m"], n)
    truth = rng.integers(0, 2, n)
    wrong = rng.uniform(size=n) < np.where(sex == "f", 0.05, 0.4)
    p = np.where(truth ^ wrong, 0.8, 0.2)
    held = Evaluation(["no", "yes"], truth, np.column_stack([1 - p, p]), np.arange(1, n + 1), "x")
    held = held.part(np.arange(n) % 5 != 0)  # some rows were never held out
    answered = rng.uniform(size=held.n_rows) < 0.5
    sample = Sample(pa.table({"sex": sex, "size": rng.normal(size=n)}), np.arange(1, n + 1), n)
    groups = groups_by(["sex", "size"], sample, CellRules(), held, answered, "t.csv")
    assert [g.name for g in groups[:2]] == ["f", "m"]
    assert len(groups) == 6
    kept = np.arange(n) % 5 != 0
    for group in groups[:2]:
        some = (sex == group.name) & kept
        assert group.n_rows == some.sum()
        assert group.wrong.value == pytest.approx(wrong[some].mean())
        assert group.handed == pytest.approx(1 - answered[sex[kept] == group.name].mean())
        assert group.too_sure == pytest.approx(0.8 - (1 - wrong[some].mean()))
    assert [g.name for g in groups if g.fares_worse] == ["m"]
    with pytest.raises(TableError, match="Did you mean 'sex'"):
        groups_by(["sx"], sample, CellRules(), held, answered, "t.csv")


def test_many_groups_are_put_together():
    names = group_names(pa.array([f"town {i % 30}" for i in range(300)]), CellRules())
    assert len(set(names)) == 10
    assert "(others)" in names
    few = group_names(pa.array(["1", "2", "3", ""] * 10), CellRules())
    assert set(few) == {"1", "2", "3", "(missing)"}


def test_a_report_by_groups(tmp_path):
    rng = np.random.default_rng(0)
    n = 160
    table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    table["town"] = rng.choice(["here", "there"], n)
    noise = np.where(table["town"] == "there", 3.0, 0.2)
    table["y"] = np.where(table["x"] + noise * rng.normal(size=n) > 0, "up", "down")
    table.to_csv(tmp_path / "t.csv", index=False)
    common = ["--report", tmp_path / "r.html", "--by", "town", "--drop", "town", "--json"]
    result = runner.invoke(app, [str(a) for a in [
        "train", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.kin", *common,
    ]])  # fmt: skip
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert any("Rows with town 'there' fare worse" in s for s in said["conclusions"])
    assert [g["name"] for g in said["groups"]] == ["here", "there"]
    page = (tmp_path / "r.html").read_text()
    for section in ("effects", "groups", "next", "baselines"):
        assert f"<section id={section}>" in page
    assert "label rows like" in page
    again = ["report", tmp_path / "m.kin", tmp_path / "t.csv", "--out", tmp_path / "a.html"]
    assert runner.invoke(app, list(map(str, again))).exit_code == 0
    assert (tmp_path / "a.html").read_text() == page
    refused = runner.invoke(app, [*map(str, again), "--force", "--by", "twn"])
    assert refused.exit_code == 1
    assert "Did you mean 'town'" in refused.stderr
