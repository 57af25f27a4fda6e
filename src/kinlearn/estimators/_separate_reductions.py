"""One way to call every reduction of heterogeneous tasks, joint or task by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import clone

from kinlearn.estimators._heterogeneous_tasks import (
    PerTaskTransformer,
    Task,
    by_task,
    check_rows,
    find_task,
    remember_tasks,
    validate_tasks,
)
from kinlearn.estimators.mtda import MTDA
from kinlearn.threads import on_own_threads


class SeparateReductions(PerTaskTransformer):
    """A scikit-learn transformer, cloned and fitted on every task on its own.

    Parameters
    ----------
    transformer : estimator
        Such as ``PCA(20)`` or ``RatioTraceLDA()``; given X and y of one task.

    Attributes
    ----------
    transformers_ : list or dict of fitted estimators
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, Xs: Any, ys: Any) -> Self:
        """Fit one clone per task.

        Parameters
        ----------
        Xs : list or dict of array-like of shape (n_i, d_i)
        ys : list or dict of array-like of shape (n_i,)

        Returns
        -------
        SeparateReductions
            The fitted estimator itself.
        """
        tasks = validate_tasks(self, Xs, ys)
        remember_tasks(self, tasks, named=isinstance(Xs, Mapping))
        self.transformers_ = by_task(
            self, [clone(self.transformer).fit(task.X, task.classes[task.codes]) for task in tasks]
        )
        return self

    @on_own_threads
    def transform(self, X: Any, *, task: Any = None) -> Any:
        """Transform rows of one task by its own transformer.

        Parameters
        ----------
        X : array-like of shape (n, d_i)
        task : position or key of the task, default=None
            May be left out when only one task was fitted.

        Returns
        -------
        ndarray
        """
        task = find_task(self, task)
        return self.transformers_[task].transform(check_rows(self, X, task))


def fresh_reducer(reducer: Any, tasks: list[Task]) -> Any:
    """An unfitted reducer with ``fit(Xs, ys)`` and ``transform(X, task=)``.

    None stands for MTDA with Ledoit and Wolf's shrinkage and one dimension less than the largest
    number of classes over tasks, as far as the shortest task allows.
    """
    if reducer is None:
        widest = max(task.classes.size - 1 for task in tasks)
        shortest = min(min(len(task.X) - 1, task.X.shape[1]) for task in tasks)
        return MTDA(n_components=min(widest, shortest), shrinkage="auto")
    if isinstance(reducer, PerTaskTransformer):
        return clone(reducer)
    if hasattr(reducer, "fit") and hasattr(reducer, "transform"):
        return SeparateReductions(clone(reducer))
    raise TypeError(
        f"reducer must be None, a transformer of tasks such as MTDA() or a scikit-learn "
        f"transformer such as PCA(), not {reducer!r}."
    )
