"""Tables of pandas, polars and pyarrow as one kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import refuse_duplicates
from kinlearn.optional import require


def is_data_frame(X: Any) -> bool:
    """Whether X is a table with named columns.

    Examples
    --------
    >>> import pandas as pd
    >>> is_data_frame(pd.DataFrame({"a": [1]})), is_data_frame(pd.Series([1])), is_data_frame([[1]])
    (True, False, False)
    """
    named = hasattr(X, "columns") or hasattr(X, "column_names")
    return named and (hasattr(X, "iloc") or hasattr(X, "__arrow_c_stream__"))


def column_names(X: Any) -> list[str]:
    """The names of the columns, as texts."""
    return [str(name) for name in (X.columns if hasattr(X, "iloc") else _arrow(X).column_names)]


def arrow_table(X: Any, rules: CellRules, names: Sequence[str], where: str) -> Any:
    """Columns of a table as a ``pyarrow.Table``, each name of which must stand for one column.

    Parameters
    ----------
    X : DataFrame
        Of pandas, polars or pyarrow.
    rules : CellRules
        How columns of mixed types are read.
    names : sequence of str
        The columns to take.
    where : str
        What to call the table in an error.
    """
    every, wanted = column_names(X), set(names)
    refuse_duplicates([name for name in every if name in wanted], where)
    if not hasattr(X, "iloc"):
        return _arrow(X).select(list(names))
    at = {name: i for i, name in enumerate(every)}
    arrow = require("pyarrow", "Reading a table")
    return arrow.table({name: rules.column(X.iloc[:, at[name]]) for name in names})


def _arrow(X: Any) -> Any:
    return require("pyarrow", "Reading a table").table(X)
