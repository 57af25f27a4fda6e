"""What is learnt from held-out scores of labels: weights of points, calibration of their mix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.selection.class_calibration import (
    class_calibration,
    fit_common_shift,
    fit_own_shift,
)
from kinlearn.selection.label_scoring import HeldOutLabels, ScoreLayout
from kinlearn.selection.label_search import LabelGridSearch

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class LabelCalibration:
    """``softmax(β_t·(a∘q + b) + s)`` in every label: a and b belong to the scores.

    Attributes
    ----------
    layout : ScoreLayout
        What the score columns mean.
    beta : float
        The β of all labels together; NaN where nothing is calibrated.
    betas : ndarray of shape (T,)
        β_t of each label.
    scales : list of ndarrays, or None
        a of each label's classes; None for ones.
    offset : ndarray of shape (score columns,)
        What the offsets b make of the score columns.
    shift : ndarray of shape (classes of all labels,)
        s, label after label, which undoes the leaning of a class weight in probabilities, not in
        decisions; empty without a class weight.
    """

    layout: ScoreLayout
    beta: float
    betas: Array
    scales: list[Array] | None
    offset: Array
    shift: Array

    def scores(self, mixed: Array) -> Array:
        """Scores of a mix of points, class scales and offsets included."""
        if self.scales is None:
            return mixed
        return self.layout.scaled(mixed, self.scales) + self.offset

    @property
    def posterior(self) -> Array:
        """What the posterior takes: betas, then the shift."""
        return np.concatenate([self.betas, self.shift])


@dataclass(frozen=True)
class LabelMixture:
    """Weights of the points of a grid, and the calibration of their mix."""

    weights: Array
    calibration: LabelCalibration
    mixed: Array = field(repr=False)  # held-out scores of the mix before calibration

    @property
    def scores(self) -> Array:
        """Held-out scores."""
        return self.calibration.scores(self.mixed)


def uncalibrated(layout: ScoreLayout, n_columns: int) -> LabelCalibration:
    """Nothing is done to scores that a rule of rounding turns into probabilities."""
    nothing = np.full(layout.n_labels, np.nan)
    return LabelCalibration(layout, float("nan"), nothing, None, np.zeros(n_columns), np.empty(0))


def calibrate_labels(
    scores: Array, rows: HeldOutLabels, balance: list[Array] | None, by_class: bool
) -> LabelCalibration:
    """Calibrate held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (R, score columns)
        Held-out scores.
    rows : HeldOutLabels
        What they speak of.
    balance : list of ndarrays or None
        Factors of a class weight, by label. The scores lean by it, as decisions are meant to; the
        posterior is shifted back to the prevalence of the data.
    by_class : bool
        Whether each class has a scale and an offset of its own; not with a class weight.
    """
    layout, zero = rows.layout, np.zeros(scores.shape[1])
    if balance is not None:
        blocks = rows.blocks(scores)
        beta, shifts = fit_common_shift(blocks, balance, rows.n_smooth)
        betas = np.full(layout.n_labels, beta)
        if layout.n_labels > 1:
            for t, (block, own) in enumerate(zip(blocks, balance, strict=True)):
                betas[t], shifts[t] = fit_own_shift(block, own, beta, shifts[t], rows.n_smooth)
        return LabelCalibration(layout, beta, betas, None, zero, np.concatenate(shifts))
    beta = rows.beta(scores)
    betas = rows.betas(scores, beta)
    if not by_class:
        return LabelCalibration(layout, beta, betas, None, zero, np.empty(0))
    found = [
        class_calibration(*block, float(own), rows.n_smooth)
        for block, own in zip(rows.blocks(scores), betas, strict=True)
    ]
    scales, offsets, units = zip(*found, strict=True)
    offset = layout.offset_columns(list(offsets), scores.shape[1])
    return LabelCalibration(layout, beta, np.array(units), list(scales), offset, np.empty(0))


def learn_label_mixture(
    search: LabelGridSearch,
    rule: str,
    balance: list[Array] | None,
    *,
    calibrated: bool,
    by_class: bool,
) -> LabelMixture:
    """Weigh the points of a search by a rule and calibrate their mix.

    Parameters
    ----------
    search : LabelGridSearch
        After its run.
    rule : str
        Of :data:`kinlearn.selection.combine.RULES`.
    balance, by_class
        As in :func:`calibrate_labels`.
    calibrated : bool
        Whether the mix is calibrated, and a stack's weights are moved towards the least log-loss.
    """
    weights = search.combined(rule, refine=calibrated)
    mixed = search.mixed_scores(weights)
    if not calibrated:
        return LabelMixture(weights, uncalibrated(search.rows.layout, mixed.shape[1]), mixed)
    return LabelMixture(weights, calibrate_labels(mixed, search.rows, balance, by_class), mixed)
