"""Models of the same rows weighed by the probabilities that they gave rows held out of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.scatter import Floats

# No row rules a model out alone.
LEAST = 1e-6
# So many rows of all tasks together stand for what a task has in common with the others.
ROWS_IN_COMMON = 10.0
MAX_STEPS = 500
TOLERANCE = 1e-8


def mixing_weights(chances: Floats, prior: Floats) -> Floats:
    """Weights v of models, the mode of ``Σ_i log(Σ_k v_k P_ik) + Σ_k prior_k log v_k``.

    Parameters
    ----------
    chances : ndarray of shape (n, models)
        What each model held out for each row's own class.
    prior : ndarray of shape (models,)
        Rows that each model has won in advance.

    Examples
    --------
    >>> import numpy as np
    >>> chances = np.array([[0.9, 0.2]] * 9 + [[0.1, 0.6]])
    >>> mixing_weights(chances, np.ones(2)).round(2)
    array([0.84, 0.16])
    """
    chances = np.maximum(chances, LEAST)
    weights = prior / prior.sum()
    for _ in range(MAX_STEPS):
        shares = chances * weights
        shares /= shares.sum(axis=1, keepdims=True)
        fresh = shares.sum(axis=0) + prior
        fresh /= fresh.sum()
        moved = float(np.abs(fresh - weights).max())
        weights = fresh
        if moved < TOLERANCE:
            break
    return np.asarray(weights)


def weights_of_tasks(
    held_out: Sequence[Sequence[Floats]], codes: Sequence[NDArray[np.intp]]
) -> list[Floats]:
    """Weights of models for every task, near those of all tasks together.

    Parameters
    ----------
    held_out : sequence over tasks of sequences over models of ndarrays of shape (n_i, classes)
        Probabilities of rows held out; NaN where a row never was.
    codes : sequence over tasks of ndarrays of shape (n_i,)
        The rows' classes.
    """
    chances = []
    for models, own in zip(held_out, codes, strict=True):
        table = np.column_stack([proba[np.arange(len(own)), own] for proba in models])
        chances.append(table[~np.isnan(table).any(axis=1)])
    everything = np.vstack(chances)
    common = mixing_weights(everything, np.ones(everything.shape[1]))
    return [mixing_weights(table, ROWS_IN_COMMON * common) for table in chances]
