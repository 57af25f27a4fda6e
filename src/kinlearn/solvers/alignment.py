"""Generalised Procrustes: turn, shift and scale tasks so that their common classes coincide.

    minimise over R_i, C   sum_i || s_i (M_i - 1 o_i^T) R_i - C ||_F^2,   R_i^T R_i = I

with M_i (c by d) the class means of task i, o_i their mean, and s_i such that every
``s_i (M_i - 1 o_i^T)`` has the same norm, the mean over tasks. Eq. 3 of Zhang and Yeung (2011) does
not change when a U_i is turned, so the common space of MTDA is common in its dimensions only, until
classes that tasks have in common say how to turn them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from kinlearn.solvers.scatter import Floats


def align_class_means(
    means: Sequence[Floats], *, tol: float = 1e-10, max_iter: int = 200
) -> list[tuple[Floats, Floats]]:
    """Find the shift and the map of every task.

    Parameters
    ----------
    means : sequence of ndarray of shape (c, d)
        Means of the same c classes in every task, in the same order.
    tol : float
        Stop when the misfit falls by no more than this share.
    max_iter : int

    Returns
    -------
    list of (offset of shape (d,), map of shape (d, d))
        ``(Z - offset) @ map`` is the aligned task; the map is orthogonal up to its scale.

    Examples
    --------
    >>> M = np.array([[0., 0], [2, 0], [0, 1]])
    >>> turned = M @ np.array([[0., 1], [-1, 0]]) * 3 + 5
    >>> maps = align_class_means([M, turned])
    >>> first, second = [(m - o) @ A for m, (o, A) in zip([M, turned], maps)]
    >>> bool(np.allclose(first, second))
    True
    """
    offsets = [M.mean(axis=0) for M in means]
    centred = [M - offset for M, offset in zip(means, offsets, strict=True)]
    norms = [float(linalg.norm(M)) for M in centred]
    typical = float(np.mean(norms))
    scales = [typical / norm if norm > 0 else 1.0 for norm in norms]
    shapes = [scale * M for scale, M in zip(scales, centred, strict=True)]
    target = shapes[0]
    rotations = [np.eye(target.shape[1])] * len(shapes)
    misfit = np.inf
    for _ in range(max_iter):
        rotations = [_rotation(M, target) for M in shapes]
        turned = [M @ R for M, R in zip(shapes, rotations, strict=True)]
        target = np.mean(turned, axis=0)
        reached = sum(float(np.sum((M - target) ** 2)) for M in turned)
        if reached >= misfit * (1 - tol):
            break
        misfit = reached
    return [
        (offset, scale * R) for offset, scale, R in zip(offsets, scales, rotations, strict=True)
    ]


def _rotation(source: Floats, target: Floats) -> Floats:
    """The orthogonal R with the smallest ||source R - target||."""
    left, _, right = linalg.svd(source.T @ target, check_finite=False)
    return left @ right
