"""From the ``cv`` and ``groups`` a user gives to the copies of rows that are left out together."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedGroupKFold, check_cv

from kinlearn.training.copies import DistinctRows, Units
from kinlearn.training.label_folds import deal_labels
from kinlearn.training.splits import Block, Leaving, Splits

Fold = tuple[np.ndarray, np.ndarray]  # passed rows to train on, and to test on
# Folds for what is learnt from held-out scores: weights of grid points, scales, offsets, beta. Of
# many rows fewer do: what is learnt from two thirds of them is what all teach.
REPORT_FOLDS, FEW_REPORT_FOLDS, MANY_ROWS = 5, 3, 500


@dataclass(frozen=True)
class Validation:
    """What is held out, and what is tested there.

    Attributes
    ----------
    splits : Splits
        For the solvers: which distinct rows leave, and with how many of their copies.
    unit : ndarray of shape (E,)
        The unit of which an entry of the splits tests one or more copies.
    copies : ndarray of shape (E,)
        Their number: the entry's weight, up to a class weight.
    entry : ndarray of shape (n_passed,)
        The entry that tests each passed row; -1 for none.
    share : ndarray of shape (n_passed,)
        The part of its entry's copies that each passed row is.
    fold : ndarray of shape (n_passed,)
        A few folds of passed rows, whole groups where there are groups. What is learnt from
        held-out scores is reported for each fold as learnt without it; -1 for rows without weight.
    pooled : bool
        Whether all entries are scored together.
    n_copies : float
        Number of copies of all rows.
    repeated : float
        Share of them that have another copy of their class.
    """

    splits: Splits
    unit: np.ndarray
    copies: np.ndarray
    entry: np.ndarray
    share: np.ndarray
    fold: np.ndarray
    pooled: bool
    n_copies: float
    repeated: float

    def weights(self, factors: np.ndarray | None = None) -> np.ndarray:
        """Weights of the entries, about one a copy; `factors` are a class weight's, by unit."""
        if factors is None:
            return self.copies
        weights = self.copies * factors[self.unit]
        return weights * (self.copies.sum() / weights.sum())

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """Give each passed row its entry's scores; NaN for rows never held out."""
        out = np.full((self.entry.size, *scores.shape[1:]), np.nan)
        known = self.entry >= 0
        out[known] = scores[self.entry[known]]
        return out

    def only(self, chosen: np.ndarray) -> Validation:
        """Leave-one-out of some of the entries alone, given by their positions."""
        splits = self.splits
        assert splits.leave_one_out
        place = np.full(splits.rows.size + 1, -1)
        place[chosen] = np.arange(chosen.size)
        leaving = splits.leaving
        if leaving is not None:
            leaving = Leaving(leaving.share[chosen], leaving.copies[chosen])
        few = replace(splits, rows=splits.rows[chosen], leaving=leaving, kept=splits.kept_share)
        return replace(
            self,
            splits=few,
            unit=self.unit[chosen],
            copies=self.copies[chosen],
            entry=place[self.entry],
        )


def make_validation(
    cv: Any,
    rows: DistinctRows,
    units: Units,
    strata: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    factors: np.ndarray | None = None,
    labels: np.ndarray | None = None,
    max_rows: int | None = None,
    seed: int = 0,
) -> Validation:
    """Return what is held out.

    Parameters
    ----------
    cv : "loo", int, splitter or iterable of (train, test)
        A splitter or iterable speaks of the rows as the user passed them.
    rows : DistinctRows
        Which rows are distinct.
    units : Units
        The copies they stand for.
    strata : ndarray of int of shape (n_passed,) or (n_passed, T)
        What folds are stratified by: the class, or the class and the task, or the classes of T
        labels.
    groups : ndarray of shape (n_passed,), optional
        Group of each passed row: ``"loo"`` then leaves one group out, an integer k makes k
        stratified folds of whole groups.
    factors : ndarray of shape (units,), optional
        What a class weight adds to the weight of each unit.
    labels : ndarray of shape (n_passed,) or (n_passed, T), optional
        What a splitter of the user's own gets to see; the strata when left out.
    max_rows : int, optional
        Leave-one-out of at most this many entries, evenly spread, when there are more.
    seed : int, default=0
        Of the draw of folds.
    """
    masses = units.mass if factors is None else units.mass * factors
    reported = report_folds(rows, units, strata, groups, seed)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f'cv={cv!r} is not known: use "loo", a number of folds or a splitter.')
        if groups is None:
            found = _one_out(rows, units, masses, reported)
            if max_rows is None or units.size <= max_rows:
                return found
            spread = np.linspace(0, units.size - 1, max_rows)
            return found.only(np.unique(spread.astype(np.intp)))
        folds = _one_group_out(groups, units.of)
    elif isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        folds = _dealt_folds(int(cv), rows, units, strata, groups, seed)
    else:
        seen = strata if labels is None else labels
        splitter = check_cv(cv, seen, classifier=True)
        folds = list(splitter.split(np.zeros((len(seen), 1)), seen, groups))
    return _of_folds(folds, rows, units, masses, reported, pooled=isinstance(cv, str))


