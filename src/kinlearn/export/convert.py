"""to_onnx: a fitted model as an ONNX graph whose probabilities are the model's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kinlearn.estimators._held_out import last_step
from kinlearn.estimators.prior_shift import PriorShift
from kinlearn.export.graph import DOUBLE, FLOAT, ML_DOMAIN, Graph
from kinlearn.export.models import add_model, outputs_of, task_type

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
INPUT_TYPES = {"double": DOUBLE, "float": FLOAT}


def to_onnx(model: Any, X: Any = None, *, input_type: str | None = None) -> Any:
    """Return a fitted model as an ONNX graph (``pip install "kinlearn[onnx]"``).

    The graph computes in double precision and gives the model's probabilities up to rounding.

    Parameters
    ----------
    model : estimator
        A fitted kernel estimator of kinlearn, single-task, multi-task or multi-label, one of these
        for another prevalence (:func:`with_prior`), or a pipeline that ends in one and whose other
        steps skl2onnx can convert. A kernel that is a function is refused.
    X : DataFrame or array, optional
        Some rows as a pipeline takes them, from which the types of its inputs are read. Left out,
        columns that the pipeline encodes as categories are text, all others numbers.
    input_type : {"double", "float"}, optional
        Type of the numbers that the graph takes: double when left out, unless a step is an imputer,
        which onnxruntime has in single precision only.

    Returns
    -------
    onnx.ModelProto
        Inputs: ``X`` of shape (n, features), or one of shape (n, 1) per column for a pipeline with
        a ``ColumnTransformer``; for a multi-task model ``task``, the ids, of shape (n,).
        A task never seen gets the shared part, or an error with ``unseen="error"``. Outputs:
        ``label`` and ``probabilities``; for labels of several classes ``probabilities_0``, ...

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
    if input_type is None:
        input_type = "float" if _imputes(model) else "double"
    if input_type not in INPUT_TYPES:
        raise ValueError(f'input_type={input_type!r} is not known. Choose "double" or "float".')
    check_is_fitted(model)
    if isinstance(model, PriorShift) and isinstance(model.estimator_, Pipeline):
        return _pipeline_to_onnx(model.estimator_, X, input_type, shift=model)
    if isinstance(model, Pipeline):
        return _pipeline_to_onnx(model, X, input_type)
    return _estimator_to_onnx(model, INPUT_TYPES[input_type], _n_features(model))


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'to_onnx needs onnx and skl2onnx ({error}): pip install "kinlearn[onnx]".'
        ) from None


def _imputes(model: Any) -> bool:
    parts = model.get_params(deep=True).values() if hasattr(model, "get_params") else []
    return any(type(part).__name__ == "SimpleImputer" for part in parts)


def _n_features(model: Any) -> int | None:
    n_features = getattr(model, "n_features_in_", None)
    return int(n_features) if isinstance(n_features, (int, np.integer)) else None


def _estimator_to_onnx(model: Any, input_kind: int, n_features: int | None) -> Any:
    """The graph of a kernel estimator alone."""
    from onnx import checker, helper

    graph = Graph("kinlearn")
    task_kind = task_type(model)
    inputs = [helper.make_tensor_value_info("X", input_kind, [None, n_features])]
    if task_kind is not None:
        inputs.append(helper.make_tensor_value_info("task", task_kind, [None]))
    names = add_model(graph, model, "X", None if task_kind is None else "task")
    outputs = []
    for name, output in zip(names, outputs_of(model), strict=True):
        graph.rename(name, output.name)
        shape = [None] if output.width is None else [None, output.width]
        outputs.append(helper.make_tensor_value_info(output.name, output.kind, shape))
    nodes = [
        helper.make_node(
            node.kind,
            node.inputs,
            node.outputs,
            domain=node.domain,
            name=f"{node.kind}_{number}",
            **node.attributes,
        )
        for number, node in enumerate(graph.operations)
    ]
    constants = [as_tensor(name, values) for name, values in graph.constants.items()]
    made = helper.make_model(
        helper.make_graph(nodes, type(model).__name__, inputs, outputs, constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="kinlearn",
    )
    checker.check_model(made)
    return made


def as_tensor(name: str, values: Any) -> Any:
    """Return an array as ONNX keeps it."""
    from onnx import TensorProto, helper, numpy_helper

    if values.dtype.kind == "U":
        text = [value.encode() for value in values.ravel().tolist()]
        return helper.make_tensor(name, TensorProto.STRING, values.shape, text)
    return numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), name)


# -- pipelines --------------------------------------------------------------------------------


def _pipeline_to_onnx(model: Pipeline, X: Any, input_type: str, shift: Any = None) -> Any:
    """skl2onnx's graph of the steps before the estimator, followed by the estimator's."""
    from onnx import checker, compose
    from skl2onnx import convert_sklearn

    last = last_step(model)
    steps = _steps_before(model)
    if shift is not None:
        last = _shifted_last(shift, last)
    if not steps:
        return _estimator_to_onnx(last, INPUT_TYPES[input_type], _n_features(model))
    front = convert_sklearn(
        Pipeline(steps),
        initial_types=_initial_types(model, X, input_type),
        target_opset={"": OPSET, ML_DOMAIN: ML_OPSET},
    )
    given = front.graph.output[0]
    back = _estimator_to_onnx(last, given.type.tensor_type.elem_type, _n_features(last_step(last)))
    front.ir_version = back.ir_version = IR_VERSION
    for each in (front, back):
        _same_opsets(each)
    front = compose.add_prefix(
        front, "steps_", rename_inputs=False, rename_outputs=True, rename_initializers=True
    )
    joint = compose.merge_models(
        front, back, io_map=[(front.graph.output[0].name, "X")], outputs=_names(back.graph.output)
    )
    checker.check_model(joint)
    return joint


def _names(values: Any) -> list[str]:
    return [value.name for value in values]


def _same_opsets(model: Any) -> None:
    from onnx import helper

    del model.opset_import[:]
    model.opset_import.extend(
        [helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)]
    )


def _shifted_last(shift: PriorShift, last: Any) -> PriorShift:
    """The same shift of the last step alone."""
    moved = PriorShift(last, prior=shift.prior, training_prior=shift.training_prior)
    for name, value in vars(shift).items():
        if name.endswith("_"):
            setattr(moved, name, value)
    moved.estimator_, moved.n_features_in_ = last, last.n_features_in_
    return moved


def _steps_before(model: Pipeline) -> list[tuple[str, Any]]:
    steps: list[tuple[str, Any]] = []
    while isinstance(model, Pipeline):
        steps += [(f"step{len(steps) + i}", step) for i, (_, step) in enumerate(model.steps[:-1])]
        model = model.steps[-1][1]
    return steps


def _initial_types(model: Pipeline, X: Any, input_type: str) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    from kinlearn.persistence.describe import feature_table

    number = DoubleTensorType if input_type == "double" else FloatTensorType
    by_column = hasattr(model.steps[0][1], "transformers_") and hasattr(model, "feature_names_in_")
    if not by_column:
        return [("X", number([None, _n_features(model)]))]
    if X is not None:
        kinds = {str(name): _is_text(X[name]) for name in X.columns}
    else:
        kinds = {each["name"]: each["type"] == "category" for each in feature_table(model, None)}
    return [
        (name, StringTensorType([None, 1]) if text else number([None, 1]))
        for name, text in kinds.items()
    ]


def _is_text(column: Any) -> bool:
    return any(isinstance(value, str) for value in column)
