"""Columns as texts or as numbers, with what counts as missing made missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.tables.refusals import require

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", ".", "-")
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_ISO_DATE = r"^\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_LOCAL_DATE = r"^\d{1,2}([./-])\d{1,2}([./-])(\d{2}|\d{4})( \d{1,2}:\d{2}(:\d{2})?)?$"


@dataclass(frozen=True)
class CellRules:
    """How cells are read.

    Attributes
    ----------
    missing : tuple of str
        Texts that mean a missing value, besides an empty cell.
    decimal : str
        The decimal mark, a point or a comma.
    """

    missing: tuple[str, ...] = MISSING
    decimal: str = "."

    def texts(self, column: Any) -> Any:
        """A ``pyarrow`` string array without blanks around the texts, null where missing.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules().texts(pa.array([" a", "NA", "b "])).to_pylist()
        ['a', None, 'b']
        """
        arrow, compute = _arrow()
        if arrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if arrow.types.is_floating(column.type):
            column = _whole_numbers_as_such(column)
        if not arrow.types.is_string(column.type):
            column = column.cast(arrow.string())
        column = compute.utf8_trim_whitespace(column)
        absent = compute.is_in(column, value_set=arrow.array(["", *self.missing], arrow.string()))
        return compute.if_else(absent, arrow.scalar(None, arrow.string()), column)

    def numbers(self, column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The column as floats, NaN where missing or no number, and where the latter is so.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules(decimal=",").numbers(pa.array(["1,5", "", "x"]))
        (array([1.5, nan, nan]), array([False, False,  True]))
        """
        arrow, compute = _arrow()
        kind = column.type
        if arrow.types.is_integer(kind) or arrow.types.is_floating(kind):
            # A copy, because arrow's own memory cannot be written to.
            values = np.array(column.cast(arrow.float64()).to_numpy(zero_copy_only=False))
            values[np.isinf(values)] = np.nan
            return values, np.zeros(len(values), dtype=bool)
        texts = self.texts(column)
        if self.decimal != ".":
            texts = compute.replace_substring(texts, ".", "")
            texts = compute.replace_substring(texts, self.decimal, ".")
        fits = compute.fill_null(compute.match_substring_regex(texts, _NUMBER), False)
        values = compute.if_else(fits, texts, arrow.scalar(None, arrow.string()))
        floats = np.array(
            # arrow's numbers have no sign +
            compute.replace_substring_regex(values, r"^\+", "")
            .cast(arrow.float64())
            .to_numpy(zero_copy_only=False),
            dtype=np.float64,
        )
        known = texts.is_valid().to_numpy(zero_copy_only=False)
        return floats, known & ~fits.to_numpy(zero_copy_only=False)

    def are_dates(self, column: Any) -> bool:
        """Whether all cells that are not missing are dates or times."""
        arrow, compute = _arrow()
        if arrow.types.is_temporal(column.type):
            return True
        texts = self.texts(column).drop_null()
        if len(texts) == 0:
            return False
        dates = compute.or_(
            compute.match_substring_regex(texts, _ISO_DATE),
            compute.match_substring_regex(texts, _LOCAL_DATE),
        )
        return bool(compute.all(dates).as_py())


def objects(texts: Any) -> NDArray[np.object_]:
    """Texts as Python strings, NaN where missing, as scikit-learn's encoders take them."""
    values = np.array(texts.to_pylist(), dtype=object)
    values[~texts.is_valid().to_numpy(zero_copy_only=False)] = np.nan
    return values


def _whole_numbers_as_such(column: Any) -> Any:
    """1.0 as 1, so that a class or category is named alike in CSV and Parquet."""
    arrow, compute = _arrow()
    values = column.cast(arrow.float64())
    values = compute.if_else(compute.is_finite(values), values, arrow.scalar(None, arrow.float64()))
    whole = compute.equal(compute.round(values), values)
    safe = compute.and_(whole, compute.less(compute.abs(values), 2.0**53))
    integers = compute.if_else(safe, values, arrow.scalar(None, arrow.float64()))
    return compute.coalesce(
        integers.cast(arrow.int64()).cast(arrow.string()), values.cast(arrow.string())
    )


def _arrow() -> tuple[Any, Any]:
    return require("pyarrow", "Reading a table"), require("pyarrow.compute", "Reading a table")
