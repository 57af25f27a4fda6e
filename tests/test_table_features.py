"""A table as numbers: kinds of columns, dates, words, names, files, graphs, and what is refused."""

import datetime
import pickle

import numpy as np
import onnxruntime
import pandas as pd
import polars
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import kinlearn
from kinlearn import LSPC, MultiTaskLSPC, TableFeatures, to_onnx
from kinlearn.cells.refusals import TableError
from kinlearn.encoding.date_parts import DateParts, days_of, year_of
from kinlearn.encoding.number_columns import NumberColumns, word_like

N = 80


def table(seed=0, n=N):
    """Numbers, categories and dates, some missing."""
    rng = np.random.default_rng(seed)
    days = pd.Series(np.datetime64("2021-03-01") + rng.integers(0, 900, n).astype("timedelta64[D]"))
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 9, n)),
            "site": np.array(["north", "south", "west"], dtype=object)[rng.integers(0, 3, n)],
            "seen": days.where(rng.random(n) > 0.1),
            "told": days.astype(str).where(rng.random(n) > 0.2),
            "code": rng.integers(0, 4, n).astype(str),
        }
    )


def test_columns_are_what_they_look_like():
    features = TableFeatures(categorical=["code"]).fit(table())
    assert features.numeric_ == ["age"]
    assert features.dates_ == ["seen", "told"]
    assert features.categorical_ == ["site", "code"]
    names = features.get_feature_names_out().tolist()
    assert names[:2] == ["age", "age_missing"]
    assert {"seen_days", "seen_year", "told_season_sin", "told_missing", "site_west"} <= set(names)
    made = features.transform(table())
    assert made.shape == (N, len(names))
    plain = [not name.startswith(("age_", "site", "code")) for name in names]
    np.testing.assert_allclose(made[:, plain].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(made[:, plain].std(axis=0), 1.0)
    assert set(np.unique(made[:, ~np.array(plain)])) == {0.0, 1.0}


def test_every_library_gets_the_same_numbers():
    frame = table()
    expected = TableFeatures().fit_transform(frame)
    for other in (
        polars.from_pandas(frame),
        pa.Table.from_pandas(frame),
        frame.convert_dtypes(),
        frame.assign(age=frame["age"].astype(str), seen=frame["seen"].astype(str)),
    ):
        np.testing.assert_array_equal(TableFeatures().fit_transform(other), expected)
        np.testing.assert_array_equal(TableFeatures().fit(frame).transform(other), expected)


def test_rows_are_answered_one_by_one_and_columns_by_name():
    features = TableFeatures().fit(table())
    new = table(1)
    expected = features.transform(new)
    shuffled = new[new.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(features.transform(shuffled), expected)
    alone = np.vstack([features.transform(new.iloc[i : i + 1]) for i in range(10)])
    np.testing.assert_array_equal(alone, expected[:10])


def test_categories_never_seen_and_rare_ones():
    frame = pd.DataFrame({"c": ["a"] * 5 + ["b"] * 4 + ["c", "d", None]})
    features = TableFeatures(max_categories=3).fit(frame)
    names = features.get_feature_names_out().tolist()
    assert names == ["c_a", "c_b", "c_infrequent_sklearn"]
    rare, new = features.transform(pd.DataFrame({"c": ["d", "z"]}))
    np.testing.assert_array_equal(rare, new)


def test_years_are_those_of_the_calendar():
    days = np.arange(np.datetime64("1890-01-01"), np.datetime64("2110-01-01"))
    expected = days.astype("datetime64[Y]").astype(int) + 1970
    np.testing.assert_array_equal(year_of(days_of(days)), expected)


def test_parts_of_dates():
    start = np.datetime64("2023-01-02", "h")  # a Monday
    hours = (start + np.arange(0, 24 * 400, 7))[:, None]
    parts = DateParts().fit(hours)
    made = dict(zip(parts.get_feature_names_out(["t"]), parts.transform(hours).T, strict=True))
    np.testing.assert_allclose(made["t_days"], np.arange(0, 24 * 400, 7) / 24)
    week = np.unique(np.round([made["t_weekday_sin"], made["t_weekday_cos"]], 9), axis=1)
    assert week.shape[1] == 7
    angle = np.arctan2(made["t_hour_sin"], made["t_hour_cos"]) / (2 * np.pi) % 1.0
    np.testing.assert_allclose(angle, made["t_days"] % 1.0, atol=1e-9)
    missing = parts.transform(np.array([["NaT"]], dtype="datetime64[h]"))
    np.testing.assert_allclose(missing, np.mean(list(made.values()), axis=1)[None])
    same_day = DateParts().fit(np.full((5, 1), np.datetime64("2024-01-01")))
    assert same_day.get_feature_names_out(["t"]).tolist() == ["t_days"]


def test_words_keep_their_scale_among_each_other():
    rng = np.random.default_rng(0)
    words = (rng.random((200, 30)) < np.linspace(0.01, 0.15, 30)).astype(float)
    money = np.where(rng.random(200) < 0.1, 9000.0, 0.0)
    ages = rng.normal(50, 9, 200)
    X = np.column_stack([words, money, ages])
    assert word_like(X).tolist() == [True] * 30 + [False] * 2
    scale = NumberColumns().fit(X).scale_
    assert np.ptp(scale[:30]) == 0.0
    np.testing.assert_allclose(scale[30:], X[:, 30:].std(axis=0))
    assert np.square(NumberColumns().fit_transform(X)[:, :30]).mean() == pytest.approx(1.0)
    assert not word_like(X[:, 25:]).any()  # a few columns are quantities of their own


def test_skewed_counts_enter_by_their_logarithm_in_any_unit():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.rint(np.exp(rng.normal(3, 2, 200))), rng.normal(size=200)])
    made = NumberColumns().fit(X)
    assert (made.units_ > 0).tolist() == [True, False]
    unit = np.quantile(X[:, 0][X[:, 0] > 0], 0.1)
    logs = np.log1p(X[:, 0] / unit)
    expected = (logs - logs.mean()) / logs.std()
    np.testing.assert_allclose(made.transform(X)[:, 0], expected)
    np.testing.assert_allclose(NumberColumns().fit_transform(X * 1000), made.transform(X))
    rare = (np.arange(200) < 5).astype(float)[:, None]
    assert NumberColumns().fit(rare).units_.tolist() == [0.0]


