"""On tables of every kind, probabilities are no worse than class frequencies but by chance."""

import numpy as np
import pytest

from kinlearn import LSPCCV

pytestmark = pytest.mark.filterwarnings("ignore:The best", "ignore:Features differ")
SIZES, N_NEW = [20, 30, 45, 60, 90, 120, 160, 250, 400], 2000


def numbers(n, d, rng):
    return rng.normal(size=(n, d))


def codes(n, d, rng):
    return np.column_stack([rng.integers(0, k, size=n) for k in 2 + np.arange(d) % 5]).astype(float)


def one_hot_columns(n, d, rng):
    columns = codes(n, d, rng).astype(int)
    return np.hstack([np.eye(2 + j % 5)[columns[:, j]] for j in range(d)])


def copied(n, d, rng):
    """A third of the rows are drawn again from few places."""
    X = rng.normal(size=(n, d))
    places = np.random.default_rng(9).normal(size=(7, d))
    again = rng.random(n) < 1 / 3
    X[again] = places[rng.integers(0, 7, size=again.sum())]
    return X


def with_constants(n, d, rng):
    return np.column_stack([rng.normal(size=(n, d)), np.full(n, 3.0), np.zeros(n)])


def mixed(n, d, rng):
    return np.hstack([numbers(n, d, rng), codes(n, 1, rng), one_hot_columns(n, 2, rng)])


KINDS = [numbers, codes, one_hot_columns, copied, with_constants, mixed]


def make_table(kind, i, signal):
    """Training and new rows of a table; its size, columns and classes follow from its number."""
    rng = np.random.default_rng([KINDS.index(kind), i, signal])
    n, d, n_classes = SIZES[i], 1 + i % 5, 2 + (i // 2) % 4
    X = kind(n + N_NEW, d, rng)
    prior = rng.dirichlet(np.full(n_classes, 5.0))
    directions = signal * rng.normal(size=(X.shape[1], n_classes))
    logits = np.log(prior) + (X - X.mean(axis=0)) @ directions
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    y = (rng.random(len(X))[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    y[:n_classes] = np.arange(n_classes)  # every class is seen
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("signal", [0, 1], ids=["noise", "signal"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_not_worse_than_class_frequencies(kind, signal):
    ratios = []
    for i in range(len(SIZES)):
        X, y, X_new, y_new = make_table(kind, i, signal)
        model = LSPCCV().fit(X, y)
        counts = np.bincount(y)
        frequencies = (counts + 1) / (counts + 1).sum()
        rows = np.arange(N_NEW)
        loss = -np.log(model.predict_proba(X_new)[rows, y_new]).mean()
        ratios.append(loss / -np.log(frequencies[y_new]).mean())
        if len(y) >= 60:
            assert ratios[-1] <= 1.5, (i, len(y), ratios[-1])
        hits = (model.predict(X_new) == y_new).astype(float)
        behind = (y_new == counts.argmax()).astype(float) - hits
        error = np.sqrt(hits.var() / N_NEW + frequencies.max() * (1 - frequencies.max()) / len(y))
        assert behind.mean() <= 3 * error, (i, len(y), behind.mean(), error)
    assert np.mean(ratios) <= 1.03, (np.mean(ratios), np.round(ratios, 3))
