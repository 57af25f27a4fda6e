"""Fitting from sums over rows: adding rows, taking them out, solving anew without them.

These are the methods of every estimator that streams; each estimator says by ``_pose`` what problem
sums pose. Whatever changes a model works on a copy aside, which replaces it at the end: whatever
stops a call, a refusal or Ctrl-C, the model is the one before it or the one after it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kinlearn.all_or_nothing import aside, take_over, unfitted
from kinlearn.estimators._batches import BatchReader, check_fits, stream_width
from kinlearn.estimators._checks import check_model_choices, kernel_list
from kinlearn.estimators._classifier import are_collections
from kinlearn.estimators._collections import (
    add_collections,
    polish_collections,
    refuse_groups,
    refuse_stream,
)
from kinlearn.estimators._from_sums import solved, target_factors
from kinlearn.estimators._polish import (
    IN_MEMORY,
    check_polish,
    parameter_obstacles,
    refuse_obstacles,
)
from kinlearn.estimators._stream_fit import StreamRun
from kinlearn.estimators._stream_polish import polish_stream
from kinlearn.problems.sample_rows import given_rows
from kinlearn.streams import ColumnRoles, StreamProgress
from kinlearn.streams.sources import BATCH_ROWS
from kinlearn.sums import NormalEquations
from kinlearn.tasks import split_tasks
from kinlearn.threads import on_own_threads


def streams(estimator: Any) -> bool:
    """Whether a model can be had from sums: rows must have features, classes all centres.

    Sums are over the features of one width: a grid of several cannot be searched in them.
    """
    try:
        stream_width(estimator)
    except ValueError as refused:
        raise AttributeError("Sums are over features of one width.") from refused
    return "precomputed" not in kernel_list(estimator.kernel) and estimator.basis == "full"


# -- adding rows ----------------------------------------------------------------------------------


@available_if(streams)
@on_own_threads
def partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
    """Add rows to the fit, exactly: the result is that of all rows so far at once.

    The first call chooses the width and, unless ``centers`` are given, the centres from its
    rows, so it should bring a fair sample of them. Every call ends with a solve, O(m³);
    ``fit_stream`` solves once at the end.

    With ``posterior="calibrated"``, beta is fitted on leave-one-out scores of this same model,
    in closed form, for at most 2000 distinct rows that are kept: those of the smallest hashes,
    which are the same in any order of the data. While fewer distinct rows were seen this is the
    calibration of ``fit`` with the same centres.

    A call that is refused or interrupted leaves the model as it was. Rows without weight are
    as good as absent: a batch of such changes nothing, and a model that has seen no other
    stays unfitted.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,), or (n_samples, n_labels) of many labels
        Class labels; new classes may appear in any call. Many labels are 0/1 indicators, all
        observed; columns of a DataFrame are known by name, and a label that has not appeared yet
        is 0.
    classes : array-like, optional
        Classes to know before a row of them is seen.
    sample_weight : array-like of shape (n_samples,), optional
        Weights.

    Returns
    -------
    self
    """
    return add_rows(self, X, y, None, classes, sample_weight)


def add_rows(self: Any, X: Any, y: Any, task: Any, classes: Any, sample_weight: Any) -> Any:
    """Add rows, the first of which choose the width and the centres, and solve."""
    _check(self)
    if are_collections(X, y, task, sample_weight):
        _warn_if_anew(self)
        first = not hasattr(self, "statistics_")
        changed = unfitted(self) if first else aside(self)
        sums = add_collections(changed, X, y, task, sample_weight, classes)
        return take_over(self, solved(changed, sums))
    X, ids = split_tasks(X, task, self.task_column) if hasattr(self, "task_column") else (X, None)
    first = not hasattr(self, "statistics_")
    changed = unfitted(self) if first else aside(self)
    reader = BatchReader(changed)
    X, y, weights = reader.read(X, y, sample_weight, reset=first)
    present = np.ones(X.shape[0], dtype=bool) if weights is None else weights > 0
    if first:
        if not present.any():
            if classes is not None:
                warn_no_weight()
            return self  # there is nothing yet to choose a width and centres from
        _warn_if_anew(self)
        sums = reader.begin(X if present.all() else X[present])
    else:
        sums = self.statistics_.copy()
    sums.update(X, y, task=ids, sample_weight=weights)
    if classes is not None:
        sums.declare(classes)
    return take_over(self, solved(changed, sums))


@available_if(streams)
@on_own_threads
def fit_stream(
    self: Any,
    source: Any,
    *,
    y: Any = None,
    task: str | None = None,
    sample_weight: str | None = None,
    features: list[str] | None = None,
    classes: Any = None,
    batch_rows: int = BATCH_ROWS,
    centers_from: str = "first",
    checkpoint: Any = None,
    checkpoint_every: int = 50,
    progress: Callable[[StreamProgress], None] | None = None,
    warm_start: bool = False,
) -> Any:
    """Fit in passes over rows that need not fit in memory.

    A tuned estimator first chooses kernel, metric and width by leave-one-out over a sample of the
    rows that centres are chosen from. One pass makes the sums, which are solved once. Where the fit
    is polished (``polish=``), a few more follow; they need a source that can be gone through again,
    and a one-shot iterator keeps the closed form. The result is that of ``fit`` with the same
    features on all rows at once. If a batch cannot be read or is not valid, a
    :class:`~kinlearn.streams.StreamError` names it, its file and its row. Then, and after Ctrl-C,
    ``statistics_`` holds the whole batches before it, from which :meth:`refit` solves; until then
    the model is not fitted, or while it is polished the closed form. Where there are none, it is
    left as it was.

    Parameters
    ----------
    source : path, list of paths, tuple of arrays, table, or iterable of batches
        A file (Parquet, Arrow, Feather, CSV; needs ``kinlearn[stream]``) or a folder of such,
        read by name; ``(X, y)``, ``(X, y, task)`` or ``(X, y, task, sample_weight)`` arrays,
        memory-mapped ones, too; a table; or an iterable of batches that are such tuples or
        tables. A function that returns an iterator can be gone through more than once.
    y : str or list of str, optional
        Of tables: the column of labels, or the columns of indicators.
    task, sample_weight : str, optional
        Of tables: columns of task ids and weights.
    features : list of str, optional
        Of tables: the features; all other columns when left out.
    classes : array-like, optional
        Classes to know before a row of them is seen.
    batch_rows : int, default=8192
        Rows at a time from arrays, tables and files.
    centers_from : {"first", "reservoir"}, default="first"
        Choose the width and the centres from the first rows (ten times as many as centres), or
        from a sample of all rows, which takes a pass of its own and depends on no order.
    checkpoint : path, optional
        Where to save sums every `checkpoint_every` batches, at a failure, at Ctrl-C and at the end.
        If it is there already, its rows are skipped, in whatever batches they come, and the rest
        is added: the result is the same. Refused is a checkpoint of other centres or another
        width, or of a source whose last rows before that point were others.
    checkpoint_every : int, default=50
        Batches between checkpoints.
    progress : callable, optional
        Called after each batch with a :class:`~kinlearn.streams.StreamProgress` (batches, rows,
        rows per second); the same is logged by the logger ``kinlearn.stream``.
    warm_start : bool, default=False
        Add to ``statistics_`` of an earlier call instead of starting anew.

    Returns
    -------
    self
    """
    _check(self)
    refuse_stream(source)
    run = StreamRun(
        aside(self) if warm_start else unfitted(self),
        source,
        ColumnRoles(y, task, sample_weight, features),
        classes=classes,
        batch_rows=batch_rows,
        centers_from=centers_from,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        progress=progress,
    )
    found = None
    try:
        run.run()
        so_far = run.model_so_far()
        found = solved(so_far, so_far.statistics_)
        return take_over(self, polish_stream(found, run))
    except BaseException:
        if found is not None:
            take_over(self, found)
        elif run.added:
            take_over(self, run.model_so_far())
        raise


def fit_collections(
    self: Any, X: Any, y: Any, sample_weight: Any, groups: Any, task: Any = None
) -> Any:
    """Fit anew to Dask collections: centres from a sample, sums over partitions, one solve."""
    if hasattr(self, "_refuse_collections"):
        self._refuse_collections(groups)
    refuse_groups(groups)
    _check(self)
    changed = unfitted(self)
    sums = add_collections(changed, X, y, task, sample_weight)
    found = solved(changed, sums)
    return take_over(self, polish_collections(found, X, y, sample_weight))


# -- taking rows out ------------------------------------------------------------------------------


@available_if(streams)
def forget(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Take rows out of the fit again: the result is that of the rows that are left.

    Weights are numbers of copies: what was added twice is forgotten at once with a weight of 2.
    A removal of what cannot have been added is refused, and changes nothing (see
    :meth:`NormalEquations.downdate`). Centres stay where they are, even those chosen from rows
    that are forgotten. Without its last row, the model is unfitted, centres included, and
    ``partial_fit`` begins anew.

    Parameters
    ----------
    X, y, sample_weight
        As in :meth:`partial_fit`.

    Returns
    -------
    self
    """
    return remove_rows(self, X, y, None, sample_weight)


