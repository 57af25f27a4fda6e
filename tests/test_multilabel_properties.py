"""What must hold for any labels: shapes, types, orders and signs."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kinlearn import MultiLabelLSPC
from kinlearn.training.label_table import read_labels

SEEDS = st.integers(0, 10_000)


def draw(seed, n=24, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    Y = (X @ rng.standard_normal((3, n_labels)) + rng.standard_normal((n, n_labels)) > 0).astype(
        int
    )
    Y[0], Y[1] = 0, 1
    return X, Y


@settings(max_examples=8, deadline=None)
@given(
    seed=SEEDS,
    n_labels=st.integers(1, 6),
    kind=st.sampled_from([bool, np.int8, np.uint8, np.float32, object, sp.csr_matrix, list]),
    sharing=st.floats(0, 1),
)
def test_any_container_of_indicators(seed, n_labels, kind, sharing):
    X, Y = draw(seed, n_labels=n_labels)
    given_labels = kind(Y) if kind in (sp.csr_matrix, list) else Y.astype(kind)
    model = MultiLabelLSPC(sharing=sharing).fit(X, given_labels)
    proba = model.predict_proba(X[:5])
    assert proba.shape == (5, n_labels)
    assert ((proba >= 0) & (proba <= 1)).all()
    assert (model.predict(X) == MultiLabelLSPC(sharing=sharing).fit(X, Y).predict(X)).all()
    assert model.predict(X).dtype.kind == "i"


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS, similarity=st.sampled_from(["correlation", "signed", "uniform"]))
def test_the_order_of_labels_and_rows_does_not_matter(seed, similarity):
    X, Y = draw(seed)
    rng = np.random.default_rng(seed)
    labels, rows = rng.permutation(4), rng.permutation(len(X))
    expected = MultiLabelLSPC(similarity=similarity).fit(X, Y).predict_proba(X)
    permuted = MultiLabelLSPC(similarity=similarity).fit(X[rows], Y[rows][:, labels])
    assert_allclose(permuted.predict_proba(X), expected[:, labels], atol=1e-7)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS, flipped=st.integers(0, 3), gaps=st.booleans())
def test_signed_similarity_does_not_care_which_answer_is_called_one(seed, flipped, gaps):
    X, Y = draw(seed)
    Y = Y.astype(float)
    if gaps:
        Y[5:8, 0] = np.nan
    other = Y.copy()
    other[:, flipped] = 1 - other[:, flipped]
    model = MultiLabelLSPC(similarity="signed", sharing=0.9, tol=1e-11)
    expected = model.fit(X, Y).predict_proba(X)
    expected[:, flipped] = 1 - expected[:, flipped]
    assert_allclose(model.fit(X, other).predict_proba(X), expected, atol=1e-6)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS, sharing=st.sampled_from([0.0, 0.5, 0.99]))
def test_two_classes_per_column_are_indicators(seed, sharing):
    """Indicators solve for differences and one sum; columns of classes for every class."""
    X, Y = draw(seed)
    indicators = MultiLabelLSPC(sharing=sharing, posterior="rounded").fit(X, Y)
    columns = MultiLabelLSPC(sharing=sharing, posterior="rounded").fit(X, 3 * Y + 1)
    for t, proba in enumerate(columns.predict_proba(X)):
        assert_allclose(proba[:, 1], indicators.predict_proba(X)[:, t], atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, -3.0, float("nan")]), min_size=3, max_size=3),
        min_size=2,
        max_size=8,
    )
)
def test_reading_labels_keeps_every_value(values):
    Y = np.array([*values, [0.0, 1.0, 2.0]])
    table = read_labels(Y)
    assert not table.indicator
    for t, classes in enumerate(table.classes):
        seen = table.codes[:, t] >= 0
        assert (seen == ~np.isnan(Y[:, t])).all()
        assert (classes[table.codes[seen, t]] == Y[seen, t]).all()
