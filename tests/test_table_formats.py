"""Tables in whatever they are kept in: found out by itself, and written back as it came."""

import gzip
import io
import json

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

from kinlearn.cells.refusals import TableError
from kinlearn.cli import app
from kinlearn.tables.files import open_table
from kinlearn.tables.output import check_output, table_writer

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
runner = CliRunner()
ROWS = [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}, {"a": "3", "b": "z"}]


def rows_of(file):
    return [row for batch in file.batches() for row in batch.to_pylist()]


def write(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path, **options):
    with pytest.raises(TableError) as caught:
        rows_of(open_table(path, **options))
    return str(caught.value)


TEXTS = {
    "semicolons": ("t.csv", b"a;b\n1;x\n2;y\n3;z\n", "semicolon"),
    "tabs in a .csv": ("t.csv", b"a\tb\n1\tx\n2\ty\n3\tz\n", "tab"),
    "bars": ("t.txt", b"a|b\n1|x\n2|y\n3|z\n", "bar"),
    "sep line": ("t.csv", b"sep=;\r\na;b\r\n1;x\r\n2;y\r\n3;z\r\n", "semicolon"),
    "byte order mark": ("t.csv", "\ufeffa;b\n1;x\n2;y\n3;z\n".encode(), "semicolon"),
    "UTF-16": ("t.csv", "a\tb\n1\tx\n2\ty\n3\tz\n".encode("utf-16"), "utf-16"),
    "UTF-16 without a mark": ("t.csv", "a,b\n1,x\n2,y\n3,z\n".encode("utf-16-le"), "utf-16-le"),
    "title": ("t.csv", b"Report of 2024\n\na,b\n1,x\n2,y\n3,z\n", "1 line above"),
    "padded title": ("t.csv", b"Report,,\na,b,\n1,x,\n2,y,\n3,z,\n", "1 column at the end"),
    "blank columns": ("t.csv", b"a,b,,\n1,x,,\n2,y,,\n3,z,,\n", "2 columns at the end"),
    "blank columns below": ("t.csv", b"a,b\n1,x,\n2,y,\n3,z,\n", "1 column at the end"),
    "compressed": ("t.csv.gz", gzip.compress(b"a,b\n1,x\n2,y\n3,z\n"), None),
    "compressed tabs": ("t.tsv.gz", gzip.compress(b"a\tb\n1\tx\n2\ty\n3\tz\n"), None),
}


@pytest.mark.parametrize("name", TEXTS)
def test_how_a_text_is_written_is_found(tmp_path, name):
    ending, content, word = TEXTS[name]
    file = open_table(write(tmp_path, content, ending))
    assert rows_of(file) == ROWS
    said = " ".join(file.notes)
    assert word in said if word else not said


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_written_back_as_it_came(tmp_path, name):
    ending, content, _ = TEXTS[name]
    file = open_table(write(tmp_path, content, ending))
    out = tmp_path / f"out_{ending}"
    with table_writer(out, like=file) as writer:
        for batch in file.batches():
            writer.write(batch)
    written = out.read_bytes()
    if ending.endswith(".gz"):
        written, content = gzip.decompress(written), gzip.decompress(content)
    if name == "blank columns below":  # the names get as many cells as the rows
        content = content.replace(b"a,b\n", b"a,b,\n")
    assert written == content


def test_western_windows_letters(tmp_path):
    content = "a;b\nGöteborg;1,5\nÅrhus;2,5\n".encode("cp1252")
    file = open_table(write(tmp_path, content))
    assert rows_of(file)[0] == {"a": "Göteborg", "b": "1,5"}
    assert "The text is in cp1252." in file.notes


def test_a_name_for_no_column_and_numbers_for_names(tmp_path):
    assert open_table(write(tmp_path, ",x\n0,1\n1,2\n")).names == ["column_1", "x"]
    assert open_table(write(tmp_path, "x\n0\n1\n")).names == ["x"]
    assert "holds only numbers" in refused(write(tmp_path, "1,2\n3,4\n"))
    held = "a,b,\n" + "1,2,\n" * 400 + "1,2,hello\n"
    assert "Column 3 of" in refused(write(tmp_path, held))
    ragged = refused(write(tmp_path, "a,b\n1,2,3\n4,5,6\n"))
    assert "Line 2 of" in ragged
    assert "has 3 cells where the header has 2" in ragged


def test_decimal_commas_are_no_delimiters(tmp_path):
    file = open_table(write(tmp_path, "a;b\n1,5;2,5\n3,5;4,5\n"))
    assert file.names == ["a", "b"]
    quoted = open_table(write(tmp_path, 'a,b\n"1,5","2,5"\n"3,5","4,5"\n'))
    assert rows_of(quoted)[0] == {"a": "1,5", "b": "2,5"}


