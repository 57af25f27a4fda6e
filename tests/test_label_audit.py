"""kinlearn audit and the sets of kinlearn predict, run as a person runs them."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import kinlearn
from kinlearn.tables.hand_over import bare_classifier
from test_table_commands import accepted, refused

pytestmark = pytest.mark.usefixtures("one_kernel_tables")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of two clear classes of which six records are wrong, and new rows."""
    folder, random = tmp_path_factory.mktemp("audit"), np.random.default_rng(0)
    y = np.arange(160) % 2
    frame = pd.DataFrame(
        {
            "size": (random.normal(size=160) + 2.5 * y).round(3),
            "<b>weight</b>": (random.normal(size=160) - 2.5 * y).round(3),
            "note": np.where(y > 0, "=1+1", "-"),
            "kind": np.where(y > 0, "old", "new"),
        }
    )
    frame.drop(columns="kind").to_csv(folder / "new.csv", index=False)
    wrong = [4, 31, 60, 93, 120, 151]
    frame.loc[wrong, "kind"] = np.where(y[wrong] > 0, "new", "old")
    frame.loc[7, "kind"] = None
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "wrong.json").write_text(json.dumps([row + 1 for row in wrong]))
    return folder


@pytest.fixture(scope="module")
def found(folder):
    return json.loads(
        accepted(
            "audit", folder / "table.csv", "--target", "kind", "--out", folder / "suspects.csv",
            "--page", folder / "suspects.html", "--drop", "note", "--json",
        )
    )  # fmt: skip


def test_wrong_records_come_first(folder, found):
    wrong = json.loads((folder / "wrong.json").read_text())
    assert found["rows"] == 159
    assert {record["row"] for record in found["suspects"][:6]} == set(wrong)
    suspicions = [record["suspicion"] for record in found["suspects"]]
    assert suspicions == sorted(suspicions, reverse=True)
    assert all(record["p_likely"] > record["p_recorded"] for record in found["suspects"])


def test_the_table_holds_the_records(folder, found):
    with open(folder / "suspects.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["row"]) for row in rows] == [record["row"] for record in found["suspects"]]
    table = pd.read_csv(folder / "table.csv")
    for row in rows:
        record = table.iloc[int(row["row"]) - 1]
        assert float(row["size"]) == record["size"]
        assert row["recorded"] == row["kind"] == record["kind"]
        assert not row["note"].startswith("=")


def test_the_page_shows_texts_and_runs_none(folder, found):
    page = (folder / "suspects.html").read_text()
    assert "&lt;b&gt;weight&lt;/b&gt;" in page
    assert "<b>weight" not in page
    assert f"Of 159 records of table.csv, {len(found['suspects'])}" in page


def test_a_person_is_told(folder):
    said = accepted("audit", folder / "table.csv", "--target", "kind", "--drop", "note")
    assert "of 159 records are contradicted" in said
    assert "hard cases are suspect, too." in " ".join(said.split())


def test_yes_no_labels(folder, tmp_path):
    random = np.random.default_rng(1)
    x = random.normal(size=(80, 2))
    frame = pd.DataFrame({"x": x[:, 0], "z": x[:, 1]})
    frame["up"] = np.where(x[:, 0] > 0, "yes", "no")
    frame["far"] = np.where(x[:, 1] > 0, "yes", "no")
    far = int(np.abs(x[:, 0]).argmax())
    frame.loc[far, "up"] = "no" if x[far, 0] > 0 else "yes"
    frame.to_csv(tmp_path / "table.csv", index=False)
    text = accepted("audit", tmp_path / "table.csv", "--labels", "up,far", "--json")
    assert (far + 1, "up") in [(s["row"], s["column"]) for s in json.loads(text)["suspects"][:3]]


def test_nothing_to_say_is_said(tmp_path):
    from kinlearn.report.audit_page import make_audit_page

    assert "No record is contradicted." in make_audit_page("table.csv", 40, [])


def test_refusals(folder):
    where = folder / "table.csv"
    said = refused("audit", where, "--target", "kind", "--out", folder / "records.xyz")
    assert "its format is unknown" in said
    assert "Give either --target" in refused("audit", where)
    taken = folder / "new.csv"
    assert "exists" in refused("audit", where, "--target", "kind", "--page", taken)


class TestSets:
    @pytest.fixture(scope="class")
    @staticmethod
    def model(folder):
        accepted(
            "train", folder / "table.csv", "--target", "kind", "--drop", "note",
            "--out", folder / "model.kin",
        )  # fmt: skip
        return folder / "model.kin"

    def test_rows_get_a_set(self, folder, model, tmp_path):
        accepted("predict", model, folder / "new.csv", "--out", tmp_path / "s.csv", "--sets", "0.9")
        rows = pd.read_csv(tmp_path / "s.csv", keep_default_na=False)
        classifier = bare_classifier(kinlearn.load(model))
        codes = classifier.held_out_codes_
        own = np.sort(1 - classifier.held_out_proba()[np.arange(len(codes)), codes])
        limit = own[int(np.ceil(0.9 * (len(own) + 1))) - 1]
        for _, row in rows.iterrows():
            inside = {name for name in ("old", "new") if 1 - row[f"p_{name}"] <= limit + 1e-6}
            assert set(row["set"].split(" | ")) - {""} == inside
        assert set(rows["set"]) <= {"", "old", "new", "old | new", "new | old"}

    def test_refusals(self, folder, model, tmp_path):
        given = ("predict", model, folder / "new.csv", "--out", tmp_path / "s.csv", "--sets")
        assert "--sets is a share between 0 and 1" in refused(*given, "2")
