"""Reading tables: what is refused and how it is said, column kinds, even samples, writing back."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinlearn.archives.atomic_write import replacing
from kinlearn.cells.cell_rules import CellRules, objects
from kinlearn.cells.refusals import TableError
from kinlearn.cells.schema import StrayCells, TableSchema
from kinlearn.datasets import make_clinic_table
from kinlearn.tables.columns import infer_columns
from kinlearn.tables.example import write_example
from kinlearn.tables.files import open_table
from kinlearn.tables.output import check_output, table_writer
from kinlearn.tables.sample import read_sample
from kinlearn.tables.targets import read_classes, read_labels


def rows_of(file):
    return [row for batch in file.batches() for row in batch.to_pylist()]


def write(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path, **options):
    with pytest.raises(TableError) as caught:
        rows_of(open_table(path, **options))
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    return sentence


def test_cells_are_read_as_they_stand(tmp_path):
    text = 'a,b\n1.50,"x, ""y"""\n,NA\n"two\nlines",é\n'
    rows = rows_of(open_table(write(tmp_path, text)))
    assert rows == [
        {"a": "1.50", "b": 'x, "y"'},
        {"a": "", "b": "NA"},
        {"a": "two\nlines", "b": "é"},
    ]


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.tsv", b"a\tb\n1\t2\n", {}),
        ("t.csv", b"a;b\n1;2\n", {"delimiter": ";"}),
        ("t.txt", b"a\tb\n1\t2\n", {"delimiter": "tab"}),
        ("t.csv", "\ufeffa,b\n1,2\n".encode(), {}),
        ("t.csv", b"\n\na,b\r\n1,2\r\n\r\n", {}),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("t.csv", b"a,b\n1,2", {}),
    ],
)
def test_other_dialects(tmp_path, name, content, options):
    file = open_table(write(tmp_path, content, name), **options)
    assert file.names == ["a", "b"]
    assert rows_of(file) == [{"a": "1", "b": "2"}]


def test_other_encodings_by_name(tmp_path):
    path = write(tmp_path, "a,b\nGöteborg,2\n".encode("cp1252"))
    assert rows_of(open_table(path, encoding="cp1252")) == [{"a": "Göteborg", "b": "2"}]


def test_parquet_is_read_in_batches(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(45_000), "b": ["x"] * 45_000}), path)
    sizes = [batch.num_rows for batch in open_table(path).batches()]
    assert sum(sizes) == 45_000
    assert max(sizes) <= 20_000


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n"])
def test_empty_files(tmp_path, content):
    path = write(tmp_path, content)
    with pytest.raises(TableError, match="is empty"):
        read_sample(open_table(path), 10, 0)


def test_ragged_rows_are_named_by_their_line(tmp_path):
    body = "".join(f"{i},{i},x\n" for i in range(50))
    path = write(tmp_path, f'a,b,c\n"quoted\nbreak",1,x\n{body}1,2\n{body}')
    sentence = refused(path)
    assert "Line 54 of" in sentence
    assert "has 2 cells where the header has 3" in sentence


def test_an_open_quote_is_named(tmp_path):
    path = write(tmp_path, 'a,b\n1,2\n"1,2\n3,4\n5,6\n')
    assert "Line 3 of" in refused(path)


def test_a_wrong_delimiter_is_named(tmp_path):
    path = write(tmp_path, "a;b;c\n1,5;2;3\n4,5;5;6\n")
    assert open_table(path).names == ["a", "b", "c"]
    path = write(tmp_path, "a;b;c\n1;2;3\n4;5;6\n")
    assert refused(path, delimiter=",").endswith(
        'has one column when a comma separates them, but 3 with a semicolon: give --delimiter ";".'
    )


def test_mixed_encodings_are_named_by_their_byte(tmp_path):
    good = "a,b\n" + "ä,1\n" * 400_000
    content = good.encode() + "é,1\n".encode("latin-1") + b"z,1\n"
    sentence = refused(write(tmp_path, content))
    assert f"byte {len(good.encode())} (line 400002)" in sentence
    assert "--encoding cp1252" in sentence
    assert "mixes encodings" in sentence


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b,a\n1,2,3\n", "'a' 2 times (columns 1, 3)"),
        (b"1,2.5\n3,4\n", "holds only numbers"),
        (b"a,b\n1,\x00\n", "zero bytes"),
        (b"a,b\n\x81\xc3\xa9\xc3\xa9\n", "is not utf-8 throughout: byte 4"),
    ],
)
def test_headers_and_bytes_that_cannot_be_right(tmp_path, content, words):
    assert words in refused(write(tmp_path, content))


