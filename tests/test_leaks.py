"""Columns that tell the answer by themselves are named, and a run without them stands beside."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import kinlearn
from kinlearn.cli import app
from kinlearn.report.conclusions import interval
from kinlearn.report.measures import Measure, accuracy_of
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.leaks import find_leaks
from kinlearn.tables.words import percent

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
runner = CliRunner()


def passengers(n, seed=0):
    """As on a famous ship: who survived, and `alive`, which says the same."""
    rng = np.random.default_rng(seed)
    sex, fare = rng.choice(["male", "female"], n), rng.lognormal(3, 1, n).round(2)
    age = rng.uniform(1, 70, n).round()
    survived = rng.uniform(size=n) < np.where(sex == "female", 0.74, 0.2)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "fare": fare,
            "alive": np.where(survived, "yes", "no"),
            "boat": np.where(
                survived & (rng.uniform(size=n) < 0.99), rng.integers(1, 9, n), np.nan
            ),
            "survived": survived.astype(int),
        }
    )


@pytest.mark.parametrize("kind", [str, float])
def test_a_copy_of_the_target_is_found_whatever_its_type(kind):
    table = passengers(300)
    copy = table["survived"].map({0: 3, 1: 7}).astype(kind)
    frame = pd.DataFrame({"sex": table["sex"].astype(object), "copy": copy})
    found = find_leaks(frame, {"survived": table["survived"].to_numpy().astype(object)})
    assert [(leak.column, leak.accuracy, leak.by_gaps) for leak in found] == [("copy", 1.0, False)]


def test_what_is_missing_tells():
    table = passengers(300)
    found = find_leaks(table[["age", "boat"]], {"survived": table["survived"].to_numpy()})
    assert [(leak.column, leak.by_gaps) for leak in found] == [("boat", True)]
    assert "boat: whether its cell is missing tells survived" in found[0].sentence
    assert found[0].sentence.endswith("--drop boat")


def test_a_mark_that_is_set_or_not_is_learnt_from_and_may_tell(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    frame = pd.DataFrame({"x": rng.normal(size=200).round(2), "y": np.where(y, "ill", "well")})
    frame["told"] = np.where((y == 1) & (rng.uniform(size=200) < 0.98), "X", "")
    frame["once"] = np.where(np.arange(200) == 7, "X", "")
    frame["same"] = "X"
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = runner.invoke(app, ["check", str(tmp_path / "t.csv"), "--target", "y", "--json"])
    found = json.loads(result.stdout)
    said = {name: (kind, found["why"][name]) for name, kind in found["columns"].items()}
    assert said["told"] == ("categorical", "one value, or missing")
    assert said["once"] == ("dropped", "the same value in every row that has one")
    assert said["same"] == ("dropped", "the same value in every row")
    assert any(problem.startswith("told: ") for problem in found["problems"])


def test_a_number_with_a_threshold_is_found():
    rng = np.random.default_rng(0)
    score, other = rng.normal(size=400), rng.normal(size=400)
    frame = pd.DataFrame({"score": score, "other": other})
    found = find_leaks(frame, {"y": np.where(score > 0.3, "a", "b")})
    assert [leak.column for leak in found] == ["score"]


def test_long_and_huge_numbers_are_told_apart():
    y = np.tile(["no", "yes"], 60)
    large = np.where(y == "yes", 1e200, -1e200) * (1 + np.arange(120) / 200)
    long = 2e9 + np.where(y == "yes", 1.0, 0.0) * 60 + np.arange(120) % 50
    found = find_leaks(pd.DataFrame({"large": large, "long": long}), {"y": y})
    assert {leak.column for leak in found} == {"large", "long"}


def test_good_columns_and_ids_are_no_leaks():
    data = load_breast_cancer(as_frame=True)
    assert find_leaks(data.data, {"y": data.target.to_numpy()}) == []
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 200)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(200)], "n": rng.permutation(200) * 1.0})
    assert find_leaks(frame, {"y": y}) == []
    assert find_leaks(frame, {"y": np.repeat("a", 200)}) == []


def test_labels_are_asked_one_by_one():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 200)).astype(float)
    a[:20] = np.nan
    frame = pd.DataFrame({"x": rng.normal(size=200), "told": np.where(b == 1, "p", "n")})
    assert [leak.answer for leak in find_leaks(frame, {"a": a, "b": b})] == ["b"]


def test_no_errors_are_not_no_risk():
    rows = np.arange(891)
    sure = Evaluation(["no", "yes"], np.zeros(891, int), np.tile([1.0, 0.0], (891, 1)), rows, "x")
    found = accuracy_of(sure)
    assert interval(found) == "99.6 to 100 %"
    assert found.low == pytest.approx(0.025 ** (1 / 891))
    assert percent(890 / 891) == "99.9 %"
    grouped = Evaluation(sure.classes, sure.truth, sure.proba, rows, "x", group=rows // 9)
    assert accuracy_of(grouped).low < found.low
    assert interval(Measure(0.0, 0.0, 0.0004)) == "0 to 0.04 %"


def test_train_names_the_leak_and_shows_a_run_without(tmp_path):
    passengers(160).drop(columns="boat").to_csv(tmp_path / "t.csv", index=False)
    arguments = [
        "train", tmp_path / "t.csv", "--target", "survived", "--out", tmp_path / "m.kin",
        "--report", tmp_path / "r.html",
    ]  # fmt: skip
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "Too good to be true?" in said
    assert "alive: alone tells survived for 100 % of the rows" in said
    assert "--drop alive" in said
    assert said.index("--drop alive") < said.index("Summary")
    assert "A model without 'alive' was right for" in said
    assert "taken at their word" not in said
    assert "100 to 100 %" not in said
    leaks = kinlearn.model_info(tmp_path / "m.kin")["facts"]["leaks"]
    assert leaks["with"]["accuracy"][0] > 0.98 > 0.9 > leaks["without"]["accuracy"][0]
    assert "<section id=leaks>" in (tmp_path / "r.html").read_text()
