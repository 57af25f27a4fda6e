"""The single-task relatives and the Aggregate baseline against their definitions."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from kinlearn import AggregateLDA, RatioTraceLDA, TraceRatioLDA
from kinlearn.solvers.ratio_trace import fisherface, ratio_trace
from kinlearn.solvers.scatter import reduce_scatter
from naive.discriminants import dense_scatter, random_tasks, trace_ratio


def test_trace_ratio_lda_is_stationary_and_beats_random_frames():
    [X], [y] = random_tasks(0, (10,), (60,), (4,))
    lda = TraceRatioLDA().fit(X, y)
    assert lda.components_.shape == (3, 10)
    value = trace_ratio(lda.components_, X, y)
    assert value == pytest.approx(lda.objective_, abs=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(200):
        near = lda.components_ + 0.05 * rng.normal(size=(3, 10))
        frame = np.linalg.qr(near.T)[0].T
        assert trace_ratio(frame, X, y) <= value + 1e-12
    between, _, total = dense_scatter(X, y)
    top = np.linalg.eigvalsh(between - lda.objective_ * total)[-3:].sum()
    assert top == pytest.approx(0, abs=1e-9)  # F(alpha) = 0


@pytest.mark.parametrize("shrinkage", [0.1, 1.0])
@pytest.mark.parametrize(("d", "n"), [(8, 60), (50, 30)])
def test_ratio_trace_solves_the_generalised_eigenproblem(shrinkage, d, n):
    [X], [y] = random_tasks(1, (d,), (n,), (4,))
    lda = RatioTraceLDA(shrinkage=shrinkage, scaling="within").fit(X, y)
    reduced = reduce_scatter(X, y, 4)
    B = reduced.basis
    between, within, _ = dense_scatter(X, y)
    S_b, S_w = B.T @ between @ B, B.T @ within @ B
    S_w += shrinkage * np.trace(S_w) / len(S_w) * np.eye(len(S_w))
    values, vectors = linalg.eigh(S_b, S_w)
    np.testing.assert_allclose(lda.ratios_, values[::-1][:3], rtol=1e-8)
    expected = (B @ vectors[:, ::-1][:, :3]).T
    np.testing.assert_allclose(np.abs(lda.components_), np.abs(expected), atol=1e-8)
    assert lda.shrinkage_ == pytest.approx(shrinkage)


def test_without_shrinkage_and_with_enough_rows_it_is_scikit_learns_lda():
    [X], [y] = random_tasks(2, (8,), (60,), (4,))
    ours = RatioTraceLDA(shrinkage=0, scaling="within").fit_transform(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).transform(X)
    for a, b in zip(ours.T, (theirs - theirs.mean(axis=0)).T, strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) == pytest.approx(1, abs=1e-9)


def test_fisherface_is_pca_to_n_minus_c_and_then_fishers_directions():
    [X], [y] = random_tasks(3, (50,), (24,), (4,))
    lda = RatioTraceLDA(shrinkage=0, scaling="within").fit(X, y)
    pca = PCA(24 - 4).fit(X)
    between, within, _ = dense_scatter(pca.transform(X), y)
    vectors = linalg.eigh(between, within)[1][:, ::-1][:, :3]
    expected = (pca.components_.T @ vectors).T
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.abs(lda.components_), np.abs(expected), atol=1e-8 * scale)
    unit = RatioTraceLDA(shrinkage=0).fit(X, y).components_
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    assert np.abs(np.sum(unit * expected, axis=1)) == pytest.approx(
        np.linalg.norm(expected, axis=1), rel=1e-8
    )


def test_a_singular_scatter_within_is_handled():
    """Class means fill a direction in which no class scatters."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = np.column_stack([rng.normal(size=30), y * 1.0, rng.normal(size=30)])
    reduced = reduce_scatter(X, y, 3)
    directions, ratios = fisherface(reduced)
    assert np.isfinite(directions).all()
    assert np.isfinite(ratios).all()
    strong, _ = ratio_trace(reduced, ridge=1e-3)
    leading = reduced.basis @ strong[:, 0]
    assert abs(leading[1]) / np.linalg.norm(leading) > 0.99


@pytest.mark.parametrize("lda", [TraceRatioLDA, RatioTraceLDA])
def test_refusals_are_sentences(lda):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    with pytest.raises(ValueError, match="has only one class"):
        lda().fit(X, np.zeros(12))
    with pytest.raises(ValueError, match="one row each"):
        lda().fit(X, np.arange(12))
    with pytest.raises(ValueError, match="3 features is constant"):
        lda().fit(np.ones((12, 3)), np.arange(12) % 2)
    with pytest.raises(ValueError, match='shrinkage must be a number of at least 0 or "auto"'):
        lda(shrinkage=-0.5).fit(X, np.arange(12) % 2)
    with pytest.warns(UserWarning, match="capped at"):
        capped = lda(n_components=10).fit(X, np.arange(12) % 3)
    assert capped.components_.shape[0] in (2, 3)


def test_whitening_needs_scatter_within():
    X = np.repeat(np.eye(3), 4, axis=0)
    with pytest.raises(ValueError, match="all rows of a class are equal in every class"):
        RatioTraceLDA().fit(X, np.repeat([0, 1, 2], 4))
    assert TraceRatioLDA().fit(X, np.repeat([0, 1, 2], 4)).objective_ == 1.0


def test_aggregate_is_pca_per_task_and_one_lda_over_all_rows():
    Xs, ys = random_tasks(4, (12, 30), (40, 50), (3, 4))
    aggregate = AggregateLDA(n_components=4, n_intermediate=6, shrinkage=0.2).fit(Xs, ys)
    pcas = [PCA(6).fit(X) for X in Xs]
    # The sign of a principal component is free, and Aggregate compares them between tasks.
    projected = []
    for k, (pca, X) in enumerate(zip(pcas, Xs, strict=True)):
        basis = reduce_scatter(X, ys[k], ys[k].max() + 1).basis[:, :6]
        signs = np.sign(np.sum(pca.components_ * basis.T, axis=1))
        projected.append(pca.transform(X) * signs)
    rows = np.vstack(projected)
    labels = np.concatenate([ys[0], ys[1] + 3])
    common = RatioTraceLDA(n_components=4, shrinkage=0.2).fit(rows, labels)
    for k, Z in enumerate(projected):
        np.testing.assert_allclose(
            np.abs(aggregate.transform(Xs[k], task=k)), np.abs(common.transform(Z)), atol=1e-8
        )


def test_aggregate_caps_and_names_its_columns():
    Xs, ys = random_tasks(5, (12, 30), (40, 8), (3, 2))
    with (
        pytest.warns(UserWarning, match="n_intermediate=10 is more than the smallest rank"),
        pytest.warns(UserWarning, match="n_components=20 is more than the common LDA"),
    ):
        aggregate = AggregateLDA(n_components=20, n_intermediate=10).fit(Xs, ys)
    assert aggregate.n_intermediate_ == 7
    # Every task is centred, so five classes in two tasks leave three directions between them.
    assert aggregate.n_components_ == 3
    names = aggregate.get_feature_names_out()
    assert names.tolist() == [f"aggregatelda{j}" for j in range(3)]
