"""What is learnt from held-out scores of labels: weights of points, calibration of their mix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.posterior import Link
from kinlearn.selection.class_calibration import class_calibration
from kinlearn.selection.label_scoring import HeldOutLabels, ScoreLayout
from kinlearn.selection.label_search import LabelGridSearch

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class LabelCalibration:
    """Scales and offsets of each label's scores, and the links of what they give.

    Attributes
    ----------
    layout : ScoreLayout
        What the score columns mean.
    common : Link
        The link of all labels together; its beta is NaN where nothing is calibrated.
    links : list of Links
        From scores to probabilities, label by label.
    scales : list of ndarrays, or None
        a ≥ 0 of the scores ``a∘q + b`` of each label's classes; None for ones.
    offset : ndarray of shape (score columns,)
        What the offsets b make of the score columns.
    """

    layout: ScoreLayout
    common: Link
    links: list[Link]
    scales: list[Array] | None
    offset: Array

    def scores(self, mixed: Array) -> Array:
        """Scores of a mix of points, class scales and offsets included."""
        if self.scales is None:
            return mixed
        return self.layout.scaled(mixed, self.scales) + self.offset

    def numbers(self) -> Array:
        """The links as numbers: every label's β, then every label's γ, ε and each class's s."""
        return np.concatenate(
            [
                [link.beta for link in self.links],
                [link.gamma for link in self.links],
                [self.common.floor],
                self.shift,
            ]
        )

    @property
    def shift(self) -> Array:
        """What brings the classes of each label, label after label, back from a class weight."""
        parts = [
            np.broadcast_to(link.shift, size)
            for link, size in zip(self.links, self.layout.sizes, strict=True)
        ]
        return np.concatenate(parts)


def label_links_of(numbers: Array, layout: ScoreLayout) -> list[Link]:
    """Return the links of every row from :meth:`LabelCalibration.numbers` of each, by label."""
    n_labels = layout.n_labels
    floor, shift = numbers[:, 2 * n_labels : 2 * n_labels + 1], numbers[:, 2 * n_labels + 1 :]
    shifts = np.split(shift, np.cumsum(layout.sizes)[:-1], axis=1)
    return [
        Link(numbers[:, [t]], numbers[:, [n_labels + t]], floor, shifts[t]) for t in layout.labels
    ]


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
    none = Link(float("nan"))
    return LabelCalibration(layout, none, [none] * layout.n_labels, None, np.zeros(n_columns))


def calibrate_labels(
    scores: Array,
    rows: HeldOutLabels,
    balance: list[Array] | None = None,
    by_class: bool = False,
) -> LabelCalibration:
    """Calibrate held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (R, score columns)
        Held-out scores.
    rows : HeldOutLabels
        What they speak of.
    balance : list of ndarrays, optional
        Factors of a class weight, by label. The scores lean by it, as decisions are meant to; the
        links bring probabilities back to the prevalence of the data.
    by_class : bool, default=False
        Whether each class has a scale and an offset of its own; not with a class weight, nor
        where rows repeat.
    """
    layout, zero = rows.layout, np.zeros(scores.shape[1])
    common, links = rows.links(scores, balance)
    if not by_class or balance is not None or rows.many_copies:
        return LabelCalibration(layout, common, links, None, zero)
    found = [
        class_calibration(*block, float(link.beta), rows.n_smooth)
        for block, link in zip(rows.blocks(scores), links, strict=True)
    ]
    scales, offsets, betas = zip(*found, strict=True)
    offset = layout.offset_columns(list(offsets), scores.shape[1])
    return LabelCalibration(layout, common, [Link(beta) for beta in betas], list(scales), offset)


def learn_label_mixture(
    search: LabelGridSearch,
    rule: str,
    balance: list[Array] | None,
    calibrated: bool,
) -> LabelMixture:
    """Weigh the points of a search by a rule and calibrate their mix.

    Parameters
    ----------
    search : LabelGridSearch
        After its run.
    rule : str
        Of :data:`kinlearn.selection.combine.RULES`.
    balance : list of ndarrays or None
        As in :func:`calibrate_labels`.
    calibrated : bool
        Whether the mix is calibrated; a stack's weights are then moved towards the least log-loss,
        and its classes have scales and offsets of their own.
    """
    weights = search.combined(rule, refine=calibrated and not search.rows.many_copies)
    mixed = search.mixed_scores(weights)
    if not calibrated:
        return LabelMixture(weights, uncalibrated(search.rows.layout, mixed.shape[1]), mixed)
    found = calibrate_labels(mixed, search.rows, balance, by_class=rule == "stack")
    return LabelMixture(weights, found, mixed)
