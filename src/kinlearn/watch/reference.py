"""What a model remembers of its training rows: the usual, which windows are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.answering.ready import bare_classifier
from kinlearn.answering.served_model import ServedModel
from kinlearn.estimators._both import numbers_of
from kinlearn.pipelines import last_step
from kinlearn.watch.expected import Usual
from kinlearn.watch.windows import Window

_MOST_ROWS = 5000


def usual_of(served: ServedModel) -> Usual | None:
    """Probabilities of the training rows, held out, as far as the file holds them."""
    if served.is_labels:
        return None
    bare = bare_classifier(served.model)
    if bare is not served.classifier and (served.rule is None or _inside(served.rule) is not bare):
        return None  # a step between them changes the probabilities
    try:
        proba = bare.held_out_proba()
    except (AttributeError, ValueError):
        return None
    known = ~np.isnan(proba).any(axis=1)
    proba = proba[known]
    if len(proba) < 2 or proba.shape[1] != len(served.classes):
        return None
    if served.rule is not None:
        answers = served.rule._numbers(proba)
    else:
        answers = numbers_of(bare.classes_, bare.model_.predicted(bare.held_out_scores_[known]))
    stated = proba[np.arange(len(proba)), answers]
    step = -(-len(proba) // _MOST_ROWS)
    return Usual(proba[::step], len(proba), float(stated.mean()), stated[::step])


def _inside(rule: Any) -> Any:
    return last_step(rule.estimator_)


def new_window(served: ServedModel, usual: Usual | None) -> Window:
    """An empty window for rows of a model."""
    inputs: dict[str, Any] = served.facts.get("inputs", {})
    names = [str(each) for each in served.classes.tolist()]
    if not inputs and usual is not None:
        inputs = {
            "rows": usual.n_rows,
            "answers": {
                name: {
                    "mean": float(usual.proba[:, k].mean()),
                    "deviation": float(usual.proba[:, k].std()),
                }
                for k, name in enumerate(names)
            },
        }
    task = served.schema.task if served.from_table else None
    return Window(inputs, names, usual, task, served.is_labels)
