"""Rows of Python values as batches in which every column has one type."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kinlearn.cells.spelling import EXACT
from kinlearn.optional import require

NUMBER, TRUTH, DATE, TEXT = "number", "truth", "date", "text"


def kind_of(value: Any, so_far: str | None) -> str | None:
    """The kind of a column with one more value; a text beside anything else makes it text.

    Examples
    --------
    >>> kind_of(1.5, None), kind_of("a", "number"), kind_of(None, "number")
    ('number', 'text', 'number')
    """
    if value is None or so_far == TEXT:
        return so_far
    if isinstance(value, bool):
        kind = TRUTH
    elif isinstance(value, int | float):
        kind = NUMBER if abs(value) < EXACT or isinstance(value, float) else TEXT
    elif isinstance(value, datetime.datetime | datetime.date):
        kind = DATE
    else:
        kind = TEXT
    return kind if so_far in (None, kind) else TEXT


def text_of(value: Any) -> str | None:
    """A value as a text file would hold it.

    Examples
    --------
    >>> text_of(3.0), text_of(True), text_of({"a": 1})
    ('3', 'True', '{"a": 1}')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value)


def batches_of(
    rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, str | None], size: int
) -> Iterator[Any]:
    """Yield ``pyarrow.RecordBatch`` of the columns in `kinds`, at most `size` rows each."""
    held: list[Mapping[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == size:
            yield _batch(held, kinds)
            held = []
    if held:
        yield _batch(held, kinds)


def _batch(rows: list[Mapping[str, Any]], kinds: Mapping[str, str | None]) -> Any:
    arrow = require("pyarrow", "Reading a table")
    types = {NUMBER: arrow.float64(), TRUTH: arrow.bool_(), DATE: arrow.timestamp("us")}
    arrays = []
    for name, kind in kinds.items():
        values = [row.get(name) for row in rows]
        if kind in types:
            arrays.append(arrow.array(values, types[kind]))
        else:
            arrays.append(arrow.array([text_of(value) for value in values], arrow.string()))
    return arrow.RecordBatch.from_arrays(arrays, names=list(kinds))
