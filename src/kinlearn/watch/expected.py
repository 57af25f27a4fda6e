"""The accuracy to expect of answers whose truth is not known, from their own probabilities.

A row answered with probability p is right with probability p, if probabilities are calibrated; so
the accuracy of n answers is the mean of p, give or take ``sqrt(Σ p(1-p))/n`` (known as
confidence-based performance estimation). That holds while ``P(y|x)`` is what it was: where other
kinds of rows arrive. Where instead classes became more or less frequent and each looks as it did,
probabilities are off by the odds of the new shares to the old. These shares are found from the
probabilities alone (Saerens et al. 2002), and told if they explain what arrived: if the training's
rows, weighed by them, have the probabilities that the new rows have. They do not enter the
accuracy: where other kinds of rows arrived they cost more than they gained elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

Floats = NDArray[np.float64]

# Shares are only taken for new where chance finds such once in so many tables, ...
PRIOR_LEVEL = 0.001
# ... and where they explain the probabilities that were seen: a worse fit is rarer than this.
FIT_LEVEL = 0.5
_Z = 1.96
_STEPS = 100
_BINS = 8
_LEAST_ROWS = 50


@dataclass(frozen=True)
class Expected:
    """An accuracy to expect.

    Attributes
    ----------
    accuracy, low, high : float
        The estimate, and a 95 % interval of the accuracy that will be seen.
    n_rows : int
        Answers it is about.
    prior : list of float or None
        Shares of the classes that arrived, where they explain what was seen.
    """

    accuracy: float
    low: float
    high: float
    n_rows: int
    prior: list[float] | None = None


@dataclass(frozen=True, eq=False)
class Usual:
    """What the model said of its training rows when they were held out.

    Attributes
    ----------
    proba : ndarray of shape (n, c)
        Probabilities, of a sample of the rows.
    n_rows : int
        Rows of the training.
    accuracy : float
        The accuracy that was seen, or else the mean probability of the answers.
    stated : ndarray of shape (n,)
        Probability of each answer; of the most probable class when left out.
    """

    proba: Floats
    n_rows: int
    accuracy: float
    stated: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not self.stated.size:
            object.__setattr__(self, "stated", self.proba.max(axis=1))

    @property
    def prior(self) -> Floats:
        return np.asarray(self.proba.mean(axis=0))


def expected_accuracy(
    proba: Floats, usual: Usual | None = None, answers: NDArray | None = None
) -> Expected:
    """The accuracy to expect of the classes of largest probability.

    Parameters
    ----------
    proba : ndarray of shape (n, c)
        Calibrated probabilities.
    usual : Usual, optional
        Those of the training; without, nothing is told of the shares of classes.
    answers : ndarray of shape (n,), optional
        Number of the class that was answered; the most probable one when left out.

    Examples
    --------
    >>> import numpy as np
    >>> found = expected_accuracy(np.tile([0.8, 0.2], (400, 1)))
    >>> round(found.accuracy, 3), round(found.low, 3), round(found.high, 3)
    (0.8, 0.761, 0.839)
    """
    n = len(proba)
    chosen = proba.argmax(axis=1) if answers is None else answers
    prior = None
    if usual is not None and n >= _LEAST_ROWS and proba.shape[1] > 1:
        shares = new_shares(proba, usual)
        if shares is not None:
            prior = [float(share) for share in shares]
    right = proba[np.arange(n), chosen]
    return of_sums(float(right.sum()), float((right * (1.0 - right)).sum()), n, usual, prior)


def of_sums(
    total: float,
    variance: float,
    n: int,
    usual: Usual | None = None,
    prior: list[float] | None = None,
) -> Expected:
    """The same from the sums of p and of p(1 - p)."""
    accuracy = total / n
    error = variance / n**2
    if usual is not None:  # probabilities were calibrated on so many rows
        error += usual.accuracy * (1.0 - usual.accuracy) / usual.n_rows
    wide = _Z * np.sqrt(error)
    low, high = max(0.0, accuracy - wide), min(1.0, accuracy + wide)
    return Expected(accuracy, float(low), float(high), n, prior)


def new_shares(proba: Floats, usual: Usual) -> Floats | None:
    """Shares of the classes among new rows; None where the old ones, or none, explain them."""
    old = np.maximum(usual.prior, 1e-6)
    shares = shares_by_em(proba, old)
    gain = 2.0 * float(np.log(np.maximum((proba / old) @ shares, 1e-300)).sum())
    if chdtrc(len(old) - 1, max(gain, 0.0)) > PRIOR_LEVEL:
        return None
    weights = (usual.proba / old) @ shares
    if _misfit(proba, usual.proba, weights) < FIT_LEVEL:
        return None
    return shares


def shares_by_em(proba: Floats, old: Floats) -> Floats:
    """Shares of classes under which the probabilities of new rows are most likely.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.999, 0.001]] * 9 + [[0.001, 0.999]])
    >>> shares_by_em(proba, np.array([0.5, 0.5])).round(2)
    array([0.9, 0.1])
    """
    shares = old / old.sum()
    ratio = proba / old
    for _ in range(_STEPS):
        weighed = ratio * shares
        new = (weighed / np.maximum(weighed.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
        done = float(np.abs(new - shares).max()) < 1e-6
        shares = new
        if done:
            break
    return np.asarray(shares)


def _misfit(proba: Floats, usual: Floats, weights: Floats) -> float:
    """How likely new probabilities differ so from the usual ones with weights (chi-squared)."""
    least = 1.0
    for y in range(proba.shape[1]):
        edges = np.unique(np.quantile(usual[:, y], np.linspace(0, 1, _BINS + 1)[1:-1]))
        wanted = np.bincount(
            np.searchsorted(edges, usual[:, y]), weights=weights, minlength=len(edges) + 1
        )
        spread = np.bincount(
            np.searchsorted(edges, usual[:, y]), weights=weights**2, minlength=len(edges) + 1
        )
        seen = np.bincount(np.searchsorted(edges, proba[:, y]), minlength=len(edges) + 1)
        share, got = wanted / wanted.sum(), seen / seen.sum()
        variance = share * (1 - share) / len(proba) + spread / wanted.sum() ** 2
        statistic = float((np.square(got - share) / np.maximum(variance, 1e-12)).sum())
        least = min(least, float(chdtrc(max(1, len(edges)), statistic)) * proba.shape[1])
        if proba.shape[1] == 2:
            return float(chdtrc(max(1, len(edges)), statistic))
    return least
