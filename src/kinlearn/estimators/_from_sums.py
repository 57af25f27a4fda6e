"""From sums to a model: the problem they pose, solved or tuned, and calibrated on a sample."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.all_or_nothing import drop_fit
from kinlearn.estimators._batches import check_fits, class_factors
from kinlearn.estimators._label_classifier import find_thresholds
from kinlearn.estimators._task_classifier import of_one_task
from kinlearn.familiarity import sampled_support
from kinlearn.kernels import Kernel
from kinlearn.model import KernelModel
from kinlearn.posterior import Calibration, ScoreLayout, uncalibrated
from kinlearn.problems.from_sums import LabelsOfSums, Posed, TasksOfSums
from kinlearn.problems.problem import Point, Solution
from kinlearn.problems.sample_rows import SampleRows, kept_rows
from kinlearn.selection.calibration import label_links
from kinlearn.selection.grid import Grid, PosedGrid
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.kernel_grids import METRICS
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.selection.sharing_report import sharing_report
from kinlearn.selection.tune import search_grid
from kinlearn.solvers.gradient_metric import relevances_of
from kinlearn.sums import NormalEquations

Array = NDArray[np.float64]
# A probability whose logarithm is still a number.
LEAST = float(np.finfo(np.float64).tiny)


def target_factors(estimator: Any, sums: NormalEquations) -> Array:
    """The class weight of every target column."""
    if sums.kind == "classes":
        return class_factors(estimator.class_weight, sums.classes)
    return np.ones(1 + len(sums.classes))


def solved(estimator: Any, sums: NormalEquations, rows: SampleRows | None = None) -> Any:
    """Make an estimator the model of sums, whatever it was before.

    Parameters
    ----------
    estimator : estimator
        A copy aside, of which parameters and the names of features stay.
    sums : NormalEquations
        Kept as ``statistics_``.
    rows : SampleRows, optional
        To calibrate on; those that the sums kept when left out.
    """
    check_fits(estimator, sums)
    named = {name: value for name, value in vars(estimator).items() if name in FEATURES}
    drop_fit(estimator)
    factors = target_factors(estimator, sums)
    tuned = hasattr(estimator, "_stream_grid")
    calibrated = estimator.posterior == "calibrated"
    if rows is None and (
        tuned or calibrated or isinstance(getattr(estimator, "threshold", None), str)
    ):
        rows = kept_rows(sums, factors)
        if rows is None and sums.n_held_out == 0:
            warn_no_rows()
    posed: Posed = estimator._pose(sums, rows, factors)
    facts: dict[str, Any] = {"sigma_": sums.sigma, "held_out_log_loss_": float("nan")}
    balance = None if estimator.class_weight is None else [factors]
    held = None if posed.rows is None else sample_rows_held_out(posed, factors, balance)
    if tuned and held is None and sums.n_held_out == 0:
        raise ValueError(
            f"{type(estimator).__name__} needs rows to tune on, of which these sums keep none: "
            "make them with n_held_out above 0, or add further rows."
        )
    scores: Array | None
    if tuned and held is None:  # a single row so far: nothing can be held out to tune on
        point = _middle(estimator._stream_grid(posed, sums))
        solution, scores = posed.problem.mixed([point], np.ones(1)), None
        if _has_tasks(estimator) and solution.shared is None:
            solution = of_one_task(solution, 1.0)
        calibration = uncalibrated(posed.labels.layout, solution.coef.shape[-1])
        facts |= {f"{name}_": value for name, value in point.items()}
    elif tuned:
        solution, calibration, scores, more = _tune(estimator, posed, held, sums)
        facts |= more
    else:
        solution, scores = posed.problem.solve(estimator._stream_point(sums), None)
        calibration = _calibration(posed, held, scores, balance, calibrated, solution)
    if calibrated and held is not None and scores is not None:
        facts["held_out_log_loss_"] = _log_loss(calibration, held, scores)
    labels = posed.labels
    thresholds = find_thresholds(
        estimator,
        labels.learnt,
        labels.indicator,
        calibration,
        labels.learnt_priors,
        held,
        scores,
    )
    model = _model(estimator, posed, sums, solution, calibration)
    estimator._keep(
        model.with_thresholds(thresholds),
        **{**named, "n_features_in_": sums.n_features},
        statistics_=sums,
        **posed.facts,
        **{**solution.facts, **facts},
    )
    return estimator


FEATURES = ("feature_names_in_", "n_features_in_")


def _has_tasks(estimator: Any) -> bool:
    return hasattr(estimator, "task_column")


def _middle(grid: Grid) -> Point:
    """The point in the middle of a grid."""
    return {name: float(values[values.size // 2]) for name, values in grid.axes.items()}


def sample_rows_held_out(posed: Posed, factors: Array, balance: list[Array] | None) -> HeldOut:
    """Describe the copies of rows that the leave-one-out scores of a sample speak of."""
    rows, labels = posed.rows, posed.labels
    assert rows is not None
    weights = rows.weights[:, None]
    if isinstance(posed.problem, LabelsOfSums):
        on = posed.problem.targets
        targets = [np.column_stack([1.0 - z, z]) for z in on.T]
        fit_targets = np.column_stack([2.0 * on - 1.0, np.ones(len(on))])
        multiplicity = np.append(np.ones(on.shape[1]), on.shape[1])
        weights = np.repeat(weights, on.shape[1], axis=1)
        pair_weights, fit_weights = weights, multiplicity * rows.weights[:, None]
    else:
        targets, fit_targets = [rows.targets], rows.targets
        pair_weights = weights * (rows.targets @ factors)[:, None]
        pair_weights = pair_weights * (weights.sum() / pair_weights.sum())
        fit_weights = np.broadcast_to(pair_weights, fit_targets.shape)
    return HeldOut(
        layout=labels.layout,
        targets=targets,
        weights=weights,
        n_smooth=rows.n_units,
        repeated=rows.repeated,
        fit_targets=fit_targets,
        fit_weights=fit_weights,
        pair_weights=pair_weights,
        starts=None,
        balance=balance,
        task=rows.task if posed.tasks is not None else None,
        n_tasks=1 if posed.tasks is None else len(posed.tasks),
    )


def _calibration(
    posed: Posed,
    held: HeldOut | None,
    scores: Array | None,
    balance: list[Array] | None,
    calibrated: bool,
    solution: Solution,
) -> Calibration:
    layout: ScoreLayout = posed.labels.layout
    n_columns = solution.coef.shape[-1]
    if not calibrated or held is None or scores is None:
        return uncalibrated(layout, n_columns)
    common, links = label_links(held, scores, balance)
    return Calibration(layout, common, links, None, np.zeros(n_columns))


def _tune(
    estimator: Any, posed: Posed, held: HeldOut | None, sums: NormalEquations
) -> tuple[Solution, Calibration, Array, dict[str, Any]]:
    """Tune from sums: all but the width, which is that of their features."""
    assert held is not None
    labels, several = posed.labels, isinstance(posed.problem, TasksOfSums)
    scoring = resolve_scoring(
        estimator.scoring, labels=hasattr(estimator, "n_similar"), indicator=labels.indicator
    )
    scales = estimator.posterior == "calibrated"
    kernel = sums.features().kernel
    grid = estimator._stream_grid(posed, sums)
    search, learnt = search_grid(
        PosedGrid(posed.problem, grid, kernel, kernel_names(estimator, kernel)),
        held.averaged(getattr(estimator, "average", "pooled")),
        scoring,
        estimator.combine,
        scales=scales,
    )
    solution = search.solution(learnt.weights)
    facts = {**search.facts(), "weights_": learnt.weights}
    if kernel.metric is not None:
        facts["feature_relevance_"] = relevances_of(kernel.metric)
    if several:
        names = [] if posed.tasks is None else posed.tasks.tolist()
        facts["sharing_report_"] = sharing_report(
            search, estimator.combine, learnt.weights, names, scales
        )
    elif _has_tasks(estimator):
        solution = of_one_task(solution, 1.0)
    return solution, learnt.calibration, learnt.scores, facts


def kernel_names(estimator: Any, kernel: Kernel) -> dict[str, str]:
    """What tells a kernel from others that the estimator may have chosen."""
    several = isinstance(estimator.kernel, (list, tuple)) and len(estimator.kernel) > 1
    found = {"kernel": kernel.name} if several else {}
    if getattr(estimator, "metric", None) is not None:
        found["metric"] = "plain" if kernel.metric is None else METRICS[kernel.metric.ndim - 1]
    return found


def _model(
    estimator: Any,
    posed: Posed,
    sums: NormalEquations,
    solution: Solution,
    calibration: Calibration,
) -> KernelModel:
    kernel, sample, support = sums.features().kernel, sums.held_out_sample(), None
    if sample is not None:
        chosen = estimator.centers is None
        support = sampled_support(kernel, sample.X, sums.centers, chosen)
    return KernelModel(
        kernel=kernel,
        centers=sums.centers,
        sigmas=solution.sigmas,
        coef=solution.coef,
        calibration=calibration,
        labels=posed.labels,
        rule=estimator.posterior,
        fallback=estimator.fallback,
        shared=solution.shared,
        tasks=posed.tasks,
        support=support,
    ).finished()


def _log_loss(calibration: Calibration, held: HeldOut, scores: Array) -> float:
    """Log-loss of the sample's probabilities, the mean over labels."""
    by_label = calibration.layout.by_label(scores)
    losses = [
        -np.einsum("nc,nc->n", z, np.log(np.maximum(link(q), LEAST)))
        for q, link, z in zip(by_label, calibration.links, held.targets, strict=True)
    ]
    return float(np.average(np.mean(losses, axis=0), weights=held.weights[:, 0]))


def warn_no_rows() -> None:
    """Say what becomes of calibration when sums keep no rows."""
    warnings.warn(
        "These sums keep no rows to calibrate on (n_held_out=0), so probabilities are rounded "
        "scores: call calibrate with rows that are part of the sums, or choose another posterior.",
        UserWarning,
        stacklevel=5,
    )
