"""Which class to answer where errors cost differently, and when not to answer, class by class.

With C[a, t] the cost of answering a where t is true, the answer is the a of smallest expected cost
``Σ_t C[a, t] p_t``. Its *gain*, ``1 - cost / max C``, plays the part of the probability of the
likeliest class, which it is when all errors cost the same.

A class c is *missed* where another class is answered. Cases are answered otherwise than c only
while their probability of c does not exceed a bound μ; of these, the missed cases of class c grow
with μ. So the largest μ whose number of missed calibration cases still proves, by the exact
binomial test, that at most the allowed share of class c is missed, can be found by counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

Floats = NDArray[np.float64]


def gains(proba: Floats, costs: Floats | None) -> Floats:
    """One minus the expected cost of each answer, in units of the largest cost.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
        Class probabilities.
    costs : ndarray of shape (n_classes, n_classes) or None
        Cost of answering the row's class where the column's is true; None: every error costs 1.

    Examples
    --------
    >>> import numpy as np
    >>> costs = np.array([[0.0, 20.0], [1.0, 0.0]])
    >>> gains(np.array([[0.9, 0.1]]), costs)
    array([[0.9  , 0.955]])
    """
    return proba if costs is None else 1.0 - proba @ (costs / costs.max()).T


def cost_matrix(
    costs: Mapping[tuple[Any, Any], float] | None, classes: NDArray, name: str = "costs"
) -> Floats | None:
    """The matrix of costs of (answered, true) pairs; pairs that are not named cost 1.

    Examples
    --------
    >>> import numpy as np
    >>> cost_matrix({("no", "yes"): 20}, np.array(["no", "yes"]))
    array([[ 0., 20.],
           [ 1.,  0.]])
    """
    if not costs:
        return None
    matrix = 1.0 - np.eye(len(classes))
    for pair, value in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"{name} has an entry for {pair!r}: give pairs of an answered and a true class, "
                "such as ('no', 'yes')."
            )
        answered, true = (_number_of(each, classes, name) for each in pair)
        if not np.isfinite(value) or value < 0:
            raise ValueError(f"{name} of {pair!r} must be a number from 0 on, got {value!r}.")
        if answered == true and value != 0:
            raise ValueError(f"{name} of {pair!r} is of a right answer, which costs nothing.")
        matrix[answered, true] = value
    if matrix.max() == 0:
        raise ValueError(f"{name} are all 0: then no answer is better than another.")
    return matrix


def miss_limits(
    limits: Mapping[Any, float] | None, classes: NDArray, name: str = "max_missed"
) -> dict[int, float]:
    """The allowed share of missed cases by number of the class."""
    found = {}
    for label, share in (limits or {}).items():
        if not 0.0 < share < 1.0:
            raise ValueError(f"{name} of {label!r} must lie between 0 and 1, got {share!r}.")
        found[_number_of(label, classes, name)] = float(share)
    return found


def _number_of(label: Any, classes: NDArray, name: str) -> int:
    found = np.flatnonzero(classes == label)
    if len(found) == 0:
        shown = ", ".join(map(repr, classes[:10].tolist()))
        raise ValueError(f"{name} names {label!r}, which is no class: there are {shown}.")
    return int(found[0])


def miss_bound(
    p: Floats, missed: NDArray[np.bool_], limit: float, risk: float, share: float = 1.0
) -> float:
    """The largest μ proven to keep the share of missed cases of a class at most `limit`.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probability of the class, of calibration cases that are of it.
    missed : ndarray of bool of shape (n,)
        Whether another class would be answered.
    limit : float
        Allowed share of missed cases.
    risk : float
        Probability, over calibration sets, that the share is larger.
    share : float, default=1
        How many independent cases one case is worth.

    Returns
    -------
    float
        Cases are answered otherwise only where their probability of the class is at most this;
        -1 where nothing can be proven, 1 where every case may be answered.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.0, 1.0, 200)
    >>> 0.01 < miss_bound(p, p < 0.5, limit=0.05, risk=0.05) < 0.05
    True
    >>> miss_bound(p[:20], p[:20] < 0.5, limit=0.05, risk=0.05)
    -1.0
    """
    n, found = len(p), np.sort(p[missed])
    counts = np.arange(len(found) + 1)
    # P(Bin(n, limit) <= count), also for numbers that are not whole
    rest = np.maximum(share * (n - counts), 1e-9)
    tail = np.where(counts < n, betainc(rest, share * counts + 1, 1.0 - limit), 1.0)
    proven = np.flatnonzero(tail <= risk)
    if len(proven) == 0:
        return -1.0
    allowed = int(proven[-1])
    if allowed >= len(found):
        return 1.0
    # Just below the first case too many; equal probabilities are missed together.
    return float(np.nextafter(found[allowed], -1.0))
