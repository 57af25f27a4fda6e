"""Which confidence suffices to answer: thresholds whose error is bounded with stated certainty.

Let R(λ) be the error among cases whose confidence exceeds λ. For a threshold λ with k calibration
cases above it, e of them wrong, ``P(Bin(k, max_error) ≤ e)`` is an exact p-value of the hypothesis
R(λ) > max_error (the test that Clopper and Pearson's bound inverts). Thresholds are tested in a
fixed order, from a starting point down to ever lower ones until the first that fails
(fixed-sequence testing, as in Angelopoulos, Bates, Candès, Jordan, Lei: Learn then test, 2021). One
start is where the stated probabilities themselves promise the smallest p-value, with half of the
risk; the others, at all, a half, a quarter, ... of the cases, share the other half, for classifiers
whose probabilities promise too much. Starts depend on confidences alone: given these, wrong answers
are independent, and the binomial bounds their sum (Hoeffding 1956).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv


@dataclass(frozen=True)
class Threshold:
    """A threshold and what the calibration cases say about it.

    Attributes
    ----------
    value : float
        Cases of a confidence above it are answered: 0 answers all, infinity none.
    n_cases, n_answered, n_wrong : int
        Calibration cases, those above the threshold, and the wrong ones among these.
    error_bound : float
        Upper bound on the error at the level at which the threshold was tested; NaN without answer.
    """

    value: float
    n_cases: int
    n_answered: int
    n_wrong: int
    error_bound: float

    @property
    def coverage(self) -> float:
        """Share of cases answered."""
        return self.n_answered / self.n_cases if self.n_cases else 0.0

    @property
    def error(self) -> float:
        """Share of wrong ones among the answered; NaN without any."""
        return self.n_wrong / self.n_answered if self.n_answered else float("nan")


def upper_bound(n_wrong: float, n: float, risk: float) -> float:
    """Return Clopper and Pearson's upper bound on an error rate, exceeded with at most `risk`.

    Examples
    --------
    >>> round(upper_bound(0, 58, 0.05), 3)
    0.05
    """
    return 1.0 if n_wrong >= n else float(betaincinv(n_wrong + 1, n - n_wrong, 1.0 - risk))


def independent_share(wrong: np.ndarray, groups: np.ndarray, copies: float = 1.0) -> float:
    """Return how many independent cases one case is worth.

    Cases of one group err together: ``1/(1 + (m-1)ρ)`` (Kish's design effect), m the size of the
    group an average case is in and ρ an upper estimate, by two standard errors, of the correlation
    of wrong answers inside groups (analysis of variance). Where a table holds everything several
    times, a case is worth one over that number.

    Parameters
    ----------
    wrong : ndarray of shape (n,)
        Which cases are answered wrong.
    groups : ndarray of shape (n,)
        Number of each case's group.
    copies : float, default=1
        How many times the table holds everything.

    Examples
    --------
    >>> import numpy as np
    >>> wrong, alone = np.array([True, False] * 30), np.arange(60)
    >>> independent_share(wrong, alone), independent_share(np.repeat(wrong, 2), alone.repeat(2))
    (1.0, 0.5)
    """
    n = len(wrong)
    codes = np.unique(groups, return_inverse=True)[1].ravel()
    sizes = np.bincount(codes).astype(np.float64)
    if n == 0 or sizes.max() == 1:
        return 1.0 / copies
    size = float((sizes**2).sum()) / n
    if sizes.size == 1:
        return 1.0 / n
    means = np.bincount(codes, weights=wrong) / sizes
    spread = sizes.size - 1
    average = (n - (sizes**2).sum() / n) / spread
    between = float(sizes @ (means - wrong.mean()) ** 2) / spread
    within = float(np.bincount(codes, weights=wrong) @ (1.0 - means)) / max(n - sizes.size, 1)
    total = between + (average - 1.0) * within
    correlation = (between - within) / total if total > 0 else 0.0
    error = np.sqrt(2.0 / (sizes.size * max(average * (average - 1.0), 1e-9)))
    upper = float(np.clip(max(correlation, 0.0) + 2.0 * error, 0.0, 1.0))
    return 1.0 / (1.0 + (size - 1.0) * upper) / copies


def choose_threshold(
    confidence: np.ndarray,
    wrong: np.ndarray,
    max_error: float,
    risk: float,
    share: float = 1.0,
) -> Threshold:
    """Return the lowest threshold found whose error is at most `max_error`, up to `risk`.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Of calibration cases: the largest class probability.
    wrong : ndarray of shape (n,)
        Whether the class of largest probability is not theirs.
    max_error : float
        Bound on the error among answered cases.
    risk : float
        Probability, over calibration sets, that the bound does not hold.
    share : float, default=1
        How many independent cases one case is worth (:func:`independent_share`).

    Examples
    --------
    >>> import numpy as np
    >>> confidence = np.linspace(0.5, 1.0, 400)
    >>> wrong = confidence < 0.75
    >>> chosen = choose_threshold(confidence, wrong, max_error=0.05, risk=0.05)
    >>> 0.74 < chosen.value < 0.76
    True
    """
    order = np.argsort(-confidence, kind="stable")
    sorted_confidence = confidence[order]
    n = len(order)
    counts = np.arange(1, n + 1)
    errors = np.cumsum(wrong[order])
    # a threshold is the confidence of the first case below it, which itself does not count
    values = np.append(sorted_confidence[1:], 0.0)
    possible = values < sorted_confidence
    p_values = _p_values(share * errors, share * counts, max_error)
    best, level = 0, risk
    for start, part in _starting_points(sorted_confidence, max_error, risk, share):
        chain = np.flatnonzero(possible[start - 1 :]) + start
        failures = np.flatnonzero(p_values[chain - 1] > part)
        length = failures[0] if failures.size else chain.size
        if length and chain[length - 1] > best:
            best, level = int(chain[length - 1]), part
    if best == 0:
        return Threshold(float("inf"), n, 0, 0, float("nan"))
    found = int(errors[best - 1])
    return Threshold(
        float(values[best - 1]),
        n,
        best,
        found,
        min(max_error, upper_bound(share * found, share * best, level)),
    )


def _p_values(errors: np.ndarray, counts: np.ndarray, max_error: float) -> np.ndarray:
    """``P(Bin(k, max_error) ≤ e)``, also for numbers that are not whole."""
    return np.where(
        errors < counts,
        betainc(np.maximum(counts - errors, 1e-9), errors + 1.0, 1.0 - max_error),
        1.0,
    )


def _starting_points(
    confidence: np.ndarray, max_error: float, risk: float, share: float
) -> list[tuple[int, float]]:
    """Numbers of cases at which a sequence of tests begins, and each one's share of the risk."""
    n = len(confidence)
    if n == 0:
        return []
    counts = np.arange(1, n + 1)
    promised = np.minimum(np.cumsum(np.maximum(1.0 - confidence, 0.0)), counts * (1 - 1e-9))
    p_values = _p_values(share * promised, share * counts, max_error)
    halves: list[int] = []
    count = n
    while count >= 1 and (1.0 - max_error) ** (share * count) <= 0.5 * risk / (len(halves) + 1):
        halves.append(count)
        count //= 2
    equal = [(count, 0.5 * risk / len(halves)) for count in halves]
    return [(int(np.argmin(p_values)) + 1, 0.5 * risk), *equal]
