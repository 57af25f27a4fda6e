"""Telling Dask collections from other input without importing Dask."""

from __future__ import annotations

import sys
from typing import Any


def is_dask(*values: Any) -> bool:
    """Whether any of the values is a Dask collection.

    Who holds a collection has imported Dask, so that a process without it need not be asked.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.distributed import is_dask
    >>> is_dask(np.zeros(3), None)
    False
    """
    base = sys.modules.get("dask.base")
    return base is not None and any(base.is_dask_collection(value) for value in values)
