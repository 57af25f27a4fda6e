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
    """Solve all tasks jointly: the global optimum in about four eigendecompositions a task.

    A few iterations in a small subspace come first; they only give the alpha to start from.

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
        Stop when alpha grows by no more than this; as the convergence is quadratic, what is left
        is of the order of its square.
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
    if not any(ridges) and all(task.within_null.shape[1] >= n_components for task in tasks):
        starts = [_best_between(task.between_root, n_components) for task in tasks]
        path = [ratio_of(tasks, starts, ridges), 1.0]
        projections = [
            task.within_null @ _best_between(task.within_null.T @ task.between_root, n_components)
            for task in tasks
        ]
        return TraceRatio(projections, 1.0, np.array(path), True)
    current, path = _begin(tasks, n_components, ridges)
    whole = [(task.between_root, np.diag(task.total)) for task in tasks]
    projections, path, converged = _dinkelbach(
        whole, current, path, ridges, tol=tol, max_iter=max_iter
    )
    projections = [
        most_between_first(task.between_root, U) for task, U in zip(tasks, projections, strict=True)
    ]
    return TraceRatio(projections, path[-1], np.array(path), converged)


def most_between_first(root: Floats, U: Floats) -> Floats:
    """Turn U such that its columns part S_b = root root^T, the largest share first.

    The ratio does not change when U is turned, so the order of its columns is free to mean
    something.
    """
    _, _, turned = linalg.svd(root.T @ U[: len(root)], full_matrices=True, check_finite=False)
    return U @ turned.T


def _begin(
    tasks: Sequence[ReducedScatter], n_components: int, ridges: Sequence[float]
) -> tuple[list[Floats], list[float]]:
    """Projections near the optimum, and the ratios on the way to them, by cheap iterations.

    From alpha = 0, that is from the largest S_b, in a small subspace of every task; in the whole of
    a task whose subspace would not be small.
    """
    frames = [_promising_directions(task, n_components) for task in tasks]
    projected = [
        (frame.T @ task.between_root, frame.T @ (task.total[:, None] * frame))
        for task, frame in zip(tasks, frames, strict=True)
    ]
    small = all(2 * frame.shape[1] <= len(frame) for frame in frames)
    start, path, _ = _dinkelbach(
        projected,
        [np.eye(len(root), n_components) for root, _ in projected],
        [0.0],
        ridges,
        tol=1e-5,
        max_iter=20 if small else 1,
    )
    return [frame @ U for frame, U in zip(frames, start, strict=True)], path[1:]


def _dinkelbach(
    problems: Sequence[tuple[Floats, Floats]],
    current: list[Floats],
    path: list[float],
    ridges: Sequence[float],
    *,
    tol: float,
    max_iter: int,
) -> tuple[list[Floats], list[float], bool]:
    """alpha <- ratio of the top eigenvectors of S_b - alpha S_t, until it stands still.

    ``problems`` holds (root of S_b, S_t) per task; ``path`` ends with the alpha to start from.
    """
    n_components = current[0].shape[1]
    betweens = [root @ root.T for root, _ in problems]
    path = list(path)
    for _ in range(max_iter):
        alpha = path[-1]
        proposed = [
            top_eigenvectors(between - alpha * total, n_components)
            for between, (_, total) in zip(betweens, problems, strict=True)
        ]
        scatter = scale = 0.0
        for U, (root, total), ridge in zip(proposed, problems, ridges, strict=True):
            scatter += float(np.sum((root.T @ U) ** 2))
            scale += float(np.vdot(U, total @ U)) + ridge * n_components
        ratio = scatter / scale
        # Rounding may take back the last digit at the optimum: keep the better of the two.
        current = proposed if ratio >= alpha else current
        path.append(max(ratio, alpha))
        if ratio <= alpha + tol:
            return current, path, True
    return current, path, False


def _promising_directions(task: ReducedScatter, n_components: int) -> Floats:
    """A small subspace that nearly holds the optimum, to begin the iteration close to it.

    The class means, raw, half and fully whitened, where U lies for alpha small and large; and, if
    more directions are asked for than classes can give, those of the smallest total scatter.
    """
    root = task.between_root
    blocks = [root, root / np.sqrt(task.total)[:, None], root / task.total[:, None]]
    blocks = [block / max(float(linalg.norm(block)), 1e-300) for block in blocks]
    if n_components >= task.n_classes - 1:
        blocks.append(np.eye(task.rank)[:, task.rank - n_components :])
    columns = np.hstack(blocks)
    if not n_components <= columns.shape[1] <= task.rank // 2:
        return np.eye(task.rank)
    frame, _ = linalg.qr(columns, mode="economic", check_finite=False)
    return frame


def _best_between(root: Floats, n_components: int) -> Floats:
    """The orthonormal directions that keep most of S_b = root root^T."""
    vectors, _, _ = linalg.svd(root, full_matrices=False, check_finite=False)
    return vectors[:, :n_components]
