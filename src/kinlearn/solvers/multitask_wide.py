"""The multi-task dual for wide kernels, whose features have a small rank.

With tasks that are equally similar, C = aI + b·11ᵀ, and the matrix to invert for every ridge is

    M = D½(C[t, t'] ∘ Phi Phiᵀ)D½ + ρI = aB + b·F Fᵀ + ρI ,      F Fᵀ = D½ Phi Phiᵀ D½ ,

B the blocks of F Fᵀ on its diagonal, one a task. The spectrum of a wide kernel falls fast, so that
F has few columns; B is decomposed task by task, once for all degrees of sharing and regs. With
P = (aB + ρI)⁻¹ and H = (I/b + FᵀPF)⁻¹, Woodbury's formula gives

    M⁻¹ = P - P F H FᵀP .

What leave-one-out asks of M⁻¹ (:mod:`kinlearn.solvers.multitask_held_out`) follows without forming
it: with own features v_i = (a E_i + b F u_i)/√C_tt, E_i a column of the tasks' own blocks,

    M⁻¹_ii = P_ii - y_i H y_i,                   y_i = FᵀP e_i, x_i = FᵀP E_i
    (M⁻¹v_i)_i √C_tt = a (PE)_ii + y_i H (u_i - a x_i)
    v_iᵀM⁻¹v_i C_tt = a² E_iᵀPE_i + b u_iᵀu_i - (u_i - a x_i) H (u_i - a x_i) .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from kinlearn.solvers.held_out_copies import without_one_copy
from kinlearn.solvers.lapack import eigh, pivoted_cholesky
from kinlearn.training.splits import Splits

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Fewer rows are decomposed as they are.
LEAST_ROWS = 200
# What is left of a Gram matrix below this share of its largest entry is close to rounding.
NOISE = 1e-13
# A rank is small where what all regs take is at most this share of one decomposition of all rows
# and of the products that follow it, about this many n³.
WORTH, DECOMPOSITION = 0.6, 11.0
# Numbers of one array that serves several ridges at once.
MANY_NUMBERS = 4_000_000


class OwnBlock(NamedTuple):
    """A task's part of B = Q diag(s) Qᵀ, and QᵀE, what its rows' own centres bring to it."""

    rows: slice
    vectors: Array
    centres: Array | None


@dataclass(frozen=True)
class WideFeatures:
    """F and the decomposition of B, for one width, the rows task by task.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Which row stands where.
    root : ndarray of shape (n, 1)
        D½.
    blocks : tuple of OwnBlock
        One for each task with rows.
    values : ndarray of shape (n,)
        Eigenvalues of B.
    factor : ndarray of shape (n, r)
        QᵀF.
    own : ndarray of shape (n, r) or None
        Rows u_i; zero for rows that are no centre.
    """

    order: Index
    root: Array
    blocks: tuple[OwnBlock, ...]
    values: Array
    factor: Array
    own: Array | None

    @classmethod
    def of(
        cls,
        phi: Array,
        gram: Array,
        task: Index,
        weights: Array,
        own: Index | None,
        n_ridges: int,
    ) -> WideFeatures | None:
        """Decompose features of a small rank; None where the rank is too large to be worth it.

        Parameters
        ----------
        phi, gram : ndarrays of shape (n, m) and (n, n)
            Phi and Phi Phiᵀ.
        task : ndarray of shape (n,)
            Numbers of the tasks.
        weights : ndarray of shape (n,)
            The diagonal of D.
        own : ndarray of shape (n,) or None
            Which centre each row is, -1 for none.
        n_ridges : int
            How many ridges will be asked for.

        Examples
        --------
        >>> import numpy as np
        >>> from kinlearn.solvers.multitask_wide import WideFeatures
        >>> phi, task = np.outer(np.arange(1.0, 301.0), [1.0, 2.0]), np.arange(300) % 3
        >>> wide = WideFeatures.of(phi, phi @ phi.T, task, np.ones(300), None, 20)
        >>> wide.factor.shape
        (300, 1)
        """
        n, counts = len(task), np.bincount(task)
        most = _largest_rank(n, float(np.square(counts).sum()), n_ridges)
        if n < LEAST_ROWS or most < 1:
            return None
        order, root = np.argsort(task, kind="stable"), np.sqrt(weights)[:, None]
        some = np.linspace(0, n - 1, min(2 * most, n)).astype(np.intp)
        tol = NOISE * float((weights * np.diagonal(gram)).max())
        if pivoted_cholesky(_weighed(gram, root, some), tol)[0].shape[1] > most:
            return None
        G, root = _weighed(gram, root, order), root[order]
        found, pivots = pivoted_cholesky(G.copy(), tol)
        if not 0 < found.shape[1] <= most:
            return None
        F = np.empty_like(found)
        F[pivots] = found
        centres = None
        if own is not None:
            centres = root * np.where(own[order] >= 0, phi[np.ix_(order, own[order])], 0.0)
        values, turned, blocks = np.empty(n), np.empty_like(F), []
        ends = np.cumsum(counts[counts > 0])
        for rows in map(slice, [0, *ends[:-1]], ends):
            values[rows], Q = eigh(G[rows, rows])
            turned[rows] = Q.T @ F[rows]
            blocks.append(OwnBlock(rows, Q, None if centres is None else Q.T @ centres[rows, rows]))
        u = None
        if centres is not None:
            Q, R = qr(F, mode="economic", check_finite=False)
            u = np.ascontiguousarray(solve_triangular(R, Q.T @ centres, check_finite=False).T)
        return cls(order, root, tuple(blocks), np.clip(values, 0.0, None), turned, u)

    def leave_one_out(
        self,
        covariance: Array,
        targets: Array,
        ridge: Array,
        splits: Splits,
        units: Array | None = None,
    ) -> Array:
        """Scores of the entries that leave one out, for every ridge, (n_ridges, entries, c).

        Parameters
        ----------
        covariance : ndarray of shape (T, T)
            C for reg = 1, the same for all pairs of tasks.
        targets : ndarray of shape (n, c)
            Z.
        ridge : ndarray of shape (n_ridges,)
            ρ, greater than zero.
        splits : Splits
            What leaves.
        units : ndarray of shape (U, c), optional
            Targets of the copies, where some of a row's leave alone.
        """
        leaving, root = splits.leaving, self.root
        place = np.argsort(self.order)[splits.rows]
        scores = np.empty((len(ridge), splits.n_rows_held_out, targets.shape[1]))
        Z = targets[self.order]
        for part in self._parts(ridge):
            inverse, u, own = self._entries(covariance, root * Z, ridge[part])
            numerator, denominator = u, inverse[:, :, None]
            if own is not None:
                g, rest, vu = own
                numerator = u * rest[:, :, None] + g[:, :, None] * vu
                denominator = denominator * rest[:, :, None] + np.square(g)[:, :, None]
            held = (Z - numerator / (root * denominator))[:, place]
            if leaving is not None:
                assert units is not None
                some = np.flatnonzero(~leaving.whole)
                rho, at = ridge[part, None], place[some]
                fitted = Z[at] - rho[:, :, None] * u[:, at] / root[at]
                held[:, some] = without_one_copy(
                    fitted,
                    1.0 - rho * inverse[:, at],
                    leaving.share[some],
                    leaving.targets(units)[some],
                )
            scores[part] = held
        return scores

    def dual_coefficients(self, covariance: Array, targets: Array, ridge: Array) -> Array:
        """``D½M⁻¹D½Z`` for every ridge, (n_ridges, n, c); parameters as above."""
        duals = np.empty((len(ridge), *targets.shape))
        Z = self.root * targets[self.order]
        for part in self._parts(ridge):
            found = self._entries(covariance, Z, ridge[part], own=False)[1]
            duals[part, self.order] = self.root * found
        return duals

    def _parts(self, ridge: Array) -> list[slice]:
        """Ridges that are gone through at once."""
        step = max(MANY_NUMBERS // (3 * self.factor.size), 1)
        return [slice(at, at + step) for at in range(0, len(ridge), step)]

    def _entries(
        self, covariance: Array, Z: Array, ridge: Array, own: bool = True
    ) -> tuple[Array, Array, tuple[Array, Array, Array] | None]:
        """``M⁻¹_ii``, ``u = M⁻¹Z``, and of own features the three numbers of leave-one-out.

        These are ``(M⁻¹v_i)_i``, ``1 - v_iᵀM⁻¹v_i`` and ``v_iᵀu``; all with the ridges first, the
        rows task by task.
        """
        b = float(covariance[0, 1])
        diagonal = float(covariance[0, 0])
        a, (n, rank), R = diagonal - b, self.factor.shape, len(ridge)
        centres = self.own if own else None
        p = 1.0 / (a * self.values + ridge[:, None])
        shrunk = np.einsum("rn,nk->nrk", p, self.factor)
        y, x = np.empty_like(shrunk), np.empty_like(shrunk if centres is not None else Z)
        inverse, pe, epe = np.empty((R, n)), np.empty((R, n)), np.empty((R, n))
        turned, u = np.empty_like(Z), np.empty((R, *Z.shape))
        for rows, Q, E in self.blocks:
            size, side = len(Q), shrunk[rows].reshape(len(Q), -1)
            y[rows] = (Q @ side).reshape(size, R, rank)
            inverse[:, rows] = p[:, rows] @ np.square(Q).T
            turned[rows] = Q.T @ Z[rows]
            u[:, rows] = Q @ (p[:, rows, None] * turned[rows])
            if centres is not None and E is not None:
                x[rows] = (E.T @ side).reshape(size, R, rank)
                pe[:, rows] = p[:, rows] @ (Q.T * E)
                epe[:, rows] = p[:, rows] @ np.square(E)
        g, square, vu = np.empty((R, n)), np.empty((R, n)), np.empty_like(u)
        for r in range(R):
            half = np.sqrt(p[r])[:, None] * self.factor
            core = half.T @ half
            core[np.diag_indices(rank)] += 1.0 / b
            root = solve_triangular(np.linalg.cholesky(core), np.eye(rank), lower=True)
            known, own_side = root @ (shrunk[:, r].T @ turned), y[:, r] @ root.T
            inverse[r] -= np.einsum("nk,nk->n", own_side, own_side)
            u[r] -= own_side @ known
            if centres is None:
                continue
            vu[r] = centres @ (root.T @ known)
            rest = (centres - a * x[:, r]) @ root.T
            g[r] = np.einsum("nk,nk->n", own_side, rest)
            square[r] = np.einsum("nk,nk->n", rest, rest)
        if centres is None:
            return inverse, u, None
        for rows, Q, E in self.blocks:
            assert E is not None
            vu[:, rows] += a * (E.T @ (Q.T @ u[:, rows]))
        energy = b * np.einsum("nk,nk->n", centres, centres)
        scale, left = np.sqrt(diagonal), 1.0 - (a * a * epe + energy - square) / diagonal
        return inverse, u, ((g + a * pe) / scale, left, vu / scale)


def _weighed(gram: Array, root: Array, rows: Index) -> Array:
    """D½ gram D½ of some rows."""
    return gram[np.ix_(rows, rows)] * root[rows] * root[rows].T


def _largest_rank(n: int, squares: float, n_ridges: int) -> int:
    """The rank r up to which all ridges take a share of n³: ``R (4rΣn_t² + 7nr²)``."""
    linear, square = 4.0 * squares, 7.0 * n
    worth = WORTH * DECOMPOSITION * float(n) ** 3 / max(n_ridges, 1)
    return int((np.sqrt(linear**2 + 4.0 * square * worth) - linear) / (2.0 * square))
