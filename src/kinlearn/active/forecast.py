"""How many more labels until a goal: what is measured now, how accuracy grew, and a prior.

The accuracy after r more labels is taken to be that of now plus a gain::

    gain(r) = a (n^-g - (n + r)^-g)

The law's a and g are fitted to how much less accurate earlier models were: those on the first part
of the labels, by the probabilities of the model of now over the whole table. The accuracy of now is
measured on few rows, so it is known to some percent only; there, many numbers of labels would fit.
So a prior speaks, too: that the goal is as many labels away as there are now, within a factor of
three. The answer is the median of what follows (Bayes), with the tenth and ninetieth percentile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

# One standard deviation of the prior is a factor of this.
FACTOR = 3.0
# Prior chance that the goal is reached already.
REACHED = 0.15
# The stated confidence counts as so many audit rows, and errs by at least this.
CONFIDENCE_WORTH, LEAST_ERROR = 40.0, 0.02
# The gain may be off by so much of itself.
GAIN_ERROR = 0.5
EXPONENTS = np.linspace(0.3, 2.0, 18)
# The usual exponent, and how firmly it is believed in.
USUAL_EXPONENT, FIRMNESS, SHARPNESS = 0.8, 0.05, 0.02
MOST = 30.0  # times as many labels as now, at most


class Forecast(NamedTuple):
    """Labels to go, and a range that holds in about four of five cases."""

    more: int
    low: int
    high: int


def gains(n: int, losses: Sequence[tuple[int, float]], more: Array) -> Array:
    """Return what the law gains by further labels, averaged over exponents by how well they fit.

    Parameters
    ----------
    n : int
        Labels now.
    losses : sequence of (number of labels, accuracy lost against now)
        Of earlier models.
    more : ndarray
        Numbers of further labels.

    Examples
    --------
    >>> import numpy as np
    >>> law = [(s, 2.0 * (s**-0.8 - 100**-0.8)) for s in (25, 50, 70)]
    >>> bool(abs(gains(100, law, np.array([100.0]))[0] - 2.0 * (100**-0.8 - 200**-0.8)) < 0.005)
    True
    """
    counts = np.array([count for count, _ in losses], dtype=np.float64)
    lost = np.maximum([loss for _, loss in losses], 1e-4)
    weight = np.sqrt(counts)
    total, sizes, misfits = float(weight @ lost**2), [], []
    for g in EXPONENTS:
        shape = counts**-g - n**-g
        size = float(weight @ (shape * lost)) / float(weight @ shape**2)
        misfit = float(weight @ (lost - size * shape) ** 2) / total
        sizes.append(size)
        misfits.append(misfit + FIRMNESS * np.log(g / USUAL_EXPONENT) ** 2)
    shares = np.exp(-(np.array(misfits) - min(misfits)) / SHARPNESS)
    shares /= shares.sum()
    grown = [size * (n**-g - (n + more) ** -g) for size, g in zip(sizes, EXPONENTS, strict=True)]
    return np.asarray(shares @ np.array(grown))


def forecast(
    goal: float,
    n: int,
    right: float,
    audited: int,
    confidence: float,
    losses: Sequence[tuple[int, float]],
) -> Forecast:
    """Return how many more labels bring the accuracy to a goal.

    Parameters
    ----------
    goal : float
        Accuracy.
    n : int
        Labels now.
    right, audited : float and int
        Audit rows answered right, by the corrected share, and all of them.
    confidence : float
        Mean largest probability over the table.
    losses : sequence of (number of labels, accuracy lost against now)
        Of earlier models, at least one.

    Examples
    --------
    >>> law = [(s, 2.0 * (s**-0.8 - 100**-0.8)) for s in (25, 50, 70)]
    >>> forecast(0.9, 100, 86, 100, 0.86, law).more > 50
    True
    >>> forecast(0.8, 100, 95, 100, 0.95, law).more
    0
    """
    worth = audited + CONFIDENCE_WORTH
    now = (right + CONFIDENCE_WORTH * confidence) / worth
    share = (right + 0.5 * CONFIDENCE_WORTH * confidence + 1) / (
        audited + 0.5 * CONFIDENCE_WORTH + 2
    )
    variance = share * (1.0 - share) / worth + LEAST_ERROR**2
    more = n * np.exp(np.linspace(-np.log(MOST), np.log(MOST), 240))
    gain = gains(n, losses, more)
    spread = np.sqrt(variance + (GAIN_ERROR * gain) ** 2)
    prior = np.exp(-0.5 * (np.log(more / n) / np.log(FACTOR)) ** 2)
    chance = prior / prior.sum() * (1.0 - REACHED) / spread
    chance *= np.exp(-0.5 * ((now - goal + gain) / spread) ** 2)
    short = min(now - goal, 0.0)
    reached = REACHED * np.exp(-0.5 * short**2 / variance) / np.sqrt(variance)
    after = np.cumsum(np.append(reached, chance))
    places = np.searchsorted(after / after[-1], [0.5, 0.1, 0.9])
    median, low, high = np.append(0.0, more)[np.minimum(places, len(more))]
    return Forecast(round(median), round(low), round(high))
