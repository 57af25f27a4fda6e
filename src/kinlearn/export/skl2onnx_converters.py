"""Converters for skl2onnx, so that its own functions take pipelines with kinlearn's estimators."""

from __future__ import annotations

from typing import Any

from kinlearn.estimators.kernel_logistic_regression import KernelLogisticRegression
from kinlearn.estimators.lspc import LSPC
from kinlearn.estimators.lspc_cv import LSPCCV
from kinlearn.estimators.multilabel_lspc import MultiLabelLSPC
from kinlearn.estimators.multilabel_lspc_cv import MultiLabelLSPCCV
from kinlearn.export.columns import Block
from kinlearn.export.graph import INT64, STRING, Graph
from kinlearn.export.models import add_model, outputs_of

ESTIMATORS = (LSPC, LSPCCV, KernelLogisticRegression, MultiLabelLSPC, MultiLabelLSPCCV)


def register_onnx_converters() -> None:
    """Teach skl2onnx kinlearn's estimators without tasks.

    Afterwards ``skl2onnx.to_onnx`` and ``convert_sklearn`` take them, alone or in pipelines and
    stacks. Outputs are ``label`` and ``probabilities`` as arrays. For multi-task models, whose
    graphs have a second input, use :func:`kinlearn.to_onnx`.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPC
    >>> from kinlearn.export import register_onnx_converters
    >>> register_onnx_converters()
    >>> X, y = np.eye(4), np.array([0, 0, 1, 1])
    >>> model = make_pipeline(StandardScaler(), LSPC()).fit(X, y)
    >>> [output.name for output in to_onnx(model, X).graph.output]
    ['label', 'probabilities']
    """
    from skl2onnx import update_registered_converter

    for estimator in ESTIMATORS:
        update_registered_converter(
            estimator,
            f"Kinlearn{estimator.__name__}",
            _shapes,
            _convert,
            parser=_parse,
            options={"zipmap": [False, True]},
        )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx._supported_operators import _get_sklearn_operator_name

    operator = scope.declare_local_operator(_get_sklearn_operator_name(type(model)), model)
    operator.inputs = inputs
    for output in outputs_of(model):
        operator.outputs.append(scope.declare_local_variable(output.name, _variable(output)))
    return operator.outputs


def _variable(output: Any) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    kinds = {INT64: Int64TensorType, STRING: StringTensorType}
    shape = [None] if output.width is None else [None, output.width]
    return kinds.get(output.kind, DoubleTensorType)(shape)


def _shapes(operator: Any) -> None:
    for variable, output in zip(operator.outputs, outputs_of(operator.raw_operator), strict=True):
        variable.type = _variable(output)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from kinlearn.export.convert import as_tensor

    graph = Graph(scope.get_unique_variable_name("kinlearn"))
    model = operator.raw_operator
    rows = Block(graph.double(operator.inputs[0].full_name), model.n_features_in_)
    names = add_model(graph, model, [rows])
    for name, variable in zip(names, operator.outputs, strict=True):
        graph.rename(name, variable.full_name)
    for name, values in graph.constants.items():
        if values.dtype.kind == "U":
            container.add_initializer(name, STRING, list(values.shape), values.ravel().tolist())
        else:
            tensor = as_tensor(name, values)
            container.add_initializer(name, tensor.data_type, list(values.shape), tensor)
    for node in graph.operations:
        container.add_node(
            node.kind,
            node.inputs,
            node.outputs,
            op_domain=node.domain,
            name=scope.get_unique_operator_name(node.kind),
            **node.attributes,
        )
