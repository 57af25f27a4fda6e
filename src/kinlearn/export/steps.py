"""The steps before an estimator as ONNX operations: cells, columns, imputing, encoding, numbers.

Each is converted here, in double precision and by what it learnt. skl2onnx has converters for many,
too, but not for indicators of missing values, text that is missing, categories that are numbers, or
rare ones put together. Steps of other kinds are left to it (:mod:`kinlearn.export.skl2onnx_steps`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

from kinlearn.cells.spelling import number_in
from kinlearn.cells.table_cells import TableCells
from kinlearn.encoding.table_features import TableFeatures
from kinlearn.export.columns import (
    MISSING,
    Block,
    Part,
    Parts,
    Unread,
    Words,
    as_numbers,
    as_words,
    pick,
)
from kinlearn.export.encoders import add_encoder, exact, is_missing
from kinlearn.export.graph import DOUBLE, Graph
from kinlearn.export.numeric_steps import NUMERIC
from kinlearn.export.skl2onnx_steps import add_foreign


def add_step(graph: Graph, step: Any, parts: Parts) -> Parts:
    """Append a fitted step; return the columns it makes.

    Parameters
    ----------
    graph : Graph
        To append to.
    step : transformer, "passthrough" or None
        Fitted.
    parts : list of Block, Words or Unread
        The columns that go in.
    """
    kind = type(step)
    if step is None or isinstance(step, str):
        return parts
    if kind is FunctionTransformer and step.func is None:
        return parts
    if kind is ColumnTransformer:
        return _add_columns(graph, step, parts)
    if kind is FeatureUnion:
        return _add_union(graph, step, parts)
    if kind is Pipeline:
        for _, inner in step.steps:
            parts = add_step(graph, inner, parts)
        return parts
    if kind is TableCells:
        return _add_cells(graph, step, parts)
    if kind is TableFeatures:
        return _add_table(graph, step, parts)
    if kind is SimpleImputer:
        return _add_imputer(graph, step, parts)
    if kind in (OneHotEncoder, OrdinalEncoder):
        return add_encoder(graph, step, parts)
    if kind in NUMERIC:
        return [NUMERIC[kind](graph, step, as_numbers(graph, parts, kind.__name__))]
    if isinstance(step, SelectorMixin) and kind.__module__.startswith("sklearn."):
        return pick(graph, parts, step.get_support(indices=True))
    return [add_foreign(graph, step, parts)]


def _add_columns(graph: Graph, step: Any, parts: Parts) -> Parts:
    made: Parts = []
    for name, inner, _ in step.transformers_:
        positions = step._transformer_to_input_indices[name]
        if len(positions):
            made += _add_branch(graph, step, name, inner, pick(graph, parts, positions))
    return made


def _add_union(graph: Graph, step: FeatureUnion, parts: Parts) -> Parts:
    made: Parts = []
    for name, inner in step.transformer_list:
        made += _add_branch(graph, step, name, inner, parts)
    return made


def _add_branch(graph: Graph, step: Any, name: str, inner: Any, parts: Parts) -> Parts:
    if isinstance(inner, str) and inner == "drop":
        return []
    return _weighted(graph, add_step(graph, inner, parts), step.transformer_weights, name)


def _weighted(graph: Graph, parts: Parts, weights: Any, name: str) -> Parts:
    if not weights or name not in weights:
        return parts
    block = as_numbers(graph, parts, "transformer_weights")
    weighted = graph.add("Mul", block.name, graph.constant(float(weights[name])))
    return [Block(weighted, block.width)]


def _add_table(graph: Graph, step: TableFeatures, parts: Parts) -> Parts:
    """Pick the columns that are used, read their cells, and make numbers of them."""
    every = getattr(step, "feature_names_in_", [f"x{i}" for i in range(step.n_features_in_)])
    at = {name: i for i, name in enumerate(every)}
    used = pick(graph, parts, [at[name] for name in step.cells_.feature_names_in_])
    return add_step(graph, step.columns_, add_step(graph, step.cells_, used))


def _add_cells(graph: Graph, step: TableCells, parts: Parts) -> Parts:
    """Numbers without infinities and marks for missing; texts with all marks for missing."""
    schema = step.schema
    made: Parts = []
    for name, part in zip(schema.features, parts, strict=True):
        if name in schema.dates:
            made.append(as_numbers(graph, [part], "TableCells"))
        elif name in schema.numeric:
            block = as_numbers(graph, [part], "TableCells")
            marks = [number_in(text, schema.decimal) for text in schema.missing]
            absent = [np.inf, -np.inf, *(mark for mark in marks if mark is not None)]
            equal = graph.double(graph.add("Equal", block.name, graph.constant([absent])))
            gone = graph.add("Greater", graph.sum(equal, axis=1), graph.constant(0.0))
            kept = graph.add("Where", gone, graph.constant(np.nan), block.name)
            made.append(Block(kept, 1))
        else:
            words = as_words(graph, part, "TableCells")
            meanings = {**words.meanings[0], **dict.fromkeys(schema.missing, MISSING)}
            made.append(Words(words.name, 1, (meanings,), respelt=True))
    return made


def _add_imputer(graph: Graph, step: SimpleImputer, parts: Parts) -> Parts:
    statistics = list(step.statistics_)
    edges = np.cumsum([0, *(part.width for part in parts)])
    texts = [_is_text(part, statistics[edges[i] : edges[i + 1]]) for i, part in enumerate(parts)]
    if not any(texts):
        return _add_number_imputer(graph, step, as_numbers(graph, parts, "SimpleImputer"))
    if step.indicator_ is not None and len(step.indicator_.features_):
        raise ValueError(
            "SimpleImputer with add_indicator=True has no ONNX form here where it fills in text: "
            "give numbers and text imputers of their own in a ColumnTransformer, and text none "
            "that adds indicators."
        )
    made: Parts = []
    for i, part in enumerate(parts):
        own = statistics[edges[i] : edges[i + 1]]
        if texts[i]:
            made += _filled_words(graph, step, as_words(graph, part, "SimpleImputer"), own)
        else:
            made += _filled_numbers(graph, step, part, own)
    return made


def _is_text(part: Part, statistics: list[Any]) -> bool:
    if isinstance(part, Unread) and part.source.text is None:
        return any(isinstance(value, str) for value in statistics)
    return isinstance(part, Words) or (isinstance(part, Unread) and bool(part.source.text))


def _kept(step: SimpleImputer, statistics: list[Any]) -> list[int]:
    """Columns that come out: those without a single value in training are left out."""
    every = step.keep_empty_features
    return [j for j, value in enumerate(statistics) if every or not is_missing(value)]


def _filled_words(graph: Graph, step: SimpleImputer, words: Words, statistics: list[Any]) -> Parts:
    absent = step.missing_values
    meanings = []
    for column, fill in zip(words.meanings, statistics, strict=True):
        known = dict(column) if is_missing(absent) else {str(absent): absent, **column}
        meanings.append(
            {text: fill if _is_absent(value, absent) else value for text, value in known.items()}
        )
    filled = Words(words.name, words.width, tuple(meanings), words.respelt)
    return pick(graph, [filled], _kept(step, statistics))


def _is_absent(value: Any, absent: Any) -> bool:
    return is_missing(value) if is_missing(absent) else bool(value == absent)


def _missing_numbers(graph: Graph, step: SimpleImputer, block: Block) -> str:
    if is_missing(step.missing_values):
        return graph.add("IsNaN", block.name)
    mark = exact(graph, [step.missing_values], "The missing_values of SimpleImputer")
    return graph.add("Equal", block.name, graph.constant(mark))


def _filled_numbers(graph: Graph, step: SimpleImputer, part: Part, statistics: list[Any]) -> Parts:
    block = as_numbers(graph, [part], "SimpleImputer")
    fills = np.array([MISSING if is_missing(v) else float(v) for v in statistics])
    missing = _missing_numbers(graph, step, block)
    filled = graph.add("Where", missing, graph.constant(fills[None]), block.name)
    return pick(graph, [Block(filled, block.width)], _kept(step, statistics))


def _add_number_imputer(graph: Graph, step: SimpleImputer, block: Block) -> Parts:
    filled = _filled_numbers(graph, step, block, list(step.statistics_))
    if step.indicator_ is None or len(step.indicator_.features_) == 0:
        return filled
    flags = graph.add("Cast", _missing_numbers(graph, step, block), to=DOUBLE)
    flags = graph.add("Gather", flags, graph.constant(step.indicator_.features_), axis=1)
    return [*filled, Block(flags, len(step.indicator_.features_))]
