"""Held-out scores as they are reported: nothing that was learnt from a row's label scores it.

Scores of grid points are held out one row at a time. What is learnt from these (weights of points,
scales, offsets, beta) has seen all labels, and with few rows it fits their noise. So the rows are
dealt out to a few folds, and for each fold it is learnt once more without its rows: cheap, since the
points' scores stay as they are. The model itself uses all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from kinlearn.selection.folds import Validation

Learnt = TypeVar("Learnt")


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
    """Yield (passed rows of a fold, the rows that held-out scores speak of without them).

    The shares of the classes stay those of all rows: they are known well, and without that a fold
    in which a class is rare would be judged by others in which it is frequent.
    """
    validation, strata = rows.validation, rows.strata
    tested = validation.entry >= 0
    for j in np.unique(validation.fold[tested & (validation.fold >= 0)]):
        own = np.flatnonzero(tested & (validation.fold == j))
        gone = np.bincount(
            validation.entry[own], weights=validation.share[own], minlength=validation.unit.size
        )
        factors = np.clip(1.0 - gone, 0.0, 1.0)
        left = float(validation.copies @ factors)
        if strata is not None and left > 0.0:
            before = np.bincount(strata, weights=validation.copies)
            after = np.bincount(strata, weights=validation.copies * factors)
            ratio = np.divide(before, after, out=np.ones_like(before), where=after > 0)
            factors = factors * ratio[strata]
            factors *= left / float(validation.copies @ factors)
        yield own, rows.reweighted(factors)


def reported_scores(
    rows: HeldRows,
    learn: Callable[[HeldRows], Learnt],
    score: Callable[[Learnt], np.ndarray],
    beta: Callable[[Learnt], np.ndarray | float],
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and betas of the passed rows, by what was learnt from the other folds.

    Parameters
    ----------
    rows : HeldOutRows or HeldOutLabels
        What held-out scores speak of.
    learn : callable
        Learns from such rows.
    score : callable
        Gives what was learnt applied to all entries, (E, columns).
    beta : callable
        Gives its beta, or one for each label.

    Returns
    -------
    scores : ndarray of shape (n_passed, columns)
        NaN for rows never held out.
    betas : ndarray of shape (n_passed,) or (n_passed, labels)
        The calibration of each row's scores; NaN likewise.
    """
    scores = betas = None
    n_passed = rows.validation.entry.size
    for own, others in rows_of_others(rows):
        learnt = learn(others)
        found = score(learnt)[rows.validation.entry[own]]
        own_beta = np.asarray(beta(learnt), dtype=np.float64)
        if scores is None or betas is None:
            scores = np.full((n_passed, found.shape[1]), np.nan)
            betas = np.full((n_passed, *own_beta.shape), np.nan)
        scores[own], betas[own] = found, own_beta
    if scores is None or betas is None:
        learnt = learn(rows)
        columns, own_beta = score(learnt).shape[1], np.asarray(beta(learnt), dtype=np.float64)
        return np.full((n_passed, columns), np.nan), np.full((n_passed, *own_beta.shape), np.nan)
    return scores, betas
