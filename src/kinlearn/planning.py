"""What passes over rows take: memory, processor hours, machines, before any of it is bought.

The model with fixed centres is solved from sums (see :class:`kinlearn.NormalEquations`), so its
costs are simple formulas in rows, features, centres, classes and tasks. The constants below were
set by measurements; the documentation's page on planning shows both side by side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kinlearn.kernels.library import MEDIAN_ROWS
from kinlearn.training.centers import POOL_FACTOR

__all__ = ["Plan", "plan"]

# Floating-point operations a second of one core, as the kernels and sums here reach them.
RATE = 36e9
# Operations in whose time an exponential is done and a feature goes through memory.
EXPONENTIAL = 700.0
# Factor of m² and of the rows of a task (at most m) to solve one task among many.
TASK_SOLUTION = 10.0
# The interpreter, the libraries and the blocks of features in work.
INTERPRETER = 240 * 2**20
# The same in a pass of the polish, whose features stay in the cache between two products.
POLISH_EXPONENTIAL = 350.0
# Copies of the first rows while identical ones are found and centres are chosen among them.
COPIES_AT_START = 5.8
# Copies of a batch while it is added, and of the centres, shifted and with their norms.
COPIES_OF_BATCH = 3.0
COPIES_OF_CENTERS = 4.0
# Sums of many tasks are objects of their own: what they take beyond their numbers.
TASK_OVERHEAD = 1.2
# Rows that are kept to calibrate by.
HELD_OUT = 2000
# Arrays of m × c that a polish holds: pairs of steps and changes, and what it is at.
POLISH_ARRAYS = 46.0


class Plan(NamedTuple):
    """Costs of a fit from one pass; bytes and processor seconds.

    Parameters
    ----------
    sums_bytes : float
        Size of the sums: in memory, on disk, and sent by each machine.
    memory_bytes : float
        Peak memory of each process: the interpreter, and the larger of what choosing centres among
        the first (dense) rows takes and of sums, calibration and solution. It does not grow with
        the rows, once each task has as many of them as there are centres.
    pass_seconds : float
        Processor seconds of the pass; they divide by the number of cores.
    solve_seconds : float
        Processor seconds of the solution with its calibration, on one machine, at the end.
    polish_seconds : float, default=0.0
        Processor seconds of the passes of the polish; they divide by the number of cores.
    """

    sums_bytes: float
    memory_bytes: float
    pass_seconds: float
    solve_seconds: float
    polish_seconds: float = 0.0

    @property
    def hours(self) -> float:
        """Processor hours in all."""
        return (self.pass_seconds + self.polish_seconds + self.solve_seconds) / 3600

    def elapsed_seconds(self, n_cores: int) -> float:
        """Seconds from start to end where that many cores read the rows at the same time."""
        return (self.pass_seconds + self.polish_seconds) / n_cores + self.solve_seconds

    def cores_within(self, seconds: float) -> int | None:
        """The fewest cores that end within that time; None if the solution alone takes longer."""
        left = seconds - self.solve_seconds
        shared = self.pass_seconds + self.polish_seconds
        return max(1, math.ceil(shared / left)) if left > 0 else None


def plan(
    n_rows: float,
    n_features: int,
    n_centers: int,
    n_classes: int = 2,
    n_tasks: int = 1,
    *,
    passes: int = 0,
    batch_rows: int = 8192,
    rate: float = RATE,
) -> Plan:
    """Return what a fit takes from one pass over the rows, and the passes of a polish.

    Parameters
    ----------
    n_rows, n_features, n_centers : numbers
        n, d and m.
    n_classes : int, default=2
        Classes, or labels.
    n_tasks : int, default=1
        Tasks; rows are taken to be spread evenly over them.
    passes : int, default=0
        Further passes of the polish, which makes the features again in each; of one task. It
        mostly ends after 8 to 16.
    batch_rows : int, default=8192
        Rows of a batch.
    rate : float, default=36e9
        Operations a second of one core.

    Returns
    -------
    Plan
        Bytes and processor seconds.

    Examples
    --------
    >>> from kinlearn.planning import plan
    >>> found = plan(n_rows=1e9, n_features=20, n_centers=2000, n_classes=5)
    >>> print(f"{found.sums_bytes / 1e6:.0f} MB, {found.hours:.0f} processor hours")
    16 MB, 42 processor hours
    >>> found.cores_within(3600)
    43
    """
    sizes = {
        "n_rows": n_rows,
        "n_features": n_features,
        "n_centers": n_centers,
        "n_classes": n_classes,
        "n_tasks": n_tasks,
        "batch_rows": batch_rows,
        "rate": rate,
    }
    for name, value in sizes.items():
        if not value > 0:
            raise ValueError(f"{name} must be greater than 0, but {value!r} was given.")
    if n_tasks > n_rows:
        raise ValueError(
            f"There cannot be more tasks than rows, but n_tasks={n_tasks!r} and n_rows={n_rows!r}."
        )
    if not passes >= 0:
        raise ValueError(f"passes must be 0 or more, but {passes!r} was given.")
    if passes and n_tasks > 1:
        raise ValueError(
            f"Only fits of one task are polished, but passes={passes!r} and n_tasks={n_tasks!r}."
        )
    n, d, m, c, tasks = float(n_rows), n_features, n_centers, n_classes, n_tasks
    held = min(float(HELD_OUT), n)
    calibration = 8.0 * held * (d + m)
    making = n * m * (2 * (d + c) + EXPONENTIAL)
    if tasks == 1:
        sums = 4.0 * m * m + 8.0 * m * c
        squares, solving = n * m * m, m**3 + held * m**2
        kept = sums
    else:
        of_task = n / tasks
        dense = of_task >= m  # a task with fewer rows than centres is kept as its rows' features
        sums = tasks * (4.0 * m * m if dense else 8.0 * of_task * m) + tasks * 8.0 * m * c
        squares = n * m * m if dense else 0.0
        solving = TASK_SOLUTION * tasks * min(of_task, m) * m**2
        kept = TASK_OVERHEAD * sums
    batch = min(float(batch_rows), n)
    # centres are chosen among so many rows, or as many as fill whole batches
    first = min(n, batch * math.ceil(max(MEDIAN_ROWS, POOL_FACTOR * m) / batch))
    start = COPIES_AT_START * 8.0 * first * d
    moving = 8.0 * d * (COPIES_OF_BATCH * batch + COPIES_OF_CENTERS * m)
    solution = kept + calibration + moving + 3 * 8.0 * m * m
    if passes:
        solution += 2 * 8.0 * m * m + POLISH_ARRAYS * 8.0 * m * c
        # another factorisation, and two triangular systems and a product a pass
        solving += m**3 / 3 + passes * 6 * m * m * c
    return Plan(
        sums_bytes=sums,
        memory_bytes=INTERPRETER + max(start, solution),
        pass_seconds=(making + squares) / rate,
        solve_seconds=solving / rate,
        polish_seconds=passes * n * m * (2 * d + 4 * c + POLISH_EXPONENTIAL) / rate,
    )
