"""All (reg, sharing) of one kernel width: coefficients and held-out scores of a multi-label fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.solvers.label_problems import LabelProblem
from kinlearn.solvers.masked_labels import solve_masked, unrotate
from kinlearn.solvers.multilabel_cg import IterativeSolution, solve_cg
from kinlearn.solvers.multilabel_direct import solve_direct
from kinlearn.solvers.multilabel_held_out import LeaveOneOut
from kinlearn.solvers.sylvester import (
    FeatureSpectrum,
    feature_spectrum,
    precision_factors,
    rotate_targets,
    spectral_filter,
)
from kinlearn.training.splits import Block, Leaving, Splits

Array: TypeAlias = NDArray[np.float64]
Points: TypeAlias = "list[tuple[float, float]]"  # (reg, sharing)
# A unit of which less than this share is left has left: the rest is rounding.
NOTHING = 1e-9


class LabelCopies(NamedTuple):
    """Weights of the copies that rows stand for, those of a row and its labels together.

    Attributes
    ----------
    row : ndarray of shape (U,)
        The row of each unit.
    mass : ndarray of shape (U,)
        Weight of all its copies.
    pair_weights : ndarray of shape (U, T), or (U, 1) for complete labels
        The same in each label, class weights included; 0 where unobserved.
    """

    row: NDArray[np.intp]
    mass: Array
    pair_weights: Array

    def staying(self, block: Block) -> Array:
        """The share of each unit that stays when a block leaves, shape (U,)."""
        gone = np.isin(self.row, block.removed)
        if block.leaving is None:
            return (~gone).astype(np.float64)
        leaves = np.bincount(self.row, weights=self.mass)[block.removed] * block.leaving.share
        stays = 1.0 - np.asarray(block.leaving.copies.T @ leaves) / self.mass
        stays[np.isin(self.row, block.removed[block.leaving.whole])] = 0.0
        return np.where(stays < NOTHING, 0.0, np.minimum(stays, 1.0))


@dataclass(frozen=True)
class LabelSystem:
    """What is to be solved: features, targets, weights.

    Attributes
    ----------
    features : ndarray of shape (n, m)
        Kernel values of the rows at the centres.
    problems : list of LabelProblem
    n_labels : int
        T of the objective.
    own_centers : bool
        True when the centres are the rows: they are then held out with them.
    copies : LabelCopies
        What rows stand for: some copies of a row may leave alone.
    row_weights : ndarray of shape (n,) or None
        Row weights of complete labels.
    pair_weights : ndarray of shape (n, T) or None
        Weights of the (row, label) pairs, when they differ by label.
    """

    features: Array
    problems: list[LabelProblem]
    n_labels: int
    own_centers: bool
    copies: LabelCopies
    row_weights: Array | None = None
    pair_weights: Array | None = None

    @property
    def n_columns(self) -> int:
        """Number of score columns."""
        return sum(len(problem.columns) for problem in self.problems)

    def without(self, block: Block) -> tuple[NDArray[np.intp], LabelSystem]:
        """Return the rows that stay when a block leaves, and their system.

        Where centres are rows, theirs are the centres. A row of which some copies leave stays with
        the weights and targets of the others, label by label.
        """
        copies = self.copies
        left = copies.staying(block)[:, None] * copies.pair_weights
        leaving = block.leaving
        lost = block.removed if leaving is None else block.removed[leaving.whole]
        kept = np.setdiff1d(np.arange(len(self.features)), lost)
        n_units = copies.row.size
        rows = sp.csr_matrix(
            (np.ones(n_units), (copies.row, np.arange(n_units))),
            shape=(len(self.features), n_units),
        )[kept]
        pairs = np.asarray(rows @ left)
        complete = self.pair_weights is None
        return kept, replace(
            self,
            features=self.features[np.ix_(kept, kept)] if self.own_centers else self.features[kept],
            problems=[_remaining(problem, rows, left, pairs) for problem in self.problems],
            row_weights=unless_equal(pairs[:, 0]) if complete else None,
            pair_weights=None if complete else pairs,
        )

    def test_features(self, rows: NDArray[np.intp], kept: NDArray[np.intp]) -> Array:
        """Features of other rows for the system of the rows kept."""
        return self.features[np.ix_(rows, kept)] if self.own_centers else self.features[rows]


def _remaining(
    problem: LabelProblem, rows: sp.csr_matrix, left: Array, pairs: Array
) -> LabelProblem:
    """A problem with the targets of the copies that are left, whose weights are given."""
    assert problem.units is not None
    columns = np.zeros(1, np.intp) if problem.pair_weights is None else problem.labels
    weights = pairs[:, columns]
    sums = np.asarray(rows @ (left[:, columns] * problem.units))
    targets = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
    own = None if problem.pair_weights is None else weights
    return problem._replace(targets=targets, pair_weights=own, units=None)


def unless_equal(weights: Array) -> Array | None:
    """Scale weights to a mean of one; None when they are all equal, for the faster solvers."""
    scaled = weights / weights.mean()
    return None if np.allclose(scaled, 1.0, rtol=1e-12, atol=0.0) else scaled


class LabelFit:
    """Complete labels by two eigendecompositions, which serve every (reg, sharing).

    Parameters
    ----------
    system : LabelSystem
    """

    def __init__(self, system: LabelSystem) -> None:
        self.system = system
        self._spectrum: FeatureSpectrum | None = None

    @property
    def spectrum(self) -> FeatureSpectrum:
        """Decomposition of the features, made when it is first needed."""
        if self._spectrum is None:
            self._spectrum = feature_spectrum(
                self.system.features, self.system.row_weights, symmetric=self.system.own_centers
            )
        return self._spectrum

    def coefficients(self, points: Points, mix: Array | None = None) -> Array:
        """Return ``Σ_p mix_p Θ(reg_p, sharing_p)``, shape (m, score columns).

        Mixing happens in the spectral domain, where a point is one elementwise product.
        """
        spectrum, system = self.spectrum, self.system
        out = np.empty((spectrum.right.shape[0], system.n_columns))
        shares = np.ones(len(points)) if mix is None else mix
        for problem in system.problems:
            total = np.zeros((len(spectrum.values), len(problem.columns)))
            for (reg, sharing), share in zip(points, shares, strict=True):
                factors = precision_factors(problem.values, sharing, system.n_labels)
                total += share * spectral_filter(spectrum, reg, factors)
            total *= rotate_targets(spectrum, problem.targets, problem.vectors)
            out[:, problem.columns] = spectrum.right @ (total @ problem.vectors.T)
        return out

    def held_out(self, points: Points, splits: Splits, dtype: type = np.float64) -> Array:
        """Return held-out scores, shape (P, rows held out, score columns).

        Leave-one-out and small blocks are in closed form; a large block is held out by fitting
        what is left.
        """
        shape = (len(points), splits.n_rows_held_out, self.system.n_columns)
        scores: Array = np.empty(shape, dtype=dtype)
        if splits.leave_one_out:
            self._leave_one_out(points, splits, scores)
            return scores
        leavers: list[LeaveOneOut] | None = None
        for out, block in splits:
            if self._block_is_small(points, len(block.removed)):
                leavers = self._leavers() if leavers is None else leavers
                self._leave_block_out(leavers, points, block, scores[:, out])
            else:
                self._fit_without(points, block, scores[:, out])
        return scores

    def _fit_without(self, points: Points, block: Block, out: Array) -> None:
        """Write the scores of what is tested by a fit to what stays into `out`."""
        kept, system = self.system.without(block)
        part = self._like(system)
        tested = block.removed[block.tested]
        part.predict(self.system.test_features(tested, kept), points, out)
        self._learn_from(part)

    def _block_is_small(self, points: Points, size: int) -> bool:
        """Whether small systems, one per ridge, cost less than decomposing what is left."""
        n, m = self.system.features.shape
        ridges = len(points) * self.system.n_columns
        return ridges * (6 * size**2 * m + 5 * size**3) < 9 * min(n, m) ** 2 * max(n, m)

    def _leave_block_out(
        self,
        leavers: list[LeaveOneOut],
        points: Points,
        block: Block,
        out: Array,
    ) -> None:
        for problem, loo in zip(self.system.problems, leavers, strict=True):
            out[:, :, problem.columns] = loo.block(points, block)[:, block.tested]

    def _leavers(self) -> list[LeaveOneOut]:
        """What holds rows out, by problem."""
        leavers: list[LeaveOneOut] = []
        for problem in self.system.problems:
            leavers.append(
                LeaveOneOut(
                    self.spectrum,
                    problem.targets,
                    problem.values,
                    problem.vectors,
                    own_centers=self.system.own_centers,
                    n_labels=self.system.n_labels,
                    like=leavers[0] if leavers else None,
                    units=problem.units,
                )
            )
        return leavers

    def predict(self, features: Array, points: Points, out: Array) -> None:
        """Write the scores of other rows at every point into `out`, shape (P, rows, columns)."""
        spectrum = self.spectrum
        reduced = features @ spectrum.right
        for problem in self.system.problems:
            rotated = rotate_targets(spectrum, problem.targets, problem.vectors)
            for p, (reg, sharing) in enumerate(points):
                factors = precision_factors(problem.values, sharing, self.system.n_labels)
                filtered = spectral_filter(spectrum, reg, factors) * rotated
                out[p][:, problem.columns] = (reduced @ filtered) @ problem.vectors.T

    def _leave_one_out(self, points: Points, splits: Splits, scores: Array) -> None:
        for problem, loo in zip(self.system.problems, self._leavers(), strict=True):
            # Without a Laplacian the scores are the same at every sharing.
            tied = bool(problem.values.any())
            keys = [(reg, sharing if tied else 0.0) for reg, sharing in points]
            distinct = list(dict.fromkeys(keys))
            for key, found in zip(distinct, loo.grid(distinct, splits), strict=True):
                for p in np.flatnonzero([other == key for other in keys]):
                    scores[p][:, problem.columns] = found

    def _like(self, system: LabelSystem) -> LabelFit:
        return LabelFit(system)

    def _learn_from(self, part: LabelFit) -> None:
        """Take over what a fit on some of the rows found out; nothing here."""


class IterativeFit(LabelFit):
    """Complete labels by the paper's conjugate gradients: nothing is decomposed.

    There is no closed form of held-out scores: each block is held out by a fit without it.

    Parameters
    ----------
    system : LabelSystem
    tol : float
        Relative residual to reach.
    max_iter : int
    """

    def __init__(self, system: LabelSystem, *, tol: float, max_iter: int) -> None:
        super().__init__(system)
        self.tol = tol
        self.max_iter = max_iter
        self.runs: list[IterativeSolution] = []

    def coefficients(self, points: Points, mix: Array | None = None) -> Array:
        """One run per point and class."""
        shares = np.ones(len(points)) if mix is None else mix
        solutions = (
            share * self._solve(*point) for point, share in zip(points, shares, strict=True)
        )
        return np.sum(list(solutions), axis=0)

    def predict(self, features: Array, points: Points, out: Array) -> None:
        """Write the scores of other rows at every point into `out`."""
        for p, point in enumerate(points):
            out[p] = features @ self._solve(*point)

    def _solve(self, reg: float, sharing: float) -> Array:
        system = self.system
        theta = np.empty((system.features.shape[1], system.n_columns))
        for problem in system.problems:
            found = solve_cg(
                system.features,
                problem.targets,
                problem.values,
                problem.vectors,
                reg=reg,
                sharing=sharing,
                weights=system.row_weights,
                n_labels=system.n_labels,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            self.runs.append(found)
            theta[:, problem.columns] = found.solution
        return theta

    def _block_is_small(self, points: Points, size: int) -> bool:
        return False

    def _leave_one_out(self, points: Points, splits: Splits, scores: Array) -> None:
        leaving = splits.leaving
        for i in range(splits.n_rows_held_out):
            part = None if leaving is None else Leaving(leaving.share[[i]], leaving.copies[[i]])
            block = Block(splits.rows[[i]], np.zeros(1, np.intp), part)
            self._fit_without(points, block, scores[:, i : i + 1])

    def _like(self, system: LabelSystem) -> IterativeFit:
        return type(self)(system, tol=self.tol, max_iter=self.max_iter)

    def _learn_from(self, part: LabelFit) -> None:
        assert isinstance(part, IterativeFit)
        self.runs.extend(part.runs)


class MaskedFit(IterativeFit):
    """Unobserved labels or pair weights: conjugate gradients, the complete data preconditioning."""

    def __init__(self, system: LabelSystem, *, tol: float, max_iter: int) -> None:
        super().__init__(system, tol=tol, max_iter=max_iter)
        self._last: dict[int, Array] = {}

    def predict(self, features: Array, points: Points, out: Array) -> None:
        """Write the scores of other rows at every point into `out`."""
        reduced = features @ self.spectrum.right
        for p, point in enumerate(points):
            out[p] = reduced @ self._rotated(*point)

    def _solve(self, reg: float, sharing: float) -> Array:
        return unrotate(self.spectrum, self._rotated(reg, sharing))

    def _rotated(self, reg: float, sharing: float) -> Array:
        """Coefficients in the eigenbasis of the features, shape (r, score columns)."""
        system = self.system
        assert system.pair_weights is not None
        out = np.empty((len(self.spectrum.values), system.n_columns))
        for k, problem in enumerate(system.problems):
            assert problem.pair_weights is not None
            found = solve_masked(
                self.spectrum,
                problem.targets,
                problem.pair_weights,
                problem.values,
                problem.vectors,
                reg=reg,
                sharing=sharing,
                n_labels=system.n_labels,
                total_weight=float(system.pair_weights.sum()),
                start=self._last.get(k),  # a neighbouring point of the grid is a good start
                tol=self.tol,
                max_iter=self.max_iter,
            )
            self._last[k] = found.solution
            self.runs.append(found)
            out[:, problem.columns] = found.solution @ problem.vectors.T
        return out


def direct_coefficients(system: LabelSystem, reg: float, sharing: float) -> Array:
    """Coefficients (m, score columns) from dense Kronecker systems."""
    theta = np.empty((system.features.shape[1], system.n_columns))
    total = None if system.pair_weights is None else float(system.pair_weights.sum())
    for problem in system.problems:
        pairs = problem.pair_weights
        if pairs is None and system.row_weights is not None:
            pairs = np.repeat(system.row_weights[:, None], len(problem.columns), axis=1)
            total = float(system.row_weights.sum()) * system.n_labels
        theta[:, problem.columns] = solve_direct(
            system.features,
            problem.targets,
            problem.values,
            problem.vectors,
            reg=reg,
            sharing=sharing,
            pair_weights=pairs,
            n_labels=system.n_labels,
            total_weight=total,
        )
    return theta
