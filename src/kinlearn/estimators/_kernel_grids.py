"""From the kernels and the metric that a tuned estimator is given to the grids that it tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinlearn.estimators._checks import check_choice
from kinlearn.kernels.library import Kernel
from kinlearn.problems.learnt_metric import InLearntMetric, MetricFromRows
from kinlearn.problems.one_task import OneTask
from kinlearn.problems.problem import Axes, Problem
from kinlearn.selection.grid import Grid, PosedGrid
from kinlearn.training.folds import Validation
from kinlearn.training.training_set import TrainingSet

METRICS = ("diagonal", "full", "auto")
# Kernels that stand in a learnt metric, too, where they are among those given.
IN_METRIC = ("rbf", "laplacian")


def posed_grids(
    estimator: Any,
    kernels: list[Kernel],
    data: TrainingSet,
    validation: Validation,
    pose: Callable[[Kernel, TrainingSet], Problem],
    axes_of: Callable[[Kernel], Axes],
    *,
    vote: str | None = None,
) -> tuple[list[PosedGrid], dict[str, Any]]:
    """Pose a problem for every kernel, some of them in a learnt metric, too.

    Parameters
    ----------
    estimator : estimator
        Whose `metric`, `sigmas` and `regs` are asked for.
    kernels : list of Kernel
        As given.
    data : TrainingSet
        The rows.
    validation : Validation
        What is held out.
    pose : callable
        Poses the problem for a kernel and rows.
    axes_of : callable
        The axes of a kernel's grid.
    vote : str, optional
        As in :class:`Grid`.

    Returns
    -------
    posed : list of PosedGrid
    facts : dict
        What there is to tell, by the names of fitted attributes.
    """
    several = len(kernels) > 1 or estimator.metric is not None
    posed = []
    for kernel in kernels:
        problem, axes = pose(kernel, data), axes_of(kernel)
        lowest = {"reg": problem.least_reg(axes["reg"])} if isinstance(problem, OneTask) else {}
        name = {"kernel": kernel.name} if len(kernels) > 1 else {}
        name |= {"metric": "plain"} if estimator.metric is not None else {}
        posed.append(PosedGrid(problem, _grid(estimator, kernel, axes, lowest, vote), kernel, name))
    if estimator.metric is None:
        return posed, {}
    check_choice("metric", estimator.metric, METRICS)
    learnt = MetricFromRows.of(data, validation, whole=estimator.metric == "full")
    for kernel in kernels:
        if kernel.name not in IN_METRIC:
            continue
        seen = kernel.in_metric(learnt.metric)
        name = {"kernel": kernel.name} if several else {}
        name |= {"metric": estimator.metric}
        grid = Grid(axes_of(seen), {}, vote=vote)
        posed.append(PosedGrid(InLearntMetric(pose, kernel, learnt), grid, seen, name))
    return posed, {"feature_relevance_": learnt.relevances}


def _grid(
    estimator: Any, kernel: Kernel, axes: Axes, lowest: dict[str, float], vote: str | None
) -> Grid:
    growing = {
        "sigma": estimator.sigmas is None and kernel.has_width,
        "reg": estimator.regs is None,
    }
    return Grid(axes, growing, lowest, vote)
