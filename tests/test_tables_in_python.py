"""read_table and train_table have the command line's answers; check says what is wrong."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kinlearn
from kinlearn.cells.refusals import TableError
from kinlearn.cli import app

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
N = 120


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def write(path, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(900, 90_000, N)
    z = rng.integers(0, 9, N).astype(str)
    z[rng.random(N) < 0.1] = "?"
    frame = pd.DataFrame(
        {
            "CustomerId": 15_500_000 + rng.choice(300_000, N, replace=False),
            "x": [f"{value:,.1f}" for value in x],
            "z": z,
            "w": rng.normal(size=N).round(3),
            "zip": rng.choice(["01234", "90210"], N),
            "kind": rng.choice(["a", "b", "None"], N),
            "day": pd.date_range("2023-01-01", periods=N).strftime("%d-%b-%Y"),
            "y": np.where(x + 20_000 * rng.normal(size=N) > 45_000, "high", "low"),
        }
    )
    frame.to_csv(path, index=False, sep=";")
    return path


def test_python_has_the_answers_of_the_command_line(tmp_path):
    table, new = write(tmp_path / "t.csv", 0), write(tmp_path / "new.csv", 1)
    run("train", table, "--target", "y", "--max-error", "0.4", "--out", tmp_path / "m.kin")
    theirs, rows = kinlearn.load(tmp_path / "m.kin"), kinlearn.read_table(new)
    read = kinlearn.read_table(table)
    assert read["w"].dtype == float
    assert read["zip"].tolist()[0] in ("01234", "90210")
    ours = kinlearn.train_table(read, target="y", max_error=0.4)
    np.testing.assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))
    run("predict", tmp_path / "m.kin", new, "--out", tmp_path / "s.parquet")
    scored = pd.read_parquet(tmp_path / "s.parquet")
    proba = np.round(ours.predict_proba(rows), 6)
    np.testing.assert_array_equal(scored[["p_high", "p_low"]], proba)
    # saved from Python, loaded and saved again, it serves the commands as theirs does
    kinlearn.save(ours, tmp_path / "first.kin")
    kinlearn.save(kinlearn.load(tmp_path / "first.kin"), tmp_path / "o.kin", facts={"of": "us"})
    facts = kinlearn.model_info(tmp_path / "o.kin")["facts"]
    their_facts = kinlearn.model_info(tmp_path / "m.kin")["facts"]
    assert facts["of"] == "us"
    assert facts["inputs"] == their_facts["inputs"]
    assert facts["table"] == their_facts["table"]
    said = run("predict", tmp_path / "m.kin", new, "--out", tmp_path / "theirs.csv")
    assert "rows answered" in said
    again = run("predict", tmp_path / "o.kin", new, "--out", tmp_path / "ours.csv")
    assert again.replace("ours.csv", "theirs.csv") == said
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()
    run("report", tmp_path / "o.kin", new, "--out", tmp_path / "r.html")
    assert ours.fit(read.drop(columns="y"), read["y"])[0].training_facts_ is None


def test_what_is_no_table():
    with pytest.raises(TableError, match="takes a DataFrame or the name of a file"):
        kinlearn.train_table(3, "y")


def test_check_says_what_is_wrong_and_writes_nothing(tmp_path):
    table = write(tmp_path / "t.csv", 0)
    before = sorted(tmp_path.iterdir())
    said = " ".join(run("check", table, "--target", "y").split())
    assert "CustomerId dropped" in said
    assert "Training takes about" in said
    found = json.loads(run("check", table, "--target", "y", "--json"))
    assert found["columns"]["x"] == "numeric"
    assert found["columns"]["day"] == "date"
    assert set(found["answers"]) == {"high", "low"}
    assert sorted(tmp_path.iterdir()) == before
