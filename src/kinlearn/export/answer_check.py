"""A finished graph beside its model, on rows that the user gave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.table_cells import TableCells
from kinlearn.encoding.date_parts import days_of
from kinlearn.export.columns import Source
from kinlearn.export.encoders import is_missing
from kinlearn.export.graph import FLOAT, STRING
from kinlearn.export.preprocessing import steps_before

TOLERANCE = 1e-6
MOST_ROWS = 1000


def check_answers(made: Any, model: Any, X: Any, inputs: list[tuple[Source, int]]) -> None:
    """Refuse a graph that cannot be run, or whose probabilities are not the model's.

    Parameters
    ----------
    made : onnx.ModelProto
        The graph.
    model : estimator
        What it was made from.
    X : DataFrame or array
        Rows as the model takes them.
    inputs : list of (Source, element type)
        What the graph takes, tasks apart.
    """
    from onnxruntime import InferenceSession

    rows = X.iloc[:MOST_ROWS] if hasattr(X, "iloc") else X[:MOST_ROWS]
    feeds = {source.name: _fed(rows, source, kind, model) for source, kind in inputs}
    arguments: dict[str, Any] = {}
    if any(value.name == "task" for value in made.graph.input):
        known = np.asarray(_tasks(model))
        arguments["task"] = known[np.arange(len(feeds[inputs[0][0].name])) % len(known)]
        text = known.dtype.kind in "OU"
        feeds["task"] = arguments["task"].astype(object if text else np.int64)
    expected = model.predict_proba(_rounded(rows, feeds, inputs), **arguments)
    try:
        session = InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs() if o.name.startswith("probabilities")]
        found = session.run(names, feeds)
    except Exception as error:
        raise ValueError(
            f"onnxruntime cannot run the graph of this model: {error}. Convert the estimator "
            "alone, to_onnx(model[-1]), and prepare its rows by other means."
        ) from error
    every = expected if isinstance(expected, list) else [expected]
    gaps = [np.abs(mine - theirs).max() for mine, theirs in zip(every, found, strict=True)]
    if not max(gaps) <= TOLERANCE:
        raise ValueError(
            f"The graph's probabilities for the rows of X differ from the model's by up to "
            f"{max(gaps):.2g}, more than {TOLERANCE:g}, so that it is not given out. Convert the "
            "estimator alone, to_onnx(model[-1]), and prepare its rows by other means."
        )


def _fed(X: Any, source: Source, kind: int, model: Any) -> NDArray:
    """A column of a table, or all columns of an array, as the graph takes them."""
    first = next(iter(steps_before(_innermost(model))), None)
    first = getattr(first, "cells_", first)  # of TableFeatures
    if isinstance(first, TableCells) and source.name in first.schema.features:
        X = first.transform(X)
    on_a_table = hasattr(X, "columns") and source.name in list(X.columns)
    values = np.asarray(X[[source.name]] if on_a_table else X)
    values = (days_of(values) if values.dtype.kind == "M" else values).astype(object)
    if kind == STRING:
        texts = ["" if is_missing(value) else str(value) for value in values.ravel()]
        return np.array(texts, dtype=object).reshape(values.shape)
    numbers = [np.nan if is_missing(value) else float(value) for value in values.ravel()]
    return np.array(numbers, dtype=np.float32 if kind == FLOAT else np.float64).reshape(
        values.shape
    )


def _rounded(X: Any, feeds: dict[str, NDArray], inputs: list[tuple[Source, int]]) -> Any:
    """The rows with the digits that the graph is given of them."""
    single = [source.name for source, kind in inputs if kind == FLOAT]
    if not single:
        return X
    if not hasattr(X, "columns"):
        return feeds[single[0]].astype(np.float64)
    if single == ["X"]:
        return type(X)(feeds["X"].astype(np.float64), columns=X.columns)
    return X.assign(**{name: feeds[name][:, 0].astype(np.float64) for name in single})


def _innermost(model: Any) -> Any:
    while hasattr(model, "estimator_"):
        model = model.estimator_
    return model


def _tasks(model: Any) -> Any:
    while not hasattr(model, "tasks_"):
        model = model.estimator_ if hasattr(model, "estimator_") else model.steps[-1][1]
    return model.tasks_
