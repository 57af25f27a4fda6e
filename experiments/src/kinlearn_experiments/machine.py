"""Facts about the machine that figures were measured on; nothing that names it or its user."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import scipy.linalg  # noqa: F401  (loads SciPy's BLAS, so that it is listed)
from threadpoolctl import threadpool_info

PACKAGES = (
    "kinlearn",
    "numpy",
    "scipy",
    "scikit-learn",
    "threadpoolctl",
    "joblib",
    "hmmlearn",
    "lightgbm",
    "catboost",
    "lsanomaly",
    "scikit-activeml",
    "opencv-python-headless",
    "soundfile",
)


def machine_facts() -> dict[str, Any]:
    """Return processor, cores, load, thread counts, BLAS and versions.

    Call it inside the thread limits the measurement runs under.
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "threads": [
            {
                "library": pool.get("internal_api"),
                "version": pool.get("version"),
                "architecture": pool.get("architecture"),
                "threads": pool.get("num_threads"),
            }
            for pool in threadpool_info()
        ],
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
