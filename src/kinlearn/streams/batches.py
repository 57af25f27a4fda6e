"""A batch of rows and where it came from; tables turned into such by the names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples


class StreamError(ValueError):
    """A batch could not be read or added.

    Attributes
    ----------
    batch : int
        Its number, from 0.
    where : str
        Where it came from.
    """

    def __init__(self, message: str, batch: int = -1, where: str = "") -> None:
        super().__init__(message)
        self.batch, self.where = batch, where


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream has come.

    Attributes
    ----------
    batches, rows : int
        Added so far, those before a resumed checkpoint included.
    seconds : float
        Since this call began.
    rows_per_second : float
        Of this call.
    polish_pass : int
        Which pass of the polish this is, from 1; 0 while the sums are made.
    held_out_log_loss : float
        While polishing: the least of the steps so far.
    """

    batches: int
    rows: int
    seconds: float
    rows_per_second: float
    polish_pass: int = 0
    held_out_log_loss: float = float("nan")


@dataclass(frozen=True)
class Batch:
    """Rows with labels, and the words that say where they came from."""

    X: Any
    y: Any
    task: Any = None
    sample_weight: Any = None
    where: str = field(default="", kw_only=True)

    @property
    def n_rows(self) -> int:
        """Number of rows, as far as X tells."""
        return _num_samples(self.X)

    def rows(self, cut: slice | NDArray[np.intp]) -> Batch:
        """Some of the rows."""
        parts = [self.X, self.y, self.task, self.sample_weight]
        return Batch(
            *(None if part is None else _cut(part, cut) for part in parts), where=self.where
        )


@dataclass
class ColumnRoles:
    """Which columns of a table are what.

    Parameters
    ----------
    y : str or list of str, optional
        Column of labels, or columns of indicators.
    task, sample_weight : str, optional
        Further columns that are no features.
    features : list of str, optional
        The features; all other columns of the first table when left out.
    """

    y: str | Sequence[str] | None = None
    task: str | None = None
    sample_weight: str | None = None
    features: list[str] | None = field(default=None)

    def read(self, table: Any, where: str) -> Batch:
        """Turn a table of pandas, polars or pyarrow into a batch."""
        columns = _columns(table)
        if self.y is None:
            raise ValueError(
                f"The batch is a table with the columns {_shown(columns)}: say which holds the "
                "labels with y=."
            )
        labels = [self.y] if isinstance(self.y, str) else list(self.y)
        others = [name for name in (self.task, self.sample_weight) if name is not None]
        if self.features is None:
            self.features = [name for name in columns if name not in {*labels, *others}]
        missing = [name for name in (*self.features, *labels, *others) if name not in columns]
        if missing:
            raise ValueError(
                f"The table has no column {missing[0]!r}; its columns are {_shown(columns)}."
            )
        X = np.empty((table.shape[0], len(self.features)))
        for j, name in enumerate(self.features):
            X[:, j] = _numbers(table, name)
        y: Any
        if isinstance(self.y, str):
            y = _values(table, self.y)
        else:
            y = np.column_stack([_numbers(table, name) for name in labels])
        return Batch(
            X,
            y,
            None if self.task is None else _values(table, self.task),
            None if self.sample_weight is None else _numbers(table, self.sample_weight),
            where=where,
        )


def stacked(parts: list[Any]) -> Any:
    """Rows of several batches, one below the other; sparse where any of them is."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.vstack(parts)


def is_table(value: Any) -> bool:
    """Whether a value has named columns (pandas, polars, pyarrow)."""
    return hasattr(value, "columns") and hasattr(value, "shape")


def as_batch(value: Any, roles: ColumnRoles, where: str) -> Batch:
    """Turn what a user's iterator gave into a batch."""
    if isinstance(value, Batch):
        return value
    if hasattr(value, "to_pandas") and hasattr(value, "schema") and not hasattr(value, "shape"):
        value = _as_arrow_table(value)
    if is_table(value):
        return roles.read(value, where)
    if isinstance(value, (tuple, list)) and 2 <= len(value) <= 4:
        return Batch(*value, where=where)
    raise TypeError(
        f"A batch must be (X, y), (X, y, task), (X, y, task, sample_weight) or a table with named "
        f"columns, but {type(value).__name__} was given."
    )


def _cut(rows: Any, cut: slice | NDArray[np.intp]) -> Any:
    if not hasattr(rows, "shape"):
        rows = np.asarray(rows)
    return rows.iloc[cut] if hasattr(rows, "iloc") else rows[cut]


def _as_arrow_table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def _columns(table: Any) -> list[str]:
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def _shown(columns: list[str]) -> str:
    return ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")


def _values(table: Any, name: str) -> NDArray:
    column = table[name]
    if hasattr(column, "to_pylist"):
        kind = str(column.type)
        if kind.startswith(("string", "large_string", "dictionary", "bool")):
            return np.array(column.to_pylist())
    return np.asarray(column.to_numpy())


def _numbers(table: Any, name: str) -> NDArray[np.float64]:
    values = _values(table, name)
    if values.dtype.kind not in "biuf":
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            sample = next((v for v in values.tolist() if isinstance(v, str)), values[0])
            raise ValueError(
                f"Column {name!r} holds {sample!r}, which is not a number: encode it first, or "
                "leave it out with features=."
            ) from None
    return values.astype(np.float64, copy=False)
