"""Folds of rows with many labels, and what is reported of held-out rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from kinlearn import MultiLabelLSPC
from kinlearn.training.label_folds import deal_labels
from one_kernel import LSPCCV, MultiLabelLSPCCV

pytestmark = pytest.mark.filterwarnings("ignore:The best (sigma|reg)")


def by_fold(fold, on, k):
    return np.bincount(fold[on], minlength=k)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 7), n_labels=st.integers(1, 6))
def test_rare_answers_are_spread_and_no_order_matters(seed, k, n_labels):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 80))
    codes = (rng.random((n, n_labels)) < rng.uniform(0.02, 0.5, n_labels)).astype(int)
    codes[rng.random(codes.shape) < 0.1] = -1
    rank = rng.permutation(n)
    fold = deal_labels(k, codes, rank, seed=3)
    assert set(fold) <= set(range(k))
    counts = [(np.sum(codes[:, t] == y), t, y) for t in range(n_labels) for y in (0, 1)]
    rarest = min(count for count in counts if count[0] > 0)
    spread = by_fold(fold, codes[:, rarest[1]] == rarest[2], k)
    assert spread.max() - spread.min() <= 1
    rows, labels = rng.permutation(n), rng.permutation(n_labels)
    again = deal_labels(k, codes[rows][:, labels], rank[rows], seed=3)
    assert (again == fold[rows]).all()
    renamed = np.where(codes >= 0, 1 - codes, -1)
    assert (deal_labels(k, renamed, rank, seed=3) == fold).all()


def test_every_label_is_spread_evenly():
    rng = np.random.default_rng(0)
    Y = (rng.random((500, 12)) < np.linspace(0.01, 0.3, 12)).astype(int)
    fold = deal_labels(5, Y, np.arange(500), seed=0)
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 5
    for t in range(12):
        on = by_fold(fold, Y[:, t] == 1, 5)
        assert on.max() - on.min() <= max(1, 0.3 * on.mean())


def test_groups_stay_together_and_are_spread():
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 60, 400)
    Y = (rng.random((400, 4)) < [0.02, 0.1, 0.3, 0.5]).astype(int)
    fold = deal_labels(4, Y, np.arange(400), seed=0, groups=groups)
    for group in np.unique(groups):
        assert np.unique(fold[groups == group]).size == 1
    rare = by_fold(fold, Y[:, 0] == 1, 4)
    assert rare.max() - rare.min() <= 2
    assert np.bincount(fold, minlength=4).min() >= 60


def test_a_row_sorted_by_label_is_no_worse_than_shuffled():
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:600]
    train, test = chosen[:300], chosen[300:]
    Y = np.eye(10, dtype=int)[y]
    grid = {"sigmas": [20.0, 40.0], "regs": [1e-5, 1e-3], "sharings": [0.0, 0.5]}
    ordered = train[np.argsort(y[train], kind="stable")]
    losses = []
    for rows in (train, ordered):
        model = MultiLabelLSPCCV(cv=5, **grid).fit(X[rows], Y[rows])
        proba = model.predict_proba(X[test])
        losses.append(np.mean([log_loss(Y[test, t], proba[:, t]) for t in range(10)]))
        held_out = model.held_out_proba()
        reported = np.mean([log_loss(Y[rows, t], held_out[:, t]) for t in range(10)])
        assert reported < 0.15
    assert_allclose(losses[0], losses[1], rtol=1e-6)  # folds do not see the order at all
    assert losses[1] < 0.12


def test_a_single_label_is_dealt_out_as_a_task():
    X, y = load_digits(return_X_y=True)
    rows = np.argsort(y[:200], kind="stable")
    grid = {"sigmas": [20.0, 40.0], "regs": [1e-5, 1e-3], "cv": 5}
    one = MultiLabelLSPCCV(**grid).fit(X[rows], y[rows])
    task = LSPCCV(precision="double", **grid).fit(X[rows], y[rows])
    assert_allclose(one.predict_proba(X[200:300]), task.predict_proba(X[200:300]), atol=1e-6)


def test_seed_draws_other_folds():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 2)), rng.integers(0, 2, (60, 3))
    grid = {"sigmas": [1.0], "regs": [1e-2], "sharings": [0.0], "cv": 3}
    plain = MultiLabelLSPCCV(**grid).fit(X, Y).best_score_
    assert MultiLabelLSPCCV(**grid).fit(X, Y).best_score_ == plain
    assert MultiLabelLSPCCV(random_state=5, **grid).fit(X, Y).best_score_ != plain


@pytest.mark.parametrize("gaps", [False, True])
def test_labels_at_random_are_not_known_better_than_by_chance(gaps):
    losses = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 3))
        Y = np.column_stack([rng.permutation(np.arange(50) % 2) for _ in range(3)]).astype(float)
        if gaps:
            Y[rng.random(Y.shape) < 0.1] = np.nan
        grid = {"sharings": [0.0, 0.8], "regs": [1e-4, 1e-2, 1.0]}
        proba = MultiLabelLSPCCV(**grid).fit(X, Y).held_out_proba()
        seen = ~np.isnan(Y)
        losses.append(log_loss(Y[seen], proba[seen]))
    assert np.mean(losses) > np.log(2)


def test_held_out_probabilities_are_those_of_other_rows_links():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    Y = (X @ rng.standard_normal((2, 3)) + rng.standard_normal((60, 3)) > 0).astype(int)
    model = MultiLabelLSPC().fit(X, Y)
    links = model.held_out_links_
    assert links.shape == (60, 3 + 3 + 1 + 6)
    assert 2 <= len(np.unique(links[:, 0])) <= 5
    expected = 1 / (1 + np.exp(-links[:, :3] * model.held_out_scores_[:, :3]))
    assert_allclose(model.held_out_proba(), expected)
