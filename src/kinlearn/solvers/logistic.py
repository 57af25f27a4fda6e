"""Penalised logistic regression in function space: dual Newton, and quasi-Newton in the eigenbasis.

With N = Σw and scores f = B v, B a kernel matrix that already carries the regularisation, minimise

    (1/N) Σ_n w_n loss(f_n, z_n) + ½ vᵀ B v

For one task B = Phi Phiᵀ/reg, so that ``½ vᵀBv`` is ``reg/2·||θ||²`` with ``θ = Phiᵀ v/reg``. Two
classes have one score and ``loss = log(1+exp(f)) - z f``; more have one score a class and
``loss = logsumexp(f) - zᵀf``. Targets z may be means of merged rows. At the optimum
``v = -(1/N) w ∂loss/∂f``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, lapack
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp, softmax

GRADIENT_TOLERANCE = 1e-7
MAX_HALVINGS = 40


@dataclass(frozen=True)
class LogisticSolution:
    """Dual coefficients, one column a score, and how they were found.

    Attributes
    ----------
    v : ndarray of shape (n, k)
        Dual coefficients; k = 1 for two classes.
    gradient_norm : float
        Norm of the gradient with respect to the primal parameters.
    n_iter : int
        Newton steps or L-BFGS iterations.
    n_factorisations : int
        Cholesky factorisations made.
    """

    v: np.ndarray
    gradient_norm: float
    n_iter: int
    n_factorisations: int = 0


def newton_binary(
    B: np.ndarray,
    z: np.ndarray,
    weights: np.ndarray,
    scale: float = 1.0,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 50,
    start: np.ndarray | None = None,
) -> LogisticSolution:
    """Newton's method in the dual: one Cholesky factorisation of ``I + H½ B H½`` a step.

    With curvatures ``h_n = w_n p_n(1-p_n)/N`` and slopes ``g_n = w_n (p_n - z_n)/N`` the step
    solves ``(B + H⁻¹) v = f - g/h`` (written so that vanishing curvatures do no harm), and is
    halved until the objective falls.

    Parameters
    ----------
    B : ndarray of shape (n, n)
        Kernel matrix over the regularisation.
    z : ndarray of shape (n,)
        Chance of the second class.
    weights : ndarray of shape (n,)
        Weights.
    scale : float
        The primal gradient is ``sqrt(scale · (g+v)ᵀB(g+v))``: reg for one task.
    tol : float
        Bound on the norm of the gradient.
    max_iter : int
        Bound on the number of steps.
    start : ndarray of shape (n,), optional
        Dual coefficients to start from.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic import newton_binary
    >>> found = newton_binary(np.eye(2), np.array([0.0, 1.0]), np.ones(2))
    >>> found.gradient_norm < 1e-7
    True
    """
    share = weights / weights.sum()
    v = np.zeros(z.size) if start is None else start.copy()
    f = B @ v
    value = _binary_objective(f, v, z, share)
    norm, factorisations = np.inf, 0
    for step in range(max_iter + 1):
        p = expit(f)
        g = share * (p - z)
        residual = g + v
        norm = float(np.sqrt(max(scale * (residual @ (B @ residual)), 0.0)))
        if norm <= tol or step == max_iter:
            break
        root = np.sqrt(share * p * (1.0 - p))
        system = root[:, None] * B * root
        system.flat[:: z.size + 1] += 1.0
        factor, info = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
        factorisations += 1
        assert info == 0  # the identity plus a positive semi-definite matrix
        # v_new = b - H½ (I + H½BH½)⁻¹ H½ B b with b = h f - g
        b = root**2 * f - g
        inner, _ = lapack.dpotrs(factor, root * (B @ b), lower=1)
        direction = b - root * inner - v
        slope_f = B @ direction
        size = 1.0
        for _ in range(MAX_HALVINGS):
            trial_v, trial_f = v + size * direction, f + size * slope_f
            trial = _binary_objective(trial_f, trial_v, z, share)
            if trial <= value + 1e-15 * abs(value):
                break
            size *= 0.5
        v, f, value = trial_v, trial_f, trial
    return LogisticSolution(v[:, None], norm, step, factorisations)


def _binary_objective(f: np.ndarray, v: np.ndarray, z: np.ndarray, share: np.ndarray) -> float:
    loss = -(z * log_expit(f) + (1.0 - z) * log_expit(-f))
    return float(share @ loss + 0.5 * (v @ f))


@dataclass(frozen=True)
class Eigenbasis:
    """``B = F Fᵀ`` with orthogonal columns: ``F = U √s``."""

    s: np.ndarray
    U: np.ndarray

    @classmethod
    def of(cls, B: np.ndarray) -> Eigenbasis:
        """Decompose a kernel matrix and drop what rounding cannot tell from zero."""
        s, U = eigh(B, driver="evd", check_finite=False)
        kept = s > s[-1] * s.size * np.finfo(np.float64).eps
        return cls(s[kept], U[:, kept])

    def scaled(self, factor: float) -> Eigenbasis:
        """The basis of ``factor · B``: a path over regs needs one decomposition."""
        return Eigenbasis(self.s * factor, self.U)


class EigenbasisProblem:
    """The objective over ``beta`` with ``f = F beta``, ``½||beta||²`` the penalty.

    Variables are rescaled by Böhning's bound on the Hessian, ``¼ s share + 1`` for two classes and
    ``½ s share + 1`` beyond, which makes the problem well conditioned whatever the spectrum.
    """

    def __init__(self, basis: Eigenbasis, Z: np.ndarray, weights: np.ndarray, scale: float) -> None:
        self.basis, self.scale = basis, scale
        self.binary = Z.shape[1] == 2
        self.targets = Z[:, 1:] if self.binary else Z
        self.share = (weights / weights.sum())[:, None]
        self.root = np.sqrt(basis.s)[:, None]
        bound = (0.25 if self.binary else 0.5) * basis.s * float(self.share.mean()) + 1.0
        self.precondition = 1.0 / np.sqrt(bound)[:, None]
        self.shape = (basis.s.size, self.targets.shape[1])

    def scores(self, beta: np.ndarray) -> np.ndarray:
        return self.basis.U @ (self.root * beta)

    def value_and_gradient(self, beta: np.ndarray) -> tuple[float, np.ndarray]:
        f = self.scores(beta)
        if self.binary:
            loss = -(self.targets * log_expit(f) + (1.0 - self.targets) * log_expit(-f))[:, 0]
            p = expit(f)
        else:
            loss = logsumexp(f, axis=1) - np.einsum("nc,nc->n", self.targets, f)
            p = softmax(f, axis=1)
        value = float(self.share[:, 0] @ loss) + 0.5 * float(np.vdot(beta, beta))
        gradient = self.root * (self.basis.U.T @ (self.share * (p - self.targets))) + beta
        return value, gradient

    def curvature_product(self, p: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Hessian times a direction, at probabilities p."""
        change = self.scores(direction)
        if self.binary:
            weighted = p * (1.0 - p) * change
        else:
            weighted = p * (change - np.einsum("nc,nc->n", p, change)[:, None])
        return self.root * (self.basis.U.T @ (self.share * weighted)) + direction

    def probabilities(self, beta: np.ndarray) -> np.ndarray:
        f = self.scores(beta)
        return expit(f) if self.binary else softmax(f, axis=1)

    def primal_norm(self, gradient: np.ndarray) -> float:
        """Norm of the gradient with respect to the primal parameters."""
        return float(np.sqrt(self.scale) * np.linalg.norm(gradient))

    def dual(self, beta: np.ndarray) -> np.ndarray:
        """``v`` with ``Fᵀ v = beta`` in the span of U."""
        return self.basis.U @ (beta / self.root)


