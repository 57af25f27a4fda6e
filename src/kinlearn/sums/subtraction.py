"""Taking rows out of sums again, after looking whether they can be in them.

Sums do not remember their rows, but much cannot be: more weight of a class than there is, a Gram
matrix of features and targets with a negative eigenvalue. Weights are what counts, not the parts in
which they came: a row added twice may be taken out at once, with twice the weight. What is refused
leaves the sums as they were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kinlearn.sums.task_sums import TaskSums

Array = NDArray[np.float64]
# Rounding of sums over one removal, and of those over as many as added all the rows.
ROUNDING, MUCH_ROUNDING = 1e-12, 1e-6


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
    if removed.weight > (1 + 1e-9) * held.weight:
        raise NeverAddedError(
            f"Rows of a total weight of {removed.weight:g} were to be removed{where}, but those "
            f"that were added weigh {held.weight:g}."
        )
    ours, theirs = held.column_weights(), removed.column_weights()
    over = theirs > (1 + 1e-9) * ours
    if over.any():
        at = int(np.argmax(over))
        raise NeverAddedError(
            f"Rows of {names[at]!r} with a total weight of {theirs[at]:g} were to be "
            f"removed{where}, but those that were added weigh {ours[at]:g}."
        )
    left = held.copy()
    left.counts -= removed.counts
    empty = ours - theirs <= ours * np.where(left.counts > 0, ROUNDING, MUCH_ROUNDING)
    left.counts = np.where(empty, 0, np.maximum(left.counts, 1))
    # every row has one class, or the first column of indicators
    left.n_rows = int(left.counts[0] if left.cross else left.counts.sum())
    left.weight = max(left.weight - removed.weight, 0.0) if left.n_rows else 0.0
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
        assert left.packed is not None
        taken = removed.copy().condense().packed
        assert taken is not None
        left.packed -= taken
    _clear_empty_columns(left)
    if not _possible(left):
        raise NeverAddedError(_not_there(where))
    return left


def _not_there(where: str) -> str:
    return (
        f"The rows to be removed{where} cannot have been added: without them the sums would be "
        "those of no data at all. Remove rows with the values and labels they were added with, and "
        "with no more weight."
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
        return bool(np.diagonal(joint)[:m].max() <= slack)
    joint[:m, m:] = left.h
    joint[m:, m:] = left.targets if left.cross else np.diag(left.targets)
    joint[np.diag_indices(m + k)] += slack
    _, info = lapack.dpotrf(joint, lower=0, overwrite_a=1)
    return bool(info == 0)