def test_files_that_are_no_tables(tmp_path):
    assert "its format is unknown" in refused(write(tmp_path, b"x", "t.docx"))
    assert "There is no file" in refused(tmp_path / "none.csv")
    assert "not a Parquet file" in refused(write(tmp_path, b"PAR1", "t.parquet"))
    with pytest.raises(TableError, match="no encoding 'klingon'"):
        open_table(write(tmp_path, b"a\n1\n"), encoding="klingon")
    with pytest.raises(TableError, match="one character"):
        open_table(write(tmp_path, b"a\n1\n"), delimiter="ab")


def test_rows_longer_than_a_block(tmp_path):
    path = write(tmp_path, "a,b\n1," + "x" * (5 << 20) + "\n2,y\n")
    assert [row["a"] for row in rows_of(open_table(path))] == ["1", "2"]


def test_numbers_agree_with_python():
    texts = ["1", " 2.5", "+3", "-.5", "4.", "1e-3", "1E5", "x", "", "NA", "1.2.3", "inf", "0x1"]
    values, stray = CellRules().numbers(pa.array(texts))
    expected = [1, 2.5, 3, -0.5, 4, 1e-3, 1e5] + [np.nan] * 6
    np.testing.assert_array_equal(values, expected)
    assert [t for t, s in zip(texts, stray, strict=True) if s] == ["x", "1.2.3", "inf", "0x1"]


def test_decimal_commas():
    values, stray = CellRules(decimal=",").numbers(pa.array(["1,5", "1.234,5", "2"]))
    np.testing.assert_array_equal(values, [1.5, 1234.5, 2])
    assert not stray.any()


def test_texts_agree_between_csv_and_parquet():
    rules = CellRules()
    assert rules.texts(pa.array([1.0, None, 2.5])).to_pylist() == ["1", None, "2.5"]
    assert rules.texts(pa.array([1, None])).to_pylist() == ["1", None]
    assert rules.texts(pa.array(["a", "b"]).dictionary_encode()).to_pylist() == ["a", "b"]
    assert rules.texts(pa.array([True, None])).to_pylist() == ["True", None]
    assert objects(rules.texts(pa.array(["a", ""]))).tolist()[0] == "a"


def test_column_kinds():
    n = 60
    table = pa.table(
        {
            "name": [f"row {i}" for i in range(n)],
            "counter": [str(i + 5) for i in range(n)],
            "patient_id": [str(17 * i % 1009) for i in range(n)],
            "date": ["2024-01-31"] * 30 + ["2024-02-01 10:30"] * 30,
            "day": ["1.2.2024", "28.2.24"] * 30,
            "age": [str(20 + i % 40) for i in range(n)],
            "typo": [str(i % 7) for i in range(n - 1)] + ["many"],
            "sex": ["f", "m"] * 30,
            "empty": [""] * n,
            "same": ["1"] * n,
            "mixed": ["1", "two"] * 30,
        }
    )
    columns = {c.name: c for c in infer_columns(table, CellRules())}
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {
        "name": "dropped",
        "counter": "dropped",
        "patient_id": "dropped",
        "date": "date",
        "day": "date",
        "age": "numeric",
        "typo": "numeric",
        "sex": "categorical",
        "empty": "dropped",
        "same": "dropped",
        "mixed": "categorical",
    }
    assert "'many'" in columns["typo"].why
    assert columns["empty"].n_missing == n
    wished = infer_columns(
        table, CellRules(), numeric=["counter"], categorical=["age"], drop=["sex"], apart=["mixed"]
    )
    kinds = {c.name: c.kind for c in wished}
    assert (kinds["counter"], kinds["age"], kinds["sex"]) == ("numeric", "categorical", "dropped")
    assert "mixed" not in kinds
    with pytest.raises(TableError, match=r"no column 'agee'\. Did you mean 'age'"):
        infer_columns(table, CellRules(), numeric=["agee"])
    with pytest.raises(TableError, match="both"):
        infer_columns(table, CellRules(), numeric=["age"], drop=["age"])


def test_targets_that_are_none():
    rules = CellRules()
    numbers = pa.array([f"{i * 1.7:.1f}" for i in range(500)])
    with pytest.raises(TableError, match=r"500 distinct values.*looks like a number to predict"):
        read_classes(numbers, "cost", rules)
    with pytest.raises(TableError, match="name or free text"):
        read_classes(pa.array([f"n{i}" for i in range(200)]), "who", rules)
    with pytest.raises(TableError, match="one value only, 'a'"):
        read_classes(pa.array(["a", "a"]), "y", rules)
    with pytest.raises(TableError, match="is empty in every row"):
        read_classes(pa.array(["", ""]), "y", rules)
    digits = pa.array([str(i % 10) for i in range(300)])
    assert len(set(read_classes(digits, "digit", rules))) == 10


