"""A fitted model as a value: features with their coefficients, and the way from scores to answers.

Scores ``q(x) = Σ_s A_sᵀ k_s(x, centres) + b``, with a kernel and a width for every s, and their
probabilities are computed here and nowhere else. A model is made at the end of a fit, as a whole,
and never changed: what alters one makes another of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import Kernel
from kinlearn.kernels.measures import Rows
from kinlearn.posterior import Calibration, Link, ScoreLayout, posterior

Array: TypeAlias = NDArray[np.float64]


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
        By which rows are near each other; of several, the first.
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
    several : tuple of S Kernels, optional
        The kernel of each width, where it is not `kernel` for all.
    maps : tuple of KernelMaps, optional
        What is computed of the centres alone, kernel by kernel, where it was kept; see `ready`.
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
    several: tuple[Kernel, ...] | None = None
    maps: tuple[KernelMap, ...] | None = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel of each width."""
        return (self.kernel,) * len(self.sigmas) if self.several is None else self.several

    def by_kernel(self) -> list[tuple[Kernel, slice]]:
        """The kernels in use, each with its widths, which stand beside each other."""
        kernels, found, start = self.kernels, [], 0
        for end in range(1, len(kernels) + 1):
            if end == len(kernels) or kernels[end] is not kernels[start]:
                found.append((kernels[start], slice(start, end)))
                start = end
        return found

    @property
    def n_centers(self) -> int:
        return int(self.centers.shape[0])

    def ready(self, support: Array, memory_mb: float) -> KernelModel:
        """The same with all that follows from the centres computed once: for many small calls."""
        maps = tuple(KernelMap(kernel, self.centers, memory_mb) for kernel, _ in self.by_kernel())
        return replace(self, support=support, maps=maps)

    def scores(
        self,
        X: Rows,
        memory_mb: float,
        task: NDArray[np.intp] | None = None,
        seen: Callable[[slice, Array], None] | None = None,
    ) -> Array:
        """Return the score columns of rows; `task` are numbers of tasks, -1 for one never seen.

        Where there are no tasks, `seen` is shown the measure of `kernel`, block by block.
        """
        scores = self.calibration.offset_of(task)
        for i, (kernel, own) in enumerate(self.by_kernel()):
            # what was kept may be of a model with other centres, of which this one was made
            features = None if self.maps is None else self.maps[i]
            if features is None or features.centers is not self.centers:
                features = KernelMap(kernel, self.centers, memory_mb)
            shown = seen if kernel is self.kernel else None
            scores = scores + self._block_scores(features, own, X, task, shown)
        return scores

    def _block_scores(
        self,
        features: KernelMap,
        own: slice,
        X: Rows,
        task: NDArray[np.intp] | None,
        seen: Callable[[slice, Array], None] | None,
    ) -> Array:
        """What the widths of one kernel add to the scores."""
        sigmas = self.sigmas[own]
        if self.shared is None:
            return features.scores(X, sigmas, self.coef[own], seen)
        number = np.zeros(X.shape[0], dtype=np.intp) if task is None else task
        scores = np.empty((X.shape[0], self.coef.shape[-1]))
        order = np.argsort(number, kind="stable")
        present, starts = np.unique(number[order], return_index=True)
        for t, rows in zip(present, np.split(order, starts[1:]), strict=True):
            coef = self.shared[own] if t < 0 else self.coef[own, t]
            scores[rows] = features.scores(X if len(present) == 1 else X[rows], sigmas, coef)
        return scores

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

    @property
    def task_scales(self) -> Array:
        """What each task's scores are multiplied by."""
        scales = self.calibration.task_scales
        return np.ones(self.coef.shape[1]) if scales is None else scales

    @property
    def task_offsets(self) -> Array:
        """What is added to the scores of each task."""
        return self.calibration.offset_of(np.arange(self.coef.shape[1])) + np.zeros(
            (self.coef.shape[1], 1)
        )

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
        if calibration.task_scales is not None:
            coef = coef * calibration.task_scales[:, None, None]
        if self.rule == "rounded_parameters":
            coef = layout.rounded_parameters(coef)
            shared = None if shared is None else layout.rounded_parameters(shared)
            # of indicators, each label then has a sum of its own
            calibration = replace(calibration, offset=np.zeros(coef.shape[-1]))
        return replace(self, coef=coef, shared=shared, calibration=calibration)

    def with_thresholds(self, thresholds: Array | None) -> KernelModel:
        """The same probabilities with other decisions."""
        return replace(self, labels=replace(self.labels, thresholds=thresholds))