def test_names_that_say_another_thing_than_the_bytes(tmp_path):
    assert "let its name end in .gz" in refused(write(tmp_path, gzip.compress(b"a\n1\n")))
    assert "whatever its name says" in refused(write(tmp_path, b"PK\x03\x04...."))
    assert "before 2007" in refused(write(tmp_path, b"\xd0\xcf\x11\xe0....", "t.xlsx"))
    assert "not a spreadsheet" in refused(write(tmp_path, b"hello", "t.xlsx"))
    assert "not a whole gzip file" in refused(
        write(tmp_path, gzip.compress(b"a,b\n1,2\n" * 999)[:-20], "t.csv.gz")
    )


def test_what_is_no_text_is_refused_in_a_sentence(tmp_path):
    plain = write(tmp_path, b"a,b\n1,x\n", "plain.csv.gz")
    assert refused(plain).endswith("is not compressed by gzip: let its name end without .gz.")
    photo = write(tmp_path, bytes(range(256)) * 9, "photo.csv")
    assert "holds zero bytes, so it is not text" in refused(photo)
    assert "has no ending" in refused(write(tmp_path, b"a,b\n1,x\n", "plain"))


def test_json_lines(tmp_path):
    lines = [
        {"age": 51, "sex": "f", "ok": True, "more": [1, 2]},
        {"age": 2.5, "sex": None, "ok": False, "id": 12345678901234567890},
        {"age": float("nan"), "late": "x"},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n\n"
    file = open_table(write(tmp_path, text, "t.jsonl"))
    assert file.names == ["age", "sex", "ok", "more", "id", "late"]
    rows = rows_of(file)
    assert [row["age"] for row in rows] == [51, 2.5, None]
    assert rows[0]["more"] == "[1, 2]"
    assert rows[1]["id"] == "12345678901234567890"
    assert rows[2]["ok"] is None
    packed = write(tmp_path, gzip.compress(text.encode()), "t.jsonl.gz")
    assert rows_of(open_table(packed)) == rows
    with table_writer(tmp_path / "out.jsonl") as writer:
        for batch in file.batches():
            writer.write(batch)
    assert rows_of(open_table(tmp_path / "out.jsonl")) == rows
    assert "Line 2 of" in refused(write(tmp_path, '{"a": 1}\n{"a": \n', "t.jsonl"))
    assert "not an object" in refused(write(tmp_path, "[1, 2]\n", "t.jsonl"))
    assert "is empty" in refused(write(tmp_path, "\n", "t.jsonl"))


def test_spreadsheets(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "notes"
    sheet = book.create_sheet("visits")
    sheet.append(["Visits of 2024"])
    sheet.append(["age", "zip", "seen", "ok", None])
    day = pd.Timestamp("2024-01-31").to_pydatetime()
    sheet.append([51, "01234", day, True])
    sheet.append([None, "90210", day, False])
    sheet.append([2.5, None, None, None])
    sheet.append([None] * 4)
    path = tmp_path / "t.xlsx"
    book.save(path)
    file = open_table(path)
    assert file.names == ["age", "zip", "seen", "ok"]
    assert rows_of(file) == [
        {"age": 51.0, "zip": "01234", "seen": day, "ok": True},
        {"age": None, "zip": "90210", "seen": day, "ok": False},
        {"age": 2.5, "zip": None, "seen": None, "ok": None},
    ]
    assert "Sheet 'visits' of 'notes', 'visits' is read." in file.notes
    assert "'Visits of 2024'" in file.notes[1]
    with table_writer(tmp_path / "out.xlsx") as writer:
        for batch in file.batches():
            writer.write(batch)
    assert rows_of(open_table(tmp_path / "out.xlsx")) == rows_of(file)


def test_no_text_becomes_a_formula(tmp_path):
    file = open_table(write(tmp_path, "a,b\n=1+1,x\n"))
    with table_writer(tmp_path / "t.xlsx") as writer:
        for batch in file.batches():
            writer.write(batch)
    cell = openpyxl.load_workbook(tmp_path / "t.xlsx").active["A2"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


def test_folders_and_patterns(tmp_path):
    write(tmp_path, "b,a\nx,1\n", "one.csv")
    write(tmp_path, "a;b\n2;y\n3;z\n", "two.csv")
    write(tmp_path, "no table", "read.me")
    for path in (tmp_path, tmp_path / "*.csv"):
        file = open_table(path)
        assert rows_of(file) == [{"b": r["b"], "a": r["a"]} for r in ROWS]
        assert file.notes[0].startswith("2 files are read as one table")
    before = open_table(tmp_path).fingerprint()
    pd.DataFrame({"a": [4], "b": ["w"]}).to_parquet(tmp_path / "z.parquet")
    assert rows_of(open_table(tmp_path))[-1] == {"b": "w", "a": "4"}
    assert open_table(tmp_path).fingerprint() != before
    write(tmp_path, "a,c\n1,2\n", "odd.csv")
    assert "have different columns ('b', 'c'" in refused(tmp_path)
    assert "No file is named like" in refused(tmp_path / "*.tsv")
    (tmp_path / "empty").mkdir()
    assert "holds no table" in refused(tmp_path / "empty")


def test_outputs_that_cannot_be_written_are_refused_first(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(TableError, match="Nothing can be written in the folder"):
        check_output(tmp_path / "t.csv", force=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    rng = np.random.default_rng(0)
    x = rng.uniform(10, 40, 90).round(1)
    frame = pd.DataFrame(
        {"x": x, "kind": rng.choice(["é", "ü"], 90), "y": np.where(x > 25, "hög", "låg")}
    )
    frame.to_csv(folder / "t.csv", sep=";", decimal=",", index=False, encoding="cp1252")
    made = runner.invoke(
        app, ["train", str(folder / "t.csv"), "--target", "y", "--out", str(folder / "m.kin")]
    )
    assert made.exit_code == 0, made.output
    said = " ".join(made.output.split())
    assert "Cells are parted by a semicolon." in said
    assert "The text is in cp1252." in said
    assert "The decimal mark is a comma." in said
    return folder


def predict(folder, *arguments, given=None):
    result = runner.invoke(
        app, ["predict", str(folder / "m.kin"), *map(str, arguments)], input=given
    )
    assert result.exit_code == 0, result.output
    return result


def test_predict_writes_what_it_read(folder, tmp_path):
    predict(folder, folder / "t.csv", "--out", tmp_path / "s.csv")
    lines = (tmp_path / "s.csv").read_text("cp1252").splitlines()
    assert lines[0] == "x;kind;y;predicted;p_hög;p_låg;decision;reason"
    read = pd.read_csv(tmp_path / "s.csv", sep=";", decimal=",", encoding="cp1252")
    assert (read["predicted"] == read["y"]).mean() > 0.8
    assert read["p_hög"].between(0, 1).all()
    predict(folder, folder / "t.csv", "--out", tmp_path / "s.xlsx")
    sheet = pd.read_excel(tmp_path / "s.xlsx")
    np.testing.assert_array_equal(sheet["p_hög"], read["p_hög"])


@pytest.mark.parametrize("ending", ["jsonl", "csv.gz", "xlsx", "parquet"])
def test_every_format_has_the_same_answers(folder, tmp_path, ending):
    predict(folder, folder / "t.csv", "--out", tmp_path / "a.parquet")
    expected = pd.read_parquet(tmp_path / "a.parquet")["p_hög"]
    frame = pd.read_csv(folder / "t.csv", sep=";", decimal=",", encoding="cp1252")
    path = tmp_path / f"t.{ending}"
    {
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "csv.gz": lambda: frame.to_csv(path, index=False),
        "xlsx": lambda: frame.to_excel(path, index=False),
        "parquet": lambda: frame.to_parquet(path),
    }[ending]()
    predict(folder, path, "--out", tmp_path / "b.parquet")
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "b.parquet")["p_hög"], expected)


def test_standard_input_and_output(folder):
    given = (folder / "t.csv").read_bytes()
    result = predict(folder, "-", "--out", "-", given=given)
    read = pd.read_csv(io.BytesIO(result.stdout_bytes), sep=";", decimal=",", encoding="cp1252")
    assert len(read) == 90
    assert "handed over" in result.stderr
    frame = pd.read_csv(folder / "t.csv", sep=";", decimal=",", encoding="cp1252")
    packed = gzip.compress(frame.to_json(orient="records", lines=True).encode())
    again = predict(folder, "-", "--out", "-", given=packed)
    read_again = pd.read_csv(io.BytesIO(again.stdout_bytes))
    np.testing.assert_array_equal(read_again["p_hög"], read["p_hög"])
    both = runner.invoke(app, ["predict", str(folder / "m.kin"), "-", "--out", "-", "--json"])
    assert "both write to standard output" in both.stderr
    empty = runner.invoke(app, ["predict", str(folder / "m.kin"), "-", "--out", "-"], input=b"")
    assert "Standard input is empty" in empty.stderr
