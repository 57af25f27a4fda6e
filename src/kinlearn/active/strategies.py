"""What to ask next: small functions from a situation to how much each open row is wanted.

A strategy is an entry in :data:`STRATEGIES`. It sees the rows that may be asked for, what the model
says of them and how far they are from what is labelled, and returns one number a row; the largest
is asked for. ``"mixed"`` is the default: rows the model is unsure of, the more so where they stand
for others that are unlike anything labelled, which counts less as labels grow. The audit share is
no strategy: its rows are drawn at random before the first label is known
(:class:`~kinlearn.active.audit.AuditRows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

# The power of how much a row stands for; the larger, the more of the table is seen early on. With
# so many rows chosen it is half of that: what is left then is to settle what is unsure.
FAMILIARITY_POWER = 0.25
HALF_AFTER = 40
# Rows that stand for nothing more than themselves still count as this part of the average.
LEAST_GAIN = 0.1


@dataclass(frozen=True)
class Situation:
    """What is known when the next row is chosen.

    Attributes
    ----------
    proba : ndarray of shape (n_open, n_classes) or None
        Of the rows that may be asked for; None before the first model.
    gain : ndarray of shape (n_open,)
        How much nearer, on average, the rows of the table would be to a labelled row.
    counts : ndarray of shape (n_classes,)
        Labels of each class so far.
    n_asked : int
        How many rows the strategy has chosen so far.
    random : Generator
        Of this step.
    """

    proba: Array | None
    gain: Array
    counts: NDArray[np.intp]
    n_asked: int
    random: np.random.Generator


Strategy: TypeAlias = Callable[[Situation], Array]


def spread(now: Situation) -> Array:
    """Rows that stand for many others which are far from all labelled ones."""
    return now.gain


def unsure(now: Situation) -> Array:
    """Rows whose two most probable classes are nearly equally so."""
    if now.proba is None:
        return now.gain
    top = np.sort(now.proba, axis=1)
    return 1.0 + top[:, -2] - top[:, -1]


def random(now: Situation) -> Array:
    """Rows by chance, for comparison."""
    return now.random.random(len(now.gain))


def balanced(now: Situation) -> Array:
    """Rows most likely of the class with fewest labels."""
    if now.proba is None:
        return now.gain
    return now.proba[:, int(now.counts.argmin())]


def mixed(now: Situation) -> Array:
    """Unsure rows, at first the more so where they stand for others unlike anything labelled."""
    if now.proba is None:
        return now.gain
    reach = now.gain + LEAST_GAIN * now.gain.mean() + np.finfo(np.float64).tiny
    return unsure(now) * reach ** (FAMILIARITY_POWER / (1.0 + now.n_asked / HALF_AFTER))


STRATEGIES: dict[str, Strategy] = {
    "mixed": mixed,
    "unsure": unsure,
    "spread": spread,
    "balanced": balanced,
    "random": random,
}
