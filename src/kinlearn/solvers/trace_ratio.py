"""Trace ratio over one or many tasks, by Dinkelbach's iteration on one scalar.

    maximise  sum_i tr(U_i^T S_b^i U_i) / sum_i tr(U_i^T (S_t^i + ridge_i I) U_i),  U_i^T U_i = I

over orthonormal U_i in range(S_t^i): Eq. 3 of Zhang and Yeung (2011) with U_i = W_i P, Eq. 2 for
one task. The tasks meet in nothing but the ratio alpha itself: at the optimum every U_i holds the
top eigenvectors of S_b^i - alpha S_t^i, so alpha is the one unknown, the root of the convex,
decreasing F(alpha) = sum_i max_U tr(U^T (S_b^i - alpha S_t^i) U), and Dinkelbach's update
alpha <- ratio is Newton's method on F: global, monotone and quadratic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kinlearn.solvers.scatter import Floats, ReducedScatter


@dataclass(frozen=True)
class TraceRatio:
    """Result of a trace-ratio solver.

    Attributes
    ----------
    projections : list of ndarray of shape (r_i, n_components)
        Orthonormal columns per task, in the coordinates of the reduced task.
    objective : float
        The ratio attained.
    path : ndarray
        The ratio after every iteration, the starting point first.
    converged : bool
    """

    projections: list[Floats]
    objective: float
    path: Floats
    converged: bool


def top_eigenvectors(matrix: Floats, count: int) -> Floats:
    """Eigenvectors of the ``count`` largest eigenvalues, largest first."""
    size = len(matrix)
    _, vectors = linalg.eigh(matrix, subset_by_index=[size - count, size - 1], check_finite=False)
    return vectors[:, ::-1]


def ratio_of(
    tasks: Sequence[ReducedScatter], projections: Sequence[Floats], ridges: Sequence[float]
) -> float:
    """The objective at given orthonormal projections."""
    between = total = 0.0
    for task, U, ridge in zip(tasks, projections, ridges, strict=True):
        between += float(np.sum((task.between_root.T @ U) ** 2))
        total += float(np.sum(task.total[:, None] * U**2)) + ridge * U.shape[1]
    return between / total


def trace_ratio(
    tasks: Sequence[ReducedScatter],
    n_components: int,
    *,
    ridges: Sequence[float] | None = None,
    tol: float = 1e-12,
    max_iter: int = 100,
) -> TraceRatio:
    """Solve all tasks jointly: the global optimum in about seven eigendecompositions a task.

    When no ridge is set and every task has n_components directions without any within-class
    scatter (always so when features outnumber rows and n_components < classes), the optimum is
    one and attained by anything in null(S_w). Among those the U_i that keep the most S_b are
    returned: one small eigenproblem a task, and the limit of the regularised solution as the
    ridge goes to zero.

    Parameters
    ----------
    tasks : sequence of ReducedScatter
    n_components : int
        At most the smallest rank over tasks.
    ridges : sequence of float, default=None
        Added to S_t of every task; zero when None.
    tol : float
        Stop when alpha grows by no more than this.
    max_iter : int

    Returns
    -------
    TraceRatio

    Examples
    --------
    >>> from kinlearn.solvers.scatter import reduce_scatter
    >>> X = np.array([[0., 0], [2, 0], [0, 4], [2, 4]])
    >>> task = reduce_scatter(X, np.array([0, 0, 1, 1]), 2)
    >>> round(trace_ratio([task], 2).objective, 12)  # 4 between, 1 within, both directions kept
    0.8
    """
    tasks = list(tasks)
    ridges = [0.0] * len(tasks) if ridges is None else list(ridges)
    betweens = [task.between() for task in tasks]
    current = [top_eigenvectors(B, n_components) for B in betweens]
    path = [ratio_of(tasks, current, ridges)]
    if not any(ridges) and all(task.within_null.shape[1] >= n_components for task in tasks):
        projections = [_best_between_in_null(task, n_components) for task in tasks]
        return TraceRatio(projections, 1.0, np.array([*path, 1.0]), True)
    converged = False
    for _ in range(max_iter):
        alpha = path[-1]
        proposed = [
            top_eigenvectors(_minus_diagonal(B, alpha * task.total), n_components)
            for task, B in zip(tasks, betweens, strict=True)
        ]
        ratio = ratio_of(tasks, proposed, ridges)
        # Rounding may take back the last digit at the optimum: keep the better of the two.
        current = proposed if ratio >= alpha else current
        path.append(max(ratio, alpha))
        if ratio <= alpha + tol:
            converged = True
            break
    return TraceRatio(current, path[-1], np.array(path), converged)


def _minus_diagonal(matrix: Floats, diagonal: Floats) -> Floats:
    """``matrix - diag(diagonal)``, as a new array."""
    result = matrix.copy()
    result.flat[:: len(matrix) + 1] -= diagonal
    return result


def _best_between_in_null(task: ReducedScatter, n_components: int) -> Floats:
    """The directions of null(S_w) with the largest S_b, orthonormal."""
    inside = task.within_null.T @ task.between_root
    vectors, _, _ = linalg.svd(inside, full_matrices=False, check_finite=False)
    return task.within_null @ vectors[:, :n_components]