def test_cells_are_told_back():
    frame = table()
    frame["money"] = np.exp(np.random.default_rng(0).normal(5, 2, N))
    features = TableFeatures(task="site").fit(frame)
    cells = features.inverse_transform(features.transform(frame))
    read = features.cells_.transform(frame)
    for name in ("age", "money"):
        np.testing.assert_allclose(cells[name].astype(float), read[name])
    for name in ("site", "seen", "told", "code"):
        assert cells[name].isna().equals(read[name].isna())
        known = read[name].notna()
        assert (cells[name][known] == read[name][known]).all()


@pytest.mark.parametrize("constant", [5.0, 0.1, np.nan])
def test_a_constant_column_is_zero(constant):
    frame = pd.DataFrame({"a": np.full(30, constant), "b": np.arange(30.0)})
    features = TableFeatures().fit(frame)
    made = features.transform(frame)
    np.testing.assert_array_equal(made[:, 0], 0.0)
    scaled = TableFeatures().fit_transform(frame * 1000)
    np.testing.assert_allclose(scaled[:, :2], made[:, :2], atol=1e-12)


def test_arrays_have_names_too():
    X = np.random.default_rng(0).normal(size=(30, 2))
    features = TableFeatures().fit(X)
    assert features.get_feature_names_out().tolist() == ["x0", "x1"]
    assert features.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    texts = np.array([["a", "1"], ["b", "2"]] * 5, dtype=object)
    assert TableFeatures().fit(texts).categorical_ == ["x0"]


def test_a_refit_is_a_fresh_fit():
    features = TableFeatures().fit(table())
    again = clone(features).fit(np.ones((5, 2)) * np.arange(5)[:, None])
    features.fit(np.ones((5, 2)) * np.arange(5)[:, None])
    assert vars(features).keys() == vars(again).keys()
    with pytest.raises(TableError):
        features.fit(table().assign(age=1), y=None).set_params(drop=["agee"]).fit(table())
    features.set_params(drop=["age"]).fit(table())
    assert "age" not in features.numeric_


