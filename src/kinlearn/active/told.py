"""What is told: a row of the table, and a class that it may have."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_row(i: Any, n_rows: int) -> int:
    """Return a row's number; refuse what is none."""
    whole = isinstance(i, Integral) and not isinstance(i, (bool, np.bool_))
    if not whole or not 0 <= int(i) < n_rows:
        raise ValueError(f"A row is named by its number, 0 to {n_rows - 1}, but {i!r} was given.")
    return int(i)


def check_class(value: Any, classes: NDArray | None, labels: dict[int, Any]) -> None:
    """Refuse what is no class, or none of those given, or of another kind than the labels."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        raise ValueError(f"{value!r} is no class: skip a row whose class is not known.")
    if classes is not None and value not in classes.tolist():
        raise ValueError(
            f"{value!r} is none of the classes {classes.tolist()}: correct the label, or name all "
            "classes in classes=."
        )
    known = next(iter(labels.values()), value)
    if isinstance(value, str) != isinstance(known, str):
        raise ValueError(
            f"{value!r} was told where other labels are like {known!r}: give either texts or "
            "numbers."
        )
