"""Many tasks from each task's sums, for more rows than the dual can bear.

The dual of N rows costs O(N³); with m fixed centres the primal costs O(T m³ + N m²), exactly the
same solution (mt-lspc Eq. 4 in other variables).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels import Kernel, KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.problems.problem import Array, Axes, Point, Solution
from kinlearn.problems.tasks_dual import task_solution
from kinlearn.solvers.multitask_primal import effective_sharing
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.solvers.task_systems import TaskSystem, task_system
from kinlearn.sums.task_sums import TaskSums
from kinlearn.threads import side_by_side
from kinlearn.training.centers import Centers
from kinlearn.training.splits import Splits
from kinlearn.training.training_set import TrainingSet

Index = NDArray[np.intp]
# Features of the rows held out are made for about this many at a time.
ROWS_AT_ONCE = 4096
# With similarities that differ every row held out is a system to solve: so many settle one number.
GENERAL_HELD_OUT_ROWS = 300


def primal_is_cheaper(n_rows: int, n_centers: int, n_tasks: int, alike: bool) -> bool:
    """Whether sums beat the dual, by counting operations of a solution with its held-out scores.

    Examples
    --------
    >>> primal_is_cheaper(10_000, 500, 20, alike=True), primal_is_cheaper(400, 300, 20, alike=True)
    (True, False)
    """
    if not alike:  # every row held out is a system of its own: only where there is no other way
        return n_rows > 5000
    span = min(n_centers, max(n_rows // n_tasks, 1))
    primal = 6 * n_tasks * span * n_centers**2 + 4 * n_rows * n_centers**2
    return primal < n_rows**3


@dataclass
class TasksFromSums:
    """Rows, tasks and targets, with the sums of the last width asked for.

    Attributes
    ----------
    features : KernelMap
        The kernel against the centres.
    X : array or CSR matrix of shape (n, d)
        Distinct rows.
    targets, weights : ndarrays of shape (n, c) and (n,)
        Z and the diagonal of D.
    task : ndarray of shape (n,)
        Task number of each row.
    similarity : ndarray of shape (T, T)
        W.
    units : ndarray of shape (U, c)
        Targets of the copies that rows stand for.
    weight_per_task : float
        N/T in the user's own weights.
    """

    features: KernelMap
    X: Rows
    targets: Array
    weights: Array
    task: Index
    similarity: Array
    units: Array
    weight_per_task: float
    _sums: list[TaskSums] = field(default_factory=list)
    _sigma: float = float("nan")

    @classmethod
    def of(cls, features: KernelMap, data: TrainingSet, similarity: Array) -> TasksFromSums:
        """The problem of training rows."""
        return cls(
            features,
            data.X,
            data.targets,
            data.filled_weights,
            data.row_task,
            similarity,
            data.unit_targets,
            data.total_weight / len(similarity),
        )

    @property
    def n_tasks(self) -> int:
        return int(self.similarity.shape[0])

    def sums(self, sigma: float) -> list[TaskSums]:
        """Each task's sums at one width, kept until another is asked for."""
        if sigma == self._sigma:
            return self._sums
        m, c = self.features.n_centers, self.targets.shape[1]
        found = [TaskSums(m, c, thin=True, cross=False) for _ in range(self.n_tasks)]
        order = np.argsort(self.task, kind="stable")
        for rows, phi in self.features.feature_blocks(self.X[order], sigma):
            at = order[rows]
            here = self.task[at]
            starts = np.flatnonzero(np.diff(here, prepend=-1))
            for first, last in zip(starts, [*starts[1:], at.size], strict=True):
                own = at[first:last]
                found[here[first]].add(
                    phi[first:last], self.targets[own], self.weights[own], own.astype(np.uint64)
                )
        self._sums, self._sigma = found, sigma
        return found

    def system(self, sigma: float, sharing: float, reg: float, shrink: float = 1.0) -> TaskSystem:
        """All tasks' parameters at one point of the grid."""
        ridge = reg * float(self.weights.sum()) / self.n_tasks * shrink
        return task_system(self.sums(sigma), self.similarity, ridge, sharing)

    def parameters(self, sigma: float, sharing: float, reg: float) -> tuple[Array, Array]:
        """θ_t of all tasks, (T, m, c), and the shared part β_0, (m, c)."""
        theta = self.system(sigma, sharing, reg).parameters()
        return theta, unseen_weight(self.similarity, sharing) * theta.mean(axis=0)

    def points_at_once(self) -> int:
        """How many points' features of held-out rows and tasks' systems the memory allows."""
        m = self.features.n_centers
        needed = 8 * m * (2 * ROWS_AT_ONCE + 2 * self.n_tasks * m)
        return max(1, int(self.features.memory_mb * 2**20 // needed))

    def hold_out(self, sigma: float, sharing: float, reg: float, splits: Splits) -> Array:
        """Leave-one-out scores of some copies of rows, centres kept, shape (entries, c)."""
        rows, leaving = splits.rows, splits.leaving
        share = np.ones(len(rows)) if leaving is None else leaving.share
        targets = self.targets[rows] if leaving is None else leaving.targets(self.units)
        system = self.system(sigma, sharing, reg, splits.kept_share)
        task = self.task[rows]
        scores = np.empty((len(rows), self.targets.shape[1]))
        order = np.argsort(task, kind="stable")
        for part in _whole_tasks(order, task):
            own = rows[part]
            scores[part] = system.leave_one_out(
                self.features.features(self.X[own], sigma),
                targets[part],
                self.weights[own] * share[part],
                task[part],
            )
        return scores

    def solve(self, point: Point, splits: Splits | None) -> tuple[Solution, Array | None]:
        """Return the solution of one point and, if asked for, its held-out scores."""
        sigma, sharing, reg = point["sigma"], point["sharing"], point["reg"]
        scores = None if splits is None else self.hold_out(sigma, sharing, reg, splits)
        return self.mixed([point], np.ones(1)), scores

    def held_out(self, axes: Axes, splits: Splits) -> Array:
        """Return held-out scores of all combinations, reg fastest, then sharing, then sigma."""
        pairs = list(product(axes["sharing"], axes["reg"]))
        scores: list[Array] = []
        for sigma in axes["sigma"]:
            self.sums(float(sigma))  # made once, before threads share them

            def one_point(pair: tuple[float, float], sigma: float = float(sigma)) -> Array:
                return self.hold_out(sigma, float(pair[0]), float(pair[1]), splits)

            with side_by_side(len(pairs), at_most=self.points_at_once()) as each:
                scores += each(one_point, pairs)
        return np.stack(scores)

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Return all tasks' coefficients of a mix, and their shared part."""
        used = [(points[p], float(weights[p])) for p in np.flatnonzero(weights)]
        used.sort(key=lambda entry: entry[0]["sigma"])
        sigmas = np.unique([point["sigma"] for point, _ in used])
        m, c = self.features.n_centers, self.targets.shape[1]
        coef = np.zeros((len(sigmas), self.n_tasks, m, c))
        shared = np.empty((len(used), m, c))
        for k, (point, weight) in enumerate(used):
            at = int(np.searchsorted(sigmas, point["sigma"]))
            theta, shared[k] = self.parameters(point["sigma"], point["sharing"], point["reg"])
            coef[at] += weight * theta
        return task_solution(sigmas, coef, shared, used, self.weight_per_task)


def _whole_tasks(order: Index, task: Index) -> list[Index]:
    """Cut rows ordered by task into parts of about equal size, no task in two of them."""
    edges = np.flatnonzero(np.diff(task[order])) + 1
    chosen = [
        edge
        for edge, before in zip(edges, [0, *edges[:-1]], strict=True)
        if edge // ROWS_AT_ONCE > before // ROWS_AT_ONCE
    ]
    return np.split(order, chosen)


def sums_are_cheaper(centers: Centers, data: TrainingSet, similarity: Array) -> bool:
    """Whether tasks are better solved from sums than in the dual, where not all rows are centres.

    Rows held out would have to take their centres with them.
    """
    alike = effective_sharing(similarity, 0.5) is not None
    n_centers = int(centers.rows.shape[0])
    return primal_is_cheaper(data.n_rows, n_centers, len(similarity), alike)


def most_held_out(similarity: Array, at_most: int) -> int:
    """Leave-one-out of so many rows; of fewer where each is a system to solve."""
    if effective_sharing(similarity, 0.5) is None:
        return min(at_most, GENERAL_HELD_OUT_ROWS)
    return at_most


@dataclass(frozen=True)
class SumsPoser:
    """Poses the problem of tasks from sums, in any kernel."""

    centers: Centers
    memory_mb: float
    similarity: Array

    def __call__(self, kernel: Kernel, data: TrainingSet) -> TasksFromSums:
        features = KernelMap(kernel, self.centers.rows, self.memory_mb)
        return TasksFromSums.of(features, data, self.similarity)
