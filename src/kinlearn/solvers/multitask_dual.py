"""Multi-task least squares in its dual, whose cost does not depend on the number of tasks.

Per class, with N = Σw observed samples, T tasks and C the task covariance for reg = 1, the
minimiser of

    (1/2N) Σ_n w_n (θ_{t_n}ᵀφ_n)² - (1/N) Σ_n w_n z_n θ_{t_n}ᵀφ_n
        + reg/(2T) Σ_tt' (C⁻¹)_tt' θ_tᵀθ_t'

(mt-lspc Eq. 4 in other variables) is, with B = C[t_n, t_n'] ∘ (Phi Phiᵀ) and ρ = reg·N/T,

    (B + ρ D⁻¹) a = z,      θ_t = Σ_n C[t, t_n] a_n φ_n            (mt-lspc Lemma 1 and Eq. 6).

``reg`` enters through ρ alone: the eigendecomposition D½BD½ = V diag(s) Vᵀ serves every reg.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, lapack
from scipy.sparse.csgraph import connected_components

from kinlearn.solvers.lapack import eigh

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class SpectrumPart:
    """The decomposition over the rows of tasks that share with each other, and with no others."""

    rows: Index
    values: Array
    vectors: Array


@dataclass(frozen=True)
class TaskSpectrum:
    """D½BD½ = V diag(s) Vᵀ, in parts, with √w."""

    parts: tuple[SpectrumPart, ...]
    root_weights: Array

    @property
    def nbytes(self) -> int:
        """Memory of the eigenvectors."""
        return sum(part.vectors.nbytes for part in self.parts)

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return max(float(part.values.max()) for part in self.parts)


def shared_gram(gram: Array, covariance: Array, task: Index) -> Array:
    """B = C[t_n, t_n'] ∘ (Phi Phiᵀ), the kernel between (sample, task) pairs."""
    return weigh_by_task(gram, covariance, task)


def weigh_by_task(matrix: Array, weights: Array, task: Index) -> Array:
    """weights[t_n, t_n'] ∘ matrix, in one pass where all pairs of different tasks weigh alike."""
    off_diagonal = weights[~np.eye(len(weights), dtype=bool)]
    if off_diagonal.size == 0 or np.any(off_diagonal != off_diagonal[0]):
        weighed: Array = weights[task][:, task]
        weighed *= matrix
        return weighed
    weighed = matrix * off_diagonal[0]
    order = np.argsort(task, kind="stable")
    present, start = np.unique(task[order], return_index=True)
    for t, rows in zip(present, np.split(order, start[1:]), strict=True):
        block = np.ix_(rows, rows)
        weighed[block] = weights[t, t] * matrix[block]
    return weighed


def spectrum(gram: Array, covariance: Array, task: Index, weights: Array) -> TaskSpectrum:
    """Eigendecompose D½BD½, one block per group of tasks that share anything.

    Parameters
    ----------
    gram : array of shape (n, n)
        Phi Phiᵀ.
    covariance : array of shape (T, T)
        Task covariance for reg = 1.
    task : array of shape (n,)
        Index of each sample's task.
    weights : array of shape (n,)
        Positive sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> s = spectrum(np.eye(2), np.eye(1), np.array([0, 0]), np.ones(2))
    >>> s.parts[0].values
    array([1., 1.])
    """
    root = np.sqrt(weights)
    tied = covariance != 0.0
    if tied.all():
        return TaskSpectrum((_part(gram, covariance, task, root, np.arange(len(task))),), root)
    # Unrelated groups have no entry between them: many small problems instead of a large one.
    group = connected_components(tied, directed=False)[1][task]
    parts = []
    for g in np.unique(group):
        rows = np.flatnonzero(group == g)
        parts.append(_part(gram[np.ix_(rows, rows)], covariance, task[rows], root[rows], rows))
    return TaskSpectrum(tuple(parts), root)


def _part(gram: Array, covariance: Array, task: Index, root: Array, rows: Index) -> SpectrumPart:
    shared = shared_gram(gram, covariance, task)
    if not (root == 1.0).all():
        shared *= root
        shared *= root[:, None]
    values, vectors = eigh(shared, overwrite=True)
    return SpectrumPart(rows, np.clip(values, 0.0, None), vectors)


def ridges(regs: Array, total_weight: float, n_tasks: int) -> Array:
    """ρ = reg·N/T."""
    return np.asarray(regs, dtype=float) * (total_weight / n_tasks)


def filters(values: Array, ridge: Array) -> Array:
    """1/(s + ρ) for every ridge, and the pseudo-inverse where ρ = 0; shape (n, n_ridges)."""
    cutoff = len(values) * np.finfo(float).eps * max(float(values.max(initial=0.0)), 0.0)
    total = values[:, None] + np.asarray(ridge)[None, :]
    dead = (np.asarray(ridge)[None, :] == 0.0) & (values[:, None] <= cutoff)
    return np.where(dead, 0.0, 1.0 / np.where(dead, 1.0, total))


def dual_coefficients(found: TaskSpectrum, targets: Array, ridge: Array) -> Array:
    """a = D½ V (s + ρ)⁻¹ Vᵀ D½ Z for every ridge; shape (n_ridges, n, c)."""
    n, n_classes = targets.shape
    duals = np.empty((len(ridge), n, n_classes))
    for part in found.parts:
        root = found.root_weights[part.rows, None]
        rotated = part.vectors.T @ (root * targets[part.rows])
        scaled = filters(part.values, ridge)[:, :, None] * rotated[:, None, :]
        back = part.vectors @ scaled.reshape(len(part.rows), -1)
        back *= root
        duals[:, part.rows] = np.moveaxis(back.reshape(-1, len(ridge), n_classes), 1, 0)
    return duals


def solve(
    gram: Array, covariance: Array, task: Index, weights: Array, targets: Array, ridge: float
) -> Array:
    """Dual coefficients for a single ridge by one Cholesky decomposition of B + ρD⁻¹.

    ``ridge = 0`` gives the minimum-norm solution; so does a matrix too ill-conditioned for Cholesky
    give the one of its eigendecomposition.

    Examples
    --------
    >>> import numpy as np
    >>> solve(np.eye(2), np.eye(1), np.array([0, 0]), np.ones(2), np.eye(2), ridge=1.0)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    if ridge > 0.0:
        matrix = shared_gram(gram, covariance, task)
        matrix[np.diag_indices_from(matrix)] += ridge / weights
        factor, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        if info == 0:
            solution: Array = cho_solve((factor, True), targets, check_finite=False)
            return solution
    return dual_coefficients(spectrum(gram, covariance, task, weights), targets, np.array([ridge]))[
        0
    ]


def own_features(phi: Array, own: Index, covariance: Array, task: Index) -> Array:
    """What each row's own centre brings to its own task's model, as seen from all rows.

    Column i is v_i = (C[t_n, t_i] φ_n,own(i))_n / √C[t_i, t_i], so that B - v_i v_iᵀ is B with the
    coefficient of row i's centre in task t_i held at zero. Zero for rows that are no centre
    (own = -1).
    """
    # Column t of C/√C_tt, scaled while it is still T×T.
    scaled = covariance / np.sqrt(np.diagonal(covariance))
    everyone = len(own) == phi.shape[1] and np.array_equal(own, np.arange(len(own)))
    columns = weigh_by_task(phi if everyone else phi[:, own], scaled, task)
    columns[:, own < 0] = 0.0
    return columns


def inverse(gram: Array, covariance: Array, task: Index, weights: Array, ridge: float) -> Array:
    """(B + ρD⁻¹)⁻¹, whose entries the held-out formulas divide by; needs ρ > 0."""
    matrix = shared_gram(gram, covariance, task)
    matrix[np.diag_indices_from(matrix)] += ridge / weights
    factor, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if info != 0:
        raise LinAlgError("B + ρD⁻¹ is not positive definite to working precision")
    lower, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    whole: Array = np.tril(lower)
    whole += np.tril(lower, -1).T
    return whole


def task_parameters(features: Array, duals: Array, task: Index, covariance: Array) -> Array:
    """θ_t = Σ_n C[t, t_n] a_n φ_n for every task; shape (T, m, c).

    Each sample adds to its own task only; the mixing by C happens afterwards on T summaries, so the
    cost in samples does not grow with the number of tasks.
    """
    n_tasks = covariance.shape[0]
    own = np.zeros((n_tasks, features.shape[1], duals.shape[1]))
    order = np.argsort(task, kind="stable")
    present, start = np.unique(task[order], return_index=True)
    for t, rows in zip(present, np.split(order, start[1:]), strict=True):
        own[t] = features[rows].T @ duals[rows]
    return np.tensordot(covariance, own, axes=1)
