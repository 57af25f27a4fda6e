"""Kernel logistic regression of one task and of several: folds of them, and all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels import Kernel, KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.problems.costs import WARN_FULL_ROWS, warn_if_large
from kinlearn.problems.problem import Array, Axes, Point, Solution, by_width
from kinlearn.problems.tasks_dual import TasksDual
from kinlearn.solvers.held_out_copies import remaining
from kinlearn.solvers.logistic_newton import LogisticSolution
from kinlearn.solvers.logistic_path import FeaturePath, Stopping
from kinlearn.solvers.logistic_tasks import TaskPath
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.threads import side_by_side
from kinlearn.training.centers import Centers
from kinlearn.training.splits import Block, Leaving, Splits
from kinlearn.training.training_set import TrainingSet

Index = NDArray[np.intp]


class LogisticProblem:
    """Held-out log-odds over a grid, and coefficients, each point by its own iteration.

    Parameters
    ----------
    design : SingleLogistic or TaskLogistic
        The rows.
    stopping : Stopping
        Which solver, and how far.

    Attributes
    ----------
    norms : dict
        Largest gradient norm among the held-out fits of each point.
    """

    def __init__(self, design: SingleLogistic | TaskLogistic, stopping: Stopping) -> None:
        self.design, self.stopping = design, stopping
        self.norms: dict[tuple[float, ...], float] = {}

    def held_out(self, axes: Axes, splits: Splits) -> Array:
        """Return held-out log-odds of all combinations, reg fastest, then sharing, then sigma.

        By refitting, warm-started along the regs.
        """
        shared = "sharing" in axes
        sharings = axes["sharing"] if shared else np.zeros(1)
        # from strong to weak: each solution is a start for the next
        regs = axes["reg"][::-1]
        shape = (len(axes["sigma"]), len(sharings), len(regs))
        scores = np.empty((*shape, splits.n_rows_held_out, self.design.n_classes))
        for i, sigma in enumerate(axes["sigma"]):
            phi = self.design.features(float(sigma))
            parts = list(self.design.folds(splits))
            worst = np.zeros(shape[1:])

            def one_fold(part: tuple[slice, Fold], phi: Array = phi) -> tuple[slice, Array, Array]:
                return self._one_fold(phi, *part, sharings, regs)

            with side_by_side(len(parts), side=phi.shape[1]) as each:
                for out, held, norms in each(one_fold, parts):
                    scores[i, :, :, out] = held[:, ::-1]
                    worst = np.maximum(worst, norms)
            for at in np.ndindex(*worst.shape):
                values = (float(sharings[at[0]]),) if shared else ()
                self.norms[(float(sigma), *values, float(regs[at[1]]))] = float(worst[at])
        return scores.reshape(-1, *scores.shape[3:])

    def _one_fold(
        self, phi: Array, out: slice, fold: Fold, sharings: Array, regs: Array
    ) -> tuple[slice, Array, Array]:
        if fold.train.size == 0 or fold.centers.size == 0:  # a model without data scores 0
            shape = (len(sharings), len(regs), len(fold.test), self.design.n_classes)
            return out, np.zeros(shape), np.zeros(shape[:2])
        held, norms = self.design.held_out(phi, fold, sharings, regs, self.stopping)
        return out, held, norms

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Fit the points with weight to all rows; per width they merge into one model."""
        return self.design.mixed(points, weights, self.stopping)

    def solve(self, point: Point, splits: Any) -> tuple[Solution, Array | None]:
        """Fit one point to all rows; nothing is held out, for its log-odds need no calibration."""
        return self.mixed([point], np.ones(1)), None


def _facts(effort: list[LogisticSolution]) -> dict[str, float]:
    """How the model was found."""
    return {
        "gradient_norm_": max(one.gradient_norm for one in effort),
        "n_iter_": max(one.n_iter for one in effort),
        "n_factorisations_": sum(one.n_factorisations for one in effort),
    }


@dataclass(frozen=True)
class Fold:
    """Rows trained on with the copies that are left, rows tested, and the centres that are left."""

    train: Index
    targets: Array
    weights: Array
    test: Index
    centers: Index

    def features(self, phi: Array) -> tuple[Array, Array]:
        """Features of the training and of the test rows."""
        return phi[np.ix_(self.train, self.centers)], phi[np.ix_(self.test, self.centers)]


