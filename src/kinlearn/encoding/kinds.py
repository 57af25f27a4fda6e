"""What the columns of a table are: numbers, dates or categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import TableError, unknown_column
from kinlearn.optional import require

NUMERIC, CATEGORICAL, DATES = "numeric", "categorical", "dates"
# A column of numbers may hold this share of other texts, which then count as missing.
STRAY = 0.05


def kind_of(column: Any, rules: CellRules) -> str:
    """Return ``"numeric"``, ``"dates"`` or ``"categorical"`` for a ``pyarrow`` array.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = (["1", "2.5"], ["2024-01-31", ""], ["a", "1"], [True, False])
    >>> [kind_of(pa.array(column), CellRules()) for column in cells]
    ['numeric', 'dates', 'categorical', 'categorical']
    """
    arrow = require("pyarrow", "Reading a table")
    if arrow.types.is_boolean(column.type):
        return CATEGORICAL
    _, stray = rules.numbers(column)
    n_known = len(column) - column.null_count
    if stray.sum() <= STRAY * n_known and not arrow.types.is_temporal(column.type):
        return NUMERIC
    _, stray = rules.dates(column)
    return CATEGORICAL if stray.any() else DATES


def decide(
    table: Any, rules: CellRules, named: Mapping[str, Sequence[str]], task: str | None
) -> dict[str, list[str]]:
    """Return the columns of each kind: as they were named, the others as their cells look.

    Parameters
    ----------
    table : pyarrow.Table
        Rows to judge by.
    rules : CellRules
        How cells are read.
    named : dict
        Columns by the kinds that were asked for.
    task : str or None
        The column of tasks, which is of no kind.
    """
    asked: dict[str, str] = {} if task is None else {task: "task"}
    for kind, names in named.items():
        if isinstance(names, str):
            raise TableError(f"{kind}={names!r} must be a list of column names: [{names!r}].")
        for name in map(str, names):
            if name in asked:
                raise TableError(f"Column {name!r} was given as both {asked[name]} and {kind}.")
            asked[name] = kind
    for name in asked:
        if name not in table.column_names:
            raise unknown_column(name, table.column_names, "The table")
    found: dict[str, list[str]] = {NUMERIC: [], DATES: [], CATEGORICAL: []}
    for name in table.column_names:
        if name != task:
            kind = asked[name] if name in asked else kind_of(table[name].combine_chunks(), rules)
            found[kind].append(name)
    return found
