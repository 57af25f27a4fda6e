"""Checkpoints of fit_stream: rows are counted, whatever the batches, and only their own go on."""

import copy

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import NotFittedError

from interrupts import interrupted
from kinlearn import LSPC, MultiLabelLSPC, MultiTaskLSPC, NormalEquations
from kinlearn.streams import StreamError

N = 600


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(int)
    weights = rng.integers(0, 3, size=N).astype(float)  # some rows do not count
    return X, y, rng.integers(3, size=N), weights


def model(X, **params):
    return LSPC(**{"centers": X[:20], "sigma": 1.5, **params})


class Stop(Exception):
    pass


def stop_after(batches):
    def progress(reached):
        if reached.batches >= batches:
            raise Stop

    return progress


def begun(estimator, source, path, batches=3, batch_rows=50, **options):
    """A stream that was stopped after some batches."""
    with pytest.raises(Stop):
        estimator.fit_stream(
            source,
            batch_rows=batch_rows,
            checkpoint=path,
            checkpoint_every=1,
            progress=stop_after(batches),
            **options,
        )
    return estimator


@pytest.mark.parametrize("kind", ["arrays", "batches", "iterator", "table", "files"])
def test_another_batch_size_goes_on_where_the_rows_ended(kind, data, tmp_path):
    X, y, task, weights = data
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, task=task, w=weights)
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, part in enumerate(np.array_split(np.arange(N), 4)):
        pq.write_table(pa.Table.from_pandas(frame.iloc[part]), folder / f"{k}.parquet")
    roles = {}
    if kind in ("table", "files"):
        roles = {"y": "y", "task": "task", "sample_weight": "w", "features": list("abc")}

    def source(size):
        parts = [tuple(v[i : i + size] for v in data) for i in range(0, N, size)]
        return {
            "arrays": data,
            "batches": parts,
            "iterator": iter(parts),
            "table": frame,
            "files": folder,
        }[kind]

    def fresh():
        return MultiTaskLSPC(centers=X[:20], sigma=1.5)

    whole = fresh().fit_stream(source(100), **roles)
    for size in (50, 37, 400, 8192):
        path = tmp_path / f"{size}.npz"
        begun(fresh(), source(50), path, **roles)
        counted = []
        resumed = fresh().fit_stream(
            source(size), batch_rows=size, checkpoint=path, progress=counted.append, **roles
        )
        assert resumed.statistics_.n_rows == whole.statistics_.n_rows == (weights > 0).sum()
        np.testing.assert_allclose(resumed.coef_, whole.coef_, atol=1e-10)
        assert resumed.beta_ == pytest.approx(whole.beta_, rel=1e-9)
        # once more: nothing is left to add
        again = fresh().fit_stream(source(50), batch_rows=50, checkpoint=path, **roles)
        np.testing.assert_array_equal(again.coef_, resumed.coef_)


def test_other_settings_are_refused_and_nothing_is_changed(data, tmp_path):
    X, y, _, _ = data
    path = tmp_path / "sums.npz"
    begun(model(X), (X, y), path)
    kept = path.read_bytes()
    for other, message in [
        (model(X, centers=X[5:25]), "other centers"),
        (model(X, centers=X[:15]), "other centers"),
        (model(X, centers=None, n_centers=20), "begun with centers='given'.* 'chosen'"),
        (model(X, sigma=1.6), r"sigma=1\.6"),
        (model(X, sigma="median"), "sigma"),
        (model(X, kernel="laplacian"), "laplacian"),
        (model(X, class_weight={0: 2.0}), "class_weight"),
    ]:
        fitted = copy.deepcopy(other).set_params(class_weight=None).partial_fit(X[:90], y[:90])
        fitted.set_params(class_weight=other.class_weight)
        before = fitted.coef_
        with pytest.raises(ValueError, match=message):
            fitted.fit_stream((X, y), batch_rows=50, checkpoint=path)
        assert fitted.coef_ is before
        assert fitted.statistics_.n_rows == 90
        assert path.read_bytes() == kept
    path = tmp_path / "chosen.npz"
    chosen = {"n_centers": 10, "random_state": 0}
    begun(LSPC(**chosen), (X, y), path)
    for params, options in [
        ({**chosen, "n_centers": 11}, {}),
        ({**chosen, "random_state": 1}, {}),
        ({**chosen, "center_selection": "random"}, {}),
        (chosen, {"centers_from": "reservoir"}),
        ({**chosen, "sigma": 1.0}, {}),
    ]:
        with pytest.raises(ValueError, match=r"was begun with|were made with"):
            LSPC(**params).fit_stream((X, y), checkpoint=path, **options)
    LSPC(**chosen, reg=0.1, posterior="rounded").fit_stream((X, y), checkpoint=path)
    path = tmp_path / "drawn.npz"
    drawn = {"n_centers": 10, "class_weight": {0: 1.0, 1: 2.0}}
    begun(LSPC(**drawn, random_state=np.random.RandomState(0)), (X, y), path)
    drawn["class_weight"] = {1: 2.0, 0: 1.0}
    LSPC(**drawn, random_state=np.random.RandomState(0)).fit_stream((X, y), checkpoint=path)


