"""The rows that a streamed model is calibrated on: those its sums kept, or some given again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.sums import NormalEquations
from kinlearn.sums.held_out_sample import HeldOutSample
from kinlearn.tasks import find_tasks
from kinlearn.training.copies import (
    DistinctRows,
    are_one_thing,
    common_unit,
    find_distinct_rows,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SampleRows:
    """Distinct rows that are part of the sums, single copies of which are held out.

    Equal rows with different labels are entries of their own: a copy leaves with its label.

    Attributes
    ----------
    features : ndarray of shape (s, m)
    targets : ndarray of shape (s, k)
        One-hot classes, or ones and indicators.
    units : ndarray of shape (s,)
        What one copy weighs in the sums.
    weights : ndarray of shape (s,)
        What all copies of an entry weigh together, without ``class_weight``: their number, up to
        the common scale of weights that have no unit.
    task : ndarray of shape (s,)
        Number of each row's task.
    n_units : int
        Number of copies of all rows in the sums.
    repeated : float
        Share of the copies that have another one of their kind.
    """

    features: Array
    targets: Array
    units: Array
    weights: Array
    task: NDArray[np.intp]
    n_units: int
    repeated: float

    @property
    def shrink(self) -> float:
        """What leaving one copy out does to Σw."""
        return (self.n_units - 1) / self.n_units

    def some(self, limit: int) -> SampleRows:
        """At most `limit` of the rows; being ordered by hash, the first are a random choice."""
        if len(self.weights) <= limit:
            return self
        cut = slice(0, limit)
        return SampleRows(
            self.features[cut],
            self.targets[cut],
            self.units[cut],
            self.weights[cut],
            self.task[cut],
            self.n_units,
            self.repeated,
        )


def kept_rows(sums: NormalEquations, factors: Array) -> SampleRows | None:
    """The rows that sums kept; None when there is only one copy to hold out.

    Parameters
    ----------
    sums : NormalEquations
    factors : ndarray of shape (k,)
        The class weights the targets were added with.
    """
    sample = sums.held_out_sample()
    rows = None if sample is None else _rows(sums, sample, factors)
    return None if rows is None or rows.n_units < 2 else rows


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
    return _rows(sums, sample, factors)


def _rows(sums: NormalEquations, sample: HeldOutSample, factors: Array) -> SampleRows:
    """What one copy weighs follows from the sample, which stands for all rows.

    Weights with a common unit are numbers of copies; without one, rows are copies as they came.
    """
    targets = sample.targets / sample.weights[:, None]
    total, factor = sums.weight, np.ones(sample.size)
    if sums.kind == "classes":
        total = float((sums.target_sums() / factors).sum())
        factor = targets @ factors
    weights = sample.weights / factor
    unit = common_unit(weights)
    one = weights / sample.counts if unit is None else np.full(sample.size, unit)
    n_units = sums.n_rows if unit is None else round(total / unit)
    distinct = find_distinct_rows(sample.X, task=sample.task)
    if _one_thing(sample, distinct, weights, one, unit):
        one = weights
        n_units = round(sums.n_rows * distinct.n_distinct / float(sample.counts.sum()))
    return SampleRows(
        features=sums.features().features(sample.X, sums.sigma),
        targets=targets,
        units=one * factor,
        weights=weights * (n_units / total),
        task=sample.task,
        n_units=n_units,
        repeated=float(weights[weights > 1.5 * one].sum() / weights.sum()),
    )


def _one_thing(
    sample: HeldOutSample,
    distinct: DistinctRows,
    weights: Array,
    one: Array,
    unit: float | None,
) -> bool:
    """Whether equal rows of the sample are one thing seen more than once."""
    copies = sample.counts.sum() if unit is None else weights.sum() / unit
    return are_one_thing(
        sample.X[distinct.first], distinct.member, sample.counts, weights / one, float(copies)
    )
