"""From the similarity a user gives to the matrix W over the tasks seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def resolve_similarity(similarity: Any, tasks: NDArray | None) -> Array:
    """Return W, T×T, symmetric and non-negative, in the order of `tasks`.

    Parameters
    ----------
    similarity : "uniform", array, DataFrame or mapping
        ``"uniform"`` is 1 between all tasks. An array follows the order of ``tasks_`` (sorted
        ids). A DataFrame is read by its labels, a mapping by ``{(id, id): weight}`` or
        ``{id: {id: weight}}``; pairs that a mapping leaves out weigh 0. Ids never seen in fit are
        ignored.
    tasks : ndarray or None
        The ids; None for a single unnamed task.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_similarity({("a", "b"): 0.5}, np.array(["a", "b"]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    ids = [None] if tasks is None else tasks.tolist()
    if isinstance(similarity, str):
        if similarity != "uniform":
            raise ValueError(
                f"similarity={similarity!r} is not known. Use 'uniform', a matrix over the tasks, "
                "a DataFrame or a dict by task id."
            )
        return np.ones((len(ids), len(ids)))
    if len(ids) == 1:
        return np.ones((1, 1))
    if isinstance(similarity, Mapping):
        matrix = _from_mapping(similarity, ids)
    elif hasattr(similarity, "columns") and hasattr(similarity, "index"):
        matrix = _from_frame(similarity, ids)
    else:
        matrix = np.array(similarity, dtype=float)
        if matrix.shape != (len(ids), len(ids)):
            raise ValueError(
                f"similarity has shape {matrix.shape}, but there are {len(ids)} tasks: give a "
                f"{len(ids)}×{len(ids)} matrix in the order of the sorted ids, or a dict or "
                "DataFrame by id."
            )
    return _check(matrix, ids)


def _check(matrix: Array, ids: list[Any]) -> Array:
    if not np.isfinite(matrix).all():
        raise ValueError("similarity contains NaN or infinite weights.")
    off = ~np.eye(len(ids), dtype=bool)
    if (matrix[off] < 0.0).any():
        a, b = np.argwhere((matrix < 0.0) & off)[0]
        raise ValueError(
            f"similarity must not be negative, but is {matrix[a, b]:.4g} between tasks "
            f"{ids[a]!r} and {ids[b]!r}."
        )
    gap = np.abs(matrix - matrix.T)
    if gap.max() > 1e-8 * max(1.0, float(np.abs(matrix).max())):
        a, b = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"similarity must be symmetric, but is {matrix[a, b]:.4g} from task {ids[a]!r} to "
            f"{ids[b]!r} and {matrix[b, a]:.4g} back."
        )
    return 0.5 * (matrix + matrix.T)


def _from_frame(frame: Any, ids: list[Any]) -> Array:
    for side, labels in (("rows", set(frame.index)), ("columns", set(frame.columns))):
        missing = [i for i in ids if i not in labels]
        if missing:
            raise ValueError(f"similarity lacks task {missing[0]!r} among its {side}.")
    return np.array(frame.loc[ids, ids], dtype=float)


def _from_mapping(mapping: Mapping[Any, Any], ids: list[Any]) -> Array:
    pairs: dict[tuple[Any, Any], float] = {}
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            pairs.update({(key, other): weight for other, weight in value.items()})
        elif isinstance(key, tuple) and len(key) == 2:
            pairs[key] = value
        else:
            raise ValueError(
                "A similarity dict must be {(id, id): weight} or {id: {id: weight}}, but has the "
                f"entry {key!r}: {value!r}."
            )
    named = {i for pair in pairs for i in pair}
    missing = [i for i in ids if i not in named]
    if missing:
        raise ValueError(f"similarity lacks task {missing[0]!r}; give it at least one weight.")
    position = {task: k for k, task in enumerate(ids)}
    matrix = np.full((len(ids), len(ids)), np.nan)
    for (a, b), weight in pairs.items():
        if a in position and b in position:
            matrix[position[a], position[b]] = weight
    # A pair given one way round only holds both ways; a pair not given at all is unrelated.
    matrix = np.where(np.isnan(matrix), matrix.T, matrix)
    return np.where(np.isnan(matrix), 0.0, matrix)
