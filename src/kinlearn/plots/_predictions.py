"""What the displays ask of a fitted classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


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
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    name = name or type(last).__name__
    return np.asarray(estimator.predict_proba(X)), estimator.classes_, name