def test_labels_are_yes_or_no():
    rules = CellRules()
    found = read_labels({"a": pa.array(["Yes", "no", "?"]), "b": pa.array([1, 0, None])}, rules)
    np.testing.assert_array_equal(found, [[1, 1], [0, 0], [np.nan, np.nan]])
    with pytest.raises(TableError, match="'maybe', but a label is yes or no"):
        read_labels({"a": pa.array(["yes", "maybe"])}, rules)
    with pytest.raises(TableError, match="holds yes in every row"):
        read_labels({"a": pa.array(["yes", ""])}, rules)


def test_samples_are_even_and_repeatable(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("i\n" + "\n".join(map(str, range(1, 60_001))))
    file = open_table(path)
    sample = read_sample(file, 3000, seed=1)
    assert sample.table.num_rows == 3000
    assert sample.n_rows_in_file == 60_000
    values = np.array(sample.table["i"].to_pylist(), dtype=int)
    np.testing.assert_array_equal(values, sample.positions)
    counts, _ = np.histogram(values, bins=10, range=(1, 60_001))
    # 300 expected in each tenth; five standard deviations either way.
    assert (np.abs(counts - 300) < 85).all()
    again = read_sample(file, 3000, seed=1)
    np.testing.assert_array_equal(again.positions, sample.positions)
    assert (read_sample(file, 3000, seed=2).positions != sample.positions).any()
    odd = read_sample(file, 10**6, 0, lambda b: np.array(b["i"].to_pylist(), dtype=int) % 2 == 1)
    np.testing.assert_array_equal(odd.positions, np.arange(1, 60_001, 2))


def test_stray_cells_are_counted_or_refused():
    schema = TableSchema(numeric=["a"], categorical=[])
    notes = StrayCells("new.csv")
    batch = pa.record_batch({"a": ["1", "2", "x", "4"]})
    frame = schema.frame(batch, notes)
    np.testing.assert_array_equal(frame["a"], [1, 2, np.nan, 4])
    assert notes.sentences() == [
        "1 cells of 'a' hold no number (such as 'x'): they were answered as missing."
    ]
    many = pa.record_batch({"a": ["x", "y", "3"] * 8})
    with pytest.raises(TableError, match="trained with numbers"):
        schema.frame(many, notes)


def test_a_schema_survives_its_facts():
    schema = TableSchema(numeric=["a"], categorical=["b"], target="y", task="t", decimal=",")
    assert TableSchema.from_facts(schema.as_facts()) == schema
    with pytest.raises(TableError, match="trained with column 't'"):
        schema.check(["a", "b"], "new.csv")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_what_is_written_is_read_again(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    batch = pa.record_batch({"a": ['x, "y"', "tab\there", None], "p": [0.25, 1e-6, 1.0]})
    with table_writer(path) as writer:
        writer.write(batch)
        writer.write(batch)
    rows = rows_of(open_table(path))
    assert len(rows) == 6
    assert rows[0]["a"] == 'x, "y"'
    assert [float(row["p"]) for row in rows[:3]] == [0.25, 1e-6, 1.0]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def fail():
        with replacing(path) as partial:
            partial.write_text("half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_outputs_are_checked_first(tmp_path):
    path = write(tmp_path, b"old")
    with pytest.raises(TableError, match="exists: give another name, or --force"):
        check_output(path, force=False)
    check_output(path, force=True)
    with pytest.raises(TableError, match="would overwrite what is read"):
        check_output(path, force=True, inputs=[path])
    with pytest.raises(TableError, match="is a folder"):
        check_output(tmp_path, force=True)
    with pytest.raises(TableError, match="does not exist: make it first"):
        check_output(tmp_path / "no" / "t.csv", force=False)


def test_the_example_has_sites_kinds_and_gaps(tmp_path):
    path = tmp_path / "clinic.csv"
    write_example(path, 400, 0)
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 400
    assert len({row["site"] for row in rows}) == 6
    assert any(row["crp"] == "" for row in rows)
    assert rows[0]["age"].isdigit()


def test_the_clinic_tells_its_truth():
    columns, probability = make_clinic_table(40_000, return_probability=True, random_state=3)
    outcome = columns["readmitted"] == "yes"
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        some = (probability >= low) & (probability < low + 0.2)
        assert abs(outcome[some].mean() - probability[some].mean()) < 0.02
    again = make_clinic_table(40_000, random_state=3)
    assert (again["readmitted"] == columns["readmitted"]).all()
    with pytest.raises(ValueError, match="at least 1"):
        make_clinic_table(0)