def _one_out(
    rows: DistinctRows, units: Units, masses: np.ndarray, reported: np.ndarray
) -> Validation:
    leaving, whole = None, units.whole
    if not whole.all():
        totals = np.bincount(units.row, weights=masses)
        share = np.where(whole, 1.0, units.one / units.mass * masses / totals[units.row])
        leaving = Leaving(share, sp.identity(units.size, format="csr"))
    kept = (units.count - 1.0) / units.count
    splits = Splits(rows.n_distinct, rows=units.row, leaving=leaving, kept=kept)
    everything, copies = np.arange(units.size), units.counts
    share = units.passed / copies[units.of]
    return Validation(
        splits,
        everything,
        copies,
        units.of,
        share,
        reported,
        True,
        units.count,
        units.repeated,
    )


def _of_folds(
    folds: list[Fold],
    rows: DistinctRows,
    units: Units,
    masses: np.ndarray,
    reported: np.ndarray,
    pooled: bool,
) -> Validation:
    """Folds of passed rows as blocks of distinct rows with the copies that leave."""
    positive, passed = units.of >= 0, units.passed
    blocks, entry_units, entry_copies = [], [], []
    entry, n_entries = np.full(units.of.size, -1), 0
    for train, test in folds:
        gone = positive.copy()
        gone[train] = False
        tested = np.zeros(units.of.size, dtype=bool)
        tested[test] = True
        tested &= gone
        if not tested.any() or gone.sum() == positive.sum():
            continue
        share = np.bincount(units.of[gone], weights=units.passed[gone], minlength=units.size)
        share = share / units.counts
        share[np.bincount(units.of[positive & ~gone], minlength=units.size) == 0] = 1.0
        removed, leaving = leaving_of_units(share, units, masses)
        unit, at = np.unique(units.of[tested], return_inverse=True)
        blocks.append(Block(removed, np.searchsorted(removed, units.row[unit]), leaving))
        entry_units.append(unit)
        entry_copies.append(np.bincount(at.ravel(), weights=passed[tested]))
        entry[tested] = n_entries + at.ravel()
        n_entries += unit.size
    if not blocks:
        raise ValueError("The cv given has no split with rows to train on and rows to test on.")
    copies = np.concatenate(entry_copies)
    return Validation(
        Splits.of_blocks(rows.n_distinct, blocks),
        np.concatenate(entry_units),
        copies,
        entry,
        passed / copies[entry],
        reported,
        pooled,
        units.count,
        units.repeated,
    )


def report_folds(
    rows: DistinctRows,
    units: Units,
    strata: np.ndarray,
    groups: np.ndarray | None,
    seed: int,
) -> np.ndarray:
    """Number the fold of each passed row, for what is learnt from held-out scores."""
    fold = np.full(units.of.size, -1)
    n_units = rows.n_distinct if units.together else (units.of >= 0).sum()
    if groups is not None:
        n_units = np.unique(groups[units.of >= 0]).size
    if n_units < 2:
        return fold
    k = min(REPORT_FOLDS if n_units <= MANY_ROWS else FEW_REPORT_FOLDS, int(n_units))
    for j, (_, test) in enumerate(_dealt_folds(k, rows, units, strata, groups, seed + 1)):
        fold[test] = j
    return fold


def leaving_of_units(
    share_of_unit: np.ndarray, units: Units, masses: np.ndarray
) -> tuple[np.ndarray, Leaving | None]:
    """Return the rows of which something leaves, and what; None where all of all of them does."""
    used = np.flatnonzero(share_of_unit)
    removed = np.unique(units.row[used])
    stays = np.isin(removed, units.row[share_of_unit < 1.0])
    if not stays.any():
        return removed, None
    at = np.searchsorted(removed, units.row[used])
    leaves = sp.csr_matrix(
        (share_of_unit[used] * masses[used], (at, used)), shape=(removed.size, units.size)
    )
    total = np.asarray(leaves.sum(axis=1)).ravel()
    share = total / np.bincount(units.row, weights=masses)[removed]
    share[~stays] = 1.0
    return removed, Leaving(share, sp.csr_matrix(sp.diags(1.0 / total) @ leaves))


