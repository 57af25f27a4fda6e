"""Quotes by name: functions that return the text to be shown, a figure or a whole table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinlearn_experiments.quotes import stored
from kinlearn_experiments.quotes.stored import QuoteError

Quote = Callable[[], str]
QUOTES: dict[str, Quote] = {}


def quote(name: str) -> Callable[[Quote], Quote]:
    """Register a function under the name that marks use."""

    def register(function: Quote) -> Quote:
        if name in QUOTES:
            raise ValueError(f"There are two quotes of the name {name}.")
        QUOTES[name] = function
        return function

    return register


def quotes(topic: str, **functions: Quote) -> None:
    """Register several short ones: ``quotes("klr", low=lambda: ...)`` is ``klr.low``."""
    for name, function in functions.items():
        quote(f"{topic}.{name}")(function)


def render(what: str) -> tuple[str, str]:
    """Return the text of a mark, and the names of the files it was read from.

    Parameters
    ----------
    what : str
        A name, or a path ``file.json; key; ...; key; format`` with a format of Python.
    """
    stored.read.clear()
    try:
        if ".json;" in what:
            name, *keys, spec = (part.strip() for part in what.split(";"))
            text = formatted(stored.at(name, *keys), spec)
        elif what in QUOTES:
            text = QUOTES[what]()
        else:
            raise QuoteError(
                f"There is no quote {what!r}: register it in a module of quotes, or write a path "
                "such as table.json; cells; adult/train; peak_mb; .0f"
            )
    except QuoteError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        files = ", ".join(dict.fromkeys(stored.read))
        raise QuoteError(f"{what!r} cannot be made from {files}: {error!r}") from error
    return text, ", ".join(dict.fromkeys(stored.read))


def formatted(value: Any, spec: str) -> str:
    """Python's format, with a space before the sign of percent."""
    return format(value, spec).replace("%", " %")


def digits(value: float, count: int = 2) -> str:
    """So many significant digits, never with an exponent, thousands set apart."""
    rounded = float(f"{value:.{count}g}")
    if abs(rounded) >= 10 ** (count - 1):
        return f"{rounded:,.0f}"
    return f"{value:.{count}g}" if abs(value) >= 1e-4 else f"{value:.0e}"


def extent(values: list[float], show: Callable[[float], str] = digits, to: str = " to ") -> str:
    """The least and the greatest, or the one there is."""
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low}{to}{high}"


def power(value: float, digits: int = 0) -> str:
    """A small number as people write it: 1e-7, not 1e-07."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"
