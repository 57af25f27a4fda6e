"""One huge value, or data far from the origin, leave the other rows' distances as they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from kinlearn import LSPC, LSPCCV, MultiTaskLSPC, to_onnx
from kinlearn.kernels import KernelMap, median_width, resolve_kernel
from kinlearn.training.centers import choose_centers
from naive.kernels import squared_distances

KINDS = ["one cell", "two cells", "offset", "cluster", "sentinels"]


def rows_of(kind, rng, n_rows=60):
    """Ordinary rows, half their cells zero, with something large in them."""
    X = rng.normal(size=(n_rows, 3))
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    if kind == "one cell":
        X[7, 1] = 1e12
    elif kind == "two cells":  # far rows that are near each other
        X[7, 1], X[11, 1] = 1e12, 1e12 + 1.0
    elif kind == "offset":
        X[:, 1] = 1e9 + rng.normal(size=n_rows)
    elif kind == "cluster":
        X[: n_rows // 2] += 1e6
    elif kind == "sentinels":
        X[::5, 2] = -99_999_999.0
    return X


def distances(X, C):
    return resolve_kernel("rbf").measure(C).block(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("sparse_centers", [False, True])
def test_distances_keep_ten_digits(kind, sparse_rows, sparse_centers, rng):
    X = rows_of(kind, rng)
    expected = squared_distances(X, X)
    rows = sp.csr_matrix(X) if sparse_rows else X
    centers = sp.csr_matrix(X) if sparse_centers else X
    found = distances(rows, centers)
    # 1e-13 of an ordinary distance is where two of the same rows meet
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    square = resolve_kernel("rbf").measure(centers).square()
    np.testing.assert_allclose(square, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(square, square.T, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_median_width_is_that_of_exact_distances(kind, sparse, rng):
    X = rows_of(kind, rng)
    pairs = squared_distances(X, X)[np.tri(len(X), k=-1, dtype=bool)]
    width = median_width(sp.csr_matrix(X) if sparse else X, resolve_kernel("rbf"))
    assert width == pytest.approx(np.sqrt(np.median(pairs)), rel=1e-9)


def test_many_centers_of_which_some_are_far(rng):
    X = rows_of("two cells", rng, n_rows=700)
    np.testing.assert_allclose(distances(X, X), squared_distances(X, X), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Columns spread")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("model", [LSPC(), LSPCCV(), MultiTaskLSPC()])
def test_one_huge_cell_does_not_ruin_the_others(sparse, model, rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    dirty = X.copy()
    dirty[7, 1] = 1e12
    rows = sp.csr_matrix(dirty) if sparse else dirty
    model.fit(rows, y)
    others = np.arange(80) != 7
    assert model.score(rows, y) > 0.9
    clean = type(model)().fit(X[others], y[others])
    np.testing.assert_allclose(
        model.predict_proba(X[others]), clean.predict_proba(X[others]), atol=0.1
    )


@pytest.mark.filterwarnings("ignore:Columns spread")
def test_dense_equals_sparse_with_a_huge_cell(rng):
    X = rows_of("one cell", rng, n_rows=80)
    y = (X[:, 0] + X[:, 2] > 0).astype(int)
    dense, sparse = LSPC().fit(X, y), LSPC().fit(sp.csr_matrix(X), y)
    expected = dense.predict_proba(X)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_matrix(X)), expected, atol=1e-8)
    np.testing.assert_allclose(sparse.predict_proba(X), expected, atol=1e-8)
    np.testing.assert_allclose(dense.predict_proba(sp.csr_matrix(X)), expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Columns spread")
def test_single_precision_has_far_rows_too(rng):
    X = rows_of("one cell", rng, n_rows=80)
    X[9, 0] = 1e25  # its square is beyond single precision, and the next is so itself
    X[11, 0] = 1e45
    y = (X[:, 2] > 0).astype(int)
    double = LSPC(solver="pcg", sigma=1.0).fit(X, y).predict_proba(X)
    single = LSPC(solver="pcg", sigma=1.0, precision="single").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(single, double, atol=1e-2)


@pytest.mark.filterwarnings("ignore:Columns spread")
@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_has_the_same_distances(kind, rng):
    ort = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X = rows_of(kind, rng)
    y = (X[:, 0] % 1e6 > 0.2).astype(int)
    model = LSPC(sigma=1.0).fit(X, y)
    assert np.ptp(model.predict_proba(X), axis=0).max() > 0.5
    session = ort.InferenceSession(to_onnx(model, X[:1]).SerializeToString())
    answer = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(answer[1], model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_kmeans_centers_spread_far_from_the_origin(sparse, rng):
    X = np.repeat(np.arange(10.0), 30)[:, None] + 1e-3 * rng.normal(size=(300, 1))
    X = np.hstack([X, np.full((300, 1), 1e8)])
    rows = sp.csr_matrix(X) if sparse else X
    chosen = choose_centers(
        rows, 12, "kmeans++", resolve_kernel("rbf"), 1.0, np.random.RandomState(0)
    )
    assert len(np.unique(X[chosen, 0].round())) == 10


def test_features_of_a_far_row_see_itself(rng):
    X = rows_of("one cell", rng)
    K = KernelMap(resolve_kernel("rbf"), X).features(X, 1.0)
    np.testing.assert_allclose(np.diag(K), 1.0, atol=1e-12)
