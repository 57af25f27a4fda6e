"""Where a polish takes its steps: coordinates in which the log-loss is nearly round.

Of one task the parameters are the coefficients A, and least squares has already been to the rows
for ``H = ΦᵀDΦ`` and ``h = ΦᵀDZ``. With ``H/W + ridge·R = UᵀU`` the log-loss is nearly round in
``U A``. R is the kernel between the centres, so that the penalty is on the norm of the functions
Aᵀφ, or the identity where all is to be as in ridge regression.

Many tasks have coefficients ``θ_t = Σ_k V_tk √v_k u_k``, ``C = V diag(v) Vᵀ`` their covariance. In
the directions u_k the prior of tasks is a sum of norms, one for each. Where tasks' rows are spread
alike, a direction has the curvature of all rows times ``Σ_t V_tk² v_k W_t/W``. The ridge solution
of tasks is found by conjugate gradients in these coordinates, as H of every task is never formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack, solve_triangular
from scipy.sparse.csgraph import connected_components

from kinlearn.kernels.evaluation import CACHE_BLOCK_BYTES, row_blocks
from kinlearn.problems.coding import Coding
from kinlearn.solvers.log_loss_pass import FeatureBlock, log_loss_pass
from kinlearn.threads import side_by_side

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Entries of a covariance, and variances, beside the largest that are rounding.
ROUNDING = 1e-12
# Conjugate gradients to the ridge solution of tasks end at this share of the first residual.
SOLVED, MOST_STEPS = 1e-3, 12


@dataclass(frozen=True)
class RowSums:
    """What least squares knows of all rows.

    Attributes
    ----------
    gram : ndarray of shape (m, m)
        ``ΦᵀDΦ``.
    moments : ndarray of shape (m, k), or (T, m, k) of tasks
        ``ΦᵀD`` times what least squares fits.
    weight : float
        Σw.
    task_weights : ndarray of shape (T,), optional
        The same of each task.
    """

    gram: Array
    moments: Array
    weight: float
    task_weights: Array | None = None


@dataclass(frozen=True)
class HeldRows:
    """Some of these rows: features, targets of the columns, weights, and tasks."""

    features: Array
    targets: Array
    weights: Array
    task: Index | None = None

    @property
    def weight(self) -> float:
        """Σw."""
        return float(self.weights.sum())

    def gram(self) -> Array:
        """``ΦᵀDΦ``."""
        return np.asarray(self.features.T @ (self.weights[:, None] * self.features))

    def by_task(self, n_tasks: int) -> list[Index]:
        """Positions of each task's rows."""
        assert self.task is not None
        return [np.flatnonzero(self.task == t) for t in range(n_tasks)]


class Coordinates(Protocol):
    """What a polish asks of parameters, be they of one task or of many."""

    weight: float

    @property
    def ridge(self) -> float:
        """In the factors; it may be set, before :meth:`learn`."""

    @ridge.setter
    def ridge(self, value: float) -> None: ...

    def learn(self, without: HeldRows | None, coding: Coding) -> None:
        """Take the sums of all rows, or of all but some, and factor."""

    def factor(self, ridge: float) -> None:
        """Factor with another ridge."""

    def closed_form(self) -> Array:
        """The parameters of the ridge solution, or about these."""

    def normed(self, parameters: Array) -> Array:
        """The gradient of half the squared norm that is penalised."""

    def inward(self, parameters: Array) -> Array:
        """The point of some parameters."""

    def outward(self, point: Array) -> Array:
        """The parameters at a point."""

    def pulled(self, slopes: Array) -> Array:
        """The gradient at a point, from that by its parameters."""

    def coef(self, parameters: Array) -> Array:
        """Coefficients to go over the rows with."""

    def slopes(self, gradient: Array) -> Array:
        """The gradient by parameters, from that by coefficients."""

    def scores(self, held: HeldRows, coef: Array) -> Array:
        """Score columns of some rows."""

    def log_loss(self, held: HeldRows, coef: Array, sigmoids: bool) -> tuple[float, Array]:
        """The log-loss of some rows and its gradient by coefficients."""


