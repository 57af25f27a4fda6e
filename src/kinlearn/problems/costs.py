"""What a large fit will take, said before it is started."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np

WARN_FULL_ROWS = 10_000
# Beyond this many rows the dual of tasks is no longer a matter of seconds.
WARN_TASK_ROWS = 5000


def warn_if_large(n_rows: int, n_decompositions: int, weighted: bool) -> None:
    """Say what an exact fit with every row a centre will take, before it is started."""
    gigabytes = 8 * n_rows**2 * (8 if weighted else 6) / 2**30
    minutes = n_decompositions * _seconds_per_product(n_rows) * (22 if weighted else 7) / 60
    message = (
        f"{n_rows} distinct rows are all used as centers (n_centers=None): this takes about "
        f"{gigabytes:.1f} GB of memory and {minutes:.0f} minutes. "
        'n_centers="auto" or a number of centers takes far less.'
    )
    if gigabytes > _physical_gigabytes():
        raise MemoryError(message)
    warnings.warn(message, UserWarning, stacklevel=5)


def warn_if_many_task_rows(n_rows: int, n_decompositions: int) -> None:
    """Say what the dual of many rows will take, before it is started."""
    gigabytes = 7 * 8 * n_rows**2 / 2**30
    minutes = n_decompositions * _seconds_per_product(n_rows) * 8 / 60
    message = (
        f"{n_rows} distinct rows of several tasks take about {gigabytes:.1f} GB of memory and "
        f"{minutes:.0f} minutes: a number of centers (n_centers) takes far less."
    )
    if gigabytes > _physical_gigabytes():
        raise MemoryError(message)
    warnings.warn(message, UserWarning, stacklevel=5)


def _physical_gigabytes() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # no such question on this system
        return float("inf")


def _seconds_per_product(n: int) -> float:
    """Estimate the time of one n×n matrix product from a small one."""
    small = 512
    a = np.ones((small, small))
    a @ a
    start = time.perf_counter()
    a @ a
    return (time.perf_counter() - start) * (n / small) ** 3
