"""How trustworthy are the probabilities: calibration, and what handing cases over buys.

Every function takes the true labels and the ``predict_proba`` output, one column per class of
``classes`` (``estimator.classes_``), and looks at the most probable class of each case: its
probability is the *confidence* of the case, and the case is an *error* if that class is wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "area_under_risk_coverage",
    "brier_score",
    "expected_calibration_error",
    "reliability_curve",
    "risk_coverage_curve",
]

# Rows computed in float32 sum to one only to about this.
_TOLERANCE = 1e-3

Floats = NDArray[np.float64]


class ReliabilityCurve(NamedTuple):
    """Points of a reliability curve, one per bin that holds any case.

    Examples
    --------
    >>> from kinlearn.metrics import reliability_curve
    >>> curve = reliability_curve([0, 1, 1, 1], [0.1, 0.9, 0.8, 0.4], n_bins=2)
    >>> float(curve.share.sum())
    1.0

    Attributes
    ----------
    confidence : ndarray of shape (n_points,)
        Mean confidence of the bin's cases.
    accuracy : ndarray of shape (n_points,)
        Share of them predicted correctly.
    share : ndarray of shape (n_points,)
        Share of all cases that fell into the bin; sums to one.
    edges : ndarray of shape (n_bins + 1,)
        Edges of all bins, the empty ones too; a bin holds its right edge.
    """

    confidence: Floats
    accuracy: Floats
    share: Floats
    edges: Floats


class RiskCoverageCurve(NamedTuple):
    """Points of a risk-coverage curve, one per distinct confidence, the most confident first.

    Examples
    --------
    >>> from kinlearn.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 1], [0.1, 0.9, 0.8, 0.4])
    >>> float(curve.risk[-1])  # of all cases: the plain error rate
    0.25

    Attributes
    ----------
    coverage : ndarray of shape (n_points,)
        Share of the cases answered, that is with a confidence of at least the threshold.
    risk : ndarray of shape (n_points,)
        Share of errors among the cases answered.
    threshold : ndarray of shape (n_points,)
        The confidence from which cases are answered.
    """

    coverage: Floats
    risk: Floats
    threshold: Floats


def expected_calibration_error(
    y_true: ArrayLike,
    proba: ArrayLike,
    n_bins: int = 15,
    classes: ArrayLike | None = None,
    strategy: str = "uniform",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean gap between confidence and accuracy over bins of confidence (top-label ECE).

    ``ECE = sum_b (n_b / n) |accuracy_b - confidence_b|``, with b over the bins of
    :func:`reliability_curve`. Zero means that of the cases predicted with 80 % confidence, 80 %
    are right. It depends on the bins and is biased upwards on few cases: compare methods on the
    same cases and bins only, and read it beside the log-loss.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, n_classes) or (n,)
        Probabilities, one column per class; one dimension means that of the second of two classes.
    n_bins : int, default=15
        Number of bins.
    classes : array-like of shape (n_classes,), default=None
        The class of each column (``estimator.classes_``); None: the sorted labels in ``y_true``.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width over [0, 1], or of an equal number of cases.
    sample_weight : array-like of shape (n,), default=None
        A weight per case; a weight of two is the same as the case occurring twice.

    Returns
    -------
    float
        The error, between 0 and 1.

    Examples
    --------
    >>> from kinlearn.metrics import expected_calibration_error
    >>> proba = [[0.8, 0.2]] * 5
    >>> round(expected_calibration_error([0, 0, 0, 0, 1], proba), 12)
    0.0
    >>> round(expected_calibration_error([0, 0, 1, 1, 1], proba), 12)
    0.4

    References
    ----------
    Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks, ICML 2017.
    """
    curve = reliability_curve(y_true, proba, n_bins, classes, strategy, sample_weight)
    return float(curve.share @ np.abs(curve.accuracy - curve.confidence))


