"""The multi-task problem from each task's sums, for more rows than the dual can bear.

The dual of N rows costs O(N³); with m fixed centres the primal costs O(T m³ + N m²), exactly the
same solution (mt-lspc Eq. 4 in other variables).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._task_base import ChosenCenters, TaskClassifier
from kinlearn.estimators._task_stream import GENERAL_HELD_OUT_ROWS, TaskSystem, task_system
from kinlearn.estimators._training_set import TrainingSet
from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.selection.folds import Validation
from kinlearn.solvers.multitask_primal import effective_sharing
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.sums.task_sums import TaskSums
from kinlearn.threads import run_in_threads

Array = NDArray[np.float64]
Index = NDArray[np.intp]
# Features of the rows held out are made for about this many at a time.
ROWS_AT_ONCE = 4096


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
class PrimalTasks:
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
    """

    features: KernelMap
    X: Rows
    targets: Array
    weights: Array
    task: Index
    similarity: Array
    _sums: list[TaskSums] = field(default_factory=list)
    _sigma: float = float("nan")

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

    def validation(
        self, data: TrainingSet, max_rows: int, seed: int, groups: Index | None = None
    ) -> Validation:
        """Leave-one-out of at most `max_rows` rows; of fewer where each is a system to solve."""
        if effective_sharing(self.similarity, 0.5) is None:
            max_rows = min(max_rows, GENERAL_HELD_OUT_ROWS)
        return data.validation("loo", groups, max_rows=max_rows, seed=seed)

    def leave_one_out(self, sigma: float, sharing: float, reg: float, held: HeldOutCopies) -> Array:
        """Leave-one-out scores of some copies of rows, centres kept, shape (entries, c)."""
        system = self.system(sigma, sharing, reg, held.kept_share)
        task = self.task[held.rows]
        scores = np.empty((len(held.rows), self.targets.shape[1]))
        order = np.argsort(task, kind="stable")
        for part in _whole_tasks(order, task):
            own = held.rows[part]
            scores[part] = system.leave_one_out(
                self.features.features(self.X[own], sigma),
                held.targets[part],
                self.weights[own] * held.share[part],
                task[part],
            )
        return scores


@dataclass(frozen=True)
class HeldOutCopies:
    """The copies of rows that leave one at a time: their row, target and share of its weight."""

    rows: Index
    targets: Array
    share: Array
    kept_share: float

    @classmethod
    def of(cls, data: TrainingSet, validation: Validation) -> HeldOutCopies:
        """Of a leave-one-out validation."""
        splits = validation.splits
        share = np.ones(len(splits.rows)) if splits.leaving is None else splits.leaving.share
        targets = data.unit_targets[validation.unit]
        return cls(splits.rows, targets, share, splits.kept_share)


def find_primal(
    model: TaskClassifier, data: TrainingSet, task: Index, chosen: ChosenCenters
) -> PrimalTasks | None:
    """The problem in its primal, or None where the dual is cheaper or every row is a centre.

    Parameters
    ----------
    model : TaskClassifier
        With its centres placed.
    data : TrainingSet
    task : ndarray
        Task number of every row as passed.
    chosen : (DistinctRows, positions)
        Where the centres came from.
    """
    distinct, positions = chosen
    if positions is not None and positions.size == distinct.n_distinct:
        return None  # rows held out would have to take their centres with them
    similarity = model.similarity_
    alike = effective_sharing(similarity, 0.5) is not None
    if not primal_is_cheaper(data.n_rows, model.n_centers_, len(similarity), alike):
        return None
    features = KernelMap(model._kernel(), model.centers_, model.memory_mb)
    weights = np.ones(data.n_rows) if data.fit_weights is None else data.fit_weights
    row_task = task[data.rows.first]
    return PrimalTasks(features, data.X, data.fit_targets, weights, row_task, similarity)


class PrimalGrid:
    """Held-out scores and coefficients over (sigma, sharing, reg), each point solved from sums.

    Parameters
    ----------
    primal : PrimalTasks
        The problem.
    held : HeldOutCopies
        What is held out.
    """

    def __init__(self, primal: PrimalTasks, held: HeldOutCopies) -> None:
        self.primal, self.held = primal, held

    def evaluate(self, points: dict[str, Array]) -> Array:
        """Return held-out scores of all combinations, reg fastest, then sharing, then sigma."""
        pairs = list(product(points["sharing"], points["reg"]))
        scores = []
        for sigma in points["sigma"]:
            self.primal.sums(float(sigma))  # made once, before threads share them

            def one_point(pair: tuple[float, float], sigma: float = float(sigma)) -> Array:
                return self.primal.leave_one_out(sigma, float(pair[0]), float(pair[1]), self.held)

            scores += run_in_threads(one_point, pairs, at_most=self.primal.points_at_once())
        return np.stack(scores)

    def mixed(
        self, points: list[dict[str, float]], weights: Array
    ) -> tuple[Array, Array, Array, dict[str, Array]]:
        """Return widths, all tasks' coefficients, the shared part, and the points with weight."""
        used = [(points[p], float(weights[p])) for p in np.flatnonzero(weights)]
        used.sort(key=lambda entry: entry[0]["sigma"])
        sigmas = np.unique([point["sigma"] for point, _ in used])
        m, c = self.primal.features.n_centers, self.primal.targets.shape[1]
        coef = np.zeros((len(sigmas), self.primal.n_tasks, m, c))
        shared = np.empty((len(used), m, c))
        for k, (point, weight) in enumerate(used):
            at = int(np.searchsorted(sigmas, point["sigma"]))
            theta, shared[k] = self.primal.parameters(
                point["sigma"], point["sharing"], point["reg"]
            )
            coef[at] += weight * theta
        kept = {
            f"{name}s": np.array([point[name] for point, _ in used])
            for name in ("sigma", "sharing", "reg")
        }
        kept["weights"] = np.array([weight for _, weight in used])
        kept["shared_coef"] = shared
        belongs = (kept["sigmas"] == sigmas[:, None]) * kept["weights"]
        return sigmas, coef, np.tensordot(belongs, shared, axes=1), kept


def _whole_tasks(order: Index, task: Index) -> list[Index]:
    """Cut rows ordered by task into parts of about equal size, no task in two of them."""
    edges = np.flatnonzero(np.diff(task[order])) + 1
    chosen = [
        edge
        for edge, before in zip(edges, [0, *edges[:-1]], strict=True)
        if edge // ROWS_AT_ONCE > before // ROWS_AT_ONCE
    ]
    return np.split(order, chosen)
