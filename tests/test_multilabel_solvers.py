"""Every solver of multi-label LSPC against a naive solution of the objective."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.solvers.label_similarity import (
    keep_strongest,
    label_similarity,
    label_spectrum,
    laplacian,
    pearson,
)
from kinlearn.solvers.masked_labels import solve_masked, unrotate
from kinlearn.solvers.multilabel_cg import conjugate_gradients, solve_cg
from kinlearn.solvers.multilabel_direct import solve_direct
from kinlearn.solvers.multilabel_held_out import LeaveOneOut
from kinlearn.solvers.sylvester import feature_spectrum, solve_sylvester
from kinlearn.training.splits import Block
from naive.labels import label_objective, naive_label_parameters


def problem(n=30, n_labels=4, seed=0, n_centers=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    angles = np.arange(n_labels) * 0.7
    Z = (X[:, :1] * np.cos(angles) + X[:, 1:2] * np.sin(angles) > 0).astype(float)
    C = X if n_centers is None else X[:n_centers]
    features = np.exp(-((X[:, None] - C[None]) ** 2).sum(-1) / 4.0)
    return features, Z


def test_naive_hessian_is_that_of_the_objective():
    """A numerical Hessian of the written objective shows γ/T² before L, not the printed γ/T."""
    features, Z = problem(n=5, n_labels=3)
    W = np.array([[0, 0.8, 0.3], [0.8, 0, 0.5], [0.3, 0.5, 0]])
    V = np.ones_like(Z)
    T, m, reg, gamma = 3, 5, 0.01, 0.7

    def value(vector):
        return label_objective(vector.reshape(T, m).T, features, Z, W, reg, gamma, V)

    size = m * T
    eye = np.eye(size)
    numerical = (
        np.array(
            [[value(a + b) - value(a - b) - value(b - a) + value(-a - b) for b in eye] for a in eye]
        )
        / 4.0
    )
    K2 = features.T @ features
    smooth = np.kron(np.eye(T), K2 / (5 * T)) + reg / T * np.eye(size)
    coupling = np.kron(laplacian(W), np.eye(m))
    assert_allclose(numerical, smooth + gamma / T**2 * coupling, atol=1e-10)
    assert np.abs(numerical - (smooth + gamma / T * coupling)).max() > 0.1


@pytest.mark.parametrize("similarity", ["correlation", "uniform", "signed"])
@pytest.mark.parametrize("sharing", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("n_centers", [None, 12])
def test_solvers_agree_with_the_naive_solution(similarity, sharing, n_centers):
    features, Z = problem(n_centers=n_centers)
    targets = 2 * Z - 1
    W = label_similarity(Z, similarity)
    spectrum = label_spectrum(W)
    expected = naive_label_parameters(features, targets, W, 1e-2, sharing)
    decomposed = feature_spectrum(features, symmetric=n_centers is None)
    spectral = solve_sylvester(decomposed, targets, *spectrum, reg=1e-2, sharing=sharing)
    direct = solve_direct(features, targets, *spectrum, reg=1e-2, sharing=sharing)
    cg = solve_cg(features, targets, *spectrum, reg=1e-2, sharing=sharing, tol=1e-11)
    masked = solve_masked(
        feature_spectrum(features, symmetric=n_centers is None),
        targets,
        np.ones_like(Z),
        *spectrum,
        reg=1e-2,
        sharing=sharing,
    )
    assert_allclose(spectral, expected, atol=1e-10)
    assert_allclose(direct, expected, atol=1e-10)
    assert cg.converged
    assert_allclose(cg.solution, expected, atol=1e-8)
    assert masked.n_iter <= 2
    assert_allclose(unrotate(decomposed, masked.solution @ spectrum[1].T), expected, atol=1e-10)


@pytest.mark.parametrize("similarity", ["correlation", "signed"])
def test_full_sharing_is_the_limit(similarity):
    features, Z = problem(n_labels=3)
    targets = 2 * Z - 1
    W = label_similarity(Z, similarity)
    W[2] = W[:, 2] = 0.0
    spectrum = label_spectrum(W)
    expected = naive_label_parameters(features, targets, W, 1e-2, 1 - 1e-9)
    decomposed = feature_spectrum(features, symmetric=True)
    spectral = solve_sylvester(decomposed, targets, *spectrum, reg=1e-2, sharing=1.0)
    assert_allclose(spectral, expected, atol=1e-6)
    assert_allclose(spectral[:, 0], spectral[:, 1], atol=1e-12)
    direct = solve_direct(features, targets, *spectrum, reg=1e-2, sharing=1.0)
    assert_allclose(direct, spectral, atol=1e-10)
    cg = solve_cg(features, targets, *spectrum, reg=1e-2, sharing=1.0, tol=1e-11)
    assert_allclose(cg.solution, spectral, atol=1e-8)
    mask = np.random.default_rng(0).random(Z.shape) > 0.3
    masked = solve_masked(decomposed, targets, mask.astype(float), *spectrum, reg=1e-2, sharing=1.0)
    held = naive_label_parameters(features, targets, W, 1e-2, 1 - 1e-9, mask.astype(float))
    assert_allclose(unrotate(decomposed, masked.solution @ spectrum[1].T), held, atol=1e-5)


@pytest.mark.parametrize("reg", [1e-5, 1e-2])
@pytest.mark.parametrize("sharing", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("n_centers", [None, 12])
def test_missing_labels_equal_the_naive_solution(reg, sharing, n_centers):
    features, Z = problem(n=40, n_centers=n_centers)
    rng = np.random.default_rng(1)
    V = (rng.random(Z.shape) > 0.4) * rng.choice([0.5, 1.0, 3.0], Z.shape)
    W = label_similarity(Z, pair_weights=V)
    spectrum = label_spectrum(W)
    expected = naive_label_parameters(features, Z, W, reg, sharing, V)
    decomposed = feature_spectrum(features, symmetric=n_centers is None)
    masked = solve_masked(decomposed, Z, V, *spectrum, reg=reg, sharing=sharing, tol=1e-12)
    assert masked.converged
    assert_allclose(unrotate(decomposed, masked.solution @ spectrum[1].T), expected, atol=1e-7)
    direct = solve_direct(features, Z, *spectrum, reg=reg, sharing=sharing, pair_weights=V)
    assert_allclose(direct, expected, atol=1e-7)
    again = solve_masked(
        decomposed, Z, V, *spectrum, reg=reg, sharing=sharing, start=masked.solution, tol=1e-9
    )
    assert again.n_iter <= 1


def test_row_weights_are_repeated_rows_on_fixed_centres():
    features, Z = problem(n_centers=10)
    counts = np.random.default_rng(0).integers(1, 4, len(Z))
    spectrum = label_spectrum(label_similarity(Z))
    repeated = np.repeat(np.arange(len(Z)), counts)
    expected = solve_sylvester(
        feature_spectrum(features[repeated]), Z[repeated], *spectrum, reg=1e-2, sharing=0.5
    )
    weights = counts.astype(float)
    weighted = feature_spectrum(features, weights)
    assert_allclose(
        solve_sylvester(weighted, Z, *spectrum, reg=1e-2, sharing=0.5), expected, atol=1e-10
    )
    cg = solve_cg(features, Z, *spectrum, reg=1e-2, sharing=0.5, weights=weights, tol=1e-12)
    assert_allclose(cg.solution, expected, atol=1e-8)


@pytest.mark.parametrize("similarity", ["correlation", "signed"])
@pytest.mark.parametrize("sharing", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("reg", [1e-6, 1e-2])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting_without_the_row(similarity, sharing, reg, weighted):
    features, Z = problem()
    n = len(Z)
    targets = 2 * Z - 1
    spectrum = label_spectrum(label_similarity(Z, similarity))
    weights = np.random.default_rng(0).choice([1.0, 2.0, 0.5], n) if weighted else None
    decomposed = feature_spectrum(features, weights, symmetric=not weighted)
    loo = LeaveOneOut(decomposed, targets, *spectrum, own_centers=True)
    scores = loo.scores(reg=reg, sharing=sharing)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        w = None if weights is None else weights[rest]
        # The convention for weights: the penalty shrinks by (n-1)/n, whichever row leaves.
        scaled = reg if w is None else reg * weights.sum() * (n - 1) / n / w.sum()
        left = feature_spectrum(features[np.ix_(rest, rest)], w, symmetric=w is None)
        theta = solve_sylvester(left, targets[rest], *spectrum, reg=scaled, sharing=sharing)
        assert_allclose(scores[i], features[i, rest] @ theta, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_with_fixed_centres(weighted):
    features, Z = problem(n_centers=8)
    n = len(Z)
    spectrum = label_spectrum(label_similarity(Z))
    weights = np.random.default_rng(0).choice([1.0, 2.0, 0.5], n) if weighted else None
    loo = LeaveOneOut(feature_spectrum(features, weights), Z, *spectrum, own_centers=False)
    scores = loo.scores(reg=1e-3, sharing=0.5)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        w = None if weights is None else weights[rest]
        scaled = 1e-3 if w is None else 1e-3 * weights.sum() * (n - 1) / n / w.sum()
        left = feature_spectrum(features[rest], w)
        theta = solve_sylvester(left, Z[rest], *spectrum, reg=scaled, sharing=0.5)
        assert_allclose(scores[i], features[i] @ theta, atol=1e-9)


@pytest.mark.parametrize("n_centers", [None, 8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("similarity", ["correlation", "signed"])
def test_blocks_of_rows_equal_refitting_without_them(n_centers, weighted, similarity):
    features, Z = problem(n_centers=n_centers)
    n = len(Z)
    targets = 2 * Z - 1
    spectrum = label_spectrum(label_similarity(Z, similarity))
    weights = np.random.default_rng(0).choice([1.0, 2.0, 0.5], n) if weighted else None
    own = n_centers is None
    decomposed = feature_spectrum(features, weights, symmetric=own and not weighted)
    loo = LeaveOneOut(decomposed, targets, *spectrum, own_centers=own)
    points = [(1e-3, 0.0), (1e-3, 0.8), (1e-2, 1.0)]
    removed = np.array([2, 3, 11, 20])
    rest = np.setdiff1d(np.arange(n), removed)
    w = None if weights is None else weights[rest]
    train = features[np.ix_(rest, rest)] if own else features[rest]
    test = features[np.ix_(removed, rest)] if own else features[removed]
    left = feature_spectrum(train, w, symmetric=own and not weighted)
    block = Block(removed, np.arange(4))
    for scores, (reg, sharing) in zip(loo.block(points, block), points, strict=True):
        theta = solve_sylvester(left, targets[rest], *spectrum, reg=reg, sharing=sharing)
        assert_allclose(scores, test @ theta, atol=1e-8)


def test_pearson_over_jointly_observed_rows():
    _, Z = problem(n=50, n_labels=5)
    mask = np.random.default_rng(3).random(Z.shape) > 0.3
    rho = pearson(Z, mask.astype(float))
    for a in range(5):
        for b in range(5):
            both = mask[:, a] & mask[:, b]
            assert_allclose(rho[a, b], np.corrcoef(Z[both, a], Z[both, b])[0, 1], atol=1e-12)
    assert_allclose(pearson(Z), np.corrcoef(Z.T), atol=1e-12)


def test_constant_labels_are_similar_to_nothing():
    _, Z = problem(n_labels=3)
    Z[:, 1] = 1.0
    W = label_similarity(Z)
    assert not W[1].any()
    assert np.isfinite(W).all()


def test_strongest_similarities_are_kept():
    rng = np.random.default_rng(0)
    A = rng.random((8, 8))
    W = A + A.T
    np.fill_diagonal(W, 9.0)
    kept = keep_strongest(W, 2)
    off = W - np.diag(np.diag(W))
    for t in range(8):
        strongest = np.argsort(-off[t])[:2]
        assert (kept[t, strongest] == W[t, strongest]).all()
    assert_allclose(kept, kept.T)
    assert (kept == 0).sum() > 20
    with pytest.raises(ValueError, match="n_similar must be a positive integer"):
        keep_strongest(W, 0)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        ("cosine", "similarity='cosine' is unknown"),
        (np.ones((2, 2)), r"shape \(2, 2\), but Y has 3 labels"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (-np.ones((3, 3)), "negative entry: -1"),
        (np.full((3, 3), np.nan), "NaN or infinity"),
        (lambda Y: np.ones((1, 1)), r"shape \(1, 1\)"),
        ({"a": 1}, "a matrix or a callable"),
    ],
)
def test_wrong_similarity_is_refused(similarity, message):
    _, Z = problem(n_labels=3)
    with pytest.raises(ValueError, match=message):
        label_similarity(Z, similarity)


def test_callable_similarity_sees_what_is_missing():
    _, Z = problem(n_labels=3)
    V = np.ones_like(Z)
    V[0, 1] = 0.0
    seen = []
    label_similarity(Z, lambda Y: seen.append(Y) or np.ones((3, 3)), pair_weights=V)
    assert np.isnan(seen[0][0, 1])
    assert np.isnan(seen[0]).sum() == 1


def test_signed_laplacian_is_positive_semidefinite():
    _, Z = problem(n=40, n_labels=6)
    values, vectors = label_spectrum(label_similarity(Z, "signed"))
    assert values.min() >= 0
    assert_allclose(
        (vectors * values) @ vectors.T, laplacian(label_similarity(Z, "signed")), atol=1e-9
    )


def test_conjugate_gradients_reports_when_it_does_not_converge():
    features, Z = problem()
    spectrum = label_spectrum(label_similarity(Z))
    found = solve_cg(features, Z, *spectrum, reg=1e-6, sharing=0.5, max_iter=3)
    assert found.n_iter == 3
    assert not found.converged
    assert found.residual > 1e-8
    zero = conjugate_gradients(lambda x: x, np.zeros(3))
    assert zero.converged
    assert zero.n_iter == 0


def test_direct_refuses_a_matrix_that_would_not_fit():
    with pytest.raises(ValueError, match=r"20000 rows .* use solver='spectral'"):
        solve_direct(
            np.ones((3, 200)), np.ones((3, 100)), np.zeros(100), np.eye(100), reg=1.0, sharing=0.0
        )


def test_masked_solver_refuses_row_weights():
    features, Z = problem()
    with pytest.raises(ValueError, match="put them into pair_weights"):
        solve_masked(
            feature_spectrum(features, np.ones(len(Z))),
            Z,
            np.ones_like(Z),
            *label_spectrum(label_similarity(Z)),
            reg=1.0,
            sharing=0.0,
        )
