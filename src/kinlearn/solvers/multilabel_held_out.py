"""Leave-one-out scores of multi-label LSPC in closed form, for a whole grid of (reg, sharing).

Rotating the labels by the eigenvectors V of L turns every column of ``ΞV`` into an LSPC of its own
with ``reg_k = reg·(1 + κ l_k/T)``, so each rotated column has the closed leave-one-out form of
LSPC, and rotating back gives the scores of the labels. The similarity of the labels stays as it is.

Centres that are the rows are left out with their rows. With ``D½K = P diag(s) Qᵀ``,
``ρ = reg_k·Σw·(n-1)/n`` for n copies of rows and ``d = s² + ρ``,

    b11 = P²(ρ/d), b12 = (P∘Q)(s/d), b22 = -Q²(1/d), u = P(ρ/d)PᵀD½ξ, a = Q(s/d)PᵀD½ξ,
    q_i = ξ_i - w_i^(-½) (b22·u - b12·a) / (b11·b22 - b12²);

unweighted this is ``ξ_i - Re[(Gξ)_i / G_ii]`` with ``G = (K + i√ρ I)⁻¹``. Fixed centres use the
leverages of ordinary least squares, ``(q_i - h_i ξ_i)/(1 - h_i)``. Where a row stands for several
copies and one of them leaves, the row and its centre stay
(:mod:`kinlearn.solvers.held_out_copies`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.held_out_copies import without_block, without_one_copy
from kinlearn.solvers.ridge_from_sums import held_out_scores
from kinlearn.solvers.sylvester import FeatureSpectrum, precision_factors, rotate_targets
from kinlearn.training.splits import Block, Splits

Array: TypeAlias = NDArray[np.float64]

BLOCK_BYTES = 32 * 2**20


class LeaveOneOut:
    """Leave-one-out scores of one class for any (reg, sharing), after one preparation.

    Parameters
    ----------
    spectrum : FeatureSpectrum
    targets : ndarray of shape (n, T)
    label_values, label_vectors : ndarray
        Eigendecomposition of the label Laplacian.
    own_centers : bool
        True when centre i is row i, so that it has to leave with it.
    n_labels : int, optional
        The T of the objective, when the columns are only some of the labels.
    like : LeaveOneOut, optional
        Another class's, of the same spectrum, to share squared matrices with.
    units : ndarray of shape (U, T), optional
        Targets of the copies that rows stand for, where some of them may leave alone.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.label_similarity import label_spectrum
    >>> from kinlearn.solvers.sylvester import feature_spectrum
    >>> K = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> Z = np.array([[1.0], [1.0], [-1.0]])
    >>> loo = LeaveOneOut(
    ...     feature_spectrum(K, symmetric=True), Z, *label_spectrum(np.zeros((1, 1))),
    ...     own_centers=True)
    >>> rest = K[:2, :2]
    >>> theta = np.linalg.solve(rest @ rest + 2 * 0.1 * np.eye(2), rest @ Z[:2])
    >>> bool(np.allclose(loo.scores(reg=0.1, sharing=0.0)[2], K[2, :2] @ theta))
    True
    """

    def __init__(
        self,
        spectrum: FeatureSpectrum,
        targets: Array,
        label_values: Array,
        label_vectors: Array,
        *,
        own_centers: bool,
        n_labels: int | None = None,
        like: LeaveOneOut | None = None,
        units: Array | None = None,
    ) -> None:
        self.n_labels = n_labels or len(label_values)
        self.spectrum = spectrum
        self.targets = targets
        self.label_values = label_values
        self.label_vectors = label_vectors
        self.own_centers = own_centers
        self.rotated = rotate_targets(spectrum, targets, label_vectors)
        self.rotated_targets = targets @ label_vectors
        self.rotated_units = None if units is None else units @ label_vectors
        self.symmetric = spectrum.left is spectrum.right
        self._like = like

    @cached_property
    def left_squared(self) -> Array:
        """``P²``; made when it is first needed, and once for all that share a spectrum."""
        return self.spectrum.left**2 if self._like is None else self._like.left_squared

    @cached_property
    def right_squared(self) -> Array:
        """``Q²``."""
        return self.spectrum.right**2 if self._like is None else self._like.right_squared

    @cached_property
    def cross(self) -> Array:
        """``P∘Q``."""
        if self._like is not None:
            return self._like.cross
        return self.spectrum.left * self.spectrum.right

    def scores(self, *, reg: float, sharing: float) -> Array:
        """Scores (n, T) of every row by the model fitted without it."""
        return next(self.grid([(reg, sharing)]))

    def grid(
        self, points: list[tuple[float, float]], splits: Splits | None = None
    ) -> Iterator[Array]:
        """Yield the scores (entries, T) at every (reg, sharing), many in one product.

        Products with few columns are bound by reading the n×n eigenvectors, so points go together,
        as many as memory allows. Without `splits` every row leaves with all its copies.
        """
        n, n_columns = self.targets.shape
        splits = Splits.one_out(n) if splits is None else splits
        n_entries = splits.n_rows_held_out
        width = max(1, BLOCK_BYTES // (8 * max(n, n_entries)))
        together = max(1, width // n_columns)
        for begin in range(0, len(points), together):
            some = points[begin : begin + together]
            rho = np.stack([self._ridges(*point, splits.kept_share) for point in some])
            held_out = np.zeros((len(some), n_columns, n_entries))
            # Where the penalty is infinite the rotated column is zero: nothing to compute.
            which, columns = np.nonzero(np.isfinite(rho))
            for part in range(0, len(columns), width):
                p, k = which[part : part + width], columns[part : part + width]
                held_out[p, k] = self._columns(k, rho[p, k], splits).T
            for scores in held_out:
                yield scores.T @ self.label_vectors.T

    def block(self, points: list[tuple[float, float]], block: Block) -> Array:
        """Scores (P, rows removed, T) of rows left out together, their weight leaving the penalty.

        The system ``[[I, B], [Bᵀ, -ρI]] [u; θ] = [D½ξ; 0]``, B = D½Phi, loses the rows (and their
        centres), which takes only the matching part of its inverse; one small system per ridge.
        """
        spectrum, removed, leaving = self.spectrum, block.removed, block.leaving
        s, root = spectrum.values, spectrum.root_weights
        P = spectrum.left[removed]
        lost = removed if leaving is None else removed[leaving.whole]
        Q = spectrum.right[lost] if self.own_centers else spectrum.right[:0]
        size = len(removed)
        w = np.ones(size) if root is None else root[removed]
        share = np.ones(size) if leaving is None else leaving.share
        left_over = spectrum.total_weight - float(w**2 @ share)
        rho = np.stack([self._factors(sharing) * reg * left_over for reg, sharing in points])
        aims, units = self.rotated_targets[removed], self.rotated_units
        scores = np.zeros((len(points), *aims.shape))
        which, columns = np.nonzero(np.isfinite(rho))
        ridges, back = np.unique(rho[which, columns], return_inverse=True)
        for r, ridge in enumerate(ridges):
            here = np.flatnonzero(back == r)
            k, own = np.unique(columns[here], return_inverse=True)
            d = s**2 + ridge
            system = np.empty((size + len(Q),) * 2)
            system[:size, :size] = np.eye(size) - (P * (s**2 / d)) @ P.T
            system[:size, size:] = (P * (s / d)) @ Q.T
            system[size:, :size] = system[:size, size:].T
            system[size:, size:] = -(Q / d) @ Q.T
            filtered = (s / d)[:, None] * self.rotated[:, k]
            right = np.concatenate([w[:, None] * aims[:, k] - (P * s) @ filtered, Q @ filtered])
            copies = None if units is None else units[:, k]
            found = without_block(system, right, aims[:, k], w[:, None], leaving, copies)
            scores[which[here], :, columns[here]] = found[:, own].T
        return scores @ self.label_vectors.T

    def _factors(self, sharing: float) -> Array:
        return precision_factors(self.label_values, sharing, self.n_labels)

    def _ridges(self, reg: float, sharing: float, kept_share: float) -> Array:
        return reg * self._factors(sharing) * self.spectrum.total_weight * kept_share

    def _columns(self, columns: NDArray[np.intp], rho: Array, splits: Splits) -> Array:
        """Held-out scores (entries, columns) of rotated columns, each with its own ridge."""
        whole = self._honest if self.own_centers else self._fixed
        leaving = splits.leaving
        if leaving is None:
            return whole(columns, rho)[splits.rows]
        assert self.rotated_units is not None
        part = ~leaving.whole
        rows = splits.rows[part]
        fitted, leverage = self._fitted(columns, rho)
        targets = leaving.targets(self.rotated_units[:, columns])[part]
        scores = np.empty((part.size, len(columns)))
        # every column has leverages of its own: it takes the place of a point of the grid
        scores[part] = without_one_copy(
            fitted[rows].T[:, :, None],
            leverage[rows].T,
            leaving.share[part],
            targets.T[:, :, None],
        )[:, :, 0].T
        if not part.all():
            scores[~part] = whole(columns, rho)[splits.rows[~part]]
        return scores

    def _fitted(self, columns: NDArray[np.intp], rho: Array) -> tuple[Array, Array]:
        """Scores of the rows themselves, and their leverages, (n, columns) each."""
        s = self.spectrum.values[:, None]
        root = self.spectrum.root_weights
        fitted = self.spectrum.left @ (s**2 / (s**2 + rho) * self.rotated[:, columns])
        unique, back = np.unique(rho, return_inverse=True)
        leverage = (self.left_squared @ (s**2 / (s**2 + unique)))[:, back]
        return (fitted if root is None else fitted / root[:, None]), leverage

    def _honest(self, columns: NDArray[np.intp], rho: Array) -> Array:
        s = self.spectrum.values[:, None]
        root = self.spectrum.root_weights
        inverse = 1.0 / (s**2 + rho)
        rotated = self.rotated[:, columns]
        dual = self.spectrum.left @ (rho * inverse * rotated)
        primal = self.spectrum.right @ (s * inverse * rotated)
        # Label directions of equal penalty share their diagonals.
        unique, back = np.unique(rho, return_inverse=True)
        inverse = 1.0 / (s**2 + unique)
        if self.symmetric:
            b22 = -(self.left_squared @ inverse)
            b12 = self.left_squared @ (s * inverse)
            b11 = -unique * b22
        else:
            b22 = -(self.right_squared @ inverse)
            b12 = self.cross @ (s * inverse)
            b11 = 1.0 - self.left_squared @ (s**2 * inverse)
        determinant = b11 * b22 - b12**2
        gap = (b22 / determinant)[:, back] * dual - (b12 / determinant)[:, back] * primal
        return self.rotated_targets[:, columns] - (gap if root is None else gap / root[:, None])

    def _fixed(self, columns: NDArray[np.intp], rho: Array) -> Array:
        fitted, leverage = self._fitted(columns, rho)
        return held_out_scores(fitted, leverage, self.rotated_targets[:, columns])