def test_another_source_is_refused(data, tmp_path):
    X, y, _, weights = data
    path = tmp_path / "sums.npz"
    begun(model(X), (X, y), path)
    kept = path.read_bytes()
    order = np.roll(np.arange(N), 1)
    sources = {
        "other rows": (X + 1.0, y),
        "other labels": (X, 1 - y),
        "shifted": (X[order], y[order]),
        "shorter": (X[:120], y[:120]),
        "weighted": (X, y, None, weights),
        "empty": (X[:0], y[:0]),
    }
    for name, source in sources.items():
        for size in (50, 64):
            fitted = model(X).partial_fit(X[:90], y[:90])
            before = fitted.coef_
            with pytest.raises(ValueError, match="another source"):
                fitted.fit_stream(source, batch_rows=size, checkpoint=path)
            assert fitted.coef_ is before, name
            assert path.read_bytes() == kept
    # one that has grown is the same source
    grown = np.vstack([X, X[:40]]), np.append(y, y[:40])
    assert model(X).fit_stream(grown, checkpoint=path).statistics_.n_rows == N + 40


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.filterwarnings(
    "ignore:.*unclosed file", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_an_interrupted_stream_holds_whole_batches(fitted, data, tmp_path):
    X, y, _, _ = data
    path = tmp_path / "sums.npz"
    first = model(X, posterior="rounded")
    if fitted:
        first.partial_fit(X[:45], y[:45])
    whole = {
        n: NormalEquations(X[:20], sigma=1.5).update(X[100 : 100 + n], y[100 : 100 + n]).gram()
        for n in range(60, 241, 60)
    }
    source = (X[100:340], y[100:340])

    def act(thing):
        path.unlink(missing_ok=True)
        thing.fit_stream(source, batch_rows=60, checkpoint=path, checkpoint_every=2)

    seen = set()
    for at, thing in interrupted(lambda: copy.deepcopy(first), act, n_places=120):
        n = thing.statistics_.n_rows if hasattr(thing, "statistics_") else 0
        if n in (0, 45):
            assert (n == 45) == fitted
            assert hasattr(thing, "coef_") == fitted
        else:
            seen.add(n)
            np.testing.assert_allclose(thing.statistics_.gram(), whole[n], atol=1e-9)
            if not hasattr(thing, "coef_"):
                with pytest.raises(NotFittedError):
                    thing.predict(X[:3])
            done = thing.refit()
            expected = model(X, posterior="rounded").fit(source[0][:n], source[1][:n])
            np.testing.assert_allclose(done.coef_, expected.coef_, atol=1e-9)
        if path.exists():
            reached = NormalEquations.load(path).n_rows
            np.testing.assert_allclose(NormalEquations.load(path).gram(), whole[reached], atol=1e-9)
            assert reached <= n or n in (0, 45), at
            resumed = model(X, posterior="rounded").fit_stream(source, checkpoint=path)
            assert resumed.statistics_.n_rows == 240
        assert [p.name for p in tmp_path.iterdir()] in ([], ["sums.npz"])
    assert seen == {60, 120, 180, 240}


def test_a_failing_batch_leaves_an_unfitted_model_with_the_rows_before(data):
    X, y, _, _ = data
    bad = X.copy()
    bad[130] = np.nan
    streamed = model(X).partial_fit(X[:90], y[:90])
    with pytest.raises(StreamError, match="100 rows before it"):
        streamed.fit_stream((bad, y), batch_rows=50)
    with pytest.raises(NotFittedError):
        streamed.predict(X)
    np.testing.assert_allclose(
        streamed.refit().coef_, model(X).fit(X[:100], y[:100]).coef_, atol=1e-10
    )
    labels = MultiLabelLSPC(centers=X[:20], sigma=1.5)
    Y = np.column_stack([y, X[:, 2] > 0]).astype(int)
    with pytest.raises(StreamError, match="100 rows before it"):
        labels.fit_stream((bad, Y), batch_rows=50)
    with pytest.raises(NotFittedError):
        labels.predict(X)


def test_a_stream_may_begin_with_rows_that_do_not_count(data):
    X, y, _, _ = data
    weights = np.repeat([0.0, 1.0], [120, N - 120])
    far = np.where(weights[:, None] > 0, X, X + 100.0)
    for centers_from in ("first", "reservoir"):
        params = {"n_centers": 10, "random_state": 0}
        options = {"batch_rows": 50, "centers_from": centers_from}
        with_them = LSPC(**params).fit_stream((far, y, None, weights), **options)
        without = LSPC(**params).fit_stream((X[120:], y[120:]), **options)
        np.testing.assert_allclose(with_them.centers_, without.centers_)
        np.testing.assert_allclose(with_them.coef_, without.coef_, atol=1e-9)
