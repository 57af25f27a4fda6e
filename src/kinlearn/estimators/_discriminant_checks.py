"""Checks of labels and parameters that all discriminant analyses share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from kinlearn.estimators._checks import check_count as check_count


def encode_classes(y: NDArray[Any], owner: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes and the class number of every row; sentences begin with the ``owner`` of the labels.

    A class of one row is fine: it counts for the scatter between classes. If every class is like
    that, nothing is known about the scatter within.
    """
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"{owner}: y contains NaN or infinity; every row needs a label.")
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"{owner}: {error}") from None
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{owner} has only one class, {classes[0]!r}; a discriminant analysis needs at least "
            "two classes."
        )
    if classes.size == len(y):
        raise ValueError(
            f"{owner} has {len(y)} rows in {classes.size} classes, one row each, which says "
            "nothing about the scatter within classes; at least one class needs two rows."
        )
    return classes, codes.astype(np.intp)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_positive(name: str, value: Any) -> float:
    """A number of at least zero, or a sentence."""
    if not _is_number(value) or not value >= 0:
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}.")
    return float(value)


def check_shrinkage(value: Any) -> float | str:
    """A number of at least zero or ``"auto"``, or a sentence."""
    if isinstance(value, str) and value == "auto":
        return value
    if not _is_number(value) or not value >= 0:
        raise ValueError(f'shrinkage must be a number of at least 0 or "auto", not {value!r}.')
    return float(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words, or a sentence."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, not {value!r}.")
    return value


def cap_components(
    n_components: int, limit: int, reason: str, *, name: str = "n_components"
) -> int:
    """``n_components``, or the limit with a warning that names it."""
    if n_components <= limit:
        return n_components
    warnings.warn(
        f"{name}={n_components} is more than {reason} allows; it is capped at {limit}.",
        UserWarning,
        stacklevel=4,
    )
    return limit
