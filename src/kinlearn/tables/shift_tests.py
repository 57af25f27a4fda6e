"""Do two samples come from one population? Exact tests where there are such; pure, on counts.

`per_case` is how many rows stand for one independent case (1 without groups): rows of one patient
say less than as many patients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln
from scipy.stats import binom, hypergeom, norm

Floats = NDArray[np.float64]

# Bins of the chi-squared test are merged until each may hold so many independent new cases.
_LEAST_EXPECTED = 5.0


def beyond_p(n_beyond: float, n_new: float, n_old: float) -> float:
    """Probability that so many new rows exceed every old one, if all come from one population.

    The largest k of all rows are then any k of them, so that all of them are new with probability
    ``C(n_new, k) / C(n_new + n_old, k)``, whatever the distribution.

    Examples
    --------
    >>> round(beyond_p(1, 1, 99), 3), round(beyond_p(2, 2, 2), 3)
    (0.01, 0.167)
    """
    total = n_new + n_old
    log_p = gammaln(n_new + 1) - gammaln(n_new - n_beyond + 1)
    log_p += gammaln(total - n_beyond + 1) - gammaln(total + 1)
    return float(min(1.0, np.exp(log_p)))


def share_p(k_new: float, n_new: float, k_old: float, n_old: float) -> float:
    """Two-sided p-value of Fisher's exact test that two shares are one (twice the smaller tail).

    Examples
    --------
    >>> share_p(0, 40, 3, 300) > 0.5, share_p(30, 40, 3, 300) < 1e-9
    (True, True)
    """
    k_new, n_new, k_old, n_old = (round(value) for value in (k_new, n_new, k_old, n_old))
    if k_new * n_old > k_old * n_new:  # the smaller tail is the one on this side
        tail = hypergeom.sf(k_new - 1, n_new + n_old, k_new + k_old, n_new)
    else:
        tail = hypergeom.cdf(k_new, n_new + n_old, k_new + k_old, n_new)
    return float(min(1.0, 2.0 * tail))


def counts_p(old: Floats, new: Floats, per_case: float = 1.0) -> float:
    """Chi-squared p-value that two rows of counts come from one distribution.

    Neighbouring bins are merged until both sides expect five independent cases in each.

    Examples
    --------
    >>> import numpy as np
    >>> counts_p(np.full(10, 90.0), np.full(10, 8.0))
    1.0
    >>> counts_p(np.full(10, 90.0), np.array([80.0, *[0.0] * 9])) < 1e-9
    True
    """
    old, new = old / per_case, new / per_case
    n_old, n_new = old.sum(), new.sum()
    if n_old == 0 or n_new == 0:
        return 1.0
    pooled = (old + new) / (n_old + n_new)
    group = _merged(pooled * min(n_old, n_new))
    old, new, pooled = (_summed(each, group) for each in (old, new, pooled))
    if len(pooled) < 2:
        return 1.0
    statistic = sum(
        float(np.square(counts - n * pooled).dot(1.0 / (n * pooled)))
        for counts, n in ((old, n_old), (new, n_new))
    )
    return float(chdtrc(len(pooled) - 1, statistic))


def ranks_p(old: Floats, new: Floats, per_case: float = 1.0) -> float:
    """Two-sided p-value of Wilcoxon's rank test on counts in ordered bins (normal, with ties).

    It sees that values moved up or down from far fewer rows than the chi-squared test.

    Examples
    --------
    >>> import numpy as np
    >>> ranks_p(np.full(10, 90.0), np.full(10, 8.0))
    1.0
    >>> ranks_p(np.full(10, 90.0), np.array([*[0.0] * 8, 6.0, 6.0])) < 1e-4
    True
    """
    both = (old + new) / per_case
    total, n_new = both.sum(), new.sum() / per_case
    n_old = total - n_new
    middle = np.cumsum(both) - 0.5 * both
    mean, variance = 0.5 * total, 0.0
    if total > 1 and n_old > 0 and n_new > 0:
        ties = (both**3).sum() / total**3
        variance = (1.0 - ties) * total**2 * n_old / (12.0 * n_new * max(total - 1.0, 1.0))
    if variance <= 0:
        return 1.0
    seen = float(middle @ new) / per_case / n_new
    return float(2.0 * norm.sf(abs(seen - mean) / np.sqrt(variance)))


def _summed(counts: Floats, group: NDArray[np.intp]) -> Floats:
    return np.asarray(np.bincount(group, weights=counts), dtype=np.float64)


def _merged(expected: Floats) -> NDArray[np.intp]:
    """Number each bin's group: neighbours together until a group expects enough."""
    group = np.zeros(len(expected), dtype=np.intp)
    number, held = 0, 0.0
    for i, value in enumerate(expected):
        group[i] = number
        held += float(value)
        if held >= _LEAST_EXPECTED:
            number, held = number + 1, 0.0
    # what is left over joins the last full group
    return np.asarray(np.minimum(group, max(number - 1, 0)))


def unseen_p(n_unseen: float, n_new: float, n_single: int, n_old: float) -> float:
    """Probability of so many new rows in categories that the old rows lack.

    The old rows tell how often that happens (Good and Turing): about as often as a category was
    seen once. An upper estimate of that rate is used.

    Examples
    --------
    >>> unseen_p(1, 100, 5, 300) > 0.5, unseen_p(50, 100, 0, 300) < 1e-9
    (True, True)
    """
    rate = min(1.0, (n_single + 2.0 * np.sqrt(n_single) + 3.0) / max(n_old, 1.0))
    return float(binom.sf(np.ceil(n_unseen) - 1, np.ceil(n_new), rate))


def mean_p(new: float, n_new: float, old: float, n_old: float, deviation: float) -> float:
    """Two-sided normal p-value that two means are one, of values with this deviation.

    Examples
    --------
    >>> mean_p(0.2, 100, 0.2, 100, 0.1)
    1.0
    """
    error = max(deviation, 1e-9) * np.sqrt(1.0 / max(n_new, 1e-9) + 1.0 / max(n_old, 1e-9))
    return float(2.0 * norm.sf(abs(new - old) / error))


def moved_share(old: Floats, new: Floats) -> float:
    """Share of rows that would have to change bins for the two to agree (total variation).

    Examples
    --------
    >>> import numpy as np
    >>> moved_share(np.array([1.0, 1.0]), np.array([4.0, 0.0]))
    0.5
    """
    return 0.5 * float(np.abs(old / max(old.sum(), 1) - new / max(new.sum(), 1)).sum())
