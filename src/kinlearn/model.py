"""A fitted model as a value: features with their coefficients, and the way from scores to answers.

Scores ``q(x) = Σ_s A_sᵀ k_s(x, centres) + b`` and their probabilities are computed here and nowhere
else. A model is made at the end of a fit, as a whole, and never changed: what alters one makes
another of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import Kernel
from kinlearn.kernels.measures import Rows

Array: TypeAlias = NDArray[np.float64]
RULES = ("calibrated", "rounded", "rounded_parameters", "raw")


# -- from scores to probabilities -----------------------------------------------------------------


def rounded(scores: Array, fallback: Array) -> Array:
    """LSPC-new, Eq. 6: ``max(0, q_y) / Σ max(0, q_y')``, the fallback where the sum is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.model import rounded
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
        return np.split(columns, np.cumsum(self.sizes)[:-1], axis=-1)

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
    """

    layout: ScoreLayout
    common: Link
    links: tuple[Link, ...]
    scales: list[Array] | None
    offset: Array

    def scores(self, mixed: Array) -> Array:
        """Scores of a mix of points, class scales and offsets included."""
        if self.scales is None:
            return mixed
        return self.layout.scaled(mixed, self.scales) + self.offset

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


# -- what is answered -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels a model answers for; classes are one label.

    Attributes
    ----------
    classes : list of T ndarrays
        Classes of each label.
    names : ndarray of shape (T,)
        Names of the labels, or their numbers.
    priors : list of T ndarrays
        Share of each class; the answer for a label that is not learnt.
    learnt : ndarray of bool of shape (T,)
        Which labels vary in training.
    indicator, single : bool
        Whether labels are 0/1 indicators; whether there is one, given one-dimensional.
    thresholds : ndarray of shape (T,)
        Of indicators: the probability above which a label is on.
    """

    classes: list[np.ndarray]
    names: np.ndarray
    priors: list[Array]
    learnt: NDArray[np.bool_]
    indicator: bool = False
    single: bool = True
    thresholds: Array | None = None

    @property
    def layout(self) -> ScoreLayout:
        """Of the labels that are learnt."""
        sizes = [len(own) for own, ok in zip(self.classes, self.learnt, strict=True) if ok]
        return ScoreLayout(self.indicator, tuple(sizes))

    @property
    def class_names(self) -> Any:
        """``classes_`` as scikit-learn has it: an array, of labels with many classes a list."""
        if self.single:
            return self.classes[0]
        return np.arange(len(self.classes)) if self.indicator else self.classes

    @property
    def prior(self) -> Any:
        """Share of each class, of indicators that of being on, else a list over labels."""
        if self.single:
            return self.priors[0]
        return np.array([prior[1] for prior in self.priors]) if self.indicator else self.priors

    @property
    def learnt_priors(self) -> list[Array]:
        return [prior for prior, ok in zip(self.priors, self.learnt, strict=True) if ok]

    def fill(self, learnt: list[Array], n_rows: int) -> list[Array]:
        """Answers for all labels: those learnt, and the prior of the others."""
        answers = iter(learnt)
        return [
            next(answers) if ok else np.repeat(prior[None], n_rows, axis=0)
            for ok, prior in zip(self.learnt, self.priors, strict=True)
        ]

    def probabilities(self, learnt: list[Array], n_rows: int) -> Any:
        """All labels' probabilities as users get them, from those of the learnt ones."""
        if self.single:
            return learnt[0]
        answers = self.fill(learnt, n_rows)
        return np.column_stack([p[:, 1] for p in answers]) if self.indicator else answers

    def decisions(self, scores: Array) -> Any:
        """Unrounded scores as users get them."""
        layout = self.layout
        if self.indicator:
            answer = np.repeat([[2.0 * p[1] - 1.0 for p in self.priors]], len(scores), axis=0)
            answer[:, self.learnt] = layout.difference(scores)
            return answer
        columns = self.fill(layout.by_label(scores), len(scores))
        columns = [one_column(q) for q in columns]
        return columns[0] if self.single else columns

    def predicted(self, scores: Array, proba: list[Array]) -> np.ndarray:
        """0/1 indicators, or the class of the largest score in every label.

        `proba` are the learnt labels' probabilities, which only thresholds other than ½ ask for: at
        ½ the sign of the scores decides, under every rule and without rounding.
        """
        if not self.indicator:
            columns = self.fill(self.layout.by_label(scores), len(scores))
            chosen = [own[q.argmax(axis=1)] for own, q in zip(self.classes, columns, strict=True)]
            return chosen[0] if self.single else np.column_stack(chosen)
        assert self.thresholds is not None
        on = self.probabilities(proba, len(scores)) > self.thresholds
        plain = (self.thresholds == 0.5) & self.learnt
        on[:, plain] = self.layout.difference(scores)[:, plain[self.learnt]] > 0
        return on.astype(np.int64)


def one_column(scores: Array) -> Array:
    """``q_1 - q_0`` for two classes."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


# -- the model ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KernelModel:
    """A fitted kernel classifier, whatever fitted it.

    Attributes
    ----------
    kernel : Kernel
    centers : array or CSR matrix of shape (m, d)
        Centres; for a precomputed kernel, the positions of their columns.
    sigmas : ndarray of shape (S,)
        Widths in use.
    coef : ndarray of shape (S, m, K), or (S, T, m, K) for tasks
        Coefficients of the K score columns.
    calibration : Calibration
        How scores become probabilities; scales are in the coefficients already.
    labels : Labels
        What is answered.
    rule, fallback : str
        The posterior, and what rounding rules answer where all scores round to zero.
    shared : ndarray of shape (S, m, K), optional
        The part that tasks share, which answers for a task never seen.
    tasks : ndarray, optional
        Task ids.
    support : ndarray, optional
        Support of training rows, which familiarity compares with; where the centres are a subset.
    """

    kernel: Kernel
    centers: Rows
    sigmas: Array
    coef: Array
    calibration: Calibration
    labels: Labels
    rule: str = "calibrated"
    fallback: str = "uniform"
    shared: Array | None = None
    tasks: NDArray | None = None
    support: Array | None = None

    @property
    def n_centers(self) -> int:
        return int(self.centers.shape[0])

    def scores(self, X: Rows, memory_mb: float, task: NDArray[np.intp] | None = None) -> Array:
        """Return the score columns of rows; `task` are numbers of tasks, -1 for one never seen."""
        features = KernelMap(self.kernel, self.centers, memory_mb)
        if self.shared is None:
            return features.scores(X, self.sigmas, self.coef) + self.calibration.offset
        number = np.zeros(X.shape[0], dtype=np.intp) if task is None else task
        scores = np.empty((X.shape[0], self.coef.shape[-1]))
        order = np.argsort(number, kind="stable")
        present, starts = np.unique(number[order], return_index=True)
        for t, rows in zip(present, np.split(order, starts[1:]), strict=True):
            coef = self.shared if t < 0 else self.coef[:, t]
            scores[rows] = features.scores(X if len(present) == 1 else X[rows], self.sigmas, coef)
        return scores + self.calibration.offset

    def probabilities(self, scores: Array) -> list[Array]:
        """Return the probabilities of every learnt label's classes."""
        fallbacks = self.labels.learnt_priors if self.fallback == "prior" else None
        return [
            posterior(q, self.rule, link, None if fallbacks is None else fallbacks[t])
            for t, (q, link) in enumerate(
                zip(self.calibration.layout.by_label(scores), self.calibration.links, strict=True)
            )
        ]

    def proba(self, scores: Array) -> Any:
        """Return probabilities as users get them."""
        return self.labels.probabilities(self.probabilities(scores), len(scores))

    def predicted(self, scores: Array) -> np.ndarray:
        """Return classes, or 0/1 indicators."""
        proba = self.probabilities(scores) if self.labels.indicator else []
        return self.labels.predicted(scores, proba)

    @property
    def links(self) -> tuple[Link, ...]:
        """From scores to probabilities, learnt label by learnt label."""
        return self.calibration.links

    def for_all_labels(self, learnt: list[float]) -> Array:
        """Numbers of the learnt labels, NaN for the others."""
        out = np.full(self.labels.learnt.size, np.nan)
        out[self.labels.learnt] = learnt
        return out

    def finished(self) -> KernelModel:
        """The same with class scales, and rounding where the rule asks for it, in its numbers."""
        calibration, layout = self.calibration, self.calibration.layout
        coef, shared = self.coef, self.shared
        if calibration.scales is not None:
            coef = layout.scaled(coef, calibration.scales)
            shared = None if shared is None else layout.scaled(shared, calibration.scales)
        if self.rule == "rounded_parameters":
            coef = layout.rounded_parameters(coef)
            shared = None if shared is None else layout.rounded_parameters(shared)
            # of indicators, each label then has a sum of its own
            calibration = replace(calibration, offset=np.zeros(coef.shape[-1]))
        return replace(self, coef=coef, shared=shared, calibration=calibration)

    def with_thresholds(self, thresholds: Array | None) -> KernelModel:
        """The same probabilities with other decisions."""
        return replace(self, labels=replace(self.labels, thresholds=thresholds))
