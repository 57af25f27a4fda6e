"""Problems whose rows are gone: solved from sums, held out on the sample of rows the sums kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.model import Labels
from kinlearn.problems.problem import Array, Axes, Point, Problem, Solution, all_points
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.problems.tasks_dual import task_solution
from kinlearn.problems.tasks_from_sums import GENERAL_HELD_OUT_ROWS
from kinlearn.solvers.label_similarity import label_spectrum
from kinlearn.solvers.label_sums import LabelSums, similarity_of_sums
from kinlearn.solvers.multitask_primal import effective_sharing
from kinlearn.solvers.ridge_from_sums import RidgeInverse, leave_one_out
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.solvers.task_systems import TaskSystem, task_system
from kinlearn.sums import NormalEquations


@dataclass(frozen=True)
class Posed:
    """A problem posed by sums.

    Attributes
    ----------
    problem : Problem
        Its held-out scores are those of `rows`.
    labels : Labels
        What is answered.
    rows : SampleRows or None
        Rows of the sums to hold out.
    tasks : ndarray or None
        Task ids.
    facts : dict
        What there is to tell, by the names of fitted attributes.
    """

    problem: Problem
    labels: Labels
    rows: SampleRows | None
    tasks: NDArray | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def class_labels(sums: NormalEquations, factors: Array, name: str) -> Labels:
    """The classes that sums know; `factors` are those of a class weight."""
    if sums.kind != "classes":
        raise ValueError(
            f"These sums are of label indicators, but {name} needs classes of one label: use "
            "MultiLabelLSPC."
        )
    plain = sums.target_sums() / factors
    prior = plain / plain.sum()
    return Labels([sums.classes], np.arange(1), [prior], np.array([True]))


class OneTaskOfSums:
    """``(H + Σw·reg·I) A = h`` (mt-lspc Eqs. 2-3)."""

    def __init__(self, sums: NormalEquations, rows: SampleRows | None) -> None:
        self.sums, self.rows = sums, rows

    def held_out(self, axes: Axes, splits: Any) -> Array:
        """Leave-one-out scores of the sample at every reg."""
        sums, rows = self.sums, self.rows
        assert rows is not None
        # one label, or one task, shares with nobody: other axes have one value
        return np.stack(
            [
                leave_one_out(
                    sums.gram(),
                    sums.moments(),
                    float(reg) * sums.weight * rows.shrink,
                    rows.features,
                    rows.targets,
                    rows.units,
                )
                for reg in axes["reg"]
            ]
        )

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """The mix of the solutions over regs."""
        sums, total = self.sums, None
        for p in np.flatnonzero(weights):
            ridge = points[p]["reg"] * sums.weight
            found = RidgeInverse(sums.gram(), ridge, overwrite=True).apply(sums.moments())
            total = weights[p] * found if total is None else total + weights[p] * found
        assert total is not None
        return Solution(np.array([sums.sigma]), total[None])

    def solve(self, point: Point, splits: Any) -> tuple[Solution, Array | None]:
        """One solution and, if there are rows, its leave-one-out scores."""
        return _solve(self, point, self.rows)


class TasksOfSums:
    """``θ_t = F_t⁻¹((T/N)h_t + γθ̄)`` and its like.

    Parameters
    ----------
    sums : NormalEquations
    rows : SampleRows or None
    similarity : ndarray of shape (T, T)
    """

    def __init__(self, sums: NormalEquations, rows: SampleRows | None, similarity: Array) -> None:
        self.sums, self.similarity = sums, similarity
        if rows is not None and effective_sharing(similarity, 0.5) is None:
            rows = rows.some(GENERAL_HELD_OUT_ROWS)
        self.rows = rows

    def _system(self, sharing: float, reg: float, shrink: float = 1.0) -> TaskSystem:
        tasks = self.sums.task_sums()
        ridge = reg * self.sums.weight / len(tasks) * shrink
        return task_system(tasks, self.similarity, ridge, sharing)

    def held_out(self, axes: Axes, splits: Any) -> Array:
        """Leave-one-out scores of the sample at every point."""
        sums, rows = self.sums, self.rows
        assert rows is not None
        # the sums' own order of columns, and back
        order = sums.columns(np.arange(rows.targets.shape[1]))
        own = np.empty_like(rows.targets)
        own[:, order] = rows.targets
        out = []
        for point in all_points(axes):
            system = self._system(point["sharing"], point["reg"], rows.shrink)
            scores = system.leave_one_out(rows.features, own, rows.units, rows.task)
            out.append(sums.columns(scores))
        return np.stack(out)

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """All tasks' coefficients of a mix, and their shared part."""
        sums = self.sums
        used = [(points[p], float(weights[p])) for p in np.flatnonzero(weights)]
        coef: Any = 0.0
        shared = []
        for point, weight in used:
            theta = sums.columns(self._system(point["sharing"], point["reg"]).parameters())
            coef = coef + weight * theta
            unseen = unseen_weight(self.similarity, point["sharing"])
            shared.append(unseen * theta.mean(axis=0))
        weight_per_task = sums.weight / len(self.similarity)
        sigmas = np.array([sums.sigma])
        return task_solution(
            sigmas, np.asarray(coef)[None], np.stack(shared), used, weight_per_task
        )

    def solve(self, point: Point, splits: Any) -> tuple[Solution, Array | None]:
        """One solution and, if there are rows, its leave-one-out scores."""
        return _solve(self, point, self.rows)


