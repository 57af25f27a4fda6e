"""Folds of the copies that rows stand for, where leave-one-out has no closed form.

They are made of units, not of rows as passed: a row of weight 3 is dealt out as three rows are, and
a table joined to itself as the table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.training.copies import DistinctRows, Units
from kinlearn.training.folds import Validation, in_order_of_values, leaving_of_units, report_folds
from kinlearn.training.label_folds import deal_labels
from kinlearn.training.splits import Block, Splits


def deal_copies(
    k: int, rows: DistinctRows, units: Units, codes: NDArray[np.intp], seed: int
) -> NDArray[np.intp]:
    """Return how many copies of each unit each of k folds holds, (k, U).

    Every fold has as many copies of a unit as can be shared alike; the rest is dealt out by
    :func:`kinlearn.training.label_folds.deal_labels`.

    Parameters
    ----------
    k : int
        Number of folds.
    rows : DistinctRows
    units : Units
    codes : ndarray of shape (n_passed, T)
        Class number of every passed row in every label, -1 where unobserved.
    seed : int
        Of the draw.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.copies import find_distinct_rows
    >>> from kinlearn.training.copy_folds import deal_copies
    >>> from kinlearn.training.copies import find_units
    >>> rows = find_distinct_rows(np.zeros((2, 1)))
    >>> units = find_units(rows, np.array([0, 1]), weights=np.array([4.0, 6.0]))
    >>> deal_copies(2, rows, units, np.array([[0], [1]]), seed=0).sum(axis=0)
    array([2, 3])
    """
    copies = np.maximum(np.rint(units.mass / units.one).astype(np.intp), 1)
    rest = np.repeat(np.arange(units.size), copies % k)
    rank = in_order_of_values(rows, units)[units.first]
    fold = deal_labels(k, codes[units.first[rest]], rank[rest], seed)
    counts = np.tile(copies // k, (k, 1))
    np.add.at(counts, (fold, rest), 1)
    return counts


def validation_by_copies(
    k: int,
    rows: DistinctRows,
    units: Units,
    codes: NDArray[np.intp],
    masses: np.ndarray,
    seed: int,
) -> Validation:
    """Return k folds of copies, all of them if there are fewer.

    Parameters
    ----------
    k, rows, units, codes, seed
        As in :func:`deal_copies`.
    masses : ndarray of shape (U,)
        Weights of the units in the fit.
    """
    k = min(k, round(float((units.mass / units.one).sum())))
    counts = deal_copies(k, rows, units, codes, seed)
    counts = counts[counts.any(axis=1)]
    shares = counts / counts.sum(axis=0)
    blocks, entry_units = [], []
    for share in shares:
        removed, leaving = leaving_of_units(share, units, masses)
        tested = np.flatnonzero(share)
        blocks.append(Block(removed, np.searchsorted(removed, units.row[tested]), leaving))
        entry_units.append(tested)
    entry_copies = np.concatenate(
        [
            share[tested] * units.counts[tested]
            for share, tested in zip(shares, entry_units, strict=True)
        ]
    )
    entry, part = _entries_of_passed(units, shares, entry_copies)
    return Validation(
        splits=Splits.of_blocks(rows.n_distinct, blocks),
        unit=np.concatenate(entry_units),
        copies=entry_copies,
        entry=entry,
        share=part,
        fold=report_folds(rows, units, codes, None, seed),
        pooled=False,
        n_copies=units.count,
        repeated=units.repeated,
    )


def _entries_of_passed(
    units: Units, shares: np.ndarray, copies: np.ndarray
) -> tuple[NDArray[np.intp], np.ndarray]:
    """The entry that tests each passed row, and the part of it that the row is.

    Passed rows of a unit take its copies in turn; one that stands for copies in several folds is
    told by that of its middle.
    """
    number = np.full(shares.shape, -1)
    number[shares > 0] = np.arange(np.count_nonzero(shares))
    entry, part = np.full(units.of.size, -1), np.zeros(units.of.size)
    kept = np.flatnonzero(units.of >= 0)
    order = kept[np.argsort(units.of[kept], kind="stable")]
    unit, own = units.of[order], units.passed[order]
    start = np.cumsum(units.counts) - units.counts
    middle = (np.cumsum(own) - 0.5 * own - start[unit]) / units.counts[unit]
    before = np.cumsum(shares, axis=0)[:-1, unit]
    entry[order] = number[(before <= middle).sum(axis=0), unit]
    part[order] = np.minimum(own / copies[entry[order]], 1.0)
    return entry, part
