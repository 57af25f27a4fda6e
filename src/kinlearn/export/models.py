"""The graph of each kind of model: rows (and tasks) in, labels and probabilities out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._familiarity import usual_support
from kinlearn.estimators.hand_over import HandOver
from kinlearn.estimators.prior_shift import PriorShift
from kinlearn.export.columns import Block, Parts, as_numbers
from kinlearn.export.graph import BOOL, DOUBLE, INT64, ML_DOMAIN, STRING, Graph
from kinlearn.export.lookup import NOWHERE, add_whole
from kinlearn.export.posterior import add_labels, add_posterior, class_values
from kinlearn.export.preprocessing import add_front
from kinlearn.export.scores import add_measure, add_scores
from kinlearn.familiarity import NEIGHBOURS
from kinlearn.model import KernelModel, Labels
from kinlearn.pipelines import last_step
from kinlearn.selection.decisions import cost_matrix


@dataclass(frozen=True)
class Output:
    """A result of the graph: its name outside, element type and number of columns (None: 1-d)."""

    name: str
    kind: int
    width: int | None


def task_type(model: Any) -> int | None:
    """Return the element type of the task input; None for a model without one.

    In a pipeline, the ids may be a column of what the steps before make, and then are no input.
    """
    if isinstance(model, Pipeline):
        last = last_step(model)
        return None if getattr(last, "task_column", None) is not None else task_type(last)
    tasks = getattr(model, "tasks_", None)
    if tasks is None:
        return None
    return INT64 if class_values(tasks).dtype.kind in "biuf" else STRING


def outputs_of(model: Any) -> list[Output]:
    """Return what the graph of a model puts out."""
    if isinstance(model, Pipeline):
        return outputs_of(last_step(model))
    if isinstance(model, HandOver):
        return [*outputs_of(model.estimator_), Output("answered", BOOL, None)]
    if isinstance(model, PriorShift):
        return outputs_of(model.estimator_)
    if isinstance(model, KernelClassifier) and not model.model_.labels.single:
        labels = model.model_.labels
        n_labels = len(labels.learnt)
        label = Output("label", INT64, n_labels)
        if labels.indicator:
            return [label, Output("probabilities", DOUBLE, n_labels)]
        sizes = [len(classes) for classes in labels.classes]
        each = [Output(f"probabilities_{t}", DOUBLE, size) for t, size in enumerate(sizes)]
        return [label, *each]
    return [
        Output("label", _label_type(model.classes_), None),
        Output("probabilities", DOUBLE, len(model.classes_)),
    ]


def _label_type(classes: NDArray) -> int:
    kind = class_values(classes).dtype.kind
    return STRING if kind == "U" else DOUBLE if kind == "f" else INT64


def add_model(graph: Graph, model: Any, X: Parts, task: str | None = None) -> list[str]:
    """Append a fitted model; return the names of its results, in the order of `outputs_of`.

    Parameters
    ----------
    graph : Graph
        To append to.
    model : estimator
        A fitted kernel estimator, or one wrapped to answer for another prevalence or to hand over.
    X : list of Block, Words or Unread
        The columns of the rows.
    task : str, optional
        Name of the task ids, for a model with tasks.
    """
    if isinstance(model, PriorShift):
        return _add_prior_shift(graph, model, X, task)
    if isinstance(model, HandOver):
        return _add_hand_over(graph, model, X, task)
    if isinstance(model, Pipeline):
        last = last_step(model)
        rows, column = _split_task_column(graph, last, add_front(graph, model, X))
        return add_model(graph, last, [rows], column or task)
    if not isinstance(model, KernelClassifier):
        raise TypeError(
            f"to_onnx takes kinlearn's kernel estimators and pipelines that end in one, but got a "
            f"{type(model).__name__}."
        )
    rows = as_numbers(graph, X, type(model).__name__)
    value = model.model_
    if value.shared is not None and value.tasks is not None and task is not None:
        scores = _add_task_scores(graph, model, rows.name, task)
    else:
        coef = value.coef if value.shared is None else value.coef[:, 0]
        scores = add_scores(graph, rows.name, value, coef)
        if value.calibration.offset.any():
            scores = graph.add("Add", scores, graph.constant(value.calibration.offset))
    return _add_answers(graph, value, scores)


def _add_task_scores(graph: Graph, model: Any, X: str, task: str) -> str:
    """Scores of every task side by side, and of each row those of its own task."""
    value = model.model_
    n_sigmas, n_tasks, n_centers, n_classes = value.coef.shape
    coefs = np.concatenate([value.coef, value.shared[:, None]], axis=1)
    coefs = coefs.transpose(0, 2, 1, 3).reshape(n_sigmas, n_centers, (n_tasks + 1) * n_classes)
    scores = add_scores(graph, X, value, coefs)
    shape = graph.constant([-1, n_tasks + 1, n_classes])
    by_task = graph.add("Reshape", scores, shape)
    offsets = np.vstack([value.task_offsets, value.calibration.offset])
    if offsets.any():
        by_task = graph.add("Add", by_task, graph.constant(offsets))
    index = add_task_index(graph, model, task)
    return graph.add("GatherND", by_task, index, batch_dims=1)


def add_task_index(graph: Graph, model: Any, task: str) -> str:
    """Number of each row's task, shape (n, 1); the last for tasks never seen."""
    ids = class_values(model.tasks_)
    n_tasks = len(ids)
    unseen = NOWHERE if getattr(model, "unseen", "shared") == "error" else n_tasks
    flat = graph.add("Reshape", task, graph.constant([-1, 1]))
    keys: dict[str, Any] = {"keys_strings": ids.tolist()}
    if ids.dtype.kind != "U":
        if not np.array_equal(ids, ids.astype(np.int64)):
            raise ValueError(
                f"The task ids {ids.tolist()[:5]} are not whole numbers, which ONNX cannot look up "
                "reliably: fit the model with task ids that are text or whole numbers."
            )
        keys = {"keys_int64s": ids.astype(np.int64).tolist()}
    return graph.add(
        "LabelEncoder",
        flat,
        domain=ML_DOMAIN,
        values_int64s=list(range(n_tasks)),
        default_int64=unseen,
        **keys,
    )