def reliability_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    n_bins: int = 15,
    classes: ArrayLike | None = None,
    strategy: str = "uniform",
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Mean confidence and accuracy per bin of confidence, for the most probable class.

    Cases of equal confidence always share a bin, so ``strategy="quantile"`` may give fewer bins
    than asked for.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, n_classes) or (n,)
        Probabilities, one column per class; one dimension means that of the second of two classes.
    n_bins : int, default=15
        Number of bins.
    classes : array-like of shape (n_classes,), default=None
        The class of each column (``estimator.classes_``); None: the sorted labels in ``y_true``.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of about equally many cases.
    sample_weight : array-like of shape (n,), default=None
        A weight per case.

    Returns
    -------
    ReliabilityCurve
        Named tuple ``(confidence, accuracy, share, edges)``; empty bins are left out of the first
        three.

    Examples
    --------
    >>> from kinlearn.metrics import reliability_curve
    >>> curve = reliability_curve(["a", "b", "b"], [[0.9, 0.1], [0.4, 0.6], [0.6, 0.4]], n_bins=2)
    >>> curve.confidence.round(3), curve.accuracy.round(3), curve.share
    (array([0.7]), array([0.667]), array([1.]))
    """
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be a whole number of at least 1; got {n_bins!r}.")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f'strategy must be "uniform" or "quantile"; got {strategy!r}.')
    confidence, correct, weight = top_label_outcomes(y_true, proba, classes, sample_weight)
    if confidence.min() < -_TOLERANCE or confidence.max() > 1 + _TOLERANCE:
        raise ValueError(
            f"The largest probability of a case must lie in [0, 1]; seen are values from "
            f"{confidence.min():.4g} to {confidence.max():.4g}. Give predict_proba's output; of "
            'kinlearn\'s posterior rules only "raw" leaves [0, 1].'
        )
    if strategy == "uniform":
        # Divided, not linspace: 9 / 15 is the same float as a confidence of 0.6.
        edges = np.arange(n_bins + 1) / n_bins
    else:
        edges = _quantile_edges(confidence, weight, int(n_bins))
    bins = np.searchsorted(edges[1:-1], confidence, side="left")
    per_bin = [
        np.bincount(bins, weights=values, minlength=len(edges) - 1)
        for values in (weight, weight * confidence, weight * correct)
    ]
    mass, confident, right = (values[per_bin[0] > 0] for values in per_bin)
    return ReliabilityCurve(confident / mass, right / mass, mass / mass.sum(), edges)


def risk_coverage_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RiskCoverageCurve:
    """Error among the cases answered, when the least confident ones are handed over.

    risk(t) = sum_i w_i e_i [p_i >= t] / sum_i w_i [p_i >= t], with p_i the confidence and e_i = 1
    for an error, at every distinct confidence t: cases of equal confidence are answered or handed
    over together. The last point (coverage 1) is the plain error rate.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, n_classes) or (n,)
        Probabilities, one column per class; one dimension means that of the second of two classes.
        Only their order matters, so any score that grows with the confidence will do.
    classes : array-like of shape (n_classes,), default=None
        The class of each column (``estimator.classes_``); None: the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n,), default=None
        A weight per case.

    Returns
    -------
    RiskCoverageCurve
        Named tuple ``(coverage, risk, threshold)``, by rising coverage.

    Examples
    --------
    >>> from kinlearn.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 1], [0.1, 0.9, 0.8, 0.4])
    >>> curve.coverage, curve.risk, curve.threshold
    (array([0.5 , 0.75, 1. ]), array([0.  , 0.  , 0.25]), array([0.9, 0.8, 0.6]))
    """
    confidence, correct, weight = top_label_outcomes(y_true, proba, classes, sample_weight)
    order = np.argsort(-confidence, kind="stable")
    confidence, correct, weight = confidence[order], correct[order], weight[order]
    last_of_tie = np.flatnonzero(np.append(np.diff(confidence) != 0, True))
    answered = np.cumsum(weight)[last_of_tie]
    errors = np.cumsum(weight * ~correct)[last_of_tie]
    return RiskCoverageCurve(
        answered / answered[-1], errors / answered, confidence[last_of_tie].copy()
    )


def area_under_risk_coverage(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area under the risk-coverage curve: the mean over the cases of the risk at their confidence.

    AURC = (1/n) sum_i risk(p_i), risk as in :func:`risk_coverage_curve`. It is small when there
    are few errors and when the errors are the least confident cases; if the confidence says
    nothing, it equals the error rate.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, n_classes) or (n,)
        Probabilities, one column per class; one dimension means that of the second of two classes.
        Only their order matters.
    classes : array-like of shape (n_classes,), default=None
        The class of each column (``estimator.classes_``); None: the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n,), default=None
        A weight per case.

    Returns
    -------
    float
        The area.

    Examples
    --------
    >>> from kinlearn.metrics import area_under_risk_coverage
    >>> area_under_risk_coverage([0, 1, 1, 1], [0.1, 0.9, 0.8, 0.4])
    0.0625

    References
    ----------
    Geifman, Uziel, El-Yaniv: Bias-reduced uncertainty estimation for deep neural classifiers,
    ICLR 2019.
    """
    curve = risk_coverage_curve(y_true, proba, classes, sample_weight)
    return float(np.diff(curve.coverage, prepend=0.0) @ curve.risk)