def lbfgs(
    basis: Eigenbasis,
    Z: np.ndarray,
    weights: np.ndarray,
    scale: float = 1.0,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 1000,
    start: np.ndarray | None = None,
) -> LogisticSolution:
    """L-BFGS in the eigenbasis of B, preconditioned by Böhning's bound.

    Parameters
    ----------
    basis : Eigenbasis
        Of B.
    Z : ndarray of shape (n, c)
        Targets.
    weights, scale, tol, max_iter
        As in :func:`newton_binary`.
    start : ndarray of shape (n, k), optional
        Dual coefficients to start from.
    """
    problem = EigenbasisProblem(basis, Z, weights, scale)
    scaling = problem.precondition

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = problem.value_and_gradient(scaling * flat.reshape(problem.shape))
        return value, (scaling * gradient).ravel()

    beta = np.zeros(problem.shape) if start is None else problem.root * (basis.U.T @ start)
    n_iter = 0
    # The objective's own digits end before the gradient's: restarting with fresh curvature pairs
    # gains the last ones.
    for _ in range(4):
        options = {
            "maxiter": max_iter - n_iter,
            "maxcor": 20,
            "gtol": 0.0,
            "ftol": 0.0,
            "maxls": 30,
        }
        stop = _StopAtGradient(problem, scaling, tol)
        found = minimize(
            objective,
            (beta / scaling).ravel(),
            jac=True,
            method="L-BFGS-B",
            options=options,
            callback=stop,
        )
        beta, n_iter = scaling * found.x.reshape(problem.shape), n_iter + int(found.nit)
        norm = problem.primal_norm(problem.value_and_gradient(beta)[1])
        if norm <= tol or n_iter >= max_iter or found.nit == 0:
            break
    return LogisticSolution(problem.dual(beta), norm, n_iter)