def remove_rows(self: Any, X: Any, y: Any, task: Any, sample_weight: Any) -> Any:
    check_is_fitted(self, "statistics_")
    _check(self)
    X, y, weights = BatchReader(self).read(X, y, sample_weight)
    sums = self.statistics_.copy().downdate(X, y, task=task, sample_weight=weights)
    return take_over(self, unfitted(self) if sums.n_rows == 0 else solved(aside(self), sums))


# -- solving again --------------------------------------------------------------------------------


@on_own_threads
def fit_statistics(self: Any, statistics: NormalEquations) -> Any:
    """Solve from sums over rows, without the rows.

    With ``posterior="calibrated"``, ``held_out_log_loss_`` is the log-loss of the leave-one-out
    probabilities of the rows the sums kept: what to choose ``reg`` and ``sharing`` by.

    Parameters
    ----------
    statistics : NormalEquations
        The sums, a copy of which is kept as ``statistics_`` and added to by later calls of
        ``partial_fit``. The kernel, its width and the centres are theirs.

    Returns
    -------
    self
    """
    _check(self)
    check_fits(self, statistics)
    if statistics.n_rows == 0:
        raise ValueError("These sums hold no rows: update them before solving.")
    return take_over(self, solved(aside(self), statistics.copy()))


def refit(self: Any) -> Any:
    """Solve again from ``statistics_``, after parameters such as ``reg`` were changed.

    Returns
    -------
    self
        The fitted model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kinlearn import LSPC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LSPC(n_centers=20, random_state=0).partial_fit(X, y)
    >>> model.set_params(reg=0.1).refit().score(X, y) > 0.8
    True
    """
    check_is_fitted(self, "statistics_")
    return self.fit_statistics(self.statistics_)


