"""Rows that are not like those of the training are named by column; rows that are, are not."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact, mannwhitneyu
from typer.testing import CliRunner

import kinlearn
from kinlearn.cli import app
from kinlearn.datasets import make_clinic_table
from kinlearn.persistence.carried_facts import carry
from kinlearn.tables.input_check import InputCheck
from kinlearn.tables.input_profile import profile_inputs
from kinlearn.tables.shift_tests import beyond_p, ranks_p, share_p

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("one_kernel_tables")
NUMBERS = ["age", "bmi", "systolic", "glucose", "crp", "symptom_days"]
TEXTS = ["site", "sex", "smoking", "referral"]
PROMISE = "at most 5 % wrong answers"


def clinic(n, seed):
    """Rows as the first step of a model gives them, and their patients."""
    table = make_clinic_table(n, random_state=seed)
    frame = pd.DataFrame({name: table[name] for name in [*NUMBERS, *TEXTS]}).replace("", np.nan)
    return frame.astype(dict.fromkeys(NUMBERS, float)), table["patient"]


@pytest.fixture(scope="module")
def profile():
    frame, patients = clinic(600, 0)
    # Through JSON, as it is kept in a model file.
    return json.loads(json.dumps(profile_inputs(frame, groups=patients)))


def checked(profile, frame, **options):
    check = InputCheck(profile, promise=PROMISE, **options)
    for start in range(0, len(frame), 150):
        check.add(frame.iloc[start : start + 150])
    return check


def test_rows_of_the_same_population_are_not_named():
    """All tests of a table are to err in 1 of 1000; at most 1 in 100 is held here."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "even": rng.uniform(size=260),
                "long": rng.lognormal(2, 1.1, size=260),
                "whole": rng.poisson(3, size=260).astype(float),
                "binary": rng.choice(["a", "b"], size=260),
                "many": rng.choice([f"c{i}" for i in range(60)], size=260),
            }
        )
        frame.loc[rng.uniform(size=260) < 0.1, "long"] = np.nan
        old, new = frame.iloc[:180], frame.iloc[180:]
        alarms += checked(profile_inputs(old), new).withdrawn
    assert alarms <= 2


def test_new_patients_of_the_same_clinic_are_not_named(profile):
    for seed in range(10, 25):
        check = checked(profile, clinic(150, seed)[0])
        assert not check.withdrawn, check.sentences()


@pytest.mark.parametrize("n", [25, 300])
def test_another_unit(profile, n):
    rows, _ = clinic(n, 1)
    check = checked(profile, rows.assign(crp=10 * rows["crp"]))
    found = check.differences()
    assert [each.column for each in found] == ["crp"]
    assert check.withdrawn
    said = check.sentences()
    assert said[0].startswith("crp: ")
    assert "a factor of 10 would fit: another unit?" in said[0]
    assert said[1].endswith(f"the promise of {PROMISE} does not hold for them.")


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        ("glucose", lambda x: 18.016 * x, "all rows are above anything seen in training"),
        ("glucose", lambda x: 18.016 * x, "a factor of 18.02 would fit"),
        ("bmi", lambda x: x / 1000, "all rows are below anything seen in training"),
        ("symptom_days", lambda x: x * 24, "a factor of 24 would fit"),
        ("crp", lambda x: x * np.nan, "crp: empty in every row, where training missed 1"),
        ("crp", lambda x: x.where(np.arange(len(x)) % 2 == 0), "of the rows, where training"),
        ("sex", lambda x: x.replace("male", "female"), "sex: 'female' in all rows"),
        ("referral", lambda x: x.map(lambda _: "balloon"), "300 rows have a value of 'referral'"),
        ("age", lambda x: x + 25, "above anything seen in training (largest there: "),
    ],
)
def test_a_column_that_moved_is_named(profile, column, change, words):
    rows, _ = clinic(300, 1)
    check = checked(profile, rows.assign(**{column: change(rows[column])}))
    found = check.differences()
    assert {each.column for each in found} == {column}
    assert words in found[0].sentence
    assert found[0].alarming


def test_degrees(profile):
    rng = np.random.default_rng(0)
    celsius = rng.normal(37, 1, 400)
    old = profile_inputs(pd.DataFrame({"temperature": celsius[:300]}))
    check = checked(old, pd.DataFrame({"temperature": 1.8 * celsius[300:] + 32}))
    assert "degrees Celsius and Fahrenheit would fit" in check.sentences()[0]


def test_one_task_alone_breaks_the_mix_unless_every_task_has_its_own_bound(profile):
    rows, _ = clinic(400, 1)
    one = rows[rows["site"] == "Elm"]
    assert checked(profile, one, task="site").differences()[0].column == "site"
    assert not checked(profile, one, task="site", task_mix_matters=False).withdrawn


def test_answers_that_moved_are_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300)})
    p = rng.beta(1, 6, size=300)
    profile = profile_inputs(frame, answers={"no": 1 - p, "yes": p})
    check = InputCheck(profile)
    check.add(frame, {"no": p, "yes": 1 - p})
    assert [each.kind for each in check.differences()] == ["answers"]
    assert "expects 'yes' for 8" in check.sentences()[0]
    same = InputCheck(profile)
    same.add(frame, {"no": 1 - p, "yes": p})
    assert same.sentences() == []


