"""Labels that the probabilities of models without them contradict."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kinlearn.active.label_noise import contradicted as is_contradicted
from kinlearn.active.label_noise import suspicion
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.pipelines import last_step


def find_suspect_labels(model: Any, *, contradicted: bool = False) -> NDArray[np.intp]:
    """Return the training rows of a model, those whose labels are most suspect first.

    The chance that a label is wrong is worked out from its row's held-out probabilities, which come
    with the fit (nothing is fitted again), and from which classes the labels show to be taken for
    which: where one class is often labelled as another, such labels are more suspect.

    Parameters
    ----------
    model : estimator
        A fitted kernel estimator of kinlearn with held-out probabilities, a pipeline that ends in
        one, or a wrapper around either. Of many 0/1 labels a row is as suspect as the most suspect
        of its labels.
    contradicted : bool, default=False
        Whether to name only rows of which another class is more probable than the label.

    Returns
    -------
    ndarray of int
        Row numbers in the order of the training rows; rows never held out come last, or not at all.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPC, find_suspect_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 120]] = [2, 0]
    >>> model = make_pipeline(StandardScaler(), LSPC()).fit(X, y)
    >>> sorted(find_suspect_labels(model)[:2].tolist())
    [3, 120]
    """
    last = last_step(model)
    while hasattr(last, "estimator_") and not hasattr(last, "held_out_proba"):
        last = last_step(last.estimator_)
    if not isinstance(last, KernelClassifier):
        raise TypeError(
            f"{type(last).__name__} keeps no held-out probabilities of its training rows, by which "
            "labels are suspected: use a kernel estimator of kinlearn, or "
            "ActiveLearner(...).tell_many(...).suspects() for any classifier."
        )
    check_is_fitted(last)
    proba, codes = np.asarray(last.held_out_proba()), getattr(last, "held_out_codes_", None)
    if codes is None or codes.shape != proba.shape[: codes.ndim]:
        raise ValueError(
            f"This {type(last).__name__} does not know the labels it was fitted to, as a model "
            "from an older file: fit it again."
        )
    if codes.ndim == 1:
        by, against = suspicion(proba, codes), is_contradicted(proba, codes)
    else:
        by, against = _of_indicators(proba, codes)
    order = np.argsort(-np.where(np.isnan(by), -np.inf, by), kind="stable")
    return order[against[order]] if contradicted else order


def _of_indicators(
    proba: NDArray[np.float64], codes: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The largest suspicion among the observed labels of a row, and whether any is contradicted."""
    by = np.full(codes.shape, -np.inf)
    against = np.zeros(codes.shape, dtype=bool)
    for label, (p, own) in enumerate(zip(proba.T, codes.T, strict=True)):
        seen = (own >= 0) & ~np.isnan(p)
        both = np.column_stack([1.0 - p[seen], p[seen]])
        by[seen, label] = suspicion(both, own[seen])
        against[seen, label] = is_contradicted(both, own[seen])
    return by.max(axis=1), np.asarray(against.any(axis=1))
