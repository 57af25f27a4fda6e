"""What is wrong with a table, as one sentence for the person who has it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

# Longer names of columns are cut where several are listed.
_LONGEST = 40


class TableError(ValueError):
    """A table, or a wish about it, that cannot be used: one sentence, with the remedy."""


def quoted(names: Sequence[object], limit: int = 8) -> str:
    """Names in a row, cut where they become many.

    Examples
    --------
    >>> quoted(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(name)) for name in list(names)[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def unknown_column(wanted: str, names: Sequence[str], where: str) -> TableError:
    """The error for a column that is not there, with the nearest name.

    Examples
    --------
    >>> print(unknown_column("Outcom", ["age", "outcome"], "data.csv"))
    data.csv has no column 'Outcom'. Did you mean 'outcome'? It has 'age', 'outcome'.
    """
    by_fold = {name.casefold(): name for name in names}
    near = get_close_matches(wanted.casefold(), list(by_fold), n=1, cutoff=0.6)
    hint = f" Did you mean {by_fold[near[0]]!r}?" if near else ""
    return TableError(f"{where} has no column {wanted!r}.{hint} {columns_there(names)}")


def columns_there(names: Sequence[str]) -> str:
    """What columns there are instead, as a sentence; long names are cut.

    Examples
    --------
    >>> columns_there(["age", "x" * 100])
    "It has 'age', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'."
    """
    if not names:
        return "It has no columns at all."
    short = [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in names]
    return f"It has {quoted(short)}."


def refuse_duplicates(names: list[str], where: object) -> None:
    """Refuse a table in which a name does not say which column is meant."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        places = [i + 1 for i, name in enumerate(names) if name == twice[0]]
        raise TableError(
            f"{where} has the column name {twice[0]!r} {len(places)} times (columns "
            f"{', '.join(map(str, places))}): give every column a name of its own."
        )
