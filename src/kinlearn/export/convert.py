"""to_onnx: a fitted model as an ONNX graph whose probabilities are the model's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kinlearn.export.front import ML_OPSET, OPSET, steps_before
from kinlearn.export.graph import DOUBLE, FLOAT, ML_DOMAIN, STRING, Graph, Operation
from kinlearn.export.models import add_model, outputs_of, task_type
from kinlearn.export.steps import Block, Columns
from kinlearn.persistence.describe import feature_table

IR_VERSION = 8
INPUT_TYPES = {"double": DOUBLE, "float": FLOAT}


def to_onnx(model: Any, X: Any = None, *, input_type: str = "double") -> Any:
    """Return a fitted model as an ONNX graph (``pip install "kinlearn[onnx]"``).

    The graph computes in double precision and gives the model's probabilities up to rounding.

    Parameters
    ----------
    model : estimator
        A fitted kernel estimator of kinlearn, single-task, multi-task or multi-label, one of these
        for another prevalence (:func:`with_prior`) or in :class:`HandOver`, or a pipeline that ends
        in one and whose other steps impute, scale or encode, or are of kinds that skl2onnx can
        convert. A kernel that is a function is refused.
    X : DataFrame or array, optional
        Some rows as a pipeline takes them, from which the types of its inputs are read. Left out,
        columns that the pipeline encodes as categories are text, all others numbers.
    input_type : {"double", "float"}, default="double"
        Type of the numbers that the graph takes; it computes in double precision in any case.

    Returns
    -------
    onnx.ModelProto
        Inputs: ``X`` of shape (n, features), or one of shape (n, 1) per column for a pipeline with
        a ``ColumnTransformer``, missing text as ``""``; for a multi-task model ``task`` of shape
        (n,), the ids, unless a pipeline makes them a column. A task never seen gets the shared
        part, or an error with ``unseen="error"``. Outputs:
        ``label`` and ``probabilities``; for labels of several classes ``probabilities_0``, ...;
        of :class:`HandOver` also ``answered``.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from kinlearn import LSPC, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LSPC().fit(X, y)
    >>> graph = to_onnx(model).SerializeToString()
    >>> session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    >>> label, proba = session.run(None, {"X": X})
    >>> bool(abs(proba - model.predict_proba(X)).max() < 1e-9)
    True
    """
    _need_onnx()
    if input_type not in INPUT_TYPES:
        raise ValueError(f'input_type={input_type!r} is not known. Choose "double" or "float".')
    check_is_fitted(model)
    graph = Graph("kinlearn")
    inputs = _inputs(model, X, INPUT_TYPES[input_type])
    blocks = {
        name: Block(name if kind == STRING else graph.double(name), width, kind == STRING)
        for name, kind, width in inputs
    }
    task_kind = task_type(model)
    columns: Columns = blocks if _on_a_table(model) else blocks["X"]
    names = add_model(graph, model, columns, None if task_kind is None else "task")
    if task_kind is not None:
        inputs.append(("task", task_kind, 0))
    return _made(graph, model, inputs, names)


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'to_onnx needs onnx and skl2onnx ({error}): pip install "kinlearn[onnx]".'
        ) from None


def _pipeline_of(model: Any) -> Any:
    """The pipeline inside wrappers that takes what the model takes; None if there is none."""
    while not isinstance(model, Pipeline):
        if not hasattr(model, "estimator_"):
            return None
        model = model.estimator_
    return model


def _on_a_table(model: Any) -> bool:
    steps = steps_before(_pipeline_of(model))
    return (
        bool(steps) and hasattr(steps[0], "transformers_") and hasattr(model, "feature_names_in_")
    )


def _inputs(model: Any, X: Any, number: int) -> list[tuple[str, int, int]]:
    """Name, element type and width of what the graph takes, tasks apart."""
    if not _on_a_table(model):
        return [("X", number, int(model.n_features_in_))]
    names = [str(name) for name in model.feature_names_in_]
    if X is not None:
        text = {name: _is_text(X[name]) for name in names}
    else:
        table = feature_table(_pipeline_of(model), None)
        text = {each["name"]: each["type"] == "category" for each in table}
    return [(name, STRING if text[name] else number, 1) for name in names]


def _is_text(column: Any) -> bool:
    return any(isinstance(value, str) for value in column)


def _made(graph: Graph, model: Any, inputs: list[tuple[str, int, int]], names: list[str]) -> Any:
    """The finished graph, checked."""
    from onnx import checker, helper

    outputs = []
    for name, output in zip(names, outputs_of(model), strict=True):
        graph.rename(name, output.name)
        shape = [None] if output.width is None else [None, output.width]
        outputs.append(helper.make_tensor_value_info(output.name, output.kind, shape))
    given = [
        helper.make_tensor_value_info(name, kind, [None] if name == "task" else [None, width])
        for name, kind, width in inputs
    ]
    nodes = [
        node if not isinstance(node, Operation) else _as_node(node, number)
        for number, node in enumerate(graph.operations)
    ]
    constants = [as_tensor(name, values) for name, values in graph.constants.items()]
    made = helper.make_model(
        helper.make_graph(
            nodes, type(model).__name__, given, outputs, [*constants, *graph.embedded]
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="kinlearn",
    )
    checker.check_model(made)
    return made


def _as_node(node: Operation, number: int) -> Any:
    from onnx import helper

    return helper.make_node(
        node.kind,
        node.inputs,
        node.outputs,
        domain=node.domain,
        name=f"{node.kind}_{number}",
        **node.attributes,
    )


def as_tensor(name: str, values: Any) -> Any:
    """Return an array as ONNX keeps it."""
    from onnx import TensorProto, helper, numpy_helper

    if values.dtype.kind == "U":
        text = [value.encode() for value in values.ravel().tolist()]
        return helper.make_tensor(name, TensorProto.STRING, values.shape, text)
    return numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), name)
