"""From scores to probabilities and labels as ONNX operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.export.graph import DOUBLE, Graph
from kinlearn.posterior import Link


def add_posterior(
    graph: Graph, scores: str, rule: str, link: Link, fallback: NDArray[np.float64]
) -> str:
    """Append what :func:`kinlearn.posterior.posterior` computes, and return its name."""
    if rule == "calibrated" and not np.isnan(link.beta):
        logits = graph.add("Mul", scores, graph.constant(float(link.beta)))
        if link.gamma:
            raised = graph.add("Max", scores, graph.constant(float(link.floor)))
            power = graph.add("Mul", graph.add("Log", raised), graph.constant(float(link.gamma)))
            logits = graph.add("Add", logits, power)
        if np.any(link.shift):
            logits = graph.add("Add", logits, graph.constant(np.atleast_2d(link.shift)))
        return graph.add("Softmax", logits, axis=1)
    if rule != "raw":
        scores = graph.add("Max", scores, graph.constant(0.0))
    ratio = graph.add("Div", scores, graph.sum(scores, axis=1))
    odd = graph.add("Or", graph.add("IsNaN", ratio), graph.add("IsInf", ratio))
    count = graph.sum(graph.add("Cast", odd, to=DOUBLE), axis=1)
    unusable = graph.add("Greater", count, graph.constant(0.0))
    return graph.add("Where", unusable, graph.constant(fallback[None]), ratio)


def add_labels(graph: Graph, scores: str, classes: NDArray) -> str:
    """Append the class of the largest score, shape (n,)."""
    best = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return graph.add("Gather", graph.constant(class_values(classes)), best, axis=0)


def class_values(classes: Any) -> NDArray:
    """Return class labels as whole numbers, doubles or text, which is what ONNX knows."""
    classes = np.asarray(classes)
    if classes.dtype.kind in "biufU":
        return classes
    kinds = {type(value) for value in classes.tolist()}
    if all(issubclass(kind, str) for kind in kinds):
        return classes.astype(str)
    if all(issubclass(kind, (int, bool)) for kind in kinds):
        return classes.astype(np.int64)
    raise ValueError(
        f"The classes {classes.tolist()[:5]} are neither all text nor all numbers, which ONNX "
        "needs: fit the model to classes of one kind."
    )
