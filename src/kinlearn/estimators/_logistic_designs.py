"""The logistic problems of one task and of several, for any width: folds of them, and all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._task_design import TaskDesign
from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.solvers.logistic_newton import LogisticSolution
from kinlearn.solvers.logistic_path import FeaturePath, Stopping
from kinlearn.solvers.logistic_tasks import TaskPath
from kinlearn.solvers.splits import Splits

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """Rows trained on, rows tested, and the centres that are left."""

    train: Index
    test: Index
    centers: Index

    def features(self, phi: Array) -> tuple[Array, Array]:
        """Features of the training and of the test rows."""
        return phi[np.ix_(self.train, self.centers)], phi[np.ix_(self.test, self.centers)]


def folds(splits: Splits, own: Index | None, n_centers: int) -> Iterator[tuple[slice, Fold]]:
    """Yield where a fold's scores go, and the fold; held-out rows are no centres either.

    Parameters
    ----------
    splits : Splits
        What is held out.
    own : ndarray of shape (n,) or None
        Which centre each row is, -1 for none; None keeps all centres.
    n_centers : int
        Number of centres.
    """
    blocks = splits
    if splits.leave_one_out:
        rows = splits.rows
        pairs = [(np.delete(np.arange(splits.n_rows), i), np.array([i])) for i in rows]
        blocks = Splits.from_train_test(splits.n_rows, pairs)
    everything = np.arange(n_centers)
    for out, removed, tested in blocks:
        lost = np.empty(0, dtype=np.intp) if own is None else own[removed]
        train = np.setdiff1d(np.arange(splits.n_rows), removed)
        yield out, Fold(train, removed[tested], np.setdiff1d(everything, lost[lost >= 0]))


@dataclass(frozen=True)
class SingleDesign:
    """One task; `own` as in :func:`folds`."""

    map: KernelMap
    X: Rows
    Z: Array
    weights: Array
    own: Index | None

    @property
    def n_rows(self) -> int:
        return int(self.Z.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.Z.shape[1])

    def features(self, sigma: float) -> Array:
        return self.map.features(self.X, sigma)

    def held_out(
        self, phi: Array, fold: Fold, sharings: Array, regs: Array, stopping: Stopping
    ) -> tuple[Array, Array]:
        train, test = fold.features(phi)
        path = FeaturePath(train, self.Z[fold.train], self.weights[fold.train], stopping)
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


@dataclass(frozen=True)
class MultiDesign:
    """Several tasks."""

    design: TaskDesign

    @property
    def own(self) -> Index | None:
        return self.design.own

    @property
    def n_rows(self) -> int:
        return int(self.design.targets.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.design.targets.shape[1])

    @property
    def map(self) -> KernelMap:
        return self.design.features

    def features(self, sigma: float) -> Array:
        return self.design.phi_and_gram(sigma)[0]

    def path(self, gram: Array, rows: Index, sharing: float, stopping: Stopping) -> TaskPath:
        """The problem of some rows for one degree of sharing."""
        return TaskPath(
            gram,
            self.design.covariance(sharing),
            self.design.task[rows],
            self.design.targets[rows],
            self.design.weights[rows],
            stopping,
        )

    def held_out(
        self, phi: Array, fold: Fold, sharings: Array, regs: Array, stopping: Stopping
    ) -> tuple[Array, Array]:
        train, test = fold.features(phi)
        gram, cross = train @ train.T, test @ train.T
        task = self.design.task[fold.test]
        scores = np.empty((len(sharings), len(regs), len(fold.test), self.n_classes))
        norms = np.empty((len(sharings), len(regs)))
        for i, sharing in enumerate(sharings):
            path = self.path(gram, fold.train, float(sharing), stopping)
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
        path = self.path(gram, np.arange(self.n_rows), sharing, stopping)
        total, effort = np.zeros(1), []
        for k in np.argsort(-regs):
            found = path.solve(float(regs[k]))
            total = total + mix[k] * path.parameters(phi, found.coef)
            effort.append(found)
        return total, effort
