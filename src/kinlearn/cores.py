"""What this process may use of the machine: cores and memory, the limits of a container included.

A container on a large machine sees all its cores and may use a few: its quota is a share of time,
and threads beyond it are stopped until the next period begins.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

MEMBERSHIP = Path("/proc/self/cgroup")
MOUNTED = Path("/sys/fs/cgroup")
MEMORY = Path("/proc/meminfo")
# Taken where the system does not tell how much memory there is.
ASSUMED_MEMORY = 4 << 30


@lru_cache(maxsize=1)
def available_cores() -> int:
    """Return how many cores this process may keep busy, at least one; found once.

    The cores that the process is bound to, or the processor time that its control groups (version 1
    or 2) or those above them allow, whichever is less.
    """
    # macOS and Windows bind no process to cores
    bound = getattr(os, "sched_getaffinity", None)
    cores = (os.cpu_count() or 1) if bound is None else len(bound(0))
    return max(1, math.ceil(min(cores, cpu_quota())))


def cpu_quota(membership: Path = MEMBERSHIP, mounted: Path = MOUNTED) -> float:
    """Return the cores' worth of time that control groups allow; infinite without a limit."""
    least = math.inf
    for folder in _groups("cpu", membership, mounted):
        quota, period = [*_words(folder / "cpu.max"), "", ""][:2]
        if not quota:
            quota, period = (
                " ".join(_words(folder / f"cpu.cfs_{name}_us")) for name in ("quota", "period")
            )
        # "max", -1 or nothing: no limit
        if quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0:
            least = min(least, int(quota) / int(period))
    return least


def available_memory(
    memory: Path = MEMORY, membership: Path = MEMBERSHIP, mounted: Path = MOUNTED
) -> float:
    """Return the bytes that are free now, or those that control groups allow if less."""
    free = float(ASSUMED_MEMORY)
    for line in _lines(memory):
        if line.startswith("MemAvailable:"):
            free = 1024.0 * float(line.split()[1])
    for folder in _groups("memory", membership, mounted):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = " ".join(_words(folder / name))
            if limit.isdigit():
                free = min(free, float(limit))
    return free


def _groups(controller: str, membership: Path, mounted: Path) -> Iterator[Path]:
    """Yield the folders of the control groups this process is in, and of those above."""
    for line in _lines(membership):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # version 2 has one tree for all controllers, version 1 one each, under either name
        names = [controllers, controller] if controllers else ["", "unified"]
        parts = Path(path.lstrip("/")).parts
        for name in dict.fromkeys(names):
            for depth in range(len(parts), -1, -1):
                yield mounted.joinpath(name, *parts[:depth])


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file) for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:  # another system, or another version of control groups
        return []
