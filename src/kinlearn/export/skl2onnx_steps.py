"""Steps that only skl2onnx knows, embedded as it makes them.

Nothing here knows what such a step computes or in which precision, so a graph with one is compared
with the model on rows before it is given out: see :mod:`kinlearn.export.answer_check`.
"""

from __future__ import annotations

from typing import Any

from kinlearn.export.columns import Block, Parts, Unread, Words, as_numbers, as_words, width_of
from kinlearn.export.graph import ML_DOMAIN, Graph

OPSET, ML_OPSET = 17, 3


def add_foreign(graph: Graph, step: Any, parts: Parts) -> Block:
    """Have skl2onnx convert a step, and take its nodes over as they are."""
    from onnx import compose
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    kind = type(step).__name__
    graph.foreign.append(kind)
    given, text = _given(graph, parts, kind)
    tensor = StringTensorType if text else DoubleTensorType
    try:
        made = convert_sklearn(
            step,
            initial_types=[("X", tensor([None, width_of(parts)]))],
            target_opset={"": OPSET, ML_DOMAIN: ML_OPSET},
        )
    except Exception as error:
        raise ValueError(
            f"skl2onnx cannot convert the step {kind} before the estimator: {error}. Convert "
            "the estimator alone, to_onnx(model[-1]), and prepare its rows by other means."
        ) from error
    prefix = graph.name("steps") + "_"
    made = compose.add_prefix(made, prefix)
    graph.rename(given, made.graph.input[0].name)
    graph.operations.extend(made.graph.node)
    graph.embedded.extend(made.graph.initializer)
    width = getattr(step, "n_features_out_", None) or len(step.get_feature_names_out())
    return Block(graph.double(made.graph.output[0].name), int(width))


def _given(graph: Graph, parts: Parts, kind: str) -> tuple[str, bool]:
    texts = [
        isinstance(part, Words)
        or (isinstance(part, Unread) and bool(part.source.text or part.source.looks_like_text))
        for part in parts
    ]
    if not any(texts):
        return as_numbers(graph, parts, kind).name, False
    if not all(texts):
        raise ValueError(
            f"{kind} takes columns of text and of numbers together, which ONNX cannot express: "
            "give them to steps of their own in a ColumnTransformer."
        )
    names = [as_words(graph, part, kind).name for part in parts]
    return names[0] if len(names) == 1 else graph.add("Concat", *names, axis=1), True
