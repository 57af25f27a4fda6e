"""Kernels and their blockwise evaluation against the written formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from kinlearn import threads
from kinlearn.kernels import KERNELS, KernelMap, median_width, resolve_kernel
from kinlearn.kernels.evaluation import row_blocks
from kinlearn.kernels.squared_distances import SquaredDistances
from naive.kernels import naive_kernel

NAMED = [name for name in KERNELS if name != "precomputed"]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("sparse_centers", [False, True])
def test_features_equal_the_formula(name, sparse_rows, sparse_centers, rng):
    X, C = rng.uniform(size=(30, 5)), rng.uniform(size=(7, 5))
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    expected = naive_kernel(name, X, C, 0.7)
    rows = sp.csr_matrix(X) if sparse_rows else X
    centers = sp.csr_matrix(C) if sparse_centers else C
    features = KernelMap(resolve_kernel(name), centers).features(rows, 0.7)
    np.testing.assert_allclose(features, expected, atol=1e-12)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("sparse", [False, True])
def test_square_is_symmetric_and_equals_the_formula(name, sparse, rng):
    X = rng.uniform(size=(20, 5))
    K = KernelMap(resolve_kernel(name), sp.csr_matrix(X) if sparse else X).square(0.7)
    np.testing.assert_allclose(K, naive_kernel(name, X, X, 0.7), atol=1e-12)
    np.testing.assert_allclose(K, K.T, atol=1e-15)
    if resolve_kernel(name).unit_diagonal:
        np.testing.assert_allclose(np.diag(K), 1.0, atol=1e-12)


def test_polynomial_takes_degree_and_offset(rng):
    X = rng.normal(size=(6, 3))
    kernel = resolve_kernel("polynomial", degree=2, coef0=0.5)
    expected = naive_kernel("polynomial", X, X, 1.3, degree=2, coef0=0.5)
    np.testing.assert_allclose(KernelMap(kernel, X).square(1.3), expected)


@pytest.mark.parametrize("n_widths", [1, 3])
@pytest.mark.parametrize("memory_mb", [256, 0.01])
def test_scores_in_blocks_equal_the_whole(n_widths, memory_mb, rng):
    X, C = rng.normal(size=(500, 3)), rng.normal(size=(40, 3))
    sigmas = [0.5, 1.0, 2.0][:n_widths]
    coefs = rng.normal(size=(n_widths, 40, 2))
    expected = sum(naive_kernel("rbf", X, C, s) @ A for s, A in zip(sigmas, coefs, strict=True))
    scores = KernelMap(resolve_kernel("rbf"), C, memory_mb).scores(X, sigmas, coefs)
    np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["rbf", "laplacian", "exponential", "matern32", "polynomial", "cosine"]
)
def test_features_made_by_threads_are_the_same(name, rng, monkeypatch):
    features = KernelMap(resolve_kernel(name), rng.normal(size=(300, 3)))
    X = rng.normal(size=(2000, 3))  # several blocks that fit the cache
    monkeypatch.setattr(threads, "available_cores", lambda: 1)
    alone = features.features(X, 1.5)
    monkeypatch.setattr(threads, "available_cores", lambda: 3)
    monkeypatch.setattr(threads._limits, "found", lambda: 3)
    np.testing.assert_array_equal(features.features(X, 1.5), alone)


def test_distances_far_from_the_origin_keep_their_digits(rng):
    X = rng.normal(size=(20, 3))
    far = SquaredDistances(X + 1e6)
    expected = ((X[:, None] - X[None]) ** 2).sum(-1)
    np.testing.assert_allclose(far.square(), expected, atol=1e-8)
    np.testing.assert_allclose(far.block(X + 1e6), expected, atol=1e-8)


def test_single_precision_rows_are_computed_in_double(rng):
    X = rng.normal(size=(20, 3)).astype(np.float32)
    K = KernelMap(resolve_kernel("rbf"), X).features(X, 1.0)
    assert K.dtype == np.float64
    expected = naive_kernel("rbf", X.astype(np.float64), X.astype(np.float64), 1.0)
    np.testing.assert_allclose(K, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("rbf", "euclidean"),
        ("laplacian", "cityblock"),
        ("matern32", "euclidean"),
        ("polynomial", "euclidean"),
    ],
)
def test_median_width_is_the_median_distance(name, metric, rng):
    X = rng.normal(size=(50, 3))
    assert median_width(X, resolve_kernel(name)) == pytest.approx(np.median(pdist(X, metric)))


def test_median_width_of_a_bounded_sample_is_close_and_repeats(rng):
    X = rng.normal(size=(3000, 2))
    exact = np.median(pdist(X))
    first = median_width(X, resolve_kernel("rbf"), max_rows=300)
    assert first == pytest.approx(exact, rel=0.1)
    assert first == median_width(X, resolve_kernel("rbf"), max_rows=300)


@pytest.mark.parametrize("mostly_zero", [False, True])
def test_steps_are_cut_at_quantiles_in_any_unit(mostly_zero, rng):
    X = np.exp(3 * rng.normal(size=(300, 2)))
    if mostly_zero:
        X[rng.uniform(size=300) < 0.8, 0] = 0.0
    kernel = resolve_kernel("steps")
    K = KernelMap(kernel, X).square(1.0)
    np.testing.assert_allclose(K, naive_kernel("steps", X, X, 1.0), atol=1e-12)
    for same in (X * 1000, np.sqrt(X), X - 5):
        np.testing.assert_allclose(KernelMap(kernel, same).square(1.0), K, atol=1e-12)
    far = KernelMap(kernel, X).features(np.array([[1e9, 1e9], [-1e9, -1e9]]), 1.0)
    assert far[0].max() <= 1.0 + 2 * 2.5 + 1e-9
    np.testing.assert_array_equal(far[1], 1.0)


@pytest.mark.parametrize("name", ["linear", "cosine", "precomputed"])
def test_kernels_without_a_width_have_width_one(name, rng):
    assert median_width(rng.normal(size=(5, 5)), resolve_kernel(name)) == 1.0


def test_row_blocks_cover_all_rows_within_the_bound():
    blocks = row_blocks(1000, bytes_per_row=800, max_bytes=80_000)
    assert [b.start for b in blocks] == list(range(0, 1000, 100))
    assert row_blocks(3, bytes_per_row=10**9, max_bytes=1) == [slice(i, i + 1) for i in range(3)]


def test_unknown_kernel_lists_the_choices():
    with pytest.raises(ValueError, match=r"kernel='gauss' is not known.*'rbf'"):
        resolve_kernel("gauss")


def test_a_function_of_the_wrong_shape_or_with_nan_is_refused(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(ValueError, match=r"shape \(4,\).*must be \(4, 4\)"):
        KernelMap(resolve_kernel(lambda A, B: A[:, 0]), X).square(1.0)
    with pytest.raises(ValueError, match="NaN or infinite"):
        KernelMap(resolve_kernel(lambda A, B: np.full((4, 4), np.nan)), X).square(1.0)


@pytest.mark.parametrize("n_numbers", [0, 4])
def test_categories_are_told_apart_by_a_product(n_numbers, rng):
    """Columns of two values, some with one value among the centres, and rows with a third one."""
    low, high = rng.normal(size=20), rng.normal(size=20)
    high[3] = low[3]
    numbers = rng.normal(size=(60, n_numbers))
    X = np.hstack([np.where(rng.uniform(size=(60, 20)) < 0.3, high, low), numbers])
    C = X[:25].copy()
    C[:, 5] = low[5]
    X[::7, 3] += 1.5  # a value that no centre has, where they have one
    X[30:35, 8] = 0.123  # and where they have two
    kernel = KernelMap(resolve_kernel("laplacian"), C)
    assert kernel.measure.two_values is not None
    expected = naive_kernel("laplacian", X, C, 2.0)
    np.testing.assert_allclose(kernel.features(X, 2.0), expected, atol=1e-12)
    alone = np.vstack([kernel.features(row[None], 2.0) for row in X])
    np.testing.assert_allclose(alone, expected, atol=1e-12)
    square = KernelMap(resolve_kernel("laplacian"), X).square(2.0)
    np.testing.assert_allclose(square, naive_kernel("laplacian", X, X, 2.0), atol=1e-12)
    np.testing.assert_array_equal(np.diag(square), 1.0)


def test_few_columns_or_many_values_are_compared_as_they_are(rng):
    categories = rng.integers(2, size=(30, 30)).astype(float)
    for X in (categories[:, :10], rng.normal(size=(30, 30)), sp.csr_matrix(categories)):
        kernel = KernelMap(resolve_kernel("laplacian"), X)
        assert kernel.measure.two_values is None
