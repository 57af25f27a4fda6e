"""What is learnt from held-out scores: weights of grid points, and the calibration of their mix."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinlearn.posterior import fit_beta
from kinlearn.selection.class_calibration import class_calibration, fit_shift
from kinlearn.selection.scoring import HeldOutRows
from kinlearn.selection.search import GridSearch


@dataclass(frozen=True)
class Calibration:
    """``softmax(β·(a∘q + b) + s)``: a and b belong to the scores, β and s to the posterior.

    Attributes
    ----------
    beta : float
        β ≥ 0.
    scale, offset : ndarray of shape (c,)
        a ≥ 0 and b.
    shift : ndarray of shape (c,)
        s, which undoes the leaning of a class weight in probabilities, not in decisions.
    """

    beta: float
    scale: np.ndarray
    offset: np.ndarray
    shift: np.ndarray

    def scores(self, mixed: np.ndarray) -> np.ndarray:
        """Scores of a mix of points, class scales and offsets included."""
        return mixed * self.scale + self.offset


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
    scores: np.ndarray, rows: HeldOutRows, balance: np.ndarray | None, by_class: bool
) -> Calibration:
    """Calibrate held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (E, c)
        Held-out scores.
    rows : HeldOutRows
        What they speak of.
    balance : ndarray of shape (c,) or None
        Factors of a class weight. The scores lean by it, as decisions are meant to; the posterior
        is shifted back to the prevalence of the data.
    by_class : bool
        Whether each class has a scale and an offset of its own; not with a class weight.
    """
    n_classes = scores.shape[1]
    scale, offset, shift = np.ones(n_classes), np.zeros(n_classes), np.zeros(n_classes)
    known = rows.targets, rows.weights
    if balance is not None:
        beta, shift = fit_shift(scores, *known, balance, rows.n_smooth)
        return Calibration(beta, scale, offset, shift)
    beta = fit_beta(scores, *known, rows.n_smooth)
    if by_class:
        scale, offset, beta = class_calibration(scores, *known, beta, rows.n_smooth)
    return Calibration(beta, scale, offset, shift)


def learn_mixture(
    search: GridSearch, rule: str, balance: np.ndarray | None, by_class: bool, refine: bool
) -> Mixture:
    """Weigh the points of a search by a rule and calibrate their mix.

    Parameters
    ----------
    search : GridSearch
        After its run.
    rule : str
        Of :data:`kinlearn.selection.combine.RULES`.
    balance, by_class
        As in :func:`calibrate`.
    refine : bool
        Whether a stack's weights are moved towards the least log-loss.
    """
    weights = search.combined(rule, refine)
    mixed = search.mixed_scores(weights)
    return Mixture(weights, calibrate(mixed, search.rows, balance, by_class), mixed)
