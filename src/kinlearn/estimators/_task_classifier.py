"""What multi-task estimators share: tasks in, tasks out, and what is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from kinlearn.distributed.prediction import predict_partitions
from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._classifier import KernelClassifier, are_collections, view
from kinlearn.estimators._task_similarity import resolve_similarity
from kinlearn.kernels import Kernel
from kinlearn.model import one_column
from kinlearn.problems.from_sums import OneTaskOfSums, Posed, TasksOfSums, class_labels
from kinlearn.problems.problem import Solution
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.sums import NormalEquations
from kinlearn.tasks import find_tasks, number_tasks, refuse_unseen, split_tasks, tasks_at_prediction
from kinlearn.threads import on_own_threads
from kinlearn.training.centers import Centers
from kinlearn.training.copies import DistinctRows
from kinlearn.training.training_set import TrainingSet

REQUESTED: dict[str, bool | None] = {"task": True}
Index = NDArray[np.intp]


class TaskClassifier(KernelClassifier):
    """A kernel classifier with coefficients of its own for every task, and a shared part."""

    __metadata_request__fit = REQUESTED
    __metadata_request__partial_fit = REQUESTED
    __metadata_request__predict = REQUESTED
    __metadata_request__predict_proba = REQUESTED
    __metadata_request__predict_log_proba = REQUESTED
    __metadata_request__decision_function = REQUESTED
    __metadata_request__score = REQUESTED

    similarity: Any
    unseen: str
    task_column: str | int | None
    similarity_: NDArray[np.float64]
    task_class_seen_: NDArray[np.bool_]

    tasks_ = view("Task ids; None for a single one without a name.", lambda m: m.tasks)
    shared_coef_ = view("Coefficients of the part that tasks share.", lambda m: m.shared)

    # -- before the solve -------------------------------------------------------------------------

    def _read_tasks(
        self, X: Any, task: Any, sample_weight: Any
    ) -> tuple[Any, NDArray | None, Index | None]:
        """Return the features, the task ids, and the rows' task numbers.

        The numbers are None where there is one task only: the problem is then that of one task.
        """
        check_choice("unseen", self.unseen, ("shared", "error"))
        X, ids = split_tasks(X, task, self.task_column)
        if ids is None:
            self.similarity_ = resolve_similarity(self.similarity, None)
            return X, None, None
        weighted = np.ones(len(ids), dtype=bool)
        if sample_weight is not None:
            # A task of which no row counts is a task never seen, as if its rows were left out.
            weights = _check_sample_weight(sample_weight, np.empty((_num_samples(X), 1)))
            weighted = weights > 0 if (weights > 0).any() else weighted
        tasks = number_tasks(ids[weighted])[0]
        self.similarity_ = resolve_similarity(self.similarity, tasks)
        return X, tasks, find_tasks(ids, tasks) if len(tasks) > 1 else None

    def _classes_of_tasks(self, data: TrainingSet) -> NDArray[np.bool_]:
        """Which task has seen which class, as an array of shape (T, c)."""
        labels = data.table.codes[:, 0]
        seen = np.zeros((len(self.similarity_), data.sizes[0]), dtype=bool)
        task = np.zeros(len(labels), dtype=np.intp) if data.task is None else data.task
        seen[task[task >= 0], labels[task >= 0]] = True
        return seen

    def _task_centers(self, data: TrainingSet, kernel: Kernel, sigma: float) -> Centers:
        """Choose centres among the distinct rows of all tasks."""
        if data.task is None:
            return self._place_centers(data.X, data.rows, kernel, sigma)
        distinct = data.by_features
        as_passed = DistinctRows(
            data.rows.first[distinct.first], distinct.member, distinct.canonical
        )
        return self._place_centers(data.X[distinct.first], as_passed, kernel, sigma)

    # -- after the solve --------------------------------------------------------------------------

    @property
    def task_classes_(self) -> dict[Any, NDArray]:
        """The classes each task has seen in training."""
        check_is_fitted(self)
        names = [None] if self.tasks_ is None else self.tasks_.tolist()
        return {
            name: self.classes_[seen]
            for name, seen in zip(names, self.task_class_seen_, strict=True)
        }

    def _task_scores(self, X: Any, task: Any, method: str) -> NDArray[np.float64]:
        check_is_fitted(self)
        tasks = self.model_.tasks
        X, ids = tasks_at_prediction(X, task, self.task_column, tasks, method)
        X = self._rows(X)
        index = None
        if ids is not None and tasks is not None:
            index = find_tasks(ids, tasks)
            if self.unseen == "error":
                refuse_unseen(index, ids, tasks)
        return self.model_.scores(X, self.memory_mb, index)

    def _without_task_column(self, X: Any) -> Any:
        if self.task_column is None:
            return X
        width = X.shape[1] if hasattr(X, "shape") else len(X[0])
        return X if width == self.n_features_in_ else split_tasks(X, None, self.task_column)[0]

    @on_own_threads
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
        if are_collections(X, task):
            return predict_partitions(self, "decision_function", X, task)
        return one_column(self._task_scores(X, task, "decision_function"))

    @on_own_threads
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
        if are_collections(X, task):
            return predict_partitions(self, "predict_proba", X, task)
        scores = self._task_scores(X, task, "predict_proba")
        return self.model_.proba(scores)

    @on_own_threads
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
        if are_collections(X, task):
            return predict_partitions(self, "predict_log_proba", X, task)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task=task))

    @on_own_threads
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
        if are_collections(X, task):
            return predict_partitions(self, "predict", X, task)
        scores = self._task_scores(X, task, "predict")
        return self.model_.predicted(scores)

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

    @on_own_threads
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
        if are_collections(X):
            return predict_partitions(self, "shared_score", X)
        check_is_fitted(self)
        X, model = self._rows(self._without_task_column(X)), self.model_
        never_seen = np.full(X.shape[0], -1)
        return one_column(model.scores(X, self.memory_mb, never_seen))

    @on_own_threads
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
        if are_collections(X, task):
            return predict_partitions(self, "task_score", X, task)
        return self.decision_function(X, task=task) - self.shared_score(X)


def of_one_task(solution: Solution, sharing: float) -> Solution:
    """The solution of one task as that of tasks, of which there is one."""
    shared = sharing * solution.coef
    return Solution(solution.sigmas, solution.coef[:, None], shared, solution.facts)


def pose_tasks(
    estimator: Any, sums: NormalEquations, rows: SampleRows | None, factors: NDArray
) -> Posed:
    """The problem of tasks that sums pose."""
    similarity = resolve_similarity(estimator.similarity, sums.tasks)
    labels = class_labels(sums, factors, type(estimator).__name__)
    facts = {"similarity_": similarity, "task_class_seen_": sums.class_counts() > 0}
    if len(similarity) == 1 and hasattr(estimator, "sharings"):
        return Posed(OneTaskOfSums(sums, rows), labels, rows, sums.tasks, facts)
    problem = TasksOfSums(sums, rows, similarity)
    return Posed(problem, labels, problem.rows, sums.tasks, facts)