class _StopAtGradient:
    """Ends L-BFGS when the primal gradient is small."""

    def __init__(self, problem: EigenbasisProblem, scaling: np.ndarray, tol: float) -> None:
        self.problem, self.scaling, self.tol = problem, scaling, tol

    def __call__(self, x: np.ndarray) -> None:
        beta = self.scaling * x.reshape(self.problem.shape)
        if self.problem.primal_norm(self.problem.value_and_gradient(beta)[1]) <= self.tol:
            raise StopIteration


def newton_multiclass(
    basis: Eigenbasis,
    Z: np.ndarray,
    weights: np.ndarray,
    scale: float = 1.0,
    tol: float = GRADIENT_TOLERANCE,
    max_iter: int = 50,
    start: np.ndarray | None = None,
) -> LogisticSolution:
    """Newton's method for three classes and more, each step by preconditioned conjugate gradients.

    The Hessian couples all classes, so that a factorisation would be of size n·c; in the eigenbasis
    a product with it takes two matrix products, and Böhning's bound leaves few iterations.
    """
    problem = EigenbasisProblem(basis, Z, weights, scale)
    beta = np.zeros(problem.shape) if start is None else problem.root * (basis.U.T @ start)
    value, gradient = problem.value_and_gradient(beta)
    norm = problem.primal_norm(gradient)
    step = 0
    while norm > tol and step < max_iter:
        step += 1
        # solving a step more exactly than it is far from the optimum is work for nothing
        accuracy = min(0.1, np.sqrt(norm))
        direction = -_conjugate_gradients(problem, problem.probabilities(beta), gradient, accuracy)
        size, slope = 1.0, float(np.vdot(gradient, direction))
        for _ in range(MAX_HALVINGS):
            trial = beta + size * direction
            trial_value, trial_gradient = problem.value_and_gradient(trial)
            if trial_value <= value + 1e-4 * size * slope + 1e-15 * abs(value):
                break
            size *= 0.5
        beta, value, gradient = trial, trial_value, trial_gradient
        norm = problem.primal_norm(gradient)
    return LogisticSolution(problem.dual(beta), norm, step)


def _conjugate_gradients(
    problem: EigenbasisProblem, p: np.ndarray, right: np.ndarray, accuracy: float
) -> np.ndarray:
    solution = np.zeros_like(right)
    residual = right.copy()
    preconditioned = problem.precondition**2 * residual
    direction = preconditioned
    energy = float(np.vdot(residual, preconditioned))
    target = accuracy**2 * energy
    for _ in range(200):
        product = problem.curvature_product(p, direction)
        length = energy / float(np.vdot(direction, product))
        solution += length * direction
        residual -= length * product
        preconditioned = problem.precondition**2 * residual
        previous, energy = energy, float(np.vdot(residual, preconditioned))
        if energy <= target:
            break
        direction = preconditioned + (energy / previous) * direction
    return solution
