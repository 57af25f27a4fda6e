"""Multi-task least squares from each task's sums, whose cost does not depend on the rows.

With ``H_t = Φ_tᵀD_tΦ_t``, ``h_t = Φ_tᵀD_tZ_t``, N = Σw, ρ = reg·N/T and all tasks alike (W = 1),
the minimiser of the objective of :mod:`kinlearn.solvers.multitask_dual` is, with
b = (1 - sharing)/ρ and E_t = (I + bH_t)⁻¹,

    θ_t = E_t (b h_t + sharing·θ̄),     (ρI + sharing · mean_t H_tE_t) θ̄ = mean_t E_t h_t,

which holds from sharing = 0 (every task for itself) to sharing = 1 (b = 0: one model for all).
Where a task has fewer rows than there are centres, with D½Φ_t = R, LLᵀ = I + bRRᵀ and S = L⁻¹R,

    E_t = I - bSᵀS,     H_tE_t = SᵀS,

so nothing of size m×m is needed but θ̄'s one system: O(T m³) at most, O(N m²) for small tasks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kinlearn.solvers.ridge_from_sums import RidgeInverse, held_out_scores
from kinlearn.sums.packed_matrix import add_gram, packed_zeros, symmetric
from kinlearn.sums.task_sums import TaskSums

Array = NDArray[np.float64]
# Rank updates of this many rows at a time run at the speed of matrix products.
ROWS_AT_ONCE = 4096


class Smoother:
    """``E = (I + bH)⁻¹`` of one task.

    Parameters
    ----------
    sums : TaskSums
        The task.
    b : float
        (1 - sharing)/ρ.
    """

    def __init__(self, sums: TaskSums, b: float) -> None:
        self.b = b
        self.thin: Array | None = None
        if sums.thin is not None:
            R = sums.factor()
            gram = b * (R @ R.T)
            gram[np.diag_indices_from(gram)] += 1.0
            # I + bRRᵀ has no eigenvalue below one, so that this cannot fail
            factor, _ = lapack.dpotrf(gram.T, lower=0)
            self.thin = lapack.dtrtrs(factor, R, lower=0, trans=1)[0] if len(R) else R
            return
        self.H = sums.gram()
        self.inverse = RidgeInverse(b * self.H, 1.0, overwrite=True)

    def apply(self, B: Array) -> Array:
        """``E B``."""
        if self.thin is not None:
            smoothed: Array = B - self.b * (self.thin.T @ (self.thin @ B))
            return smoothed
        return self.inverse.apply(B)


class SharedSystem:
    """The solution for one (reg, sharing) with all tasks alike.

    Parameters
    ----------
    tasks : list of TaskSums
        With target columns in one order.
    ridge : float
        ρ = reg·N/T > 0.
    sharing : float
        In [0, 1].
    """

    def __init__(self, tasks: list[TaskSums], ridge: float, sharing: float) -> None:
        self.tasks, self.sharing = tasks, sharing
        self.b = (1.0 - sharing) / ridge
        m, n_tasks = tasks[0].n_centers, len(tasks)
        self.common: RidgeInverse | None = None
        self.mean = np.zeros((m, tasks[0].n_columns))
        if sharing == 0.0:
            return
        total = packed_zeros(m)
        dense = np.zeros((m, m), order="F")
        waiting: list[Array] = []
        for sums, smoother in self._smoothers():
            self.mean += smoother.apply(sums.h)
            if smoother.thin is None:
                dense += smoother.apply(smoother.H)
                continue
            waiting.append(smoother.thin)
            if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                total, waiting = add_gram(total, np.vstack(waiting)), []
        if waiting:
            total = add_gram(total, np.vstack(waiting))
        dense += symmetric(total, m)
        dense *= sharing / n_tasks
        self.common = RidgeInverse(np.asfortranarray((dense + dense.T) / 2.0), ridge)
        self.mean = self.common.apply(self.mean / n_tasks)

    def _smoothers(self) -> Iterator[tuple[TaskSums, Smoother]]:
        for sums in self.tasks:
            yield sums, Smoother(sums, self.b)

    def parameters(self) -> Array:
        """θ_t of all tasks, shape (T, m, k)."""
        theta = np.empty((len(self.tasks), *self.mean.shape))
        for t, (sums, smoother) in enumerate(self._smoothers()):
            theta[t] = smoother.apply(self.b * sums.h + self.sharing * self.mean)
        return theta

    def leave_one_out(
        self, features: Array, targets: Array, weights: Array, task: NDArray[np.intp]
    ) -> Array:
        """Leave-one-out scores of some rows, given ρ of the fit without a row.

        The leverage of a row of task t is ``w φᵀ(bE_t + (sharing/T) E_tQ⁻¹E_t)φ``, Q the matrix of
        θ̄'s system.
        """
        scores = np.empty_like(targets)
        order = np.argsort(task, kind="stable")
        present, starts = np.unique(task[order], return_index=True)
        for t, rows in zip(present, np.split(order, starts[1:]), strict=True):
            sums, smoother = self.tasks[t], Smoother(self.tasks[t], self.b)
            theta = smoother.apply(self.b * sums.h + self.sharing * self.mean)
            columns = np.asfortranarray(features[rows].T)
            smoothed = smoother.apply(columns)
            leverages = self.b * np.einsum("ij,ij->j", columns, smoothed)
            if self.common is not None:
                shared = self.common.whiten(np.asfortranarray(smoothed))
                leverages += self.sharing / len(self.tasks) * np.einsum("ij,ij->j", shared, shared)
            scores[rows] = held_out_scores(
                features[rows] @ theta, weights[rows] * leverages, targets[rows]
            )
        return scores


def effective_sharing(similarity: Array, sharing: float) -> float | None:
    """The sharing at W = 1 that equals a similarity the same for all pairs; None if they differ.

    Examples
    --------
    >>> import numpy as np
    >>> effective_sharing(np.full((3, 3), 0.5), 0.5)
    0.3333333333333333
    """
    off_diagonal = similarity[~np.eye(len(similarity), dtype=bool)]
    if off_diagonal.size == 0:
        return sharing
    weight = float(off_diagonal[0])
    if np.any(off_diagonal != weight):
        return None
    mixed = sharing * weight
    return mixed / ((1.0 - sharing) + mixed) if mixed > 0.0 else 0.0
