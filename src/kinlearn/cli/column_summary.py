"""What every column was taken for, in lines that can be read: one each, or one for a group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Beyond this many columns, those that were taken for the same by the same reason share a line.
MOST_LINES = 60
_NUMBER = re.compile(r"\d[\d,.]*")


def column_lines(columns: Sequence[Any]) -> list[list[str]]:
    """Return name, kind, reason and missing cells of every column, or of groups of very many.

    Parameters
    ----------
    columns : sequence of Column
        In the table's order.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> columns = [
    ...     SimpleNamespace(name=f"g{i}", kind="numeric", why=f"{i} different numbers", n_missing=1)
    ...     for i in range(100)
    ... ]
    >>> column_lines(columns)
    [['g0 ... g99 (100 columns)', 'numeric', '0 to 99 different numbers', '100']]
    """
    if len(columns) <= MOST_LINES:
        return [[each.name, each.kind, each.why, f"{each.n_missing or ''}"] for each in columns]
    groups: dict[tuple[str, str], list[Any]] = {}
    for each in columns:
        groups.setdefault((each.kind, _NUMBER.sub("#", each.why)), []).append(each)
    return [_line(group) for group in groups.values()]


def _line(group: list[Any]) -> list[str]:
    first, last, missing = group[0], group[-1], sum(each.n_missing for each in group)
    if len(group) == 1:
        return [first.name, first.kind, first.why, f"{missing or ''}"]
    name = f"{first.name} ... {last.name} ({len(group)} columns)"
    return [name, first.kind, _reason([each.why for each in group]), f"{missing or ''}"]


def _reason(reasons: list[str]) -> str:
    """One reason for all, its first number a range where it differs."""
    numbers = [found[0] for why in reasons if (found := _NUMBER.search(why))]
    values = sorted({float(number.replace(",", "").rstrip(".")) for number in numbers})
    if len(values) < 2 or len(numbers) < len(reasons):
        return reasons[0]
    return _NUMBER.sub(f"{values[0]:g} to {values[-1]:g}", reasons[0], count=1)