def folds(
    splits: Splits,
    own: Index | None,
    n_centers: int,
    targets: Array,
    weights: Array,
    units: Array | None = None,
) -> Iterator[tuple[slice, Fold]]:
    """Yield where a fold's scores go, and the fold; rows that leave are no centres either.

    Parameters
    ----------
    splits : Splits
        What is held out.
    own : ndarray of shape (n,) or None
        Which centre each row is, -1 for none; None keeps all centres.
    n_centers : int
        Number of centres.
    targets, weights : ndarrays of shape (n, c) and (n,)
        Of all rows.
    units : ndarray of shape (U, c), optional
        Targets of the copies, where some of a row's leave alone.
    """
    everything = np.arange(n_centers)
    for out, block in splits if splits.blocks else _one_by_one(splits):
        removed, leaving = block.removed, block.leaving
        gone, Z, left = removed, targets, weights
        if leaving is not None:
            assert units is not None
            gone, Z, left = removed[leaving.whole], targets.copy(), weights.copy()
            Z[removed] = remaining(targets[removed], leaving, units)[0]
            left[removed] *= 1.0 - leaving.share
        lost = np.empty(0, dtype=np.intp) if own is None else own[gone]
        train = np.setdiff1d(np.arange(splits.n_rows), gone)
        centers = np.setdiff1d(everything, lost[lost >= 0])
        yield out, Fold(train, Z[train], left[train], removed[block.tested], centers)


def _one_by_one(splits: Splits) -> Iterator[tuple[slice, Block]]:
    """Leave-one-out as blocks of one row."""
    first = np.zeros(1, dtype=np.intp)
    for e, row in enumerate(splits.rows):
        leaving = splits.leaving
        if leaving is not None:
            leaving = Leaving(leaving.share[e : e + 1], leaving.copies[e : e + 1])
        yield slice(e, e + 1), Block(np.array([row]), first, leaving)


@dataclass(frozen=True)
class SingleLogistic:
    """One task; `own` as in :func:`folds`."""

    map: KernelMap
    X: Rows
    Z: Array
    weights: Array
    own: Index | None
    units: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.Z.shape[0])

    def folds(self, splits: Splits) -> Iterator[tuple[slice, Fold]]:
        """What is held out, fold by fold."""
        return folds(splits, self.own, self.map.n_centers, self.Z, self.weights, self.units)

    @property
    def n_classes(self) -> int:
        return int(self.Z.shape[1])

    def features(self, sigma: float) -> Array:
        return self.map.features(self.X, sigma)

    def held_out(
        self, phi: Array, fold: Fold, sharings: Array, regs: Array, stopping: Stopping
    ) -> tuple[Array, Array]:
        train, test = fold.features(phi)
        path = FeaturePath(train, fold.targets, fold.weights, stopping)
        found = [path.solve(float(reg)) for reg in regs]
        scores = np.stack([test @ one.coef for one in found])
        return scores[None], np.array([[one.gradient_norm for one in found]])

    def solve(
        self, sigma: float, regs: Array, mix: Array, stopping: Stopping
    ) -> tuple[Array, list[LogisticSolution]]:
        """The mix of the solutions over regs on all rows, and how each was found."""
        path = FeaturePath(self.features(sigma), self.Z, self.weights, stopping)
        total = np.zeros((self.map.n_centers, self.n_classes))
        effort = []
        for k in np.argsort(-regs):
            found = path.solve(float(regs[k]))
            total += mix[k] * found.coef
            effort.append(found)
        return total, effort

    def mixed(self, points: list[Point], weights: Array, stopping: Stopping) -> Solution:
        """The mix of solutions, width by width."""
        groups, coefs = by_width(points, weights), []
        effort: list[LogisticSolution] = []
        for sigma, own, mix in groups:
            regs = np.array([point["reg"] for point in own])
            theta, found = self.solve(sigma, regs, mix, stopping)
            coefs.append(theta)
            effort += found
        sigmas = np.array([sigma for sigma, _, _ in groups])
        return Solution(sigmas, np.stack(coefs), facts=_facts(effort))


