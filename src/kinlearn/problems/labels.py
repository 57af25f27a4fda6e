"""Many labels at once, for any width, degree of sharing and reg."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kinlearn.kernels import Kernel, KernelMap
from kinlearn.problems.costs import WARN_FULL_ROWS, warn_if_large
from kinlearn.problems.one_task import warn_if_indefinite
from kinlearn.problems.problem import Array, Axes, Point, Solution, all_points, by_width
from kinlearn.solvers.label_fits import (
    IterativeFit,
    LabelCopies,
    LabelFit,
    LabelSystem,
    MaskedFit,
    direct_coefficients,
)
from kinlearn.solvers.label_problems import LabelProblem, class_problems, indicator_problems
from kinlearn.solvers.label_similarity import Similarity
from kinlearn.threads import side_by_side
from kinlearn.training.centers import Centers
from kinlearn.training.splits import Splits
from kinlearn.training.training_set import TrainingSet

# Selecting needs far less accuracy than the model itself.
SEARCH_TOL = 1e-5
# Decompositions kept for the refit, instead of being made again, up to this much memory.
KEPT_FITS_MB = 1024
# Held-out scores of a whole grid take at most this much memory.
SCORES_MB = 1024


class LabelsProblem:
    """Rows, centres and the targets of labels.

    Parameters
    ----------
    features : KernelMap
        Kernel at the centres.
    data : TrainingSet
    similarity, n_similar
        How labels are compared, as the user gave it.
    own_centers : bool
        Whether the centres are the rows.
    keep : bool
        Whether several widths will be asked for.
    solver : {"auto", "spectral", "cg", "direct"}
        Of the model itself; ``"direct"`` is held out spectrally.
    tol, max_iter : float and int
        Where iterations end.

    Attributes
    ----------
    similarities : list of ndarrays
        Between the labels, class by class (one for indicators).
    complete : bool
        Whether all labels are observed with the same weights.
    """

    def __init__(
        self,
        features: KernelMap,
        data: TrainingSet,
        similarity: Similarity,
        n_similar: int | None,
        *,
        own_centers: bool,
        keep: bool,
        solver: str = "auto",
        tol: float,
        max_iter: int,
    ) -> None:
        self.features, self.data = features, data
        self.own_centers, self.keep = own_centers, keep
        self.solver, self.tol, self.max_iter = solver, tol, max_iter
        self.complete = data.complete
        self.problems, self.similarities = _problems(data, similarity, n_similar)
        self._measure: Any = None
        self._fits: dict[float, LabelFit] = {}

    @property
    def closed_form(self) -> bool:
        """Whether held-out scores have a closed form."""
        return self.complete and self.solver != "cg"

    @property
    def n_columns(self) -> int:
        """Number of score columns."""
        return sum(len(problem.columns) for problem in self.problems)

    def columns(self) -> tuple[Array, Array, np.ndarray]:
        """Targets of the units, multiplicity and label of every score column."""
        targets = np.empty((self.data.units.size, self.n_columns))
        multiplicity, labels = np.empty(self.n_columns), np.zeros(self.n_columns, dtype=np.intp)
        for problem in self.problems:
            assert problem.units is not None
            targets[:, problem.columns] = problem.units
            multiplicity[problem.columns] = problem.multiplicity
            if not self.complete and problem.labels is not None:
                labels[problem.columns] = problem.labels
        return targets, multiplicity, labels

    def most_rows(self, n_points: int) -> int:
        """How many rows' held-out scores a grid of so many points may have."""
        return max(100, SCORES_MB * 2**20 // (4 * n_points * self.n_columns))

    def held_out(self, axes: Axes, splits: Splits) -> Array:
        """Return held-out scores of all points, sharing before reg, width by width."""
        own = {name: values for name, values in axes.items() if name != "sigma"}
        points = [(point["reg"], point["sharing"]) for point in all_points(own)]
        n_scores = len(points) * axes["sigma"].size * self.n_columns * splits.n_rows_held_out
        # Single precision stores scores well enough to select by; they are computed in double.
        dtype = np.float64 if 8 * n_scores <= SCORES_MB * 2**20 // 4 else np.float32

        def one_width(sigma: float) -> Array:
            return self._search_fit(float(sigma)).held_out(points, splits, dtype)

        with side_by_side(axes["sigma"].size, side=self.features.n_centers) as each:
            return np.concatenate(list(each(one_width, axes["sigma"])))

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Return the coefficients of a mix of points."""
        groups = by_width(points, weights)
        coefs, n_iter, residual = [], 1, 0.0
        for sigma, own, mix in groups:
            pairs = [(point["reg"], point["sharing"]) for point in own]
            if self.complete:
                coefs.append(self._search_fit(sigma).coefficients(pairs, mix))
                continue
            fit = self._fit(sigma, self.tol)
            coefs.append(fit.coefficients(pairs, mix))
            assert isinstance(fit, IterativeFit)
            steps, worst = _report_runs(fit)
            n_iter, residual = n_iter + steps, max(residual, worst)
        facts = {"n_iter_": n_iter, "residual_": residual}
        return Solution(np.array([sigma for sigma, _, _ in groups]), np.stack(coefs), facts=facts)

    def solve(self, point: Point, splits: Splits | None) -> tuple[Solution, Array | None]:
        """Return the solution of one point and, if asked for, its held-out scores, (entries, K)."""
        fit, points = self._fit(point["sigma"], self.tol), [(point["reg"], point["sharing"])]
        scores = None if splits is None else fit.held_out(points, splits)[0]
        n_iter, residual = 1, 0.0
        if self.solver == "direct":
            coef = direct_coefficients(fit.system, *points[0])
        elif isinstance(fit, IterativeFit):
            fit.runs.clear()
            coef = fit.coefficients(points)
            n_iter, residual = _report_runs(fit)
        else:
            coef = fit.coefficients(points)
        facts = {"n_iter_": n_iter, "residual_": residual}
        return Solution(np.array([point["sigma"]]), coef[None], facts=facts), scores

    def _system(self, sigma: float) -> LabelSystem:
        data, units = self.data, self.data.units
        factors = data.unit_factors[:, :1] if self.complete else data.unit_factors
        pairs = units.mass[:, None] * factors
        return LabelSystem(
            features=self._features(sigma),
            problems=self.problems,
            n_labels=len(data.active),
            own_centers=self.own_centers,
            copies=LabelCopies(units.row, pairs[:, 0] if self.complete else units.mass, pairs),
            row_weights=data.weights if self.complete else None,
            pair_weights=None if self.complete else data.pair_weights,
        )

    def _fit(self, sigma: float, tol: float, solver: str | None = None) -> LabelFit:
        system = self._system(sigma)
        if not self.complete:
            return MaskedFit(system, tol=tol, max_iter=self.max_iter)
        if (self.solver if solver is None else solver) == "cg":
            return IterativeFit(system, tol=tol, max_iter=self.max_iter)
        return LabelFit(system)

    def _search_fit(self, sigma: float) -> LabelFit:
        """A fit to select by, kept for the model when memory allows."""
        if sigma in self._fits:
            return self._fits[sigma]
        fit = self._fit(sigma, SEARCH_TOL, "auto")
        size = 3 * 8 * fit.system.features.size
        if self.complete and (len(self._fits) + 1) * size <= KEPT_FITS_MB * 2**20:
            self._fits[sigma] = fit
        return fit

    def _features(self, sigma: float) -> Array:
        if not self.own_centers:
            return self.features.features(self.data.X, sigma)
        measure = self._measure
        if measure is None:
            measure = self.features.square_measure(self.data.X)
            if self.keep:
                self._measure = measure
        out = np.empty_like(measure) if self.keep else measure
        return self.features.kernel.profile(measure, sigma, out)


@dataclass(frozen=True)
class LabelsPoser:
    """Compares the labels and poses their problem, in any kernel.

    Attributes
    ----------
    centers : Centers
    memory_mb : float
        Bound on the memory of kernel blocks.
    similarity, n_similar, solver, tol, max_iter
        As in :class:`LabelsProblem`.
    n_widths : int
        How many will be asked for.
    """

    centers: Centers
    memory_mb: float
    similarity: Similarity
    n_similar: int | None
    tol: float
    max_iter: int
    n_widths: int = 1
    solver: str = "auto"

    def __call__(self, kernel: Kernel, data: TrainingSet) -> LabelsProblem:
        centers = self.centers
        if centers.everything and data.n_rows > WARN_FULL_ROWS:
            weighted = data.complete and data.weights is not None
            warn_if_large(data.n_rows, self.n_widths, weighted)
        problem = LabelsProblem(
            KernelMap(kernel, centers.rows, self.memory_mb),
            data,
            self.similarity,
            self.n_similar,
            own_centers=centers.everything,
            keep=self.n_widths > 1,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        if centers.everything and not kernel.has_feature_space:
            warn_if_indefinite(problem.features.square_measure(data.X))
        return problem


def _problems(
    data: TrainingSet, similarity: Similarity, n_similar: int | None
) -> tuple[list[LabelProblem], list[Array]]:
    """The least-squares problems of the active labels and the similarities in them."""
    rows = data.weights if data.complete else None
    pairs = None if data.complete else data.pair_weights
    similarity = _for_active(data, similarity)
    units = data.unit_targets
    if data.table.indicator:
        Z = data.targets[:, 1::2]
        return indicator_problems(Z, rows, pairs, similarity, n_similar, units[:, 1::2])
    if data.table.n_labels == 1:  # classes of any type, which no other label shares
        class_of = np.arange(data.sizes[0])
    else:
        class_of = np.concatenate([data.table.classes[t] for t in data.active])
    return class_problems(
        data.targets, data.label_of, class_of, rows, pairs, similarity, n_similar, units
    )


def _for_active(data: TrainingSet, similarity: Similarity) -> Similarity:
    """Cut a matrix to the active labels, and give a callable the labels as the user did."""
    if isinstance(similarity, str):
        return similarity
    if callable(similarity):
        similarity = similarity(data.values())
    matrix = np.asarray(similarity)
    if matrix.shape != (data.table.n_labels,) * 2:
        return matrix  # refused, with its shape, where similarities are checked
    return matrix[np.ix_(data.active, data.active)]


def _report_runs(fit: IterativeFit) -> tuple[int, float]:
    """Return steps and largest residual of the runs, warning of any that did not converge."""
    residual = max(run.residual for run in fit.runs)
    if not all(run.converged for run in fit.runs):
        warnings.warn(
            f"Conjugate gradients stopped at a relative residual of {residual:.2g}, above "
            f"tol={fit.tol:g}, after {fit.max_iter} steps: raise max_iter, reg or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return sum(run.n_iter for run in fit.runs), residual