def _one_group_out(groups: np.ndarray, unit: np.ndarray) -> list[Fold]:
    kept = np.flatnonzero(unit >= 0)
    order = kept[np.argsort(groups[kept], kind="stable")]
    members = np.split(order, np.flatnonzero(groups[order][1:] != groups[order][:-1]) + 1)
    if len(members) < 2:
        raise ValueError(
            "groups holds one group only, so nothing can be held out: pass at least two groups, "
            "or leave groups out."
        )
    return [(np.setdiff1d(kept, test, assume_unique=True), test) for test in members]


def _dealt_folds(
    k: int,
    rows: DistinctRows,
    units: Units,
    strata: np.ndarray,
    groups: np.ndarray | None,
    seed: int,
) -> list[Fold]:
    kept = np.flatnonzero(units.of >= 0)
    together = units.together and groups is None
    n_units = kept.size if groups is None else np.unique(groups[kept]).size
    n_units = rows.n_distinct if together else n_units
    if not 2 <= k <= n_units:
        what = "rows" if groups is None else "groups"
        raise ValueError(
            f"cv={k} folds need at least 2 and at most {n_units}, the number of {what}."
        )
    if together:
        # one row for each thing, in an order of values alone
        rank = np.argsort(rows.canonical)
        dealt = deal if strata.ndim == 1 else deal_labels
        fold = dealt(k, strata[rows.first], rank, seed)[rows.member[kept]]
    elif strata.ndim == 2:
        rank = in_order_of_values(rows, units)[kept]
        fold = deal_labels(k, strata[kept], rank, seed, None if groups is None else groups[kept])
    elif groups is None:
        fold = deal(k, strata[kept], in_order_of_values(rows, units)[kept], seed)
    else:
        fold = _dealt_groups(k, strata[kept], groups[kept], seed)
    return [(kept[fold != j], kept[fold == j]) for j in range(k)]


def _dealt_groups(k: int, strata: np.ndarray, groups: np.ndarray, seed: int) -> np.ndarray:
    """Number the fold of each row; a group is in one fold, classes are spread as can be."""
    fold = np.zeros(groups.size, dtype=np.intp)
    strata = np.unique(strata, return_inverse=True)[1].ravel()
    if np.bincount(strata).max() >= k:
        splitter = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # a class of fewer rows than folds is allowed: it is absent from some folds
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(splitter.split(np.zeros((groups.size, 1)), strata, groups))
        for j, (_, test) in enumerate(splits):
            fold[test] = j
    if np.unique(fold).size < k:  # strata leave folds empty, or are too small: groups alone tell
        of = np.unique(groups, return_inverse=True)[1].ravel()
        fold = (np.random.RandomState(seed).permutation(of.max() + 1) % k)[of]
    return fold


def in_order_of_values(rows: DistinctRows, units: Units) -> np.ndarray:
    """Rank the passed rows by their values and kinds, so that a draw does not see their order."""
    value = np.empty(rows.n_distinct, dtype=np.intp)
    value[rows.canonical] = np.arange(rows.n_distinct)
    rank = np.full(rows.member.size, -1)
    kept = np.flatnonzero(rows.member >= 0)
    rank[kept[np.lexsort((units.of[kept], value[rows.member[kept]]))]] = np.arange(kept.size)
    return rank


def deal(k: int, strata: np.ndarray, rank: np.ndarray, seed: int) -> np.ndarray:
    """Deal rows out to k folds, stratum after stratum, shuffled: folds differ by one row at most.

    Every stratum is spread over the folds as evenly as can be, however rare it is.

    Parameters
    ----------
    k : int
        Number of folds.
    strata : ndarray of shape (n,)
        Stratum of each row; those next to each other are spread together, too.
    rank : ndarray of shape (n,)
        An order of the rows by their values, which is then shuffled.
    seed : int
        Of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.folds import deal
    >>> y = np.repeat([0, 1], 4)
    >>> fold = deal(2, y, np.arange(8), seed=0)
    >>> np.bincount(fold[y == 0]), np.bincount(fold[y == 1])
    (array([2, 2]), array([2, 2]))
    """
    n = strata.size
    drawn = np.random.RandomState(seed).permutation(n)[np.argsort(np.argsort(rank))]
    fold = np.empty(n, dtype=np.intp)
    fold[np.lexsort((drawn, strata))] = np.arange(n) % k
    return fold
