"""A fit at one point: its solution, calibrated on its own held-out scores."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.posterior import Calibration, ScoreLayout, uncalibrated
from kinlearn.problems.problem import Point, Problem, Solution
from kinlearn.selection.calibration import calibrate
from kinlearn.selection.held_out import Columns, HeldOut, gathered, rows_of_others
from kinlearn.training.folds import Validation
from kinlearn.training.training_set import TrainingSet

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class PointFit:
    """A solution, its calibration, and what was held out for it.

    Attributes
    ----------
    solution : Solution
    calibration : Calibration
    rows, scores : HeldOut and ndarray of shape (R, K), or None
        What was held out, and its scores.
    held_out : dict
        ``held_out_scores_``, ``held_out_links_`` and ``held_out_codes_``, if there are any.
    """

    solution: Solution
    calibration: Calibration
    rows: HeldOut | None = None
    scores: Array | None = None
    held_out: dict[str, Any] = field(default_factory=dict)


def fit_point(
    problem: Problem,
    point: Point,
    data: TrainingSet,
    validation: Validation | None,
    columns: Columns | None = None,
    *,
    calibrated: bool = True,
) -> PointFit:
    """Solve a problem at one point, and calibrate it where anything can be held out.

    Parameters
    ----------
    problem : Problem
    point : dict
        Width, reg (and sharing).
    data : TrainingSet
        Its rows.
    validation : Validation or None
        What to hold out; None where nothing is calibrated.
    columns : Columns, optional
        What the score columns are fitted to, where these are not the classes.
    calibrated : bool, default=True
        Whether held-out scores are calibrated, and not kept alone.
    """
    solution, scores = problem.solve(point, None if validation is None else validation.splits)
    n_columns = solution.coef.shape[-1]
    if validation is None or scores is None:
        if data.n_rows == 1:
            warn_single_row()
        layout = ScoreLayout(data.table.indicator, data.sizes)
        return PointFit(solution, uncalibrated(layout, n_columns))
    rows = HeldOut.of(data, validation, columns)

    def learn(some: HeldOut, near: Calibration | None = None) -> Calibration:
        if not calibrated:
            return uncalibrated(rows.layout, n_columns)
        return calibrate(scores, some, near=near)

    found = learn(rows)
    parts = [(own, scores, learn(others, found)) for own, others in rows_of_others(rows)]
    held_out = gathered(rows, parts, n_columns)
    names = ("held_out_scores_", "held_out_links_", "held_out_codes_")
    facts = dict(zip(names, (*held_out, data.passed_codes), strict=True))
    return PointFit(solution, found, rows, scores, facts)


def warn_single_row() -> None:
    """Say what is done when there is nothing to hold out."""
    warnings.warn(
        "All training rows are identical, so nothing can be held out to calibrate on: "
        "probabilities are the class frequencies.",
        UserWarning,
        stacklevel=5,
    )
