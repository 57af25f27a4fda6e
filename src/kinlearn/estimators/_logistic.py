"""What the logistic estimators share: their solver, and scores that are log-odds already."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import check_choice, check_positive
from kinlearn.estimators._training_set import TrainingSet
from kinlearn.selection.folds import Validation
from kinlearn.selection.reporting import reported_scores
from kinlearn.selection.scoring import HeldOutRows, resolve_scoring
from kinlearn.selection.search import GridSearch
from kinlearn.solvers.logistic_newton import LogisticSolution
from kinlearn.solvers.logistic_path import SOLVERS, Stopping

# Averages of log-odds are log-odds; least squares of 0 and 1 on log-odds would not be.
RULES = ("best", "within_se")
N_FOLDS = 5


class LogisticClassifier(KernelClassifier):
    """A kernel classifier whose posterior is the softmax of its scores as they are."""

    posterior = "calibrated"
    fallback = "uniform"
    basis = "full"
    limit_at_zero_reg = False

    solver: str
    tol: float
    max_iter: int | None

    def _stopping(self) -> Stopping:
        """Check which solver is to run, and how far."""
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        if self.max_iter is not None and (
            not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 1
        ):
            raise ValueError(
                "max_iter must be a positive whole number or None, "
                f"but {self.max_iter!r} was given."
            )
        self.beta_ = 1.0
        return Stopping(self.solver, float(self.tol), self.max_iter)

    def _keep_effort(self, found: list[LogisticSolution]) -> None:
        """Keep how the model was found, and warn where that did not end at a small gradient."""
        self.gradient_norm_ = max(one.gradient_norm for one in found)
        self.n_iter_ = max(one.n_iter for one in found)
        self.n_factorisations_ = sum(one.n_factorisations for one in found)
        if self.gradient_norm_ > self.tol:
            self._warn(f"stopped after {self.n_iter_} iterations", self.gradient_norm_)

    def _warn(self, what: str, norm: float) -> None:
        warnings.warn(
            f"{type(self).__name__} {what} at a gradient norm of {norm:.2g}, above "
            f"tol={self.tol:.2g}: raise max_iter, use a larger reg, or accept this accuracy by "
            "raising tol.",
            ConvergenceWarning,
            stacklevel=5,
        )


class TunedLogistic(LogisticClassifier):
    """What the tuned ones share: criteria of their own posterior."""

    cv: Any
    scoring: Any
    combine: str

    def _criterion(self) -> Any:
        """The log-loss unless told otherwise; squared error is that of the probabilities."""
        scoring = "log_loss" if self.scoring is None else resolve_scoring(self.scoring)
        return "brier" if scoring == "squared_error" else scoring

    def _cv(self, data: TrainingSet, groups: np.ndarray | None) -> Any:
        """Five folds unless told otherwise, or as many as there are rows or groups to hold out."""
        if self.cv is not None:
            return self.cv
        units = data.n_rows if data.units.together else int((data.units.of >= 0).sum())
        if groups is not None:
            units = np.unique(groups).size
        return max(2, min(N_FOLDS, units))

    def _log_odds_rows(self, data: TrainingSet, validation: Validation) -> HeldOutRows:
        rows = replace(self._held_out_rows(data, validation), beta=1.0)
        if self.scoring is None:  # the loss that the fit minimises, class_weight included
            return replace(rows, targets=rows.fit_targets, weights=rows.fit_weights)
        return rows

    def _keep_log_odds(self, search: GridSearch) -> np.ndarray:
        """Combine the points, keep their weights, and their held-out scores as reported."""

        def learn(rows: HeldOutRows) -> np.ndarray:
            judged = search if rows is search.rows else search.on(rows)
            return judged.combined(self.combine)

        self.weights_ = learn(search.rows)
        neutral = np.concatenate([[1.0, 0.0, 1.0], np.zeros(search.scores.shape[2])])
        self._keep_reported(
            reported_scores(search.rows, learn, search.mixed_scores, lambda _: neutral)
        )
        return self.weights_

    def _keep_norms(self, norms: np.ndarray) -> None:
        """Tell of every point how well its fits converged; warn where that was to be chosen by."""
        self.cv_results_["max_gradient_norm"] = norms
        worst = float(norms[self.best_index_])
        if worst > self.tol:
            self._warn("stopped some held-out fits of its best point", worst)