def brier_score(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean over the cases of sum_y (p(y|x) - [y is the true class])², summed over all classes.

    Between 0 and 2 for probabilities; for two classes it is twice the binary Brier score.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, n_classes) or (n,)
        Probabilities, one column per class; one dimension means that of the second of two classes.
        Rows must sum to one.
    classes : array-like of shape (n_classes,), default=None
        The class of each column (``estimator.classes_``); None: the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n,), default=None
        A weight per case.

    Returns
    -------
    float
        The score; smaller is better.

    Examples
    --------
    >>> from kinlearn.metrics import brier_score
    >>> round(brier_score([0, 1, 2], [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]), 4)
    0.1667
    """
    columns, table, weight = _check_predictions(y_true, proba, classes, sample_weight)
    sums = table.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _TOLERANCE:
        raise ValueError(
            f"Every row of proba must sum to one; row {worst} sums to {sums[worst]:.4g}. Give "
            "predict_proba's output, not decision_function's."
        )
    true_column = np.take_along_axis(table, columns[:, None], axis=1)[:, 0]
    # sum_y (p_y - z_y)² = sum_y p_y² - 2 p_true + 1 cancels for good predictions, so the true
    # column is squared on its own.
    per_case = np.square(table).sum(axis=1, where=_all_but(columns, table.shape[1]))
    return float(np.average(per_case + np.square(1.0 - true_column), weights=weight))


def top_label_outcomes(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Confidence, correctness and weight of every case of positive weight.

    Examples
    --------
    >>> from kinlearn.metrics import top_label_outcomes
    >>> top_label_outcomes(["no", "yes"], [[0.75, 0.25], [1.0, 0.0]])
    (array([0.75, 1.  ]), array([ True, False]), array([1., 1.]))
    """
    columns, table, weight = _check_predictions(y_true, proba, classes, sample_weight)
    kept = weight > 0
    return table.max(axis=1)[kept], (table.argmax(axis=1) == columns)[kept], weight[kept]


def _all_but(columns: NDArray[np.intp], n_classes: int) -> NDArray[np.bool_]:
    return np.arange(n_classes) != columns[:, None]


def _quantile_edges(confidence: Floats, weight: Floats, n_bins: int) -> Floats:
    order = np.argsort(confidence, kind="stable")
    cumulative = np.cumsum(weight[order])
    levels = cumulative[-1] * np.arange(1, n_bins) / n_bins
    # Without the slack, rounding in the cumulative sum would move a case across an edge when
    # weights replace repetitions.
    reached = np.searchsorted(cumulative, levels * (1 - 1e-12))
    return np.unique(np.concatenate([[0.0], confidence[order][reached], [1.0]]))


def _check_predictions(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """The column of the true class, the (n, n_classes) table and the weights, or a sentence."""
    labels = np.asarray(y_true)
    table = np.asarray(proba, dtype=np.float64)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"y_true must hold one label per case in one dimension; its shape is {labels.shape}."
        )
    if table.ndim == 1:
        table = np.column_stack([1.0 - table, table])
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(
            "proba must have one column per class, at least two, or one dimension for two "
            f"classes; its shape is {np.shape(proba)}."
        )
    if len(labels) == 0:
        raise ValueError("There are no cases: y_true is empty. Give at least one.")
    if len(labels) != len(table):
        raise ValueError(
            f"y_true has {len(labels)} cases and proba has {len(table)} rows; they must agree."
        )
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"proba must be finite; row {row} holds {table[row].tolist()}.")
    return _columns_of(labels, classes, table.shape[1]), table, _weights(sample_weight, len(table))


def _columns_of(labels: NDArray, classes: ArrayLike | None, n_columns: int) -> NDArray[np.intp]:
    seen, inverse = np.unique(labels, return_inverse=True)
    named = seen if classes is None else np.asarray(classes)
    if named.shape != (n_columns,):
        found = (
            f"y_true holds {len(seen)} different labels"
            if classes is None
            else f"classes has shape {named.shape}"
        )
        raise ValueError(
            f"{found} but proba has {n_columns} columns; give classes=estimator.classes_, the "
            "class of each column."
        )
    lookup = {label: column for column, label in enumerate(named.tolist())}
    unknown = [label for label in seen.tolist() if label not in lookup]
    if unknown:
        raise ValueError(
            f"y_true holds {unknown[:3]}, not among the classes {named.tolist()[:10]}; give "
            "classes=estimator.classes_ and leave out cases of other classes."
        )
    return np.array([lookup[label] for label in seen.tolist()], dtype=np.intp)[inverse]


def _weights(sample_weight: ArrayLike | None, n: int) -> Floats:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must hold one weight for each of the {n} cases; its shape is "
            f"{weight.shape}."
        )
    if not np.isfinite(weight).all() or weight.min() < 0 or weight.sum() == 0:
        raise ValueError(
            "sample_weight must be finite, not negative and not all zero; seen are values from "
            f"{weight.min():.4g} to {weight.max():.4g}."
        )
    return weight
