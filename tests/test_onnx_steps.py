"""Every step that goes into an ONNX graph gives there what it gives in scikit-learn, or is refused.

Rows are fresh, with categories never seen and missing cells, and are handed to the graph by the
types it declares.
"""

import builtins

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from onnx import TensorProto
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from typer.testing import CliRunner

import kinlearn
from kinlearn import LSPC, HandOver, MultiLabelLSPC, MultiTaskLSPC, to_onnx, with_prior
from kinlearn.cli import app
from kinlearn.tables.example import write_example

N = 60


def is_missing(value):
    return value is None or value is pd.NA or value != value


def as_text(values):
    return np.array([["" if is_missing(v) else str(v)] for v in values], dtype=object)


def as_numbers(values, dtype=np.float64):
    return np.array([[np.nan if is_missing(v) else as_number(v)] for v in values], dtype=dtype)


def as_number(value):
    """A number, or the days since 1970 of a date."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return (pd.Timestamp(value) - pd.Timestamp(0)) / pd.Timedelta(days=1)


def run(graph, frame, **more):
    """Probabilities for a table, each column given as the type the graph asks for."""
    feeds = dict(more)
    for value in graph.graph.input:
        kind = value.type.tensor_type.elem_type
        if value.name not in more and kind == TensorProto.STRING:
            feeds[value.name] = as_text(frame[value.name])
        elif value.name not in more:
            single = kind == TensorProto.FLOAT
            feeds[value.name] = as_numbers(frame[value.name], np.float32 if single else float)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["probabilities"], feeds)[0]


def gap(model, new, X=None, **options):
    graph = to_onnx(model, X, **options)
    expected = model.predict_proba(new)
    assert np.ptp(expected, axis=0).max() > 0.05  # answers that differ between rows
    return np.abs(run(graph, new) - expected).max()


# -- categories -------------------------------------------------------------------------------

NAN = float("nan")
# Levels, dtype, the missing value among the training rows if any, and what only new rows have.
CATEGORIES = {
    "object": (["a", "b", "c"], object, None, ["z"]),
    "object, missing": (["a", "b", "c"], object, NAN, ["z", NAN]),
    "object, None": (["a", "b", "c"], object, "None", ["z", None]),
    "object, missing in new rows": (["a", "b", "c"], object, None, ["z", NAN]),
    "str": (["a", "b", "c"], "str", NAN, ["z", NAN]),
    "string": (["a", "b", "c"], "string", None, ["z"]),
    "arrow string": (["a", "b", "c"], "string[pyarrow]", None, ["z"]),
    "digits": (["1", "2", "03"], object, None, ["3", "1.0"]),
    "category of text": (["a", "b", "c"], "category", NAN, ["z", NAN]),
    "category of int": ([1, 2, 5], "category", NAN, [7, NAN]),
    "category of float": ([0.1, 0.2, 0.5], "category", None, [0.7]),
    "category of bool": ([True, False, True], "category", None, []),
    "bool": ([True, False, True], bool, None, []),
    "boolean": ([True, False, True], "boolean", None, []),
    "boolean, missing": ([True, False, True], "boolean", NAN, [pd.NA]),
    "arrow bool": ([True, False, True], "bool[pyarrow]", None, []),
    "object of bool": ([True, False, True], object, NAN, [NAN]),
    "int": ([1, 2, 5], int, None, [7, 0]),
    "int, with fractions in new rows": ([1, 2, 5], int, None, [1.5, 2.0, 2.999, NAN]),
    "large int": ([-1, 0, 2**53 - 1], int, None, [2**53 - 2, 7]),
    "uint8": ([1, 2, 255], "uint8", None, [7]),
    "Int64": ([1, 2, 5], "Int64", NAN, [7, pd.NA]),
    "arrow int": ([1, 2, 5], "int64[pyarrow]", NAN, [7, pd.NA]),
    "object of int": ([1, 2, 5], object, None, [7]),
    "object of int, missing": ([1, 2, 5], object, NAN, [7, NAN]),
    "float": ([0.1, 0.2, 2.5], float, None, [0.15, 1.0, 2.0]),
    "float, missing": ([0.1, 0.2, 2.5], float, NAN, [0.15, NAN, 2.0]),
    "whole float, missing": ([1.0, 2.0, 3.0], float, NAN, [1.5, NAN, -1.0]),
    "huge float": ([1e300, -1e300, 0.0], float, None, [1e299, -0.0]),
    "Float64": ([0.1, 0.2, 2.5], "Float64", NAN, [0.15, pd.NA]),
    "float32": ([0.1, 0.2, 2.5], "float32", None, [0.5]),
}
ENCODERS = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "rare together": OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2),
    "first left out": OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
    "ordinal": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    ),
    "ordinal, unknown is NaN": make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
        SimpleImputer(add_indicator=True),
    ),
    "most frequent": make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
}
# scikit-learn itself refuses to impute bools
CASES = [
    (column, encoder)
    for column in CATEGORIES
    for encoder in ENCODERS
    if not (encoder == "most frequent" and column in ("bool", "category of bool"))
    and not (encoder == "most frequent" and column == "object, None")
]


def labelled(name):
    """Training rows with a number and a category, their classes, and new rows."""
    levels, dtype, missing, extra = CATEGORIES[name]
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, N)
    cells = np.array(levels, dtype=object)[level]
    absent = rng.random(N) < 0.2
    if missing is not None:
        cells[absent] = None if missing == "None" else missing
    number = rng.normal(size=N)
    frame = pd.DataFrame({"x": number, "c": pd.Series(cells, dtype=object).astype(dtype)})
    first = np.array([cell == levels[0] for cell in cells])
    y = first ^ (number > 1)
    fresh = pd.Series([*cells[:15], *extra], dtype=object)
    if any(isinstance(v, float) and v != int(v) for v in extra if not is_missing(v)):
        dtype = float if dtype is int else dtype
    new = pd.DataFrame({"x": rng.normal(size=len(fresh)), "c": _typed(fresh, dtype)})
    return frame, np.where(y, "yes", "no"), new


def _typed(cells, dtype):
    if dtype in (int, "uint8") and cells.map(is_missing).any():
        return cells.astype(float)
    return cells.astype(dtype)


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize(("column", "encoder"), CASES)
def test_categories_of_every_dtype(column, encoder):
    frame, y, new = labelled(column)
    front = make_column_transformer((StandardScaler(), ["x"]), (ENCODERS[encoder], ["c"]))
    model = make_pipeline(front, LSPC()).fit(frame, y)
    assert gap(model, new) < 1e-9
    assert gap(model, new, frame) < 1e-9


def test_columns_of_all_kinds_in_one_encoder():
    names = ["object", "bool", "int", "float, missing", "category of int", "boolean"]
    parts = {name: labelled(name) for name in names}
    frame = pd.DataFrame({name: parts[name][0]["c"] for name in names})
    new = pd.DataFrame({name: parts[name][2]["c"][:15] for name in names})
    new.loc[2, "object"], new.loc[3, "float, missing"], new.loc[4, "int"] = "z", 0.3, 9
    for encoder in (
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ):
        encoder = make_pipeline(encoder, SimpleImputer())
        front = ColumnTransformer([("all", encoder, names)])
        model = make_pipeline(front, LSPC()).fit(frame, parts["object"][1])
        assert gap(model, new) < 1e-9


def test_one_imputer_for_text_and_numbers():
    frame, y, _ = labelled("object, missing")
    frame["code"] = labelled("object of int, missing")[0]["c"]
    frame["flag"] = labelled("object of bool")[0]["c"]
    new = frame.iloc[:20].copy()
    new["code"] = [NAN, 2, 5, 7, 1] * 4
    encoder = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    front = make_column_transformer((encoder, ["c", "code", "flag"]), remainder="passthrough")
    model = make_pipeline(front, LSPC()).fit(frame, y)
    assert gap(model, new.astype({"code": object})) < 1e-9


def test_unknown_categories_as_errors():
    for name in ("int", "float", "object"):
        frame, y, new = labelled(name)
        front = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
        model = make_pipeline(front, LSPC()).fit(frame, y)
        assert gap(model, frame) < 1e-9
        with pytest.raises(Exception, match="Gather"):
            run(to_onnx(model), new)


def test_marks_for_missing():
    frame, y, _ = labelled("object")
    frame["c"] = frame["c"].where(np.arange(N) % 4 > 0, "?")
    frame["x"] = frame["x"].where(np.arange(N) % 5 > 0, -999.0)
    front = make_column_transformer(
        (SimpleImputer(missing_values=-999, add_indicator=True), ["x"]),
        (
            make_pipeline(
                SimpleImputer(missing_values="?", strategy="constant", fill_value="gone"),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            ["c"],
        ),
    )
    model = make_pipeline(front, LSPC()).fit(frame, y)
    assert gap(model, frame) < 1e-9


@pytest.mark.parametrize("keep", [True, False])
def test_columns_without_a_single_value(keep):
    frame, y, _ = labelled("object, missing")
    frame["empty"], frame["none"] = np.nan, pd.Series([np.nan] * N, dtype=object)
    imputer = SimpleImputer(strategy="constant", fill_value="?", keep_empty_features=keep)
    encoder = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore"))
    front = make_column_transformer(
        (SimpleImputer(keep_empty_features=keep), ["empty", "x"]), (encoder, ["none", "c"])
    )
    with pytest.warns() if not keep else _nothing():
        model = make_pipeline(front, LSPC()).fit(frame, y)
        expected = model.predict_proba(frame)
    assert np.abs(run(to_onnx(model), frame) - expected).max() < 1e-9


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_arrays_of_text_and_of_numbers():
    """Without names all columns are one input, of one type."""
    text = np.array(["a", "b", "c"], dtype=object)[np.random.default_rng(0).integers(0, 3, (N, 2))]
    y = text[:, 0] == "a"
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LSPC()).fit(text, y)
    new = np.vstack([text[:20], [["z", "a"]]]).astype(object)
    session = onnxruntime.InferenceSession(to_onnx(model, text).SerializeToString())
    found = session.run(["probabilities"], {"X": new})[0]
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-9)
    mixed = np.column_stack([text[:, 0], np.arange(N) % 3]).astype(object)
    front = ColumnTransformer([("c", OneHotEncoder(), [0]), ("n", StandardScaler(), [1])])
    model = make_pipeline(front, LSPC()).fit(mixed, y)
    with pytest.raises(ValueError, match="'X' is read as text by one step and as numbers"):
        to_onnx(model)


def test_numbers_given_as_text():
    """A scaler makes numbers of texts; the graph takes the numbers."""
    frame, y, new = labelled("float")
    frame["x"], new["x"] = frame["x"].astype(str), new["x"].astype(str)
    front = make_column_transformer(
        (StandardScaler(), ["x"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
    )
    model = make_pipeline(front, LSPC()).fit(frame, y)
    assert gap(model, new, frame) < 1e-9


def test_whole_numbers_in_training_and_fractions_later():
    frame, _, new = labelled("object")
    frame["x"] = np.arange(N) % 7
    new["x"] = np.linspace(-1, 7, len(new))
    for step in (
        StandardScaler(),
        SimpleImputer(),
        SimpleImputer(strategy="most_frequent"),
        "passthrough",
        KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
    ):
        front = make_column_transformer(
            (step, ["x"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
        )
        model = make_pipeline(front, LSPC()).fit(frame, frame["x"] > 3)
        assert gap(model, new) < 1e-9


def test_single_precision_of_categories():
    frame, y, new = labelled("int")
    front = make_column_transformer(
        (StandardScaler(), ["x"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
    )
    model = make_pipeline(front, LSPC()).fit(frame, y)
    assert gap(model, new, frame, input_type="float") < 1e-6
    frame, y, _ = labelled("float")
    model = make_pipeline(front, LSPC()).fit(frame, y)
    with pytest.raises(ValueError, match=r'for .c. hold .*0\.1.* single .* input_type="double"'):
        to_onnx(model, input_type="float")


# -- numbers ----------------------------------------------------------------------------------

NUMERIC = {
    "standard": StandardScaler(),
    "only centred": StandardScaler(with_std=False),
    "robust": RobustScaler(),
    "robust, not centred": RobustScaler(with_centering=False),
    "maximum": MaxAbsScaler(),
    "range": MinMaxScaler((-1, 2)),
    "range, cut": MinMaxScaler(clip=True),
    "l1": Normalizer("l1"),
    "l2": Normalizer(),
    "largest": Normalizer("max"),
    "components": PCA(2),
    "whitened": PCA(2, whiten=True),
    "singular values": TruncatedSVD(2),
    "products": PolynomialFeatures(2),
    "products of degree 3": PolynomialFeatures(3, include_bias=False),
    "interactions": PolynomialFeatures(3, interaction_only=True),
    "binary": Binarizer(threshold=0.2),
    "bins": KBinsDiscretizer(4, encode="onehot", quantile_method="averaged_inverted_cdf"),
    "numbered bins": KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "powers": PowerTransformer(),
    "powers of positive numbers": make_pipeline(
        MinMaxScaler((1, 2), clip=True), PowerTransformer("box-cox", standardize=False)
    ),
    "chosen by variance": VarianceThreshold(0.5),
    "chosen by class": SelectKBest(k=2),
    "same": FunctionTransformer(),
    "union": make_union(StandardScaler(), PCA(2), "passthrough"),
    "weighted union": FeatureUnion(
        [("a", StandardScaler()), ("b", PolynomialFeatures(2)), ("c", "drop")],
        transformer_weights={"a": 3.0},
    ),
    "skipped": make_pipeline("passthrough", StandardScaler()),
}


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.2]
    return rows, np.where(rows[:, 0] + rows[:, 1] * rows[:, 2] > 0, "b", "a"), rng


@pytest.mark.parametrize("name", NUMERIC)
def test_numbers_to_numbers(name, numbers):
    rows, y, rng = numbers
    new = np.vstack([rng.normal(size=(40, 3)) * 2, np.zeros((1, 3)), rows[:5], rows[:1] * 50])
    model = make_pipeline(NUMERIC[name], LSPC(sigma=3.0)).fit(rows, y)
    session = onnxruntime.InferenceSession(to_onnx(model, rows).SerializeToString())
    found = session.run(["probabilities"], {"X": new})[0]
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NUMERIC)
def test_numbers_of_a_table_beside_categories(name, numbers):
    rows, y, rng = numbers
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(code=np.arange(N) % 4)
    new = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    new["code"] = np.arange(30) % 6
    front = make_column_transformer(
        (make_pipeline(SimpleImputer(), NUMERIC[name]), ["c", "a", "b"]),
        (OneHotEncoder(handle_unknown="ignore"), ["code"]),
    )
    model = make_pipeline(front, LSPC(sigma=3.0)).fit(frame, y)
    new.loc[::4, "a"] = np.nan
    assert gap(model, new) < 1e-9


def test_small_powers(numbers):
    """Where a power is next to nothing, the formula takes a difference of next to nothing."""
    rows, y, _ = numbers
    step = PowerTransformer(standardize=False).fit(rows)
    for power in (0.0, 1e-15, 1e-9, 1e-6, 2.0, 2 - 1e-9):
        step.lambdas_[:] = power
        model = make_pipeline(step, LSPC())
        model.steps[-1] = ("lspc", LSPC().fit(step.transform(rows), y))
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        found = session.run(["probabilities"], {"X": rows})[0]
        np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-8)


def test_missing_numbers_pass_through_scalers(numbers):
    rows, y, _ = numbers
    rows = rows.copy()
    rows[::5, 1] = np.nan
    for scale in (
        StandardScaler(),
        RobustScaler(),
        MaxAbsScaler(),
        MinMaxScaler(clip=True),
        PowerTransformer(),
    ):
        model = make_pipeline(scale, SimpleImputer(add_indicator=True), LSPC()).fit(rows, y)
        session = onnxruntime.InferenceSession(to_onnx(model, rows).SerializeToString())
        found = session.run(["probabilities"], {"X": rows})[0]
        np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-9)


def test_weights_and_columns_inside_columns():
    frame, y, new = labelled("int")
    frame["d"], new["d"] = np.arange(N) % 5, np.arange(len(new)) % 7
    inner = ColumnTransformer(
        [("code", OneHotEncoder(handle_unknown="ignore"), [1]), ("rest", "passthrough", [0])],
        transformer_weights={"code": 0.25},
    )
    front = ColumnTransformer(
        [("inner", inner, ["x", "c"]), ("d", make_pipeline("passthrough", MinMaxScaler()), ["d"])],
        transformer_weights={"inner": 2.0, "d": 0.5},
    )
    model = make_pipeline(front, StandardScaler(with_mean=False), LSPC()).fit(frame, y)
    assert gap(model, new) < 1e-9


def test_ids_of_tasks_that_are_no_whole_numbers_are_of_no_task():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.arange(N) % 3, rng.normal(size=(N, 2))])
    y = (rows[:, 1] > rows[:, 0] - 1).astype(int)
    rule = {"max_error": 0.4, "confidence": 0.5, "min_familiarity": 0.0}
    last = HandOver(MultiTaskLSPC(), task_column=0, **rule)
    model = make_pipeline(FunctionTransformer(), last).fit(rows, y)
    new = np.column_stack([np.tile([0.0, 1.5, 2.0, -0.5, 9.0], 6), rng.normal(size=(30, 2))])
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run(["probabilities"], {"X": new})[0]
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-9)


# -- models of the command line ---------------------------------------------------------------


@pytest.mark.parametrize("options", [["--target", "readmitted"], ["--target", "readmitted",
    "--task", "site"], ["--labels", "diabetes,hypertension", "--drop", "readmitted"]])  # fmt: skip
@pytest.mark.usefixtures("one_kernel_tables")
def test_models_of_tables(tmp_path, options):
    table, new = tmp_path / "clinic.csv", tmp_path / "new.csv"
    write_example(table, 150, 0)
    write_example(new, 80, 1)
    for path in (table, new):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        frame["ward"] = [str(1 + i % 4) for i in range(len(frame))]
        frame["private"] = [("True", "False", "")[i % 3] for i in range(len(frame))]
        frame.to_csv(path, index=False)
    more = ["--categorical", "ward", "--out", str(tmp_path / "model.kin")]
    result = CliRunner().invoke(app, ["train", str(table), *options, *more])
    assert result.exit_code == 0, result.output
    model = kinlearn.load(tmp_path / "model.kin")
    graph = to_onnx(model, pd.read_csv(table))
    rows = pd.read_csv(new).assign(ward=lambda t: t["ward"] + (t["ward"] == 4))
    rows.loc[:5, "private"], rows.loc[3, "age"] = None, np.nan
    expected = model.predict_proba(rows)
    assert np.abs(run(graph, model[0].transform(rows)) - expected).max() < 1e-7
    # as pandas writes bools, whole numbers and floats, too
    assert np.abs(run(graph, rows) - expected).max() < 1e-7
    assert np.abs(run(graph, rows.astype({"ward": float})) - expected).max() < 1e-7
    texts = rows.assign(private=rows["private"].map({True: "TRUE", False: "false"}).fillna("NA"))
    assert np.abs(run(graph, texts) - expected).max() < 1e-7


# -- refusals ---------------------------------------------------------------------------------


def encoded(values, encoder=None):
    """A model of one column of categories."""
    frame = pd.DataFrame({"c": pd.Series(values), "x": np.arange(len(values)) % 7.0})
    step = encoder or OneHotEncoder(handle_unknown="ignore")
    front = make_column_transformer((step, ["c"]), remainder="passthrough")
    return make_pipeline(front, LSPC()).fit(frame, np.arange(len(values)) % 4 == 1)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            lambda: encoded(list(pd.date_range("2024-01-01", periods=3)) * 4),
            r"OneHotEncoder has categories of type datetime64 for 'c'.* turn them into text",
        ),
        (
            lambda: encoded(np.array([2**60, 2**60 + 1, 5] * 4)),
            r"for 'c' hold 1152921504606846977, .* exact in double .* turn the column into text",
        ),
        (
            lambda: encoded(pd.Series(["a", "", NAN, "b"] * 3, dtype=object)),
            "OneHotEncoder has an empty text as a category",
        ),
        (
            lambda: encoded(pd.Series(["a", "", "c", "b"] * 3, dtype=object)),
            "put a word such as 'empty' in its place",
        ),
        (
            lambda: encoded(pd.Series(["a", None, NAN, "b"] * 3, dtype=object)),
            "None and NaN as two categories of one column",
        ),
        (
            lambda: encoded(
                pd.Series(["a", NAN, "b"] * 4, dtype=object),
                make_pipeline(
                    SimpleImputer(strategy="most_frequent", add_indicator=True), OneHotEncoder()
                ),
            ),
            "SimpleImputer with add_indicator=True",
        ),
        (
            lambda: encoded(
                pd.Series([1, 2, 3] * 4, dtype=object),
                make_pipeline(SimpleImputer(strategy="constant"), OneHotEncoder()),
            ),
            "OneHotEncoder takes numbers, but an imputer before it has filled in texts",
        ),
        (
            lambda: make_pipeline(QuantileTransformer(n_quantiles=10), LSPC()).fit(
                np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
            ),
            "QuantileTransformer",
        ),
        (
            lambda: make_pipeline(FunctionTransformer(np.cbrt), LSPC()).fit(
                np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
            ),
            r"skl2onnx cannot convert the step FunctionTransformer .* to_onnx\(model\[-1\]\)",
        ),
    ],
)
def test_what_has_no_equal_graph_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        to_onnx(model())


def test_an_empty_text_that_is_what_missing_ones_become():
    values = pd.Series(["a", "", NAN, "b"] * 3, dtype=object)
    fill = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=""), OneHotEncoder(handle_unknown="ignore")
    )
    model = encoded(values, fill)
    assert gap(model, pd.DataFrame({"c": values, "x": np.arange(12) % 7.0})) < 1e-9


def test_one_column_read_in_two_ways():
    frame, y, _ = labelled("digits")
    front = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["c"]), (StandardScaler(), ["c", "x"])
    )
    model = make_pipeline(front, LSPC()).fit(frame, y)
    with pytest.raises(ValueError, match="'c' is read as text by one step and as numbers"):
        to_onnx(model)


def test_steps_of_others_are_compared_with_the_model(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 3))
    model = make_pipeline(QuantileTransformer(n_quantiles=9), LSPC()).fit(rows, rows[:, 0] > 0)
    with pytest.raises(
        ValueError, match=r"QuantileTransformer is converted by skl2onnx.*\(model, X\)"
    ):
        to_onnx(model)
    real = kinlearn.export.steps.add_foreign

    def off(graph, step, parts):
        block = real(graph, step, parts)
        return type(block)(graph.add("Add", block.name, graph.constant(0.01)), block.width)

    session = onnxruntime.InferenceSession(to_onnx(model, rows).SerializeToString())
    found = session.run(["probabilities"], {"X": rows})[0]
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-6)
    monkeypatch.setattr("kinlearn.export.steps.add_foreign", off)
    with pytest.raises(ValueError, match=r"rows of X differ from the model's by up to 0\.0"):
        to_onnx(model, rows)
    monkeypatch.undo()
    plain = builtins.__import__

    def without(name, *rest, **more):
        if name == "onnxruntime":
            raise ImportError("No module named 'onnxruntime'")
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install onnxruntime"):
        to_onnx(model, rows)
    scaled = make_pipeline(StandardScaler(), LSPC()).fit(rows, rows[:, 0] > 0)
    assert to_onnx(scaled, rows)


def test_rows_are_compared_for_every_kind_of_model():
    frame, y, _ = labelled("int")
    front = make_column_transformer(
        (StandardScaler(), ["x"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
    )
    tasks = np.array(["n", "s"])[np.arange(N) % 2]
    model = make_pipeline(front, MultiTaskLSPC()).fit(frame, y, multitasklspc__task=tasks)
    assert to_onnx(model, frame)
    assert to_onnx(with_prior(make_pipeline(front, LSPC()).fit(frame, y), [0.1, 0.9]), frame)
    labels = np.column_stack([np.arange(N) % 2, np.arange(N) % 3 == 0]).astype(int)
    assert to_onnx(make_pipeline(front, MultiLabelLSPC()).fit(frame, labels), frame)
    several = np.column_stack([np.arange(N) % 4, np.arange(N) % 3])
    assert to_onnx(make_pipeline(front, MultiLabelLSPC()).fit(frame, several), frame)
    assert to_onnx(HandOver(make_pipeline(front, LSPC()), max_error=0.3).fit(frame, y), frame)
    assert to_onnx(LSPC().fit(frame[["x"]], y), frame[["x"]], input_type="float")
