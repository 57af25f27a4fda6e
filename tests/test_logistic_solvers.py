"""The logistic solvers against each other, and against scipy's minimiser of the objective."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinlearn.solvers.kernel_factor import eigen_factor, orthogonal, pivoted_cholesky
from kinlearn.solvers.logistic_exact import newton_dual_multiclass
from kinlearn.solvers.logistic_lbfgs import lbfgs
from kinlearn.solvers.logistic_loss import LogisticLoss
from kinlearn.solvers.logistic_multiclass import newton_multiclass
from kinlearn.solvers.logistic_newton import newton_dual, newton_factor
from kinlearn.solvers.logistic_path import DualPath, FeaturePath, Stopping
from kinlearn.solvers.logistic_tasks import TaskPath
from naive.logistic import naive_logistic_scores


def problem(rng, n=40, n_classes=2, rank=None):
    X = rng.normal(size=(n, n if rank is None else rank))
    Z = rng.dirichlet(np.ones(n_classes) * 0.3, size=n)
    return X, X @ X.T / X.shape[1], LogisticLoss.of(Z, rng.dirichlet(np.ones(n)))


@pytest.mark.parametrize("rank", [None, 7])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_all_solvers_find_the_naive_optimum(n_classes, rank, rng):
    _, gram, loss = problem(rng, n_classes=n_classes, rank=rank)
    expected = naive_logistic_scores(gram, loss, 1e-2)
    factor = eigen_factor(gram)
    pivoted = pivoted_cholesky(gram)
    assert pivoted.rank == (rank or 40)
    if n_classes == 2:
        found = {
            "dual": gram @ newton_dual(gram, loss, 1e-2).coef,
            "pivoted": pivoted.F @ newton_factor(pivoted.F, loss, 1e-2).coef,
        }
    else:
        found = {
            "exact": gram @ newton_dual_multiclass(gram, loss, 1e-2).coef,
            "cg": factor.F @ newton_multiclass(factor.F, loss, 1e-2).coef,
        }
    found["lbfgs"] = factor.F @ lbfgs(factor.F, loss, 1e-2).coef
    for scores in found.values():
        np.testing.assert_allclose(scores, expected, atol=2e-5)


@pytest.mark.parametrize("rank", [5, 30])
def test_factors_reproduce_the_matrix_and_lead_back(rank, rng):
    F = rng.normal(size=(30, rank)) * np.logspace(0, -4, rank)
    gram = F @ F.T
    plain = pivoted_cholesky(gram)
    for factor in (plain, plain.orthogonal(), eigen_factor(gram)):
        np.testing.assert_allclose(factor.F @ factor.F.T, gram, atol=1e-12)
        beta = rng.normal(size=(factor.rank, 2))
        a = factor.duals(beta, rng.normal(size=(30, 2)))
        np.testing.assert_allclose(factor.F.T @ a, beta, atol=1e-6)
    rotated, V = orthogonal(F)
    products = rotated.T @ rotated
    np.testing.assert_allclose(products, np.diag(np.diagonal(products)), atol=1e-12)
    np.testing.assert_allclose(F @ V, rotated, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**31),
    n_classes=st.integers(2, 4),
    solver=st.sampled_from(["newton", "lbfgs"]),
    thin=st.booleans(),
)
def test_a_path_gives_what_single_fits_give(seed, n_classes, solver, thin):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(20, 6 if thin else 25))
    Z = np.eye(n_classes)[rng.integers(n_classes, size=20)]
    weights = rng.uniform(0.5, 2.0, size=20)
    path = FeaturePath(Phi, Z, weights, Stopping(solver, 1e-9 if solver == "newton" else 1e-7))
    for reg in (1.0, 1e-1, 3e-2, 1e-2):
        found = path.solve(reg)
        alone = FeaturePath(Phi, Z, weights).solve(reg)
        np.testing.assert_allclose(Phi @ found.coef, Phi @ alone.coef, atol=1e-3)
        assert found.gradient_norm <= 1e-7


def test_hard_steps_go_over_to_exact_ones(rng, monkeypatch):
    _, gram, loss = problem(rng, n_classes=3)
    easy = DualPath(gram, loss).solve(1e-3)
    monkeypatch.setattr("kinlearn.solvers.logistic_path.PATIENCE", 2 - 3 * 8)
    exact = DualPath(gram, loss).solve(1e-3)
    assert exact.n_factorisations > easy.n_factorisations
    assert exact.gradient_norm <= 1e-7
    np.testing.assert_allclose(gram @ exact.coef, gram @ easy.coef, atol=1e-4)


def test_a_kernel_of_zeros_scores_zero():
    loss = LogisticLoss.of(np.eye(3), np.full(3, 1 / 3))
    for solver in ("newton", "lbfgs"):
        np.testing.assert_array_equal(
            DualPath(np.zeros((3, 3)), loss, Stopping(solver)).solve(1.0).coef, 0.0
        )


def test_extreme_scores_do_not_overflow():
    for n_classes in (2, 3):
        loss = LogisticLoss.of(np.eye(n_classes)[[0, 1]], np.full(2, 0.5))
        f = np.full((2, loss.targets.shape[1]), 0.0)
        f[0, 0], f[1, 0] = 1e4, -1e4
        value, p = loss.evaluate(f)
        assert np.isfinite(value)
        assert np.isfinite(p).all()


def test_tasks_that_share_nothing_are_solved_apart(rng):
    phi = rng.normal(size=(24, 5))
    task = np.arange(24) % 3
    Z, weights = np.eye(2)[rng.integers(2, size=24)], np.ones(24)
    covariance = np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3], [0.0, 0.3, 0.7]])
    path = TaskPath(phi @ phi.T, covariance, task, Z, weights)
    assert sorted(len(rows) for rows, _ in path.parts) == [8, 16]
    found = path.solve(1e-2)
    B = 3 * covariance[task][:, task] * (phi @ phi.T)
    whole = newton_dual(B, LogisticLoss.of(Z, weights / 24), 1e-2)
    np.testing.assert_allclose(B @ found.coef, B @ whole.coef, atol=1e-4)
    assert found.gradient_norm <= 1e-7
