"""Ranks over data sets and tests of differences, after Demšar (JMLR 2006) and the papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]
LEVEL = 0.05
# Differences of log-loss below this share are of little use to anybody, however certain.
MATERIAL = 0.02


def ranks(losses: ArrayLike) -> Floats:
    """Rank of every method (column) on every data set (row), 1 the least loss; NaN ranks worst.

    Methods that failed on a set share the mean of its last ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.statistics import ranks
    >>> ranks([[0.2, 0.1, np.nan, np.nan], [0.3, 0.3, 0.1, 0.4]])
    array([[2. , 1. , 3.5, 3.5], [2.5, 2.5, 1. , 4. ]])
    """
    table = np.asarray(losses, dtype=np.float64)
    return stats.rankdata(np.where(np.isnan(table), np.inf, table), axis=1)


class Friedman(NamedTuple):
    """Whether methods differ at all.

    Attributes
    ----------
    statistic : float
        Friedman's chi-square, corrected for ties.
    p_value : float
        NaN with fewer than three methods or two data sets, of which it can say nothing.
    """

    statistic: float
    p_value: float


def friedman(rank_table: Floats) -> Friedman:
    """Friedman's test on a table of ranks (data sets by methods).

    χ² = (k - 1) Σ_j (R_j - N (k+1)/2)² / Σ_ij (r_ij - (k+1)/2)², k methods, N sets, R_j the sum of
    ranks of a method; it equals the usual form where nothing is tied.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.statistics import friedman
    >>> table = np.array([[1.0, 2.0, 3.0]] * 6)
    >>> round(friedman(table).statistic, 6)
    12.0
    """
    n_sets, k = rank_table.shape
    middle = (k + 1) / 2
    spread = float(np.sum((rank_table - middle) ** 2))
    if k < 3 or n_sets < 2 or spread == 0.0:
        return Friedman(float("nan"), float("nan"))
    statistic = (k - 1) * float(np.sum((rank_table.sum(axis=0) - n_sets * middle) ** 2)) / spread
    return Friedman(statistic, float(stats.chi2.sf(statistic, k - 1)))


def critical_difference(n_methods: int, n_sets: int, level: float = LEVEL) -> float:
    """Nemenyi's: mean ranks further apart than this differ, all pairs tested together.

    CD = q √(k (k+1) / (6 N)), q the studentised range over √2.

    Examples
    --------
    >>> from kinlearn_experiments.bench.statistics import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = float(stats.studentized_range.isf(level, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def cliques(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Widest runs of methods, sorted by rank, whose ends are less than the difference apart.

    Parameters
    ----------
    mean_ranks : sequence of float
        In rising order.
    difference : float

    Returns
    -------
    list of (first, last)
        Positions; runs of one are left out, as are those inside another.

    Examples
    --------
    >>> from kinlearn_experiments.bench.statistics import cliques
    >>> cliques([1.0, 1.5, 2.5, 4.0, 4.2], 1.6)
    [(0, 2), (2, 3), (3, 4)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(mean_ranks):
        last = max(k for k, other in enumerate(mean_ranks) if other - rank < difference)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def wilcoxon_holm(ours: Floats, rivals: Floats) -> Floats:
    """p-values of ours against every rival (column) over data sets, Wilcoxon's test with Holm.

    A method that failed on a set counts as worse there by more than any other difference; sets on
    which both failed say nothing.

    Parameters
    ----------
    ours : ndarray of shape (n_sets,)
        Losses.
    rivals : ndarray of shape (n_sets, n_rivals)

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.statistics import wilcoxon_holm
    >>> ours = np.arange(8.0)
    >>> wilcoxon_holm(ours, np.column_stack([ours + 1 + ours, ours])).round(4)
    array([0.0156, 1.    ])
    """
    raw = np.array([_wilcoxon(_differences(ours, column)) for column in rivals.T])
    return holm(raw)


def _differences(ours: Floats, rival: Floats) -> Floats:
    difference = rival - ours
    known = difference[~np.isnan(difference)]
    beyond = 1.0 + (np.abs(known).max() if known.size else 0.0)
    difference = np.where(np.isnan(rival) & ~np.isnan(ours), beyond, difference)
    difference = np.where(np.isnan(ours) & ~np.isnan(rival), -beyond, difference)
    return difference[~np.isnan(difference)]


def _wilcoxon(difference: Floats) -> float:
    if not np.any(difference):
        return 1.0
    kept = difference[difference != 0]
    tied = len(np.unique(np.abs(kept))) < len(kept)
    method = "asymptotic" if tied or len(kept) > 50 else "exact"
    return float(stats.wilcoxon(kept, method=method).pvalue)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's correction for testing several hypotheses together.

    Examples
    --------
    >>> from kinlearn_experiments.bench.statistics import holm
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw)
    scaled = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(scaled, 1.0)
    return adjusted


def paired_outcome(ours: ArrayLike, rival: ArrayLike, level: float = LEVEL) -> str:
    """Win, tie or loss on one data set, by the papers' paired t-test over its splits.

    Losses of the two methods on the same splits; "win" is ours significantly lower. One split
    allows no test: there a difference of 2 % counts. A method that failed on a split has lost
    against one that did not.

    Examples
    --------
    >>> from kinlearn_experiments.bench.statistics import paired_outcome
    >>> paired_outcome([0.1, 0.2, 0.3], [0.2, 0.31, 0.39])
    'win'
    >>> paired_outcome([0.1, 0.2, 0.3], [0.2, 0.1, 0.3])
    'tie'
    """
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(rival, dtype=np.float64)
    failed = np.isnan(a).any(), np.isnan(b).any()
    if any(failed):
        return "tie" if all(failed) else ("loss" if failed[0] else "win")
    difference = b - a
    if not np.any(difference):
        return "tie"
    if len(difference) == 1:
        if abs(difference[0]) < MATERIAL * min(abs(a[0]), abs(b[0])):
            return "tie"
        return "win" if difference[0] > 0 else "loss"
    mean, spread = difference.mean(), difference.std(ddof=1)
    if spread > 0:
        t = mean / (spread / np.sqrt(len(difference)))
        if 2 * stats.t.sf(abs(t), len(difference) - 1) > level:
            return "tie"
    return "win" if mean > 0 else "loss"
