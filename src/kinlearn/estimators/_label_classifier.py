"""What MultiLabelLSPC and MultiLabelLSPCCV share: reading labels, thresholds, and their scores."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from kinlearn.estimators._classifier import ACCEPTED, KernelClassifier, view
from kinlearn.kernels import Kernel
from kinlearn.posterior import Calibration, posterior
from kinlearn.problems.from_sums import LabelsOfSums, OneTaskOfSums, Posed, class_labels
from kinlearn.problems.labels import LabelsPoser
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.selection.held_out import LabelTargets
from kinlearn.selection.scoring import best_f1_threshold
from kinlearn.sums import NormalEquations
from kinlearn.training.centers import Centers
from kinlearn.training.label_table import (
    is_single_column,
    read_classes,
    read_labels,
    refuse_mixed_labels,
)
from kinlearn.training.training_set import TrainingSet

Array: TypeAlias = NDArray[np.float64]


class MultiLabelClassifier(KernelClassifier):
    """A classifier of many labels; a one-dimensional y is one label, as in :class:`LSPC`."""

    many_labels = True
    similarity: Any
    n_similar: int | None
    threshold: float | str
    tol: float
    max_iter: int

    single_ = view("Whether y was one-dimensional.", lambda m: m.labels.single)
    indicator_ = view("Whether labels are 0/1 indicators.", lambda m: m.labels.indicator)
    label_names_ = view("Names of the labels, or their numbers.", lambda m: m.labels.names)
    learnt_ = view("Which labels vary in training.", lambda m: m.labels.learnt)
    thresholds_ = view(
        "Probabilities above which indicators are on.",
        lambda m: m.labels.thresholds,
        absent=lambda m: m.labels.thresholds is None,
    )
    betas_ = view(
        "Calibration of each label; NaN for one that is not learnt.",
        lambda m: m.for_all_labels([link.beta for link in m.links]),
    )
    gammas_ = view(
        "Where most rows are copies of others: the power of each label's scores.",
        lambda m: m.for_all_labels([link.gamma for link in m.links]),
        absent=lambda m: not m.calibration.common.gamma,
    )

    def _read_labels(
        self, kernel: Kernel | list[Kernel], X: Any, Y: Any, sample_weight: Any
    ) -> TrainingSet:
        """Validate rows, read the labels and merge equal rows."""
        check_threshold(self.threshold)
        if Y is None or is_single_column(Y):
            refuse_mixed_labels(Y)
            X, Y = validate_data(self, X, Y, **ACCEPTED)
            table = read_classes(Y, type(self).__name__)
        else:
            X = validate_data(self, X, **ACCEPTED)
            table = read_labels(Y)
        return self._training_set(kernel, X, table, sample_weight)

    def _poser(self, centers: Centers, n_widths: int = 1, solver: str = "auto") -> LabelsPoser:
        """What poses the problem of the labels."""
        return LabelsPoser(
            centers,
            self.memory_mb,
            self.similarity,
            self.n_similar,
            float(self.tol),
            int(self.max_iter),
            n_widths,
            solver,
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows all of whose (observed) labels are predicted right.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, n_labels) or (n_samples,)
            True labels, NaN where unobserved.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
            The share.
        """
        predicted = self.predict(X)
        if self.single_:
            right = np.asarray(y) == predicted
        else:
            table = read_labels(y)
            truth = np.zeros(table.codes.shape)
            for t, classes in enumerate(table.classes):
                truth[:, t] = classes[table.codes[:, t]]
            right = ((truth == predicted) | (table.codes < 0)).all(axis=1)
        return float(np.average(right, weights=sample_weight))


def check_threshold(threshold: Any) -> None:
    """Raise unless a threshold is a probability, or to be found."""
    if isinstance(threshold, str) and threshold == "loo_f1":
        return
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not number or not 0 < float(threshold) < 1:
        raise ValueError(
            f'threshold must be a number between 0 and 1 or "loo_f1", but {threshold!r} was given.'
        )


def find_thresholds(
    estimator: Any,
    learnt: NDArray[np.bool_],
    indicator: bool,
    calibration: Calibration,
    priors: list[Array],
    held: LabelTargets | None,
    scores: Array | None,
) -> Array | None:
    """The thresholds of indicators: as given, or by held-out scores where asked for.

    Parameters
    ----------
    estimator : MultiLabelLSPC or MultiLabelLSPCCV
        Says which threshold, rule and fallback.
    learnt : ndarray of bool of shape (T,)
    indicator : bool
    calibration : Calibration
        How scores become probabilities.
    priors : list of ndarrays
        Of the learnt labels.
    held, scores : LabelTargets and ndarray, or None
        What was held out.
    """
    if not indicator:
        return None
    chosen = isinstance(estimator.threshold, str)
    thresholds = np.full(learnt.size, 0.5 if chosen else float(estimator.threshold))
    if not chosen or held is None or scores is None:
        return thresholds
    for a, (t, q) in enumerate(
        zip(np.flatnonzero(learnt), calibration.layout.by_label(scores), strict=True)
    ):
        fallback = priors[a] if estimator.fallback == "prior" else None
        proba = posterior(q, estimator.posterior, calibration.links[a], fallback)
        seen = held.weights[:, a] > 0
        weights, z = held.weights[seen, a], held.targets[a][seen]
        thresholds[t] = best_f1_threshold(proba[seen, 1], weights * z[:, 1], weights * z[:, 0])
    return thresholds


def similarity_of(data: TrainingSet, similarities: list[Array]) -> Any:
    """``similarity_``: between all labels for indicators, else one matrix a class."""
    if not data.table.indicator:
        return similarities
    everything = np.zeros((data.table.n_labels,) * 2)
    everything[np.ix_(data.active, data.active)] = similarities[0]
    return everything


def pose_labels(
    estimator: Any, sums: NormalEquations, rows: SampleRows | None, factors: Array
) -> Posed:
    """The problem of labels that sums pose; that of classes where there is one label."""
    if sums.kind == "classes":
        labels = class_labels(sums, factors, type(estimator).__name__)
        facts = {"similarity_": [np.zeros((1, 1))], "n_iter_": 1, "residual_": 0.0}
        return Posed(OneTaskOfSums(sums, rows), labels, rows, facts=facts)
    problem = LabelsOfSums(sums, rows, estimator.similarity, estimator.n_similar)
    return Posed(problem, problem.labels, rows, facts={"similarity_": problem.similarity})
