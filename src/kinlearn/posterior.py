"""From scores to probabilities: what score columns mean, the rules, and their calibration.

Scores ``q_y(x)`` estimate class probabilities but may leave [0, 1] and need not add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Array: TypeAlias = NDArray[np.float64]
RULES = ("calibrated", "rounded", "rounded_parameters", "raw")


def rounded(scores: Array, fallback: Array) -> Array:
    """LSPC-new, Eq. 6: ``max(0, q_y) / Σ max(0, q_y')``, the fallback where the sum is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.posterior import rounded
    >>> rounded(np.array([[0.6, 0.2], [-1.0, -2.0]]), fallback=np.array([0.5, 0.5]))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    return normalised(np.maximum(scores, 0.0), fallback)


def normalised(scores: Array, fallback: Array) -> Array:
    """LSPC′, Eq. 5: ``q_y / Σ q_y'``, which may leave [0, 1]; the fallback where the sum is 0."""
    total = scores.sum(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = scores / total
    # a sum can be so small that the ratio overflows: such a point tells nothing either
    return np.where(np.isfinite(ratio).all(axis=1, keepdims=True), ratio, fallback)


@dataclass(frozen=True)
class Link:
    """The calibrated rule: ``p_y ∝ exp(β q_y + s_y) · max(q_y, ε)^γ``.

    With γ = 0 it is ``softmax(β·q)``, which suits scores of rows never seen before. β = 0 and γ = 1
    is rounding, which suits rows seen many times: their scores are frequencies of the classes. The
    class of the largest score is that of the largest probability for all β, γ ≥ 0 where s = 0.

    Attributes
    ----------
    beta, gamma : float or column of such, one for each row
        β and γ; a NaN β where nothing was calibrated.
    floor : float
        ε.
    shift : ndarray or float
        s, which undoes the leaning of scores fitted with a class weight.
    """

    beta: Any
    gamma: Any = 0.0
    floor: Any = 1.0
    shift: Any = 0.0

    def __call__(self, scores: Array) -> Array:
        """Return probabilities, (n, c)."""
        logits = self.beta * scores + self.shift
        if np.any(self.gamma):
            logits = logits + self.gamma * np.log(np.maximum(scores, self.floor))
        return softmax(logits, axis=1)


def posterior(
    scores: Array,
    rule: str,
    link: Link | float = float("nan"),
    fallback: Array | None = None,
) -> Array:
    """Apply a rule to the scores of the parameters in use.

    ``"rounded_parameters"`` (the original LSPC, Eq. 4) rounds parameters before there are scores,
    so that here it only normalises. A calibration that could not be had (its beta is NaN) rounds.
    `link` may be given as its beta alone.
    """
    if fallback is None:
        fallback = np.full(scores.shape[1], 1.0 / scores.shape[1])
    link = link if isinstance(link, Link) else Link(link)
    if rule == "calibrated" and not np.isnan(link.beta).any():
        return link(scores)
    if rule == "raw":
        return normalised(scores, fallback)
    return rounded(scores, fallback)


@dataclass(frozen=True)
class ScoreLayout:
    """What the score columns mean.

    Indicators have columns d (one a label) and e (one for all labels, or one a label), the
    difference and the sum of the scores of 1 and 0. Otherwise there is a column per (label, class);
    classes are one such label.

    Attributes
    ----------
    indicator : bool
    sizes : tuple of int
        Number of classes of each label.
    """

    indicator: bool
    sizes: tuple[int, ...]

    @property
    def n_labels(self) -> int:
        return len(self.sizes)

    @property
    def labels(self) -> range:
        return range(self.n_labels)

    def difference(self, scores: Array) -> Array:
        """``q_1 - q_0`` of indicators, shape (rows, labels)."""
        return scores[:, : self.n_labels]

    def by_label(self, scores: Array) -> list[Array]:
        """Scores of every label, shape (rows, classes of the label) each."""
        if self.indicator:
            d = self.difference(scores)
            e = np.broadcast_to(scores[:, self.n_labels :], d.shape)
            return [
                np.column_stack([e[:, t] - d[:, t], e[:, t] + d[:, t]]) / 2 for t in self.labels
            ]
        return self.split(scores)

    def split(self, columns: Array) -> list[Array]:
        """Columns of all (label, class) pairs, label by label."""
        ends = accumulate(self.sizes)
        return [columns[..., end - n : end] for n, end in zip(self.sizes, ends, strict=True)]

    def scaled(self, columns: Array, scales: list[Array]) -> Array:
        """Score columns, or coefficients of such, with every class's score times its scale.

        Indicators: ``a_1·q_1 - a_0·q_0 = ½(a_1+a_0)·d + ½(a_1-a_0)·e``; the sums e, of which all
        labels may have one in common, stay as they are, and no probability depends on them.
        """
        if not self.indicator:
            return columns * np.concatenate(scales)
        off, on = np.stack(scales, axis=1)
        d, e = columns[..., : self.n_labels], columns[..., self.n_labels :]
        return np.concatenate([d * (on + off) / 2 + e * (on - off) / 2, e], axis=-1)

    def offset_columns(self, offsets: list[Array], n_columns: int) -> Array:
        """What to add to the score columns for every class's score to be moved by its offset."""
        if not self.indicator:
            return np.concatenate(offsets)
        off, on = np.stack(offsets, axis=1)
        return np.concatenate([on - off, np.zeros(n_columns - self.n_labels)])

    def rounded_parameters(self, coef: Array) -> Array:
        """Coefficients with those of each class rounded up to zero (Eq. 4 of lspc-new)."""
        if not self.indicator:
            return np.maximum(coef, 0.0)
        d = coef[..., : self.n_labels]
        e = np.broadcast_to(coef[..., self.n_labels :], d.shape)
        on, off = np.maximum(e + d, 0.0) / 2, np.maximum(e - d, 0.0) / 2
        return np.concatenate([on - off, on + off], axis=-1)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scales and offsets of each label's scores, and the links of what they give.

    Attributes
    ----------
    layout : ScoreLayout
        What the score columns mean.
    common : Link
        The link of all labels together; its beta is NaN where nothing is calibrated.
    links : tuple of Links
        From scores to probabilities, label by label.
    scales : list of ndarrays, or None
        a ≥ 0 of the scores ``a∘q + b`` of each label's classes; None for ones.
    offset : ndarray of shape (score columns,)
        What the offsets b make of the score columns.
    task_scales : ndarray of shape (T,), optional
        Of every task, a number that its scores ``a∘q`` are multiplied by; where tasks differ.
    task_offsets : ndarray of shape (T, score columns), optional
        Of every task, what stands in the place of `offset`. A task never seen has that.
    """

    layout: ScoreLayout
    common: Link
    links: tuple[Link, ...]
    scales: list[Array] | None
    offset: Array
    task_scales: Array | None = None
    task_offsets: Array | None = None

    def scores(self, mixed: Array, task: NDArray[np.intp] | None = None) -> Array:
        """Scores of a mix of points, scales and offsets of classes and tasks included."""
        if self.scales is None:
            return mixed
        scaled = self.layout.scaled(mixed, self.scales)
        if task is not None and self.task_scales is not None:
            scaled = scaled * self.task_scales[task, None]
        return scaled + self.offset_of(task)

    def offset_of(self, task: NDArray[np.intp] | None) -> Array:
        """What is added to the scores of rows; `task` are numbers of tasks, -1 for one not seen."""
        if task is None or self.task_offsets is None:
            return self.offset
        return np.vstack([self.task_offsets, self.offset])[task]

    @property
    def class_scale(self) -> Any:
        """a of every class's score, of many labels a list."""
        scales = [np.ones(size) for size in self.layout.sizes]
        scales = scales if self.scales is None else self.scales
        return scales[0] if self.layout.n_labels == 1 else scales

    @property
    def leans(self) -> bool:
        """Whether links bring probabilities back from a class weight."""
        return any(np.ndim(link.shift) > 0 for link in self.links)

    @property
    def shift(self) -> Array:
        """s of the classes of each label, label after label."""
        parts = [
            np.broadcast_to(link.shift, size)
            for link, size in zip(self.links, self.layout.sizes, strict=True)
        ]
        return np.concatenate(parts)

    def numbers(self) -> Array:
        """The links as numbers: every label's β, then every label's γ, ε and each class's s."""
        betas, gammas = zip(*[(link.beta, link.gamma) for link in self.links], strict=True)
        return np.concatenate([betas, gammas, [self.common.floor], self.shift])


def links_of(numbers: Array, layout: ScoreLayout) -> list[Link]:
    """Return the links of every row from :meth:`Calibration.numbers` of each, by label."""
    n_labels = layout.n_labels
    floor, shift = numbers[:, 2 * n_labels : 2 * n_labels + 1], numbers[:, 2 * n_labels + 1 :]
    return [
        Link(numbers[:, [t]], numbers[:, [n_labels + t]], floor, own)
        for t, own in enumerate(layout.split(shift))
    ]


def uncalibrated(layout: ScoreLayout, n_columns: int, beta: float = float("nan")) -> Calibration:
    """Nothing is done to scores: a rule rounds them, or they are log-odds (β = 1) already."""
    link = Link(beta)
    return Calibration(layout, link, (link,) * layout.n_labels, None, np.zeros(n_columns))
