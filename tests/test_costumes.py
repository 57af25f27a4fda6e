"""Cells as people write them: numbers in costume, codes, dates, ids, words in several spellings."""

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kinlearn
from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.date_form import DateForm, find_date_form
from kinlearn.cells.forms import form_as_facts, form_from_facts
from kinlearn.cells.number_form import NumberForm, find_number_form
from kinlearn.cells.refusals import TableError
from kinlearn.cells.schema import TableSchema
from kinlearn.cells.table_cells import TableCells
from kinlearn.cells.word_forms import CodeForm, WordForm, find_word_form
from kinlearn.cli import app
from kinlearn.tables.columns import find_decimal, infer_columns

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("one_kernel_tables")
N = 120


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def accepted(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.stderr.strip().splitlines()[-1]


def judged(**columns):
    table = pa.table({name: [str(cell) for cell in cells] for name, cells in columns.items()})
    rules = CellRules(decimal=find_decimal(table, CellRules()))
    return {column.name: column for column in infer_columns(table, rules)}


def numbers(texts, form):
    return CellRules(form=form).numbers(pa.array(texts))[0].tolist()


COSTUMES = {
    "thousands": (["51,508.76", "950.5", "1,234"], [51508.76, 950.5, 1234]),
    "dollars": (["$1,234", "$950", "-$12.50"], [1234, 950, -12.5]),
    "euros behind": (["1.234,50 €", "12 €"], [1234.5, 12]),
    "per cent": (["12.5%", "3 %", "100%"], [12.5, 3, 100]),
    "milligrams": (["5.1 mg", "4mg", "12 MG"], [5.1, 4, 12]),
    "per": (["5.1 mg/dl", "4.2 mg/dl"], [5.1, 4.2]),
    "decimal comma": (["24,5", "3", "0,125"], [24.5, 3, 0.125]),
    "apostrophes": (["1'234.5", "12'000"], [1234.5, 12000]),
    "blanks": (["1 234,5", "12\u00a0000"], [1234.5, 12000]),
    "minus": (["−5 °C", "12 °C"], [-5, 12]),
    "whole thousands": (["1,234", "950", "12,000"], [1234, 950, 12000]),
    "years": (["1 year", "2 years"], [1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", COSTUMES)
def test_numbers_in_costume(name):
    texts, expected = COSTUMES[name]
    form = find_number_form(dict.fromkeys(texts, 1))
    assert numbers(texts, form) == expected
    assert form_from_facts(json.loads(json.dumps(form_as_facts(form)))) == form


@pytest.mark.parametrize(
    "texts",
    [
        ["4B", "12A", "7C"],
        ["Q1", "Q2"],
        ["5.1 mg", "4.2 g"],
        ["1st", "2nd", "3rd"],
        ["18-24", "25-34"],
        ["P0012", "P0013"],
        ["1.2.3", "1.2.4"],
        ["24,5", "24.5", "3,5", "3.5"],
        ["a", "b"],
        ["10:30", "11:45"],
    ],
)
def test_what_is_no_number(texts):
    assert find_number_form(dict.fromkeys(texts, 1)) is None


def test_decimal_marks_are_never_marks_of_thousands():
    """24.5 is not 245, whatever the model was trained with."""
    comma = CellRules(decimal=",")
    values, stray, other = comma.numbers_and_marks(pa.array(["24.5", "24,5", "1.234,5"]))
    assert values.tolist() == [24.5, 24.5, 1234.5]
    assert not stray.any()
    assert other.tolist() == [True, False, False]
    assert CellRules().numbers(pa.array(["24,5"]))[0].tolist() == [24.5]
    with pytest.raises(TableError, match=r"decimal point \('24.5'\).*'1.234' could be either"):
        TableSchema(["a"], [], decimal=",").frame(pa.table({"a": ["24.5", "1.234"]}))
    assert NumberForm(",", ".").read("1.2.3") is None


def test_units_other_than_in_training_are_no_numbers():
    assert NumberForm(unit="mg").read("5 g") is None
    assert NumberForm(unit="mg").read("5") == 5


DATES = {
    "iso": ["2023-01-12", "2023-02-28 10:30"],
    "d mon y": ["12-Jan-2023", "3 Feb 2023", "28-FEB-23"],
    "mon d y": ["Jan 12, 2023", "February 3, 2023"],
    "yyyymmdd": ["20230112", "20230228", "20221231"],
    "dmy": ["12/01/2023", "28/02/2023"],
    "mdy": ["01/12/2023", "02/28/2023 5:30 PM"],
}


@pytest.mark.parametrize("style", DATES)
def test_dates_of_every_style(style):
    form = find_date_form(dict.fromkeys(DATES[style], 1))
    assert form == DateForm(style)
    days, stray = CellRules(form=form).dates(pa.array([DATES[style][0], "soon", ""]))
    assert str(days[0])[:10] == "2023-01-12"
    assert stray.tolist() == [False, True, False]
    typed, _ = CellRules(form=form).dates(pa.array(days).cast(pa.date32()))
    assert str(typed[0]) == "2023-01-12T00:00:00.000000"


def test_numbers_that_are_dates():
    assert find_date_form({"44938": 1, "44985": 1}, "VisitDate") == DateForm("excel")
    assert find_date_form({"44938": 1, "44985": 1}, "wages") is None
    assert find_date_form({"20231345": 1, "20230112": 1, "20230113": 1}) is None
    read, _ = CellRules(form=DateForm("excel")).dates(pa.array([44938.0, 44938.5]))
    assert [str(day)[:16] for day in read] == ["2023-01-12T00:00", "2023-01-12T12:00"]
    assert not find_date_form({"1/2/2023": 1, "3/4/2023": 1}).sure
    assert "a guess" in find_date_form({"1/2/2023": 1}).in_words()


def test_codes_keep_their_zeros():
    column = judged(zip=["01234", "90210", "02139", "60601"] * 10)["zip"]
    assert column.kind == "categorical"
    assert "zeros in front count" in column.why
    rules = CellRules(form=form_from_facts(column.form))
    assert rules.texts(pa.array(["01234", "90210"])).to_pylist() == ["01234", "90210"]
    # pandas has made numbers of them
    assert rules.texts(pa.array([1234, 90210])).to_pylist() == ["01234", "90210"]
    assert rules.texts(pa.array([1234.0, None])).to_pylist() == ["01234", None]
    assert judged(n=["0", "5", "10", "07"] + ["12"] * 96)["n"].kind == "numeric"


def test_words_in_several_spellings_are_one():
    column = judged(smoker=["Yes", "yes", "NO", "no", "no"] * 10)["smoker"]
    assert (column.kind, column.n_distinct) == ("categorical", 2)
    assert "in 4 spellings" in column.why
    rules = CellRules(form=form_from_facts(column.form))
    assert rules.texts(pa.array(["YES", "No"])).to_pylist() == ["Yes", "no"]
    assert find_word_form({"A": 1, "a": 1}) is None
    assert find_word_form({"Y": 1, "y": 3, "N": 2}) == WordForm({"y": "y", "n": "N"})
    assert find_word_form({"Main Street": 2, "main  street": 1, "x": 1}).words == {
        "main street": "Main Street"
    }


def test_ids_are_known_by_their_cells_and_names():
    rng = np.random.default_rng(0)
    n = 300
    found = judged(
        column_1=rng.permutation(n),
        PatientID=rng.choice(10**6, n, replace=False),
        CustomerId=rng.integers(100, 250, n),
        Surname=[f"S{i}" for i in rng.integers(0, 80, n)],
        counter=np.arange(n) * 3 + rng.integers(0, 3, n),
        long=10**8 + rng.choice(10**7, n, replace=False),
        patient=np.repeat(np.arange(100) * 17 + 5, 3),
        block=np.repeat(np.arange(150), 2),
        user=[f"u{i}" for i in rng.integers(0, 90, n)],
        age=rng.integers(18, 90, n),
        income=rng.integers(900, 90_000, n),
        n_patients=rng.integers(0, 60, n),
        patient_age=rng.integers(18, 90, n),
        humid=rng.integers(0, 100, n),
        site_id=rng.integers(1, 5, n),
        weight=rng.normal(70, 9, n).round(2),
    )
    dropped = {name for name, column in found.items() if column.kind == "dropped"}
    assert dropped == {
        "column_1", "PatientID", "CustomerId", "Surname", "counter", "long", "patient", "block",
        "user",
    }  # fmt: skip
    for name in ("CustomerId", "patient", "block", "user"):
        assert f"--group {name}" in found[name].why
    assert found["site_id"].kind == "categorical"


def test_numeric_never_empties_a_column():
    texts = pa.table({"sex": ["m", "f"] * 20, "cost": ["$5", "$1,200"] * 20, "y": ["a", "b"] * 20})
    with pytest.raises(TableError, match=r"'sex' was given to --numeric, but 40 of .*'m', 'f'"):
        infer_columns(texts, CellRules(), numeric=["sex"])
    cost = {c.name: c for c in infer_columns(texts, CellRules(), numeric=["cost"])}["cost"]
    assert (cost.kind, cost.why) == (
        "numeric",
        "as you asked; written with ',' between thousands, '$' left out",
    )


def test_an_answer_does_not_depend_on_the_rows_beside_it():
    cells = TableCells(numeric=["a"]).fit(pd.DataFrame({"a": ["1"]}))
    with pytest.warns(UserWarning, match="1 cells of 'a' hold no number"):
        alone = cells.transform(pd.DataFrame({"a": ["unknown"]}))
    with pytest.warns(UserWarning, match="1 cells of 'a' hold no number"):
        beside = cells.transform(pd.DataFrame({"a": ["unknown", *"123456789"]}))
    assert np.isnan(alone["a"][0])
    assert np.isnan(beside["a"][0])


def table(seed):
    rng = np.random.default_rng(seed)
    income, dose = rng.uniform(900, 90_000, N), rng.uniform(0, 9, N)
    high = (income / 90_000 + dose / 9 + 0.2 * rng.normal(size=N)) > 1
    words = np.where(high, rng.choice(["Yes", "yes"], N), rng.choice(["NO", "no"], N))
    return pd.DataFrame(
        {
            "": np.arange(N).astype(str),
            "CustomerId": 15_500_000 + rng.choice(300_000, N, replace=False),
            "income": [f"${value:,.2f}" for value in income],
            "dose": [f"{value:.1f} mg" for value in dose],
            "temp": [f"{value:.1f}".replace(".", ",") for value in rng.uniform(36, 40, N)],
            "zip": rng.choice(["01234", "90210", "02139"], N),
            "high": words,
        }
    ).astype(str)


def test_a_table_in_costume_is_read_the_same_when_it_is_answered(tmp_path):
    table(0).to_csv(tmp_path / "t.csv", index=False)
    new = table(1)
    new.to_csv(tmp_path / "new.csv", index=False)
    said = accepted("train", tmp_path / "t.csv", "--target", "high", "--out", tmp_path / "m.kin")
    assert "Classes that differ in capitals alone are one" in said
    assert "'$' left out" in said
    assert "CustomerId dropped" in said
    model = kinlearn.load(tmp_path / "m.kin")
    assert len(model.classes_) == 2
    accepted("predict", tmp_path / "m.kin", tmp_path / "new.csv", "--out", tmp_path / "s.csv")
    scored = pd.read_csv(tmp_path / "s.csv")
    proba = scored[[f"p_{name}" for name in model.classes_]].to_numpy()
    np.testing.assert_allclose(model.predict_proba(new), proba, atol=1e-6)
    right = scored["predicted"].str.lower() == new["high"].str.lower()
    assert right.mean() > 0.75
    plain = new.assign(
        income=new["income"].str.replace("[$,]", "", regex=True).astype(float),
        dose=new["dose"].str.replace(" mg", "").astype(float),
        temp=new["temp"].str.replace(",", ".").astype(float),
        zip=new["zip"].astype(int),  # as pandas reads them
    )
    np.testing.assert_array_equal(model.predict_proba(plain), model.predict_proba(new))
    one = new.iloc[[3]].reset_index(drop=True)
    np.testing.assert_allclose(model.predict_proba(one)[0], proba[3], atol=1e-6)
    accepted("report", tmp_path / "m.kin", tmp_path / "new.csv", "--out", tmp_path / "r.html")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = new.drop(columns=["income", "dose"])
    again.to_csv(tmp_path / "few.csv", index=False)
    arguments = ["predict", tmp_path / "m.kin", tmp_path / "few.csv", "--out", tmp_path / "x.csv"]
    assert "'income', 'dose'" in refused(*arguments)


def test_a_table_with_the_other_decimal_mark_is_noticed(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(10, 40, N).round(3)
    frame = pd.DataFrame({"x": x, "z": rng.integers(0, 9, N), "y": np.where(x > 25, "a", "b")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "comma.csv", index=False, decimal=",")
    accepted("train", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.kin")
    accepted("predict", tmp_path / "m.kin", tmp_path / "t.csv", "--out", tmp_path / "a.csv")
    said = accepted(
        "predict", tmp_path / "m.kin", tmp_path / "comma.csv", "--out", tmp_path / "b.csv"
    )
    assert "decimal comma here and had none in training" in said
    a, b = pd.read_csv(tmp_path / "a.csv"), pd.read_csv(tmp_path / "b.csv", decimal=",")
    np.testing.assert_array_equal(a["p_a"], b["p_a"].astype(float))


def test_files_of_earlier_versions_know_no_forms():
    facts = TableSchema(numeric=["a"], categorical=["b"]).as_facts()
    del facts["forms"], facts["dates"]
    assert TableSchema.from_facts(facts).rules_of("a").form is None
    old = TableCells(numeric=["a"])
    del old.forms
    assert old.schema.forms == {}
    assert CodeForm().spelt("007") == "007"
