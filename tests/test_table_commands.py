"""train, predict, report, info and example, run as a person runs them."""

import csv
import json
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from typer.testing import CliRunner

import kinlearn
from kinlearn.cli import app
from kinlearn.tables.example import write_example
from one_kernel import tables_with_one_kernel

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def accepted(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def quickly(*arguments):
    """The same; what is trained has one kernel in the plain metric."""
    with tables_with_one_kernel():
        return accepted(*arguments)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("kinlearn: ")
    return last


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a model of its classes with its report, and new rows."""
    folder = tmp_path_factory.mktemp("clinic")
    write_example(folder / "clinic.csv", 240, 0)
    write_example(folder / "new.csv", 80, 1)
    said = accepted(
        "train", folder / "clinic.csv", "--target", "readmitted", "--max-error", "0.2",
        "--out", folder / "model.kin", "--report", folder / "report.html",
    )  # fmt: skip
    (folder / "said.txt").write_text(said)
    return folder


@pytest.fixture(scope="module")
def task_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    write_example(folder / "clinic.csv", 120, 0)
    quickly(
        "train", folder / "clinic.csv", "--target", "readmitted", "--task", "site",
        "--group", "patient", "--out", folder / "model.kin", "--report", folder / "report.html",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def label_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    write_example(folder / "clinic.csv", 150, 0)
    quickly(
        "train", folder / "clinic.csv", "--labels", "diabetes,hypertension,anaemia",
        "--drop", "readmitted", "--max-error", "0.3", "--out", folder / "model.kin",
        "--report", folder / "report.html",
    )  # fmt: skip
    return folder


@pytest.mark.parametrize("command", ["train", "predict", "report", "info", "example"])
def test_every_command_has_help_with_an_example(command):
    assert f"Example: kinlearn {command} " in " ".join(accepted(command, "--help").split())


def test_train_shows_columns_then_a_summary(folder):
    said = " ".join((folder / "said.txt").read_text().split())
    assert "visit dropped a text of its own in every row" in said
    assert "age numeric" in said
    assert "smoking categorical 3 categories" in said
    assert said.index("taken for") < said.index("Summary")
    assert "On rows it had not seen the model was right for" in said
    assert "Stated probabilities are" in said
    assert "To keep the error among answered rows at or below 20 %" in said
    assert str((folder / "model.kin").resolve()) in said.replace(" ", "")
    assert str((folder / "report.html").resolve()) in said.replace(" ", "")


def test_what_the_model_looks_at_is_told_and_drawn(folder):
    model = kinlearn.load(folder / "model.kin")
    origins = model.named_steps["columns"].origins()
    relevance = pd.Series(model[-1].estimator_.feature_relevance_).groupby(origins).sum()
    first = relevance.idxmax()
    times = relevance[first] / relevance.mean()
    said = " ".join((folder / "said.txt").read_text().split())
    assert f"The model looks most at '{first}', {times:.1f} times the mean column" in said
    page = (folder / "report.html").read_text()
    assert "<h2>What the model looks at</h2>" in page
    assert f"<title>{first}: {times:.4f}</title>" in page


def test_the_stored_pipeline_is_a_plain_estimator(folder):
    model = kinlearn.load(folder / "model.kin")
    frame = pd.read_csv(folder / "new.csv")
    proba = model.predict_proba(frame)
    assert log_loss(frame["readmitted"], proba) < 0.6
    accepted(
        "predict", folder / "model.kin", folder / "new.csv", "--out", folder / "same.csv", "--force"
    )
    scored = pd.read_csv(folder / "same.csv")
    np.testing.assert_allclose(scored[["p_no", "p_yes"]], proba, atol=1e-6)
    assert (scored["predicted"] == model.predict(frame)).all()
    answered = model[-1].decide(model[:-1].transform(frame))
    assert ((scored["decision"] == "answer") == answered).all()
    assert set(scored["decision"]) == {"answer", "hand over"}
    handed = scored["decision"] == "hand over"
    assert scored.loc[~handed, "reason"].isna().all()
    assert scored.loc[handed, "reason"].str.match("unsure between |unlike any training row").all()


def test_predict_keeps_what_came_and_needs_no_target(folder, tmp_path):
    with (folder / "new.csv").open() as stream:
        rows = list(csv.reader(stream))
    without = [row[:-1] for row in rows]
    path = tmp_path / "in.tsv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t", lineterminator="\n").writerows(without)
    accepted("predict", folder / "model.kin", path, "--out", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as stream:
        written = list(csv.reader(stream))
    assert written[0] == [*without[0], "predicted", "p_no", "p_yes", "decision", "reason"]
    assert [row[: len(without[0])] for row in written] == without


def test_parquet_in_and_out(folder, tmp_path):
    frame = pd.read_csv(folder / "new.csv")
    frame.to_parquet(tmp_path / "new.parquet")
    accepted(
        "predict", folder / "model.kin", tmp_path / "new.parquet", "--out", tmp_path / "s.parquet"
    )
    accepted("predict", folder / "model.kin", folder / "new.csv", "--out", tmp_path / "s.csv")
    one, two = pd.read_parquet(tmp_path / "s.parquet"), pd.read_csv(tmp_path / "s.csv")
    np.testing.assert_allclose(one["p_yes"], two["p_yes"], atol=1e-6)
    assert one["age"].dtype == frame["age"].dtype


def test_batches_do_not_change_the_answers(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("kinlearn.tables.table_file.BATCH_ROWS", 7)
    accepted("predict", folder / "model.kin", folder / "new.csv", "--out", tmp_path / "a.csv")
    monkeypatch.undo()
    accepted("predict", folder / "model.kin", folder / "new.csv", "--out", tmp_path / "b.csv")
    a, b = pd.read_csv(tmp_path / "a.csv"), pd.read_csv(tmp_path / "b.csv")
    np.testing.assert_allclose(a["p_yes"], b["p_yes"], atol=2e-6)
    assert len(a) == 80


def changed(folder, tmp_path, change, name="changed.csv"):
    frame = pd.read_csv(folder / "new.csv", dtype=str, keep_default_na=False)
    path = tmp_path / name
    change(frame).to_csv(path, index=False)
    return path


def test_a_new_category_is_answered_and_said(folder, tmp_path):
    path = changed(folder, tmp_path, lambda f: f.assign(referral="balloon"))
    said = " ".join(
        accepted("predict", folder / "model.kin", path, "--out", tmp_path / "s.csv").split()
    )
    assert "80 rows have a value of 'referral' that training did not have" in said
    assert "'balloon'" in said
    assert "answered without help from 'referral'" in said
    assert pd.read_csv(tmp_path / "s.csv")["p_yes"].between(0, 1).all()


def test_a_missing_column_at_predict_is_named(folder, tmp_path):
    path = changed(folder, tmp_path, lambda f: f.rename(columns={"glucose": "glukose"}))
    sentence = refused("predict", folder / "model.kin", path, "--out", tmp_path / "s.csv")
    assert "trained with column 'glucose'" in sentence
    assert "Did you mean 'glukose'?" in sentence
    assert not (tmp_path / "s.csv").exists()


def test_texts_in_place_of_numbers_are_refused(folder, tmp_path):
    path = changed(folder, tmp_path, lambda f: f.assign(age="old"))
    sentence = refused("predict", folder / "model.kin", path, "--out", tmp_path / "s.csv")
    assert "'old'" in sentence
    assert list(tmp_path.iterdir()) == [path]


def test_columns_that_are_there_already(folder, tmp_path):
    path = changed(folder, tmp_path, lambda f: f.assign(decision="mine"))
    arguments = ["predict", folder / "model.kin", path, "--out", tmp_path / "s.csv"]
    assert "already has the column 'decision'" in refused(*arguments)
    accepted(*arguments, "--prefix", "kin_")
    assert {"decision", "kin_decision"} <= set(pd.read_csv(tmp_path / "s.csv").columns)


def test_predict_of_no_rows(folder, tmp_path):
    path = changed(folder, tmp_path, lambda f: f.iloc[:0])
    assert "is empty" in refused("predict", folder / "model.kin", path, "--out", tmp_path / "s.csv")
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_overwritten_without_force(folder, tmp_path):
    kept = tmp_path / "kept.csv"
    kept.write_text("precious")
    clinic, model = folder / "clinic.csv", folder / "model.kin"
    model_before = model.read_bytes()
    for arguments in (
        ["train", clinic, "--target", "readmitted", "--out", model],
        ["train", clinic, "--target", "readmitted", "--out", tmp_path / "m", "--report", kept],
        ["predict", model, clinic, "--out", kept],
        ["report", model, clinic, "--out", kept],
        ["example", kept],
    ):
        assert "exists: give another name, or --force to replace it" in refused(*arguments)
    assert "would overwrite" in refused("predict", model, clinic, "--out", clinic, "--force")
    assert kept.read_text() == "precious"
    assert model.read_bytes() == model_before
    accepted("example", kept, "--rows", "5", "--force")
    assert kept.read_text().startswith("visit,")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "readmited"], "no column 'readmited'. Did you mean 'readmitted'?"),
        (["--target", "readmitted", "--task", "sites"], "Did you mean 'site'?"),
        (["--target", "readmitted", "--numeric", "AGE"], "Did you mean 'age'?"),
        (["--target", "visit"], "240 distinct values"),
        (["--target", "country"], "one value only"),
        ([], "Give either --target"),
        (["--target", "readmitted", "--labels", "diabetes,anaemia"], "Give either --target"),
        (["--labels", "diabetes"], "use --target for it"),
        (["--labels", "diabetes,anaemia", "--task", "site"], "cannot be used together"),
        (["--labels", "diabetes,sex"], "a label is yes or no"),
        (["--target", "readmitted", "--task", "country"], "names 1 task"),
        (["--target", "readmitted", "--task", "visit"], "is it an id?"),
        (["--target", "readmitted", "--group", "country"], "one group only"),
        (["--target", "readmitted", "--task", "readmitted"], "two parts"),
        (["--target", "readmitted", "--max-error", "5"], "between 0 and 1"),
        (["--target", "readmitted", "--per-task"], "needs tasks"),
        (["--target", "readmitted", "--decimal", ";"], "a point or a comma"),
    ],
)
def test_wishes_that_cannot_be_met(folder, tmp_path, arguments, words):
    sentence = refused("train", folder / "clinic.csv", *arguments, "--out", tmp_path / "m.kin")
    assert words in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_number_to_predict(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("x,cost\n" + "\n".join(f"{i % 7},{i * 3.7:.2f}" for i in range(500)))
    sentence = refused("train", path, "--target", "cost", "--out", tmp_path / "m.kin")
    assert "500 distinct values" in sentence
    assert "looks like a number to predict" in sentence


def test_too_few_rows_or_columns(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    assert "2 rows" in refused("train", path, "--target", "y", "--out", tmp_path / "m.kin")
    path.write_text("x,y\n" + "1,a\n1,b\n" * 20)
    assert "all were dropped" in refused("train", path, "--target", "y", "--out", tmp_path / "m")
    path.write_text("y\n" + "a\nb\n" * 20)
    sentence = refused("train", path, "--target", "y", "--out", tmp_path / "m")
    assert "has no columns but those to predict" in sentence
    picture = tmp_path / "r.pdf"
    assert "let its name end in .html" in refused(
        "train", path, "--target", "y", "--out", tmp_path / "m", "--report", picture
    )


@pytest.mark.parametrize("command", ["predict", "report", "info"])
def test_files_that_are_no_models(folder, tmp_path, command):
    out = tmp_path / ("s.html" if command == "report" else "s.csv")
    data = [] if command == "info" else [folder / "new.csv", "--out", out]
    assert "There is no file" in refused(command, tmp_path / "none.kin", *data)
    (tmp_path / "bad.kin").write_bytes(b"no model")
    assert "bad.kin" in refused(command, tmp_path / "bad.kin", *data)


def test_models_not_trained_on_a_table(folder, tmp_path):
    X = np.arange(12.0)[:, None]
    kinlearn.save(kinlearn.LSPC().fit(X, X[:, 0] > 5), tmp_path / "m.kin")
    sentence = refused(
        "predict", tmp_path / "m.kin", folder / "new.csv", "--out", tmp_path / "s.csv"
    )
    assert "not trained on a table file" in sentence
    assert "LSPC" in accepted("info", tmp_path / "m.kin")


def test_json_is_one_object_and_nothing_else(folder, tmp_path):
    clinic, model = folder / "clinic.csv", folder / "model.kin"
    table = json.loads(accepted("example", tmp_path / "e.csv", "--rows", "20", "--json"))
    assert table["rows"] == 20
    trained = json.loads(
        quickly(
            "train",
            clinic,
            "--target",
            "readmitted",
            "--out",
            tmp_path / "m.kin",
            "--json",
            "--max-rows",
            "100",
            "--seed",
            "3",
        )
    )
    assert trained["rows"] == 100
    assert 0.5 < trained["figures"]["accuracy"]["value"] <= 1
    assert trained["columns"]["age"] == "numeric"
    scored = json.loads(
        accepted("predict", model, folder / "new.csv", "--out", tmp_path / "s.csv", "--json")
    )
    assert scored["answered"] + scored["handed_over"] == scored["rows"] == 80
    report = json.loads(
        accepted("report", model, folder / "new.csv", "--out", tmp_path / "r.html", "--json")
    )
    assert report["judged_on"] == "new rows"
    assert json.loads(accepted("info", model, "--json"))["facts"]["table"]["target"] == "readmitted"


def test_json_on_stdout_of_a_process(folder, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "kinlearn", "info", str(folder / "model.kin"), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["model"]["estimator"]


def test_the_seed_decides_everything(folder, tmp_path):
    for name in ("a", "b"):
        quickly(
            "train", folder / "clinic.csv", "--target", "readmitted", "--max-rows", "80",
            "--seed", "5", "--out", tmp_path / f"{name}.kin", "--report", tmp_path / f"{name}.html",
        )  # fmt: skip
    assert (tmp_path / "a.html").read_text() == (tmp_path / "b.html").read_text()
    assert "drawn evenly from 240" in (tmp_path / "a.html").read_text()


def test_info_says_what_the_file_holds(folder):
    said = " ".join(accepted("info", folder / "model.kin").split())
    assert "predicts readmitted" in said
    assert "holds 240 training rows" in said
    assert "age number" in said
    assert "smoking category" in said
    assert "On rows it had not seen" in said


def test_rows_without_an_answer_are_left_out(folder, tmp_path):
    frame = pd.read_csv(folder / "clinic.csv", dtype=str, keep_default_na=False).head(120)
    frame.loc[:39, "readmitted"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = accepted("train", tmp_path / "t.csv", "--target", "readmitted", "--out", tmp_path / "m")
    assert "40 rows without an answer are left out" in said
    assert "80 rows, " in said


def test_tasks_share_and_unseen_ones_are_answered(task_model, tmp_path):
    info = kinlearn.model_info(task_model / "model.kin")
    assert info["facts"]["table"]["task"] == "site"
    said = " ".join(info["facts"]["summary"]["conclusions"])
    assert "haring" in said
    frame = pd.read_csv(task_model / "clinic.csv", dtype=str, keep_default_na=False)
    path = tmp_path / "new.csv"
    frame.assign(site=["Oak"] * 60 + [""] * 60).to_csv(path, index=False)
    said = accepted("predict", task_model / "model.kin", path, "--out", tmp_path / "s.csv")
    said = " ".join(said.split())
    assert "60 rows have a value of 'site' that training did not have (such as 'Oak')" in said
    assert "answered by what all tasks share" in said
    assert pd.read_csv(tmp_path / "s.csv")["p_yes"].between(0, 1).all()


def test_reports_of_tasks_come_out_the_same_again(task_model, tmp_path):
    out = tmp_path / "again.html"
    accepted("report", task_model / "model.kin", task_model / "clinic.csv", "--out", out)
    assert out.read_text() == (task_model / "report.html").read_text()


def test_labels_get_columns_of_their_own(label_model, tmp_path):
    clinic = label_model / "clinic.csv"
    accepted("predict", label_model / "model.kin", clinic, "--out", tmp_path / "s.csv")
    scored = pd.read_csv(tmp_path / "s.csv")
    model = kinlearn.load(label_model / "model.kin")
    proba = model.predict_proba(pd.read_csv(clinic))
    for t, name in enumerate(["diabetes", "hypertension", "anaemia"]):
        np.testing.assert_allclose(scored[f"p_{name}"], proba[:, t], atol=1e-6)
        assert ((scored[f"predicted_{name}"] == "yes") == (proba[:, t] > 0.5)).all()
        assert set(scored[f"decision_{name}"]) <= {"answer", "hand over"}
    threshold = kinlearn.model_info(label_model / "model.kin")["facts"]["hand_over"]["threshold"]
    sure = np.maximum(proba, 1 - proba) > threshold
    decided = scored[[f"decision_{n}" for n in ("diabetes", "hypertension", "anaemia")]] == "answer"
    assert decided.to_numpy()[~sure].sum() == 0
    assert decided.to_numpy().sum() > 0


def test_reports_of_labels(label_model, tmp_path):
    out = tmp_path / "again.html"
    accepted("report", label_model / "model.kin", label_model / "clinic.csv", "--out", out)
    assert out.read_text() == (label_model / "report.html").read_text()
    write_example(tmp_path / "new.csv", 60, 4)
    accepted(
        "report", label_model / "model.kin", tmp_path / "new.csv", "--out", tmp_path / "n.html"
    )
    assert (
        "This report judges it on 180 known labels of new.csv" in (tmp_path / "n.html").read_text()
    )


def test_a_report_on_new_rows_needs_their_answers(folder, tmp_path):
    path = changed(folder, tmp_path, lambda f: f.drop(columns="readmitted"))
    sentence = refused("report", folder / "model.kin", path, "--out", tmp_path / "r.html")
    assert "no column 'readmitted'" in sentence
    path = changed(folder, tmp_path, lambda f: f.assign(readmitted="perhaps"))
    sentence = refused("report", folder / "model.kin", path, "--out", tmp_path / "r.html")
    assert "'perhaps', a class the model was not trained on" in sentence


@pytest.mark.parametrize("missing", ["pyarrow", "pandas"])
def test_a_missing_library_is_named(folder, tmp_path, missing):
    code = f"""
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == {missing!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

        sys.meta_path.insert(0, Blocker())
        sys.argv = ["kinlearn", "predict", {str(folder / "model.kin")!r},
                    {str(folder / "new.csv")!r}, "--out", "s.csv"]
        from kinlearn.__main__ import main

        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert f"needs {missing}" in last
    assert 'pip install "kinlearn[cli]"' in last
    assert list(tmp_path.iterdir()) == []


def test_every_task_can_have_a_threshold_of_its_own(folder, tmp_path):
    quickly(
        "train", folder / "clinic.csv", "--target", "readmitted", "--task", "site", "--per-task",
        "--max-error", "0.45", "--max-rows", "160", "--out", tmp_path / "m.kin",
        "--report", tmp_path / "r.html",
    )  # fmt: skip
    last = kinlearn.load(tmp_path / "m.kin")[-1]
    assert len(last.task_thresholds_) == 6
    accepted("predict", tmp_path / "m.kin", folder / "new.csv", "--out", tmp_path / "s.csv")
    scored = pd.read_csv(tmp_path / "s.csv")
    names = sorted({*pd.read_csv(folder / "clinic.csv")["site"]})
    for name in names:
        if np.isinf(last.task_thresholds_[names.index(name)]):
            assert (scored.loc[scored["site"] == name, "decision"] == "hand over").all()
    assert last.coverage_ > 0
    assert "its task&#x27;s own threshold" in (tmp_path / "r.html").read_text()


def test_large_tables_use_centres_and_some_held_out_rows(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("kinlearn.training.centers.AUTO_FULL_ROWS", 150)
    monkeypatch.setattr("kinlearn.training.centers.AUTO_CENTERS", 60)
    monkeypatch.setattr("kinlearn.estimators.lspc_cv.MAX_HELD_OUT_ROWS", 100)
    out, page = tmp_path / "m.kin", tmp_path / "r.html"
    said = quickly(
        "train", folder / "clinic.csv", "--target", "readmitted", "--out", out, "--report", page
    )
    assert "with 60 of them as" in " ".join(said.split())
    assert "Every figure is over 100 rows" in page.read_text()
    accepted("report", out, folder / "clinic.csv", "--out", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page.read_text()


def test_semicolons_commas_and_three_classes(tmp_path):
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=60), rng.choice(["é", "ü"], size=60)
    grade = np.digitize(x + 0.2 * rng.normal(size=60), [-0.5, 0.5])
    lines = [
        f"{value:.3f}".replace(".", ",") + f";{k};{g}"
        for value, k, g in zip(x, kind, grade, strict=True)
    ]
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(["maß;art;stufe", *lines]).encode("cp1252"))
    dialect = ["--delimiter", ";", "--encoding", "cp1252"]
    quickly(
        "train", path, "--target", "stufe", "--decimal", ",", *dialect, "--out", tmp_path / "m.kin",
        "--report", tmp_path / "r.html",
    )  # fmt: skip
    accepted("predict", tmp_path / "m.kin", path, *dialect, "--out", tmp_path / "s.csv")
    how = {"sep": ";", "decimal": ",", "encoding": "cp1252"}  # as the table came
    scored = pd.read_csv(tmp_path / "s.csv", dtype={"stufe": str, "predicted": str}, **how)
    assert (scored["stufe"] == scored["predicted"]).mean() > 0.8
    np.testing.assert_allclose(scored[["p_0", "p_1", "p_2"]].sum(axis=1), 1, atol=1e-5)
    assert scored["maß"][0] == float(lines[0].split(";")[0].replace(",", "."))
