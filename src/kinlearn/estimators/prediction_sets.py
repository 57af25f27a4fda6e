"""PredictionSets: sets of classes that hold the true one in a given share of cases."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from kinlearn.all_or_nothing import drop_fit
from kinlearn.estimators._cross_fitting import N_FOLDS, cross_fitted, own_held_out
from kinlearn.estimators._passes_tasks_on import PassesTasksOn
from kinlearn.pipelines import last_step
from kinlearn.selection.conformal import conforming, own_scores
from kinlearn.tasks import find_tasks, number_tasks
from kinlearn.training.training_set import check_groups

BY = (None, "class", "task")
# With fewer rows, what a search learnt from them all shows in the score of each: of ten classes and
# 50 rows, sets for a coverage of 0.9 held the class of 0.87 of new rows by leave-one-out.
FEW_ROWS = 200


class PredictionSets(PassesTasksOn):
    """Answer with a set of classes, which holds the true one in a share ``coverage`` of cases.

    A class belongs to the set of a row unless it is less probable there than their own classes are
    at a share `coverage` of the training rows, each by a model that has not seen it::

        C(x) = { y : #{ i : s_i < 1 - p_y(x) } < coverage (n + 1) },  s_i = 1 - p^{-i}_{y_i}(x_i)

    No rows are held back: the classifier is fitted on all of them. kinlearn's estimators bring
    leave-one-out probabilities from their own fit (the jackknife). Others, and tuned ones with
    fewer than 200 rows, are fitted five times more, and a new row is then compared with each fold's
    rows by the model without that fold (CV+ of Romano, Sesia and Candès).

    Parameters
    ----------
    estimator : classifier
        Any with ``predict_proba``, also a pipeline.
    coverage : float in (0, 1), default=0.9
        Share of cases whose set is to hold the true class.
    by : {None, "class", "task"}, default=None
        Over which cases: all; those of each class, so that none is left out more often than others;
        or those of each task. A class with fewer than coverage/(1 - coverage) rows is then in every
        set; in a task with fewer, or never seen, so are all classes.
    cv : int, splitter or None, default=None
        None: the held-out probabilities of the estimator's own fit where they will do, 5 folds
        else. A number or a splitter: folds in any case.
    task_column : str or int, optional
        Name or position of the column of X that holds the task ids, which the estimator is then
        given as ``task=``.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    fold_estimators_ : list of classifiers
        Fitted without each fold; empty where leave-one-out came with the fit.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    held_out_sizes_ : ndarray of int
        Sizes of the sets of the training rows, each by the probabilities that have not seen it.
    held_out_coverage_ : float
        Share of these sets that hold the row's class.
    n_calibration_ : int
        Number of held-out rows.
    calibration_scores_ : ndarray of shape (n_calibration_,)
        ``1 - p`` of their own classes.
    calibration_codes_, calibration_folds_, calibration_tasks_ : ndarrays of shape (n_calibration_,)
        Their classes, folds (0 for leave-one-out) and tasks, as numbers.
    tasks_ : ndarray or None
        Task ids.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    Notes
    -----
    Coverage is over new rows of the kind of the training rows, and over training sets. It is no
    promise for each single row, and none for data of another kind. A set may be empty, where even
    the most probable class is less so than the coverage asks for: count such rows as not answered.

    References
    ----------
    Y. Romano, M. Sesia and E. J. Candès, "Classification with valid and adaptive coverage", NeurIPS
    2020. R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani, "Predictive inference with the
    jackknife+", Annals of Statistics 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPC, PredictionSets
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PredictionSets(make_pipeline(StandardScaler(), LSPC()), coverage=0.98).fit(X, y)
    >>> model.predict_set(X[[0, 70]])
    array([[ True, False, False],
           [False,  True,  True]])
    """

    def __init__(
        self,
        estimator: Any,
        coverage: float = 0.9,
        by: str | None = None,
        *,
        cv: Any = None,
        task_column: str | int | None = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.by = by
        self.cv = cv
        self.task_column = task_column

    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> PredictionSets:
        """Fit the classifier, and keep what was held out.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        task : array-like of shape (n_samples,), optional
            Task ids, given on to an estimator that takes such.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, given on to the estimator. Coverage counts rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        PredictionSets
            The fitted model.
        """
        drop_fit(self)
        self._check_choices()
        X, y, ids, sample_weight = self._read_training(X, y, task, sample_weight)
        if self.by == "task" and ids is None:
            raise ValueError('by="task" needs task ids: give task=, one id a row, or task_column.')
        groups = check_groups(groups, _num_samples(X))
        self._refuse_unused_weights(sample_weight)
        given = {
            "task": ids if self._takes("task") else None,
            "sample_weight": sample_weight,
            "groups": groups if self._takes("groups") else None,
        }
        self.estimator_ = self._fit_inner(X, y, given)
        self.classes_ = self.estimator_.classes_
        fold, models = np.zeros(len(y), dtype=np.intp), []
        tuned_on_few = hasattr(last_step(self.estimator_), "cv_results_") and len(y) < FEW_ROWS
        by_folds = self.cv is not None or tuned_on_few
        proba = None if by_folds else own_held_out(self.estimator_)
        if proba is None:
            folds: list[tuple[NDArray[np.intp], Any]] = []
            cv = N_FOLDS if self.cv is None else self.cv
            proba = cross_fitted(self.estimator, X, y, self.classes_, cv, groups, given, kept=folds)
            for number, (rows, model) in enumerate(folds):
                fold[rows] = number
                models.append(model)
        self.fold_estimators_ = models
        task_number = np.zeros(len(y), dtype=np.intp) if ids is None else number_tasks(ids)[1]
        self._calibrate(proba, np.searchsorted(self.classes_, y), fold, task_number)
        return self

    def _check_choices(self) -> None:
        number = isinstance(self.coverage, Real) and not isinstance(self.coverage, bool)
        if not number or not 0 < self.coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, but {self.coverage!r} was given.")
        if self.by not in BY:
            raise ValueError(f"by must be one of {list(BY)}, got {self.by!r}.")
        self._need_probabilities()

    def _calibrate(
        self,
        proba: NDArray[np.float64],
        codes: NDArray[np.intp],
        fold: NDArray[np.intp],
        task: NDArray[np.intp],
    ) -> None:
        """Keep the scores of the rows that were held out, and what sets they would get."""
        known = ~np.isnan(proba).any(axis=1)
        proba, codes = proba[known], codes[known]
        self.calibration_scores_ = own_scores(proba, codes)
        self.calibration_codes_ = codes
        self.calibration_folds_ = fold[known]
        self.calibration_tasks_ = task[known]
        self.n_calibration_ = len(codes)
        sets = self._sets([1.0 - proba] * max(1, len(self.fold_estimators_)), task[known])
        self.held_out_sizes_ = sets.sum(axis=1)
        rows = np.arange(len(codes))
        self.held_out_coverage_ = float(sets[rows, codes].mean()) if len(codes) else float("nan")

    def predict_set(self, X: Any, task: Any = None) -> NDArray[np.bool_]:
        """Return which classes belong to the set of every row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        X, ids = self._read_new(X, task, "predict_set")
        numbers = np.zeros(_num_samples(X), dtype=np.intp)
        if ids is not None and self.tasks_ is not None:
            numbers = find_tasks(ids, self.tasks_)
        return self._sets(list(self._scores(X, ids)), numbers)

    def _scores(self, X: Any, ids: NDArray | None) -> Iterator[NDArray[np.float64]]:
        """Scores of all classes, by the model without each fold."""
        if not self.fold_estimators_:
            yield 1.0 - self._ask("predict_proba", X, ids)
        given = {"task": ids} if ids is not None and self._takes("task") else {}
        for model in self.fold_estimators_:
            full = np.ones((_num_samples(X), len(self.classes_)))
            columns = np.searchsorted(self.classes_, model.classes_)
            full[:, columns] = 1.0 - model.predict_proba(X, **given)
            yield full

    def _sets(self, new: list[NDArray[np.float64]], task: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Compare the scores of new rows with those held out, of the same class or task."""
        sets = np.zeros(new[0].shape, dtype=bool)
        if self.by == "class":
            for k in range(len(self.classes_)):
                own = self._held_out(self.calibration_codes_ == k)
                sets[:, [k]] = conforming(own, [each[:, [k]] for each in new], self.coverage)
        elif self.by == "task":
            for t in np.unique(task):
                own = self._held_out(self.calibration_tasks_ == t)
                rows = task == t
                sets[rows] = conforming(own, [each[rows] for each in new], self.coverage)
        else:
            own = self._held_out(np.ones(self.n_calibration_, dtype=bool))
            sets = conforming(own, new, self.coverage)
        return sets

    def _held_out(self, some: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
        """Scores of some of the held-out rows, fold by fold."""
        n_folds = max(1, len(self.fold_estimators_))
        folds, scores = self.calibration_folds_[some], self.calibration_scores_[some]
        return [scores[folds == k] for k in range(n_folds)]

    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return the classifier's class probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        X, ids = self._read_new(X, task, "predict_proba")
        return self._ask("predict_proba", X, ids)
