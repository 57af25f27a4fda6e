"""Everything in a pipeline before its estimator, by our own converters or by skl2onnx's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from kinlearn.export.graph import FLOAT, ML_DOMAIN, Graph
from kinlearn.export.steps import Block, Columns, add_step, converts

OPSET, ML_OPSET = 17, 3


def steps_before(model: Any) -> list[Any]:
    """Return all steps of nested pipelines but the estimator."""
    steps: list[Any] = []
    while isinstance(model, Pipeline):
        steps += [step for _, step in model.steps[:-1] if step is not None]
        model = model.steps[-1][1]
    return steps


def add_front(graph: Graph, model: Pipeline, columns: Columns) -> Block:
    """Append all steps before the estimator; return the block that the estimator gets.

    Parameters
    ----------
    graph : Graph
        To append to.
    model : Pipeline
        Fitted.
    columns : Block, or dict of {name: Block}
        An array in double precision, or the columns of a table.
    """
    steps = steps_before(model)
    if not all(converts(step) for step in steps):
        return _add_by_skl2onnx(graph, steps, columns)
    block: Columns = columns
    for step in steps:
        block = add_step(graph, step, block)
    if isinstance(block, dict):
        raise ValueError("A pipeline on a table needs a step that makes an array of its columns.")
    return block


def _add_by_skl2onnx(graph: Graph, steps: list[Any], columns: Columns) -> Block:
    """Have skl2onnx convert the steps, and take its nodes over as they are."""
    from onnx import compose
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    given = columns if isinstance(columns, dict) else {"X": columns}
    pipeline = Pipeline([(f"step{i}", step) for i, step in enumerate(steps)])
    # onnxruntime imputes in single precision only
    parts = pipeline.get_params(deep=True).values()
    single = any(isinstance(part, SimpleImputer) for part in parts)
    number = FloatTensorType if single else DoubleTensorType
    types = [
        (name, (StringTensorType if block.text else number)([None, block.width]))
        for name, block in given.items()
    ]
    try:
        made = convert_sklearn(
            pipeline, initial_types=types, target_opset={"": OPSET, ML_DOMAIN: ML_OPSET}
        )
    except Exception as error:
        kinds = ", ".join(type(step).__name__ for step in steps)
        raise ValueError(
            f"skl2onnx cannot convert the steps before the estimator ({kinds}): {error}. Convert "
            "the estimator alone, to_onnx(model[-1]), and prepare its rows by other means."
        ) from error
    prefix = graph.name("steps") + "_"
    inputs = [value.name for value in made.graph.input]
    made = compose.add_prefix(made, prefix)
    for name, block in zip(inputs, given.values(), strict=True):
        cast = single and not block.text
        source = graph.add("Cast", block.name, to=FLOAT) if cast else block.name
        graph.rename(source, prefix + name)
    graph.operations.extend(made.graph.node)
    graph.embedded.extend(made.graph.initializer)
    output = made.graph.output[0]
    last = steps[-1]
    width = getattr(last, "n_features_out_", None) or len(last.get_feature_names_out())
    return Block(graph.double(output.name), int(np.asarray(width)))
