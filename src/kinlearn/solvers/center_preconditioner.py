"""A stand-in for ``PhiᵀDPhi + ρI`` made of the centres alone, cheap to solve with.

Each training row is taken to sit on its nearest centre. Then ``Phi = E K``, with K the kernel
matrix of the centres and E the assignment, so that ``PhiᵀDPhi = K N K`` with N the weight gathered
by each centre. (FALKON's ``K²·n/m`` is the case of N constant; its ridge is ``ρK``, ours ``ρI``,
because here the penalty is on coefficients.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, eigh, solve_triangular

Array: TypeAlias = NDArray[np.float64]

# Gathered weights mixed with this share of their mean: centres without rows near them would leave
# directions out. Alone, weights took more steps on images, the mean more in few dimensions.
EVEN_SHARE = 0.25


def center_weights(gathered: Array) -> Array:
    """Return the N of ``K N K`` from the weight of the rows nearest to each centre."""
    return (1.0 - EVEN_SHARE) * gathered + EVEN_SHARE * gathered.mean()


@dataclass(frozen=True)
class CholeskyPreconditioner:
    """``P = K N K + ρI``, factorised: O(m³) once, O(m²) a right-hand side.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> P = CholeskyPreconditioner.of(K.copy(), np.array([3.0, 1.0]), ridge=0.1)
    >>> exact = K @ np.diag([3.0, 1.0]) @ K + 0.1 * np.eye(2)
    >>> bool(np.allclose(exact @ P(np.eye(2)), np.eye(2)))
    True
    """

    factor: Array

    @classmethod
    def of(cls, K: Array, weights: Array, ridge: float) -> CholeskyPreconditioner:
        """Factorise; `K` is overwritten."""
        K *= np.sqrt(weights)[:, None]
        P = blas.dsyrk(1.0, K.T, lower=1)
        # rounding of the product must not make the factorisation fail at the smallest regs
        slack = 1e-14 * float(P.diagonal().max(initial=0.0))
        P[np.diag_indices_from(P)] += ridge + slack
        return cls(cholesky(P, lower=True, overwrite_a=True, check_finite=False))

    def __call__(self, residual: Array) -> Array:
        """Return ``P⁻¹ residual``."""
        half = solve_triangular(self.factor, residual, lower=True, check_finite=False)
        return solve_triangular(self.factor, half, lower=True, trans=1, check_finite=False)


@dataclass(frozen=True)
class NystromPreconditioner:
    """The same from s of the m centres: ``K_ms N_s K_sm ≈ U diag(e) Uᵀ``, O(m s²) once.

    ``P⁻¹ = (I - UUᵀ)/(e_s + ρ) + U diag(1/(e+ρ)) Uᵀ``, e_s the smallest eigenvalue kept: what the
    sample cannot see is smaller than what it sees least (Frangella, Tropp, Udell 2023).
    """

    vectors: Array
    values: Array
    rest: float

    @classmethod
    def of(cls, columns: Array, weights: Array, ridge: float) -> NystromPreconditioner:
        """Decompose from the columns ``K_ms``, which are overwritten."""
        columns *= np.sqrt(weights)
        e, V = eigh(columns.T @ columns, driver="evd", check_finite=False)
        # below that, directions are rounding: U would not be orthonormal
        alive = e > 1e-10 * e[-1]
        e, V = e[alive], V[:, alive]
        vectors = columns @ (V / np.sqrt(e))
        return cls(vectors, 1.0 / (e + ridge), 1.0 / (e[0] + ridge))

    def __call__(self, residual: Array) -> Array:
        """Return ``P⁻¹ residual``."""
        inside = self.vectors.T @ residual
        return self.rest * residual + self.vectors @ ((self.values - self.rest)[:, None] * inside)
