"""Exact Newton steps in the dual for three classes and more.

With ``B = gram/reg`` and ``D_k = share·p_k`` the Hessian of the softmax is
``W = D - D R S⁻¹ Rᵀ D``, S = diag(share) and R the identity, c times below itself. The step solves
``(I + W B) v = W f - g``; with ``E_k = D_k½ (I + D_k½ B D_k½)⁻¹ D_k½``, b the right-hand side and
e = E B b it is

    v = b - e + E R (Σ_k E_k)⁻¹ Rᵀ e

(Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 3.3): c + 1
factorisations of size n instead of one of size n·c.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from kinlearn.solvers.logistic_loss import Array, LogisticLoss
from kinlearn.solvers.logistic_newton import (
    GRADIENT_TOLERANCE,
    MAX_HALVINGS,
    LogisticSolution,
    best_scale,
)


def newton_dual_multiclass(
    gram: Array,
    loss: LogisticLoss,
    reg: float,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 50,
    start: Array | None = None,
    scales: Sequence[float] = (1.0,),
) -> LogisticSolution:
    """Newton steps over dual coefficients, one column a class.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel matrix.
    loss, reg, tol, max_iter, start, scales
        As in :func:`kinlearn.solvers.logistic_newton.newton_dual`.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_exact import newton_dual_multiclass
    >>> from kinlearn.solvers.logistic_loss import LogisticLoss
    >>> loss = LogisticLoss.of(np.eye(3), np.full(3, 1 / 3))
    >>> newton_dual_multiclass(np.eye(3), loss, reg=0.1).gradient_norm < 1e-7
    True
    """
    v, f = np.zeros_like(loss.targets), np.zeros_like(loss.targets)
    if start is not None:
        f = gram @ start
        scale = best_scale(loss, f, float(np.vdot(start, f)), reg, scales)
        v, f = reg * scale * start, scale * f
    value, p = loss.evaluate(f)
    value += 0.5 * float(np.vdot(v, f))
    step = 0
    while True:
        residual = loss.slopes(p) + v
        norm = float(np.sqrt(max(float(np.vdot(residual, gram @ residual)), 0.0)))
        if norm <= tol or step == max_iter:
            return LogisticSolution(v / reg, norm, step, step * (v.shape[1] + 1))
        step += 1
        direction = _solve(gram, loss, reg, f, p) - v
        change = gram @ direction / reg
        size = 1.0
        for _ in range(MAX_HALVINGS):
            trial_v, trial_f = v + size * direction, f + size * change
            trial, trial_p = loss.evaluate(trial_f)
            trial += 0.5 * float(np.vdot(trial_v, trial_f))
            if trial <= value + 1e-15 * abs(value):
                break
            size *= 0.5
        v, f, p, value = trial_v, trial_f, trial_p, trial


def _solve(gram: Array, loss: LogisticLoss, reg: float, f: Array, p: Array) -> Array:
    """The v of a full Newton step from scores f, where the probabilities are p."""
    n, n_classes = f.shape
    b = loss.curvature(p, f) - loss.slopes(p)
    right = gram @ b / reg
    total, parts = np.zeros((n, n)), []
    e = np.empty_like(b)
    for k in range(n_classes):
        root = np.sqrt(loss.share[:, 0] * p[:, k])
        scaled = root / np.sqrt(reg)
        system = gram * scaled
        system *= scaled[:, None]
        system.flat[:: n + 1] += 1.0
        factor, _ = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
        e[:, k] = root * lapack.dpotrs(factor, root * right[:, k], lower=1)[0]
        parts.append((root, factor.copy(order="F")))
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        inverse *= root
        inverse *= root[:, None]
        total += inverse
    # only the lower triangle of the sum is right, and only that is read
    factor, info = lapack.dpotrf(total, lower=1)
    lift = np.finfo(float).eps * n * float(np.diagonal(total).max())
    while info != 0:
        total.flat[:: n + 1] += lift
        factor, info = lapack.dpotrf(total, lower=1)
        lift *= 10.0
    common = lapack.dpotrs(factor, e.sum(axis=1), lower=1)[0]
    for k, (root, own) in enumerate(parts):
        e[:, k] -= root * lapack.dpotrs(own, root * common, lower=1)[0]
    return b - e
