"""A problem posed in a metric that was learnt from the labels, with honest held-out scores.

A metric has seen the labels of the rows it was learnt from, so that leave-one-out scores in it are
too good for these rows. So it is learnt once more without each of a few folds of rows, and the
scores of a fold's rows are those in the metric of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.library import Kernel
from kinlearn.problems.problem import Array, Axes, Point, Problem, Solution
from kinlearn.solvers.gradient_metric import (
    mean_outer_gradient,
    metric_of,
    pilot_point,
    relevances,
)
from kinlearn.training.folds import Validation
from kinlearn.training.splits import Splits
from kinlearn.training.training_set import TrainingSet

# Each fold costs a decomposition for every width. Half of so many rows teach nearly what all do.
TWO_HALVES = 800

Index = NDArray[np.intp]
Pose = Callable[[Kernel, TrainingSet], Problem]  # poses a problem for a kernel and rows


class MetricFromRows:
    """The metric that training rows teach, all of them and all but a fold.

    Parameters
    ----------
    data : TrainingSet
        The rows.
    fold : ndarray of shape (n_rows,)
        The fold of each distinct row.
    whole : bool
        Whether the whole matrix is learnt, and not column by column.
    """

    def __init__(self, data: TrainingSet, fold: Index, whole: bool = False) -> None:
        self.data, self.fold, self.whole = data, fold, whole

    @classmethod
    def of(cls, data: TrainingSet, validation: Validation, whole: bool = False) -> MetricFromRows:
        """Learnt without the folds that are reported apart; of many rows, without either half."""
        fold = validation.fold[data.rows.first]
        return cls(data, fold % 2 if data.n_rows > TWO_HALVES else fold, whole)

    def part(self, kept: Index, data: TrainingSet) -> MetricFromRows:
        """The same on some of the distinct rows."""
        return MetricFromRows(data, self.fold[kept], self.whole)

    @property
    def n_folds(self) -> int:
        """How many times it is learnt without some rows, each a decomposition for every width."""
        return len(np.unique(self.fold))

    @cached_property
    def _point(self) -> tuple[float, float]:
        return pilot_point(self.data.X, self.data.targets)

    def _gradient(self, rows: Index | slice) -> Array:
        data = self.data
        weights = data.pair_weights.mean(axis=1)[rows]
        equal = None if np.ptp(weights) == 0.0 else weights
        return mean_outer_gradient(
            data.X[rows], data.targets[rows], equal, *self._point, self.whole
        )

    @cached_property
    def _all(self) -> Array:
        return self._gradient(slice(None))

    @property
    def metric(self) -> Array:
        """Learnt from all rows."""
        return metric_of(self._all)

    @property
    def relevances(self) -> Array:
        """One number a column, of mean one."""
        return relevances(self._all)

    @cached_property
    def others(self) -> list[tuple[NDArray[np.bool_], Array]]:
        """Of every fold, its rows and the metric of the others."""
        found = []
        for j in np.unique(self.fold):
            own = self.fold == j
            found.append((own, metric_of(self._gradient(np.flatnonzero(~own)))))
        return found


class InLearntMetric:
    """A problem in a learnt metric.

    Parameters
    ----------
    pose : callable
        Poses the problem for a kernel and training rows.
    kernel : Kernel
        The kernel in the plain metric.
    learnt : MetricFromRows
        The metrics.
    """

    def __init__(self, pose: Pose, kernel: Kernel, learnt: MetricFromRows) -> None:
        self.pose, self.kernel, self.learnt = pose, kernel, learnt
        self.norms: dict[tuple[float, ...], float] = {}  # of logistic fits, the worst over folds

    def part(self, kept: Index, data: TrainingSet) -> InLearntMetric:
        """The same problem on some of the distinct rows; the metric is learnt anew."""
        return InLearntMetric(self.pose, self.kernel, self.learnt.part(kept, data))

    def _in(self, metric: Array) -> Problem:
        return self.pose(self.kernel.in_metric(metric), self.learnt.data)

    def held_out(self, axes: Axes, splits: Splits) -> Array:
        """Return held-out scores, each in the metric of the folds that its row is not in."""
        scores: Array | None = None
        for own, metric in self.learnt.others:
            problem = self._in(metric)
            found = problem.held_out(axes, splits)
            for point, norm in getattr(problem, "norms", {}).items():
                self.norms[point] = max(norm, self.norms.get(point, 0.0))
            if scores is None:
                scores = np.zeros_like(found)
            mine = own[splits.rows]
            scores[:, mine] = found[:, mine]
        assert scores is not None
        return scores

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Return the coefficients of a mix in the metric of all rows."""
        return self._in(self.learnt.metric).mixed(points, weights)

    def solve(self, point: Point, splits: Splits | None) -> tuple[Solution, Array | None]:
        """Return the solution of one point and, if asked for, its held-out scores, (entries, c)."""
        scores = None
        if splits is not None:
            axes = {name: np.array([value]) for name, value in point.items()}
            scores = self.held_out(axes, splits)[0]
        return self._in(self.learnt.metric).solve(point, None)[0], scores