@dataclass(frozen=True)
class TaskLogistic:
    """Several tasks."""

    design: TasksDual

    @property
    def n_rows(self) -> int:
        return int(self.design.targets.shape[0])

    def folds(self, splits: Splits) -> Iterator[tuple[slice, Fold]]:
        """What is held out, fold by fold."""
        design = self.design
        return folds(
            splits, design.own, self.map.n_centers, design.targets, design.weights, design.units
        )

    @property
    def n_classes(self) -> int:
        return int(self.design.targets.shape[1])

    @property
    def map(self) -> KernelMap:
        return self.design.features

    def features(self, sigma: float) -> Array:
        return self.design.phi_and_gram(sigma)[0]

    def path(
        self,
        gram: Array,
        rows: Index,
        targets: Array,
        weights: Array,
        sharing: float,
        stopping: Stopping,
    ) -> TaskPath:
        """The problem of some rows for one degree of sharing."""
        covariance = self.design.covariance(sharing)
        return TaskPath(gram, covariance, self.design.task[rows], targets, weights, stopping)

    def held_out(
        self, phi: Array, fold: Fold, sharings: Array, regs: Array, stopping: Stopping
    ) -> tuple[Array, Array]:
        train, test = fold.features(phi)
        gram, cross = train @ train.T, test @ train.T
        task = self.design.task[fold.test]
        scores = np.empty((len(sharings), len(regs), len(fold.test), self.n_classes))
        norms = np.empty((len(sharings), len(regs)))
        for i, sharing in enumerate(sharings):
            path = self.path(gram, fold.train, fold.targets, fold.weights, float(sharing), stopping)
            for k, reg in enumerate(regs):
                found = path.solve(float(reg))
                scores[i, k] = path.scores(cross, task, found.coef)
                norms[i, k] = found.gradient_norm
        return scores, norms

    def solve(
        self, sigma: float, sharing: float, regs: Array, mix: Array, stopping: Stopping
    ) -> tuple[Array, list[LogisticSolution]]:
        """The mix over regs of all tasks' θ_t, (T, m, c), and how each was found."""
        phi, gram = self.design.phi_and_gram(sigma)
        rows, design = np.arange(self.n_rows), self.design
        path = self.path(gram, rows, design.targets, design.weights, sharing, stopping)
        total, effort = np.zeros(1), []
        for k in np.argsort(-regs):
            found = path.solve(float(regs[k]))
            total = total + mix[k] * path.parameters(phi, found.coef)
            effort.append(found)
        return total, effort

    def mixed(self, points: list[Point], weights: Array, stopping: Stopping) -> Solution:
        """The mix of solutions, width by width, and what tasks share of it."""
        used = [points[p] for p in np.flatnonzero(weights)]
        mix = weights[np.flatnonzero(weights)]
        sigmas = np.unique([point["sigma"] for point in used])
        shape = (self.map.n_centers, self.n_classes)
        coef = np.zeros((len(sigmas), self.design.n_tasks, *shape))
        shared = np.zeros((len(sigmas), *shape))
        effort: list[LogisticSolution] = []
        for point, weight in zip(used, mix, strict=True):
            at = int(np.searchsorted(sigmas, point["sigma"]))
            theta, found = self.solve(
                point["sigma"], point["sharing"], np.array([point["reg"]]), np.ones(1), stopping
            )
            coef[at] += weight * theta
            # β_0 = ψ·mean θ_t: what a task without samples gets
            unseen = unseen_weight(self.design.similarity, point["sharing"])
            shared[at] += weight * (unseen * theta.mean(axis=0))
            effort += found
        return Solution(sigmas, coef, shared, _facts(effort))


@dataclass(frozen=True)
class LogisticPoser:
    """Poses the problem of one task or of several, in any kernel.

    Attributes
    ----------
    centers : Centers
    memory_mb : float
        Bound on the memory of kernel blocks.
    stopping : Stopping
        Which solver, and how far.
    n_fits : int
        How many fits of one task there will be, to say what they take.
    similarity : ndarray of shape (T, T), optional
        Between tasks.
    n_sharings : int
        How many degrees of sharing there are.
    """

    centers: Centers
    memory_mb: float
    stopping: Stopping
    n_fits: int = 1
    similarity: Array | None = None
    n_sharings: int = 1

    def __call__(self, kernel: Kernel, data: TrainingSet) -> LogisticProblem:
        centers = self.centers
        features = KernelMap(kernel, centers.rows, self.memory_mb)
        if data.task is not None:
            assert self.similarity is not None
            design = TasksDual.of(
                features,
                data,
                self.similarity,
                own_centers=centers.everything,
                n_decompositions=self.n_fits * self.n_sharings,
            )
            return LogisticProblem(TaskLogistic(design), self.stopping)
        if centers.everything and data.n_rows > WARN_FULL_ROWS:
            warn_if_large(data.n_rows, self.n_fits, weighted=False)
        alone = SingleLogistic(
            features,
            data.X,
            data.targets,
            data.filled_weights,
            centers.positions if centers.everything else None,
            data.unit_targets,
        )
        return LogisticProblem(alone, self.stopping)
