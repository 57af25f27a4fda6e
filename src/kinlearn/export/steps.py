"""The steps before an estimator as ONNX operations: imputing, scaling, encoding, columns.

skl2onnx has converters for these, too, but not for indicators of missing values, text that is
missing, or rare categories grouped together, nor in double precision for imputing. Steps of other
kinds are left to it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from kinlearn.export.graph import DOUBLE, INT64, ML_DOMAIN, Graph

# An index beyond every category: gathering by it is an error of the runtime, as asked for.
NO_CATEGORY = 2**31
MISSING_TEXT = ""  # how a missing value is written where columns hold text


@dataclass(frozen=True)
class Block:
    """Columns side by side, of shape (n, width), and what an imputer put for missing text."""

    name: str
    width: int
    text: bool = False
    fills: list[Any] = field(default_factory=list)


Columns = dict[str, Block] | Block  # of a table by name, or an array


def converts(step: Any) -> bool:
    """Whether a step, and all inside it, is one of those converted here."""
    if isinstance(step, str):
        return step in ("drop", "passthrough")
    if type(step) is ColumnTransformer:
        return all(converts(inner) for _, inner, _ in step.transformers_)
    if type(step) is Pipeline:
        return all(converts(inner) for _, inner in step.steps)
    if type(step) is FunctionTransformer:
        return step.func is None
    if type(step) is SimpleImputer:
        return _is_nan(step.missing_values)
    return type(step) in (StandardScaler, OneHotEncoder, OrdinalEncoder)


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def add_step(graph: Graph, step: Any, columns: Columns) -> Block:
    """Append a fitted step; return the block it makes.

    Parameters
    ----------
    graph : Graph
        To append to.
    step : transformer
        Fitted, of a kind for which :func:`converts` holds.
    columns : Block, or dict of {name: Block}
        What goes in: an array, or the columns of a table.
    """
    if type(step) is ColumnTransformer:
        return _add_columns(graph, step, columns)
    block = join(graph, list(columns.values())) if isinstance(columns, dict) else columns
    if isinstance(step, str) or type(step) is FunctionTransformer:
        return block
    if type(step) is Pipeline:
        for _, inner in step.steps:
            block = add_step(graph, inner, block)
        return block
    if type(step) is SimpleImputer:
        return _add_imputer(graph, step, block)
    if type(step) is StandardScaler:
        return _add_scaler(graph, step, block)
    return _add_encoder(graph, step, block)


def join(graph: Graph, blocks: list[Block]) -> Block:
    """Put blocks of one kind side by side."""
    if len(blocks) == 1:
        return blocks[0]
    if len({block.text for block in blocks}) > 1:
        raise ValueError(
            "A step takes columns of text and of numbers together, which ONNX cannot express: give "
            "them to steps of their own in a ColumnTransformer."
        )
    name = graph.add("Concat", *(block.name for block in blocks), axis=1)
    return Block(name, sum(block.width for block in blocks), blocks[0].text)


def _add_columns(graph: Graph, step: Any, columns: Columns) -> Block:
    parts = []
    for name, inner, _ in step.transformers_:
        positions = step._transformer_to_input_indices[name]
        if len(positions) == 0 or (isinstance(inner, str) and inner == "drop"):
            continue
        if isinstance(columns, dict):
            names = list(step.feature_names_in_)
            chosen = join(graph, [columns[str(names[i])] for i in positions])
        else:
            picked = graph.add("Gather", columns.name, graph.constant(positions), axis=1)
            chosen = Block(picked, len(positions), columns.text)
        parts.append(add_step(graph, inner, chosen))
    return join(graph, parts)


def _add_imputer(graph: Graph, step: SimpleImputer, block: Block) -> Block:
    if block.text:
        if step.indicator_ is not None and len(step.indicator_.features_):
            raise ValueError("An imputer of text with add_indicator=True has no ONNX form here.")
        return Block(block.name, block.width, True, list(step.statistics_))
    missing = graph.add("IsNaN", block.name)
    statistics = np.asarray(step.statistics_, dtype=np.float64)
    filled = graph.add("Where", missing, graph.constant(statistics[None]), block.name)
    width = block.width
    kept = np.flatnonzero(~np.isnan(statistics))
    if len(kept) < width:  # columns without a single value are left out
        filled = graph.add("Gather", filled, graph.constant(kept), axis=1)
        width = len(kept)
    if step.indicator_ is None or len(step.indicator_.features_) == 0:
        return Block(filled, width)
    flags = graph.add("Cast", missing, to=DOUBLE)
    flags = graph.add("Gather", flags, graph.constant(step.indicator_.features_), axis=1)
    joined = graph.add("Concat", filled, flags, axis=1)
    return Block(joined, width + len(step.indicator_.features_))


def _add_scaler(graph: Graph, step: StandardScaler, block: Block) -> Block:
    name = block.name
    if step.with_mean:
        name = graph.add("Sub", name, graph.constant(step.mean_))
    if step.with_std:
        name = graph.add("Div", name, graph.constant(step.scale_))
    return Block(name, block.width)


def _add_encoder(graph: Graph, step: Any, block: Block) -> Block:
    """Column by column, look up the number of the category, and by that its code."""
    widths = getattr(step, "_n_features_outs", [1] * block.width)
    edges = np.concatenate([[0], np.cumsum(widths)])
    parts = []
    for j in range(block.width):
        keys, codes = _codes(step, block, j, slice(edges[j], edges[j + 1]))
        column = graph.column(block.name, j)
        flat = graph.add("Reshape", column, graph.constant([-1]))
        if block.text:
            lookup: dict[str, Any] = {"keys_strings": keys}
        else:
            flat = graph.add("Cast", flat, to=INT64)
            lookup = {"keys_int64s": keys}
        strict = step.handle_unknown == "error"
        index = graph.add(
            "LabelEncoder",
            flat,
            domain=ML_DOMAIN,
            values_int64s=list(range(len(keys))),
            default_int64=NO_CATEGORY if strict else len(keys),
            **lookup,
        )
        parts.append(Block(graph.add("Gather", graph.constant(codes), index, axis=0), widths[j]))
    return join(graph, parts)


def _codes(step: Any, block: Block, j: int, own: slice) -> tuple[list[Any], NDArray[np.float64]]:
    """Keys of a column and what the fitted encoder itself makes of each; unknown ones last."""
    categories = [value for value in step.categories_[j] if not _is_nan(value)]
    if block.text:
        values: list[Any] = [str(value) for value in categories]
        keys: list[Any] = list(values)
        missing = block.fills[j] if block.fills else np.nan
        knows_missing = bool(block.fills) or len(categories) < len(step.categories_[j])
        if knows_missing and MISSING_TEXT not in keys:
            keys, values = [*keys, MISSING_TEXT], [*values, missing]
        stranger: Any = "\x00" + "".join(map(str, categories))
    else:
        if any(value != int(value) for value in categories) or len(categories) < len(
            step.categories_[j]
        ):
            raise ValueError(
                f"The categories {categories[:5]} are numbers with fractions or missing values, "
                "which ONNX cannot look up reliably: turn that column into text."
            )
        keys = [int(value) for value in categories]
        values = list(categories)
        stranger = max(categories) + 1
    if step.handle_unknown != "error":
        values = [*values, stranger]
    rows = np.empty((len(values), block.width), dtype=object)
    for i, known in enumerate(step.categories_):
        rows[:, i] = known[0]
    rows[:, j] = values
    if not block.text:
        rows = rows.astype(np.float64)
    plain = _without_names(step)
    made = plain.transform(rows)
    made = made.toarray() if hasattr(made, "toarray") else np.asarray(made)
    return keys, np.asarray(made[:, own], dtype=np.float64)


def _without_names(step: Any) -> Any:
    """A copy that takes arrays without a word about lacking column names."""
    plain = copy.copy(step)
    vars(plain).pop("feature_names_in_", None)
    vars(plain).pop("_sklearn_output_config", None)
    return plain
