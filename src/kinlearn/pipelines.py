"""The two ends of a pipeline: the classifier that is its last step, and what reaches it."""

from __future__ import annotations

from typing import Any

import sklearn
from sklearn.pipeline import Pipeline


def last_step(model: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the model itself."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def before_last(model: Any, X: Any) -> Any:
    """Return what the classifier at the end of a pipeline gets to see."""
    while isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = model.steps[-1][1]
    return X


def fit_arguments(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Name arguments of fit such that they reach the classifier at the end of a pipeline."""
    given = {name: value for name, value in given.items() if value is not None}
    if sklearn.get_config()["enable_metadata_routing"]:
        return given
    while isinstance(model, Pipeline):
        step, model = model.steps[-1]
        given = {f"{step}__{name}": value for name, value in given.items()}
    return given
