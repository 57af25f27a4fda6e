"""What a model file says about its model in words and numbers, beside the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.persistence.kernel_models import state_of

MAX_LISTED = 1000  # ids of tasks or classes listed in the manifest; beyond that, their number
_SETTINGS = ("kernel", "posterior", "basis", "sharing", "reg", "sigma", "combine", "scoring")
_FOUND = ("sigma_", "reg_", "sharing_", "best_score_", "scoring_", "n_centers_", "beta_")

_HAND_OVER = (
    "max_error",
    "confidence",
    "per_task",
    "min_familiarity",
    "threshold_",
    "coverage_",
    "expected_error_",
    "error_bound_",
)


def describe(model: Any, objects: list[Any]) -> dict[str, Any]:
    """Return facts about a model, and how many training rows it holds.

    A model that is loaded is held to what its file says: facts may be added, not changed.

    Parameters
    ----------
    model : estimator
        The whole model.
    objects : list
        All objects in it.
    """
    last = final_estimator(model)
    facts: dict[str, Any] = {"type": type(model).__name__, "estimator": type(last).__name__}
    if hasattr(model, "steps"):
        facts["steps"] = [type(step).__name__ for _, step in model.steps]
    for name in ("classes_", "tasks_", "label_names_"):
        for each in (last, model):
            if hasattr(each, name):
                facts[name.rstrip("_")] = listed(getattr(each, name))
                break
    kept = state_of(last)  # parameters as they were when the model was fitted
    facts["settings"] = {
        n: v for n in _SETTINGS if _is_plain(v := kept.get(n, getattr(last, n, None)))
    }
    facts["found"] = {n: v for n in _FOUND if _is_plain(v := _item(getattr(last, n, None)))}
    for each in objects:
        if hasattr(each, "max_error") and hasattr(each, "threshold_"):
            rule = {n: _item(getattr(each, n)) for n in _HAND_OVER}
            facts["hand_over"] = {n: v for n, v in rule.items() if _is_plain(v)}
    held_out = getattr(last, "held_out_scores_", None)
    if held_out is not None:
        facts["training_rows"] = len(held_out)
    return {"model": facts, "training_rows_held": sum(rows_held(each) for each in objects)}


def rows_held(estimator: Any) -> int:
    """Return how many training rows (or projections of such) an estimator keeps."""
    if hasattr(estimator, "centers_") and getattr(estimator, "kernel", None) != "precomputed":
        return int(estimator.n_centers_) if estimator.centers is None else 0
    sample = getattr(estimator, "_sample", None)
    if sample is not None:  # rows that sums keep to calibrate on
        return int(sample.X.shape[0])
    embeddings = getattr(estimator, "embeddings_", None)
    if embeddings is None:
        return 0
    tables = embeddings.values() if isinstance(embeddings, dict) else embeddings
    return sum(len(table) for table in tables)


def final_estimator(model: Any) -> Any:
    """Return the estimator inside pipelines and wrappers that has the facts."""
    while True:
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "estimator_"):
            model = model.estimator_
        else:
            return model


def feature_table(model: Any, given: dict[str, str] | None) -> list[dict[str, str]]:
    """Return name and type of every column the model was fitted on."""
    names = _feature_names(model)
    given = {} if given is None else {str(name): str(kind) for name, kind in given.items()}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"feature_types names {unknown[0]!r}, which is not a column the model was fitted on; "
            f"these are {', '.join(map(repr, names[:10]))}{', ...' if len(names) > 10 else ''}."
        )
    encoded = encoded_columns(model, names)
    return [
        {"name": name, "type": given.get(name, "category" if name in encoded else "number")}
        for name in names
    ]


def _feature_names(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    count = getattr(model, "n_features_in_", None)
    if not isinstance(count, (int, np.integer)):
        return []  # tasks with features of their own
    return [f"x{i}" for i in range(int(count))]


def encoded_columns(model: Any, names: list[str]) -> set[str]:
    """Columns that go through an encoder of categories anywhere in a pipeline."""
    found: set[str] = set()
    for _, step in getattr(model, "steps", [("", model)]):
        if type(step).__name__ in ("OneHotEncoder", "OrdinalEncoder"):
            return set(names)
        step = getattr(step, "columns_", step)  # of TableFeatures
        for _, branch, columns in getattr(step, "transformers_", []):
            inner = [branch, *(each for _, each in getattr(branch, "steps", []))]
            if any(type(each).__name__ in ("OneHotEncoder", "OrdinalEncoder") for each in inner):
                found.update(_column_names(columns, names))
    return found


def _column_names(columns: Any, names: list[str]) -> list[str]:
    if isinstance(columns, (str, int)):
        columns = [columns]
    if isinstance(columns, slice):
        return names[columns] if not isinstance(columns.start, str) else []
    chosen = np.asarray(columns)
    if chosen.dtype == bool:
        return [name for name, ok in zip(names, chosen, strict=True) if ok]
    return [names[c] if isinstance(c, (int, np.integer)) else str(c) for c in chosen.tolist()]


def listed(values: Any) -> Any:
    """Return ids as JSON values; their number when there are very many."""
    if values is None or _is_plain(values):
        return values
    if isinstance(values, dict):
        return {str(key): listed(item) for key, item in values.items()}
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(items) > MAX_LISTED:
        return len(items)
    return [
        item if _is_plain(item) else listed(item) if _is_list(item) else str(item) for item in items
    ]


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return isinstance(value, (bool, int, str))
