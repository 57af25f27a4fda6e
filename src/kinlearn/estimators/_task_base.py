"""What MultiTaskLSPC and MultiTaskLSPCCV share: tasks in, tasks out, and what is shared."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from kinlearn.distributed.prediction import by_partition
from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import (
    _physical_gigabytes,
    _seconds_per_product,
    check_choice,
    check_for_kernel,
)
from kinlearn.estimators._task_design import TaskDesign
from kinlearn.estimators._task_similarity import resolve_similarity
from kinlearn.estimators._training_set import TrainingSet
from kinlearn.kernels import Kernel, KernelMap, median_width
from kinlearn.rows import DistinctRows, find_distinct_rows
from kinlearn.tasks import find_tasks, number_tasks, refuse_unseen, split_tasks, tasks_at_prediction

REQUESTED: dict[str, bool | None] = {"task": True}
Index = NDArray[np.intp]
# Distinct rows over all tasks, and which of them are centres; None for centres that were given.
ChosenCenters = tuple[DistinctRows, Index | None]
# Beyond this many rows the dual is no longer a matter of seconds.
WARN_ROWS = 5000


class TaskClassifier(KernelClassifier):
    """A kernel classifier with coefficients of its own for every task, and a shared part."""

    __metadata_request__fit = REQUESTED
    __metadata_request__predict = REQUESTED
    __metadata_request__predict_proba = REQUESTED
    __metadata_request__predict_log_proba = REQUESTED
    __metadata_request__decision_function = REQUESTED
    __metadata_request__score = REQUESTED

    similarity: Any
    unseen: str
    task_column: str | int | None
    basis = "full"  # classes share all centres: a task may lack a class altogether
    limit_at_zero_reg = True

    # -- before the solve ---------------------------------------------------------------------

    def _read_tasks(self, X: Any, task: Any, sample_weight: Any) -> tuple[Any, Index | None]:
        """Return the features and the rows' task numbers; None where there is one task only."""
        self._drop_stream()
        check_choice("unseen", self.unseen, ("shared", "error"))
        X, ids = split_tasks(X, task, self.task_column)
        self.tasks_: NDArray | None = None
        if ids is None:
            self.similarity_ = resolve_similarity(self.similarity, None)
            return X, None
        weighted = np.ones(len(ids), dtype=bool)
        if sample_weight is not None:
            # A task of which no row counts is a task never seen, as if its rows were left out.
            weights = _check_sample_weight(sample_weight, np.empty((_num_samples(X), 1)))
            weighted = weights > 0 if (weights > 0).any() else weighted
        self.tasks_ = number_tasks(ids[weighted])[0]
        self.similarity_ = resolve_similarity(self.similarity, self.tasks_)
        return X, find_tasks(ids, self.tasks_)

    def _set_up(
        self,
        data: TrainingSet,
        kernel: Kernel,
        task: Index,
        chosen: ChosenCenters,
        n_decompositions: int = 1,
    ) -> TaskDesign:
        """Set the dual up: measure rows against the centres."""
        warn_if_large(data.n_rows, n_decompositions)
        row_task = task[data.rows.first]
        distinct, positions = chosen
        own = None
        if positions is not None and positions.size == distinct.n_distinct:
            # A row seen in other tasks, too, stays a centre when it is held out of one.
            alone = np.bincount(distinct.member)[distinct.member] == 1
            own = np.where(alone, distinct.member, -1)
        features = KernelMap(kernel, self.centers_, self.memory_mb)
        return TaskDesign.of(
            features,
            data.X,
            data.fit_targets,
            data.fit_weights,
            row_task,
            self.similarity_,
            own,
            data.unit_targets,
        )

    def _choose_task_centers(
        self, data: TrainingSet, kernel: Kernel, sigma: float
    ) -> ChosenCenters:
        """Choose centres among the distinct rows of all tasks; None for given ones."""
        distinct = find_distinct_rows(data.X)
        as_passed = replace(distinct, first=data.rows.first[distinct.first])
        return distinct, self._place_centers(data.X[distinct.first], as_passed, kernel, sigma)

    def _median(self, data: TrainingSet, kernel: Kernel) -> float:
        """The median over distinct rows: one seen in several tasks counts once."""
        distinct = find_distinct_rows(data.X)
        return median_width(data.X[distinct.first], kernel, distinct.canonical)

    def _remember_classes(self, task: Index | None, labels: Index) -> None:
        """Which task has seen which class, as an array of shape (T, c)."""
        seen = np.zeros((len(self.similarity_), len(self.classes_)), dtype=bool)
        rows = np.zeros(len(labels), dtype=np.intp) if task is None else task
        seen[rows[rows >= 0], labels[rows >= 0]] = True
        self.task_class_seen_ = seen

    def _keep_tasks(
        self, sigmas: NDArray, coef: NDArray, shared: NDArray, mix: dict[str, NDArray]
    ) -> None:
        """Keep widths, all tasks' coefficients, their shared part, and the points mixed."""
        if self.posterior == "rounded_parameters":
            coef, shared = np.maximum(coef, 0.0), np.maximum(shared, 0.0)
        self.kept_sigmas_ = np.asarray(sigmas, dtype=float)
        self.coef_ = coef
        self.shared_coef_ = shared
        for name, values in mix.items():
            setattr(self, f"mix_{name}_", values)
        for name in vars(self).keys() & {"intercept_", "class_scale_"}:
            delattr(self, name)  # an earlier fit to one task

    def _take_over(self, single: Any, sharing: float) -> None:
        """Become the single-task model that one task is, and forget an earlier fit to several."""
        for name in [n for n in vars(self) if n.startswith("mix_") or n == "sharing_report_"]:
            delattr(self, name)
        for name, value in vars(single).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        self.shared_coef_ = sharing * self.coef_
        self.coef_ = self.coef_[:, None]

    # -- after the solve ----------------------------------------------------------------------

    @property
    def task_classes_(self) -> dict[Any, NDArray]:
        """The classes each task has seen in training."""
        check_is_fitted(self)
        names = [None] if self.tasks_ is None else self.tasks_.tolist()
        return {
            name: self.classes_[seen]
            for name, seen in zip(names, self.task_class_seen_, strict=True)
        }

    def _features_and_tasks(self, X: Any, task: Any, method: str) -> tuple[Any, Index]:
        check_is_fitted(self)
        X, ids = tasks_at_prediction(X, task, self.task_column, self.tasks_, method)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if ids is None or self.tasks_ is None:
            return X, np.zeros(X.shape[0], dtype=np.intp)
        index = find_tasks(ids, self.tasks_)
        if self.unseen == "error":
            refuse_unseen(index, ids, self.tasks_)
        return X, index

    def _task_scores(self, X: Any, task: Any, method: str) -> NDArray[np.float64]:
        X, index = self._features_and_tasks(X, task, method)
        features = self._kernel_map(X)
        scores = np.empty((X.shape[0], len(self.classes_)))
        order = np.argsort(index, kind="stable")
        present, starts = np.unique(index[order], return_index=True)
        for t, rows in zip(present, np.split(order, starts[1:]), strict=True):
            coefs = self.shared_coef_ if t < 0 else self.coef_[:, t]
            part = X if len(present) == 1 else X[rows]
            scores[rows] = features.scores(part, self.kept_sigmas_, coefs)
        # a stack of one task has offsets
        return scores + getattr(self, "intercept_", 0.0)

    def _kernel_map(self, X: Any) -> KernelMap:
        kernel = self._kernel()
        check_for_kernel(X, kernel, self)
        return KernelMap(kernel, self.centers_, self.memory_mb)

    @by_partition
    def decision_function(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return unrounded scores under each row's task.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such. A task never seen is answered by
            the shared part.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``q_1 - q_0`` for two classes, one column a class beyond.
        """
        return _one_column(self._task_scores(X, task, "decision_function"))

    @by_partition
    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return class probabilities, one column a class of ``classes_``, whatever the task.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such. A task never seen is answered by
            the shared part.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        return self._posterior(self._task_scores(X, task, "predict_proba"))

    @by_partition
    def predict_log_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return the logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task=task))

    @by_partition
    def predict(self, X: Any, task: Any = None) -> NDArray:
        """Return the class of the largest score under each row's task.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self._task_scores(X, task, "predict")
        return self.classes_[scores.argmax(axis=1)]

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy over all rows of all tasks.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True classes.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
            Share of rows whose class is predicted right.
        """
        return float(accuracy_score(y, self.predict(X, task=task), sample_weight=sample_weight))

    @by_partition
    def shared_score(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of the common part β_0, which is also what an unseen task gets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows; with ``task_column``, with or without that column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`decision_function`, of which it is one of two summands.
        """
        check_is_fitted(self)
        X = self._without_task_column(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        features = self._kernel_map(X)
        return _one_column(features.scores(X, self.kept_sigmas_, self.shared_coef_))

    @by_partition
    def task_score(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Return the scores of the individual part: :meth:`decision_function` less the shared part.

        Zero for a task never seen.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            Task ids; needed when the model was fitted with such.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`decision_function`.
        """
        return self.decision_function(X, task=task) - self.shared_score(X)

    def _without_task_column(self, X: Any) -> Any:
        if self.task_column is None:
            return X
        width = X.shape[1] if hasattr(X, "shape") else len(X[0])
        return X if width == self.n_features_in_ else split_tasks(X, None, self.task_column)[0]


def _one_column(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def warn_if_large(n_rows: int, n_decompositions: int) -> None:
    """Say what the dual of many rows will take, before it is started."""
    if n_rows <= WARN_ROWS:
        return
    gigabytes = 7 * 8 * n_rows**2 / 2**30
    minutes = n_decompositions * _seconds_per_product(n_rows) * 8 / 60
    message = (
        f"{n_rows} distinct rows of several tasks take about {gigabytes:.1f} GB of memory and "
        f"{minutes:.0f} minutes: a number of centers (n_centers) takes far less."
    )
    if gigabytes > _physical_gigabytes():
        raise MemoryError(message)
    warnings.warn(message, UserWarning, stacklevel=5)
