"""One way to write a cell: files and DataFrames of every dtype give the same answers."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import kinlearn
from kinlearn.cells.cell_rules import CellRules, objects
from kinlearn.cells.refusals import TableError
from kinlearn.cells.table_cells import TableCells
from kinlearn.cli import app

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("one_kernel_tables")
N = 160


def accepted(*arguments):
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def columns(seed, n=N):
    """Cells of a text file, by column; what decides the class is in columns that look typed."""
    rng = np.random.default_rng(seed)
    flag = rng.integers(0, 2, n)
    code = rng.integers(1, 5, n)
    ratio = rng.integers(0, 3, n)
    level = rng.integers(0, 3, n)
    gaps = rng.random(n) < 0.1
    answer = (2 * flag + (code > 2) + ratio > 2).astype(int)
    return {
        "flag": np.array(["False", "True"])[flag],
        "code": code.astype(str),
        "ratio": np.array(["0.5", "1.0", "2.50"])[ratio],
        "gappy": np.where(gaps, "", np.array(["10", "20", "30"])[level]),
        "maybe": np.where(gaps, "NA", np.array(["true", "false", "true"])[level]),
        "habit": np.array(["None", "Some", "Much"])[level],
        "age": rng.integers(20, 90, n).astype(str),
        "dose": np.where(gaps, "?", rng.normal(size=n).round(3).astype(str)),
        "y": np.array(["no", "yes"])[answer],
    }


CATEGORIES = "code,ratio,gappy"


def write(path, cells):
    rows = zip(*cells.values(), strict=True)
    path.write_text("\n".join([",".join(cells), *map(",".join, rows)]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of columns whose cells are numbers and yes or no, and its answers for new rows."""
    folder = tmp_path_factory.mktemp("cells")
    write(folder / "table.csv", columns(0))
    write(folder / "new.csv", columns(1))
    accepted(
        "train", folder / "table.csv", "--target", "y", "--categorical", CATEGORIES,
        "--out", folder / "model.kin",
    )  # fmt: skip
    accepted("predict", folder / "model.kin", folder / "new.csv", "--out", folder / "out.csv")
    return folder


