"""HandOver: answer where the error is bounded, hand the other cases to a person."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from kinlearn.all_or_nothing import drop_fit
from kinlearn.estimators._both import proba_and_familiarity
from kinlearn.estimators._cross_fitting import N_FOLDS, cross_fitted, own_held_out, rows_repeat
from kinlearn.estimators._duplicate_rows import find_copies
from kinlearn.estimators._passes_tasks_on import PassesTasksOn
from kinlearn.estimators.task_wrapper import inner_has
from kinlearn.pipelines import last_step
from kinlearn.selection.decisions import cost_matrix, gains, miss_bound, miss_limits
from kinlearn.selection.hand_over import choose_threshold, independent_share
from kinlearn.tasks import find_tasks, number_tasks
from kinlearn.training.training_set import check_groups

REASONS = np.array(["answer", "unsure", "unfamiliar", "unknown task"])


@dataclass(frozen=True)
class Assessment:
    """All that :class:`HandOver` has to say on some rows, from one pass over them.

    Attributes
    ----------
    proba : ndarray of shape (n, n_classes)
        Class probabilities.
    predicted : ndarray of shape (n,)
        The class of largest probability (with ``costs``, of smallest expected cost), whether it is
        answered or not.
    confidence : ndarray of shape (n,)
        That probability; with ``costs`` one minus the expected cost over the largest one.
    familiarity : ndarray of shape (n,) or None
        None where the classifier has no such measure.
    answered : ndarray of shape (n,)
        Whether the case is answered.
    reason : ndarray of shape (n,)
        ``"answer"``, or why not: ``"unsure"``, ``"unfamiliar"`` or ``"unknown task"``.
    """

    proba: NDArray[np.float64]
    predicted: NDArray
    confidence: NDArray[np.float64]
    familiarity: NDArray[np.float64] | None
    answered: NDArray[np.bool_]
    reason: NDArray


class HandOver(PassesTasksOn):
    """Answer only where the error among answered cases is at most ``max_error``.

    A case is answered when the probability p of its most probable class exceeds a threshold λ and
    its familiarity is at least ``min_familiarity``; all others are for a person. λ is the lowest
    found for which held-out rows prove, at the level ``confidence``, that::

        P(wrong | p > λ) <= max_error

    by the exact binomial test (Clopper and Pearson) and fixed-sequence testing over thresholds
    (learn then test), see ``choose_threshold`` of ``kinlearn.selection.hand_over``.

    Parameters
    ----------
    estimator : classifier
        Any with ``predict_proba``, also a pipeline. kinlearn's estimators bring held-out scores
        from their own fit; others are fitted five times more.
    max_error : float in (0, 1), default=0.05
        Largest error allowed among answered cases.
    confidence : float in (0, 1), default=0.95
        How sure the bound is: over training sets, it fails with at most the rest.
    per_task : bool, default=False
        Whether every task has a threshold of its own, each with this confidence. Tasks with too few
        rows to prove anything, and tasks never seen, are then handed over. By default the bound is
        on the error over all tasks together.
    min_familiarity : float in [0, 1], default=0.01
        Cases less familiar are handed over however sure the classifier is: by definition about this
        share of cases like the training rows, and those far from them all. 0 switches it off.
        Classifiers without ``familiarity`` are not asked. It only takes answers away: the bound,
        and ``coverage_``, are for p > λ alone.
    cv : int, splitter or None, default=None
        None: the held-out scores of the estimator's own fit if it has such, 5 folds else. A number
        or a splitter: folds in any case.
    task_column : str or int, optional
        Name or position of the column of X that holds the task ids, which the estimator is then
        given as ``task=``.
    costs : dict of (answered, true) to float, optional
        What it costs to answer a class where another is true: ``{("no", "yes"): 20}``. Errors that
        are not named cost 1. The class of smallest expected cost is then predicted, and cases are
        handed over by their expected cost. Probabilities stay as they are.
    max_missed : dict of class to float, optional
        Largest share of a class's cases that may be answered as another class, each bounded with
        ``confidence``: ``{"yes": 0.05}``. A case is answered otherwise only where its probability
        of that class is small enough; it is handed over else.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    threshold_ : float
        λ; infinite when nothing could be proven, and every case is handed over. With ``per_task``
        that of all tasks together, for the record.
    coverage_ : float
        Share of held-out rows that are answered.
    expected_error_ : float
        Error among these; NaN without any.
    error_bound_ : float
        Upper bound on it that was proven; NaN without any. With ``per_task`` the largest.
    n_calibration_ : int
        Number of held-out rows.
    tasks_ : ndarray or None
        Task ids.
    task_thresholds_, task_coverages_, task_errors_, task_error_bounds_ : ndarrays of shape (T,)
        The same by task, in the order of ``tasks_``; only with ``per_task``.
    miss_bounds_ : ndarray of shape (n_classes,)
        Probability of each class up to which cases are answered as another: 1 without a limit, -1
        where nothing could be proven; only with ``max_missed``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    Notes
    -----
    The guarantee is exact for held-out rows that are independent of each other and of the scores
    they are judged by, whose confidences are distributed as those of new cases. Leave-one-out and
    cross-fitted scores share training rows, so that here it is an approximation; in simulations it
    holds. It says nothing about data of another kind than the training rows: that is what
    familiarity is for. Rows of one group, and copies of rows, are no independent cases: they count
    less, by how much their errors go together. Equal rows in plainly continuous columns are taken
    for one group; a table joined to itself counts once.

    References
    ----------
    A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, "Learn then test:
    calibrating predictive algorithms to achieve risk control", 2021.
    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 1934.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPC, HandOver
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HandOver(make_pipeline(StandardScaler(), LSPC()), max_error=0.02).fit(X, y)
    >>> model.coverage_ > 0.8
    True
    >>> model.predict_or_hand_over(X[:3], hand_over="ask")
    array([0, 0, 0], dtype=object)
    >>> model.predict_or_hand_over(100 * X[:1], hand_over="ask")
    array(['ask'], dtype=object)

    A miss of class 0 that costs 50 times an alarm, of which at most 2 % may be missed:

    >>> careful = HandOver(model.estimator, costs={(1, 0): 50}, max_missed={0: 0.02}).fit(X, y)
    >>> bool((careful.predict(X) == 0).sum() > (model.predict(X) == 0).sum())
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        max_error: float = 0.05,
        confidence: float = 0.95,
        per_task: bool = False,
        min_familiarity: float = 0.01,
        cv: Any = None,
        task_column: str | int | None = None,
        costs: Mapping[tuple[Any, Any], float] | None = None,
        max_missed: Mapping[Any, float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.max_error = max_error
        self.confidence = confidence
        self.per_task = per_task
        self.min_familiarity = min_familiarity
        self.cv = cv
        self.task_column = task_column
        self.costs = costs
        self.max_missed = max_missed

    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> HandOver:
        """Fit the classifier and choose the threshold.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        task : array-like of shape (n_samples,), optional
            Task ids, given on to an estimator that takes such.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, given on to the estimator. The threshold counts rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        HandOver
            The fitted model.
        """
        return self._fit(X, y, task, sample_weight, groups)

    def around(self, fitted: Any, X: Any, y: Any) -> HandOver:
        """The same rule around a classifier that is fitted already, to these rows and others.

        Parameters
        ----------
        fitted : estimator
            With held-out probabilities of these rows, NaN where it has none.
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        HandOver
            Another one, with a threshold of its own.
        """
        other: HandOver = clone(self)
        return other._fit(X, y, None, None, None, fitted)

    def _fit(
        self,
        X: Any,
        y: Any,
        task: Any,
        sample_weight: Any,
        groups: Any,
        fitted: Any = None,
    ) -> HandOver:
        drop_fit(self)
        self._check_choices()
        X, y, ids, sample_weight = self._read_training(X, y, task, sample_weight)
        groups = check_groups(groups, _num_samples(X))
        copies, same_thing = find_copies(X, y)
        groups = same_thing if groups is None else groups
        index = np.zeros(len(y), dtype=np.intp) if ids is None else number_tasks(ids)[1]
        self._refuse_unused_weights(sample_weight)
        given = {
            "task": ids if self._takes("task") else None,
            "sample_weight": sample_weight,
            "groups": groups if self._takes("groups") else None,
        }
        costs, limits = self._read_costs()
        self.estimator_ = self._fit_inner(X, y, given) if fitted is None else fitted
        self.classes_ = self.estimator_.classes_
        proba = own_held_out(self.estimator_) if self.cv is None else None
        if proba is None:
            folds = N_FOLDS if self.cv is None else self.cv
            proba = cross_fitted(self.estimator, X, y, self.classes_, folds, groups, given)
        known = ~np.isnan(proba).any(axis=1)
        predicted = gains(proba[known], costs).argmax(axis=1)
        wrong = self.classes_[predicted] != y[known]
        together = np.arange(len(y)) if groups is None else groups
        share = independent_share(wrong, together[known], copies)
        if rows_repeat(self.estimator_):
            # equal rows will be answered or handed over together, by the confidence they will have
            proba = self._ask("predict_proba", X, ids)
        proba, index = proba[known], index[known]
        if limits:
            truth = np.searchsorted(self.classes_, y[known])
            self.miss_bounds_ = self._bound_misses(proba, truth, predicted, limits, share)
        # What is bounded is the error among cases that a limit leaves to be answered.
        left = self._within_limits(proba, predicted)
        confidence = gains(proba, costs).max(axis=1)
        self._choose(confidence[left], wrong[left], index[left], share, len(left))
        return self

    def _read_costs(self) -> tuple[NDArray[np.float64] | None, dict[int, float]]:
        """The matrix of costs, and the limits on misses by number of the class."""
        return cost_matrix(self.costs, self.classes_), miss_limits(self.max_missed, self.classes_)

    def _bound_misses(
        self,
        proba: NDArray[np.float64],
        truth: NDArray[np.intp],
        predicted: NDArray[np.intp],
        limits: dict[int, float],
        share: float,
    ) -> NDArray[np.float64]:
        bounds = np.ones(len(self.classes_))
        for k, limit in limits.items():
            own = truth == k
            bounds[k] = miss_bound(
                proba[own, k], predicted[own] != k, limit, 1.0 - float(self.confidence), share
            )
        return bounds

    def _within_limits(
        self, proba: NDArray[np.float64], predicted: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Whether every class that is not predicted is improbable enough."""
        bounds = getattr(self, "miss_bounds_", None)
        if bounds is None:
            return np.ones(len(proba), dtype=bool)
        other = np.arange(proba.shape[1]) != predicted[:, None]
        return ~((proba > bounds) & other).any(axis=1)

    def _check_choices(self) -> None:
        for name in ("max_error", "confidence", "min_familiarity"):
            value = getattr(self, name)
            number = isinstance(value, Real) and not isinstance(value, bool)
            inside = number and (0 < value < 1 or (value in (0, 1) and name == "min_familiarity"))
            if not inside:
                raise ValueError(f"{name} must lie between 0 and 1, but {value!r} was given.")
        self._need_probabilities()

    def _choose(
        self,
        confidence: NDArray[np.float64],
        wrong: NDArray[np.bool_],
        index: NDArray[np.intp],
        share: float,
        n_rows: int,
    ) -> None:
        """Keep the thresholds, and what held-out rows say about them."""
        risk = 1.0 - float(self.confidence)
        bounds = float(self.max_error), risk, share
        pooled = choose_threshold(confidence, wrong, *bounds)
        used = [pooled]
        self.threshold_ = pooled.value
        if self.per_task:
            if self.tasks_ is None:
                raise ValueError(
                    "per_task=True needs task ids: give task=, one id a row, or task_column."
                )
            used = [
                choose_threshold(confidence[index == t], wrong[index == t], *bounds)
                for t in range(len(self.tasks_))
            ]
            self.task_thresholds_ = np.array([each.value for each in used])
            self.task_coverages_ = np.array([each.coverage for each in used])
            self.task_errors_ = np.array([each.error for each in used])
            self.task_error_bounds_ = np.array([each.error_bound for each in used])
        self.n_calibration_ = n_rows
        answered = sum(each.n_answered for each in used)
        self.coverage_ = answered / max(1, n_rows)
        self.expected_error_ = float("nan")
        self.error_bound_ = float("nan")
        if answered:
            self.expected_error_ = sum(each.n_wrong for each in used) / answered
            self.error_bound_ = float(np.nanmax([each.error_bound for each in used]))
        else:
            self._warn_of_nothing(wrong)

    def _warn_of_nothing(self, wrong: NDArray[np.bool_]) -> None:
        error = f"{wrong.mean():.1%}" if wrong.size else "unknown"
        warnings.warn(
            f"No threshold can be shown to keep the error at {float(self.max_error):g} or less "
            f"with a confidence of {float(self.confidence):g} from {wrong.size} held-out rows "
            f"(error on all of them: {error}), so every case is handed over: give more rows, or "
            "allow a larger max_error or a smaller confidence.",
            UserWarning,
            stacklevel=4,
        )

    # -- after the fit ------------------------------------------------------------------------

    def assess(self, X: Any, task: Any = None) -> Assessment:
        """Return probabilities, familiarity and decisions in one pass.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        Assessment
            Arrays, one entry a row.
        """
        X, ids = self._read_new(X, task, "assess")
        familiar = None
        if self.min_familiarity > 0:
            given = self._task_given(ids)
            proba, familiar = proba_and_familiarity(self.estimator_, X, given)
        else:
            proba = self._ask("predict_proba", X, ids)
        confidence, predicted, reason = self._decide(proba, ids)
        if familiar is not None:
            reason[familiar < self.min_familiarity] = 2
        if self.per_task and ids is not None and self.tasks_ is not None:
            reason[find_tasks(ids, self.tasks_) < 0] = 3
        return Assessment(
            proba=proba,
            predicted=self.classes_[predicted],
            confidence=confidence,
            familiarity=familiar,
            answered=reason == 0,
            reason=REASONS[reason],
        )

    def _decide(
        self, proba: NDArray[np.float64], ids: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
        """By probabilities alone: confidence, number of the class, and number of the reason."""
        gained = gains(proba, self._read_costs()[0])
        confidence, predicted = gained.max(axis=1), gained.argmax(axis=1)
        sure = confidence > self._thresholds(ids, len(proba))
        return confidence, predicted, np.where(sure & self._within_limits(proba, predicted), 0, 1)

    def answers_by(self, proba: NDArray[np.float64], task: Any = None) -> NDArray[np.bool_]:
        """Return which cases are answered by their probabilities alone, however familiar.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, such as held-out ones.
        task : array-like of shape (n_samples,), optional
            Task ids; needed with ``per_task``.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True for cases that are answered.
        """
        check_is_fitted(self)
        ids = None if task is None else np.asarray(task)
        return np.asarray(self._decide(np.asarray(proba), ids)[2] == 0)

    def predict(self, X: Any, task: Any = None) -> NDArray:
        """Return the class of largest probability, with ``costs`` of smallest expected cost.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels, whether a row is answered or not.
        """
        proba = self.predict_proba(X, task=task)
        return self.classes_[self._numbers(proba)]

    def _numbers(self, proba: NDArray[np.float64]) -> NDArray[np.intp]:
        """Number of the class of smallest expected cost."""
        return np.asarray(gains(proba, self._read_costs()[0]).argmax(axis=1))

    def _thresholds(self, ids: NDArray | None, n_rows: int) -> NDArray[np.float64]:
        if not self.per_task or ids is None or self.tasks_ is None:
            return np.full(n_rows, self.threshold_)
        index = find_tasks(ids, self.tasks_)
        return np.where(index < 0, np.inf, self.task_thresholds_[index])

    def _measures_familiarity(self) -> bool:
        return hasattr(last_step(self.estimator_), "familiarity")

    def decide(self, X: Any, task: Any = None) -> NDArray[np.bool_]:
        """Return which rows are answered; all others are handed over.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True for rows that are answered.
        """
        return self.assess(X, task=task).answered

    def predict_or_hand_over(self, X: Any, task: Any = None, hand_over: Any = None) -> NDArray:
        """Return the class of each row that is answered, and `hand_over` for all others.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids.
        hand_over : object, default=None
            What to put where a person has to look.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of objects.
        """
        found = self.assess(X, task=task)
        out = found.predicted.astype(object)
        out[~found.answered] = hand_over
        return out

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

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return the classifier's scores.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores, whether a row is answered or not.
        """
        X, ids = self._read_new(X, task, "decision_function")
        return self._ask("decision_function", X, ids)

    def familiarity(self, X: Any) -> NDArray[np.float64]:
        """Return how well training rows support each row, for classifiers that can tell.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Between 0 and 1; see :meth:`LSPC.familiarity`.
        """
        check_is_fitted(self)
        if not self._measures_familiarity():
            raise AttributeError(
                f"{type(last_step(self.estimator_)).__name__} does not tell how familiar a row is; "
                "kinlearn's kernel estimators do."
            )
        return self._familiarity(self._features(X))
