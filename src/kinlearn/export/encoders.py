"""Encoders of categories: look up the category of each cell, and by that its code.

The codes are asked of the fitted encoder itself, so that categories left out, rare ones put
together and values for the unknown are whatever it makes of them.
"""

from __future__ import annotations

import copy
import warnings
from itertools import count
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.spelling import other_spellings
from kinlearn.export.columns import (
    MISSING_TEXT,
    Block,
    Part,
    Parts,
    Unread,
    Words,
    as_numbers,
    as_words,
    each_column,
)
from kinlearn.export.graph import Graph
from kinlearn.export.lookup import NOWHERE, add_number_lookup, add_text_lookup


def add_encoder(graph: Graph, step: Any, parts: Parts) -> Parts:
    """Append a fitted OneHotEncoder or OrdinalEncoder, column by column."""
    widths = getattr(step, "_n_features_outs", [1] * len(step.categories_))
    edges = np.concatenate([[0], np.cumsum(widths)])
    made: Parts = []
    for j, column in enumerate(each_column(graph, parts)):
        own = slice(int(edges[j]), int(edges[j + 1]))
        known = [value for value in step.categories_[j] if not is_missing(value)]
        if all(isinstance(value, str) for value in known) and _may_be_text(step.categories_[j]):
            index, codes = _add_words(graph, step, as_words(graph, column, _name(step)), j)
        elif all(isinstance(value, (Real, np.bool_)) for value in known):
            index, codes = _add_numbers(graph, step, column, j)
        else:
            kind = type(known[0]).__name__
            raise ValueError(
                f"{_name(step)} has categories of type {kind}{_where(column)}, such as "
                f"{known[0]!r}, which ONNX does not know: turn them into text."
            )
        width = own.stop - own.start
        made.append(Block(graph.add("Gather", graph.constant(codes[:, own]), index, axis=0), width))
    return made


def _add_words(graph: Graph, step: Any, words: Words, j: int) -> tuple[str, NDArray[np.float64]]:
    missing = _missing_category(step, j)
    known = {str(value): value for value in step.categories_[j] if not is_missing(value)}
    values = dict(known)
    if words.respelt:
        for text in list(values):
            values = {**dict.fromkeys(other_spellings(text), values[text]), **values}
    for text, meant in words.meanings[0].items():
        if text == MISSING_TEXT and is_missing(meant) and text in values:
            raise ValueError(
                f"{_name(step)} has an empty text as a category, but in an ONNX graph it stands "
                "for a missing value: put a word such as 'empty' in its place, or fill in the "
                "missing values by an imputer."
            )
        values.pop(text, None)
        if not is_missing(meant) and meant in known:
            values[text] = known[meant]
        elif is_missing(meant) and missing:
            values[text] = missing[0]
    codes = _codes(step, j, list(values.values()), "\x00" + "".join(values))
    default = NOWHERE if step.handle_unknown == "error" else len(values)
    return add_text_lookup(graph, words.name, list(values), default), codes


def _add_numbers(graph: Graph, step: Any, part: Part, j: int) -> tuple[str, NDArray[np.float64]]:
    missing = _missing_category(step, j)
    known = [value for value in step.categories_[j] if not is_missing(value)]
    keys = exact(graph, known, f"The categories of {_name(step)}{_where(part)}")
    column = as_numbers(graph, [part], _name(step))
    stranger = next(value for value in count() if value not in known)
    codes = _codes(step, j, [*known, *missing], stranger)
    default = NOWHERE if step.handle_unknown == "error" else len(keys) + len(missing)
    return add_number_lookup(graph, column.name, keys, default, bool(missing)), codes


def exact(graph: Graph, values: list[Any], what: str) -> list[float]:
    """Return numbers as the graph has them, or refuse those that it would round."""
    how, remedy = "double", "turn the column into text"
    if graph.single:
        how, remedy = "single", 'use input_type="double"'
    # Python compares numbers exactly, NumPy after rounding.
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    numbers = [float(np.float32(value)) if graph.single else float(value) for value in plain]
    for value, number in zip(plain, numbers, strict=True):
        if number != value:
            raise ValueError(
                f"{what} hold {value!r}, which is not exact in {how} precision, so that a graph "
                f"could not tell it from its neighbours: {remedy}."
            )
    return numbers


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or the NA of pandas."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _missing_category(step: Any, j: int) -> list[Any]:
    """The encoder's category for missing values, if it has one."""
    found = [value for value in step.categories_[j] if is_missing(value)]
    if len(found) > 1:
        raise ValueError(
            f"{_name(step)} has None and NaN as two categories of one column, but an ONNX graph "
            "has one kind of missing value: make them one before fitting."
        )
    return found


def _codes(step: Any, j: int, values: list[Any], stranger: Any) -> NDArray[np.float64]:
    """What the encoder makes of each value of column j; of one never seen last, if it may come."""
    if step.handle_unknown != "error":
        values = [*values, stranger]
    rows = np.empty((len(values), len(step.categories_)), dtype=object)
    for i, known in enumerate(step.categories_):
        rows[:, i] = known[0]
    for i, value in enumerate(values):
        rows[i, j] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about the stranger
        made = _without_names(step).transform(rows)
    made = made.toarray() if hasattr(made, "toarray") else np.asarray(made)
    return np.asarray(made, dtype=np.float64)


def _without_names(step: Any) -> Any:
    """A copy that takes arrays without a word about lacking column names."""
    plain = copy.copy(step)
    vars(plain).pop("feature_names_in_", None)
    vars(plain).pop("_sklearn_output_config", None)
    return plain


def _may_be_text(categories: NDArray) -> bool:
    return categories.dtype.kind in "OUT"


def _name(step: Any) -> str:
    return type(step).__name__


def _where(part: Part) -> str:
    return f" for {part.source.name!r}" if isinstance(part, Unread) else ""
