"""Sums over Dask collections: centres from a sample, sums over partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kinlearn.all_or_nothing import unfitted
from kinlearn.distributed.log_loss import log_loss_over
from kinlearn.distributed.partitions import Partitions, split_partitions
from kinlearn.distributed.reduction import reduce_partitions
from kinlearn.distributed.sampling import sample_rows
from kinlearn.estimators._batches import BatchReader, stream_width
from kinlearn.estimators._classifier import ACCEPTED, are_collections
from kinlearn.estimators._stream_fit import rows_of_width
from kinlearn.estimators._stream_polish import SumsPolish, polishes
from kinlearn.streams import Batch
from kinlearn.sums import NormalEquations
from kinlearn.tasks import split_tasks
from kinlearn.training.centers import AUTO_CENTERS, POOL_FACTOR


def add_collections(
    estimator: Any, X: Any, y: Any, task: Any, sample_weight: Any, classes: Any = None
) -> NormalEquations:
    """Return the sums of an estimator with those of Dask collections added.

    Parameters
    ----------
    estimator : estimator
        A copy aside; with ``statistics_`` if these are to be added to.
    X, y, task, sample_weight : Dask collections
    classes : array-like, optional
        Classes known beforehand.
    """
    parts = split_partitions(X, y, task, sample_weight)
    sums = _sums_so_far(estimator, parts)
    added = reduce_partitions(_reader_of(estimator), sums.empty_copy(), parts)
    if classes is not None:
        sums.declare(np.asarray(classes))
    return sums.merge(added)


def polish_collections(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Polish a model that was solved from the sums of Dask collections.

    Parameters
    ----------
    model : estimator
        With the sums of these collections alone.
    X, y, sample_weight : Dask collections
    """
    if not polishes(model):
        return model
    found = SumsPolish(model, model._polish_choice(model.statistics_))
    polish = found.polish
    if polish is not None:
        parts, reader = split_partitions(X, y, None, sample_weight), _reader_of(model)
        first = None
        while not polish.done:
            value, gradient, seen = log_loss_over(reader, found.loss, polish.coef, parts)
            if first is not None and seen != first:
                raise ValueError(
                    "The collections gave other rows, or another order, than in the pass before: a "
                    "polish goes over the same rows again. persist() them, or take polish=None."
                )
            first = seen
            polish.tell(value, gradient)
    return found.finished()


def _reader_of(estimator: Any) -> BatchReader:
    """What reads rows on other machines: without what is large and no row is read with."""
    light = unfitted(estimator)
    light.centers = None
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(light, name, getattr(estimator, name))
    return BatchReader(light)


def _sums_so_far(estimator: Any, parts: Partitions) -> NormalEquations:
    """The sums of earlier calls, or new ones with centres from a sample of these partitions."""
    if hasattr(estimator, "statistics_"):
        return estimator.statistics_.copy()
    example, first, n_rows = parts.example, None, _rows_wanted(estimator)
    if n_rows:
        rng = check_random_state(estimator.random_state)
        example, y, weights = sample_rows(parts, n_rows, rng)
        first = [Batch(example, y, None, weights)]
    ids = None if parts.task[0] is None else np.zeros(example.shape[0])
    features, _ = split_tasks(example, ids, getattr(estimator, "task_column", None))
    return BatchReader(estimator).begin(validate_data(estimator, features, **ACCEPTED), first)


def _rows_wanted(estimator: Any) -> int:
    wanted = rows_of_width(estimator) if isinstance(stream_width(estimator), str) else 0
    if estimator.centers is not None:
        return wanted
    count = estimator.n_centers
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    return max(wanted, POOL_FACTOR * (int(count) if whole else AUTO_CENTERS))


def refuse_stream(source: Any) -> None:
    """Say that partitions are no stream."""
    if are_collections(*(source if isinstance(source, (tuple, list)) else (source,))):
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
