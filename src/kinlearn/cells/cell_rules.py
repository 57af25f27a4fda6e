"""Columns as texts or as numbers, with what counts as missing made missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.spelling import NUMBER, number_in, spelt
from kinlearn.optional import require

# What people write, and what pandas takes for missing unless told otherwise: a DataFrame read by it
# does not tell these from an empty cell.
_WRITTEN = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", ".", "-")
_READ_BY_PANDAS = (
    "None", "<NA>", "#NA", "#N/A N/A", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
MISSING = (*_WRITTEN, *_READ_BY_PANDAS)
_ISO_DATE = r"^\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_LOCAL_DATE = r"^\d{1,2}([./-])\d{1,2}([./-])(\d{2}|\d{4})( \d{1,2}:\d{2}(:\d{2})?)?$"
_NO_TIME = r"( 00:00:00)?(\.0+)?$"


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

    @property
    def of_answers(self) -> CellRules:
        """The rules for a column to predict, where the word None is a class like any other."""
        return replace(self, missing=_WRITTEN) if self.missing == MISSING else self

    def column(self, values: Any) -> Any:
        """A column of a DataFrame, of any dtype, as a ``pyarrow`` array.

        Examples
        --------
        >>> import pandas as pd
        >>> rules = CellRules()
        >>> rules.texts(rules.column(pd.Series([1.0, None, "a", True]))).to_pylist()
        ['1', None, 'a', 'True']
        """
        arrow, _ = _arrow()
        try:
            column = arrow.array(values, from_pandas=True)
        except arrow.ArrowException:  # values of several types
            missing = values.isna()
            texts = [self._text(v) for v in values[~missing]]
            found = np.full(len(values), None, dtype=object)
            found[~missing.to_numpy(dtype=bool)] = texts
            return arrow.array(found, arrow.string())
        return column.combine_chunks() if hasattr(column, "combine_chunks") else column

    def texts(self, column: Any) -> Any:
        """A ``pyarrow`` string array, each text in its one spelling, null where missing.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules().texts(pa.array([" a", "NA", "b ", "01"])).to_pylist()
        ['a', None, 'b', '1']
        """
        arrow, _ = _arrow()
        absent = {"", *self.missing, *(spelt(text, self.decimal) for text in self.missing)}
        # Of each text once: categories are few.
        encoded = self._as_written(column).dictionary_encode()
        words = []
        for text in encoded.dictionary.to_pylist():
            word = spelt(text.strip(), self.decimal)
            words.append(None if text.strip() in absent or word in absent else word)
        return arrow.array(words, arrow.string()).take(encoded.indices)

    def numbers(self, column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The column as floats, NaN where missing or no number, and where the latter is so.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules(decimal=",").numbers(pa.array(["1,5", "", "x"]))
        (array([1.5, nan, nan]), array([False, False,  True]))
        """
        arrow, _ = _arrow()
        column = _decoded(column)
        if _is_number(column.type):
            # A copy, because arrow's own memory cannot be written to.
            values = np.array(column.cast(arrow.float64()).to_numpy(zero_copy_only=False))
            values[np.isinf(values)] = np.nan
            stray = np.zeros(len(values), dtype=bool)
        else:
            values, stray = self._numbers_in_texts(column)
        marks = [number_in(text, self.decimal) for text in self.missing]
        values[np.isin(values, [mark for mark in marks if mark is not None])] = np.nan
        return values, stray

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

    def _numbers_in_texts(self, column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        arrow, compute = _arrow()
        none = arrow.scalar(None, arrow.string())
        texts = compute.utf8_trim_whitespace(self._as_written(column))
        absent = compute.is_in(texts, value_set=arrow.array(["", *self.missing], arrow.string()))
        texts = compute.if_else(absent, none, texts)
        if self.decimal != ".":
            texts = compute.replace_substring(texts, ".", "")
            texts = compute.replace_substring(texts, self.decimal, ".")
        fits = compute.fill_null(compute.match_substring_regex(texts, NUMBER), False)
        values = compute.if_else(fits, texts, none)
        floats = np.array(
            # arrow's numbers have no sign +
            compute.replace_substring_regex(values, r"^\+", "")
            .cast(arrow.float64())
            .to_numpy(zero_copy_only=False),
            dtype=np.float64,
        )
        known = texts.is_valid().to_numpy(zero_copy_only=False)
        return floats, known & ~fits.to_numpy(zero_copy_only=False)

    def _as_written(self, column: Any) -> Any:
        """Any column as texts, those of a text file as they stand in it."""
        arrow, compute = _arrow()
        column = _decoded(column)
        kind = column.type
        if arrow.types.is_string(kind):
            return column
        if arrow.types.is_floating(kind):
            none = arrow.scalar(None, kind)
            column = compute.if_else(compute.is_finite(column), column, none)
        texts = column.cast(arrow.string())
        if arrow.types.is_timestamp(kind):
            return compute.replace_substring_regex(texts, _NO_TIME, "")
        if _is_number(kind) and self.decimal != ".":
            return compute.replace_substring(texts, ".", self.decimal)
        return texts

    def _text(self, value: Any) -> str:
        number = not isinstance(value, (str, bool, np.bool_))
        return str(value).replace(".", self.decimal) if number else str(value)


def objects(texts: Any) -> NDArray[np.object_]:
    """Texts as Python strings, NaN where missing, as scikit-learn's encoders take them."""
    encoded = texts.dictionary_encode()  # a Python string of each text once
    words = np.array([*encoded.dictionary.to_pylist(), np.nan], dtype=object)
    return words[encoded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]


def _decoded(column: Any) -> Any:
    arrow, _ = _arrow()
    return column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column


def _is_number(kind: Any) -> bool:
    types = _arrow()[0].types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _arrow() -> tuple[Any, Any]:
    return require("pyarrow", "Reading a table"), require("pyarrow.compute", "Reading a table")
