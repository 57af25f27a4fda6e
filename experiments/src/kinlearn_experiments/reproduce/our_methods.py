"""Four of the six classifiers with kinlearn's defaults: tuned by leave-one-out, combined."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn import (
    LSPCCV,
    IndependentTasks,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPCCV,
    PooledTasks,
)

Array = NDArray[np.float64]
OURS = {
    "LSPC-MT": lambda: MultiTaskLSPCCV(),
    "KLR-MT": lambda: MultiTaskKernelLogisticRegressionCV(),
    "LSPC-STI": lambda: IndependentTasks(LSPCCV()),
    "LSPC-STC": lambda: PooledTasks(LSPCCV()),
}
OUR_LSPC = tuple(name for name in OURS if name.startswith("LSPC"))


def run_ours(
    name: str, X: Array, y: NDArray, task: NDArray, X_test: Array, task_test: NDArray
) -> tuple[Array, float]:
    """Scores of the test rows and processor seconds of ``fit``."""
    model: Any = OURS[name]()
    with warnings.catch_warnings():
        # tasks that saw one class only, optima on the edge of a grid: nothing to act on here
        warnings.simplefilter("ignore", UserWarning)
        started = time.process_time()
        model.fit(X, y, task=task)
        seconds = time.process_time() - started
        if hasattr(model, "decision_function"):
            scores = model.decision_function(X_test, task=task_test)
        else:
            scores = model.predict_proba(X_test, task=task_test)[:, 1] - 0.5
    return np.asarray(scores, dtype=np.float64), seconds
