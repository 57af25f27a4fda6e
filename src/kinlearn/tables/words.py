"""Shares in words, never rounded to what they are not."""

from __future__ import annotations

import math

_MOST_DIGITS = 4


def percent(value: float, digits: int = 0) -> str:
    """A share in words; 100 % and 0 % are said of nothing less.

    Examples
    --------
    >>> percent(0.8149), percent(0.9959), percent(1.0), percent(0.0004), percent(float("nan"))
    ('81 %', '99.6 %', '100 %', '0.04 %', '–')
    """
    if not math.isfinite(value):
        return "–"
    while digits < _MOST_DIGITS and not 0 < round(100 * value, digits) < 100 and 0 < value < 1:
        digits += 1
    return f"{100 * value:.{digits}f} %"