class LabelsOfSums:
    """The Sylvester equation of indicators from sums.

    Parameters
    ----------
    sums : NormalEquations
    rows : SampleRows or None
    similarity : str, callable or ndarray
    n_similar : int or None
    """

    def __init__(
        self,
        sums: NormalEquations,
        rows: SampleRows | None,
        similarity: Any,
        n_similar: int | None,
    ) -> None:
        self.sums, self.rows = sums, rows
        names, products = sums.classes, sums.target_sums()
        on = np.diagonal(products)[1:]
        self.learnt = (on > 0) & (on < (1 - 1e-12) * products[0, 0])
        if not self.learnt.any():
            raise ValueError(
                "A label that is on in some rows and off in others is needed, but each of the "
                f"{len(names)} columns of Y holds one value only so far."
            )
        self.active = np.append(0, 1 + np.flatnonzero(self.learnt))
        chosen = products[np.ix_(self.active, self.active)]
        W = similarity_of_sums(chosen, self._for_learnt(similarity), n_similar)
        self.similarity = np.zeros((len(names),) * 2)
        self.similarity[np.ix_(self.learnt, self.learnt)] = W
        self.spectrum = label_spectrum(W)
        self.system = LabelSums.of(sums.gram(), sums.moments()[:, self.active], sums.weight)

    def _for_learnt(self, similarity: Any) -> Any:
        if isinstance(similarity, str) or callable(similarity):
            return similarity
        matrix = np.asarray(similarity)
        if matrix.shape != (len(self.learnt),) * 2:
            return matrix  # refused, with its shape, where similarities are checked
        return matrix[np.ix_(self.learnt, self.learnt)]

    @property
    def labels(self) -> Labels:
        """What is answered; a constant label by its share, moved as calibration moves it."""
        products, sums = self.sums.target_sums(), self.sums
        share = products[0, 1:] / products[0, 0]
        epsilon = 1.0 / (sums.n_rows + 1)
        moved = (1.0 - epsilon) * share + epsilon / 2.0
        priors = [np.array([1.0 - p, p]) for p in np.where(self.learnt, share, moved)]
        classes = [np.array([0, 1])] * len(priors)
        return Labels(classes, sums.classes, priors, self.learnt, indicator=True, single=False)

    @property
    def targets(self) -> Array:
        """Which of the learnt labels are on in the sample."""
        assert self.rows is not None
        return self.rows.targets[:, self.active[1:]]

    def held_out(self, axes: Axes, splits: Any) -> Array:
        """Leave-one-out scores of the sample at every point."""
        rows, on = self.rows, self.targets
        assert rows is not None
        targets = np.column_stack([2.0 * on - 1.0, np.ones(len(on))])
        return np.stack(
            [
                self.system.leave_one_out(
                    rows.features,
                    targets,
                    rows.units,
                    *self.spectrum,
                    point["reg"],
                    point["sharing"],
                    rows.shrink,
                )
                for point in all_points(axes)
            ]
        )

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """The coefficients of a mix of points."""
        coef = sum(
            weights[p]
            * self.system.coefficients(*self.spectrum, points[p]["reg"], points[p]["sharing"])
            for p in np.flatnonzero(weights)
        )
        facts = {"n_iter_": 1, "residual_": 0.0}
        return Solution(np.array([self.sums.sigma]), np.asarray(coef)[None], facts=facts)

    def solve(self, point: Point, splits: Any) -> tuple[Solution, Array | None]:
        """One solution and, if there are rows, its leave-one-out scores."""
        return _solve(self, point, self.rows)


def _solve(
    problem: OneTaskOfSums | TasksOfSums | LabelsOfSums, point: Point, rows: SampleRows | None
) -> tuple[Solution, Array | None]:
    scores = None
    if rows is not None:
        axes = {name: np.array([value]) for name, value in point.items()}
        scores = problem.held_out(axes, None)[0]
    return problem.mixed([point], np.ones(1)), scores
