"""Facts about the machine, written beside every figure."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_info


def machine_facts() -> dict[str, Any]:
    """Processor, versions and BLAS of this run."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            names = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
        model = names[0] if names else model
    except OSError:
        pass
    blas = sorted({(lib["internal_api"], lib["num_threads"]) for lib in threadpool_info()})
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "thread_pools": [f"{api}: {threads}" for api, threads in blas],
    }
