"""Everything in a pipeline before its estimator."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from kinlearn.export.columns import Block, Parts, as_numbers
from kinlearn.export.graph import Graph
from kinlearn.export.steps import add_step


def steps_before(model: Any) -> list[Any]:
    """Return all steps of nested pipelines but the estimator."""
    steps: list[Any] = []
    while isinstance(model, Pipeline):
        steps += [step for _, step in model.steps[:-1] if step is not None]
        model = model.steps[-1][1]
    return steps


def add_front(graph: Graph, model: Pipeline, parts: Parts) -> Block:
    """Append all steps before the estimator; return the numbers that the estimator gets."""
    for step in steps_before(model):
        parts = add_step(graph, step, parts)
    return as_numbers(graph, parts, "The estimator")
