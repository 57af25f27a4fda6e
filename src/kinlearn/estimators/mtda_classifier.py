"""Nearest neighbours in the common space of heterogeneous tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from kinlearn.estimators._discriminant_checks import check_count
from kinlearn.estimators._heterogeneous_tasks import (
    by_task,
    check_rows,
    find_task,
    remember_tasks,
    validate_tasks,
)
from kinlearn.estimators._separate_reductions import fresh_reducer
from kinlearn.threads import on_own_threads


class MTDAClassifier(BaseEstimator):
    """Classify rows of heterogeneous tasks by their nearest neighbours after a reduction.

    predict(x, task i) = the class of the training rows of task i nearest to U_i^T x,
    as in the experiments of Zhang and Yeung (2011), where U_i maximises their Eq. 3.

    Parameters
    ----------
    reducer : estimator, default=None
        :class:`MTDA`, :class:`AggregateLDA`, or any scikit-learn transformer, which is then fitted
        on every task on its own (``PCA(50)``, ``RatioTraceLDA()``). None: MTDA with
        ``shrinkage="auto"`` and as many dimensions as the largest task has classes, minus one.
    n_neighbors : int, default=1
        Number of training rows that vote.
    weights : {"uniform", "distance"}, default="uniform"
        Whether all votes count alike, or nearer rows more.
    metric : str, default="euclidean"
        Any metric of scikit-learn's ``KNeighborsClassifier``; "cosine" ignores the length of the
        projected rows, which helps against changes of lighting.

    Attributes
    ----------
    reducer_ : estimator
        The fitted reduction.
    embeddings_ : list or dict of ndarray of shape (n_i, n_components)
        The training rows in the common space.
    labels_ : list or dict of ndarray of shape (n_i,)
        Their classes.
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
    >>> from kinlearn import MTDAClassifier
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30), random_state=0)
    >>> model = MTDAClassifier().fit(Xs, ys)
    >>> model.predict(Xs[1][:3], task=1).shape
    (3,)
    >>> model.score(Xs[0], ys[0], task=0)
    1.0
    """

    def __init__(
        self,
        *,
        reducer: Any = None,
        n_neighbors: int = 1,
        weights: str = "uniform",
        metric: str = "euclidean",
    ) -> None:
        self.reducer = reducer
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric

    @on_own_threads
    def fit(self, Xs: Any, ys: Any) -> Self:
        """Fit the reduction and keep the projected training rows.

        Parameters
        ----------
        Xs : list or dict of array-like of shape (n_i, d_i)
            Rows of each task; the task is the position in the list, or the key.
        ys : list or dict of array-like of shape (n_i,)
            Class labels of each task.

        Returns
        -------
        MTDAClassifier
            The fitted estimator itself.
        """
        n_neighbors = check_count("n_neighbors", self.n_neighbors)
        tasks = validate_tasks(self, Xs, ys)
        remember_tasks(self, tasks, named=isinstance(Xs, Mapping))
        shortest = min(tasks, key=lambda task: len(task.X))
        if n_neighbors > len(shortest.X):
            raise ValueError(
                f"n_neighbors={n_neighbors} is more than the {len(shortest.X)} rows of task "
                f"{shortest.key!r}; choose at most that many."
            )
        self.reducer_ = fresh_reducer(self.reducer, tasks)
        arrays = by_task(self, [task.X for task in tasks])
        self.labels_ = by_task(self, [task.classes[task.codes] for task in tasks])
        self.embeddings_ = self.reducer_.fit_transform(arrays, self.labels_)
        return self

    def _neighbours(self, X: Any, task: Any) -> tuple[KNeighborsClassifier, Any]:
        task = find_task(self, task)
        rows = np.asarray(self.reducer_.transform(check_rows(self, X, task), task=task))
        # Brute force has nothing to build, so only arrays need to be kept after fit.
        model = KNeighborsClassifier(
            n_neighbors=self.n_neighbors,
            weights=self.weights,
            metric=self.metric,
            algorithm="brute",
        )
        return model.fit(np.asarray(self.embeddings_[task]), self.labels_[task]), rows

    @on_own_threads
    def predict(self, X: Any, *, task: Any = None) -> NDArray[Any]:
        """Class of every row of one task.

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
        model, rows = self._neighbours(X, task)
        return model.predict(rows)

    @on_own_threads
    def predict_proba(self, X: Any, *, task: Any = None) -> NDArray[np.float64]:
        """Share of the neighbours in every class of the task; :class:`HeterogeneousLSPC` gives
        probabilities in earnest.

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
        model, rows = self._neighbours(X, task)
        return model.predict_proba(rows)

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
