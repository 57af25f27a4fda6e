"""Rows on their way into sums: validated, weighted, and the width and centres of the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from kinlearn.estimators._checks import kernel_list
from kinlearn.estimators._classifier import ACCEPTED
from kinlearn.kernels import median_width
from kinlearn.kernels.measures import Rows
from kinlearn.streams import Batch
from kinlearn.streams.batches import stacked
from kinlearn.sums import NormalEquations
from kinlearn.sums.batch import read_weights
from kinlearn.sums.row_hash import row_hashes
from kinlearn.tasks import split_tasks
from kinlearn.training.centers import AUTO_CENTERS
from kinlearn.training.copies import find_distinct_rows
from kinlearn.training.label_table import is_single_column, refuse_mixed_labels

Array = NDArray[np.float64]


def stream_width(estimator: Any) -> float | str:
    """The width that sums are to have: a number, or ``"median"``."""
    if hasattr(estimator, "sigma"):
        return estimator.sigma if isinstance(estimator.sigma, str) else float(estimator.sigma)
    if getattr(estimator, "sigmas", None) is None:
        return "median"
    given = np.ravel(np.asarray(estimator.sigmas, dtype=np.float64))
    if given.size != 1:
        raise ValueError(
            f"Sums are over features of one width, but sigmas holds {given.size}: give one value, "
            "or leave sigmas out for the median distance; reg and sharing are tuned."
        )
    return float(given[0])


class BatchReader:
    """Reads rows as an estimator does; it is what goes to other machines.

    Parameters
    ----------
    estimator : estimator
        Its parameters, and the names of its features.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def task_column(self) -> Any:
        return getattr(self.estimator, "task_column", None)

    def read(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = False
    ) -> tuple[Rows, Any, Array | None]:
        """Validate rows; weights come back with ``class_weight`` in them."""
        estimator = self.estimator
        if self._is_table(y):
            X = validate_data(estimator, X, reset=reset, **ACCEPTED)
            if not hasattr(y, "columns") and np.shape(y)[1] == 1:
                y = sp.csr_matrix(y)  # sums take a plain column for classes
        else:
            refuse_mixed_labels(y)
            X, y = validate_data(estimator, X, y, reset=reset, **ACCEPTED)
        estimator._kernel().check(X, getattr(estimator, "feature_names_in_", None))
        if sample_weight is None and estimator.class_weight is None:
            return X, y, None
        weights = np.ones(X.shape[0])
        if sample_weight is not None:
            weights = read_weights(sample_weight, X.shape[0])
        if estimator.class_weight is not None:
            labels, codes = np.unique(np.asarray(y), return_inverse=True)
            weights = weights * class_factors(estimator.class_weight, labels)[codes.ravel()]
        return X, y, weights

    def _is_table(self, y: Any) -> bool:
        estimator = self.estimator
        table = hasattr(estimator, "n_similar") and y is not None and not is_single_column(y)
        if table and estimator.class_weight is not None:
            raise ValueError(
                f"class_weight={estimator.class_weight!r} gives labels weights of their own, which "
                "sums over rows do not keep apart: leave it out, or fit on the rows at once."
            )
        return table

    def rows_and_tasks(self, batch: Batch) -> tuple[Any, Any]:
        """Features and task ids of a batch."""
        estimator = self.estimator
        if hasattr(estimator, "task_column"):
            return split_tasks(batch.X, batch.task, estimator.task_column)
        if batch.task is not None:
            raise ValueError(
                f"The batch has task ids, but {type(estimator).__name__} has no tasks: use "
                "MultiTaskLSPC, or leave them out."
            )
        return batch.X, None

    def features(self, batch: Batch, reset: bool) -> Rows:
        """The features of a batch's rows of positive weight, from which centres may be chosen."""
        X, _ = self.rows_and_tasks(batch)
        X = validate_data(self.estimator, X, reset=reset, **ACCEPTED)
        if batch.sample_weight is None:
            return X
        return X[read_weights(batch.sample_weight, X.shape[0]) > 0]

    def add(self, sums: NormalEquations, batch: Batch) -> NormalEquations:
        """Sums with a batch of a stream added to them."""
        X, task = self.rows_and_tasks(batch)
        X, y, weights = self.read(X, batch.y, batch.sample_weight)
        return sums.copy().update(X, y, task=task, sample_weight=weights)

    def begin(self, X: Rows, first: list[Batch] | None = None) -> NormalEquations:
        """Sums of no rows yet, with the width and the centres chosen from X.

        By the labels of the batches that X was of, where they are given, a tuned estimator chooses
        kernel, metric and width.
        """
        estimator = self.estimator
        kernel = estimator._kernel()
        kernel.check(X, getattr(estimator, "feature_names_in_", None))
        rows = find_distinct_rows(X)
        distinct, sigma = X[rows.first], stream_width(estimator)
        if first is not None and hasattr(estimator, "_block_of_rows"):
            chosen = estimator._block_of_rows(*self._read_together(first))
            if chosen is not None:
                kernel, sigma = chosen.kernel, chosen.sigma
        if isinstance(sigma, str):
            sigma = median_width(distinct, kernel, rows.canonical)
        if estimator.n_centers is None:
            raise ValueError(
                "n_centers=None makes every row a centre, which rows that arrive one by one cannot "
                'be: use n_centers="auto", a number, or centers=.'
            )
        automatic = AUTO_CENTERS if isinstance(estimator.n_centers, str) else None
        centers = estimator._place_centers(distinct, rows, kernel, sigma, automatic)
        return NormalEquations(
            centers.rows,
            kernel=kernel.spec,
            sigma=sigma,
            degree=estimator.degree,
            coef0=estimator.coef0,
            memory_mb=estimator.memory_mb,
            metric=kernel.metric,
        )

    def _read_together(self, batches: list[Batch]) -> tuple[Rows, Any, Array | None]:
        """Rows, labels and weights of several batches, without ``class_weight``.

        In the order of the rows' hashes: what is chosen by them depends on no other.
        """
        read = [self.read(batch.X, batch.y, batch.sample_weight) for batch in batches]
        tables = [np.asarray(y.todense() if sp.issparse(y) else y) for _, y, _ in read]
        y = np.concatenate(tables)
        given = [batch.sample_weight for batch in batches]
        weights = None
        if any(each is not None for each in given):
            weights = np.concatenate(
                [
                    np.ones(len(own)) if each is None else read_weights(each, len(own))
                    for each, own in zip(given, tables, strict=True)
                ]
            )
        X = stacked([X for X, _, _ in read])
        order = np.argsort(row_hashes(X), kind="stable")
        return X[order], y[order], None if weights is None else weights[order]


