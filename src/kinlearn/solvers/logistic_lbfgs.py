"""Quasi-Newton for penalised logistic regression, in the eigenbasis of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from kinlearn.solvers.logistic_loss import Array, LogisticLoss
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE, FactorProblem, LogisticSolution

RESTARTS = 4


def lbfgs(
    F: Array,
    loss: LogisticLoss,
    reg: float,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 2000,
    start: Array | None = None,
    scales: Sequence[float] = (1.0,),
) -> LogisticSolution:
    """L-BFGS over beta, ``f = F beta``, preconditioned by Böhning's bound on the Hessian.

    Variables are rescaled by ``¼ s share + reg`` for two classes and ``½ s share + reg`` beyond, s
    the squared lengths of the columns of F, which makes the problem well conditioned whatever the
    spectrum.

    Parameters
    ----------
    F : ndarray of shape (n, r)
        Factor of the kernel matrix with orthogonal columns.
    loss, reg, tol, max_iter, start, scales
        As in :func:`kinlearn.solvers.logistic_newton.newton_dual`.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_lbfgs import lbfgs
    >>> from kinlearn.solvers.logistic_loss import LogisticLoss
    >>> found = lbfgs(np.eye(3), LogisticLoss.of(np.eye(3), np.full(3, 1 / 3)), reg=0.1)
    >>> found.gradient_norm < 1e-7
    True
    """
    problem = FactorProblem(F, loss, reg)
    most = 0.25 if loss.binary else 0.5
    bound = most * np.square(F).sum(axis=0) * float(loss.share.mean()) + reg
    scaling = 1.0 / np.sqrt(bound)[:, None]

    def objective(flat: Array) -> tuple[float, Array]:
        value, gradient, _ = problem.evaluate(scaling * flat.reshape(problem.shape))
        last[:] = [float(np.linalg.norm(gradient)), flat.copy()]
        return value, (scaling * gradient).ravel()

    def norm_at(flat: Array) -> float:
        # the callback's point is nearly always the one evaluated last
        if not np.array_equal(last[1], flat):
            objective(flat)
        return last[0]

    def stop(x: Array) -> None:
        if norm_at(x) <= tol:
            raise StopIteration

    last: list[Any] = [np.inf, np.empty(0)]
    flat, n_iter = (problem.start(start, scales) / scaling).ravel(), 0
    # The objective's own digits end before the gradient's: restarting with fresh curvature pairs
    # gains the last ones.
    for _ in range(RESTARTS):
        options = {"maxiter": max_iter - n_iter, "maxcor": 20, "gtol": 0, "ftol": 0, "maxls": 30}
        found = minimize(
            objective, flat, jac=True, method="L-BFGS-B", options=options, callback=stop
        )
        flat, n_iter = found.x, n_iter + int(found.nit)
        norm = norm_at(flat)
        if norm <= tol or n_iter >= max_iter or found.nit == 0:
            break
    return LogisticSolution(scaling * flat.reshape(problem.shape), norm, n_iter)