class OneTaskCoordinates:
    """``U A`` of coefficients A.

    Parameters
    ----------
    sums : RowSums
        Of all rows, those held out included.
    reg : float
        Of the closed form.
    norm : ndarray of shape (m, m), optional
        R, a positive definite matrix; the identity when left out. The ridge is then ``√(reg/m)``:
        where H/W is about R²/m, either stops at the same size of R's eigenvalues.
    """

    def __init__(self, sums: RowSums, reg: float, norm: Array | None = None) -> None:
        self.sums, self.norm = sums, norm
        self.ridge = equal_ridge(reg, norm, len(sums.gram))
        self.weight = sums.weight

    def learn(self, without: HeldRows | None, coding: Coding) -> None:
        sums = self.sums
        self.gram, self.moments, self.weight = sums.gram, sums.moments, sums.weight
        if without is not None:
            weighted = without.weights[:, None] * without.features
            self.gram = self.gram - without.features.T @ weighted
            self.moments = self.moments - weighted.T @ coding.fitted(without.targets)
            self.weight -= without.weight
        self.factor(self.ridge)

    def factor(self, ridge: float) -> None:
        self.upper = factored(self.gram, self.weight, ridge, self.norm)

    def closed_form(self) -> Array:
        inner = solve_triangular(self.upper, self.moments / self.weight, trans=1)
        return np.asarray(solve_triangular(self.upper, inner))

    def normed(self, parameters: Array) -> Array:
        return parameters if self.norm is None else np.asarray(self.norm @ parameters)

    def inward(self, parameters: Array) -> Array:
        return np.asarray(self.upper @ parameters)

    def outward(self, point: Array) -> Array:
        return np.asarray(solve_triangular(self.upper, point))

    def pulled(self, slopes: Array) -> Array:
        return np.asarray(solve_triangular(self.upper, slopes, trans=1))

    def coef(self, parameters: Array) -> Array:
        return parameters

    def slopes(self, gradient: Array) -> Array:
        return gradient

    def scores(self, held: HeldRows, coef: Array) -> Array:
        return np.asarray(held.features @ coef)

    def log_loss(self, held: HeldRows, coef: Array, sigmoids: bool) -> tuple[float, Array]:
        return log_loss_pass([(held.features, held.targets, held.weights)], coef, sigmoids)


class TaskCoordinates:
    """The same for directions u_k of tasks' coefficients θ_t.

    Parameters
    ----------
    sums : RowSums
        Of all rows, with moments and weights of every task.
    covariance : ndarray of shape (T, T)
        C for reg = 1.
    reg : float
        Of the closed form.
    product : callable
        Gives ``Φ_tᵀD_tΦ_t θ_t`` of all tasks, shape (T, m, k), in a pass over all rows.
    norm : ndarray of shape (m, m), optional
        As in :class:`OneTaskCoordinates`.
    """

    def __init__(
        self,
        sums: RowSums,
        covariance: Array,
        reg: float,
        product: Callable[[Array], Array],
        norm: Array | None = None,
    ) -> None:
        self.sums, self.norm, self.product = sums, norm, product
        self.spread, self.variances = directions(covariance)
        self.n_tasks = len(covariance)
        self.ridge = equal_ridge(reg, norm, len(sums.gram)) / self.n_tasks
        self.weight = sums.weight
        self.solved: Array | None = None

    def learn(self, without: HeldRows | None, coding: Coding) -> None:
        sums, self.without = self.sums, without
        assert sums.task_weights is not None
        self.gram, self.moments, self.weight = sums.gram, sums.moments, sums.weight
        task_weights = sums.task_weights
        if without is not None:
            self.gram = self.gram - without.gram()
            self.moments, task_weights = self.moments.copy(), task_weights.copy()
            fitted = without.weights[:, None] * coding.fitted(without.targets)
            for t, rows in enumerate(without.by_task(self.n_tasks)):
                self.moments[t] -= without.features[rows].T @ fitted[rows]
                task_weights[t] -= without.weights[rows].sum()
            self.weight -= without.weight
        # a direction's share of all rows' curvature; shares within a factor of √2 are taken for one
        shares = (self.spread**2).T @ task_weights / self.weight
        steps = np.round(np.log2(np.maximum(shares, ROUNDING)))
        self.shares, self.group = np.unique(steps, return_inverse=True)
        self.shares = np.array([shares[self.group == g].mean() for g in range(len(self.shares))])
        self.factor(self.ridge)

    def factor(self, ridge: float) -> None:
        self.uppers = [
            factored(self.gram, self.weight / share, ridge, self.norm) for share in self.shares
        ]

    def closed_form(self) -> Array:
        """By conjugate gradients, from the last solution on if there is one."""
        right = self.slopes(self.moments) / self.weight
        at = np.zeros_like(right) if self.solved is None else self.solved
        left = self.pulled(right - self._curved(at) if self.solved is not None else right)
        point, ahead = self.inward(at), left
        size = float(np.vdot(left, left))
        enough = SOLVED**2 * float(np.vdot(first := self.pulled(right), first))
        for _ in range(MOST_STEPS):
            if size <= enough:
                break
            bent = self.pulled(self._curved(self.outward(ahead)))
            length = size / float(np.vdot(ahead, bent))
            point, left = point + length * ahead, left - length * bent
            before, size = size, float(np.vdot(left, left))
            ahead = left + size / before * ahead
        self.solved = self.outward(point)
        return self.solved

    def _curved(self, parameters: Array) -> Array:
        """The curvature of the squares and the ridge, times some parameters: one pass."""
        theta = self.coef(parameters)
        rows = self.product(theta)
        if self.without is not None:
            held = self.without
            for t, at in enumerate(held.by_task(self.n_tasks)):
                phi = held.features[at]
                rows[t] -= phi.T @ (held.weights[at, None] * (phi @ theta[t]))
        return self.slopes(rows) / self.weight + self.ridge * self.normed(parameters)

    def normed(self, parameters: Array) -> Array:
        return parameters if self.norm is None else np.asarray(self.norm @ parameters)

    def inward(self, parameters: Array) -> Array:
        return self._each(lambda upper, side: upper @ side, parameters)

    def outward(self, point: Array) -> Array:
        return self._each(solve_triangular, point)

    def pulled(self, slopes: Array) -> Array:
        return self._each(lambda upper, side: solve_triangular(upper, side, trans=1), slopes)

    def _each(self, solve: Callable[[Array, Array], Array], sides: Array) -> Array:
        """One product or solution for all directions of one factor."""
        out = np.empty_like(sides)
        for g, upper in enumerate(self.uppers):
            own = self.group == g
            some = np.moveaxis(sides[own], 0, 1)  # (m, directions, k)
            flat = solve(upper, some.reshape(len(upper), -1))
            out[own] = np.moveaxis(flat.reshape(some.shape), 1, 0)
        return out

    def coef(self, parameters: Array) -> Array:
        return np.tensordot(self.spread, parameters, axes=1)

    def slopes(self, gradient: Array) -> Array:
        return np.tensordot(self.spread.T, gradient, axes=1)

    def scores(self, held: HeldRows, coef: Array) -> Array:
        out = np.empty(held.targets.shape)
        for t, rows in enumerate(held.by_task(self.n_tasks)):
            out[rows] = held.features[rows] @ coef[t]
        return out

    def log_loss(self, held: HeldRows, coef: Array, sigmoids: bool) -> tuple[float, Array]:
        blocks = (
            (t, (held.features[rows], held.targets[rows], held.weights[rows]))
            for t, rows in enumerate(held.by_task(self.n_tasks))
        )
        return log_loss_of_tasks(blocks, coef, sigmoids)


