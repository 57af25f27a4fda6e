"""Rows drawn again from continuous ones are no new cases: they must not vouch for each other."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from one_kernel import LSPCCV

# what is said of copies and weights is tested elsewhere
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def draw(n, rng, share=0.5):
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 4)) + y[:, None] * [1.0, 0.5, 0.0, 0.0], y


def resampled(kind, y, rng):
    everyone = np.arange(y.size)
    if kind == "bootstrap":
        return rng.integers(0, y.size, size=y.size)
    if kind == "half of them twice":
        return np.r_[everyone, everyone[::2]]
    rare = np.flatnonzero(y == 1)
    return np.r_[everyone, rng.choice(rare, size=y.size - 2 * rare.size)]


@pytest.mark.parametrize("kind", ["bootstrap", "half of them twice", "the rare class again"])
def test_resampled_rows(kind):
    """Four draws of 200 rows: the loss on new rows against that of a fit to the rows once."""
    once, again, held_out, right = [], [], [], []
    share = 0.15 if kind == "the rare class again" else 0.5
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = draw(200, rng, share)
        rows = resampled(kind, y, rng)
        X_new, y_new = draw(2000, rng, np.mean(y[rows]))
        model = LSPCCV().fit(X[rows], y[rows])
        distinct, counts = np.unique(rows, return_counts=True)
        weights = counts * np.random.default_rng(0).uniform(0.999, 1.001, size=counts.size)
        plain = LSPCCV().fit(X[distinct], y[distinct], sample_weight=weights)
        again.append(log_loss(y_new, model.predict_proba(X_new)))
        once.append(log_loss(y_new, plain.predict_proba(X_new)))
        held_out.append((model.held_out_proba().argmax(axis=1) == y[rows]).mean())
        right.append((model.predict(X_new) == y_new).mean())
    assert np.mean(again) <= 1.1 * np.mean(once), (np.mean(again), np.mean(once))
    assert np.mean(held_out) <= np.mean(right) + 0.1, (np.mean(held_out), np.mean(right))


@pytest.mark.parametrize("weights", ["integers", "two decimals"])
def test_weights_that_are_no_counts(weights):
    """Noise, 150 rows: what is held out must not know the labels."""
    held_out = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(150, 3)), rng.integers(0, 2, size=150)
        drawn = rng.integers(500, 3000, 150) if weights == "integers" else rng.uniform(0.5, 2, 150)
        model = LSPCCV().fit(X, y, sample_weight=np.round(drawn, 2))
        held_out.append((model.held_out_proba().argmax(axis=1) == y).mean())
    assert np.mean(held_out) <= 0.65, np.mean(held_out)
