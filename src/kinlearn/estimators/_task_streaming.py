"""Adding, forgetting and calibrating rows of tasks: the same as for one task, with their ids."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if

from kinlearn.estimators._streaming import add_rows, calibrate_on, remove_rows, streams
from kinlearn.tasks import split_tasks
from kinlearn.threads import on_own_threads


@available_if(streams)
@on_own_threads
def partial_fit(
    self: Any,
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
    return add_rows(self, X, y, task, classes, sample_weight)


@available_if(streams)
def forget(self: Any, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> Any:
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
    return remove_rows(self, X, y, ids, sample_weight)


@available_if(streams)
def calibrate(self: Any, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> Any:
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
    return calibrate_on(self, X, y, ids, sample_weight)
