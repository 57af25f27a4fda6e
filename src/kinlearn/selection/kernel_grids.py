"""From the kernels and the metric that a tuned estimator is given to the grids that it tries.

Which kernels, metrics and widths matter is seen on a few hundred rows, at a tenth of the cost. So
beyond `SEEN_ON_PART` rows the whole grid is scored on a stratified part of them, and what got
weight there is tried on all rows, in the plain metric with the neighbours of the best width, as far
as a bound on decompositions allows. Of a kernel without weight there, the best width comes last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.kernels.library import Kernel
from kinlearn.problems.learnt_metric import InLearntMetric, MetricFromRows, Pose
from kinlearn.problems.one_task import OneTask
from kinlearn.problems.problem import Axes, Problem
from kinlearn.selection.grid import Grid, GridValues, PosedGrid
from kinlearn.selection.held_out import HeldOut, HoldingOut
from kinlearn.selection.search import GridSearch
from kinlearn.training.folds import Validation
from kinlearn.training.training_set import TrainingSet

METRICS = ("diagonal", "full", "auto")
# Kernels that stand in a learnt metric, too, where they are among those given.
IN_METRIC = ("rbf", "laplacian")
# Fewer rows teach no metric that is worth its blocks.
METRIC_ROWS = 100
# Beyond so many rows the whole grid is scored on a quarter of them, within these bounds.
SEEN_ON_PART, PART_ROWS = 800, (400, 700)
# What has less weight on that part is not tried on all rows.
MATERIAL_WEIGHT = 0.03
# Decompositions of all rows that may be spent on what is tried there; a learnt metric costs one for
# every fold it is learnt without.
MOST_DECOMPOSITIONS = 7
# What the best width in a metric is worth at least, as a share of all weight, and what the widths
# beside the best of a kernel are, as a share of its.
WORTH_OF_METRIC, WORTH_BESIDE = 0.15, 0.3
# Of every class, so many rows are in that part, if there are.
LEAST_OF_CLASS = 5


@dataclass(frozen=True)
class KernelGrids:
    """How a tuned estimator poses its problem for kernels and metrics.

    Attributes
    ----------
    kernels : list of Kernel
        As given.
    pose : callable
        Poses the problem for a kernel and rows.
    values : GridValues
        What to begin with.
    metric : {"diagonal", "full", "auto"} or None
        Which metric to learn, if any.
    scoring : str or callable
        The criterion.
    combine : {"stack", "within_se", "best"}
        How points become one model.
    vote, thinned : str, optional
        As in :class:`Grid`.
    halving : HoldingOut, optional
        What is held out of a part of the rows, where the grid may be tried on such first.
    automatic : {"diagonal", "full"}
        What ``metric="auto"`` is.
    """

    kernels: list[Kernel]
    pose: Pose
    values: GridValues
    metric: str | None
    scoring: Any
    combine: str = "stack"
    vote: str | None = None
    thinned: str | None = None
    halving: HoldingOut | None = None
    automatic: str = "diagonal"

    def posed(
        self, data: TrainingSet, validation: Validation
    ) -> tuple[list[PosedGrid], dict[str, Any]]:
        """Pose a problem for every kernel, some of them in a learnt metric, too.

        Parameters
        ----------
        data : TrainingSet
            The rows.
        validation : Validation
            What is held out.

        Returns
        -------
        posed : list of PosedGrid
        facts : dict
            What there is to tell, by the names of fitted attributes.
        """
        kind = self._metric(data)
        learnt = None
        if kind is not None and validation.fold.max() > 0:
            learnt = MetricFromRows.of(data, validation, whole=kind == "full")
        facts = {} if learnt is None else {"feature_relevance_": learnt.relevances}
        kept = self._seen_on_part(data, learnt)
        return self._grids(data, learnt, kept), facts

    def _metric(self, data: TrainingSet) -> str | None:
        """The kind of metric to learn, if any."""
        if not any(kernel.name in IN_METRIC for kernel in self.kernels):
            return None
        if self.metric == "auto":
            worth = data.n_rows >= METRIC_ROWS and data.X.shape[1] > 1
            return self.automatic if worth else None
        return self.metric

    def _grids(
        self,
        data: TrainingSet,
        learnt: MetricFromRows | None,
        kept: dict[tuple[str, str], np.ndarray] | None = None,
    ) -> list[PosedGrid]:
        """The grids of all kernels, or only of the widths that were `kept`."""
        posed = []
        ways = [(kernel, "plain") for kernel in self.kernels]
        if learnt is not None:
            kind = "full" if learnt.whole else "diagonal"
            ways += [(kernel, kind) for kernel in self.kernels if kernel.name in IN_METRIC]
        for kernel, metric in ways:
            if kept is not None and (kernel.name, metric) not in kept:
                continue
            seen = kernel
            if metric != "plain":
                assert learnt is not None
                seen = kernel.in_metric(learnt.metric)
            axes = self.values.axes(seen, data)
            if metric != "plain" and self.values.sigmas is None:
                # each costs a decomposition for every fold, and the ends are hardly ever used
                axes = {**axes, "sigma": axes["sigma"][1:-1]}
            if kept is not None:
                axes = {**axes, "sigma": kept[kernel.name, metric]}
            problem: Problem
            if metric == "plain":
                problem = self.pose(kernel, data)
            else:
                assert learnt is not None
                problem = InLearntMetric(self.pose, kernel, learnt)
            name = {"kernel": kernel.name} if len(self.kernels) > 1 else {}
            name |= {"metric": metric} if self.metric is not None else {}
            grid = self._grid(problem, seen, axes, widths_grow=kept is None)
            posed.append(PosedGrid(problem, grid, seen, name))
        return posed

    def _grid(self, problem: Problem, kernel: Kernel, axes: Axes, widths_grow: bool) -> Grid:
        if isinstance(problem, InLearntMetric):
            return Grid(axes, {}, vote=self.vote, thinned=self.thinned)
        lowest = {"reg": problem.least_reg(axes["reg"])} if isinstance(problem, OneTask) else {}
        growing = {"reg": self.values.regs is None}
        if widths_grow:
            growing["sigma"] = self.values.sigmas is None and kernel.has_width
        return Grid(axes, growing, lowest, self.vote, self.thinned)

    def _seen_on_part(
        self, data: TrainingSet, learnt: MetricFromRows | None
    ) -> dict[tuple[str, str], np.ndarray] | None:
        """The widths that matter on a part of the rows, by kernel and metric; None for all."""
        several = len(self.kernels) > 1 or learnt is not None
        given, halving = self.values.sigmas is not None, self.halving
        few = data.n_rows <= SEEN_ON_PART
        if halving is None or not halving.of_any_rows or given or not several or few:
            return None
        rows = stratified_rows(data, int(np.clip(data.n_rows // 4, *PART_ROWS)))
        left_out = np.flatnonzero(~np.isin(data.rows.member, rows))
        part, kept_rows = data.without(left_out)
        validation = halving.of(part)
        posed = self._grids(part, None if learnt is None else learnt.part(kept_rows, part))
        search = GridSearch(posed, HeldOut.of(part, validation), self.scoring)
        search.run()
        weights, start, offers = search.mix(self.combine), 0, []
        metrics = [one for one in search.parts if isinstance(one.problem, InLearntMetric)]
        in_metric = max(metrics, key=lambda one: one.mean_scores[one.best], default=None)
        for one in search.parts:
            own = weights[start : start + len(one.scores)].reshape(one.shape[0], -1).sum(axis=1)
            start += len(one.scores)
            worth = own / weights.sum()
            best = np.unravel_index(one.best, one.shape)[0]
            cost, metric = 1, "plain"
            if isinstance(one.problem, InLearntMetric):
                whole, cost = one.problem.learnt.whole, one.problem.learnt.n_folds
                metric = "full" if whole else "diagonal"
                if one is in_metric:  # more rows teach a better one
                    worth[best] = max(worth[best], WORTH_OF_METRIC)
            elif worth.max() >= MATERIAL_WEIGHT:
                most = int(worth.argmax())
                beside = slice(max(most - 1, 0), most + 2)
                worth[beside] = np.maximum(worth[beside], WORTH_BESIDE * worth[most])
            else:  # another kernel may serve beside those that more rows make sharper
                worth[best] = max(worth[best], MATERIAL_WEIGHT)
            key = (one.posed.kernel.name, metric)
            offers += [
                (value, cost, key, sigma)
                for value, sigma in zip(worth, one.axes["sigma"], strict=True)
                if value >= MATERIAL_WEIGHT
            ]
        return affordable(offers, MOST_DECOMPOSITIONS)


Offer = tuple[float, int, tuple[str, str], float]


def affordable(offers: list[Offer], most: int) -> dict[tuple[str, str], np.ndarray]:
    """The widths to try on all rows, by kernel and metric: the most worth first, within a cost.

    Parameters
    ----------
    offers : list of (worth, cost, key, width)
    most : int
        The cost of all that are taken; the first is taken whatever it costs.

    Examples
    --------
    >>> from kinlearn.selection.kernel_grids import affordable
    >>> affordable([(0.7, 1, ("rbf", "plain"), 2.0), (0.3, 2, ("rbf", "diagonal"), 1.0)], 2)
    {('rbf', 'plain'): array([2.])}
    """
    taken: dict[tuple[str, str], list[float]] = {}
    left = most
    for _, cost, key, sigma in sorted(offers, key=lambda offer: -offer[0]):
        if cost <= left or not taken:
            taken.setdefault(key, []).append(sigma)
            left -= cost
    return {key: np.sort(widths) for key, widths in taken.items()}


def stratified_rows(data: TrainingSet, most: int) -> np.ndarray:
    """Positions of about so many distinct rows, every class in proportion and none left out."""
    answer = data.targets[:, : data.sizes[0]].argmax(axis=1)
    order = data.rows.canonical[np.argsort(answer[data.rows.canonical], kind="stable")]
    some = order[np.linspace(0, data.n_rows - 1, most).astype(np.intp)]
    first = np.flatnonzero(np.diff(answer[order], prepend=-1))
    few = (first[:, None] + np.arange(LEAST_OF_CLASS)).ravel()
    few = few[few < data.n_rows]
    return np.unique(np.concatenate([some, order[few]]))
