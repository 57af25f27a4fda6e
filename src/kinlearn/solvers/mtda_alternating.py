"""The alternating algorithms of Zhang and Yeung (2011) for multi-task discriminant analysis.

    maximise over W_i, P   sum_i tr(P^T W_i^T S_b^i W_i P) / sum_i tr(P^T W_i^T S_t^i W_i P)   (3)

with orthonormal columns in every W_i (d_i by d') and in P (d' by d). The paper alternates: every
W_i with the rest fixed (Eq. 5, its Table 1), then P with the W_i fixed (Eq. 6).

``alternating`` runs Table 1 without its steps 2.3 and 2.4. Every step is then a global maximum
over its block, so the objective rises; and at a fixed point each U_i = W_i P maximises
tr(U^T (S_b^i - alpha S_t^i) U) at the common ratio alpha, which is Dinkelbach's optimality
condition: the fixed point is the global optimum, which ``kinlearn.solvers.trace_ratio`` finds
directly.

``table1`` runs Table 1 as printed. Steps 2.3 and 2.4 replace W_i by another orthonormal basis of
its column space, on the ground that "any orthogonal Q" leaves the objective unchanged (Theorem 1).
It does not, because W_i enters through W_i P P^T W_i^T: the objective can fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kinlearn.solvers.scatter import Floats, ReducedScatter
from kinlearn.solvers.trace_ratio import top_eigenvectors


@dataclass(frozen=True)
class Alternation:
    """Result of an alternating solver.

    Attributes
    ----------
    projections : list of ndarray of shape (max(r_i, d'), n_components)
        U_i = W_i P, orthonormal; rows beyond r_i belong to directions outside range(S_t^i).
    objective : float
    path : ndarray
        The ratio at the start and after every outer iteration (all W_i, then P).
    steps : ndarray
        The ratio at the start and after every single update of a W_i or of P.
    converged : bool
    """

    projections: list[Floats]
    objective: float
    path: Floats
    steps: Floats
    converged: bool


@dataclass
class _Padded:
    """One task as dense matrices of size max(r, d'), so that W_i has room for d' columns."""

    between: Floats
    total: Floats


def pad(task: ReducedScatter, size: int, ridge: float, *, guarded: bool) -> _Padded:
    """Extend a reduced task to at least ``size`` dimensions.

    Directions outside range(S_t) have no scatter at all, which makes 0/0 an optimum of Eq. 3. The
    optimum meant is the one inside range(S_t). So, when guarded, the padding gets S_b = 0 and the
    largest variance of the task as S_t: never better than the worst direction inside. Unguarded,
    the padding is zero, as it is in the paper.
    """
    rank = task.rank
    full = max(rank, size)
    between = np.zeros((full, full))
    between[:rank, :rank] = task.between()
    diagonal = np.full(full, task.total[0] if guarded else 0.0)
    diagonal[:rank] = task.total
    return _Padded(between, np.diag(diagonal + ridge))


def alternate(
    tasks: Sequence[ReducedScatter],
    starts: Sequence[Floats],
    n_intermediate: int,
    *,
    ridges: Sequence[float] | None = None,
    as_printed: bool = False,
    epsilon: float = 1e-4,
    inner_iter: int = 50,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> Alternation:
    """Alternate over the W_i and P from given starting projections.

    Parameters
    ----------
    tasks : sequence of ReducedScatter
    starts : sequence of ndarray of shape (r_i, n_components)
        Orthonormal starting U_i. W_i begins as U_i completed to d' columns and P as the first
        columns of the identity, so that W_i P = U_i.
    n_intermediate : int
        d', at least n_components.
    ridges : sequence of float, default=None
        Added to every S_t.
    as_printed : bool, default=False
        Table 1 with its steps 2.3 and 2.4.
    epsilon : float
        Table 1's stopping rule ``||W^(k) - W^(k-1)||_F <= epsilon``; as printed only.
    inner_iter : int
        N_iter of Table 1.
    tol : float
        Stop when an outer iteration (without 2.3 and 2.4: also an inner one) changes the ratio by
        no more than this.
    max_iter : int
        Limit of outer iterations.

    Returns
    -------
    Alternation
    """
    ridges = [0.0] * len(tasks) if ridges is None else list(ridges)
    padded = [
        pad(task, n_intermediate, ridge, guarded=not as_printed)
        for task, ridge in zip(tasks, ridges, strict=True)
    ]
    n_components = starts[0].shape[1]
    P = np.eye(n_intermediate, n_components)
    Ws = [
        complete_columns(start, len(task.total), n_intermediate)
        for task, start in zip(padded, starts, strict=True)
    ]
    traces = np.array([_traces(task, W @ P) for task, W in zip(padded, Ws, strict=True)])
    ratio = _ratio(traces)
    path, steps = [ratio], [ratio]
    converged = False
    for _ in range(max_iter):
        for i, task in enumerate(padded):
            others = traces.sum(axis=0) - traces[i]
            if as_printed:
                Ws[i] = table1(task, Ws[i], P, others, epsilon=epsilon, n_iter=inner_iter)
            else:
                Ws[i] = _maximise_task(task, Ws[i], P, others, tol=tol, n_iter=inner_iter)
            traces[i] = _traces(task, Ws[i] @ P)
            steps.append(_ratio(traces))
        P = _maximise_common(padded, Ws, P, tol=tol, n_iter=inner_iter)
        traces = np.array([_traces(task, W @ P) for task, W in zip(padded, Ws, strict=True)])
        ratio = _ratio(traces)
        steps.append(ratio)
        path.append(ratio)
        if abs(path[-1] - path[-2]) <= tol:
            converged = True
            break
    projections = [W @ P for W in Ws]
    return Alternation(projections, path[-1], np.array(path), np.array(steps), converged)


def table1(
    task: _Padded, W: Floats, P: Floats, others: Floats, *, epsilon: float, n_iter: int
) -> Floats:
    """Table 1 of the paper, line by line, for problem (7).

    ``others`` holds d * (a^i, b^i) of Eq. 4. S~_b = S_b + a I and S~_t = S_t + b I.
    """
    n_components = P.shape[1]
    between = _plus_identity(task.between, others[0] / n_components)
    total = _plus_identity(task.total, others[1] / n_components)
    for _ in range(n_iter):
        previous = W
        U = W @ P
        alpha = np.vdot(U, between @ U) / np.vdot(U, total @ U)  # 2.1
        W = _best_frame(between - alpha * total, P)  # 2.2
        # S = W (W^T S~_t W) W^T has the eigenvectors W V, V those of the smaller inner matrix.
        _, inner = linalg.eigh(W.T @ total @ W, check_finite=False)  # 2.3
        W = _signed(W @ inner[:, ::-1])  # 2.4
        if linalg.norm(W - previous) <= epsilon:  # 2.5
            break
    return W


def complete_columns(U: Floats, n_rows: int, n_columns: int) -> Floats:
    """Extend orthonormal columns to an orthonormal (n_rows, n_columns) matrix.

    Examples
    --------
    >>> W = complete_columns(np.array([[0.6], [0.8]]), 3, 3)
    >>> bool(np.allclose(W.T @ W, np.eye(3))), W[:, 0]
    (True, array([0.6, 0.8, 0. ]))
    """
    frame = np.zeros((n_rows, n_columns))
    rows, columns = U.shape
    frame[:rows, :columns] = U
    if n_columns > columns:
        # The full Q of U is orthogonal, and its trailing columns span the complement of U.
        full, _ = linalg.qr(frame[:, :columns], mode="full", check_finite=False)
        frame[:, columns:] = full[:, columns:n_columns]
    return frame


def _traces(task: _Padded, U: Floats) -> tuple[float, float]:
    return float(np.vdot(U, task.between @ U)), float(np.vdot(U, task.total @ U))


def _ratio(traces: Floats) -> float:
    between, total = traces.sum(axis=0)
    return float(between / total)


def _plus_identity(matrix: Floats, value: float) -> Floats:
    result = matrix.copy()
    result.flat[:: len(matrix) + 1] += value
    return result


def _best_frame(matrix: Floats, P: Floats) -> Floats:
    """The W of Theorem 1: maximal tr(W^T matrix W P P^T), W = U_a1 U_b^T with Q = I."""
    n_intermediate, n_components = P.shape
    # The eigenvectors of P P^T, ones first: P itself and then its complement.
    of_common = complete_columns(P, n_intermediate, n_intermediate)
    vectors = top_eigenvectors(matrix, n_intermediate)
    return (
        vectors[:, :n_components] @ P.T + vectors[:, n_components:] @ of_common[:, n_components:].T
    )


def _signed(vectors: Floats) -> Floats:
    """Fix the sign of every column: its entry of largest size is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def _maximise_task(
    task: _Padded, W: Floats, P: Floats, others: Floats, *, tol: float, n_iter: int
) -> Floats:
    """The global maximum of Eq. 5 over W_i: Table 1 without 2.3 and 2.4."""
    ratio = _ratio(np.array([_traces(task, W @ P), others]))
    for _ in range(n_iter):
        proposed = _best_frame(task.between - ratio * task.total, P)
        reached = _ratio(np.array([_traces(task, proposed @ P), others]))
        # At the optimum rounding decides: never take a step that lowers the ratio.
        if reached <= ratio:
            break
        W, gain, ratio = proposed, reached - ratio, reached
        if gain <= tol:
            break
    return W


def _maximise_common(
    padded: Sequence[_Padded], Ws: Sequence[Floats], P: Floats, *, tol: float, n_iter: int
) -> Floats:
    """The global maximum of Eq. 6 over P: the trace ratio of the summed reduced scatters.

    As printed, the padding may leave directions in which no task has scatter. They are taken out
    first, since their 0/0 is no optimum.
    """
    size = P.shape[1]
    between = np.zeros((len(P), len(P)))
    total = np.zeros((len(P), len(P)))
    for task, W in zip(padded, Ws, strict=True):
        between += W.T @ task.between @ W
        total += W.T @ task.total @ W
    values, vectors = linalg.eigh(total, check_finite=False)
    inside = vectors[:, values > values[-1] * len(values) * np.finfo(float).eps]
    if inside.shape[1] < size:
        return P
    ratio = float(np.vdot(P, between @ P) / np.vdot(P, total @ P))
    between, total = inside.T @ between @ inside, inside.T @ total @ inside
    for _ in range(n_iter):
        Q = top_eigenvectors(between - ratio * total, size)
        reached = float(np.vdot(Q, between @ Q) / np.vdot(Q, total @ Q))
        if reached <= ratio:
            break
        P, gain, ratio = inside @ Q, reached - ratio, reached
        if gain <= tol:
            break
    return P
