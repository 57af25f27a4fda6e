"""Probabilities over tasks whose features differ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state

from kinlearn.estimators._common_space_models import (
    SeparateModels,
    SharedModel,
    can_share,
    knows_tasks,
)
from kinlearn.estimators._discriminant_checks import check_choice, check_count
from kinlearn.estimators._heterogeneous_tasks import (
    Task,
    by_task,
    check_rows,
    find_task,
    remember_tasks,
    validate_tasks,
)
from kinlearn.estimators._separate_reductions import fresh_reducer
from kinlearn.estimators._weighed_models import weights_of_tasks
from kinlearn.estimators.lspc_cv import LSPCCV
from kinlearn.estimators.multitask_lspc_cv import MultiTaskLSPCCV
from kinlearn.posterior import Link
from kinlearn.selection.links import fit_beta
from kinlearn.threads import on_own_threads

Blocks = list[NDArray[np.float64]]
# A probability whose logarithm is still a number.
LEAST = float(np.finfo(np.float64).tiny)
FOLDS = 5
ROWS_TO_HOLD_OUT = 5  # of the median class, from which on calibration by cross-fitting pays


class HeterogeneousLSPC(BaseEstimator):
    """Least-squares probabilistic classification in the common space of heterogeneous tasks.

    p(y | x, task i) = softmax over the classes of task i of beta_i q_y(U_i^T x),

    with U_i from MTDA (Eq. 3 of Zhang and Yeung 2011) or another reduction, and q the scores of
    LSPC in the common space. The reduction has seen the labels of the training rows, so scores held
    out in the common space alone are too good: from five rows a class on, beta_i is fitted on rows
    that were held out of *both*, the reduction and the classifier.

    By default this is one of two opinions. The other is :class:`LSPCCV` on all features of the task
    alone; the answer is the mean of both, weighed by the probabilities that they gave held-out
    rows of the task, and of all tasks. Where a task's own rows tell more than the common space
    keeps, sharing then costs nothing.

    Parameters
    ----------
    reducer : estimator, default=None
        :class:`MTDA`, :class:`AggregateLDA`, or any scikit-learn transformer, which is then fitted
        on every task on its own (``RatioTraceLDA()``). None: MTDA with ``shrinkage="auto"`` and as
        many dimensions as the largest task has classes, minus one.
    estimator : classifier, default=None
        Of the common space, alone: a clone per task. An estimator whose ``fit`` takes ``task=``,
        such as ``MultiTaskLSPCCV()`` or ``PooledTasks(LSPCCV())``, gets the rows of all tasks at
        once, after the tasks were turned, shifted and scaled such that the means of their common
        classes meet. None: ``MultiTaskLSPCCV(kernel="rbf")`` there (:class:`LSPCCV` per task where
        dimensions or kinds of labels differ), and beside it ``LSPCCV()`` on each task's features.
    cv : int, "auto" or None, default="auto"
        Folds for the calibration over reduction and classifier. None: keep the probabilities of the
        estimator as they are. "auto": 5 if the median class has at least five rows; with fewer,
        holding a row out hurts its class so much that the calibration turns timid, and None did
        better; opinions are weighed all the same, by 5 folds. Without folds (None) they weigh the
        same.
    random_state : int, RandomState or None, default=None
        For the folds.

    Attributes
    ----------
    reducer_ : estimator
        The fitted reduction.
    estimators_ : list or dict of estimators, or estimator
        The fitted classifiers of the common space; a single one if it knows tasks.
    own_estimators_ : list or dict of LSPCCV, or None
        By default: the classifiers on all features of a task.
    weights_ : list or dict of ndarray of shape (2,), or None
        By default: how much the common space and the task's own features weigh.
    beta_ : list or dict of float, or None
        Calibration of every task; None where the estimator's own probabilities are kept.
    classes_ : list or dict of ndarray
        Classes of every task.
    tasks_ : list
        The tasks, as positions or keys.
    n_features_in_, feature_names_ : list or dict
        Number and names of features of every task.

    References
    ----------
    Y. Zhang and D.-Y. Yeung, "Multi-task learning in heterogeneous feature spaces", AAAI 2011.

    Examples
    --------
    >>> from kinlearn import HeterogeneousLSPC
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30), n_classes=(2, 3), random_state=0)
    >>> model = HeterogeneousLSPC(random_state=0).fit(Xs, ys)
    >>> model.predict_proba(Xs[1][:4], task=1).shape
    (4, 3)
    """

    def __init__(
        self,
        *,
        reducer: Any = None,
        estimator: Any = None,
        cv: int | str | None = "auto",
        random_state: Any = None,
    ) -> None:
        self.reducer = reducer
        self.estimator = estimator
        self.cv = cv
        self.random_state = random_state

    @on_own_threads
    def fit(self, Xs: Any, ys: Any) -> Self:
        """Fit the reduction, the classifier in the common space, and the calibration.

        Parameters
        ----------
        Xs : list or dict of array-like of shape (n_i, d_i)
            Rows of each task; the task is the position in the list, or the key.
        ys : list or dict of array-like of shape (n_i,)
            Class labels of each task.

        Returns
        -------
        HeterogeneousLSPC
            The fitted estimator itself.
        """
        tasks = validate_tasks(self, Xs, ys)
        n_folds = self._count_folds(tasks)
        if n_folds is not None and not hasattr(self._like(), "decision_function"):
            raise TypeError(
                f"{type(self.estimator).__name__} has no decision_function to calibrate; set "
                "cv=None to use its own probabilities."
            )
        remember_tasks(self, tasks, named=isinstance(Xs, Mapping))
        everything = [np.ones(len(task.X), dtype=bool) for task in tasks]
        self.reducer_, self._model = self._fit_rows(tasks, everything)
        weighed = self.estimator is None
        n_rounds = n_folds
        if weighed and n_folds is None and self.cv is not None:
            n_rounds = FOLDS
        betas = None
        if n_rounds is not None:
            scores, proba = self._cross_fit(tasks, n_rounds)
            if n_folds is not None:
                betas = [_beta(*pair) for pair in zip(tasks, scores, strict=True)]
                proba = [Link(beta)(q) for beta, q in zip(betas, scores, strict=True)]
        self.beta_ = None if betas is None else by_task(self, betas)
        self._own = self.own_estimators_ = self.weights_ = None
        if weighed:
            labels = [task.classes[task.codes] for task in tasks]
            self._own = SeparateModels(LSPCCV(), [task.X for task in tasks], labels)
            weights = [np.full(2, 0.5) for _ in tasks]
            if n_rounds is not None:
                own = [model.held_out_proba() for model in self._own.models]
                pairs = list(zip(proba, own, strict=True))
                weights = weights_of_tasks(pairs, [task.codes for task in tasks])
            self.own_estimators_ = by_task(self, self._own.models)
            self.weights_ = by_task(self, weights)
        if isinstance(self._model, SharedModel):
            self.estimators_ = self._model.model
        else:
            self.estimators_ = by_task(self, self._model.models)
        return self

    def _like(self) -> Any:
        return LSPCCV() if self.estimator is None else self.estimator

    def _count_folds(self, tasks: Sequence[Task]) -> int | None:
        if self.cv is None:
            return None
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, ("auto",))
            return FOLDS if _median_class(tasks) >= ROWS_TO_HOLD_OUT else None
        return check_count("cv", self.cv, minimum=2)

    def _fit_rows(
        self, tasks: Sequence[Task], masks: Sequence[NDArray[np.bool_]]
    ) -> tuple[Any, SeparateModels | SharedModel]:
        """Reduction and classifier on some rows of every task."""
        arrays = by_task(self, [task.X[mask] for task, mask in zip(tasks, masks, strict=True)])
        labels = [task.classes[task.codes[mask]] for task, mask in zip(tasks, masks, strict=True)]
        reducer = fresh_reducer(self.reducer, list(tasks))
        embedded = reducer.fit_transform(arrays, by_task(self, labels))
        Zs = [np.asarray(embedded[key]) for key in self.tasks_]
        estimator = self.estimator
        if estimator is None:
            estimator = MultiTaskLSPCCV(kernel="rbf") if can_share(Zs, labels) else LSPCCV()
        kind = SharedModel if knows_tasks(estimator) else SeparateModels
        return reducer, kind(estimator, Zs, labels)

    def _cross_fit(self, tasks: Sequence[Task], n_folds: int) -> tuple[Blocks, Blocks]:
        """Scores and probabilities of rows that neither reduction nor classifier saw, by task."""
        rng = check_random_state(self.random_state)
        folds = [_spread_folds(task.codes, n_folds, rng) for task in tasks]
        scores = [np.full((len(task.X), task.classes.size), np.nan) for task in tasks]
        proba = [each.copy() for each in scores]
        for fold in range(n_folds):
            held = [of_task == fold for of_task in folds]
            if not any(mask.any() for mask in held):
                continue
            if self.estimator is None and not _scatter_is_left(tasks, held):
                continue
            with warnings.catch_warnings():
                # What the full fit has warned of, or what only the smaller folds run into.
                warnings.filterwarnings("ignore", message=".*capped at", category=UserWarning)
                reducer, model = self._fit_rows(tasks, [~mask for mask in held])
            for i, (task, mask) in enumerate(zip(tasks, held, strict=True)):
                if mask.any():
                    Z = np.asarray(reducer.transform(task.X[mask], task=task.key))
                    scores[i][mask] = model.scores(Z, i)
                    if self.estimator is None:
                        proba[i][mask] = model.probabilities(Z, i)
        return scores, proba

    def _probabilities(self, X: Any, task: Any) -> tuple[Any, NDArray[np.float64]]:
        """The task, and the probabilities of rows of it."""
        task, position, Z = self._embed(X, task)
        if self.beta_ is None:
            proba = self._model.probabilities(Z, position)
        else:
            proba = Link(self.beta_[task])(self._model.scores(Z, position))
        if (own := vars(self).get("_own")) is not None:  # files of before have none
            assert self.weights_ is not None
            common, alone = self.weights_[task]
            proba = common * proba + alone * own.probabilities(check_rows(self, X, task), position)
        return task, proba

    def _embed(self, X: Any, task: Any) -> tuple[Any, int, NDArray[np.float64]]:
        task = find_task(self, task)
        rows = self.reducer_.transform(check_rows(self, X, task), task=task)
        return task, self.tasks_.index(task), np.asarray(rows)

    @on_own_threads
    def decision_function(self, X: Any, *, task: Any = None) -> NDArray[np.float64]:
        """Unrounded scores of rows of one task; by default, logarithms of probabilities.

        Parameters
        ----------
        X : array-like of shape (n, d_i)
            Rows of one task.
        task : position or key of the task, default=None
            May be left out when only one task was fitted.

        Returns
        -------
        ndarray of shape (n, number of classes of the task), or (n,) for two classes
            For two classes the score of the second minus that of the first.
        """
        if vars(self).get("_own") is not None:
            scores = np.log(np.maximum(self._probabilities(X, task)[1], LEAST))
        else:
            _, position, Z = self._embed(X, task)
            scores = self._model.scores(Z, position)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @on_own_threads
    def predict_proba(self, X: Any, *, task: Any = None) -> NDArray[np.float64]:
        """Class probabilities of rows of one task.

        Parameters
        ----------
        X : array-like of shape (n, d_i)
            Rows of one task.
        task : position or key of the task, default=None
            May be left out when only one task was fitted.

        Returns
        -------
        ndarray of shape (n, number of classes of the task)
            Columns in the order of ``classes_[task]``.
        """
        return self._probabilities(X, task)[1]

    @on_own_threads
    def predict(self, X: Any, *, task: Any = None) -> NDArray[Any]:
        """The class of largest score.

        Parameters
        ----------
        X : array-like of shape (n, d_i)
            Rows of one task.
        task : position or key of the task, default=None
            May be left out when only one task was fitted.

        Returns
        -------
        ndarray of shape (n,)
            Class labels.
        """
        if self.beta_ is None or vars(self).get("_own") is not None:
            task, proba = self._probabilities(X, task)
            return self.classes_[task][proba.argmax(axis=1)]
        task, position, Z = self._embed(X, task)
        return self.classes_[task][self._model.scores(Z, position).argmax(axis=1)]

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on rows of one task.

        Parameters
        ----------
        X : array-like of shape (n, d_i)
            Rows of one task.
        y : array-like of shape (n,)
            True classes.
        task : position or key of the task, default=None
            May be left out when only one task was fitted.
        sample_weight : array-like of shape (n,), default=None
            Weights.

        Returns
        -------
        float
            Share of rows whose class is predicted right.
        """
        return float(accuracy_score(y, self.predict(X, task=task), sample_weight=sample_weight))


