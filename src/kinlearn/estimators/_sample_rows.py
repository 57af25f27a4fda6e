"""The rows that a streamed model is calibrated on: those its sums kept, or some given again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.statistics import NormalEquations
from kinlearn.statistics.held_out_sample import HeldOutSample
from kinlearn.tasks import find_tasks

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SampleRows:
    """Distinct rows that are part of the sums, to be held out one at a time.

    Attributes
    ----------
    features : ndarray of shape (s, m)
    targets, weights : ndarrays of shape (s, k) and (s,)
        As they entered the sums.
    plain_targets, plain_weights : ndarrays of the same shapes
        Without ``class_weight``.
    task : ndarray of shape (s,)
        Number of each row's task.
    n_units : int
        Number of distinct rows in the sums, as far as it is known, else of rows.
    """

    features: Array
    targets: Array
    weights: Array
    plain_targets: Array
    plain_weights: Array
    task: NDArray[np.intp]
    n_units: int

    @property
    def shrink(self) -> float:
        """What leaving one row out does to n."""
        return (self.n_units - 1) / self.n_units

    def some(self, limit: int) -> SampleRows:
        """At most `limit` of the rows; being ordered by hash, the first are a random choice."""
        if len(self.weights) <= limit:
            return self
        cut = slice(0, limit)
        return SampleRows(
            self.features[cut],
            self.targets[cut],
            self.weights[cut],
            self.plain_targets[cut],
            self.plain_weights[cut],
            self.task[cut],
            self.n_units,
        )


def kept_rows(sums: NormalEquations, factors: Array) -> SampleRows | None:
    """The rows that sums kept; None when there are too few to hold one out.

    Parameters
    ----------
    sums : NormalEquations
    factors : ndarray of shape (k,)
        The class weights the targets were added with.
    """
    sample = sums.held_out_sample()
    if sample is None or sample.size < 2:
        return None
    return _rows(sums, sample, factors, sample.size if sample.complete else sums.n_rows)


def given_rows(
    sums: NormalEquations, X: Any, y: Any, task: Any, sample_weight: Any, factors: Array
) -> SampleRows:
    """Rows given again that the sums hold.

    Parameters
    ----------
    sums : NormalEquations
    X, y, task, sample_weight
        As they were added, ``class_weight`` included in the weights.
    factors : ndarray of shape (k,)
    """
    reader = NormalEquations(sums.centers[:1], kernel=sums.kernel, n_held_out=len(y))
    if sums.kind == "classes":
        reader.declare(sums.classes)
    reader.update(X, y, task=task, sample_weight=sample_weight)
    unknown = [name for name in reader.classes.tolist() if name not in sums.classes.tolist()]
    if unknown:
        raise ValueError(f"y holds {unknown[0]!r}, of which the model has seen no row.")
    sample = reader.held_out_sample()
    assert sample is not None
    if sums.tasks is not None and reader.tasks is not None:
        number = find_tasks(reader.tasks, sums.tasks)
        if (number < 0).any():
            raise ValueError(
                f"No rows of task {reader.tasks[number < 0][0]!r} are part of the model."
            )
        columns = np.arange(sample.targets.shape[1])
        sample = sample.renumbered(number, columns, columns.size)
    return _rows(sums, sample, factors, sums.n_rows)


def _rows(sums: NormalEquations, sample: HeldOutSample, factors: Array, n_units: int) -> SampleRows:
    plain = sample.targets / factors
    total = plain.sum(axis=1) if sums.kind == "classes" else sample.weights
    return SampleRows(
        features=sums.features().features(sample.X, sums.sigma),
        targets=sample.targets / sample.weights[:, None],
        weights=sample.weights,
        plain_targets=plain / total[:, None],
        plain_weights=total,
        task=sample.task,
        n_units=n_units,
    )