def _add_prior_shift(graph: Graph, model: Any, X: Parts, task: str | None) -> list[str]:
    _, proba, *_ = add_model(graph, model.estimator_, X, task)
    weighted = graph.add("Mul", proba, graph.constant(model.odds_))
    total = graph.sum(weighted, axis=1)
    known = graph.add("Greater", total, graph.constant(0.0))
    fallback = graph.constant((model.odds_ * model.training_prior_)[None])
    shifted = graph.add("Where", known, graph.add("Div", weighted, total), fallback)
    return [add_labels(graph, shifted, model.classes_), shifted]


def _split_task_column(graph: Graph, model: Any, rows: Block) -> tuple[Block, str | None]:
    """Take the column of task ids, if the model reads one, out of what the steps before made."""
    column = getattr(model, "task_column", None)
    if column is None:
        return rows, None
    if isinstance(column, str):
        raise ValueError(
            f"task_column={column!r} is a name, but arrays in an ONNX graph have none: give the "
            "column's position."
        )
    position = int(column) % rows.width
    rest = np.delete(np.arange(rows.width), position)
    ids = graph.add("Reshape", graph.column(rows.name, position), graph.constant([-1]))
    features = graph.add("Gather", rows.name, graph.constant(rest), axis=1)
    return Block(features, len(rest)), add_whole(graph, ids)


# -- handing over -----------------------------------------------------------------------------


def _add_hand_over(graph: Graph, model: Any, X: Parts, task: str | None) -> list[str]:
    inner = model.estimator_
    if isinstance(inner, Pipeline):  # its steps serve probabilities and familiarity alike
        X, inner = [add_front(graph, inner, X)], last_step(inner)
    _, proba, *_ = add_model(graph, inner, X, task if takes_tasks(inner) else None)
    gained, costs = proba, cost_matrix(model.costs, model.classes_)
    if costs is not None:
        # probabilities add up to one, so that what is kept of them is linear
        gained = graph.add("MatMul", proba, graph.constant(1.0 - costs.T / costs.max()))
    highest = graph.add("TopK", gained, graph.constant([1]), axis=1, n_results=2)
    confidence = graph.add("Gather", highest, graph.constant(0), axis=1)
    threshold = graph.constant(float(model.threshold_))
    if model.per_task and task is not None:
        index = graph.add("Reshape", add_task_index(graph, model, task), graph.constant([-1]))
        levels = np.append(model.task_thresholds_, np.inf)
        threshold = graph.add("Gather", graph.constant(levels), index, axis=0)
    answered = graph.add("Greater", confidence, threshold)
    if model.min_familiarity > 0 and isinstance(inner, KernelClassifier):
        rows = as_numbers(graph, X, "HandOver")
        familiar = _add_is_familiar(graph, inner, rows.name, float(model.min_familiarity))
        answered = graph.add("And", answered, familiar)
    bounds = getattr(model, "miss_bounds_", None)
    if bounds is not None:
        answered = graph.add("And", answered, _add_within_limits(graph, proba, gained, bounds))
    return [add_labels(graph, gained, model.classes_), proba, answered]


def _add_within_limits(graph: Graph, proba: str, gained: str, bounds: NDArray) -> str:
    """Whether no class but the predicted one is more probable than its bound."""
    best = graph.add("ArgMax", gained, axis=1, keepdims=1)
    other = graph.add("Not", graph.add("Equal", best, graph.constant(np.arange(len(bounds))[None])))
    above = graph.add("And", graph.add("Greater", proba, graph.constant(bounds[None])), other)
    counts = graph.add("Cast", above, to=INT64)
    most = graph.add("ReduceMax", counts, axes=[1], keepdims=0)
    return graph.add("Equal", most, graph.constant(0))


