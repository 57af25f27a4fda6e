"""What the logistic estimators share: how far they iterate, and what they warn of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kinlearn.estimators._checks import check_choice, check_positive
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.solvers.logistic_path import SOLVERS, Stopping
from kinlearn.training.training_set import TrainingSet

# Averages of log-odds are log-odds; least squares of 0 and 1 on log-odds would not be.
RULES = ("best", "within_se")
N_FOLDS = 5
INSTEAD = "KernelLogisticRegression with settings of your own"


def stopping_of(estimator: Any) -> Stopping:
    """Check which solver is to run, and how far."""
    check_choice("solver", estimator.solver, SOLVERS)
    check_positive("tol", estimator.tol)
    most = estimator.max_iter
    if most is not None and (not isinstance(most, (int, np.integer)) or most < 1):
        raise ValueError(
            f"max_iter must be a positive whole number or None, but {most!r} was given."
        )
    return Stopping(estimator.solver, float(estimator.tol), None if most is None else int(most))


def warn_if_stopped(estimator: Any, facts: dict[str, Any]) -> None:
    """Say where a model was not found to the accuracy asked for."""
    if facts["gradient_norm_"] > estimator.tol:
        what = f"stopped after {facts['n_iter_']} iterations"
        _warn(estimator, what, facts["gradient_norm_"])


def warn_if_held_out_stopped(estimator: Any, norm: float) -> None:
    """Say so of the fits that the best point was chosen by."""
    if norm > estimator.tol:
        _warn(estimator, "stopped some held-out fits of its best point", norm)


def _warn(estimator: Any, what: str, norm: float) -> None:
    warnings.warn(
        f"{type(estimator).__name__} {what} at a gradient norm of {norm:.2g}, above "
        f"tol={estimator.tol:.2g}: raise max_iter, use a larger reg, or accept this accuracy by "
        "raising tol.",
        ConvergenceWarning,
        stacklevel=4,
    )


def criterion_of(scoring: Any) -> Any:
    """The log-loss unless told otherwise; squared error is that of the probabilities."""
    found = "log_loss" if scoring is None else resolve_scoring(scoring)
    return "brier" if found == "squared_error" else found


def folds_of(cv: Any, data: TrainingSet, groups: np.ndarray | None) -> Any:
    """Five folds unless told otherwise, or as many as there are rows or groups to hold out."""
    if cv is not None:
        return cv
    units = data.n_rows if data.units.together else int((data.units.of >= 0).sum())
    if groups is not None:
        units = np.unique(groups).size
    return max(2, min(N_FOLDS, units))
