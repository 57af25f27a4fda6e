"""A fit over Dask collections: centres from a sample, sums over partitions, one solve."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kinlearn.all_or_nothing import aside, take_over, unfitted
from kinlearn.centers import AUTO_CENTERS, POOL_FACTOR
from kinlearn.distributed.detect import is_dask
from kinlearn.distributed.partitions import Partitions, split_partitions
from kinlearn.distributed.reduction import reduce_partitions
from kinlearn.distributed.sampling import sample_rows
from kinlearn.kernels.width import MEDIAN_ROWS
from kinlearn.sums import NormalEquations
from kinlearn.tasks import split_tasks


def fit_partitions(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    task: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
    anew: bool,
) -> Any:
    """Fit an estimator that can be solved from sums.

    Parameters
    ----------
    estimator : LSPC, MultiTaskLSPC or MultiLabelLSPC
    X, y, task, sample_weight : Dask collections
    classes : array-like, optional
        Classes known beforehand.
    anew : bool
        Whether to forget the rows of earlier calls.
    """
    parts = split_partitions(X, y, task, sample_weight)
    if not anew:
        estimator._warn_if_anew()
        anew = not hasattr(estimator, "statistics_")
    changed = unfitted(estimator) if anew else aside(estimator)
    sums = _sums_so_far(changed, parts)
    added = reduce_partitions(reader_of(changed), sums.empty_copy(), parts)
    if classes is not None:
        sums.declare(np.asarray(classes))
    return take_over(estimator, changed.fit_statistics(sums.merge(added)))


def refuse_stream(source: Any) -> None:
    """Say that partitions are no stream."""
    if is_dask(*(source if isinstance(source, (tuple, list)) else (source,))):
        raise TypeError(
            "fit_stream goes through batches one after the other; pass Dask collections to fit or "
            "partial_fit, which work on all partitions side by side."
        )


def refuse_groups(groups: Any) -> None:
    """Say that groups cannot be held out of sums."""
    if groups is not None:
        raise ValueError(
            "groups cannot be held out of sums over partitions, from which Dask collections are "
            "fitted: leave groups out, or fit on the rows in memory."
        )


def reader_of(estimator: Any) -> Any:
    """Return the estimator without what is large and no row is read with."""
    light = copy(estimator)
    light.centers = None
    for name in ("statistics_", "coef_", "centers_", "held_out_scores_", "held_out_links_"):
        light.__dict__.pop(name, None)
    return light


def _sums_so_far(estimator: Any, parts: Partitions) -> NormalEquations:
    """The sums of earlier calls, or new ones with centres from a sample of these partitions."""
    example = parts.example
    if not hasattr(estimator, "statistics_"):
        n_rows = _rows_wanted(estimator)
        if n_rows:
            example = sample_rows(parts, n_rows, check_random_state(estimator.random_state))
    ids = None if parts.task[0] is None else np.zeros(example.shape[0])
    features, _ = split_tasks(example, ids, getattr(estimator, "task_column", None))
    return estimator._sums_for(features)


def _rows_wanted(estimator: Any) -> int:
    wanted = MEDIAN_ROWS if isinstance(estimator.sigma, str) else 0
    if estimator.centers is not None:
        return wanted
    count = estimator.n_centers
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    return max(wanted, POOL_FACTOR * (int(count) if whole else AUTO_CENTERS))
