"""explain, export and compare: what a model says of a row, elsewhere, and beside another model."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

import kinlearn
from kinlearn.cli import app
from kinlearn.report.comparison import compare, mcnemar_p
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.explain import explain_row
from kinlearn.tables.input_profile import profile_inputs

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def told(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table where one column decides, a model of it, and one without that column."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    for name, n in (("t", 140), ("new", 120)):
        table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
        table["kind"] = rng.choice(["a", "b"], n)
        table["y"] = np.where(table["x"] + 0.4 * rng.normal(size=n) > 0, "up", "down")
        table.round(3).to_csv(folder / f"{name}.csv", index=False)
    for name, drop in (("good", []), ("poor", ["--drop", "x"])):
        done = run("train", folder / "t.csv", "--target", "y", "--out", folder / f"{name}.kin",
                   "--max-error", "0.2", *drop)  # fmt: skip
        assert done.exit_code == 0, done.output
    return folder


def test_explain_finds_the_column_that_decides(folder):
    frame = pd.read_csv(folder / "new.csv")
    row = int(frame["x"].idxmax()) + 1
    said = told("explain", folder / "good.kin", folder / "new.csv", "--row", row)
    (found,) = said["answers"]
    assert found["answer"] == "up"
    first = found["columns"][0]
    assert first["column"] == "x"
    assert first["part"] > 0.2
    assert float(first["value"]) == frame["x"].max()
    model = kinlearn.load(folder / "good.kin")
    p = model.predict_proba(frame.iloc[[row - 1]])[0, 1]
    assert found["probability"] == pytest.approx(p)
    text = run("explain", folder / "good.kin", folder / "new.csv", "--row", row).stdout
    assert f"Row {row} of new.csv: y up, probability" in " ".join(text.split())


def test_explain_finds_the_training_table_by_itself(folder, tmp_path):
    assert told("explain", folder / "good.kin", "--row", 17)["table"].endswith("t.csv")
    shutil.copy(folder / "good.kin", tmp_path / "alone.kin")
    assert "is neither beside" in refused("explain", tmp_path / "alone.kin", "--row", 17)
    said = refused("explain", folder / "good.kin", folder / "new.csv", "--row", 900)
    assert "has 120 rows, so there is no row 900" in said


def test_parts_are_by_the_formula():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=300), "k": rng.choice(["a", "b"], 300, p=[0.7, 0.3])}
    )

    class Linear:
        def predict_proba(self, rows):
            p = 0.5 + 0.1 * rows["x"].to_numpy(float) + 0.2 * (rows["k"] == "b").to_numpy()
            return np.column_stack([1 - p, p])

    profile = profile_inputs(frame)
    row = pd.DataFrame({"x": [1.0], "k": ["b"]})
    proba, parts = explain_row(Linear(), row, profile, 1)
    assert proba[1] == pytest.approx(0.8)
    by_name = {part.column: part.part for part in parts}
    share = (frame["k"] == "b").mean()
    assert by_name["k"] == pytest.approx(0.2 * (1 - share))
    assert by_name["x"] == pytest.approx(0.1 * (1 - frame["x"].mean()), abs=0.02)


def test_export_gives_the_models_answers(folder, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    out = tmp_path / "m.onnx"
    said = told("export", folder / "good.kin", out, "--data", folder / "new.csv")
    assert said["inputs"] == ["x", "z", "kind"]
    assert said["compared_rows"] == 120
    frame = pd.read_csv(folder / "new.csv")
    session = onnxruntime.InferenceSession(out.read_bytes())
    feed = {name: frame[[name]].to_numpy(object if name == "kind" else float)
            for name in said["inputs"]}  # fmt: skip
    label, proba, *_ = session.run(None, feed)
    model = kinlearn.load(folder / "good.kin")
    np.testing.assert_allclose(proba, model.predict_proba(frame), atol=1e-6)
    assert label.tolist() == model.predict(frame).tolist()
    assert "exists" in refused("export", folder / "good.kin", out)
    assert "does not end in .onnx" in refused("export", folder / "good.kin", tmp_path / "m.txt")


def test_compare_says_which_is_better_by_more_than_chance(folder):
    said = told("compare", folder / "good.kin", folder / "poor.kin", folder / "new.csv")
    assert said["p_accuracy"] < 0.01
    assert said["first"]["log_loss"] < said["second"]["log_loss"]
    assert "good.kin is right more often" in said["conclusions"][0]
    assert "The probabilities of good.kin are better" in said["conclusions"][1]
    same = told("compare", folder / "good.kin", folder / "good.kin", folder / "new.csv")
    assert "no more than chance explains" in same["conclusions"][0]
    text = run("compare", folder / "good.kin", folder / "poor.kin", folder / "t.csv").stdout
    assert "good.kin was trained on this table: its held-out answers count" in " ".join(
        text.split()
    )


def test_compare_needs_the_same_target(folder, tmp_path):
    frame = pd.read_csv(folder / "t.csv")
    frame.rename(columns={"y": "other"}).to_csv(tmp_path / "o.csv", index=False)
    done = run("train", tmp_path / "o.csv", "--target", "other", "--out", tmp_path / "o.kin")
    assert done.exit_code == 0
    said = refused("compare", folder / "good.kin", tmp_path / "o.kin", folder / "new.csv")
    assert "models of the same target are compared" in said
    frame.drop(columns="y").to_csv(tmp_path / "without.csv", index=False)
    arguments = [folder / "good.kin", folder / "poor.kin", tmp_path / "without.csv"]
    assert "has no column 'y'" in refused("compare", *arguments)


def test_rows_are_matched_by_their_numbers(rng):
    p = rng.uniform(size=60)
    truth = (rng.uniform(size=60) < p).astype(int)
    whole = Evaluation(["a", "b"], truth, np.column_stack([1 - p, p]), np.arange(1, 61), "x")
    part = whole.part(np.arange(59, 9, -1))
    found = compare(whole, part, (np.ones(60, bool), np.ones(50, bool)))
    assert found.n_rows == 50
    assert (found.agree, found.only_first, found.only_second, found.loss.value) == (1.0, 0, 0, 0.0)
    assert mcnemar_p(3, 11) == pytest.approx(binomtest(3, 14).pvalue)
    assert mcnemar_p(0, 0) == 1.0
