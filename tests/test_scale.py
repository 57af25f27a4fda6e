"""Memory is bounded, and what is too large says so before it starts."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from kinlearn import LSPC, LSPCCV
from kinlearn.problems import costs
from kinlearn.training import centers


def peak_megabytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.fixture
def small_auto(monkeypatch):
    """The automatic choice of centres at sizes a test can afford."""
    monkeypatch.setattr(centers, "AUTO_FULL_ROWS", 300)
    monkeypatch.setattr(centers, "AUTO_CENTERS", 50)


def test_automatic_centers(small_auto, rng):
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for Estimator in (LSPC, LSPCCV):
        assert Estimator().fit(X[:300], y[:300]).n_centers_ == 300
        model = Estimator(random_state=0).fit(X, y)
        assert model.n_centers_ == 50
        assert model.score(X, y) > 0.85
        assert Estimator(n_centers=None).fit(X, y).n_centers_ == 400


@pytest.mark.parametrize("method", ["kmeans++", "random", "leverage"])
def test_center_selection_draws_distinct_training_rows(method, rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LSPC(n_centers=25, center_selection=method, random_state=1).fit(X, y)
    assert len({tuple(row) for row in model.centers_} & {tuple(row) for row in X}) == 25
    sparse = LSPC(n_centers=25, center_selection=method, random_state=1).fit(sp.csr_matrix(X), y)
    assert sp.issparse(sparse.centers_)
    assert sparse.centers_.shape == (25, 3)
    assert model.score(X, y) > 0.9


def test_fixed_centers_fit_in_bounded_memory(rng):
    X = rng.normal(size=(60_000, 4))
    y = (X[:, 0] > 0).astype(int)
    model = LSPC(n_centers=200, memory_mb=8, sigma=2.0, random_state=0)
    assert peak_megabytes(lambda: model.fit(X, y)) < 40  # all features: 92 MB
    assert model.score(X, y) > 0.9


def test_prediction_in_bounded_memory(rng):
    X = rng.normal(size=(200, 5))
    model = LSPC(memory_mb=4).fit(X, (X[:, 0] > 0).astype(int))
    many = rng.normal(size=(100_000, 5))
    assert peak_megabytes(lambda: model.predict_proba(many)) < 25  # all features: 153 MB


def test_wide_sparse_rows_are_never_dense_as_a_whole(rng):
    X = sp.random(1000, 50_000, density=2e-4, format="csr", random_state=0)
    y = (
        np.asarray(X[:, :25_000].sum(axis=1)).ravel()
        > np.asarray(X[:, 25_000:].sum(axis=1)).ravel()
    )
    model = LSPC(n_centers=100, random_state=0, kernel="linear")
    assert peak_megabytes(lambda: model.fit(X, y)) < 50  # dense: 381 MB
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("error")
def test_all_rows_as_centers_warns_before_allocating(rng):
    X, y = rng.normal(size=(20_000, 2)), np.arange(20_000) % 2
    message = r"20000 distinct rows are all used.*GB of memory and \d+ minutes.*n_centers=\"auto\""
    for model in (LSPC(n_centers=None), LSPCCV(n_centers=None)):
        with pytest.raises(UserWarning, match=message):
            model.fit(X, y)


def test_more_than_the_machine_has_is_refused(rng, monkeypatch):
    monkeypatch.setattr(costs, "_physical_gigabytes", lambda: 1.0)
    X, y = rng.normal(size=(20_000, 2)), np.arange(20_000) % 2
    with pytest.raises(MemoryError, match="takes far less"):
        LSPC(n_centers=None).fit(X, y)
