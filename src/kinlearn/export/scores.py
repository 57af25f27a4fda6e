"""Kernel scores as ONNX operations: a measure between rows and centres, profiles, coefficients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.export.graph import Graph
from kinlearn.kernels.library import Kernel
from kinlearn.kernels.metric import in_metric
from kinlearn.kernels.squared_distances import SquaredDistances
from kinlearn.kernels.steps import SharedSteps
from kinlearn.model import KernelModel


def add_scores(graph: Graph, X: str, model: KernelModel, coefs: NDArray[np.float64]) -> str:
    """Append ``Σ_s k_s(X, centres) coefs[s]`` and return its name.

    Parameters
    ----------
    X : str
        Name of the rows, in double precision.
    model : KernelModel
        Says which kernel, its centres and widths.
    coefs : ndarray of shape (S, m, c)
        Coefficients.
    """
    total = ""
    for kernel, own in model.by_kernel():
        measure = add_measure(graph, X, kernel, model.centers)
        for sigma, coef in zip(model.sigmas[own], coefs[own], strict=True):
            features = _add_profile(graph, measure, kernel, float(sigma))
            part = graph.add("MatMul", features, graph.constant(coef))
            total = graph.add("Add", total, part) if total else part
    return total


def add_measure(graph: Graph, X: str, of: Kernel, centers: Any, nearness: bool = False) -> str:
    """Append a kernel's measure between rows and centres, shape (n, m).

    With `nearness` the one by which rows are familiar: distances for inner products, too.
    """
    kernel = of.name
    if kernel == "precomputed":
        return graph.add("Gather", X, graph.constant(np.asarray(centers)), axis=1)
    if not of.has_feature_space:
        raise ValueError(
            f"kernel={kernel!r} is a function, which ONNX cannot express: use a kernel with a name "
            "or kernel='precomputed', whose graph takes the kernel values as its rows."
        )
    C = centers.toarray() if sp.issparse(centers) else np.asarray(centers)
    C = C.astype(np.float64)
    if of.metric is not None:
        C = in_metric(C, of.metric)
        X = graph.add("Mul" if of.metric.ndim == 1 else "MatMul", X, graph.constant(of.metric))
    if kernel in ("exponential", "matern32") and not nearness:
        return graph.add("Sqrt", _add_feature_sum(graph, X, C, "squares"))
    if kernel in ("rbf", "exponential", "matern32") or (
        nearness and kernel in ("linear", "polynomial", "steps")
    ):
        return _add_squared_distances(graph, X, C)
    if kernel in ("laplacian", "chi2"):
        return _add_feature_sum(graph, X, C, kernel)
    if kernel == "steps":
        return _add_shared_steps(graph, X, SharedSteps(C))
    if kernel == "cosine":
        X = _add_unit_rows(graph, X)
        norms = np.linalg.norm(C, axis=1, keepdims=True)
        C = C / np.where(norms == 0.0, 1.0, norms)
    return graph.add("MatMul", X, graph.constant(np.ascontiguousarray(C.T)))


def _add_shared_steps(graph: Graph, X: str, measure: SharedSteps) -> str:
    """``1 + Σ_j w_j #{cuts of column j that x and c reach}``."""
    cells = graph.add("Gather", X, graph.constant(measure.columns), axis=1)
    reached = graph.add("GreaterOrEqual", cells, graph.constant(measure.cuts[None]))
    steps = graph.constant(np.ascontiguousarray(measure.steps.T))
    shared = graph.add("MatMul", graph.double(reached), steps)
    return graph.add("Add", shared, graph.constant(1.0))


def _add_profile(graph: Graph, measure: str, kernel: Kernel, sigma: float) -> str:
    if kernel.name == "rbf":
        return graph.add("Exp", graph.add("Mul", measure, graph.constant(-0.5 / sigma**2)))
    if kernel.name in ("laplacian", "exponential", "chi2"):
        return graph.add("Exp", graph.add("Mul", measure, graph.constant(-1.0 / sigma)))
    if kernel.name == "matern32":
        scaled = graph.add("Mul", measure, graph.constant(math.sqrt(3.0) / sigma))
        decay = graph.add("Exp", graph.add("Neg", scaled))
        return graph.add("Mul", graph.add("Add", scaled, graph.constant(1.0)), decay)
    if kernel.name == "polynomial":
        inner = graph.add("Mul", measure, graph.constant(1.0 / sigma**2))
        inner = graph.add("Add", inner, graph.constant(kernel.numbers["coef0"]))
        return graph.add("Pow", inner, graph.constant(kernel.numbers["degree"]))
    return measure


