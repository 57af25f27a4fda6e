"""Fits over Dask collections are those of the same rows in memory; predictions are lazy."""

import os
import signal
import time
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kinlearn import LSPC, LSPCCV, MultiLabelLSPC, MultiTaskLSPC
from kinlearn.distributed import reduction, sampling
from kinlearn.distributed.partitions import split_partitions


@pytest.fixture
def data(rng):
    X = rng.normal(size=(240, 3))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    return X, y, rng.integers(0, 5, size=240)


def cut(n, edges):
    """Chunk sizes from any set of cutting points."""
    points = sorted({0, n, *(e % n for e in edges)})
    return tuple(int(b - a) for a, b in pairwise(points))


@settings(max_examples=15, deadline=None)
@given(edges=st.lists(st.integers(1, 239), max_size=12), weighted=st.booleans())
def test_any_chunking_gives_the_batch_fit(edges, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    weight = rng.uniform(0.5, 2.0, size=240) if weighted else None
    model = LSPC(centers=X[:25], sigma=1.5)
    batch = clone(model).fit(X, y, weight)
    chunks = cut(240, edges)
    lazy = None if weight is None else da.from_array(weight, chunks=50)
    found = clone(model).fit(
        da.from_array(X, chunks=(chunks, (2, 1))), da.from_array(y, chunks=70), lazy
    )
    assert_allclose(found.decision_function(X), batch.decision_function(X), atol=1e-8)
    assert_allclose(found.predict_proba(X), batch.predict_proba(X), atol=1e-8)
    assert found.statistics_.n_rows == 240
    assert_allclose(found.prior_, batch.prior_)


@settings(max_examples=10, deadline=None)
@given(edges=st.lists(st.integers(1, 239), max_size=8), sharing=st.sampled_from([0.0, 0.6, 1.0]))
def test_tasks_meet_across_partitions(edges, sharing):
    """Classes and tasks may be absent from a partition, or appear in the last one only."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] > 0).astype(int)
    task = np.sort(rng.integers(0, 7, size=240))
    model = MultiTaskLSPC(centers=X[:20], sigma=1.5, sharing=sharing)
    batch = clone(model).fit(X, y, task=task)
    chunks = cut(240, edges)
    found = clone(model).fit(
        da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=(chunks,)), task=task
    )
    assert_allclose(
        found.decision_function(X, task=task), batch.decision_function(X, task=task), atol=1e-8
    )
    lazy = found.decision_function(
        da.from_array(X, chunks=(chunks, 3)), task=da.from_array(task, chunks=37)
    )
    assert_allclose(lazy.compute(), batch.decision_function(X, task=task), atol=1e-8)


def test_labels_and_sparse_rows(rng):
    X = rng.normal(size=(150, 4))
    Y = (X[:, :3] + 0.3 * rng.normal(size=(150, 3)) > 0).astype(int)
    model = MultiLabelLSPC(centers=X[:20], sigma=2.0)
    batch = clone(model).fit(X, Y)
    found = clone(model).fit(da.from_array(X, chunks=40), da.from_array(Y, chunks=(60, 2)))
    assert_allclose(found.decision_function(X), batch.decision_function(X), atol=1e-8)
    lazy = found.predict_proba(da.from_array(X, chunks=40))
    assert lazy.shape == (150, 3)
    assert_allclose(lazy.compute(), found.predict_proba(X))
    S = np.where(np.abs(X) > 1, X, 0.0)
    sparse = da.from_array(S, chunks=(50, 4)).map_blocks(sp.csr_matrix)
    model = LSPC(centers=S[:20], sigma=2.0)
    found = clone(model).fit(sparse, da.from_array(Y[:, 0], chunks=50))
    assert_allclose(
        found.decision_function(S), clone(model).fit(S, Y[:, 0]).decision_function(S), atol=1e-8
    )


def test_dataframes(data):
    X, y, task = data
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    frame["label"], frame["site"] = y, [f"site {t}" for t in task]
    parts = dd.from_pandas(frame, npartitions=5)
    plain = LSPC(centers=X[:20], sigma=1.5).fit(parts[["u", "v", "w"]], parts["label"])
    assert list(plain.feature_names_in_) == ["u", "v", "w"]
    expected = LSPC(centers=X[:20], sigma=1.5).fit(frame[["u", "v", "w"]], y)
    assert_allclose(
        plain.predict_proba(parts[["u", "v", "w"]]).compute(),
        expected.predict_proba(frame[["u", "v", "w"]]),
        atol=1e-8,
    )
    labels = plain.predict(parts[["u", "v", "w"]])
    assert isinstance(labels, da.Array)
    assert list(labels.compute()) == list(expected.predict(frame[["u", "v", "w"]]))
    columns = ["u", "v", "w", "site"]
    model = MultiTaskLSPC(centers=X[:20], sigma=1.5, task_column="site", unseen="error")
    found = clone(model).fit(parts[columns], parts["label"])
    batch = clone(model).fit(frame[columns], y)
    assert_allclose(
        found.predict_proba(parts[columns]).compute(),
        batch.predict_proba(frame[columns]),
        atol=1e-8,
    )


def test_predictions_are_lazy_and_know_their_shape(data):
    X, y, _ = data
    model = LSPC(n_centers=20, random_state=0).fit(X, y)
    read = []

    def note(block):
        read.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(100, 2)).map_blocks(note, dtype=float, meta=np.empty((0, 0)))
    answers = {
        name: getattr(model, name)(lazy)
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function")
    }
    assert read == []
    assert answers["predict"].shape == (240,)
    assert answers["predict"].dtype == model.classes_.dtype
    assert answers["predict_proba"].chunks == ((100, 100, 40), (3,))
    for name, found in answers.items():
        assert_allclose(
            np.unique(found.compute(), return_inverse=True)[1]
            if name == "predict"
            else found.compute(),
            np.unique(model.predict(X), return_inverse=True)[1]
            if name == "predict"
            else getattr(model, name)(X),
        )
    two = LSPC(n_centers=20, random_state=0).fit(X, y == "a")
    assert two.decision_function(lazy).shape == (240,)
    assert model.score(lazy, da.from_array(y, chunks=33)) == model.score(X, y)
    searched = LSPCCV(cv=3).fit(X[:60], y[:60])
    assert_allclose(searched.predict_proba(lazy).compute(), searched.predict_proba(X))


def test_models_travel_without_their_sums(data):
    from kinlearn.distributed.prediction import model_only

    X, y, _ = data
    model = LSPC(n_centers=20, random_state=0).partial_fit(X, y)
    assert not hasattr(model_only(model), "statistics_")
    assert hasattr(model, "statistics_")


def test_partial_fit_adds_partitions(data):
    X, y, _ = data
    model = LSPC(centers=X[:20], sigma=1.5)
    whole = clone(model).fit(X, y)
    model.partial_fit(da.from_array(X[:100], chunks=(30, 3)), da.from_array(y[:100], chunks=30))
    model.partial_fit(X[100:200], y[100:200])
    model.partial_fit(da.from_array(X[200:], chunks=(9, 3)), y[200:])
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-8)
    model.fit(da.from_array(X[:50], chunks=(30, 3)), y[:50])  # anew
    assert model.statistics_.n_rows == 50


def test_probabilities_do_not_depend_on_partitions_or_batches(rng):
    """Beyond the rows that are kept for calibration, too: which these are depends on rows alone."""
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    model = LSPC(centers=X[:25], sigma=1.5)
    streamed = clone(model).fit_stream((X[::-1], y[::-1]), batch_rows=170)
    assert streamed.statistics_.held_out_sample().size == 2000
    assert_allclose(
        streamed.decision_function(X), clone(model).fit(X, y).decision_function(X), atol=1e-8
    )
    for chunks in (1000, 457):
        found = clone(model).fit(da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=900))
        assert_allclose(found.predict_proba(X), streamed.predict_proba(X), atol=1e-8)


def test_a_refused_partition_changes_nothing(data):
    X, y, _ = data
    model = LSPC(centers=X[:20], sigma=1.5).partial_fit(X, y)
    coef, bad = model.coef_, X.copy()
    bad[170, 1] = np.nan
    for call in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=r"In partition 3: .*NaN"):
            call(da.from_array(bad, chunks=(50, 3)), y)
        assert model.coef_ is coef
        assert model.statistics_.n_rows == 240


def test_centers_come_from_a_bounded_sample(data, monkeypatch):
    X, y, _ = data
    X = np.vstack([X] * 10) + np.random.default_rng(1).normal(size=(2400, 3)) * 1e-3
    y = np.tile(y, 10)
    monkeypatch.setattr(sampling, "SAMPLE_PARTITIONS", 4)
    monkeypatch.setattr("kinlearn.estimators._stream_fit.MEDIAN_ROWS", 100)
    looked_at = []

    def note(block, block_info=None):
        if block.size and block_info:
            looked_at.append(block_info[0]["chunk-location"][0])
        return block

    lazy = da.from_array(X, chunks=(100, 3)).map_blocks(note, dtype=float, meta=np.empty((0, 0)))
    parts = split_partitions(lazy, y)
    sample, labels, _ = sampling.sample_rows(parts, 80, np.random.RandomState(0))
    assert sample.shape == (80, 3)
    where = (X[:, None, 0] == sample[None, :, 0]).argmax(axis=0)
    assert_array_equal(labels, y[where])
    assert len(set(looked_at)) == 4
    again, _, _ = sampling.sample_rows(parts, 80, np.random.RandomState(0))
    assert_allclose(sample, again)
    first = LSPC(n_centers=8, random_state=3).fit(lazy, y)
    second = LSPC(n_centers=8, random_state=3).fit(lazy, y)
    assert_allclose(first.centers_, second.centers_)
    assert first.sigma_ == second.sigma_
    assert first.score(X, y) > 0.8


def test_few_rows_choose_the_centers_they_would_in_memory(data):
    X, y, _ = data
    model = LSPC(n_centers=30, random_state=0)
    found = clone(model).fit(da.from_array(X, chunks=(37, 3)), y)
    expected = clone(model).fit(X, y)
    assert_allclose(found.centers_, expected.centers_)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)


def test_empty_partitions_are_nothing(data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(label=y, at=np.arange(240))
    parts = dd.from_pandas(frame, npartitions=6, sort=False)
    some = parts[parts["u"] > 0]
    kept = frame[frame["u"] > 0]
    only = parts[parts["at"] < 50]  # empty from some partition on
    model = LSPC(centers=X[:10], sigma=1.0)
    found = clone(model).fit(some[["u", "v", "w"]], some["label"])
    expected = clone(model).fit(kept[["u", "v", "w"]], kept["label"])
    test = frame[["u", "v", "w"]]
    assert_allclose(found.decision_function(test), expected.decision_function(test), atol=1e-8)
    assert clone(model).fit(only[["u", "v", "w"]], only["label"]).statistics_.n_rows == 50
    assert found.predict_proba(only[["u", "v", "w"]]).compute().shape == (50, 3 - 1)


def test_bad_partitions_are_named(data):
    X, y, task = data
    bad = X.copy()
    bad[130, 1] = np.nan
    model = LSPC(centers=X[:10], sigma=1.0)
    with pytest.raises(ValueError, match=r"In partition 2: Input X contains NaN"):
        model.fit(da.from_array(bad, chunks=(50, 3)), y)
    lazy = da.from_array(X, chunks=(50, 3))
    cases = [
        (lambda: model.fit(lazy, y[:-1]), "X has 240 rows, but y has 239"),
        (lambda: model.fit(lazy, da.from_array(y[:-1], chunks=50)), "but y has 239"),
        (lambda: model.fit(lazy, y, groups=task), "groups cannot be held out"),
        (lambda: clone(model).set_params(solver="pcg").fit(lazy, y), "goes over all rows"),
        (lambda: model.fit(lazy[lazy[:, 0] > 0], y), "lengths of the partitions of X are not"),
        (lambda: LSPC(class_weight="balanced").fit(lazy, y), "depends on all rows"),
        (lambda: LSPC(n_centers=None).fit(lazy, y), "n_centers=None makes every row"),
    ]
    for work, message in cases:
        with pytest.raises(ValueError, match=message):
            work()
    with pytest.raises(TypeError, match="pass Dask collections to fit"):
        model.fit_stream((lazy, y))
    with pytest.raises(TypeError, match="but X is a ndarray"):
        model.fit(X, da.from_array(y, chunks=50))


def test_tasks_are_added_up_by_bucket(rng, monkeypatch):
    """No job of the tree but the last holds the sums of all tasks."""
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    task = rng.integers(0, 50, size=400)
    monkeypatch.setattr(reduction, "BRANCHES", 2)
    seen = []
    merge = reduction.merge_sums

    def note(sums):
        total = merge(sums)
        seen.append(len(total.tasks) if total.tasks is not None else 0)
        return total

    monkeypatch.setattr(reduction, "merge_sums", note)
    model = MultiTaskLSPC(centers=X[:15], sigma=1.0)
    with dask.config.set(scheduler="synchronous"):
        found = clone(model).fit(da.from_array(X, chunks=(50, 2)), y, task=task)
    assert seen[-1] == 50
    assert max(seen[:-1]) < 30
    batch = clone(model).fit(X, y, task=task)
    assert_allclose(
        found.decision_function(X, task=task), batch.decision_function(X, task=task), atol=1e-8
    )


def _die_once(block, marker, block_info=None):
    """Take the worker down, without a word, the third time the fourth block is read: in a pass."""
    if block_info and block_info[0]["chunk-location"][0] == 3 and not os.path.exists(marker):
        with open(f"{marker}_reads", "a") as reads:
            reads.write(".")
        if os.path.getsize(f"{marker}_reads") < 3:
            return block
        with open(marker, "w") as file:
            file.write(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_lost_worker_costs_a_recomputation_not_the_fit(data, tmp_path):
    from distributed import Client, LocalCluster

    X, y, _ = data
    marker = str(tmp_path / "killed")
    options = {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", "silence_logs": 50}
    patient = {
        "distributed.comm.timeouts.connect": "120s",
        "distributed.comm.timeouts.tcp": "120s",
    }
    with (
        dask.config.set(patient),  # a busy machine is not a lost worker
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster, timeout="120s") as client,
    ):
        before = {worker["pid"] for worker in client.run(_worker_facts).values()}
        lazy = da.from_array(X, chunks=(30, 3)).map_blocks(
            _die_once, marker=marker, dtype=float, meta=np.empty((0, 0))
        )
        start = time.monotonic()
        asked = {"centers": X[:20], "sigma": 1.5, "reg": 1e-4, "polish": 6}
        model = LSPC(**asked).fit(lazy, da.from_array(y, chunks=30))
        assert time.monotonic() - start < 120
        with open(marker) as file:
            assert int(file.read()) in before
        probabilities = model.predict_proba(lazy).compute()
    expected = LSPC(**asked).fit(X, y)
    assert model.n_iter_ > 1
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-8)
    assert_allclose(probabilities, expected.predict_proba(X), atol=1e-8)


def _worker_facts():
    return {"pid": os.getpid()}
