"""to_onnx: a fitted model as an ONNX graph whose probabilities are the model's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kinlearn.cells.table_cells import TableCells
from kinlearn.encoding.table_features import TableFeatures
from kinlearn.export.answer_check import check_answers
from kinlearn.export.columns import Parts, Source, Unread
from kinlearn.export.graph import DOUBLE, FLOAT, ML_DOMAIN, STRING, Graph, Operation
from kinlearn.export.models import add_model, outputs_of, task_type
from kinlearn.export.preprocessing import steps_before
from kinlearn.export.skl2onnx_steps import ML_OPSET, OPSET
from kinlearn.optional import require
from kinlearn.pipelines import last_step

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
        in one. Steps before it may impute, encode, scale, project, select or multiply columns;
        those of other kinds are left to skl2onnx. A kernel that is a function is refused.
    X : DataFrame or array, optional
        Some rows as the model takes them. Where onnxruntime is installed, the graph is refused
        unless its probabilities for them are the model's to 1e-6; steps that skl2onnx converts
        must be compared so. Columns that no step reads are text or numbers as they are in `X`.
    input_type : {"double", "float"}, default="double"
        Type of the numbers that the graph takes; it computes in double precision in any case.

    Returns
    -------
    onnx.ModelProto
        Inputs: ``X`` of shape (n, features), or one of shape (n, 1) per column for a pipeline with
        a ``ColumnTransformer``. A column is text if the categories that its encoder learnt are, and
        numbers otherwise, with 1 and 0 for True and False; missing text is ``""``, a missing number
        NaN. A date is the number of days since 1970-01-01, its time of day a fraction. For a
        multi-task model also ``task`` of shape (n,), the ids, unless a pipeline makes them a
        column. A task never seen gets the shared part, or an error with ``unseen="error"``.
        Outputs: ``label`` and ``probabilities``; for labels of several classes
        ``probabilities_0``, ...;
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
    for library in ("onnx", "skl2onnx"):
        require(library, "to_onnx", "onnx")
    if input_type not in INPUT_TYPES:
        raise ValueError(f'input_type={input_type!r} is not known. Choose "double" or "float".')
    check_is_fitted(model)
    graph = Graph("kinlearn", single=input_type == "float")
    sources = _sources(model, X)
    parts: Parts = [Unread(source, tuple(range(source.width))) for source in sources]
    task_kind = task_type(model)
    names = add_model(graph, model, parts, None if task_kind is None else "task")
    inputs = [(source, _kind_of(source, INPUT_TYPES[input_type])) for source in sources]
    given = [(source.name, kind, source.width) for source, kind in inputs]
    if task_kind is not None:
        given.append(("task", task_kind, 0))
    made = _made(graph, model, given, names)
    if X is not None and _may_run(graph):
        check_answers(made, model, X, inputs)
    elif graph.foreign:
        raise ValueError(
            f"The step {graph.foreign[0]} is converted by skl2onnx, and the graph must be compared "
            "with the model before it is given out: pass some rows, to_onnx(model, X)."
        )
    return made


def _pipeline_of(model: Any) -> Any:
    """The pipeline inside wrappers that takes what the model takes; None if there is none."""
    while not isinstance(model, Pipeline):
        if not hasattr(model, "estimator_"):
            return None
        model = model.estimator_
    return model


def _on_a_table(model: Any) -> bool:
    """Whether the model takes columns by name, which are inputs of their own then."""
    first = next(iter(steps_before(_pipeline_of(model))), None)
    tables = (TableCells, TableFeatures)
    named = isinstance(first, tables) or hasattr(first, "transformers_")
    return named and hasattr(model, "feature_names_in_")


def _sources(model: Any, X: Any) -> list[Source]:
    """What the graph takes, tasks apart."""
    if not _on_a_table(model):
        # a pipeline does not know its width if its first step passes rows through
        every = [model, *steps_before(_pipeline_of(model)), last_step(model)]
        widths = (each.n_features_in_ for each in every if hasattr(each, "n_features_in_"))
        return [Source("X", int(next(widths)))]
    names = [str(name) for name in model.feature_names_in_]
    return [Source(name, 1, None if X is None else _is_text(X[name])) for name in names]


def _is_text(column: Any) -> bool:
    return any(isinstance(value, str) for value in column)


def _kind_of(source: Source, number: int) -> int:
    text = source.looks_like_text if source.text is None else source.text
    return STRING if text else number


def _may_run(graph: Graph) -> bool:
    """Whether onnxruntime is there, which it must be where the graph has to be compared."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        if not graph.foreign:
            return False
        raise ImportError(
            f"The step {graph.foreign[0]} is converted by skl2onnx, and its graph is compared with "
            "the model by onnxruntime, which cannot be imported: pip install onnxruntime."
        ) from None
    return True


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
