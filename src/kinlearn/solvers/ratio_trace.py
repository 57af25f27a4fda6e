"""Ratio-trace discriminant analysis: maximise tr((W^T (S_w + ridge I) W)^-1 W^T S_b W).

Eq. 1 of Zhang and Yeung (2011). S_b = M M^T has at most c - 1 directions, so the generalised
eigenproblem of size r becomes an ordinary one of size c: with S = S_w + ridge I and
M^T S^-1 M = V diag(e) V^T, the solutions are W = S^-1 M V diag(e)^-1/2, and W^T S W = I.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from kinlearn.solvers.scatter import Floats, ReducedScatter


def ratio_trace(task: ReducedScatter, *, ridge: float) -> tuple[Floats, Floats]:
    """Solve one reduced task with a positive ridge.

    Returns
    -------
    directions : ndarray of shape (r, k)
        Best first, k <= c - 1; scaled such that W^T (S_w + ridge I) W = I.
    ratios : ndarray of shape (k,)
        Between-class over regularised within-class scatter along each direction.
    """
    within = task.within()
    within.flat[:: task.rank + 1] += ridge
    return _solve(within, task.between_root)


def fisherface(task: ReducedScatter) -> tuple[Floats, Floats]:
    """Solve one reduced task as Belhumeur, Hespanha and Kriegman (1997) do.

    Principal components first, as many as S_w has rank (n - c when features abound), where S_w can
    be inverted; then the ratio trace there, W^T S_w W = I.
    """
    # The rows of one class sum to zero, which takes one dimension per class.
    size = min(task.rank, len(task.within_rows) - task.n_classes)
    rows = task.within_rows[:, :size]
    within = rows.T @ rows / len(rows)
    directions, ratios = _solve(within, task.between_root[:size])
    return np.vstack([directions, np.zeros((task.rank - size, directions.shape[1]))]), ratios


def _solve(within: Floats, between_root: Floats) -> tuple[Floats, Floats]:
    try:
        factor = linalg.cho_factor(within, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return _solve_singular(within, between_root)
    solved = linalg.cho_solve(factor, between_root, check_finite=False)
    ratios, vectors = linalg.eigh(between_root.T @ solved, check_finite=False)
    ratios, vectors = ratios[::-1], vectors[:, ::-1]
    # The weighted class means sum to zero, so at least one ratio is zero up to rounding.
    keep = ratios > max(ratios[0], 0.0) * len(ratios) * 1e-14
    keep[len(within) :] = False
    keep[max(len(ratios) - 1, 1) :] = False
    return solved @ (vectors[:, keep] / np.sqrt(ratios[keep])), ratios[keep]


def _solve_singular(within: Floats, between_root: Floats) -> tuple[Floats, Floats]:
    """The same on the eigenvectors of S_w that carry scatter, for an S_w that is singular."""
    values, vectors = linalg.eigh(within, check_finite=False)
    keep = values > max(values[-1], 0.0) * len(values) * np.finfo(float).eps
    whitening = vectors[:, keep] / np.sqrt(values[keep])
    left, singular, _ = linalg.svd(
        whitening.T @ between_root, full_matrices=False, check_finite=False
    )
    keep = singular > max(singular.max(initial=0.0), 0.0) * 1e-7
    keep[max(between_root.shape[1] - 1, 1) :] = False
    return whitening @ left[:, keep], singular[keep] ** 2