def test_rows_of_the_training_are_known_again(profile):
    frame, _ = clinic(600, 0)
    assert checked(profile, frame).are_training_rows
    assert checked(profile, frame.sample(200, random_state=0)).are_training_rows
    assert not checked(profile, clinic(600, 1)[0]).are_training_rows


def test_one_binary_column_says_nothing_of_who_trained():
    frame = pd.DataFrame({"x": np.tile([0.0, 1.0], 100)})
    check = checked(profile_inputs(frame), frame)
    assert not check.are_training_rows
    assert check.sentences() == []


def test_no_rows_and_an_empty_column(profile):
    assert InputCheck(profile).sentences() == []
    frame = pd.DataFrame({"x": np.full(50, np.nan), "y": np.arange(50.0)})
    assert checked(profile_inputs(frame), frame).differences() == []


def test_p_values_are_those_of_the_tests_they_name():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=60), rng.normal(size=30) + 0.5
    edges = np.sort(np.concatenate([old, new]))
    counts = [np.searchsorted(edges, x) for x in (old, new)]
    bins = [np.bincount(c, minlength=90).astype(float) for c in counts]
    expected = mannwhitneyu(old, new, use_continuity=False, method="asymptotic").pvalue
    assert ranks_p(*bins) == pytest.approx(expected, rel=0.02)
    small = fisher_exact([[9, 21], [2, 58]], alternative="greater").pvalue
    assert share_p(9, 30, 2, 60) == pytest.approx(2 * small)
    hits = 0
    for _ in range(4000):
        values = rng.uniform(size=20)
        hits += np.sum(values[:5] > values[5:].max()) >= 2
    assert beyond_p(2, 5, 15) == pytest.approx(hits / 4000, abs=0.015)


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """The walk of the first page, and later rows in which CRP has another unit."""
    folder = tmp_path_factory.mktemp("walk")
    for name, rows, seed in (("clinic", 200, 0), ("new", 200, 1)):
        arguments = ["example", folder / f"{name}.csv", "--rows", rows, "--seed", seed]
        assert runner.invoke(app, list(map(str, arguments))).exit_code == 0
    arguments = [
        "train", folder / "clinic.csv", "--target", "readmitted", "--max-error", "0.2",
        "--out", folder / "model.kin",
    ]  # fmt: skip
    assert runner.invoke(app, list(map(str, arguments))).exit_code == 0
    frame = pd.read_csv(folder / "new.csv")
    frame.assign(crp=10 * frame["crp"]).to_csv(folder / "shifted.csv", index=False)
    frame.assign(crp="").to_csv(folder / "emptied.csv", index=False)
    return folder


def said(*arguments):
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_predict_names_the_column_and_withdraws_the_promise(walk, tmp_path):
    model = walk / "model.kin"
    told = said("predict", model, walk / "shifted.csv", "--out", tmp_path / "a.csv")
    assert "crp: " in told
    assert "a factor of 10 would fit: another unit?" in told
    assert "the promise of at most 20 % wrong answers does not hold" in told
    told = said("predict", model, walk / "emptied.csv", "--out", tmp_path / "b.csv", "--json")
    assert json.loads(told)["inputs"]["columns"]["crp"] == "missing"
    told = said("predict", model, walk / "new.csv", "--out", tmp_path / "c.csv", "--json")
    assert json.loads(told)["inputs"]["like_training"]
    assert json.loads(told)["notes"] == []
    told = said("predict", model, walk / "clinic.csv", "--out", tmp_path / "d.csv")
    assert "rows the model was trained on" in told


def test_the_report_blames_the_rows_not_the_records(walk, tmp_path):
    page = tmp_path / "r.html"
    told = said("report", walk / "model.kin", walk / "shifted.csv", "--out", page)
    assert told.index("a factor of 10 would fit") < told.index("the model was right for")
    assert "the promise was not kept" in told or "which these are not" in told
    for text in (told, page.read_text()):
        assert "wrong records" not in text
    assert "speaks against its answers, not against the records" in told
    told = said("report", walk / "model.kin", walk / "new.csv", "--out", tmp_path / "n.html")
    assert "promise of" not in told


def test_a_model_file_without_a_profile_is_still_answered(walk, tmp_path):
    facts = kinlearn.model_info(walk / "model.kin")["facts"]
    del facts["inputs"]
    model = kinlearn.load(walk / "model.kin")
    carry(model, facts)
    kinlearn.save(model, tmp_path / "old.kin")
    told = said("predict", tmp_path / "old.kin", walk / "shifted.csv", "--out", tmp_path / "s.csv")
    assert "unit" not in told


def test_later_dates_are_said_and_no_alarm():
    days = np.datetime64("2023-01-01") + np.arange(300)
    old = pd.DataFrame({"date": days.astype("datetime64[s]")})
    profile = json.loads(json.dumps(profile_inputs(old)))
    later = pd.DataFrame({"date": (days + 365).astype("datetime64[s]")})
    check = checked(profile, later)
    assert not check.withdrawn
    assert check.sentences() == [
        "date: all rows are later than anything seen in training (last there: 2023-10-27)."
    ]
    gone = pd.DataFrame({"date": np.full(100, np.datetime64("NaT"), dtype="datetime64[s]")})
    assert checked(profile, gone).withdrawn
    assert checked(profile, old).sentences() == []
