"""A further task for a fitted model, the other tasks' models kept as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kinlearn.estimators._task_polish import was_polished
from kinlearn.kernels import KernelMap
from kinlearn.solvers.multitask_dual import solve
from kinlearn.solvers.task_covariance import mean_similarity
from kinlearn.threads import on_own_threads
from kinlearn.training.copies import find_distinct_rows
from kinlearn.training.label_table import refuse_mixed_labels

Array = NDArray[np.float64]


def conditional_parameters(
    phi: Array, targets: Array, weights: Array, shared: Array, ridge: float, pull: float
) -> Array:
    """θ of a new task, given all others.

    With ρ = reg·N/T and w̄ the mean similarity, the terms of the objective that hold the new task's
    θ are, up to a factor, Σ_n w_n (θᵀφ_n - z_n)² + ρ(1 + κw̄) ||θ - β_0||², β_0 the part shared by
    the others; so θ = β_0 + δ, δ a ridge solution for the residuals Z - Phi β_0, in its dual.

    Parameters
    ----------
    pull : float
        1 + κw̄; infinite at sharing = 1, where a new task is the shared model.
    """
    if not np.isfinite(pull):
        return shared
    nothing = np.zeros(len(weights), dtype=np.intp)
    residual = targets - phi @ shared
    duals = solve(phi @ phi.T, np.eye(1), nothing, weights, residual, ridge * pull)
    return shared + phi.T @ duals


@on_own_threads
def add_task(self: Any, X: Any, y: Any, task: Any, sample_weight: Any = None) -> Any:
    """Learn one new task without touching the others: a conditional update, not a refit.

    The new task's parameters minimise the objective with all other tasks' parameters, the
    centres, N and T held at their fitted values, and the new task tied to every other by their
    mean similarity. Predictions for the other tasks, the shared part and the calibration do
    not change by a bit. Cost: one solve of the size of the new task. Fit anew to let the new
    task's samples speak for the others, too.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features)
        Rows of the new task, without a task column.
    y : array-like of shape (n,)
        Labels, of classes the model knows.
    task : hashable
        The new task's id.
    sample_weight : array-like of shape (n,), optional
        Weights, on the scale of those in fit; ``class_weight`` is not applied.

    Returns
    -------
    self
    """
    check_is_fitted(self)
    if was_polished(self):
        raise ValueError(
            "The tasks were polished, so that their coefficients are not those of least squares, "
            "which a further task is added to: fit again with polish=None, or with its rows."
        )
    model = self.model_
    assert model.shared is not None
    tasks = _with_new_task(self, task)
    X = self._rows(X)
    labels = _known_labels(self, y, X)
    weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    rows = find_distinct_rows(X, weights)
    totals = rows.total(weights)
    targets = rows.total(weights[:, None] * np.eye(len(self.classes_))[labels])
    targets = targets / totals[:, None]
    distinct = X[rows.first]
    tie = mean_similarity(self.similarity_)
    new = np.zeros_like(model.shared)
    for k, (sigma, at) in enumerate(zip(self.mix_sigmas_, mix_blocks(self), strict=True)):
        features = KernelMap(model.kernels[at], model.centers, self.memory_mb)
        sharing = float(self.mix_sharings_[k])
        pull = 1.0 + sharing / (1.0 - sharing) * tie if sharing < 1.0 else np.inf
        theta = conditional_parameters(
            features.features(distinct, float(sigma)),
            targets,
            totals,
            self.mix_shared_coef_[k],
            float(self.mix_regs_[k]) * self.weight_per_task_,
            pull if tie > 0.0 else 1.0,
        )
        new[at] += self.mix_weights_[k] * theta
    if model.calibration.scales is not None:
        new = model.calibration.layout.scaled(new, model.calibration.scales)
    if model.rule == "rounded_parameters":
        new = np.maximum(new, 0.0)
    _append_task(self, tasks, new, labels[weights > 0], tie)
    return self


def mix_blocks(estimator: Any) -> NDArray[np.intp]:
    """Which of the widths in use each point of the mix belongs to."""
    if hasattr(estimator, "mix_blocks_"):
        return estimator.mix_blocks_
    # files of before had one kernel, so that its widths tell
    return np.searchsorted(estimator.model_.sigmas, estimator.mix_sigmas_)


def _with_new_task(self: Any, task: Any) -> NDArray:
    if self.tasks_ is None:
        raise ValueError(
            "add_task needs a model fitted with task ids: fit with task=, one id per sample."
        )
    if not hasattr(self, "mix_sigmas_"):
        raise ValueError(
            "The model was tuned on a single task, so there is no sharing to extend to "
            "another: fit anew with the samples of both tasks."
        )
    if task in self.tasks_.tolist():
        raise ValueError(
            f"Task {task!r} is known already; fit anew to give a task further samples."
        )
    known = self.tasks_.tolist()
    kinds = {isinstance(t, str) for t in (*known, task)}
    if self.tasks_.dtype != object and len(kinds) > 1:
        raise TypeError(
            f"Task ids are of one kind, such as {known[0]!r}, but the new one is {task!r}."
        )
    if self.tasks_.dtype == object:
        return np.fromiter((*known, task), dtype=object)
    return np.array([*known, task])


def _known_labels(self: Any, y: Any, X: Any) -> NDArray[np.intp]:
    refuse_mixed_labels(y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    labels = np.searchsorted(self.classes_, y)
    labels = np.minimum(labels, len(self.classes_) - 1)
    strange = self.classes_[labels] != y
    if strange.any():
        raise ValueError(
            f"The new task has the class {y[strange][0]!r}, which is not among the model's "
            f"classes {self.classes_.tolist()}; fit anew with all tasks."
        )
    return labels


def _append_task(self: Any, tasks: NDArray, coef: Array, labels: NDArray, tie: float) -> None:
    n_tasks = len(tasks) - 1
    # Ids stay sorted where they can be, because finding them again relies on it.
    order = np.arange(n_tasks + 1) if tasks.dtype == object else np.argsort(tasks)
    similarity = np.full((n_tasks + 1, n_tasks + 1), tie)
    similarity[:n_tasks, :n_tasks] = self.similarity_
    seen = np.zeros((1, len(self.classes_)), dtype=bool)
    seen[0, labels] = True
    self.similarity_ = similarity[np.ix_(order, order)]
    self.task_class_seen_ = np.vstack([self.task_class_seen_, seen])[order]
    model = self.model_
    coefs = np.concatenate([model.coef, coef[:, None]], axis=1)[:, order]
    calibration = model.calibration
    if calibration.task_scales is not None:  # the new task has the common calibration
        scales, offsets = np.append(model.task_scales, 1.0), model.task_offsets
        calibration = replace(
            calibration,
            task_scales=scales[order],
            task_offsets=np.vstack([offsets, calibration.offset])[order],
        )
    self.model_ = replace(model, tasks=tasks[order], coef=coefs, calibration=calibration)
