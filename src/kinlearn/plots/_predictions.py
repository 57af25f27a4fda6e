"""What the displays ask of a fitted classifier and of given predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kinlearn.pipelines import last_step


def predictions_of(
    estimator: Any, X: Any, name: str | None
) -> tuple[NDArray[np.float64], NDArray, str]:
    """Probabilities of ``X``, the class of each column and the name to show."""
    kind = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"The display needs a classifier with predict_proba; {kind} has none. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or use from_predictions."
        )
    check_is_fitted(estimator)
    name = name or type(last_step(estimator)).__name__
    return np.asarray(estimator.predict_proba(X)), estimator.classes_, name


def label_probabilities(estimator: Any, X: Any, name: str | None) -> tuple[NDArray, str]:
    """Probabilities (n, labels) of ``X`` and the name to show."""
    check_is_fitted(estimator)
    proba = estimator.predict_proba(X)
    if isinstance(proba, list):
        raise ValueError(
            "The display needs 0/1 labels, but this classifier was fitted on columns of more than "
            "two classes: draw one class at a time with from_predictions."
        )
    return np.asarray(proba), name or type(last_step(estimator)).__name__


def names_of(estimator: Any) -> NDArray | None:
    """Names of the labels, where the classifier keeps them."""
    return getattr(last_step(estimator), "label_names_", None)


def check_labels(Y_true: Any, proba: ArrayLike) -> tuple[NDArray, NDArray]:
    """Labels and probabilities as float arrays of one shape; NaN where unobserved."""
    Y = Y_true.toarray() if hasattr(Y_true, "toarray") else Y_true
    Y, P = np.asarray(Y, dtype=np.float64), np.asarray(proba, dtype=np.float64)
    if Y.ndim != 2 or Y.shape != P.shape:
        raise ValueError(
            f"Y_true has shape {Y.shape} and the probabilities {P.shape}: both must have one row "
            "per case and one column per label."
        )
    if not np.isin(Y[~np.isnan(Y)], (0.0, 1.0)).all():
        raise ValueError("Y_true must hold 0 and 1, and NaN where a label was not observed.")
    return Y, P
