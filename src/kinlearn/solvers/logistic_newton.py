"""Newton's method for penalised logistic regression, in the dual and in a factor of the kernel.

With scores ``f = gram a``, gram a kernel matrix, minimise

    L(f) + reg/2 aᵀ gram a,        L(f) = Σ_n share_n loss(f_n, z_n)

For one task gram = Phi Phiᵀ and ``a`` are the dual coefficients of ``θ = Phiᵀ a``, so that the
penalty is ``reg/2·||θ||²``. At the optimum ``v = reg·a = -∂L/∂f``. With ``gram = F Fᵀ`` the same
problem over ``beta = Fᵀ a`` has the penalty ``reg/2·||beta||²`` and r unknowns, r the rank. The
gradient's norm is that with respect to θ, which is that with respect to beta:
``||Fᵀ(∂L/∂f + v)||``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dsyrk

from kinlearn.solvers.logistic_loss import Array, LogisticLoss

GRADIENT_TOLERANCE = 1e-7
MAX_HALVINGS = 40


@dataclass(frozen=True)
class LogisticSolution:
    """The coefficients a solver works on, one column a score, and how they were found.

    Attributes
    ----------
    coef : ndarray of shape (n, k) or (r, k)
        Dual coefficients a, or beta; k = 1 for two classes.
    gradient_norm : float
        Norm of the gradient with respect to the primal parameters.
    n_iter : int
        Newton steps or L-BFGS iterations.
    n_factorisations : int
        Cholesky factorisations made.
    """

    coef: Array
    gradient_norm: float
    n_iter: int
    n_factorisations: int = 0


def best_scale(
    loss: LogisticLoss, f: Array, penalty: float, reg: float, scales: Sequence[float]
) -> float:
    """Return the c of `scales` at which c·f, of squared norm c²·penalty, has the least objective.

    Between two regs, scores stay (separable classes) or grow as 1/reg does (a strong penalty): the
    better of both, or the middle, is a start that saves steps.
    """
    if len(scales) == 1:
        return scales[0]
    return min(scales, key=lambda c: loss.value(c * f) + 0.5 * reg * c * c * penalty)


def newton_dual(
    gram: Array,
    loss: LogisticLoss,
    reg: float,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 50,
    start: Array | None = None,
    scales: Sequence[float] = (1.0,),
) -> LogisticSolution:
    """Two classes, in the dual: one Cholesky factorisation of ``I + H½ B H½`` a step.

    With ``B = gram/reg``, slopes g and curvatures h of the loss the step solves
    ``(B + H⁻¹) v = f - g/h`` (written so that vanishing curvatures do no harm), and is halved until
    the objective falls.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel matrix.
    loss : LogisticLoss
        Of two classes.
    reg : float
        Strength of the penalty.
    tol : float
        Bound on the norm of the gradient.
    max_iter : int
        Bound on the number of steps.
    start : ndarray of shape (n, 1), optional
        Dual coefficients to start from.
    scales : sequence of float
        What these may be multiplied by first.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_loss import LogisticLoss
    >>> from kinlearn.solvers.logistic_newton import newton_dual
    >>> found = newton_dual(np.eye(2), LogisticLoss.of(np.eye(2), np.full(2, 0.5)), reg=0.1)
    >>> found.gradient_norm < 1e-7
    True
    """
    n = gram.shape[0]
    v, f = np.zeros((n, 1)), np.zeros((n, 1))
    if start is not None:
        f = gram @ start
        scale = best_scale(loss, f, float(np.vdot(start, f)), reg, scales)
        v, f = reg * scale * start, scale * f
    value, p = loss.evaluate(f)
    value += 0.5 * float(np.vdot(v, f))
    step = 0
    while True:
        g = loss.slopes(p)
        residual = g + v
        norm = float(np.sqrt(max(float(np.vdot(residual, gram @ residual)), 0.0)))
        if norm <= tol or step == max_iter:
            return LogisticSolution(v / reg, norm, step, step)
        step += 1
        root = np.sqrt(loss.share * p * (1.0 - p))
        scaled = root / np.sqrt(reg)
        system = gram * scaled
        system *= scaled.T
        system.flat[:: n + 1] += 1.0
        factor, info = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
        if info != 0:  # the identity plus a matrix that is not positive semi-definite
            raise np.linalg.LinAlgError(
                "The kernel matrix has clearly negative eigenvalues: use a positive semi-definite "
                "kernel, or a larger reg."
            )
        # v_new = b - H½ (I + H½BH½)⁻¹ H½ B b with b = h f - g
        b = root**2 * f - g
        inner, _ = lapack.dpotrs(factor, root * (gram @ b) / reg, lower=1)
        direction = b - root * inner - v
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


class FactorProblem:
    """The objective over beta, ``f = F beta``, and products with its Hessian."""

    def __init__(self, F: Array, loss: LogisticLoss, reg: float) -> None:
        self.F, self.loss, self.reg = F, loss, reg
        self.shape = (F.shape[1], loss.targets.shape[1])

    def start(self, beta: Array | None, scales: Sequence[float]) -> Array:
        """Where to begin: zero, or what is given times the best of `scales`."""
        if beta is None:
            return np.zeros(self.shape)
        f, penalty = self.F @ beta, float(np.vdot(beta, beta))
        return best_scale(self.loss, f, penalty, self.reg, scales) * beta

    def evaluate(self, beta: Array) -> tuple[float, Array, Array]:
        """Value, gradient and probabilities."""
        value, p = self.loss.evaluate(self.F @ beta)
        value += 0.5 * self.reg * float(np.vdot(beta, beta))
        return value, self.F.T @ self.loss.slopes(p) + self.reg * beta, p

    def hessian_product(self, p: Array, direction: Array) -> Array:
        curved = self.loss.curvature(p, self.F @ direction)
        return self.F.T @ curved + self.reg * direction


def newton_factor(
    F: Array,
    loss: LogisticLoss,
    reg: float,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 50,
    start: Array | None = None,
    scales: Sequence[float] = (1.0,),
) -> LogisticSolution:
    """Two classes, over beta: one Cholesky factorisation of ``Fᵀ H F + reg·I``, r×r, a step.

    Parameters
    ----------
    F : ndarray of shape (n, r)
        Factor of the kernel matrix.
    loss, reg, tol, max_iter, start, scales
        As in :func:`newton_dual`.
    """
    problem = FactorProblem(F, loss, reg)

    def direction(gradient: Array, p: Array, norm: float) -> Array:
        factor = hessian_factor(F, loss.share * p * (1.0 - p), reg)
        return -lapack.dpotrs(factor, gradient, lower=1)[0]

    found = descend(problem, direction, tol, max_iter, problem.start(start, scales))
    return replace(found, n_factorisations=found.n_iter)


def hessian_factor(F: Array, curvatures: Array, reg: float) -> Array:
    """Lower Cholesky factor of ``Fᵀ H F + reg·I``; a reg that drowns in rounding is lifted."""
    system = dsyrk(1.0, (F * np.sqrt(curvatures)).T, lower=1)
    diagonal = np.diag_indices_from(system)
    own, lift = system[diagonal], reg
    while True:
        system[diagonal] = own + lift
        factor, info = lapack.dpotrf(system, lower=1)
        if info == 0:
            return factor
        lift = max(10.0 * lift, len(own) * np.finfo(float).eps * float(own.max()))


def descend(
    problem: FactorProblem,
    find: Callable[[Array, Array, float], Array],
    tol: float,
    max_iter: int,
    beta: Array,
    give_up: Callable[[], bool] = lambda: False,
) -> LogisticSolution:
    """Newton steps, halved until the objective falls enough; `give_up` ends them early."""
    value, gradient, p = problem.evaluate(beta)
    norm, step = float(np.linalg.norm(gradient)), 0
    while norm > tol and step < max_iter and not give_up():
        step += 1
        direction = find(gradient, p, norm)
        size, slope = 1.0, float(np.vdot(gradient, direction))
        for _ in range(MAX_HALVINGS):
            trial = beta + size * direction
            trial_value, trial_gradient, trial_p = problem.evaluate(trial)
            if trial_value <= value + 1e-4 * size * slope + 1e-15 * abs(value):
                break
            size *= 0.5
        beta, value, gradient, p = trial, trial_value, trial_gradient, trial_p
        norm = float(np.linalg.norm(gradient))
    return LogisticSolution(beta, norm, step)
