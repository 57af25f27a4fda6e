"""The polish over streams and Dask collections: the same passes, wherever the rows are."""

import re

import numpy as np
import pytest

from kinlearn import LSPC, MultiLabelLSPC
from kinlearn.streams import StreamError
from kinlearn.sums.row_order import Marks

GIVEN = {"sigma": 1.5, "reg": 1e-4, "polish": 8}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    middle = rng.normal(size=(8, 4)) * 1.5
    y = rng.integers(8, size=2000)
    X = middle[y] + 0.8 * rng.normal(size=(2000, 4))
    X[7] = X[3]  # equal rows, of whatever classes
    return X, y


def model(table, **options):
    return LSPC(centers=table[0][:25], **{**GIVEN, **options})


def test_a_stream_is_the_memory(table):
    X, y = table
    memory = model(table).fit(X, y)
    assert memory.n_iter_ > 1
    for batch_rows in (300, 2000):
        stream = model(table).fit_stream((X, y), batch_rows=batch_rows)
        np.testing.assert_allclose(stream.polish_path_, memory.polish_path_, rtol=1e-8)
        difference = stream.predict_proba(X) - memory.predict_proba(X)
        assert np.abs(difference).max() < 1e-8
        assert stream.held_out_log_loss_ == pytest.approx(memory.held_out_log_loss_, rel=1e-8)


def test_weights_and_class_weights(table):
    X, y = table
    w = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    options = {"class_weight": {0: 2.0, 5: 0.5}}
    memory = model(table, **options).fit(X, y, sample_weight=w)
    stream = model(table, **options).fit_stream((X, y, None, w), batch_rows=450)
    assert memory.n_iter_ > 1
    np.testing.assert_allclose(stream.polish_path_, memory.polish_path_, rtol=1e-8)
    np.testing.assert_allclose(stream.predict_proba(X), memory.predict_proba(X), atol=1e-8)


def test_many_labels(table):
    X, y = table
    Y = np.column_stack([y & 1, y & 2, y & 4]).astype(bool).astype(int)
    given = {"centers": X[:15], "sigma": 3.0, "reg": 1e-4, "polish": 8}
    memory = MultiLabelLSPC(**given).fit(X, Y)
    stream = MultiLabelLSPC(**given).fit_stream((X, Y), batch_rows=450)
    assert memory.n_iter_ > 1
    np.testing.assert_allclose(stream.polish_path_, memory.polish_path_, rtol=1e-8)
    np.testing.assert_allclose(stream.predict_proba(X), memory.predict_proba(X), atol=1e-8)


def test_dask_is_the_memory(table):
    da = pytest.importorskip("dask.array")
    X, y = table
    memory = model(table).fit(X, y)
    parts = da.from_array(X, chunks=(700, 4)), da.from_array(y, chunks=700)
    spread = model(table).fit(*parts)
    np.testing.assert_allclose(spread.polish_path_, memory.polish_path_, rtol=1e-8)
    np.testing.assert_allclose(spread.predict_proba(X), memory.predict_proba(X), atol=1e-8)


def test_dask_that_gives_other_rows(table):
    da = pytest.importorskip("dask.array")
    X, y = table
    calls = []

    def shifting(block, block_info=None):
        calls.append(1)
        return block + 1e-3 * (len(calls) > 7)

    rows = da.from_array(X, chunks=(1000, 4)).map_blocks(shifting, dtype=float, meta=X[:0])
    with pytest.raises(ValueError, match="gave other rows"):
        model(table).fit(rows, da.from_array(y, chunks=1000))


def test_an_iterator_keeps_the_closed_form_and_says_so(table):
    X, y = table
    with pytest.warns(UserWarning, match="can be gone through once"):
        once = model(table).fit_stream(iter([(X, y)]))
    closed = model(table, polish=None).fit_stream((X, y))
    np.testing.assert_array_equal(once.coef_, closed.coef_)
    assert "iterator" in once.polish_reason_
    more = model(table).fit_stream((X[:1000], y[:1000]))
    with pytest.warns(UserWarning, match="not in this source"):
        more.fit_stream((X[1000:], y[1000:]), warm_start=True)
    np.testing.assert_allclose(more.coef_, closed.coef_, atol=1e-8)


def test_a_function_that_begins_anew_is_polished(table):
    X, y = table

    def batches():
        for start in range(0, 2000, 400):
            yield X[start : start + 400], y[start : start + 400]

    np.testing.assert_allclose(
        model(table).fit_stream(batches).predict_proba(X),
        model(table).fit(X, y).predict_proba(X),
        atol=1e-8,
    )


