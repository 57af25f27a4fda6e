"""The joint solver reaches the optimum; the paper's alternation does so without steps 2.3, 2.4."""

import numpy as np
import pytest
from scipy import linalg

from kinlearn.solvers.mtda_alternating import _Padded, alternate, complete_columns, table1
from kinlearn.solvers.trace_ratio import ratio_of, top_eigenvectors, trace_ratio
from naive.discriminants import naive_optimum, random_tasks, reduce_all

# (widths, rows, classes, n_components): d_i < n_i; d_i > n_i with more components than classes,
# where the optimum is below one; a mix of both kinds.
SETTINGS = [
    ((12, 20, 9), (60, 80, 50), (5, 4, 6), 3),
    ((60, 80, 100), (30, 40, 24), (5, 4, 6), 8),
    ((12, 80, 100), (60, 40, 24), (5, 4, 6), 4),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("setting", SETTINGS)
def test_joint_attains_the_naive_optimum(setting, seed):
    *shape, n_components = setting
    Xs, ys = random_tasks(seed, *shape)
    tasks = reduce_all(Xs, ys)
    found = trace_ratio(tasks, n_components)
    assert found.converged
    assert found.objective == pytest.approx(naive_optimum(Xs, ys, n_components), abs=1e-8)
    assert ratio_of(tasks, found.projections, [0, 0, 0]) == pytest.approx(found.objective)
    assert np.all(np.diff(found.path) >= 0)
    assert len(found.path) <= 12
    for U in found.projections:
        np.testing.assert_allclose(U.T @ U, np.eye(n_components), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_without_scatter_within_the_optimum_is_one_and_keeps_the_most_scatter_between(seed):
    Xs, ys = random_tasks(seed, (60, 80, 100), (30, 40, 24), (5, 4, 6))
    tasks = reduce_all(Xs, ys)
    found = trace_ratio(tasks, 3)
    assert found.objective == 1.0
    assert naive_optimum(Xs, ys, 3) == pytest.approx(1.0, abs=1e-8)
    # The tie is broken as a vanishing ridge would break it.
    ridges = [1e-7 * task.total.sum() for task in tasks]
    limit = trace_ratio(tasks, 3, ridges=ridges)
    for task, U, V in zip(tasks, found.projections, limit.projections, strict=True):
        assert np.sum(U**2 * task.total[:, None]) == pytest.approx(
            np.sum((task.between_root.T @ U) ** 2), rel=1e-9
        )
        np.testing.assert_allclose(U @ U.T, V @ V.T, atol=2e-3)


def test_a_ridge_moves_alpha_along_one_family_of_projections():
    Xs, ys = random_tasks(0, *SETTINGS[0][:3])
    tasks = reduce_all(Xs, ys)
    found = trace_ratio(tasks, 3, ridges=[0.5, 0.1, 0.3])
    for task, U in zip(tasks, found.projections, strict=True):
        top = top_eigenvectors(task.between() - found.objective * np.diag(task.total), 3)
        np.testing.assert_allclose(U @ U.T, top @ top.T, atol=1e-6)


def starts(tasks, n_components, kind, seed=0):
    rng = np.random.default_rng(seed)
    for task in tasks:
        if kind == "pca":
            yield np.eye(task.rank, n_components)
        elif kind == "random":
            yield np.linalg.qr(rng.normal(size=(task.rank, n_components)))[0]
        else:
            yield top_eigenvectors(task.between(), n_components)


@pytest.mark.parametrize("kind", ["random", "pca", "between"])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n_intermediate", [9, 35])
def test_alternating_rises_to_the_same_value(setting, kind, n_intermediate):
    *shape, n_components = setting
    tasks = reduce_all(*random_tasks(1, *shape))
    best = trace_ratio(tasks, n_components).objective
    found = alternate(tasks, list(starts(tasks, n_components, kind)), n_intermediate)
    assert found.converged
    assert found.objective == pytest.approx(best, abs=1e-8)
    assert np.diff(found.steps).min() >= -1e-14
    assert np.all(np.diff(found.path) >= -1e-14)
    for task, U in zip(tasks, found.projections, strict=True):
        np.testing.assert_allclose(U.T @ U, np.eye(n_components), atol=1e-11)
        # Nothing is left in the padding: the optimum lies in range(S_t).
        np.testing.assert_allclose(U[task.rank :], 0, atol=1e-6)


def test_table1_as_printed_can_lower_the_objective_and_ends_below_the_optimum():
    *shape, n_components = SETTINGS[0]
    falls = shortfalls = 0
    for seed in range(4):
        tasks = reduce_all(*random_tasks(seed, *shape))
        best = trace_ratio(tasks, n_components).objective
        found = alternate(
            tasks, list(starts(tasks, n_components, "random", seed)), 6, as_printed=True
        )
        falls += np.diff(found.steps).min() < -1e-4
        shortfalls += found.objective < best - 0.01
        assert found.objective <= best + 1e-10
    assert falls >= 2
    assert shortfalls == 4


def test_table1_follows_the_printed_lines():
    """Steps 2.1 to 2.5 with explicit matrices and the full S, against the solver."""
    [X], [y] = random_tasks(5, (9,), (40,), (4,))
    [task] = reduce_all([X], [y])
    rng = np.random.default_rng(0)
    P = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    W = np.linalg.qr(rng.normal(size=(9, 5)))[0]
    a, b = 0.3, 0.7
    S_b = task.between() + a * np.eye(9)
    S_t = np.diag(task.total) + b * np.eye(9)
    M = P @ P.T
    expected = W
    for _ in range(3):
        alpha = np.trace(expected.T @ S_b @ expected @ M) / np.trace(
            expected.T @ S_t @ expected @ M
        )
        vectors = np.linalg.eigh(S_b - alpha * S_t)[1][:, ::-1][:, :5]
        U_b = np.linalg.eigh(M)[1][:, ::-1]
        new = vectors @ U_b.T
        gain = np.trace(new.T @ (S_b - alpha * S_t) @ new @ M)
        top = np.sort(np.linalg.eigvalsh(S_b - alpha * S_t))[::-1][:2].sum()
        assert gain == pytest.approx(top)  # Theorem 1, whose value is right
        S = new @ new.T @ S_t @ new @ new.T
        expected = np.linalg.eigh(S)[1][:, ::-1][:, :5]
        # The sign of an eigenvector is free but changes W P: the solver's largest entry is > 0.
        expected = expected * np.sign(expected[np.abs(expected).argmax(axis=0), np.arange(5)])
    padded = _Padded(task.between(), np.diag(task.total))
    found = table1(padded, W, P, np.array([2 * a, 2 * b]), epsilon=0.0, n_iter=3)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_any_orthogonal_factor_does_not_keep_the_objective():
    """Theorem 1 says W Q is as good as W for any orthogonal Q; it is not."""
    [X], [y] = random_tasks(6, (9,), (40,), (4,))
    [task] = reduce_all([X], [y])
    P = np.eye(5, 2)
    W = top_eigenvectors(task.between() - 0.5 * np.diag(task.total), 5)
    swap = np.eye(5)[:, [4, 3, 2, 1, 0]]
    before = ratio_of([task], [W @ P], [0.0])
    after = ratio_of([task], [W @ swap @ P], [0.0])
    assert after < before - 0.05


def test_completed_columns_are_orthonormal_and_keep_the_given_ones():
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 3)))[0]
    W = complete_columns(U, 9, 6)
    np.testing.assert_allclose(W.T @ W, np.eye(6), atol=1e-12)
    np.testing.assert_array_equal(W[:7, :3], U)
    assert linalg.norm(W[7:, :3]) == 0