@available_if(streams)
def calibrate(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Fit beta on leave-one-out scores of these rows, which must be part of the sums.

    A second pass over some or all rows: needed where the sums keep none.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows that are part of the sums.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, as they were when the rows were added.

    Returns
    -------
    self
        The fitted model.
    """
    return calibrate_on(self, X, y, None, sample_weight)


def calibrate_on(self: Any, X: Any, y: Any, task: Any, sample_weight: Any) -> Any:
    check_is_fitted(self, "statistics_")
    X, y, weights = BatchReader(self).read(X, y, sample_weight)
    sums = self.statistics_
    factors = target_factors(self, sums)
    rows = given_rows(sums, X, y, task, weights, factors)
    return take_over(self, solved(aside(self), sums, rows))


# -- checks ---------------------------------------------------------------------------------------


def _check(self: Any) -> None:
    """What can be said of the parameters before any row is read."""
    check_model_choices(self)
    stream_width(self)
    if hasattr(self, "polish"):
        check_polish(self.polish)
        if self.polish not in ("auto", None):
            unstreamed = [] if hasattr(self, "_polish_choice") else [IN_MEMORY]
            refuse_obstacles(self.polish, unstreamed + parameter_obstacles(self))
    if hasattr(self, "cv") and not (isinstance(self.cv, str) and self.cv == "loo"):
        raise ValueError(
            f"cv={self.cv!r} cannot be held out of sums, from which one row leaves at a time: use "
            'cv="loo", or fit on the rows at once.'
        )
    self._check_stream_parameters()
    if not streams(self):
        raise ValueError(
            "A precomputed kernel or basis='classwise' cannot be fitted from sums: use a "
            "kernel on features and basis='full'."
        )


def _warn_if_anew(self: Any) -> None:
    if hasattr(self, "model_") and not hasattr(self, "statistics_"):
        warnings.warn(
            f"This {type(self).__name__} was fitted by fit, which keeps no sums to add to: "
            "partial_fit starts anew, and what fit learnt is dropped.",
            UserWarning,
            stacklevel=5,
        )


def warn_no_weight() -> None:
    """Say what becomes of classes declared with rows that do not count."""
    warnings.warn(
        "No row of this first batch has any weight, so that nothing was begun: give classes again "
        "with the first rows of positive weight.",
        UserWarning,
        stacklevel=4,
    )
