"""All tasks' parameters from their sums: the cheapest exact way to solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.multitask_primal import SharedSystem, effective_sharing
from kinlearn.solvers.multitask_primal_general import GeneralSystem, PooledSystem

if TYPE_CHECKING:
    from kinlearn.sums.task_sums import TaskSums

Array = NDArray[np.float64]


class TaskSystem(Protocol):
    """All tasks' parameters for one (reg, sharing)."""

    def parameters(self) -> Array:
        """θ_t, shape (T, m, c)."""

    def leave_one_out(
        self, features: Array, targets: Array, weights: Array, task: NDArray[np.intp]
    ) -> Array:
        """Scores of rows held out one at a time."""


def task_system(
    tasks: list[TaskSums], similarity: Array, ridge: float, sharing: float
) -> TaskSystem:
    """The cheapest exact way to solve: one m×m system for tasks that are all alike."""
    alike = effective_sharing(similarity, sharing)
    if alike is not None:
        return SharedSystem(tasks, ridge, alike)
    if sharing == 1.0:
        return PooledSystem(tasks, similarity, ridge)
    return GeneralSystem(tasks, similarity, ridge, sharing)