def _add_squared_distances(graph: Graph, X: str, C: NDArray[np.float64]) -> str:
    """``||x - c||²`` by one matrix product, rows shifted to the middle of the centres first.

    Far centres, where that would lose digits, are compared by differences with every row.
    """
    measure = SquaredDistances(C)
    shifted = graph.add("Sub", X, graph.constant(measure.shift))
    own = graph.sum(graph.add("Mul", shifted, shifted), axis=1)
    product = graph.add(
        "MatMul", shifted, graph.constant(np.ascontiguousarray(-2.0 * measure.centers.T))
    )
    squared = graph.add("Add", product, own)
    squared = graph.add("Add", squared, graph.constant(measure.norms))
    squared = graph.add("Max", squared, graph.constant(0.0))
    if measure.far.size == 0:
        return squared
    exact = _add_feature_sum(graph, X, C[measure.far], "squares")
    order = np.arange(len(C))
    order[measure.far] = len(C) + np.arange(measure.far.size)
    both = graph.add("Concat", squared, exact, axis=1)
    return graph.add("Gather", both, graph.constant(order), axis=1)


def _add_unit_rows(graph: Graph, X: str) -> str:
    norms = graph.add("Sqrt", graph.sum(graph.add("Mul", X, X), axis=1))
    zero = graph.add("Equal", norms, graph.constant(0.0))
    return graph.add("Div", X, graph.add("Where", zero, graph.constant(1.0), norms))


def _add_feature_sum(graph: Graph, X: str, C: NDArray[np.float64], kind: str) -> str:
    """``Σ_j |x_j - c_j|``, ``Σ_j (x_j - c_j)²`` or ``Σ_j (x_j - c_j)²/(x_j + c_j)``.

    They are ``"laplacian"``, ``"squares"`` and ``"chi2"``, and added up one feature at a time.

    A scan over features keeps memory at (n, m); all differences at once would be d times that.
    """
    start = graph.add("MatMul", X, graph.constant(np.zeros(C.T.shape)))
    by_feature = graph.add("Transpose", X, perm=[1, 0])
    return graph.add(
        "Scan",
        start,
        by_feature,
        graph.constant(np.ascontiguousarray(C.T)),
        num_scan_inputs=2,
        body=_scan_body(kind),
    )


def _scan_body(kind: str) -> Any:
    from onnx import TensorProto, helper

    def value(name: str, n_axes: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None] * n_axes)

    nodes = [
        helper.make_node("Unsqueeze", ["row_feature", "last"], ["column"]),
        helper.make_node("Sub", ["column", "center_feature"], ["difference"]),
    ]
    constants = [helper.make_tensor("last", TensorProto.INT64, [1], [1])]
    if kind == "chi2":
        constants += [
            helper.make_tensor("zero", TensorProto.DOUBLE, [], [0.0]),
            helper.make_tensor("one", TensorProto.DOUBLE, [], [1.0]),
        ]
        nodes += [
            helper.make_node("Mul", ["difference", "difference"], ["square"]),
            helper.make_node("Add", ["column", "center_feature"], ["both"]),
            helper.make_node("Equal", ["both", "zero"], ["neither"]),
            helper.make_node("Where", ["neither", "one", "both"], ["divisor"]),
            helper.make_node("Div", ["square", "divisor"], ["term"]),
        ]
    elif kind == "squares":
        nodes.append(helper.make_node("Mul", ["difference", "difference"], ["term"]))
    else:
        nodes.append(helper.make_node("Abs", ["difference"], ["term"]))
    nodes.append(helper.make_node("Add", ["before", "term"], ["after"]))
    return helper.make_graph(
        nodes,
        "one_feature",
        [value("before", 2), value("row_feature", 1), value("center_feature", 1)],
        [value("after", 2)],
        constants,
    )
