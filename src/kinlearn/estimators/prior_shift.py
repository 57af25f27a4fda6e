"""Probabilities for another prevalence of the classes than the training data had."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kinlearn.estimators._passes_tasks_on import PassesTasksOn
from kinlearn.pipelines import last_step


class PriorShift(PassesTasksOn):
    """A classifier whose probabilities are those for another prevalence.

    Where the classes became more or less frequent, but each looks as it did, Bayes' rule gives::

        p'(y | x) ∝ p(y | x) · prior(y) / training_prior(y)

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``.
    prior : dict of {class: share} or array-like of shape (n_classes,)
        The prevalence to answer for; scaled to sum to one.
    training_prior : dict or array-like, optional
        The prevalence the estimator's probabilities are for; that of the training data when left
        out.
    task_column : str or int, optional
        Name or position of the column of X that holds the task ids, which the estimator is then
        given as ``task=``.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    odds_ : ndarray of shape (n_classes,)
        ``prior / training_prior``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> from kinlearn.estimators.prior_shift import PriorShift
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rare = PriorShift(LogisticRegression(), prior={0: 0.01, 1: 0.99}).fit(scale(X), y)
    >>> bool(rare.predict_proba(scale(X))[:, 0].mean() < 0.3)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        prior: Any,
        training_prior: Any = None,
        task_column: str | int | None = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.training_prior = training_prior
        self.task_column = task_column

    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> PriorShift:
        """Fit the estimator; the prevalence of the training data is counted.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        task, sample_weight, groups : array-like of shape (n_samples,), optional
            Given on to the estimator.

        Returns
        -------
        PriorShift
            The fitted model.
        """
        X, y, ids, weights = self._read_training(X, y, task, sample_weight)
        ids = ids if self._takes("task") else None
        given = {"task": ids, "groups": groups, "sample_weight": weights}
        self.estimator_ = self._fit_inner(X, y, given)
        counts = np.bincount(np.searchsorted(self.classes_, y), weights=weights)
        self._set_odds(counts / counts.sum())
        return self

    def _set_odds(self, seen: NDArray[np.float64]) -> None:
        self.training_prior_ = (
            seen
            if self.training_prior is None
            else read_prior(self.training_prior, self.classes_, "training_prior")
        )
        if not (self.training_prior_ > 0).all():
            missing = self.classes_[self.training_prior_ <= 0][0]
            raise ValueError(
                f"The training prior of class {missing!r} is 0, so that nothing is known about it; "
                "training_prior must be positive for every class."
            )
        self.odds_ = read_prior(self.prior, self.classes_, "prior") / self.training_prior_

    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return class probabilities for the prevalence asked for."""
        X, ids = self._read_new(X, task, "predict_proba")
        weighted = self._ask("predict_proba", X, ids) * self.odds_
        total = weighted.sum(axis=1, keepdims=True)
        # a row certain to be of a class that no longer exists says nothing about the others
        fallback = self.odds_ * self.training_prior_
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(total > 0, weighted / total, fallback)

    def familiarity(self, X: Any) -> NDArray[np.float64]:
        """Return how well training rows support each row, for estimators that can tell."""
        check_is_fitted(self)
        return self._familiarity(self._features(X))


def with_prior(model: Any, prior: Any, *, training_prior: Any = None) -> PriorShift:
    """Return a fitted classifier's probabilities re-weighed to another prevalence.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict_proba`` over one target, also a pipeline. It is not copied or
        changed.
    prior : dict of {class: share} or array-like of shape (n_classes,)
        The prevalence to answer for; scaled to sum to one.
    training_prior : dict or array-like, optional
        The prevalence the model was trained at; needed for models that do not keep it as
        ``prior_``, as all of kinlearn's do. Of a multi-task model it is that of all tasks together.

    Returns
    -------
    PriorShift
        A fitted classifier, which :func:`kinlearn.save` can store.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from kinlearn import LSPC, with_prior
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LSPC().fit(scale(X), y)
    >>> rare = with_prior(model, {0: 0.01, 1: 0.99})
    >>> p, q = model.predict_proba(scale(X)), rare.predict_proba(scale(X))
    >>> bool((q[:, 0] <= p[:, 0]).all())
    True
    """
    check_is_fitted(model)
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{type(model).__name__} has no predict_proba to re-weigh.")
    shifted = PriorShift(
        model,
        prior=prior,
        training_prior=training_prior,
    )
    last = last_step(model)
    classes = np.asarray(model.classes_) if not isinstance(model.classes_, list) else None
    seen = getattr(last, "prior_", None)
    if classes is None or getattr(last, "indicator_", False):
        raise TypeError(
            "with_prior re-weighs the classes of one target, but this model answers for several."
        )
    if seen is None and training_prior is None:
        raise ValueError(
            f"{type(last).__name__} does not keep the prevalence it was trained at: give it as "
            "training_prior."
        )
    shifted.estimator_, shifted.classes_ = model, classes
    shifted.tasks_ = copy.copy(getattr(last, "tasks_", None))
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(shifted, name, getattr(model, name))
    shifted._set_odds(np.zeros(len(classes)) if seen is None else np.asarray(seen))
    return shifted


def read_prior(prior: Any, classes: NDArray, name: str) -> NDArray[np.float64]:
    """Return shares in the order of the classes, summing to one."""
    if isinstance(prior, Mapping):
        known = classes.tolist()
        strange = [key for key in prior if key not in known]
        missing = [each for each in known if each not in prior]
        if strange or missing:
            raise ValueError(
                f"{name} must have one entry for each of the classes {known}, but "
                + (f"{strange[0]!r} is none of them." if strange else f"{missing[0]!r} is missing.")
            )
        prior = [prior[each] for each in known]
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != classes.shape:
        raise ValueError(
            f"{name} has shape {shares.shape}, but there are {classes.size} classes: give one "
            "share a class, in the order of classes_."
        )
    if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise ValueError(f"{name} must hold shares of at least 0, not all 0, but got {prior!r}.")
    return shares / shares.sum()
