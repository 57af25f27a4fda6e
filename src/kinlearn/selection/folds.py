"""From the ``cv`` and ``groups`` a user gives to the rows that are left out together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from kinlearn.rows import DistinctRows, join_groups
from kinlearn.solvers.splits import Splits


def make_splits(
    cv: Any,
    rows: DistinctRows,
    labels: np.ndarray,
    groups: np.ndarray | None = None,
    max_rows: int | None = None,
) -> tuple[Splits, bool]:
    """Return the splits over distinct rows, and whether their scores are pooled over all rows.

    Parameters
    ----------
    cv : "loo", int, splitter or iterable of (train, test)
        A splitter or iterable speaks of the rows as the user passed them; a distinct row goes where
        its first occurrence goes.
    rows : DistinctRows
        Which rows are distinct.
    labels : ndarray
        Class number of each original row (a splitter may stratify).
    groups : ndarray, optional
        Group of each original row: ``"loo"`` then leaves one group out, an integer k makes k
        stratified folds of whole groups.
    max_rows : int, optional
        Leave-one-out of at most this many rows, evenly spread, when there are more.
    """
    n = rows.n_distinct
    joined = None if groups is None else join_groups(groups, rows)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f'cv={cv!r} is not known: use "loo", a number of folds or a splitter.')
        if joined is not None:
            return _group_splits(joined), True
        return _one_out(n, max_rows), True
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        return _folds(int(cv), labels[rows.first], joined), False
    splitter = check_cv(cv, labels, classifier=True)
    first = np.full(rows.member.size, -1, dtype=np.intp)
    first[rows.first] = np.arange(n)
    pairs = []
    for train, test in splitter.split(np.zeros((labels.size, 1)), labels, groups):
        train, test = first[train], first[test]
        train, test = train[train >= 0], test[test >= 0]
        if train.size and test.size:
            pairs.append((train, np.setdiff1d(test, train)))
    if not pairs:
        raise ValueError("The cv given has no split with rows to train on and rows to test on.")
    return Splits.from_train_test(n, pairs), False


def _one_out(n: int, max_rows: int | None) -> Splits:
    if max_rows is None or n <= max_rows:
        return Splits.one_out(n)
    return Splits(n, rows=np.unique(np.linspace(0, n - 1, max_rows).astype(np.intp)))


def _group_splits(groups: np.ndarray) -> Splits:
    if np.unique(groups).size < 2:
        raise ValueError(
            "groups holds one group only (or groups tied together by identical rows), so nothing "
            "can be held out: pass at least two groups, or leave groups out."
        )
    return Splits.from_groups(groups)


def _folds(k: int, labels: np.ndarray, groups: np.ndarray | None) -> Splits:
    n = labels.size
    units = n if groups is None else np.unique(groups).size
    if not 2 <= k <= units:
        what = "distinct rows" if groups is None else "groups"
        raise ValueError(f"cv={k} folds need at least 2 and at most {units}, the number of {what}.")
    X = np.zeros((n, 1))
    if groups is None and np.unique(labels, return_counts=True)[1].max() < k:
        return Splits.from_train_test(n, KFold(k).split(X))
    splitter = StratifiedKFold(k) if groups is None else StratifiedGroupKFold(k)
    with warnings.catch_warnings():
        # rarer classes than folds are allowed: such a class is absent from some folds
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return Splits.from_train_test(n, splitter.split(X, labels, groups))
