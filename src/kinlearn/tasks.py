"""Task ids: reading them from an argument or a column of X, numbering them, finding them again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

Index = NDArray[np.intp]


def split_tasks(X: Any, task: Any, task_column: str | int | None) -> tuple[Any, NDArray | None]:
    """Return the features and the task ids, from `task=` or from a column of X.

    Examples
    --------
    >>> import numpy as np
    >>> split_tasks(np.array([[1.5, 0.0], [2.5, 1.0]]), None, 1)
    (array([[1.5],
           [2.5]]), array([0., 1.]))
    """
    if task_column is None:
        if task is None:
            return X, None
        return X, check_task_ids(task, _num_samples(X))
    if task is not None:
        raise ValueError(
            f"Both task= and task_column={task_column!r} were given; pass the task ids one way."
        )
    X, ids = _take_column(X, task_column)
    return X, check_task_ids(ids, _num_samples(X))


def check_task_ids(task: Any, n_samples: int) -> NDArray:
    """Return the ids as a 1-d array of numbers, of strings, or else of Python objects."""
    if isinstance(task, str) or not hasattr(task, "__len__"):
        raise TypeError(
            f"task must hold one id per sample, got {task!r}. For a single task, leave it out or "
            "repeat the id for every sample."
        )
    ids = _as_ids(task)
    if len(ids) != n_samples:
        raise ValueError(
            f"task has {len(ids)} ids but X has {n_samples} samples; give one id per sample."
        )
    missing = _missing(ids)
    if missing.any():
        raise ValueError(
            f"task holds {int(missing.sum())} missing ids (NaN or None), the first at position "
            f"{int(np.argmax(missing))}; every sample needs a task. Give samples of unknown origin "
            "an id of their own."
        )
    return ids


def number_tasks(ids: NDArray) -> tuple[NDArray, Index]:
    """Return the distinct ids, sorted where they can be, and each sample's position among them.

    Examples
    --------
    >>> import numpy as np
    >>> number_tasks(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    if ids.dtype != object:
        tasks, index = np.unique(ids, return_inverse=True)
        return tasks, index.astype(np.intp).ravel()
    try:
        position = {task: k for k, task in enumerate(dict.fromkeys(ids.tolist()))}
    except TypeError as error:
        raise TypeError(
            f"Task ids must be hashable, such as strings or integers: {error}."
        ) from None
    tasks = np.fromiter(position, dtype=object, count=len(position))
    return tasks, np.fromiter(map(position.__getitem__, ids.tolist()), dtype=np.intp)


def find_tasks(ids: NDArray, tasks: NDArray) -> Index:
    """Return each id's position in `tasks`, -1 for ids never seen."""
    if ids.dtype == object or tasks.dtype == object:
        position = {task: k for k, task in enumerate(tasks.tolist())}
        return np.fromiter((position.get(i, -1) for i in ids.tolist()), dtype=np.intp)
    if (ids.dtype.kind == "U") != (tasks.dtype.kind == "U"):
        # Every id would count as a task never seen, and the user would not learn why.
        seen, given = ("strings", "numbers") if tasks.dtype.kind == "U" else ("numbers", "strings")
        raise TypeError(
            f"The model was fitted with task ids that are {seen} (such as {tasks[0].item()!r}), "
            f"but got {given} (such as {ids[0].item()!r}); convert them to one kind."
        )
    at = np.minimum(np.searchsorted(tasks, ids), len(tasks) - 1)
    return np.where(tasks[at] == ids, at, -1).astype(np.intp)


def refuse_unseen(index: Index, ids: NDArray, tasks: NDArray) -> None:
    """Raise a sentence that names the ids without a model."""
    if np.any(index < 0):
        unknown = list(dict.fromkeys(ids[index < 0].tolist()))
        raise ValueError(
            f"No samples of task {unknown[0]!r}{' and others' if len(unknown) > 1 else ''} were "
            f"seen in fit (seen: {_shorten(tasks)}), and unseen='error' was asked for."
        )


def missing_at_prediction(method: str, tasks: NDArray) -> ValueError:
    """The error for a multi-task model asked to predict without ids."""
    return ValueError(
        f"This model was fitted on {len(tasks)} tasks ({_shorten(tasks)}), so {method} needs "
        "task=, one id per sample."
    )


def tasks_at_prediction(
    X: Any, task: Any, task_column: str | int | None, tasks: NDArray | None, method: str
) -> tuple[Any, NDArray | None]:
    """Features and ids for a prediction; None for a model that was fitted without tasks."""
    X, ids = split_tasks(X, task, task_column)
    if tasks is None and ids is not None:
        raise ValueError(
            f"task= was given to {method}, but the model was fitted without task ids; fit it with "
            "task=, or leave task= out."
        )
    if tasks is not None and ids is None:
        raise missing_at_prediction(method, tasks)
    return X, ids


def _shorten(tasks: NDArray, limit: int = 5) -> str:
    shown = ", ".join(repr(t) for t in tasks[:limit].tolist())
    return shown if len(tasks) <= limit else f"{shown}, ..."


def _take_column(X: Any, column: str | int) -> tuple[Any, Any]:
    if hasattr(X, "columns"):  # pandas and polars
        names = list(X.columns)
        if isinstance(column, (int, np.integer)) and column not in names:
            _check_position(column, len(names))
            column = names[column]
        if column not in names:
            raise ValueError(
                f"task_column={column!r} is not a column of X, whose columns are "
                f"{', '.join(map(repr, names[:10]))}{', ...' if len(names) > 10 else ''}."
            )
        ids = X[column]
        return X[[name for name in names if name != column]], ids
    if isinstance(column, str):
        raise ValueError(
            f"task_column={column!r} is a name, but X is a {type(X).__name__} without column "
            "names; pass a DataFrame or give the column's position."
        )
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions to hold a task column, got shape {X.shape}.")
    _check_position(column, X.shape[1])
    position = int(column) % X.shape[1]
    rest = np.delete(np.arange(X.shape[1]), position)
    if hasattr(X, "tocsc"):
        by_column = X.tocsc()
        return by_column[:, rest].tocsr(), by_column[:, [position]].toarray().ravel()
    return X[:, rest], X[:, position]


def _check_position(column: int | np.integer, n_columns: int) -> None:
    if not -n_columns <= column < n_columns:
        raise ValueError(f"task_column={column} is out of range: X has {n_columns} columns.")


def _as_ids(task: Any) -> NDArray:
    if hasattr(task, "to_numpy"):
        task = task.to_numpy()
    if isinstance(task, np.ndarray):
        if task.ndim == 2 and task.shape[1] == 1:
            task = task.ravel()
        if task.ndim != 1:
            raise ValueError(f"task must be one-dimensional, got shape {task.shape}.")
        if task.dtype.kind in "biufU":
            return task
        if task.dtype.kind in "SMm":
            return task.astype(str)
    # Lists are looked at as objects first: np.asarray would turn [1, "1"] into two equal strings.
    ids = np.fromiter(task, dtype=object, count=len(task))
    kinds = set(map(type, ids.tolist()))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        return ids.astype(str)
    numbers = (int, float, np.integer, np.floating, np.bool_)
    if kinds and all(issubclass(kind, numbers) for kind in kinds):
        return np.array(ids.tolist())
    return ids


def _missing(ids: NDArray) -> NDArray[np.bool_]:
    if ids.dtype.kind == "f":
        return np.isnan(ids)
    if ids.dtype != object:
        return np.zeros(len(ids), dtype=bool)
    return np.fromiter(
        (v is None or type(v).__name__ in ("NAType", "NaTType") or bool(v != v) for v in ids),
        dtype=bool,
        count=len(ids),
    )
