"""Timing pieces of work side by side, so that their ratios do not depend on the machine's mood."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Work = Callable[[], Any]


def side_by_side(works: Mapping[str, Work], repeats: int) -> dict[str, np.ndarray]:
    """Run all works in turn, `repeats` times; return (wall, processor) seconds of each run.

    The first round only warms up. Processor time is kept because, on one thread, it does not see
    what else the machine is doing.
    """
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for round_ in range(repeats + 1):
        for name, work in works.items():
            wall, processor = time.perf_counter(), time.process_time()
            work()
            pair = (time.perf_counter() - wall, time.process_time() - processor)
            if round_ > 0:
                seconds[name].append(pair)
    return {name: np.array(pairs) for name, pairs in seconds.items()}


def paired_ratio(work: np.ndarray, unit: np.ndarray) -> tuple[float, float]:
    """Return the medians over rounds of (wall, processor) time in units of another work's."""
    wall, processor = np.median(work / unit, axis=0)
    return float(wall), float(processor)


def peak_memory(work: Callable[[], Any]) -> float:
    """Return the peak of what `work` allocated, its result included, in MB (2**20 bytes)."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
        del result
