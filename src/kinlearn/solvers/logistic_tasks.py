"""Multi-task logistic regression in its dual, whose cost does not depend on the number of tasks.

With N = Σw observed samples, T tasks and C the task covariance for reg = 1, the minimiser of

    (1/N) Σ_n w_n loss(θ_{t_n}ᵀφ_n, z_n) + reg/(2T) Σ_tt' (C⁻¹)_tt' θ_tᵀθ_t'

has ``θ_t = T Σ_n C[t, t_n] a_n φ_n``, scores ``f = B a`` with ``B = T·C[t_n, t_n'] ∘ (Phi Phiᵀ)``,
and the penalty ``reg/2·aᵀBa``: one task's problem with another kernel. The gradient's norm is the
one in the coordinates in which the penalty is reg/2 times a sum of squares; it is never less than
that of the pooled model at sharing = 1, and √T times that of the θ_t at sharing = 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from kinlearn.solvers.logistic_loss import Array, LogisticLoss
from kinlearn.solvers.logistic_newton import LogisticSolution
from kinlearn.solvers.logistic_path import DualPath, Stopping, both_classes
from kinlearn.solvers.multitask_dual import shared_gram, task_parameters

Index = NDArray[np.intp]


class TaskPath:
    """All regs of one kernel and one degree of sharing.

    Tasks that share nothing, directly or through others, are problems of their own.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Phi Phiᵀ.
    covariance : ndarray of shape (T, T)
        C for reg = 1.
    task : ndarray of shape (n,)
        Task number of each row.
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,)
        Weights.
    stopping : Stopping
        Which solver, and how far.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_tasks import TaskPath
    >>> path = TaskPath(np.eye(2), np.eye(1), np.array([0, 0]), np.eye(2), np.ones(2))
    >>> path.solve(0.1).coef.shape
    (2, 1)
    """

    def __init__(
        self,
        gram: Array,
        covariance: Array,
        task: Index,
        Z: Array,
        weights: Array,
        stopping: Stopping | None = None,
    ) -> None:
        stopping = stopping or Stopping()
        self.covariance, self.task = covariance, task
        share = weights / weights.sum()
        groups = [np.arange(len(task))]
        if (covariance == 0.0).any():
            label = connected_components(covariance != 0.0, directed=False)[1][task]
            groups = [np.flatnonzero(label == g) for g in np.unique(label)]
        # norms of the parts add up in squares
        each = replace(stopping, tol=stopping.tol / np.sqrt(len(groups)))
        self.parts: list[tuple[Index, DualPath]] = []
        for rows in groups:
            own = gram if len(groups) == 1 else gram[np.ix_(rows, rows)]
            B = shared_gram(own, len(covariance) * covariance, task[rows])
            self.parts.append((rows, DualPath(B, LogisticLoss.of(Z[rows], share[rows]), each)))

    def solve(self, reg: float) -> LogisticSolution:
        """Return dual coefficients for one reg, starting from the solution of the one before."""
        found = [(rows, path.solve(reg)) for rows, path in self.parts]
        a = np.empty((len(self.task), found[0][1].coef.shape[1]))
        for rows, part in found:
            a[rows] = part.coef
        return LogisticSolution(
            a,
            float(np.sqrt(sum(part.gradient_norm**2 for _, part in found))),
            max(part.n_iter for _, part in found),
            sum(part.n_factorisations for _, part in found),
        )

    def parameters(self, phi: Array, a: Array) -> Array:
        """θ_t of all tasks, one column a class; shape (T, m, c)."""
        scaled = len(self.covariance) * a
        return both_classes(task_parameters(phi, scaled, self.task, self.covariance))

    def scores(self, cross: Array, task: Index, a: Array) -> Array:
        """Scores of other rows, one column a class, from their φᵀφ_n with all training rows."""
        weighed = self.covariance[task][:, self.task]
        weighed *= cross
        return both_classes(len(self.covariance) * (weighed @ a))
