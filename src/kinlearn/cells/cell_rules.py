"""Columns as texts or as numbers, with what counts as missing made missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.date_form import DateForm, microseconds
from kinlearn.cells.forms import Form
from kinlearn.cells.number_form import NumberForm, decimal_of, number_part
from kinlearn.cells.refusals import TableError
from kinlearn.cells.spelling import NUMBER, number_in, spelt
from kinlearn.cells.word_forms import CodeForm, WordForm
from kinlearn.optional import require

# What people write, and what pandas takes for missing unless told otherwise: a DataFrame read by it
# does not tell these from an empty cell.
_WRITTEN = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", ".", "-")
_READ_BY_PANDAS = (
    "None", "<NA>", "#NA", "#N/A N/A", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
MISSING = (*_WRITTEN, *_READ_BY_PANDAS)
_GROUPED = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]*)?$"
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
    form : Form or None
        How the cells of the column in hand are written, where that is out of the ordinary.
    name : str
        The column in hand, for an error.
    """

    missing: tuple[str, ...] = MISSING
    decimal: str = "."
    form: Form | None = None
    name: str = ""

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
        return _whole(column)

    def texts(self, column: Any) -> Any:
        """A ``pyarrow`` string array, each text in its one spelling, null where missing.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules().texts(pa.array([" a", "NA", "b ", "01"])).to_pylist()
        ['a', None, 'b', '1']
        """
        arrow, _ = _arrow()
        # Of each text once: categories are few.
        encoded = self.as_written(column).dictionary_encode()
        words = [self.word(text) for text in encoded.dictionary.to_pylist()]
        return arrow.array(words, arrow.string()).take(encoded.indices)

    def word(self, text: str) -> str | None:
        """One text in its one spelling, None where it means a missing value.

        Examples
        --------
        >>> [CellRules().word(text) for text in (" a", "NA", "01")]
        ['a', None, '1']
        """
        text = text.strip()
        word = self._spelt(text)
        return None if text in self._absent or word in self._absent else word

    @cached_property
    def _absent(self) -> frozenset[str]:
        return frozenset({"", *self.missing, *(spelt(text, self.decimal) for text in self.missing)})

    def numbers(self, column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The column as floats, NaN where missing or no number, and where the latter is so.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules(decimal=",").numbers(pa.array(["1,5", "", "x"]))
        (array([1.5, nan, nan]), array([False, False,  True]))
        """
        values, stray, _ = self.numbers_and_marks(column)
        return values, stray

    def numbers_and_marks(
        self, column: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """As :meth:`numbers`, and which cells could be read by the other decimal mark alone."""
        arrow, _ = _arrow()
        column = _decoded(column)
        if _is_number(column.type):
            # A copy, because arrow's own memory cannot be written to.
            values = np.array(column.cast(arrow.float64()).to_numpy(zero_copy_only=False))
            values[np.isinf(values)] = np.nan
            stray = other = np.zeros(len(values), dtype=bool)
        else:
            values, stray, other = self._numbers_in_texts(column)
        marks = [number_in(text, self.decimal) for text in self.missing]
        values[np.isin(values, [mark for mark in marks if mark is not None])] = np.nan
        return values, stray, other

    def are_plain_numbers(self, column: Any) -> NDArray[np.bool_]:
        """Of the cells that are not missing, which are numbers without costume.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules().are_plain_numbers(pa.array(["1.5", "$2", "NA"]))
        array([ True, False])
        """
        _, compute = _arrow()
        column = _decoded(column)
        if _is_number(column.type):
            return np.ones(len(column) - column.null_count, dtype=bool)
        known = self.present(column).drop_null()
        found = compute.match_substring_regex(known, NUMBER.replace(r"\.", re.escape(self.decimal)))
        if self.decimal != ".":
            found = compute.or_(found, compute.match_substring_regex(known, _GROUPED))
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)

    def dates(self, column: Any) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
        """The column as dates to the microsecond, NaT where missing or none, and where it is none.

        Times in a zone are those of Greenwich.

        Examples
        --------
        >>> import pyarrow as pa
        >>> days, stray = CellRules().dates(pa.array(["2024-01-31", "", "soon"]))
        >>> print(days.astype("datetime64[D]"), stray)
        ['2024-01-31' 'NaT' 'NaT'] [False False  True]
        """
        arrow, _ = _arrow()
        column = _decoded(column)
        kind = column.type
        if arrow.types.is_timestamp(kind) or arrow.types.is_date(kind):
            found = column.cast(arrow.timestamp("us"), safe=False)
            return np.asarray(found, dtype="datetime64[us]"), np.zeros(len(column), dtype=bool)
        form = self.form if isinstance(self.form, DateForm) else DateForm()
        encoded = self.present(column).dictionary_encode()
        moments = [form.read(text) for text in encoded.dictionary.to_pylist()]
        nothing = np.datetime64("NaT", "us")
        read = [nothing if m is None else np.datetime64(microseconds(m), "us") for m in moments]
        known = np.array([*read, nothing], dtype="datetime64[us]")
        missing = encoded.indices.is_null().to_numpy(zero_copy_only=False)
        at = encoded.indices.fill_null(len(moments)).to_numpy(zero_copy_only=False)
        return known[at], np.isnat(known[at]) & ~missing

    def counts(self, column: Any) -> dict[str, int]:
        """The distinct cells that are not missing, as they stand, and how often each occurs.

        Examples
        --------
        >>> import pyarrow as pa
        >>> CellRules().counts(pa.array(["01", " 01", "NA", "1"]))
        {'01': 2, '1': 1}
        """
        found = self.present(_whole(column)).drop_null().value_counts()
        texts, counts = found.field(0).to_pylist(), found.field(1).to_pylist()
        return dict(zip(texts, counts, strict=True))

    @property
    def number_form(self) -> NumberForm:
        """How numbers of the column in hand are written."""
        return self.form if isinstance(self.form, NumberForm) else NumberForm.plain(self.decimal)

    def _spelt(self, text: str) -> str:
        if isinstance(self.form, CodeForm):
            return self.form.spelt(text)
        word = spelt(text, self.decimal)
        return self.form.spelt(word) if isinstance(self.form, WordForm) else word

    def present(self, column: Any) -> Any:
        """The cells as texts as they stand, null where missing."""
        arrow, compute = _arrow()
        texts = compute.utf8_trim_whitespace(self.as_written(column))
        absent = compute.is_in(texts, value_set=arrow.array(["", *self.missing], arrow.string()))
        return compute.if_else(absent, arrow.scalar(None, arrow.string()), texts)

    def _numbers_in_texts(
        self, column: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        arrow, compute = _arrow()
        none = arrow.scalar(None, arrow.string())
        present = self.present(column)
        texts = present
        form = self.number_form
        if form.decimal != ".":  # cells with points are read one by one below
            texts = compute.if_else(compute.match_substring(texts, "."), none, texts)
            texts = compute.replace_substring(texts, form.decimal, ".")
        fits = compute.fill_null(compute.match_substring_regex(texts, NUMBER), False)
        values = compute.if_else(fits, texts, none)
        floats = np.array(
            # arrow's numbers have no sign +
            compute.replace_substring_regex(values, r"^\+", "")
            .cast(arrow.float64())
            .to_numpy(zero_copy_only=False),
            dtype=np.float64,
        )
        fits = fits.to_numpy(zero_copy_only=False)
        rest = present.is_valid().to_numpy(zero_copy_only=False) & ~fits
        other = np.zeros(len(floats), dtype=bool)
        if rest.any():  # each text once
            encoded = present.filter(arrow.array(rest)).dictionary_encode()
            words, at = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
            read = [form.read(text) for text in words]
            floats[rest] = np.array([np.nan if value is None else value for value in read])[at]
            swapped = [form.is_other_mark(text) for text in words]
            other[rest] = np.array(swapped)[at]
            if any(swapped):
                self._refuse_mixed_marks(words[swapped.index(True)], words)
        return floats, rest & np.isnan(floats), other

    def _refuse_mixed_marks(self, other: str, words: list[str]) -> None:
        """Refuse, beside a cell with the other decimal mark, cells that could be either.

        ``24.5`` can be read whatever the mark; ``1.234`` beside it, where the comma is decimal,
        would be a thousand times too large.
        """
        parts = {text: number_part(text) or "" for text in words}
        either = [t for t, p in parts.items() if set(p) & {".", ","} and decimal_of(p) is None]
        if either:
            names = ("comma", "point")
            usual, found = names if self.number_form.decimal == "," else names[::-1]
            raise TableError(
                f"Column {self.name!r} has cells with a decimal {found} ({other!r}), but is read "
                f"with a decimal {usual}, so that {either[0]!r} could be either: name the mark of "
                f"its numbers with --decimal, or write them all with a decimal {usual}."
            )

    def as_written(self, column: Any) -> Any:
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
        if _is_number(kind) and self._mark != ".":
            return compute.replace_substring(texts, ".", self._mark)
        return texts

    def _text(self, value: Any) -> str:
        number = not isinstance(value, (str, bool, np.bool_))
        return str(value).replace(".", self._mark) if number else str(value)

    @property
    def _mark(self) -> str:
        """The decimal mark in texts made of numbers: what will be read of them, too."""
        return self.form.decimal if isinstance(self.form, NumberForm) else self.decimal


def objects(texts: Any) -> NDArray[np.object_]:
    """Texts as Python strings, NaN where missing, as scikit-learn's encoders take them."""
    encoded = texts.dictionary_encode()  # a Python string of each text once
    words = np.array([*encoded.dictionary.to_pylist(), np.nan], dtype=object)
    return words[encoded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]


def _whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _decoded(column: Any) -> Any:
    arrow, _ = _arrow()
    return column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column


def _is_number(kind: Any) -> bool:
    types = _arrow()[0].types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _arrow() -> tuple[Any, Any]:
    return require("pyarrow", "Reading a table"), require("pyarrow.compute", "Reading a table")