class Stop:
    """Interrupts at the given report of progress."""

    def __init__(self, after):
        self.after, self.seen = after, []

    def __call__(self, progress):
        self.seen.append(progress)
        if len(self.seen) == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [2, 8, 13, 29])
def test_a_killed_pass_goes_on_from_its_checkpoint(table, tmp_path, after):
    X, y = table
    options = {"batch_rows": 350, "checkpoint": tmp_path / "sums.npz", "checkpoint_every": 2}
    stopped = model(table)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit_stream((X, y), progress=Stop(after), **options)
    if after > 6:  # the sums are made: the closed form answers meanwhile
        assert stopped.n_iter_ == 1
    again = model(table)
    stop = Stop(10_000)
    again.fit_stream((X, y), progress=stop, **options)
    whole = model(table).fit_stream((X, y), batch_rows=350)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.polish_path_, whole.polish_path_)
    assert len(stop.seen) < 6 * (whole.n_iter_ + 1) - after + 6
    assert stop.seen[-1].polish_pass == whole.n_iter_
    with pytest.raises(ValueError, match="at most 8 passes"):
        model(table, polish=5).fit_stream((X, y), **options)


class Changing:
    """Gives other batches after some passes."""

    def __init__(self, first, then, passes=2):
        self.first, self.then, self.passes, self.calls = first, then, passes, 0

    def __call__(self):
        self.calls += 1
        return iter(self.first if self.calls <= self.passes else self.then)


def cut(X, y):
    return [(X[i : i + 500], y[i : i + 500]) for i in range(0, len(y), 500)]


def test_another_content_or_order_is_refused(table, tmp_path):
    X, y = table
    moved, swapped = X.copy(), np.arange(len(y))
    moved[1200, 1] += 1e-9
    swapped[[600, 601]] = [601, 600]
    late = y.copy()
    late[1700] = 99
    broken = X.copy()
    broken[1300, 2] = np.nan
    whole = cut(X, y)
    for then, words in (
        (cut(moved, y), "rows 1000 to 1499, counted from 0"),
        (cut(X[swapped], y[swapped]), "rows 500 to 999, counted from 0"),
        (whole[::-1], "rows 0 to 499, counted from 0"),
        (whole[:3], "ended at another row"),
        (cut(broken, y), "The first such is row 1300 of the stream, counted from 0."),
        (cut(X, late), "Row 1700, counted from 0: The class 99"),
    ):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
        fitted = model(table)
        source = Changing(whole, then)
        with pytest.raises(StreamError, match=re.escape(words)):
            fitted.fit_stream(source, checkpoint=path)
        assert fitted.predict(X[:3]).shape == (3,)  # the closed form
        assert path.exists()
        # the right rows again: as if nothing had happened
        fitted.fit_stream(Changing(whole, whole), checkpoint=path)
        expected = model(table).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-8)


def test_no_number_in_a_late_row(table, tmp_path):
    X, y = table
    bad = X.copy()
    bad[1777, 2] = np.nan
    path = tmp_path / "sums.npz"
    with pytest.raises(StreamError, match="row 1777 of the stream, counted from 0"):
        model(table).fit_stream((bad, y), batch_rows=300, checkpoint=path)
    assert path.exists()
    fitted = model(table).fit_stream((X, y), batch_rows=300, checkpoint=path)
    expected = model(table).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-8)


def test_a_late_class_in_the_first_pass_is_a_class(table):
    X, y = table
    late = y.copy()
    late[-200:] = 11
    fitted = model(table).fit_stream((X, late), batch_rows=300)
    assert 11 in fitted.classes_
    expected = model(table).fit(X, late).predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-8)


def test_passes_asked_for_that_cannot_be_had(table):
    X, y = table
    with pytest.raises(ValueError, match="cannot be had"):
        model(table, posterior="rounded").fit_stream((X, y))


def test_marks_are_of_places():
    marks = Marks()
    keys = np.arange(9, dtype=np.uint64)
    for part in (keys[:4], keys[4:]):
        marks.add(part)
    kept = Marks(marks.to_array())
    whole = kept.again()
    assert whole.compare(keys)
    assert whole.complete
    early = kept.again()
    assert early.compare(keys[:4])
    assert not early.complete
    assert not kept.again().compare(keys[::-1])
