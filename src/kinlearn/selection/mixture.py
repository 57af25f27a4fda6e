"""What is learnt from held-out scores: weights of grid points, and the calibration of their mix."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinlearn.posterior import Link
from kinlearn.selection.class_calibration import class_calibration
from kinlearn.selection.link import calibrating_link
from kinlearn.selection.scoring import HeldOutRows
from kinlearn.selection.search import GridSearch


@dataclass(frozen=True)
class Calibration:
    """A scale and an offset for each class's scores, and the link of what they give.

    Attributes
    ----------
    link : Link
        From scores to probabilities.
    scale, offset : ndarray of shape (c,)
        a ≥ 0 and b of the scores ``a∘q + b``.
    """

    link: Link
    scale: np.ndarray
    offset: np.ndarray

    def scores(self, mixed: np.ndarray) -> np.ndarray:
        """Scores of a mix of points, class scales and offsets included."""
        return mixed * self.scale + self.offset

    def numbers(self) -> np.ndarray:
        """The link as numbers: β, γ, ε and, for each class, s."""
        shift = np.broadcast_to(self.link.shift, self.scale.shape)
        return np.concatenate([[self.link.beta, self.link.gamma, self.link.floor], shift])


def link_of(numbers: np.ndarray) -> Link:
    """Return the link of every row from :meth:`Calibration.numbers` of each, (n, 3 + c)."""
    return Link(numbers[:, :1], numbers[:, 1:2], numbers[:, 2:3], numbers[:, 3:])


@dataclass(frozen=True)
class Mixture:
    """Weights of the points of a grid, and the calibration of their mix."""

    weights: np.ndarray
    calibration: Calibration
    mixed: np.ndarray = field(repr=False)  # held-out scores of the mix before calibration

    @property
    def scores(self) -> np.ndarray:
        """Held-out scores."""
        return self.calibration.scores(self.mixed)


def calibrate(
    scores: np.ndarray,
    rows: HeldOutRows,
    balance: np.ndarray | None = None,
    by_class: bool = False,
) -> Calibration:
    """Calibrate held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (E, c)
        Held-out scores.
    rows : HeldOutRows
        What they speak of.
    balance : ndarray of shape (c,), optional
        Factors of a class weight. The scores lean by it, as decisions are meant to; the link
        brings probabilities back to the prevalence of the data.
    by_class : bool, default=False
        Whether each class has a scale and an offset of its own; not with a class weight, nor
        where rows repeat: their scores are frequencies, and the link is learnt instead.
    """
    scale, offset = np.ones(scores.shape[1]), np.zeros(scores.shape[1])
    known = scores, rows.targets, rows.weights
    link = calibrating_link(*known, rows.n_smooth, rows.validation.repeated, balance)
    if by_class and balance is None and not rows.repeated:
        scale, offset, beta = class_calibration(*known, float(link.beta), rows.n_smooth)
        link = Link(beta)
    return Calibration(link, scale, offset)


def learn_mixture(
    search: GridSearch, rule: str, balance: np.ndarray | None, class_scales: bool
) -> Mixture:
    """Weigh the points of a search by a rule and calibrate their mix.

    Parameters
    ----------
    search : GridSearch
        After its run.
    rule : str
        Of :data:`kinlearn.selection.combine.RULES`.
    balance : ndarray or None
        As in :func:`calibrate`.
    class_scales : bool
        Whether a stack's weights are moved towards the least log-loss, and its classes have scales
        and offsets of their own.
    """
    scaled = class_scales and rule == "stack"
    weights = search.combined(rule, refine=scaled and not search.rows.repeated)
    mixed = search.mixed_scores(weights)
    return Mixture(weights, calibrate(mixed, search.rows, balance, by_class=scaled), mixed)
