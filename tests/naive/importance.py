"""Permutation importance by cells: shuffle, and answer anew."""

import numpy as np


def naive_importance(model, frame, y, name, seed):
    """Shuffle the cells of a column and answer anew, five times."""
    rng, rise = np.random.default_rng(seed), 0.0
    at = np.searchsorted(model.classes_, y)
    rows = np.arange(len(y))
    base = -np.log(model.predict_proba(frame)[rows, at]).mean()
    for _ in range(5):
        other = frame.copy()
        other[name] = frame[name].to_numpy()[rng.permutation(len(frame))]
        rise += (-np.log(model.predict_proba(other)[rows, at]).mean() - base) / 5
    return rise
