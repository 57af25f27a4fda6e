"""The reduction to the span is exact, and the spaces it names are what they claim to be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf_shrinkage

from kinlearn.solvers.scatter import ledoit_wolf_weight, reduce_scatter, shrinkage_ridge
from naive.discriminants import dense_scatter, random_tasks

SHAPES = [(8, 40, 3), (40, 25, 5), (30, 30, 6), (200, 12, 2)]


@pytest.mark.parametrize(("d", "n", "c"), SHAPES)
def test_reduced_scatters_equal_the_dense_ones(d, n, c):
    [X], [y] = random_tasks(0, (d,), (n,), (c,))
    between, within, total = dense_scatter(X, y)
    reduced = reduce_scatter(X, y, c)
    B = reduced.basis
    np.testing.assert_allclose(B.T @ B, np.eye(reduced.rank), atol=1e-12)
    scale = np.abs(total).max()
    np.testing.assert_allclose(B @ reduced.between() @ B.T, between, atol=1e-10 * scale)
    np.testing.assert_allclose(B @ reduced.within() @ B.T, within, atol=1e-10 * scale)
    np.testing.assert_allclose(B @ np.diag(reduced.total) @ B.T, total, atol=1e-10 * scale)
    assert reduced.within_trace() == pytest.approx(np.trace(within), rel=1e-12)
    assert reduced.rank == min(d, n - 1)
    assert reduced.n_classes == c


@pytest.mark.parametrize(("d", "n", "c"), SHAPES)
def test_null_space_of_the_scatter_within(d, n, c):
    [X], [y] = random_tasks(1, (d,), (n,), (c,))
    reduced = reduce_scatter(X, y, c)
    null = reduced.within_null
    expected = c - 1 if d >= n else max(0, d - (n - c))
    assert null.shape == (reduced.rank, expected)
    np.testing.assert_allclose(null.T @ null, np.eye(expected), atol=1e-12)
    within = null.T @ reduced.within() @ null
    np.testing.assert_allclose(within, 0, atol=1e-10 * reduced.total[0])


def test_constant_columns_and_copies_do_not_add_rank():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    wide = np.hstack([X, np.full((20, 3), 1e6), X[:, :1]])
    reduced = reduce_scatter(wide, np.arange(20) % 2, 2)
    assert reduced.rank == 4
    assert reduce_scatter(np.full((20, 3), 1e6 / 3), np.arange(20) % 2, 2).rank == 0


def test_a_class_of_one_row_counts_between_and_not_within():
    [X], [y] = random_tasks(2, (6,), (20,), (2,))
    y[0] = 2
    between, within, _ = dense_scatter(X, y)
    reduced = reduce_scatter(X, y, 3)
    B = reduced.basis
    np.testing.assert_allclose(B @ reduced.between() @ B.T, between, atol=1e-10)
    np.testing.assert_allclose(B @ reduced.within() @ B.T, within, atol=1e-10)
    np.testing.assert_allclose(reduced.within_rows[0], 0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(3, 40), r=st.integers(1, 60), seed=st.integers(0, 10_000))
def test_ledoit_wolf_equals_scikit_learns(n, r, seed):
    rows = np.random.default_rng(seed).normal(size=(n, r)) * np.linspace(0.1, 3, r)
    theirs = ledoit_wolf_shrinkage(rows, assume_centered=True)
    assert ledoit_wolf_weight(rows) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_automatic_ridge_has_the_shape_of_the_shrunk_covariance():
    [X], [y] = random_tasks(3, (30,), (25,), (5,))
    reduced = reduce_scatter(X, y, 5)
    weight = ledoit_wolf_weight(reduced.within_rows)
    scale = reduced.within_trace() / reduced.rank
    shrunk = (1 - weight) * reduced.within() + weight * scale * np.eye(reduced.rank)
    ridged = reduced.within() + shrinkage_ridge(reduced, "auto") * np.eye(reduced.rank)
    np.testing.assert_allclose(ridged * (1 - weight), shrunk, atol=1e-12)
    assert shrinkage_ridge(reduced, 0.5) == pytest.approx(0.5 * scale)


def test_a_wide_task_fits_without_a_square_matrix_of_its_width():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 50_000))
    reduced = reduce_scatter(X, np.arange(60) % 4, 4)
    assert reduced.basis.shape == (50_000, 59)
    np.testing.assert_allclose(reduced.basis.T @ reduced.basis, np.eye(59), atol=1e-11)
