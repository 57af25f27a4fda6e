"""The dual against its objective, and the held-out formulas against refits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kinlearn.solvers.multitask_dual import (
    dual_coefficients,
    own_features,
    ridges,
    solve,
    spectrum,
    task_parameters,
)
from kinlearn.solvers.multitask_held_out import held_out, leave_one_out_single
from kinlearn.solvers.multitask_wide import WideFeatures
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.solvers.task_covariance import (
    components,
    laplacian,
    mean_similarity,
    task_covariances,
    unseen_weight,
)
from kinlearn.training.splits import Leaving, Splits
from naive.held_out import group_by_group, without_the_mean_weight
from naive.tasks import naive_task_parameters, naive_task_scores, shared_and_own


def by_groups(groups):
    """Leave one group out at a time."""
    return Splits.from_train_test(len(groups), group_by_group(groups))


def random_problem(seed, n, m, n_tasks, n_classes, weighted, uniform):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, m))
    task = rng.integers(n_tasks, size=n)
    targets = np.eye(n_classes)[rng.integers(n_classes, size=n)]
    weights = rng.uniform(0.2, 3.0, size=n) if weighted else np.ones(n)
    if uniform:
        similarity = np.ones((n_tasks, n_tasks))
    else:
        similarity = rng.uniform(size=(n_tasks, n_tasks)) * (rng.uniform(size=(n_tasks,) * 2) < 0.6)
        similarity = similarity + similarity.T
    return features, task, targets, weights, similarity


problems = st.builds(
    random_problem,
    seed=st.integers(0, 2**31),
    n=st.integers(3, 25),
    m=st.integers(1, 8),
    n_tasks=st.integers(1, 5),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
    uniform=st.booleans(),
)


@settings(deadline=None, max_examples=60)
@given(problem=problems, reg=st.sampled_from([1e-3, 0.1, 2.0]), sharing=st.floats(0.0, 0.99))
def test_dual_equals_the_primal_solution(problem, reg, sharing):
    features, task, targets, weights, similarity = problem
    n_tasks = similarity.shape[0]
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    expected = naive_task_parameters(features, task, targets, weights, similarity, reg, sharing)
    gram = features @ features.T
    ridge = ridges(np.array([reg]), weights.sum(), n_tasks)
    by_cholesky = solve(gram, covariance, task, weights, targets, float(ridge[0]))
    found = spectrum(gram, covariance, task, weights)
    by_spectrum = dual_coefficients(found, targets, ridge)[0]
    scale = np.abs(expected).max()
    for duals in (by_cholesky, by_spectrum):
        parameters = task_parameters(features, duals, task, covariance)
        assert np.abs(parameters - expected).max() <= 1e-8 * max(scale, 1.0)


@settings(deadline=None, max_examples=30)
@given(problem=problems, reg=st.sampled_from([1e-2, 0.5]), sharing=st.floats(0.0, 0.99))
def test_leave_one_out_equals_refitting(problem, reg, sharing):
    features, task, targets, weights, similarity = problem
    n = len(task)
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    gram = features @ features.T
    found = spectrum(gram, covariance, task, weights)
    regs = np.array([reg, 3.0])
    held = held_out(found, targets, regs, similarity.shape[0], Splits.one_out(n))
    single = leave_one_out_single(gram, covariance, task, weights, targets, reg)
    for i in range(n):
        keep = np.arange(n) != i
        parameters = naive_task_parameters(
            features[keep],
            task[keep],
            targets[keep],
            weights[keep],
            similarity,
            reg,
            sharing,
            total=without_the_mean_weight(weights),
        )
        expected = naive_task_scores(features[[i]], task[[i]], parameters)[0]
        np.testing.assert_allclose(held[0, i], expected, atol=1e-8)
        np.testing.assert_allclose(single[i], expected, atol=1e-8)


@settings(deadline=None, max_examples=30)
@given(problem=problems, sharing=st.floats(0.0, 0.99), n_folds=st.integers(2, 5))
def test_held_out_blocks_equal_refitting(problem, sharing, n_folds):
    features, task, targets, weights, similarity = problem
    n = len(task)
    splits = by_groups(np.arange(n) % min(n_folds, n - 1))
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    found = spectrum(features @ features.T, covariance, task, weights)
    regs = np.array([0.01, 1.0])
    held = held_out(found, targets, regs, similarity.shape[0], splits)
    for r, reg in enumerate(regs):
        for out, held_block in splits:
            block = held_block.removed
            keep = np.setdiff1d(np.arange(n), block)
            parameters = naive_task_parameters(
                features[keep], task[keep], targets[keep], weights[keep], similarity, reg, sharing
            )
            expected = naive_task_scores(features[block], task[block], parameters)
            np.testing.assert_allclose(held[r, out], expected, atol=1e-8)


def centred_problem(seed, n, n_tasks, weighted, uniform):
    """Rows that are centres: a square feature matrix, as of a kernel; a few rows are none."""
    features, task, targets, weights, similarity = random_problem(
        seed, n, 3, n_tasks, 3, weighted, uniform
    )
    distances = np.square(features[:, None] - features[None]).sum(axis=2)
    own = np.where(np.arange(n) % 4 == 3, -1, np.arange(n))
    return np.exp(-distances / 4), task, targets, weights, similarity, own


centred_problems = st.builds(
    centred_problem,
    seed=st.integers(0, 2**31),
    n=st.integers(4, 14),
    n_tasks=st.integers(1, 4),
    weighted=st.booleans(),
    uniform=st.booleans(),
)


@settings(deadline=None, max_examples=30)
@given(problem=centred_problems, sharing=st.floats(0.0, 0.99))
def test_leave_one_out_without_the_rows_own_centre_equals_refitting(problem, sharing):
    phi, task, targets, weights, similarity, own = problem
    n = len(task)
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    gram = phi @ phi.T
    columns = own_features(phi, own, covariance, task)
    found = spectrum(gram, covariance, task, weights)
    regs = np.array([0.01, 0.3])
    held = held_out(found, targets, regs, similarity.shape[0], Splits.one_out(n), columns)
    single = leave_one_out_single(gram, covariance, task, weights, targets, 0.01, columns)
    np.testing.assert_allclose(single, held[0], atol=1e-8)
    for r, reg in enumerate(regs):
        for i in range(n):
            keep = np.arange(n) != i
            parameters = naive_task_parameters(
                phi[keep],
                task[keep],
                targets[keep],
                weights[keep],
                similarity,
                reg,
                sharing,
                total=without_the_mean_weight(weights),
                absent=[(task[i], own[i])] if own[i] >= 0 else [],
            )
            expected = naive_task_scores(phi[[i]], task[[i]], parameters)[0]
            np.testing.assert_allclose(held[r, i], expected, atol=1e-8)


@settings(deadline=None, max_examples=30)
@given(problem=centred_problems, sharing=st.floats(0.0, 0.99), n_folds=st.integers(2, 4))
def test_held_out_blocks_without_their_own_centres_equal_refitting(problem, sharing, n_folds):
    phi, task, targets, weights, similarity, own = problem
    n = len(task)
    splits = by_groups(np.arange(n) % min(n_folds, n - 1))
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    columns = own_features(phi, own, covariance, task)
    found = spectrum(phi @ phi.T, covariance, task, weights)
    regs = np.array([0.01, 1.0])
    held = held_out(found, targets, regs, similarity.shape[0], splits, columns)
    for r, reg in enumerate(regs):
        for out, held_block in splits:
            block = held_block.removed
            keep = np.setdiff1d(np.arange(n), block)
            absent = [(task[i], own[i]) for i in block if own[i] >= 0]
            parameters = naive_task_parameters(
                phi[keep],
                task[keep],
                targets[keep],
                weights[keep],
                similarity,
                reg,
                sharing,
                absent=absent,
            )
            expected = naive_task_scores(phi[block], task[block], parameters)
            np.testing.assert_allclose(held[r, out], expected, atol=1e-8)


def test_with_one_task_held_out_scores_are_those_of_lspc():
    phi, _, targets, weights, _, _ = centred_problem(1, 20, 1, False, True)
    everyone, nothing = np.arange(20), np.zeros(20, dtype=np.intp)
    columns = own_features(phi, everyone, np.eye(1), nothing)
    found = spectrum(phi @ phi.T, np.eye(1), nothing, weights)
    regs = np.array([1e-3, 0.1])
    for splits in (Splits.one_out(20), by_groups(everyone % 3)):
        expected = SymmetricSpectrum.of(phi.copy(), targets).held_out(regs, splits)
        held = held_out(found, targets, regs, 1, splits, columns)
        np.testing.assert_allclose(held, expected, atol=1e-8)


@pytest.mark.parametrize(("lambda_", "gamma"), [(0.3, 0.1), (0.01, 3.0), (2.0, 1e-3)])
def test_the_papers_parameters_mean_the_papers_equation_4(lambda_, gamma):
    features, task, targets, weights, similarity = random_problem(0, 20, 4, 3, 2, False, True)
    n, n_tasks = len(task), 3
    beta = shared_and_own(features, task, targets, n_tasks, lambda_, gamma)
    sharing = gamma / (lambda_ + gamma)
    reg = lambda_ * sharing
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    duals = solve(features @ features.T, covariance, task, weights, targets, reg * n / n_tasks)
    parameters = task_parameters(features, duals, task, covariance)
    np.testing.assert_allclose(parameters, beta[0] + beta[1:], atol=1e-8)
    shared = unseen_weight(similarity, sharing) * parameters.mean(axis=0)
    np.testing.assert_allclose(shared, beta[0], atol=1e-8)


def test_sharing_one_is_one_model_per_connected_component():
    features, task, targets, weights, _ = random_problem(3, 30, 5, 4, 3, True, True)
    similarity = np.zeros((4, 4))
    similarity[0, 2] = similarity[2, 0] = 0.3
    similarity[1, 3] = similarity[3, 1] = 2.0
    assert components(similarity)[0] == components(similarity)[2] != components(similarity)[1]
    covariance = task_covariances(similarity, np.array([1.0]))[0]
    reg, total = 0.05, weights.sum()
    duals = solve(features @ features.T, covariance, task, weights, targets, reg * total / 4)
    parameters = task_parameters(features, duals, task, covariance)
    for members in ([0, 2], [1, 3]):
        rows = np.isin(task, members)
        f, w = features[rows], weights[rows]
        # reg/(2T) Σ_{t in component} ||θ||²  =  (|component|·reg/2T) ||θ||²
        left = f.T @ (w[:, None] * f) / total + len(members) * reg / 4 * np.eye(5)
        expected = np.linalg.solve(left, f.T @ (w[:, None] * targets[rows]) / total)
        for t in members:
            np.testing.assert_allclose(parameters[t], expected, atol=1e-10)


def test_sharing_close_to_one_tends_to_sharing_one():
    rng = np.random.default_rng(5)
    similarity = rng.uniform(size=(6, 6))
    similarity += similarity.T
    almost, limit = task_covariances(similarity, np.array([1 - 1e-9, 1.0]))
    np.testing.assert_allclose(almost, limit, atol=1e-6)


@pytest.mark.parametrize("sharing", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("weight", [0.0, 0.7, 1.0])
def test_equal_similarities_take_the_closed_form_of_the_general_one(sharing, weight):
    similarity = np.full((5, 5), weight)
    precision = np.eye(5) + sharing / (1 - sharing) * laplacian(similarity) / 5
    covariance = task_covariances(similarity, np.array([sharing]))[0]
    np.testing.assert_allclose(covariance @ precision, np.eye(5), atol=1e-12)


def test_uniform_similarity_gives_the_covariance_of_the_paper():
    for sharing in (0.0, 0.25, 1.0):
        covariance = task_covariances(np.ones((4, 4)), np.array([sharing]))[0]
        expected = (1 - sharing) * np.eye(4) + sharing / 4
        np.testing.assert_allclose(covariance, expected, atol=1e-15)


def test_the_unseen_task_is_a_node_without_data():
    features, task, targets, weights, similarity = random_problem(8, 25, 3, 4, 2, False, False)
    reg, sharing = 0.2, 0.6
    parameters = naive_task_parameters(features, task, targets, weights, similarity, reg, sharing)
    tie = mean_similarity(similarity)
    gamma = reg * sharing / (1 - sharing)
    # Gradient of reg/(2T)||θ||² + γ w̄/(2T²) Σ_t ||θ - θ_t||² at the claimed minimiser, T = 4.
    new = unseen_weight(similarity, sharing) * parameters.mean(axis=0)
    gradient = reg / 4 * new + gamma * tie / 16 * (new - parameters).sum(axis=0)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-14)


def test_no_ridge_is_the_minimum_norm_solution():
    features, task, targets, weights, similarity = random_problem(2, 12, 30, 3, 2, False, True)
    covariance = task_covariances(similarity, np.array([0.0]))[0]
    duals = solve(features @ features.T, covariance, task, weights, targets, 0.0)
    parameters = task_parameters(features, duals, task, covariance)
    for t in range(3):
        expected = np.linalg.pinv(features[task == t]) @ targets[task == t]
        np.testing.assert_allclose(parameters[t], expected, atol=1e-9)


def test_the_spectrum_splits_over_unrelated_groups():
    features, task, _, weights, _ = random_problem(4, 20, 3, 4, 2, True, True)
    similarity = np.kron(np.eye(2), np.ones((2, 2)))
    covariance = task_covariances(similarity, np.array([0.7]))[0]
    gram = features @ features.T
    found = spectrum(gram, covariance, task, weights)
    root = np.sqrt(weights)
    whole = root[:, None] * covariance[task][:, task] * gram * root
    rebuilt = np.zeros_like(whole)
    for part in found.parts:
        assert len(set(task[part.rows] < 2)) == 1
        rebuilt[np.ix_(part.rows, part.rows)] = (part.vectors * part.values) @ part.vectors.T
    np.testing.assert_allclose(rebuilt, whole, atol=1e-10)
    assert len(found.parts) == 2


@pytest.mark.parametrize("copies", [False, True], ids=["rows", "copies"])
def test_wide_kernels_are_decomposed_by_rank_with_the_same_scores(copies):
    n, n_tasks = 210, 6
    phi, task, targets, weights, similarity, own = centred_problem(3, n, n_tasks, True, True)
    task[task == 4] = 2  # a task without rows
    phi = phi ** (1 / 30.0)
    gram, regs = phi @ phi.T, np.array([1e-3, 0.1])
    wide = WideFeatures.of(phi, gram, task, weights, own, len(regs))
    assert wide.factor.shape[1] < 60
    splits, units = Splits.one_out(n), None
    if copies:
        share = np.where(np.arange(n) % 3 == 0, 0.4, 1.0)
        splits = Splits(n, rows=np.arange(n), leaving=Leaving(share, sp.identity(n, format="csr")))
        units = targets
        targets = np.where(share[:, None] < 1.0, 0.5 * targets + 0.5 / 3, targets)
    ridge = ridges(regs, weights.sum() * splits.kept_share, n_tasks)
    for covariance in task_covariances(similarity, np.array([0.3, 0.95, 1.0])):
        columns = own_features(phi, own, covariance, task)
        found = spectrum(gram, covariance, task, weights)
        expected = held_out(found, targets, regs, n_tasks, splits, columns, units)
        held = wide.leave_one_out(covariance, targets, ridge, splits, units)
        np.testing.assert_allclose(held, expected, atol=1e-6)
        np.testing.assert_allclose(
            gram @ wide.dual_coefficients(covariance, targets, ridge),
            gram @ dual_coefficients(found, targets, ridge),
            atol=1e-6,
        )


def test_features_of_a_large_rank_are_left_to_the_eigendecomposition():
    phi = np.random.default_rng(0).normal(size=(210, 210))
    task = np.arange(210) % 3
    assert WideFeatures.of(phi, phi @ phi.T, task, np.ones(210), None, 20) is None
