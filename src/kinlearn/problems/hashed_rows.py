"""Rows drawn by their hashes: the same ones as sums over the same rows keep.

What is drawn depends on the set of rows and labels alone: not on their order, nor on whether they
come at once, in a stream or on several machines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinlearn.sums.batch_targets import BatchTargets
from kinlearn.sums.row_hash import entry_hashes, row_hashes
from kinlearn.training.training_set import TrainingSet

Array = NDArray[np.float64]

# So many distinct rows say when to stop, with at most this share of all weight.
HELD_ROWS, HELD_SHARE = 2000, 0.125
# Fewer of them say nothing.
LEAST_HELD = 20


def held_count(weights: Array, total: float) -> int:
    """How many rows, first ones first, are held out to say when to stop; 0 for too few.

    Parameters
    ----------
    weights : ndarray of shape (s,)
        Of distinct rows with their labels.
    total : float
        Of all rows.

    Examples
    --------
    >>> held_count(np.ones(100), 400.0), held_count(np.full(100, 10.0), 400.0)
    (50, 0)
    """
    allowed = (1.0 + 1e-9) * HELD_SHARE * total
    found = int(np.searchsorted(np.cumsum(weights[:HELD_ROWS]), allowed, side="right"))
    return found if found >= LEAST_HELD else 0


@dataclass(frozen=True)
class HashedRows:
    """Distinct (row, labels) of the smallest hashes.

    Attributes
    ----------
    first : ndarray of shape (s,)
        A row as passed of each, by ascending hash.
    entry : ndarray of shape (n_passed,)
        Which of these each row as passed is, -1 for none.
    weights : ndarray of shape (s,)
        What all rows as passed of each weigh together, without a class weight.
    """

    first: NDArray[np.intp]
    entry: NDArray[np.intp]
    weights: Array

    @classmethod
    def of(cls, data: TrainingSet) -> HashedRows:
        """Drawn from the rows of positive weight."""
        table, member = data.table, data.rows.member
        if table.indicator:
            on = np.asarray(data.values(), dtype=np.float64)
            labels = BatchTargets("labels", table.names.tolist(), None, on)
        else:
            labels = BatchTargets(
                "classes", table.classes[0].tolist(), table.codes[:, 0].astype(np.intp), None
            )
        counted = np.flatnonzero(member >= 0)
        keys = entry_hashes(row_hashes(data.X)[member[counted]], labels.salts(counted))
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        plain = data.passed_weights
        masses = np.ones(counted.size) if plain is None else plain[counted]
        weights = np.bincount(of.ravel(), masses).astype(np.float64)
        chosen = held_count(weights, float(weights.sum()))
        entry = np.full(member.size, -1, dtype=np.intp)
        entry[counted] = np.where(of.ravel() < chosen, of.ravel(), -1)
        return cls(counted[first[:chosen]], entry, weights[:chosen])
