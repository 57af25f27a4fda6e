"""The state of NormalEquations: what it holds, how it is looked at, how rows enter and leave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.kernels.measures import Rows
from kinlearn.sums.batch_targets import sorted_names
from kinlearn.sums.held_out_sample import HeldOutSample
from kinlearn.sums.task_sums import TaskSums

Array = NDArray[np.float64]


class ReadableSums:
    """Looking at sums: everything in the order of sorted classes and tasks."""

    centers: Rows
    kernel: Any
    sigma: float
    degree: float
    coef0: float
    n_held_out: int
    memory_mb: float
    metric: Array | None
    kind: str | None
    _names: list[Any]
    _declared: list[Any]
    _as_objects: bool
    _places: dict[Any, int]
    _sums: list[TaskSums]
    _with_tasks: bool | None
    _sample: HeldOutSample | None

    @property
    def n_centers(self) -> int:
        """Number of centres, m."""
        return int(self.centers.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.centers.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows added so far, less those taken out."""
        return sum(sums.n_rows for sums in self._sums)

    @property
    def weight(self) -> float:
        """Sum of their weights."""
        return float(sum(sums.weight for sums in self._sums))

    @property
    def nbytes(self) -> int:
        """Memory of all sums and of the sample's targets."""
        return sum(sums.nbytes for sums in self._sums)

    @property
    def classes(self) -> NDArray:
        """Classes seen or declared, sorted; names of labels in the order of arrival."""
        if self.kind == "labels":
            return np.array(self._names[1:], dtype=object)
        return sorted_names(self._names, self._as_objects)[0]

    @property
    def tasks(self) -> NDArray | None:
        """Task ids, sorted where they can be; None without tasks."""
        if not self._with_tasks:
            return None
        return self._task_order()[0]

    def _task_order(self) -> tuple[NDArray, NDArray[np.intp]]:
        """Ids as an array, sorted where they can be, and their places in the order of arrival."""
        ids = list(self._places)
        strings = {isinstance(task, str) for task in ids}
        plain = all(isinstance(task, (str, int, float)) for task in ids)
        if plain and len(strings) == 1:
            array = np.array(ids)
            order = np.argsort(array, kind="stable")
            return array[order], order
        return np.fromiter(ids, dtype=object, count=len(ids)), np.arange(len(ids))

    def _column_order(self) -> NDArray[np.intp]:
        if self.kind == "labels":
            return np.arange(len(self._names))
        return sorted_names(self._names, self._as_objects)[1]

    def task_sums(self) -> list[TaskSums]:
        """The sums of each task in the order of `tasks`; of all rows, without tasks.

        Their columns are in order of arrival: :meth:`columns` puts them in that of `classes`.

        Returns
        -------
        list of TaskSums
            One entry a task.
        """
        if not self._with_tasks:
            return list(self._sums)
        return [self._sums[t] for t in self._task_order()[1]]

    def columns(self, values: NDArray) -> NDArray:
        """Reorder the last axis, target columns, as `classes`; indicators lead with all rows.

        Parameters
        ----------
        values : ndarray of shape (..., k)
            With columns in order of arrival.

        Returns
        -------
        ndarray of shape (..., k)
            With columns in order.
        """
        return values[..., self._column_order()]

    def gram(self, task: Any = None) -> Array:
        """H of one task, or summed over all: a full symmetric matrix of shape (m, m).

        Parameters
        ----------
        task : hashable, optional
            A task id; left out, all rows.

        Returns
        -------
        ndarray of shape (m, m)
            ``ΦᵀDΦ``.
        """
        if task is not None:
            return self._sums[self._find_task(task)].gram()
        total = np.zeros((self.n_centers, self.n_centers))
        for sums in self._sums:
            total += sums.gram()
        return total

    def moments(self, task: Any = None) -> Array:
        """h of one task, or summed over all, (m, k); for indicators the first column is Φᵀ D 1.

        Parameters
        ----------
        task : hashable, optional
            A task id; left out, all rows.

        Returns
        -------
        ndarray of shape (m, k)
            ``ΦᵀDZ``.
        """
        if task is not None:
            return self.columns(self._sums[self._find_task(task)].h)
        return self.columns(sum((s.h for s in self._sums), np.zeros_like(self._sums[0].h)))

    def target_sums(self) -> Array:
        """Weight of every class, (c,); for indicators [1 Y]ᵀD[1 Y], of shape (1 + T, 1 + T).

        Returns
        -------
        ndarray
            Of the shape said above.
        """
        total = np.sum([sums.targets for sums in self._sums], axis=0)
        order = self._column_order()
        return total[np.ix_(order, order)] if self.kind == "labels" else total[order]

    def class_counts(self) -> NDArray[np.int64]:
        """Rows of every class (or with every label) by task, (T, c), in the order of `classes`.

        Returns
        -------
        ndarray of int of shape (T, c)
            Counts.
        """
        counts = np.array([sums.counts for sums in self.task_sums()])
        ordered = counts[:, self._column_order()]
        return ordered[:, 1:] if self.kind == "labels" else ordered

    def held_out_sample(self) -> HeldOutSample | None:
        """The sample, its tasks numbered as in `tasks` and its columns as in `classes`.

        Returns
        -------
        HeldOutSample or None
            None where no row is kept.
        """
        if self._sample is None or self._sample.size == 0:
            return None
        order = self._column_order()
        place = np.zeros(max(len(self._places), 1), dtype=np.intp)
        if self._with_tasks:
            place[self._task_order()[1]] = np.arange(len(self._places))
        columns = np.empty_like(order)
        columns[order] = np.arange(order.size)
        return self._sample.renumbered(place, columns, order.size)

    def _find_task(self, task: Any) -> int:
        task = task.item() if hasattr(task, "item") else task
        if task not in self._places:
            raise KeyError(f"No rows of task {task!r} were added.")
        return self._places[task]

    def features(self) -> KernelMap:
        """The kernel at the centres.

        Returns
        -------
        KernelMap
            A function of rows.
        """
        kernel = resolve_kernel(self.kernel, self.degree, self.coef0)
        if self.metric is not None:
            kernel = kernel.in_metric(self.metric)
        return KernelMap(kernel, self.centers, self.memory_mb)