def class_factors(class_weight: Any, classes: NDArray) -> Array:
    """The factor of every class by a class weight."""
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r} depends on all rows, which are not known "
            "while they arrive: pass a dict of weights, or weight the rows by sample_weight."
        )
    factors = np.array([float(class_weight.get(name, 1.0)) for name in classes.tolist()])
    if not (factors > 0).all():
        raise ValueError(
            f"class_weight={class_weight!r} gives a class no weight: use positive weights."
        )
    return factors


def check_fits(self: Any, sums: NormalEquations) -> None:
    """The model's own kernel must be that of the sums."""
    if not isinstance(sums, NormalEquations):
        raise TypeError(f"NormalEquations are needed, but {type(sums).__name__} was given.")
    given = kernel_list(self.kernel)
    mismatch = [] if sums.kernel in given else [("kernel", self.kernel, sums.kernel)]
    if sums.kernel == "polynomial":
        mismatch += [
            (name, getattr(self, name), getattr(sums, name))
            for name in ("degree", "coef0")
            if getattr(self, name) != getattr(sums, name)
        ]
    sigma = stream_width(self)
    if not isinstance(sigma, str) and sigma != sums.sigma:
        mismatch.append(("sigma", sigma, sums.sigma))
    if mismatch:
        name, mine, theirs = mismatch[0]
        raise ValueError(
            f"The model has {name}={mine!r}, but the sums were made with {theirs!r}: what is "
            "part of the features cannot be changed without the rows."
        )
