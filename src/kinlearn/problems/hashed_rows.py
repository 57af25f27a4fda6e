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
# Fewer of them say nothing, and of fewer groups say little of others.
LEAST_HELD, LEAST_GROUPS = 20, 5


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
    def of(cls, data: TrainingSet, groups: NDArray | None = None) -> HashedRows:
        """Drawn from the rows of positive weight; whole groups, where there are such.

        Parameters
        ----------
        data : TrainingSet
        groups : ndarray of shape (n_passed,), optional
            A group is of the smallest hash of its rows.
        """
        table, member = data.table, data.rows.member
        if table.indicator:
            on = np.asarray(data.values(), dtype=np.float64)
            labels = BatchTargets("labels", table.names.tolist(), None, on)
        else:
            labels = BatchTargets(
                "classes", table.classes[0].tolist(), table.codes[:, 0].astype(np.intp), None
            )
        counted = np.flatnonzero(member >= 0)
        salts = None
        if data.task is not None:  # a row of two tasks is two
            salts = row_hashes(data.row_task[:, None].astype(np.float64))
        keys = entry_hashes(row_hashes(data.X, salts)[member[counted]], labels.salts(counted))
        plain = data.passed_weights
        masses = np.ones(counted.size) if plain is None else plain[counted]
        if groups is not None:
            within = _first_groups(groups[counted], keys, masses)
            counted, keys, masses = counted[within], keys[within], masses[within]
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        weights = np.bincount(of.ravel(), masses).astype(np.float64)
        if groups is not None:
            entry = np.full(member.size, -1, dtype=np.intp)
            entry[counted] = of.ravel()
            return cls(counted[first], entry, weights)
        chosen = held_count(weights, float(weights.sum()))
        entry = np.full(member.size, -1, dtype=np.intp)
        entry[counted] = np.where(of.ravel() < chosen, of.ravel(), -1)
        return cls(counted[first[:chosen]], entry, weights[:chosen])


def _first_groups(groups: NDArray, keys: NDArray[np.uint64], masses: Array) -> NDArray[np.bool_]:
    """Which rows are of the groups of the smallest hashes, as many as may be held out."""
    _, group = np.unique(groups, return_inverse=True)
    group = group.ravel()
    n_groups = int(group.max(initial=-1)) + 1
    least = np.full(n_groups, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, group, keys)
    order = np.argsort(least, kind="stable")
    sizes, weights = np.bincount(group)[order], np.bincount(group, masses)[order]
    allowed = (1.0 + 1e-9) * HELD_SHARE * float(masses.sum())
    fits = (np.cumsum(weights) <= allowed) & (np.cumsum(sizes) <= HELD_ROWS)
    if fits.sum() < min(LEAST_GROUPS, n_groups) or sizes[fits].sum() < LEAST_HELD:
        fits[:] = False
    within = np.zeros(n_groups, dtype=bool)
    within[order[fits]] = True
    return within[group]
