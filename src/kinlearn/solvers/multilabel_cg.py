"""Multi-label LSPC by the paper's matrix-free conjugate gradients.

``H θ = h`` (Eq. 1 of the multi-label paper) is solved without forming H or K²: its product with
a parameter matrix is ``Phiᵀ(D·(Phi Θ))/Σw + Θ·Λ``, so the kernel matrix is applied twice and the
labels are mixed once: O(nT(m + T)) a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.sylvester import precision_factors

Array: TypeAlias = NDArray[np.float64]


class IterativeSolution(NamedTuple):
    """What conjugate gradients found and how.

    Attributes
    ----------
    solution : ndarray
    n_iter : int
        Steps taken.
    residual : float
        Final relative residual ``||h - Hθ|| / ||h||`` in the norm the iteration controls.
    converged : bool
        Whether the residual reached the tolerance.
    """

    solution: Array
    n_iter: int
    residual: float
    converged: bool


def conjugate_gradients(
    operator: Callable[[Array], Array],
    rhs: Array,
    *,
    preconditioner: Callable[[Array], Array] | None = None,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> IterativeSolution:
    """Minimise ``½<X, AX> - <B, X>`` over matrices X, A symmetric positive definite.

    The step stops when ``sqrt(<R, P⁻¹R> / <B, P⁻¹B>)`` is at most `tol`; without a preconditioner
    that is the relative residual.

    Examples
    --------
    >>> import numpy as np
    >>> found = conjugate_gradients(lambda x: np.array([2.0, 4.0]) * x, np.array([2.0, 2.0]))
    >>> found.solution, found.n_iter, found.converged
    (array([1. , 0.5]), 2, True)
    """
    precondition = preconditioner or (lambda residual: residual)
    size = float(np.vdot(rhs, precondition(rhs)))
    if size <= 0.0:
        return IterativeSolution(np.zeros_like(rhs), 0, 0.0, True)
    if start is None:
        solution, residual = np.zeros_like(rhs), rhs.copy()
    else:
        solution = start.copy()
        residual = rhs - operator(solution)
    reduced = precondition(residual)
    direction = reduced.copy()
    energy = float(np.vdot(residual, reduced))
    step = 0
    while energy > tol**2 * size and step < max_iter:
        image = operator(direction)
        length = energy / float(np.vdot(direction, image))
        solution += length * direction
        residual -= length * image
        reduced = precondition(residual)
        previous, energy = energy, float(np.vdot(residual, reduced))
        direction *= energy / previous
        direction += reduced
        step += 1
    relative = float(np.sqrt(max(energy, 0.0) / size))
    return IterativeSolution(solution, step, relative, relative <= tol)


def solve_cg(
    features: Array,
    targets: Array,
    label_values: Array,
    label_vectors: Array,
    *,
    reg: float,
    sharing: float,
    weights: Array | None = None,
    n_labels: int | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> IterativeSolution:
    """Coefficients Θ (m, T) by the paper's conjugate gradients over all labels at once.

    Parameters
    ----------
    features : ndarray of shape (n, m)
    targets : ndarray of shape (n, T)
    label_values, label_vectors : ndarray
        Eigendecomposition of the label Laplacian (used to mix labels, as L would be, and to keep
        them together at ``sharing=1``).
    reg, sharing : float
    weights : ndarray of shape (n,), optional
        Row weights.
    n_labels : int, optional
        The T of the objective, when the columns are only some of the labels.
    tol : float
        Relative residual to reach.
    max_iter : int
    """
    n = features.shape[0]
    factors = precision_factors(label_values, sharing, n_labels or len(label_values))
    active = np.isfinite(factors)
    basis = label_vectors[:, active]
    mixing = reg * (basis * factors[active]) @ basis.T
    stay = None if active.all() else basis @ basis.T
    share = np.full((n, 1), 1.0 / n) if weights is None else (weights / weights.sum())[:, None]

    def operator(theta: Array) -> Array:
        image = features.T @ (share * (features @ theta))
        if stay is not None:
            image = image @ stay
        return image + theta @ mixing

    rhs = features.T @ (share * targets)
    if stay is not None:
        rhs = rhs @ stay
    return conjugate_gradients(operator, rhs, tol=tol, max_iter=max_iter)
