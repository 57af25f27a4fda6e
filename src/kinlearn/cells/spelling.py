"""One way to write a cell, whatever wrote it: a text file, Parquet or a DataFrame of any dtype.

A file of texts says ``True``, ``01`` or ``2.50`` where a library that guesses types has kept True,
1 and 2.5, and there is no way back to the text. So categories are named by what survives the way:
a number by its value, True and False by these words.
"""

from __future__ import annotations

import re

NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NUMBER = re.compile(NUMBER)
_WHOLE = re.compile(r"^([+-]?)0*([0-9]+)$")
_GROUPED = re.compile(r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]*)?$")
# Floats beyond this are not known to the last digit before the point.
EXACT = 2.0**53
# Readers of text may be off in the last of 17 digits; the first 15 are the same for all.
_DIGITS = 15


def spelt(text: str, decimal: str = ".") -> str:
    """Return the one spelling of a text without blanks around it.

    Examples
    --------
    >>> [spelt(text) for text in ("TRUE", "01", "1.0", "2.50", "1e-3", "1.2.3", "a")]
    ['True', '1', '1', '2.5', '0.001', '1.2.3', 'a']
    >>> [spelt(text, ",") for text in ("2,50", "1.234,5", "2.50")]
    ['2,5', '1234,5', '2.50']
    """
    if text.lower() in ("true", "false"):
        return text.capitalize()
    plain = _plain(text, decimal)
    whole = _WHOLE.match(plain)
    if whole:
        digits = whole[2]
        return f"-{digits}" if whole[1] == "-" and digits != "0" else digits
    value = number_in(text, decimal)
    if value is None:
        return text
    if value == int(value) and abs(value) < EXACT:
        return str(int(value))
    return f"{value:.{_DIGITS}g}".replace(".", decimal)


def number_in(text: str, decimal: str = ".") -> float | None:
    """Return the number that a text writes, None if it writes none.

    Examples
    --------
    >>> number_in("-9"), number_in("2,5", ","), number_in("NA")
    (-9.0, 2.5, None)
    """
    plain = _plain(text, decimal)
    value = float(plain) if _NUMBER.match(plain) else float("inf")
    return value if abs(value) < float("inf") else None


def other_spellings(text: str) -> list[str]:
    """Return how libraries write the cell that is spelt so, besides.

    Examples
    --------
    >>> other_spellings("True"), other_spellings("3"), other_spellings("a")
    (['true', 'TRUE'], ['3.0'], [])
    """
    if text in ("True", "False"):
        return [text.lower(), text.upper()]
    return [f"{text}.0"] if _WHOLE.match(text) else []


def _plain(text: str, decimal: str) -> str:
    """A number as Python writes it; nothing where a point is no mark of thousands."""
    if decimal == ".":
        return text
    if _GROUPED.match(text):
        text = text.replace(".", "")
    return "" if "." in text else text.replace(decimal, ".")