def log_loss_of_tasks(
    blocks: Iterable[tuple[int, FeatureBlock]], coef: Array, sigmoids: bool
) -> tuple[float, Array]:
    """Return the log-loss and its gradient by θ_t, over blocks of rows of one task each.

    Parameters
    ----------
    blocks : iterable of (task number, (features, targets, weights))
    coef : ndarray of shape (T, m, k)
        θ_t of all tasks.
    sigmoids : bool
    """
    total, gradient = 0.0, np.zeros(coef.shape)
    for t, block in blocks:
        value, slopes = log_loss_pass([block], coef[t], sigmoids)
        total += value
        gradient[t] += slopes
    return total, gradient


def gram_products(blocks: Iterable[tuple[int, FeatureBlock]], coef: Array) -> Array:
    """Return ``Φ_tᵀD_tΦ_t θ_t`` of all tasks; parameters as in :func:`log_loss_of_tasks`."""
    out = np.zeros(coef.shape)
    for t, (features, _, weights) in blocks:
        parts = row_blocks(len(features), 8 * features.shape[1], CACHE_BLOCK_BYTES)

        def work(
            rows: slice,
            features: Array = features,
            weights: Array | None = weights,
            theta: Array = coef[t],
        ) -> Array:
            phi = features[rows]
            scores = phi @ theta
            return np.asarray(phi.T @ (scores if weights is None else weights[rows, None] * scores))

        with side_by_side(len(parts)) as each:
            for product in each(work, parts):  # in the order of the parts
                out[t] += product
    return out


def directions(covariance: Array) -> tuple[Array, Array]:
    """Return ``V √v``, shape (T, K), and v, shape (K,), tasks apart that share nothing.

    Examples
    --------
    >>> import numpy as np
    >>> directions(np.eye(2))
    (array([[1., 0.],
           [0., 1.]]), array([1., 1.]))
    """
    tied = np.where(np.abs(covariance) > ROUNDING * np.abs(covariance).max(), covariance, 0.0)
    part = connected_components(tied != 0.0, directed=False)[1]
    columns, found = [], []
    for label in np.unique(part):
        own = np.flatnonzero(part == label)
        values, vectors = eigh(tied[np.ix_(own, own)])
        alive = values > ROUNDING * values.max()
        placed = np.zeros((len(covariance), int(alive.sum())))
        placed[own] = vectors[:, alive] * np.sqrt(values[alive])
        columns.append(placed)
        found.append(values[alive])
    return np.hstack(columns), np.concatenate(found)


def equal_ridge(reg: float, norm: Array | None, n_centers: int) -> float:
    """The ridge beside a norm that stops where reg does beside the identity."""
    return float(reg) if norm is None else float(np.sqrt(reg / n_centers))


def factored(gram: Array, weight: float, ridge: float, norm: Array | None) -> Array:
    """``H/W + ridge·R = UᵀU``; where that drowns in rounding, the diagonal is raised."""
    floor, raised = float(np.trace(gram)) / weight / len(gram), 0.0
    while True:
        matrix = np.array(gram, order="F")
        matrix /= weight
        if norm is None:
            matrix[np.diag_indices_from(matrix)] += ridge + raised
        else:
            matrix += ridge * norm
            matrix[np.diag_indices_from(matrix)] += raised
        factor, info = lapack.dpotrf(matrix, lower=0, clean=1, overwrite_a=1)
        if info == 0:
            return np.asarray(factor)
        raised = max(10.0 * raised, 1e-15 * floor)
