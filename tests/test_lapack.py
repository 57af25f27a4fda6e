"""LAPACK by its addresses gives what SciPy gives, and lets other threads go on."""

import threading

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import LinAlgError

from kinlearn.solvers import lapack


def kernel_matrix(n, dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2)).astype(dtype)


@pytest.fixture(params=["address", "scipy"])
def way(request, monkeypatch):
    if request.param == "scipy":
        monkeypatch.setattr(lapack, "_routine", lambda *_: None)
    return request.param


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 60])
@pytest.mark.parametrize("order", ["C", "F"])
def test_eigh(way, n, dtype, order):
    if n == 0:
        pytest.importorskip("scipy", minversion="1.14")
    K = np.array(kernel_matrix(n, dtype), order=order)
    values, vectors = lapack.eigh(K)
    np.testing.assert_array_equal(K, kernel_matrix(n, dtype))
    assert values.dtype == vectors.dtype == dtype
    wanted = scipy.linalg.eigh(K, driver="evd")[0]
    exact = 1e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(values, wanted, atol=exact)
    np.testing.assert_allclose((vectors * values) @ vectors.T, K, atol=10 * exact)
    again = lapack.eigh(K, overwrite=True)
    np.testing.assert_allclose(again[0], values, atol=exact)


def test_a_part_of_a_larger_array(way):
    large = kernel_matrix(40)
    part = large[::2, ::2]
    values, _ = lapack.eigh(part, overwrite=True)
    np.testing.assert_array_equal(large, kernel_matrix(40))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(kernel_matrix(40)[::2, ::2]), atol=1e-12)


def test_pivoted_cholesky(way):
    X = np.random.default_rng(1).normal(size=(50, 5))
    K = X @ X.T
    L, pivots = lapack.pivoted_cholesky(K.copy(), 1e-6)
    assert L.shape[1] == 5
    assert sorted(pivots) == list(range(50))
    np.testing.assert_allclose(L @ L.T, K[np.ix_(pivots, pivots)], atol=1e-5)


def test_cholesky_in_place(way):
    K = np.asfortranarray(kernel_matrix(30) + np.eye(30))
    factor = K.copy(order="F")
    assert lapack.cholesky_in_place(factor)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(K), atol=1e-12)
    assert not lapack.cholesky_in_place(np.asfortranarray(-np.eye(3)))


def test_not_a_number_is_refused_or_shown(way):
    K = kernel_matrix(10)
    K[3, 3] = np.nan
    try:
        values, _ = lapack.eigh(K)
    except LinAlgError:
        return
    assert np.isnan(values).any()


def test_addresses_are_those_known():
    for name in ("syevd", "pstrf", "potrf"):
        assert lapack._routine(name, np.dtype(np.float64)) is not None
    assert lapack._routine("syevd", np.dtype(np.float32)) is not None
    assert lapack._routine("syevd", np.dtype(np.int64)) is None


def test_other_threads_go_on():
    """While one decomposes, another counts; with Python's lock held it would stand still."""
    K = kernel_matrix(700)
    begun, counted = threading.Event(), 0

    def decompose():
        begun.set()
        lapack.eigh(K)

    worker = threading.Thread(target=decompose)
    worker.start()
    begun.wait()
    while worker.is_alive():
        counted += 1
        threading.Event().wait(0.0005)
    assert counted > 10
