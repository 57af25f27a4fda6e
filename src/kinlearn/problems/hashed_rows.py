"""Rows drawn by their hashes: the same ones as sums over the same rows keep.

What is drawn depends on the set of rows and labels alone: not on their order, nor on whether they
come at once, in a stream or on several machines. Rows of one group are drawn together or not at
all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


def held_group_count(groups: NDArray[np.intp], weights: Array, total: float) -> int:
    """The same where rows of a group stand side by side and are held out together or not at all.

    Parameters
    ----------
    groups : ndarray of shape (s,)
        Number of each row's group.
    weights, total
        As in :func:`held_count`.

    Examples
    --------
    >>> groups = np.repeat(np.arange(100), 3)
    >>> held_group_count(groups, np.ones(300), 1200.0)
    150
    >>> held_group_count(groups, np.ones(300), 300.0)
    0
    """
    ends = np.flatnonzero(np.diff(groups, append=-1)) + 1
    allowed = (1.0 + 1e-9) * HELD_SHARE * total
    fits = (np.cumsum(weights)[ends - 1] <= allowed) & (ends <= HELD_ROWS)
    count = int(np.argmin(fits)) if not fits.all() else len(ends)
    return int(ends[count - 1]) if count >= LEAST_HELD else 0


@dataclass(frozen=True)
class HashedRows:
    """Distinct (row, labels) of the smallest hashes.

    Attributes
    ----------
    first : ndarray of shape (s,)
        A row as passed of each, by ascending hash; where there are groups, group by group.
    entry : ndarray of shape (n_passed,)
        Which of these each row as passed is, -1 for none.
    weights : ndarray of shape (s,)
        What all rows as passed of each weigh together, without a class weight.
    """

    first: NDArray[np.intp]
    entry: NDArray[np.intp]
    weights: Array

    @classmethod
    def of(cls, data: TrainingSet, groups: Any = None) -> HashedRows:
        """Drawn from the rows of positive weight; `groups`, of the rows as passed, stay whole."""
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
        own = None
        if groups is not None:
            own = np.unique(np.asarray(groups)[counted], return_inverse=True)[1].ravel()
        first, of = _in_order(keys, own)
        plain = data.passed_weights
        masses = np.ones(counted.size) if plain is None else plain[counted]
        weights = np.bincount(of, masses).astype(np.float64)
        total = float(weights.sum())
        if own is None:
            chosen = held_count(weights, total)
        else:
            chosen = held_group_count(own[first], weights, total)
        entry = np.full(member.size, -1, dtype=np.intp)
        entry[counted] = np.where(of < chosen, of, -1)
        return cls(counted[first[:chosen]], entry, weights[:chosen])


def _in_order(
    keys: NDArray, group: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each entry, by ascending hash, and the number of each row's entry.

    Rows of one group with one hash are an entry; groups come in the order of their least hashes.
    """
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    of = of.ravel()
    if group is None:
        return first, of
    n_groups = int(group.max()) + 1
    least = np.full(n_groups, len(first))
    np.minimum.at(least, group, of)
    place = np.empty(n_groups, dtype=np.intp)
    place[np.argsort(least, kind="stable")] = np.arange(n_groups)
    _, first, of = np.unique(place[group] * len(first) + of, return_index=True, return_inverse=True)
    return first, of.ravel()
