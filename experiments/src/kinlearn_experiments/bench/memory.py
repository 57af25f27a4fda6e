"""Peak memory of a piece of work in this process."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """How far the memory of this process rises above what it is when the work begins.

    On Linux the peak is reset first, so that what came before does not hide it; elsewhere it is the
    rise of the peak since the process began, or unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.memory import PeakMemory
    >>> memory = PeakMemory()
    >>> held = np.ones(8_000_000)
    >>> found = memory.megabytes()
    >>> found is None or found > 20
    True
    """

    def __init__(self) -> None:
        with contextlib.suppress(OSError):
            RESET.write_text("5")
        self.before = _kilobytes("VmRSS") if STATUS.exists() else _highest()

    def megabytes(self) -> float | None:
        """The rise up to now, or None where it cannot be told."""
        after = _kilobytes("VmHWM") if STATUS.exists() else _highest()
        if self.before is None or after is None:
            return None
        return max(0.0, (after - self.before) / 1024)


def _kilobytes(field: str) -> float | None:
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return float(line.split()[1])
    return None


def _highest() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak / 1024 if sys.platform == "darwin" else peak