def as_text(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


READERS = {
    "text": as_text,
    "pandas": pd.read_csv,
    "nullable": lambda path: pd.read_csv(path, dtype_backend="numpy_nullable"),
    "arrow dtypes": lambda path: pd.read_csv(path, dtype_backend="pyarrow"),
    "arrow engine": lambda path: pd.read_csv(path, engine="pyarrow"),
    "converted": lambda path: pd.read_csv(path).convert_dtypes(),
    "objects": lambda path: pd.read_csv(path).astype(object),
    "categories": lambda path: pd.read_csv(path).astype("category"),
    "text as category": lambda path: as_text(path).astype("category"),
    "pandas strings": lambda path: as_text(path).astype("string"),
    "single precision": lambda path: pd.read_csv(path).astype({"ratio": "float32"}),
    "floats": lambda path: pd.read_csv(path).astype({"code": float, "age": float}),
    "odd index": lambda path: pd.read_csv(path).set_index(pd.RangeIndex(7, 7 + N)),
    "polars to pandas": lambda path: polars.read_csv(path).to_pandas(),
    "polars by arrow": lambda path: polars.read_csv(path).to_pandas(
        use_pyarrow_extension_array=True
    ),
    "polars": polars.read_csv,
    "arrow": pyarrow.csv.read_csv,
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_gets_the_same_answers(folder, reader):
    model = kinlearn.load(folder / "model.kin")
    expected = model.predict_proba(as_text(folder / "new.csv"))
    found = model.predict_proba(READERS[reader](folder / "new.csv"))
    np.testing.assert_array_equal(found, expected)
    truth = as_text(folder / "new.csv")["y"]
    assert (model.predict(READERS[reader](folder / "new.csv")) == truth).mean() > 0.95
    scored = pd.read_csv(folder / "out.csv")
    np.testing.assert_allclose(scored[["p_no", "p_yes"]], expected, rtol=0, atol=1e-6)


def test_one_row_at_a_time(folder):
    """A row alone has other dtypes than the whole file."""
    model = kinlearn.load(folder / "model.kin")
    frame = pd.read_csv(folder / "new.csv")
    expected = model.predict_proba(frame)
    lines = (folder / "new.csv").read_text().splitlines()
    for i in range(0, N, 20):
        (folder / "one.csv").write_text(f"{lines[0]}\n{lines[1 + i]}\n")
        alone = model.predict_proba(pd.read_csv(folder / "one.csv"))
        np.testing.assert_allclose(alone, expected[i : i + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("writer", ["pandas", "nullable", "arrow"])
def test_parquet_is_answered_as_csv_is(folder, tmp_path, writer):
    frame = {
        "pandas": pd.read_csv,
        "nullable": READERS["nullable"],
        "arrow": lambda path: pyarrow.csv.read_csv(path).to_pandas(),
    }[writer](folder / "new.csv")
    frame.to_parquet(tmp_path / "new.parquet")
    said = accepted(
        "predict", folder / "model.kin", tmp_path / "new.parquet", "--out", tmp_path / "out.csv"
    )
    assert "training did not have" not in said
    added = ["predicted", "p_no", "p_yes", "decision"]
    found, expected = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(folder / "out.csv")
    pd.testing.assert_frame_equal(found[added], expected[added], check_exact=True)


def test_a_model_of_parquet_is_the_model_of_csv(folder, tmp_path):
    pd.read_csv(folder / "table.csv").to_parquet(tmp_path / "table.parquet")
    accepted(
        "train", tmp_path / "table.parquet", "--target", "y", "--categorical", CATEGORIES,
        "--out", tmp_path / "model.kin",
    )  # fmt: skip
    ours, theirs = kinlearn.load(tmp_path / "model.kin"), kinlearn.load(folder / "model.kin")
    for one, other in zip(
        ours[1].columns_.transformers_, theirs[1].columns_.transformers_, strict=True
    ):
        assert one[0] == other[0]
        assert list(one[2]) == list(other[2])
    new = pd.read_csv(folder / "new.csv")
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-9)


def test_tasks_that_are_numbers(tmp_path):
    cells = columns(0, 120)
    cells["site"] = np.array(["1", "2", "10"])[np.arange(120) % 3]
    path = write(tmp_path / "t.csv", cells)
    accepted(
        "train", path, "--target", "y", "--task", "site", "--categorical", "code,ratio",
        "--out", tmp_path / "model.kin",
    )  # fmt: skip
    model = kinlearn.load(tmp_path / "model.kin")
    expected = model.predict_proba(as_text(path))
    np.testing.assert_array_equal(model.predict_proba(pd.read_csv(path)), expected)
    floats = pd.read_csv(path).astype({"site": float})
    np.testing.assert_array_equal(model.predict_proba(floats), expected)
    other = model.predict_proba(pd.read_csv(path).assign(site=7))
    assert np.abs(other - expected).max() > 0


SAME = {
    "bool": ([True, False, None], ["True", "False", None]),
    "words for bools": (["TRUE", "false", " True "], ["True", "False", "True"]),
    "whole floats": ([1.0, -2.0, float("nan")], ["1", "-2", None]),
    "numerals": (["01", "1.0", "+1", "1e0", "-0", "1.50"], ["1", "1", "1", "1", "0", "1.5"]),
    "long numbers": (["12345678901234567890", "007"], ["12345678901234567890", "7"]),
    "decimals": ([Decimal("1.50"), Decimal("2.00")], ["1.5", "2"]),
    "dates": ([datetime.date(2024, 1, 31)], ["2024-01-31"]),
    "times": ([datetime.datetime(2024, 1, 31)], ["2024-01-31"]),
    "no numbers": (["1.2.3", "1,5", "0x1", "1e999", "infinite"], None),
    "digits of other scripts": (["١٢", "²"], None),
}


@pytest.mark.parametrize("name", SAME)
def test_one_spelling(name):
    given, expected = SAME[name]
    rules = CellRules()
    found = rules.texts(pa.array(given, from_pandas=True))
    assert found.to_pylist() == (given if expected is None else expected)
    assert rules.texts(found).to_pylist() == found.to_pylist()


def test_columns_of_several_types():
    """As pandas leaves a long column whose first rows are numbers, and the later ones texts."""
    rules = CellRules()
    mixed = pd.Series([1, "1", 1.0, True, "true", None, np.nan, pd.NA, 2.5, "a", Decimal("2.50")])
    words = ["1", "1", "1", "True", "True", None, None, None, "2.5", "a", "2.5"]
    assert rules.texts(rules.column(mixed)).to_pylist() == words
    values, stray = rules.numbers(rules.column(mixed))
    np.testing.assert_array_equal(values[[0, 1, 2, 8, 10]], [1, 1, 1, 2.5, 2.5])
    assert np.flatnonzero(stray).tolist() == [3, 4, 9]


def test_decimal_commas_are_one_spelling_too():
    rules = CellRules(decimal=",")
    texts = ["1,5", "1,50", "1.234,5", "1.2.3", "1.5", "2"]
    words = ["1,5", "1,5", "1234,5", "1.2.3", "1.5", "2"]
    assert rules.texts(pa.array(texts)).to_pylist() == words
    assert rules.texts(pa.array(words)).to_pylist() == words
    assert rules.texts(pa.array([1.5, 2.0])).to_pylist() == ["1,5", "2"]
    mixed = rules.column(pd.Series([1.5, "1,5", "a"]))
    assert rules.texts(mixed).to_pylist() == ["1,5", "1,5", "a"]
    values, _ = rules.numbers(pa.array([Decimal("1.5")]))
    assert values.tolist() == [1.5]


@pytest.mark.parametrize("kind", [str, int, float, "Int64", "category", object])
def test_missing_texts_that_are_numbers(kind):
    """A mark for missing means the same in a column of numbers as in one of texts."""
    rules = CellRules(missing=("-9",))
    column = rules.column(pd.Series([1, -9, 3]).astype(kind))
    values, stray = rules.numbers(column)
    np.testing.assert_array_equal(values, [1, np.nan, 3])
    assert not stray.any()
    assert rules.texts(column).to_pylist() == ["1", None, "3"]
    assert rules.texts(pa.array(["-9.0"])).to_pylist() == [None]


def test_what_pandas_reads_as_missing_is_missing():
    from pandas._libs.parsers import STR_NA_VALUES

    texts = sorted(STR_NA_VALUES)
    assert CellRules().texts(pa.array(texts)).to_pylist() == [None] * len(texts)


def test_none_is_a_class(tmp_path):
    """pandas reads the word None as missing; as the name of a class it is none the less one."""
    cells = columns(0)
    cells["y"] = np.where(cells["y"] == "no", "None", "Some")
    accepted(
        "train", write(tmp_path / "t.csv", cells), "--target", "y", "--out", tmp_path / "m.kin"
    )
    assert kinlearn.load(tmp_path / "m.kin").classes_.tolist() == ["None", "Some"]
    fresh = columns(1)
    fresh["y"] = np.where(fresh["y"] == "no", "None", "Some")
    new = write(tmp_path / "new.csv", fresh)
    accepted("report", tmp_path / "m.kin", new, "--out", tmp_path / "report.html")
    assert f"{N} rows" in (tmp_path / "report.html").read_text()


def test_floats_that_lost_digits_are_refused():
    cells = TableCells(categorical=["id"])
    frame = pd.DataFrame({"id": ["12345678901234567890", "12345678901234567891"]})
    assert cells.fit_transform(frame)["id"].tolist() == frame["id"].tolist()
    with pytest.raises(TableError, match=r"'id' .* lost its last digits.* dtype=\{'id': str\}"):
        cells.transform(frame.astype(float))


def test_cells_of_a_table():
    cells = TableCells(numeric=["a"], categorical=["b"])
    frame = pd.DataFrame({"b": [1, 2], "other": [0, 0], "a": ["1", "?"]})
    made = cells.fit_transform(frame)
    assert list(made) == list(cells.get_feature_names_out()) == ["a", "b"]
    np.testing.assert_array_equal(made["a"], [1, np.nan])
    assert made["b"].tolist() == ["1", "2"]
    pd.testing.assert_frame_equal(cells.transform(made), made)
    with pytest.raises(TableError, match=r"trained with column 'a'\..*no column 'a'"):
        cells.transform(frame[["b"]])
    with pytest.raises(TableError, match="column name 'a' 2 times"):
        cells.transform(pd.concat([frame, frame[["a"]]], axis=1))
    with pytest.raises(TableError, match="got a ndarray"):
        cells.transform(frame.to_numpy())
    with pytest.raises(TableError, match="holds texts such as 'x'"):
        cells.transform(pd.DataFrame({"a": ["x", "y"] * 10, "b": [""] * 20}))
    with pytest.raises(TableError, match="holds texts such as 'True'"):
        cells.transform(pd.DataFrame({"a": [True, False] * 10, "b": [""] * 20}))
    with pytest.warns(UserWarning, match="1 cells of 'a' hold no number"):
        made = cells.transform(pd.DataFrame({"a": ["1", "2", "x"], "b": ["", "", "c"]}))
    assert objects(pa.array(["c", None])).tolist()[0] == made["b"].tolist()[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells.transform(frame.iloc[:0])
