"""Numbers and shares in words, never rounded to what they are not."""

from __future__ import annotations

import math
from collections.abc import Sequence

_MOST_DIGITS = 4


def number_of(count: int, thing: str) -> str:
    """A number of things.

    Examples
    --------
    >>> number_of(1, "row"), number_of(2, "row"), number_of(0, "recorded answer")
    ('1 row', '2 rows', '0 recorded answers')
    """
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


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


def percents(values: Sequence[float], digits: int = 0) -> list[str]:
    """Shares side by side, with digits enough to tell different ones apart.

    Examples
    --------
    >>> percents([0.9892, 0.9907]), percents([0.81, 0.7]), percents([0.5, 0.5])
    (['98.9 %', '99.1 %'], ['81 %', '70 %'], ['50 %', '50 %'])
    """
    most = digits + 2
    while digits < most and len({percent(value, digits) for value in values}) < len(set(values)):
        digits += 1
    return [percent(value, digits) for value in values]
