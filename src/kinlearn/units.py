"""What one copy of a row weighs, where weights are numbers of copies up to a common unit."""

from __future__ import annotations

import numpy as np

# Weights that are no integers have a common unit if they are multiples of it up to this share of
# the largest one, and if the unit is no smaller than the second share.
MULTIPLE_TOLERANCE = 1e-9
LEAST_UNIT = 1e-6


def common_unit(values: np.ndarray) -> float | None:
    """Return the largest number of which all `values` are multiples, None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.units import common_unit
    >>> common_unit(np.array([2.0, 4.0, 6.0])), common_unit(np.array([1.0, 2.0**0.5]))
    (2.0, None)
    """
    distinct = np.unique(values)
    largest = float(distinct[-1])
    if largest < 2.0**53 and (distinct == np.floor(distinct)).all():
        return float(np.gcd.reduce(distinct.astype(np.int64)))
    tolerance = MULTIPLE_TOLERANCE * largest
    unit = float(distinct[0])
    for value in distinct[1:]:
        a, b = float(value), unit
        while b > tolerance:  # Euclid's algorithm, with remainders up to rounding
            a, b = b, abs(a - b * round(a / b))
        unit = a
        if unit < LEAST_UNIT * largest:
            return None
    # the remainders' rounding is spread over all values
    multiples = np.round(distinct / unit)
    return float(distinct @ multiples / (multiples @ multiples))
