"""Newton's method for three classes and more, its steps by conjugate gradients.

The Hessian of the softmax couples all classes: a factorisation would be of size r·c. A product with
it takes two matrix products, so that steps are solved by conjugate gradients, preconditioned by the
Hessian's diagonal: the columns of F are orthogonal, so that it is close to that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinlearn.solvers.logistic_loss import Array, LogisticLoss
from kinlearn.solvers.logistic_newton import (
    GRADIENT_TOLERANCE,
    FactorProblem,
    LogisticSolution,
    descend,
)

MAX_INNER_STEPS = 200


def newton_multiclass(
    F: Array,
    loss: LogisticLoss,
    reg: float,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 50,
    start: Array | None = None,
    scales: Sequence[float] = (1.0,),
    patience: int | None = None,
) -> LogisticSolution:
    """Newton steps over beta, one column a class.

    Parameters
    ----------
    F : ndarray of shape (n, r)
        Factor of the kernel matrix with orthogonal columns.
    loss, reg, tol, max_iter, start, scales
        As in :func:`kinlearn.solvers.logistic_newton.newton_dual`.
    patience : int, optional
        Return, converged or not, after a step that took so many conjugate gradient iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_loss import LogisticLoss
    >>> from kinlearn.solvers.logistic_multiclass import newton_multiclass
    >>> found = newton_multiclass(np.eye(3), LogisticLoss.of(np.eye(3), np.full(3, 1 / 3)), 0.1)
    >>> found.gradient_norm < 1e-7
    True
    """
    problem = FactorProblem(F, loss, reg)
    steps = _Steps(problem, patience or MAX_INNER_STEPS)
    return descend(
        problem,
        steps.direction,
        tol,
        max_iter,
        problem.start(start, scales),
        give_up=lambda: patience is not None and steps.exhausted,
    )


class _Steps:
    """Solves for Newton steps by conjugate gradients, preconditioned by the Hessian's diagonal."""

    def __init__(self, problem: FactorProblem, patience: int) -> None:
        self.problem, self.patience = problem, patience
        self.exhausted = False
        self.squares = problem.F**2

    def direction(self, gradient: Array, p: Array, norm: float) -> Array:
        # solving a step more exactly than it is far from the optimum is work for nothing
        accuracy = min(0.1, np.sqrt(norm))
        curvatures = self.problem.loss.share * p * (1.0 - p)
        diagonal = self.squares.T @ curvatures + self.problem.reg
        solution = np.zeros_like(gradient)
        residual = gradient.copy()
        preconditioned = residual / diagonal
        direction = preconditioned
        energy = float(np.vdot(residual, preconditioned))
        target = accuracy**2 * energy
        for _ in range(self.patience):
            product = self.problem.hessian_product(p, direction)
            length = energy / float(np.vdot(direction, product))
            solution -= length * direction
            residual -= length * product
            preconditioned = residual / diagonal
            previous, energy = energy, float(np.vdot(residual, preconditioned))
            if energy <= target:
                return solution
            direction = preconditioned + (energy / previous) * direction
        self.exhausted = True
        return solution