def takes_tasks(model: Any) -> bool:
    """Whether a fitted model is given task ids."""
    return getattr(last_step(model), "tasks_", None) is not None


def _add_is_familiar(graph: Graph, model: Any, X: str, least: float) -> str:
    """Whether the support of rows reaches that of the given share of training rows."""
    value = model.model_
    similar = value.kernel.name in ("cosine", "precomputed")
    measure = add_measure(graph, X, value.kernel, value.centers, nearness=True)
    kth = min(NEIGHBOURS, value.n_centers)
    nearest = graph.add(
        "TopK", measure, graph.constant([kth]), axis=1, largest=int(similar), n_results=2
    )
    support = graph.add("Gather", nearest, graph.constant(kth - 1), axis=1)
    reference = usual_support(value)
    needed = float(reference[int(np.ceil(least * len(reference))) - 1])
    if similar:
        return graph.add("GreaterOrEqual", support, graph.constant(needed))
    return graph.add("LessOrEqual", support, graph.constant(-needed))


# -- classes and labels -----------------------------------------------------------------------


def _add_answers(graph: Graph, model: KernelModel, scores: str) -> list[str]:
    """Labels and probabilities from the score columns."""
    labels = model.labels
    parts = _scores_by_label(graph, model, scores)
    priors, learnt = labels.learnt_priors, []
    for t, (own, size) in enumerate(parts):
        filled = priors[t] if model.fallback == "prior" else np.full(size, 1.0 / size)
        learnt.append(add_posterior(graph, own, model.rule, model.links[t], filled))
    if labels.single:
        return [add_labels(graph, parts[0][0], labels.classes[0]), learnt[0]]
    zeros = graph.add("Mul", graph.column(scores, 0), graph.constant(0.0))  # shape (n, 1)
    if labels.indicator:
        return _add_indicators(graph, labels, [part for part, _ in parts], learnt, zeros)
    names, probabilities = [], []
    queue = iter(zip([part for part, _ in parts], learnt, strict=True))
    for values, prior, ok in zip(labels.classes, labels.priors, labels.learnt, strict=True):
        if ok:
            part, proba = next(queue)
        else:
            part = proba = graph.add("Add", zeros, graph.constant(np.asarray(prior)[None]))
        names.append(add_labels(graph, part, values))
        probabilities.append(proba)
    column = graph.constant([1])
    wide = [graph.add("Unsqueeze", name, column) for name in names]
    wide = [graph.add("Cast", name, to=INT64) for name in wide]
    return [graph.add("Concat", *wide, axis=1), *probabilities]


def _scores_by_label(graph: Graph, model: KernelModel, scores: str) -> list[tuple[str, int]]:
    """Scores (n, classes) of each learnt label, with the number of classes."""
    layout, n_columns = model.calibration.layout, model.coef.shape[-1]
    if model.labels.single:
        return [(scores, n_columns)]
    if not layout.indicator:
        edges = np.concatenate([[0], np.cumsum(layout.sizes)])
        return [
            (graph.add("Gather", scores, graph.constant(np.arange(a, b)), axis=1), int(b - a))
            for a, b in pairwise(edges)
        ]
    parts = []
    for t in layout.labels:
        # e - d and e + d, halved, as a product with a small matrix
        pick = np.zeros((n_columns, 2))
        pick[t] = [-0.5, 0.5]
        pick[layout.n_labels + (t if n_columns > layout.n_labels + 1 else 0)] += 0.5
        parts.append((graph.add("MatMul", scores, graph.constant(pick)), 2))
    return parts


def _add_indicators(
    graph: Graph, labels: Labels, parts: list[str], learnt: list[str], zeros: str
) -> list[str]:
    """P(label = 1) of every label, and whether it exceeds the label's threshold."""
    assert labels.thresholds is not None
    columns, decided = [], []
    queue = iter(zip(parts, learnt, strict=True))
    for prior, threshold, ok in zip(labels.priors, labels.thresholds, labels.learnt, strict=True):
        if not ok:
            column = graph.add("Add", zeros, graph.constant(float(prior[1])))
            level = graph.constant(float(threshold))
            decided.append(graph.add("Greater", column, level))
            columns.append(column)
            continue
        part, proba = next(queue)
        column = graph.column(proba, 1)
        if threshold == 0.5:  # the sign of the scores decides, under every rule
            on, off = graph.column(part, 1), graph.column(part, 0)
            decided.append(graph.add("Greater", on, off))
        else:
            decided.append(graph.add("Greater", column, graph.constant(float(threshold))))
        columns.append(column)
    label = graph.add("Cast", graph.add("Concat", *decided, axis=1), to=INT64)
    return [label, graph.add("Concat", *columns, axis=1)]
