"""Multi-task least squares from sums for any similarity of tasks, by conjugate gradients.

``(H_t + ρI) θ_t + (ρκ/T) Σ_t' L_tt' θ_t' = h_t``, κ = sharing/(1 - sharing), L the Laplacian of W.
The blocks ``H_t + ρ(1 + κL_tt/T) I`` on the diagonal precondition: what they leave out is at most
as large as what they hold, so the number of steps grows with √(1 + κ) and depends on neither the
data nor the number of tasks. At sharing = 1 every connected component of W is one ridge problem.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kinlearn.solvers.ridge_from_sums import RidgeInverse, held_out_scores
from kinlearn.solvers.task_covariance import components, laplacian
from kinlearn.sums.task_sums import TaskSums

Array = NDArray[np.float64]
MAX_STEPS = 3000


class TaskOperator:
    """H_t and the inverse of ``H_t + δI``, in a thin task's span where that is smaller."""

    def __init__(self, sums: TaskSums, shift: float) -> None:
        self.shift = shift
        self.R: Array | None = None
        if sums.thin is not None:
            self.R = sums.factor()
            self.inverse = RidgeInverse(np.asfortranarray(self.R @ self.R.T), shift)
        else:
            self.H = sums.gram()
            self.inverse = RidgeInverse(self.H, shift)

    def times(self, V: Array) -> Array:
        """``H V``."""
        return self.H @ V if self.R is None else self.R.T @ (self.R @ V)

    def precondition(self, V: Array) -> Array:
        """``(H + δI)⁻¹ V``."""
        if self.R is None:
            return self.inverse.apply(V)
        inside = self.inverse.apply(self.R @ V) if len(self.R) else self.R @ V
        solved: Array = (V - self.R.T @ inside) / self.shift
        return solved


class GeneralSystem:
    """The solution for one (reg, sharing) and any similarity.

    Parameters
    ----------
    tasks : list of TaskSums
        With target columns in one order.
    similarity : ndarray of shape (T, T)
        W.
    ridge : float
        ρ = reg·N/T > 0.
    sharing : float
        In [0, 1).
    tol : float
        Relative residual to reach.
    """

    def __init__(
        self,
        tasks: list[TaskSums],
        similarity: Array,
        ridge: float,
        sharing: float,
        tol: float = 1e-13,
    ) -> None:
        self.tasks, self.tol = tasks, tol
        kappa = sharing / (1.0 - sharing)
        self.tie = ridge * (np.eye(len(tasks)) + kappa * laplacian(similarity) / len(tasks))
        self.operators = [
            TaskOperator(sums, shift)
            for sums, shift in zip(tasks, np.diagonal(self.tie), strict=True)
        ]
        self.theta: Array | None = None

    def solve(self, B: Array) -> Array:
        """Solve for right-hand sides of shape (T, m, k)."""
        X = np.zeros_like(B)
        residual = B.copy()
        direction = Z = self._precondition(residual)
        product = _columns(residual, Z)
        start = np.sqrt(_columns(B, B))
        for _ in range(MAX_STEPS):
            if (np.sqrt(_columns(residual, residual)) <= self.tol * start).all():
                return X
            image = np.stack([op.times(v) for op, v in zip(self.operators, direction, strict=True)])
            image += np.tensordot(self.tie, direction, axes=1)
            curvature = _columns(direction, image)
            step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
            X += step * direction
            residual -= step * image
            Z = self._precondition(residual)
            previous, product = product, _columns(residual, Z)
            ratio = np.divide(product, previous, out=np.zeros_like(product), where=previous > 0)
            direction = Z + ratio * direction
        left = np.sqrt(_columns(residual, residual)) / np.maximum(start, 1e-300)
        if left.max() > 1e-8:
            warnings.warn(
                f"Conjugate gradients over tasks stopped at a relative residual of "
                f"{left.max():.2g} after {MAX_STEPS} steps: lower sharing, or set it to 1 for one "
                "model per group of tied tasks.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return X

    def _precondition(self, B: Array) -> Array:
        return np.stack([op.precondition(b) for op, b in zip(self.operators, B, strict=True)])

    def parameters(self) -> Array:
        """θ_t of all tasks, shape (T, m, k)."""
        if self.theta is None:
            self.theta = self.solve(np.stack([sums.h for sums in self.tasks]))
        return self.theta

    def leave_one_out(
        self, features: Array, targets: Array, weights: Array, task: NDArray[np.intp]
    ) -> Array:
        """Leave-one-out scores of some rows: one solve for each, those of a task together."""
        theta = self.parameters()
        scores = np.empty_like(targets)
        for t in np.unique(task):
            rows = np.flatnonzero(task == t)
            B = np.zeros((len(self.tasks), features.shape[1], rows.size))
            B[t] = features[rows].T
            leverages = weights[rows] * np.einsum("ij,ji->i", features[rows], self.solve(B)[t])
            scores[rows] = held_out_scores(features[rows] @ theta[t], leverages, targets[rows])
        return scores


class PooledSystem:
    """The limit sharing = 1: one ridge problem for every connected component of W."""

    def __init__(self, tasks: list[TaskSums], similarity: Array, ridge: float) -> None:
        self.component = components(similarity)
        self.inverses: list[RidgeInverse] = []
        self.solutions: list[Array] = []
        for c in range(int(self.component.max()) + 1):
            members = np.flatnonzero(self.component == c)
            H = np.zeros((tasks[0].n_centers,) * 2, order="F")
            h = np.zeros_like(tasks[0].h)
            for t in members:
                H += tasks[t].gram()
                h += tasks[t].h
            self.inverses.append(RidgeInverse(H, ridge * members.size, overwrite=True))
            self.solutions.append(self.inverses[-1].apply(h))

    def parameters(self) -> Array:
        """θ_t of all tasks, shape (T, m, k)."""
        return np.stack([self.solutions[c] for c in self.component])

    def leave_one_out(
        self, features: Array, targets: Array, weights: Array, task: NDArray[np.intp]
    ) -> Array:
        """Leave-one-out scores of some rows."""
        scores = np.empty_like(targets)
        of_row = self.component[task]
        for c in np.unique(of_row):
            rows = np.flatnonzero(of_row == c)
            whitened = self.inverses[c].whiten(np.asfortranarray(features[rows].T))
            leverages = weights[rows] * np.einsum("ij,ij->j", whitened, whitened)
            fitted = features[rows] @ self.solutions[c]
            scores[rows] = held_out_scores(fitted, leverages, targets[rows])
        return scores


def _columns(A: Array, B: Array) -> Array:
    """Inner products of right-hand sides."""
    return np.einsum("tmk,tmk->k", A, B)
