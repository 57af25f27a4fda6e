"""Taking rows out of sums again, after looking whether they can be in them.

Sums do not remember their rows, but much cannot be: more rows of a class than there are, a weight
below zero, a Gram matrix of features and targets with a negative eigenvalue. What is refused leaves
the sums as they were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kinlearn.statistics.task_sums import TaskSums

Array = NDArray[np.float64]


class NeverAddedError(ValueError):
    """Rows were to be removed that cannot have been added."""


def subtract(held: TaskSums, removed: TaskSums, names: list[object], where: str) -> TaskSums:
    """Return the sums without some rows, or raise if these cannot have been part of them.

    Parameters
    ----------
    held, removed : TaskSums
        With the same columns; `removed` must have kept its rows' features if `held` has.
    names : list
        Of the columns, for the message.
    where : str
        Of the task, for the message.
    """
    if removed.n_rows > held.n_rows:
        raise NeverAddedError(
            f"{removed.n_rows} rows were to be removed{where}, but it holds {held.n_rows}."
        )
    if (removed.counts > held.counts).any():
        at = int(np.argmax(removed.counts > held.counts))
        raise NeverAddedError(
            f"{removed.counts[at]} rows of {names[at]!r} were to be removed{where}, but "
            f"{held.counts[at]} of it were added."
        )
    slack = 1e-9 * max(held.weight, removed.weight)
    if removed.weight > held.weight + slack:
        raise NeverAddedError(
            f"Rows of a total weight of {removed.weight:g} were to be removed{where}, but "
            f"it holds {held.weight:g}: remove rows with the weights they were added with."
        )
    left = held.copy()
    left.n_rows -= removed.n_rows
    left.counts -= removed.counts
    left.weight = max(left.weight - removed.weight, 0.0)
    left.passed += removed.passed
    left.h -= removed.h
    left.targets -= removed.targets
    if held.thin is not None:
        # more distinct rows than centres are not kept thin, and are more than are held here
        thin = removed.thin and held.thin.without(removed.thin, held.n_centers)
        if thin is None:
            raise NeverAddedError(_not_there(where))
        left.thin = thin
    else:
        removed.condense()
        assert left.packed is not None
        assert removed.packed is not None
        left.packed -= removed.packed
    _clear_empty_columns(left)
    if not _possible(left):
        raise NeverAddedError(_not_there(where))
    return left


def _not_there(where: str) -> str:
    return (
        f"The rows to be removed{where} cannot have been added: without them the sums would be "
        "those of no data at all. Remove rows with the values, label and weight they were added "
        "with."
    )


def _clear_empty_columns(left: TaskSums) -> None:
    """Columns without rows hold rounding only."""
    empty = left.counts == 0
    left.h[:, empty] = 0.0
    if left.cross:
        left.targets[empty] = 0.0
        left.targets[:, empty] = 0.0
    else:
        left.targets[empty] = 0.0


def _possible(left: TaskSums) -> bool:
    """Whether [Φ Z]ᵀD[Φ Z] is positive semi-definite, up to rounding."""
    m, k = left.n_centers, left.n_columns
    slack = left.rounding() + 1e-12 * left.weight
    joint = np.zeros((m + k, m + k), order="F")
    joint[:m, :m] = left.gram()
    if left.n_rows == 0:
        return bool(np.diagonal(joint)[:m].max() <= slack and left.weight <= 1e-6)
    joint[:m, m:] = left.h
    joint[m:, m:] = left.targets if left.cross else np.diag(left.targets)
    joint[np.diag_indices(m + k)] += slack
    _, info = lapack.dpotrf(joint, lower=0, overwrite_a=1)
    return bool(info == 0)