def test_thresholds_stand_beside_the_numbers():
    frame = table(n=300)
    features = TableFeatures(thresholds=10).fit(frame)
    names = features.get_feature_names_out().tolist()
    made = features.transform(frame)
    of_age = [i for i, name in enumerate(names) if name.startswith("age>=")]
    n_cuts = sum(">=" in name for name in names)
    assert len(of_age) > 10
    part = features.columns_.named_transformers_["thresholds"]
    cuts = part.cuts_[part.cut_columns_ == 0]
    age = frame["age"].fillna(frame["age"].median()).to_numpy()
    np.testing.assert_array_equal(made[:, of_age], 0.3 * (age[:, None] >= cuts))
    assert "age" in features.inverse_transform(made)
    auto = TableFeatures(thresholds="auto")
    assert len(auto.fit(frame).get_feature_names_out()) == len(names) - n_cuts
    assert len(auto.fit(table(n=2000)).get_feature_names_out()) > len(names)
    y = (frame["age"] > 55).to_numpy()
    model = make_pipeline(features, LSPC(kernel="linear")).fit(frame, y)
    to_onnx(model, frame)  # which compares


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"numeric": ["agee"]}, r"no column 'agee'\. Did you mean 'age'"),
        ({"drop": ["agee"]}, r"no column 'agee'\. Did you mean 'age'"),
        ({"numeric": ["age"], "categorical": ["age"]}, "both numeric and categorical"),
        ({"numeric": "age"}, r"numeric='age' must be a list of column names: \['age'\]"),
        ({"drop": list(table().columns)}, "no column to learn from"),
        ({"thresholds": 0}, r'thresholds=0 must be "auto", None, or a whole number'),
    ],
)
def test_refusals(options, words):
    with pytest.raises(TableError, match=words):
        TableFeatures(**options).fit(table())


def test_a_missing_column_is_named():
    features = TableFeatures().fit(table())
    with pytest.raises(TableError, match="trained with column 'seen'"):
        features.transform(table().drop(columns="seen"))
    with pytest.raises(TableError, match=r"holds texts such as 'soon'.*trained with dates"):
        features.transform(table().assign(seen="soon"))
    with pytest.warns(UserWarning, match="1 cells of 'told' hold no date"):
        features.transform(table().assign(told=["soon", *table()["told"][1:]]))


def test_files_and_pickles(tmp_path):
    frame = table()
    y = (frame["site"] == "west").to_numpy()
    model = make_pipeline(TableFeatures(), LSPC()).fit(frame, y)
    kinlearn.save(model, tmp_path / "m.kin")
    kinds = [column["type"] for column in kinlearn.model_info(tmp_path / "m.kin")["features"]]
    assert kinds == ["number", "category", "number", "number", "number"]
    for other in (kinlearn.load(tmp_path / "m.kin"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(table(1)), model.predict_proba(table(1)))
    features = model[0]
    kinlearn.save(features, tmp_path / "f.kin")
    np.testing.assert_array_equal(
        kinlearn.load(tmp_path / "f.kin").transform(frame), features.transform(frame)
    )


def test_graphs_answer_as_the_model():
    frame, new = table(), table(1)
    frame["when"] = [datetime.datetime(2024, 1, 1, i % 24) for i in range(N)]
    new["when"] = [datetime.datetime(2024, 5, 1, (3 * i) % 24) for i in range(N)]
    y = ((frame["site"] == "west") | (frame["age"] > 55)).to_numpy()
    model = make_pipeline(TableFeatures(), LSPC()).fit(frame, y)
    graph = to_onnx(model, frame)
    read = model[0].cells_.transform(new)
    feeds = {}
    for name in ("age", "site", "seen", "told", "code", "when"):
        column = read[name]
        if column.dtype.kind == "M":
            feeds[name] = days_of(column)[:, None]
        elif column.dtype.kind == "f":
            feeds[name] = column.to_numpy()[:, None]
        else:
            feeds[name] = column.fillna("").to_numpy(dtype=object)[:, None]
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(["probabilities"], feeds)[0]
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-9)


def test_the_task_comes_first():
    frame = table()
    features = TableFeatures(task="site").fit(frame)
    made = features.transform(frame.assign(site=["new", *frame["site"][1:]]))
    assert features.get_feature_names_out()[0] == "site"
    assert made[0, 0] == -1.0
    assert set(made[1:, 0]) == {0.0, 1.0, 2.0}
    y = (frame["code"].astype(int) > 1).to_numpy()
    model = make_pipeline(TableFeatures(task="site"), MultiTaskLSPC(task_column=0)).fit(frame, y)
    assert model.predict_proba(frame).shape == (N, 2)
