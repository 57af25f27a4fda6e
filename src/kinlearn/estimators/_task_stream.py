"""Streaming for many tasks: MultiTaskLSPC from each task's sums."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from kinlearn.distributed import is_dask
from kinlearn.distributed.fitting import fit_partitions
from kinlearn.estimators._sample_rows import SampleRows
from kinlearn.estimators._streaming import StreamsRows, streams
from kinlearn.estimators._task_base import REQUESTED, TaskClassifier
from kinlearn.estimators._task_similarity import resolve_similarity
from kinlearn.solvers.multitask_primal import SharedSystem, effective_sharing
from kinlearn.solvers.multitask_primal_general import GeneralSystem, PooledSystem
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.streams import Batch
from kinlearn.sums import NormalEquations
from kinlearn.sums.task_sums import TaskSums
from kinlearn.tasks import split_tasks
from kinlearn.threads import on_own_threads

Array = NDArray[np.float64]
# With similarities that differ every row held out is a system to solve: so many settle one number.
GENERAL_HELD_OUT_ROWS = 300


class TaskSystem(Protocol):
    """All tasks' parameters for one (reg, sharing)."""

    def parameters(self) -> Array:
        """θ_t, shape (T, m, c)."""

    def leave_one_out(
        self, features: Array, targets: Array, weights: Array, task: NDArray[np.intp]
    ) -> Array:
        """Scores of rows held out one at a time."""


def task_system(
    tasks: list[TaskSums], similarity: Array, ridge: float, sharing: float
) -> TaskSystem:
    """The cheapest exact way to solve: one m×m system for tasks that are all alike."""
    alike = effective_sharing(similarity, sharing)
    if alike is not None:
        return SharedSystem(tasks, ridge, alike)
    if sharing == 1.0:
        return PooledSystem(tasks, similarity, ridge)
    return GeneralSystem(tasks, similarity, ridge, sharing)


class TaskStream(StreamsRows, TaskClassifier):
    """``θ_t = F_t⁻¹((T/N)h_t + γθ̄)`` and its like, calibrated on rows the sums kept."""

    __metadata_request__partial_fit = REQUESTED

    sharing: float

    @available_if(streams)
    @on_own_threads
    def partial_fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Add rows to the fit, exactly: the result is that of all rows so far at once.

        Solved from each task's sums, in time that does not depend on the rows seen. The first call
        chooses the width and, unless ``centers`` are given, the centres. Calibration is as in
        :meth:`LSPC.partial_fit`, on rows of all tasks.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels. New classes may appear in any call.
        task : array-like of shape (n_samples,), optional
            Task ids, always or never. New tasks may appear in any call.
        classes : array-like, optional
            Classes to know before a row of them is seen.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        self
        """
        if is_dask(X, y, task, sample_weight):
            return fit_partitions(
                self, X, y, task=task, sample_weight=sample_weight, classes=classes, anew=False
            )
        X, ids = split_tasks(X, task, self.task_column)
        self._stream(X, y, ids, classes, sample_weight)
        return self

    @available_if(streams)
    def forget(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> Any:
        """Take rows out of the fit again: the result is that of the rows that are left.

        A task all of whose rows are forgotten is a task never seen. See :meth:`LSPC.forget`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows that are part of the sums.
        y : array-like of shape (n_samples,)
            Their classes.
        task : array-like of shape (n_samples,), optional
            Their task ids.
        sample_weight : array-like of shape (n_samples,), optional
            Weights: how many copies of each row are to go.

        Returns
        -------
        self
            The model.
        """
        X, ids = split_tasks(X, task, self.task_column)
        self._forget(X, y, ids, sample_weight)
        return self

    @available_if(streams)
    def calibrate(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> Any:
        """Fit beta on leave-one-out scores of these rows, which must be part of the sums.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows that are part of the sums.
        y : array-like of shape (n_samples,)
            Their classes.
        task : array-like of shape (n_samples,), optional
            Their task ids.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, as they were when the rows were added.

        Returns
        -------
        self
            The fitted model.
        """
        X, ids = split_tasks(X, task, self.task_column)
        self._calibrate_again(X, y, ids, sample_weight)
        return self

    def _rows_and_tasks(self, batch: Batch) -> tuple[Any, Any]:
        return split_tasks(batch.X, batch.task, self.task_column)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._checked_sharing()

    def _solve_sums(self, sums: NormalEquations) -> None:
        sharing = self._checked_sharing()
        self._take_classes(sums)
        self.tasks_ = sums.tasks
        self.similarity_ = resolve_similarity(self.similarity, self.tasks_)
        self.task_class_seen_ = sums.class_counts() > 0
        theta = self._system(sums, 1.0).parameters()
        coef = sums.columns(theta)[None]
        shared = unseen_weight(self.similarity_, sharing) * coef.mean(axis=1)
        self._keep_point(sums.sigma, coef, shared, sums.weight)
        self._calibrate_on(sums, self._kept_rows(sums))

    def _system(self, sums: NormalEquations, shrink: float) -> TaskSystem:
        tasks = sums.task_sums()
        ridge = float(self.reg) * sums.weight / len(tasks) * shrink
        return task_system(tasks, self.similarity_, ridge, float(self.sharing))

    def _held_out_of(self, sums: NormalEquations, rows: SampleRows) -> Array:
        system = self._system(sums, rows.shrink)
        # the sums' own order of columns, and back
        order = sums.columns(np.arange(len(self.classes_)))
        own = np.empty_like(rows.targets)
        own[:, order] = rows.targets
        scores = system.leave_one_out(rows.features, own, rows.units, rows.task)
        return sums.columns(scores)

    def _kept_rows(self, sums: NormalEquations) -> SampleRows | None:
        rows = super()._kept_rows(sums)
        if rows is None or effective_sharing(self.similarity_, float(self.sharing)) is not None:
            return rows
        return rows.some(GENERAL_HELD_OUT_ROWS)

    def _checked_sharing(self) -> float:
        raise NotImplementedError

    def _keep_point(self, sigma: float, coef: Any, shared: Any, weight: float) -> None:
        raise NotImplementedError
