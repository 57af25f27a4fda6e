"""The learning curve: models on the first part of the labels, seen from the model of now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.active.audit import Audited
from kinlearn.active.refits import Fit, Refits, Settings

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

PARTS = (0.25, 0.35, 0.5, 0.7)
# The curve is drawn anew when the labels have grown by a tenth.
GROWTH = 1.1
LEAST_LABELS = 10
# A model whose probabilities differ by less has learnt nothing.
FLAT = 1e-9


@dataclass(frozen=True)
class Curve:
    """Earlier models, compared with that of `n` labels.

    Attributes
    ----------
    n : int
        Labels of the last model.
    counts : tuple of int
        Labels of the earlier ones.
    losses : tuple of float
        Accuracy that each lacks, by the probabilities of the last model over the table.
    changed : tuple of float
        Share of the table's rows that it answers otherwise.
    audited : tuple of Audited
        The audit's rows as each answers them, and last the model of `n` labels.
    confidence : float
        Mean largest probability of the last model over the table.
    """

    n: int
    counts: tuple[int, ...]
    losses: tuple[float, ...]
    changed: tuple[float, ...]
    audited: tuple[Audited, ...]
    confidence: float

    @property
    def changed_by_half(self) -> float:
        """Share of rows answered otherwise since there were half as many labels."""
        at = int(np.argmin(np.abs(np.array(self.counts) - self.n / 2)))
        return self.changed[at]


def drawn_at(n: int) -> int | None:
    """The number of labels, at most `n`, at which the curve was last drawn."""
    if n < LEAST_LABELS:
        return None
    at = LEAST_LABELS
    while (after := int(np.ceil(GROWTH * at))) <= n:
        at = after
    return at


@dataclass(frozen=True)
class EarlierModels:
    """Models on the first part of the labels, all at the settings of now.

    Attributes
    ----------
    refits : Refits
        How a model is fitted.
    settings : dict or None
        At what settings.
    rows : ndarray of shape (n,)
        Labelled rows, in the order told.
    labels : ndarray of shape (n,)
        Their classes.
    by_class : callable
        Probabilities of a fit with a column for every class.
    """

    refits: Refits
    settings: Settings | None
    rows: Index
    labels: NDArray
    by_class: Callable[[Array, Fit], Array]

    def fit(self, count: int) -> Fit | None:
        """The model of so many labels; None where they are of one class."""
        if len(np.unique(self.labels[:count])) < 2:
            return None
        return self.refits.fit(self.settings, self.rows[:count], self.labels[:count])

    def curve(self, codes: Index, passed: Index, sample: Index) -> Curve | None:
        """Compare them.

        Parameters
        ----------
        codes : ndarray of shape (n,)
            Columns of the labels.
        passed : ndarray of int
            The audit's rows.
        sample : ndarray of int
            Rows that stand for the table.
        """
        n, last = len(self.rows), self.fit(len(self.rows))
        if last is None:
            return None
        place = {row: k for k, row in enumerate(self.rows.tolist())}
        audited = np.array([place[row] for row in passed.tolist()], dtype=np.intp)
        now = self.by_class(last.proba(sample), last)
        if np.ptp(now) < FLAT:  # it answers nothing yet
            return None
        answers, every = now.argmax(axis=1), np.arange(len(sample))
        top = float(now[every, answers].mean())
        counts, losses, changed, found = [], [], [], []
        for count in sorted({max(2, round(part * n)) for part in PARTS}):
            earlier = self.fit(count)
            if earlier is None:
                continue
            proba = self.by_class(earlier.proba(sample), earlier)
            then = proba.argmax(axis=1)
            counts.append(count)
            losses.append(max(0.0, top - float(now[every, then].mean())))
            changed.append(float((then != answers).mean()))
            found.append(self._audited(earlier, codes, audited, sample, proba))
        if not counts:
            return None
        found.append(self._audited(last, codes, audited, sample, now))
        return Curve(n, tuple(counts), tuple(losses), tuple(changed), tuple(found), top)

    def _audited(
        self, fit: Fit, codes: Index, audited: Index, sample: Index, proba: Array
    ) -> Audited:
        """The audit's rows as a model answers them; those that taught it, held out."""
        held_out = self.by_class(fit.held_out(), fit)
        later = self.rows[len(held_out) :]
        own = held_out
        if len(later):
            own = np.vstack([held_out, self.by_class(fit.proba(later), fit)])
        return audited_rows(own[audited], codes[audited], sample, proba, fit.rows, held_out)


def audited_rows(
    proba: Array, codes: Index, sample: Index, of_sample: Array, labelled: Index, held_out: Array
) -> Audited:
    """The audit's rows beside the table.

    Parameters
    ----------
    proba, codes : ndarrays
        Of the audit's rows: probabilities by a model without each, and their classes.
    sample, of_sample : ndarrays
        Rows that stand for the table, and their probabilities.
    labelled, held_out : ndarrays
        Labelled rows, and their probabilities by a model without each, which count where the
        sample holds them.
    """
    top = of_sample.max(axis=1)
    _, at, own = np.intersect1d(sample, labelled, assume_unique=True, return_indices=True)
    top[at] = held_out[own].max(axis=1)
    return Audited(proba.argmax(axis=1) == codes, proba.max(axis=1), float(top.mean()))
