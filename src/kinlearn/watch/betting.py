"""Is the model right less often (or more) than it says? A bet that may be looked at at any time.

Under calibrated probabilities the truth minus p has mean zero, so whoever bets on it cannot expect
to gain: wealth ``Π (1 + λ (p - tolerance - right))`` is a martingale, and by Ville's inequality
exceeds 1/α at any time, however often one looks, with probability at most α. Wealth is kept as the
sum of logarithms for each of a few λ, so that it adds up over rows, and their mean is wealth again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.8])
# Probabilities are estimates themselves: this much is allowed before anything counts as a gain.
TOLERANCE = 0.02


def log_stakes(p: Floats, right: Floats, *, below: bool) -> Floats:
    """What rows add to the logarithm of the wealth of each stake.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probability of the answer that was given.
    right : ndarray of shape (n,)
        1 where it was right.
    below : bool
        Whether the bet is on fewer right answers than stated, or on more.

    Examples
    --------
    >>> import numpy as np
    >>> lost = log_stakes(np.full(100, 0.9), np.zeros(100), below=True)
    >>> wealth(lost) > 1e6, wealth(log_stakes(np.full(10, 0.9), np.ones(10), below=True)) < 1
    (True, True)
    """
    gain = (p - right if below else right - p) - TOLERANCE
    return np.asarray(np.log1p(np.outer(gain, STAKES)).sum(axis=0))


def wealth(logs: Floats) -> float:
    """What a stake of one has become, spread evenly over the λ."""
    with np.errstate(over="ignore"):
        return float(np.exp(np.minimum(logs, 700.0)).mean())
