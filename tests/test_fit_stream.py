"""fit_stream: every kind of source, bad batches in the middle, and being killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from kinlearn import LSPC, MultiLabelLSPC, MultiTaskLSPC, NormalEquations
from kinlearn.streams import ColumnRoles, StreamError, open_source

N = 500


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(int)]
    return X, y, np.array(["ward", "home"])[rng.integers(2, size=N)]


@pytest.fixture
def table(data):
    X, y, site = data
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": y, "site": site})


def model(X):
    return LSPC(centers=X[:20], sigma=1.5)


def assert_like_batch(streamed, data):
    X, y, _ = data
    batch = model(X).fit(X, y)
    got = streamed._scores(pd.DataFrame(X, columns=list("abc")) if named(streamed) else X)
    np.testing.assert_allclose(got, batch._scores(X), atol=1e-8)
    assert streamed.beta_ == pytest.approx(batch.beta_, rel=1e-7)


def named(streamed):
    return hasattr(streamed, "feature_names_in_")


def test_arrays_memory_maps_and_iterators(data, tmp_path):
    X, y, _ = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    parts = [(X[i : i + 90], y[i : i + 90]) for i in range(0, N, 90)]
    frames = [pd.DataFrame(x, columns=list("abc")) for x, _ in parts]
    sources = [
        (X, y),
        (mapped, y),
        (sp.csr_matrix(X), y),
        parts,
        iter(parts),
        lambda: iter(parts),
        [(frame, labels) for frame, (_, labels) in zip(frames, parts, strict=True)],
    ]
    for source in sources:
        assert_like_batch(model(X).fit_stream(source, batch_rows=64), data)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "batches", "record batches"])
def test_tables_in_memory(kind, data, table):
    arrow = pa.Table.from_pandas(table)
    source = {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": arrow,
        "batches": [table[:200], table[200:]],
        "record batches": arrow.to_batches(max_chunksize=120),
    }[kind]
    streamed = model(data[0]).fit_stream(source, y="label", features=list("abc"), batch_rows=100)
    assert streamed.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_like_batch(streamed, data)


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather", "arrow"])
def test_files_and_folders(ending, data, table, tmp_path):
    parts = [table[:210], table[210:]]
    for k, part in enumerate(parts):
        path = tmp_path / f"part-{k}.{ending}"
        arrow = pa.Table.from_pandas(part, preserve_index=False)
        if ending == "parquet":
            pq.write_table(arrow, path)
        elif ending == "csv":
            pa.csv.write_csv(arrow, path)
        elif ending == "feather":
            pa.feather.write_feather(arrow, path)
        else:
            with pa.ipc.new_stream(path, arrow.schema) as writer:
                writer.write_table(arrow, max_chunksize=50)
    roles = {"y": "label", "task": "site", "batch_rows": 64}
    for source in (tmp_path, str(tmp_path), sorted(tmp_path.iterdir())):
        tasks = MultiTaskLSPC(centers=data[0][:20], sigma=1.5).fit_stream(source, **roles)
    X, y, site = data
    batch = MultiTaskLSPC(centers=X[:20], sigma=1.5).fit(X, y, task=site)
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_allclose(
        tasks.predict_proba(frame, task=site), batch.predict_proba(X, task=site), atol=1e-8
    )
    one = model(X).fit_stream(tmp_path, y="label", features=list("abc"), batch_rows=33)
    assert_like_batch(one, data)


def test_indicator_columns_and_weights(data, table, tmp_path):
    X, y, site = data
    table["yes"], table["ward"] = (y == "yes").astype(int), (site == "ward").astype(int)
    table["weight"] = 1.0 + np.arange(N) % 3
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet")
    labels = MultiLabelLSPC(centers=X[:20], sigma=1.5).fit_stream(
        tmp_path, y=["yes", "ward"], sample_weight="weight", features=list("abc")
    )
    batch = MultiLabelLSPC(centers=X[:20], sigma=1.5)
    batch.fit(X, table[["yes", "ward"]], sample_weight=table["weight"])
    np.testing.assert_allclose(
        labels.predict_proba(table[["a", "b", "c"]]), batch.predict_proba(X), atol=1e-8
    )


def test_centers_from_the_first_rows_or_from_all(data):
    X, y, _ = data
    order = np.argsort(X[:, 0])
    first = LSPC(n_centers=10, random_state=0).fit_stream((X, y), batch_rows=50)
    assert first.n_centers_ == 10
    both = [
        LSPC(n_centers=10, random_state=0).fit_stream(
            (X[rows], y[rows]), batch_rows=50, centers_from="reservoir"
        )
        for rows in (np.arange(N), order)
    ]
    np.testing.assert_array_equal(both[0].centers_, both[1].centers_)
    np.testing.assert_allclose(both[0].predict_proba(X), both[1].predict_proba(X), atol=1e-8)
    with pytest.raises(ValueError, match="goes over the rows twice"):
        LSPC().fit_stream(iter([(X, y)]), centers_from="reservoir")


def test_progress_counts_rows(data):
    X, y, _ = data
    seen = []
    model(X).fit_stream((X, y), batch_rows=100, progress=seen.append)
    assert [p.rows for p in seen] == [100, 200, 300, 400, 500]
    assert all(p.rows_per_second > 0 for p in seen)


def test_a_stream_goes_on_where_asked(data):
    X, y, _ = data
    streamed = model(X).fit_stream((X[:300], y[:300]))
    streamed.fit_stream((X[300:], y[300:]), warm_start=True)
    assert_like_batch(streamed, data)
    assert (
        model(X).fit_stream((X[:300], y[:300])).fit_stream((X[300:], y[300:])).statistics_.n_rows
        == 200
    )


BAD = {
    "NaN": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X), y),
    "X has 2 features": lambda X, y: (X[:, :2], y),
    "A batch must be": lambda X, y: {"X": X},
    "all numbers": lambda X, y: (X, np.arange(len(y)) % 2),
}


@pytest.mark.parametrize("sigma", [1.5, "median"])
@pytest.mark.parametrize("message", BAD)
def test_a_bad_batch_is_named_and_nothing_is_lost(message, sigma, data, tmp_path):
    X, y, _ = data
    parts = [(X[i : i + 100], y[i : i + 100]) for i in range(0, N, 100)]
    bad = [*parts[:3], BAD[message](*parts[3]), *parts[4:]]
    streamed = model(X).set_params(sigma=sigma)
    with pytest.raises(StreamError, match=rf"Batch 3: .*{message}.*300 rows before it") as caught:
        streamed.fit_stream(bad, checkpoint=tmp_path / "sums.npz", checkpoint_every=2)
    assert caught.value.batch == 3
    before = NormalEquations(X[:20], sigma=streamed.statistics_.sigma).update(X[:300], y[:300])
    np.testing.assert_allclose(streamed.statistics_.gram(), before.gram())
    assert NormalEquations.load(tmp_path / "sums.npz").n_rows == 300
    streamed.refit()  # what there is can be used
    again = model(X).set_params(sigma=sigma).fit_stream(parts, checkpoint=tmp_path / "sums.npz")
    batch = LSPC(centers=X[:20], sigma=again.sigma_).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), batch.predict_proba(X), atol=1e-8)


def test_a_corrupt_file_is_named_and_a_repaired_one_goes_on(data, table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(5):
        part = pa.Table.from_pandas(table[k * 100 : (k + 1) * 100], preserve_index=False)
        pq.write_table(part, folder / f"{k}.parquet")
    whole = (folder / "3.parquet").read_bytes()
    (folder / "3.parquet").write_bytes(whole[:200])
    options = {
        "y": "label",
        "features": list("abc"),
        "batch_rows": 50,
        "checkpoint": tmp_path / "sums.npz",
    }
    streamed = model(data[0])
    with pytest.raises(StreamError, match=r"Batch 6: .*3\.parquet cannot be read.*300 rows"):
        streamed.fit_stream(folder, **options)
    assert streamed.statistics_.n_rows == 300
    (folder / "3.parquet").write_bytes(whole)
    assert_like_batch(model(data[0]).fit_stream(folder, **options), data)


def test_bad_columns_are_named_with_their_file(table, data, tmp_path):
    pq.write_table(pa.Table.from_pandas(table[:250]), tmp_path / "0.parquet")
    strange = table[250:].assign(b="tall")
    pq.write_table(pa.Table.from_pandas(strange), tmp_path / "1.parquet")
    with pytest.raises(StreamError, match=r"Batch 1: Column 'b' holds 'tall'"):
        model(data[0]).fit_stream(tmp_path, y="label", features=list("abc"))
    pq.write_table(pa.Table.from_pandas(table[["a", "label"]]), tmp_path / "1.parquet")
    with pytest.raises(StreamError, match="no column 'b'"):
        model(data[0]).fit_stream(tmp_path, y="label", features=list("abc"))
    table.loc[300, "b"] = np.nan
    pq.write_table(pa.Table.from_pandas(table[250:]), tmp_path / "1.parquet")
    with pytest.raises(StreamError, match=r"Batch 1 \(rows 0 to 249 of .*1\.parquet\): .*NaN"):
        model(data[0]).fit_stream(tmp_path, y="label", features=list("abc"))
    with pytest.raises(StreamError, match="say which holds the labels"):
        model(data[0]).fit_stream(tmp_path)


def test_wrong_sources_are_refused(data, tmp_path):
    X, y, site = data
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        LSPC().fit_stream(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="holds no file"):
        LSPC().fit_stream(tmp_path)
    with pytest.raises(TypeError, match="A stream must be"):
        LSPC().fit_stream(3)
    with pytest.raises(StreamError, match="holds no rows"):
        LSPC().fit_stream([])
    with pytest.raises(ValueError, match="every must be"):
        LSPC().fit_stream((X, y), checkpoint_every=0)
    with pytest.raises(StreamError, match="has no tasks"):
        LSPC().fit_stream((X, y, site))
    NormalEquations(X[:20], sigma=1.5).update(X, y).save(tmp_path / "plain.npz")
    with pytest.raises(ValueError, match="not written by fit_stream"):
        model(X).fit_stream((X, y), checkpoint=tmp_path / "plain.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match=r"broken\.npz cannot be read"):
        model(X).fit_stream((X, y), checkpoint=tmp_path / "broken.npz")


def test_batches_of_files_do_not_depend_on_how_they_were_written(table, tmp_path):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(arrow, tmp_path / "t.parquet", row_group_size=37)
    source = open_source(tmp_path / "t.parquet", ColumnRoles("label", "site"), 120)
    assert [len(batch.y) for batch in source.batches()] == [120, 120, 120, 120, 20]
    assert [len(batch.y) for batch in source.batches(skip=400)] == [80, 20]


SCRIPT = """
import sys, time
import numpy as np
from kinlearn import LSPC
rng = np.random.default_rng(0)
X, y = rng.normal(size=(4000, 3)), rng.integers(2, size=4000)
def slow(progress):
    print(progress.batches, flush=True)
    time.sleep(0.02)
LSPC(n_centers=20, random_state=0).fit_stream(
    (X, y), batch_rows=40, checkpoint=sys.argv[1], checkpoint_every=3, progress=slow)
"""


def test_killed_in_the_middle_it_resumes_exactly(tmp_path):
    path = tmp_path / "sums.npz"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    deadline = time.monotonic() + 60
    for line in process.stdout:
        assert time.monotonic() < deadline
        if int(line) >= 20:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    reached = NormalEquations.load(path).n_rows
    assert 0 < reached < 4000
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), rng.integers(2, size=4000)
    counted = []
    resumed = LSPC(n_centers=20, random_state=0).fit_stream(
        (X, y), batch_rows=40, checkpoint=path, progress=counted.append
    )
    assert len(counted) == (4000 - reached) // 40
    whole = LSPC(n_centers=20, random_state=0).fit_stream((X, y), batch_rows=40)
    np.testing.assert_array_equal(resumed.statistics_.gram(), whole.statistics_.gram())
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.beta_ == whole.beta_
    assert resumed.statistics_.n_rows == 4000
