"""Held-out scores as they are reported: nothing that was learnt from a row's label scores it.

Scores of grid points are held out one row at a time. What is learnt from these (weights of points,
scales, offsets, beta) has seen all labels, and with few rows it fits their noise. So the rows are
dealt out to a few folds, and for each fold it is learnt once more without its rows: cheap, since
the points' scores stay as they are. The model itself uses all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from kinlearn.selection.folds import Validation
from kinlearn.threads import run_in_threads

Learnt = TypeVar("Learnt")
# Learning from fewer numbers takes many short steps, in which threads wait for each other.
MANY_SCORES = 2_000_000


class Held(Protocol):
    """The rows that held-out scores speak of."""

    @property
    def validation(self) -> Validation:
        """What was held out."""

    @property
    def strata(self) -> np.ndarray | None:
        """The class of each entry, if it has one."""

    def reweighted(self: Learnt, factors: np.ndarray) -> Learnt:
        """The same with every entry's weights times a factor."""


HeldRows = TypeVar("HeldRows", bound=Held)


def rows_of_others(rows: HeldRows) -> Iterator[tuple[np.ndarray, HeldRows]]:
    """Yield (passed rows of a fold, the rows that held-out scores speak of without them)."""
    validation = rows.validation
    tested = validation.entry >= 0
    for j in np.unique(validation.fold[tested & (validation.fold >= 0)]):
        own = np.flatnonzero(tested & (validation.fold == j))
        gone = np.bincount(
            validation.entry[own], weights=validation.share[own], minlength=validation.unit.size
        )
        yield own, rows.reweighted(np.clip(1.0 - gone, 0.0, 1.0))


def with_shares_of(rows: HeldRows, all_rows: HeldRows) -> HeldRows:
    """Return some rows with the classes weighing as in all rows."""
    copies, strata, all_strata = rows.validation.copies, rows.strata, all_rows.strata
    assert strata is not None
    assert all_strata is not None
    wanted = np.bincount(all_strata, weights=all_rows.validation.copies)
    own = np.bincount(strata, weights=copies, minlength=wanted.size)
    ratio = np.divide(wanted, own, out=np.ones_like(wanted), where=own > 0)
    factors = ratio[strata]
    return rows.reweighted(factors * (copies.sum() / float(copies @ factors)))


def with_own_share(scores: np.ndarray, rows: Held) -> np.ndarray:
    """Return leave-one-out scores as of a model in which the classes keep their shares.

    Without one of its n_y rows a class is rarer by that one, and where features tell nothing, this
    alone lets every row lean away from its own class: of two classes equally frequent, all are
    then called wrong. Scores are linear in the targets, so that a class which keeps its weight
    scores ``n_y/(n_y-1)`` as much, and all of them ``(n-1)/n``.
    """
    assert rows.strata is not None
    n = rows.validation.n_copies
    totals = np.bincount(rows.strata, weights=rows.validation.copies)
    totals = totals * (n / totals.sum())
    gain = np.where(totals > 1.5, totals / np.maximum(totals - 1.0, 0.5), 1.0)
    out = scores * ((n - 1.0) / n)
    out[np.arange(len(out)), rows.strata] *= gain[rows.strata]
    return out


def reported_scores(
    rows: HeldRows,
    learn: Callable[[HeldRows], Learnt],
    score: Callable[[Learnt], np.ndarray],
    numbers: Callable[[Learnt], np.ndarray],
    learn_without: Callable[[np.ndarray], Learnt] | None = None,
    n_scores: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and links of the passed rows, by what was learnt from the other folds.

    Parameters
    ----------
    rows : HeldOutRows or HeldOutLabels
        What held-out scores speak of.
    learn : callable
        Learns from such rows.
    score : callable
        Gives what was learnt applied to all entries, (E, columns).
    numbers : callable
        Gives the numbers of its link from scores to probabilities.
    learn_without : callable, optional
        Learns from all but some passed rows, of which the points' scores know nothing either. Where
        rows are few, the scores of the others still tell much about a row that helped to make them.
    n_scores : int, default=0
        How many numbers are learnt from; of many, folds are worked on side by side.

    Returns
    -------
    scores : ndarray of shape (n_passed, columns)
        NaN for rows never held out.
    links : ndarray of shape (n_passed, numbers)
        The link of each row's scores; NaN likewise.
    """
    n_passed, entry = rows.validation.entry.size, rows.validation.entry

    def learn_one(fold: tuple[np.ndarray, HeldRows]) -> tuple[np.ndarray, Learnt]:
        own, others = fold
        return own, learn(others) if learn_without is None else learn_without(own)

    at_once = None if n_scores >= MANY_SCORES else 1
    parts = run_in_threads(learn_one, rows_of_others(rows), at_most=at_once)
    some = parts[0][1] if parts else learn(rows)
    scores = np.full((n_passed, score(some).shape[1]), np.nan)
    links = np.full((n_passed, numbers(some).size), np.nan)
    for own, learnt in parts:
        scores[own] = score(learnt)[entry[own]]
        links[own] = numbers(learnt)
    return scores, links
