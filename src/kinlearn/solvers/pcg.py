"""Ridge solutions by preconditioned conjugate gradients, many right-hand sides at once.

``(PhiᵀDPhi + ρI) A = PhiᵀDZ`` needs no matrix but products ``PhiᵀD(Phi A)``, so that features can
be made again in every step instead of being stored (the manner of Rudi, Carratino, Rosasco 2017,
"FALKON"). Every column keeps its own step lengths: columns may belong to different problems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Linear: TypeAlias = Callable[[Array], Array]
Progress: TypeAlias = Callable[[int, float], None]


class PcgSolution(NamedTuple):
    """What was found and how.

    Attributes
    ----------
    solution : ndarray of shape (m, q)
    n_iter : int
        Steps taken.
    residual : float
        The largest over columns of ``sqrt(rᵀP⁻¹r / bᵀP⁻¹b)``.
    converged : bool
        Whether that reached the tolerance.
    """

    solution: Array
    n_iter: int
    residual: float
    converged: bool


def ridge_pcg(
    operator: Linear,
    rhs: Array,
    precondition: Linear,
    *,
    tol: float = 1e-7,
    max_iter: int = 200,
    progress: Progress | None = None,
) -> PcgSolution:
    """Solve ``operator(A) = rhs`` column by column, all columns in the same passes.

    A column is done when ``sqrt(rᵀP⁻¹r / bᵀP⁻¹b) ≤ tol``. For a preconditioner P near the operator
    ``PhiᵀDPhi + ρI`` the numerator bounds the weighted sum of squared errors of the scores of the
    training rows, and the denominator is that of the scores themselves: `tol` is a relative error
    of scores, root mean square, whatever the condition of the problem.

    Parameters
    ----------
    operator, precondition : callables
        Products of (m, q) arrays with the matrix and with P⁻¹, both symmetric positive definite.
    rhs : ndarray of shape (m, q)
    tol : float
    max_iter : int
    progress : callable, optional
        Told the step and the relative residual after each step.

    Examples
    --------
    >>> import numpy as np
    >>> d = np.array([[2.0], [4.0]])
    >>> found = ridge_pcg(lambda a: d * a, np.eye(2), lambda r: r)
    >>> found.solution, found.converged
    (array([[0.5 , 0.  ],
           [0.  , 0.25]]), True)
    """
    solution, residual = np.zeros_like(rhs), rhs.copy()
    reduced = precondition(residual)
    direction = reduced.copy()
    energy = _inner(residual, reduced)
    size = np.where(energy > 0.0, energy, 1.0)  # a column of zeros is solved by zeros
    step = 0
    worst = _relative(energy, size)
    while worst > tol and step < max_iter:
        image = operator(direction)
        curvature = _inner(direction, image)
        # a finished column has no direction left: its step is zero, not 0/0
        length = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0.0)
        solution += length * direction
        residual -= length * image
        reduced = precondition(residual)
        previous, energy = energy, _inner(residual, reduced)
        ratio = np.divide(energy, previous, out=np.zeros_like(energy), where=previous > 0.0)
        direction *= ratio
        direction += reduced
        step += 1
        worst = _relative(energy, size)
        if progress is not None:
            progress(step, worst)
    return PcgSolution(solution, step, worst, worst <= tol)


def _inner(a: Array, b: Array) -> Array:
    return np.maximum(np.einsum("mq,mq->q", a, b), 0.0)


def _relative(energy: Array, size: Array) -> float:
    return float(np.sqrt((energy / size).max(initial=0.0)))
