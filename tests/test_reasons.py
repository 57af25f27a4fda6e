"""Every hand-over has a reason: two answers it is unsure between, or a column that is strange."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kinlearn import LSPC
from kinlearn.cells.schema import TableSchema
from kinlearn.cli import app
from kinlearn.tables.hand_over import answer, with_hand_over
from kinlearn.tables.input_profile import profile_inputs
from kinlearn.tables.pipeline import make_model
from kinlearn.tables.reasons import FAR, strangest_cells

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
runner = CliRunner()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    kind = rng.choice(["red", "green", "blue"], p=[0.6, 0.395, 0.005], size=400)
    return pd.DataFrame({"size": rng.normal(10, 2, 400), "price": rng.lognormal(2, 0.5, 400),
                         "kind": kind.astype(object)})  # fmt: skip


def test_strange_cells(frame):
    profile = json.loads(json.dumps(profile_inputs(frame)))
    rows = frame.iloc[[0] * 6].reset_index(drop=True).assign(kind="red", size=10.0)
    rows.loc[1, "size"] = 100.0
    rows.loc[2, "price"] = -400.0
    rows.loc[3, "kind"] = "purple"
    rows.loc[4, "price"] = np.nan
    rows.loc[5, "kind"] = np.nan
    score, column = strangest_cells(rows, profile)
    assert column.tolist()[1:] == ["size", "price", "kind", "price", "kind"]
    assert score[0] < 1
    assert (score[1:3] > FAR).all()
    assert 0.9 < score[5] < FAR


def test_rows_of_the_same_population_are_hardly_ever_far(frame):
    rng = np.random.default_rng(1)
    new = pd.DataFrame({"size": rng.normal(10, 2, 20_000), "price": rng.lognormal(2, 0.5, 20_000)})
    assert (strangest_cells(new, profile_inputs(frame))[0] > FAR).mean() < 0.002


def test_reasons_of_a_model(frame):
    noise = np.random.default_rng(2).normal(size=len(frame))
    y = np.where(frame["size"] + noise > 10, "dear", "cheap").astype(object)
    schema = TableSchema(["size", "price"], ["kind"], target="y")
    model = make_model(schema, with_hand_over(LSPC(), schema, 0.2)).fit(frame, y)
    rows = frame.iloc[:60].copy()
    rows.iloc[0, 0] = 1000.0
    found = answer(model, schema_frame(rows), {}, profile_inputs(frame))
    assert not found.answered[0]
    assert found.reason[0] == "unlike any training row, because of size"
    assert set(found.reason[found.answered]) <= {""}
    others = set(found.reason[1:][~found.answered[1:]])
    assert others
    assert all(r.startswith(("unsure between", "unlike any training row")) for r in others)
    plain = answer(model, schema_frame(rows), {})
    assert plain.answered.sum() >= found.answered.sum()


def schema_frame(rows):
    return rows.astype({"size": float, "price": float})


def test_predict_counts_reasons(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=150)
    y = np.where(x + 0.3 * rng.normal(size=150) > 0, "up", "down")
    pd.DataFrame({"x": x, "z": rng.normal(size=150), "y": y}).to_csv(
        tmp_path / "t.csv", index=False
    )
    new = pd.DataFrame({"x": [2.0, 0.0, 900.0], "z": 0.0})
    new.to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "m.kin"
    for arguments in (
        ["train", tmp_path / "t.csv", "--target", "y", "--out", model, "--max-error", "0.1"],
        ["predict", model, tmp_path / "new.csv", "--out", tmp_path / "s.csv", "--json"],
    ):
        result = runner.invoke(app, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
    scored = pd.read_csv(tmp_path / "s.csv")
    assert scored["decision"].tolist() == ["answer", "hand over", "hand over"]
    assert scored["reason"][1] == "unsure between down and up"
    assert scored["reason"].tolist()[2] == "unlike any training row, because of x"
    said = json.loads(result.stdout)
    assert sum(said["reasons"].values()) == said["handed_over"]


def test_where_nothing_is_proven_that_is_the_reason(frame):
    rng = np.random.default_rng(3)
    y = rng.choice(["heads", "tails"], size=60).astype(object)
    schema = TableSchema(["size", "price"], ["kind"], target="y")
    model = make_model(schema, with_hand_over(LSPC(), schema, 0.05))
    with pytest.warns(UserWarning, match="every case is handed over"):
        model.fit(frame[:60], y)
    found = answer(model, frame[:60], {}, profile_inputs(frame))
    reasons = set(found.reason)
    assert "too few rows in training to bound the error of any answer" in reasons
    assert all(reason.startswith(("too few", "unlike")) for reason in reasons)