def _median_class(tasks: Sequence[Task]) -> float:
    """Rows of the median class."""
    return float(np.median(np.concatenate([np.bincount(task.codes) for task in tasks])))


def _scatter_is_left(tasks: Sequence[Task], held: Sequence[NDArray[np.bool_]]) -> bool:
    """Whether every task keeps a class of two rows, without which there is no reduction."""
    counts = [np.bincount(task.codes[~own]) for task, own in zip(tasks, held, strict=True)]
    return all(count.max(initial=0) > 1 for count in counts)


def _beta(task: Task, scores: NDArray[np.float64]) -> float:
    """The calibration of one task's scores of rows held out."""
    known = ~np.isnan(scores[:, 0])
    return float(fit_beta(scores[known], np.eye(task.classes.size)[task.codes[known]]))


def _spread_folds(
    codes: NDArray[np.intp], n_folds: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Fold of every row, -1 for rows that are never held out.

    Classes begin at different folds, so that with two rows a class a fold takes one row from some
    classes only and the scatter within the others remains. A class of one row always stays: without
    it the class would be unknown.
    """
    folds = np.full(len(codes), -1, dtype=np.intp)
    for k in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == k))
        if len(rows) > 1:
            folds[rows] = (np.arange(len(rows)) + k) % n_folds
    return folds
