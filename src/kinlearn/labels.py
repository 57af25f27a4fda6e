"""Labels as they were given, before NumPy makes them all of one type."""

from __future__ import annotations

from typing import Any

import numpy as np


def refuse_mixed_labels(y: Any, name: str = "y") -> None:
    """Raise where strings and other things stand side by side.

    ``np.asarray([1, "a"])`` makes ``"1"`` of the number, and in an array of objects the two cannot
    be ordered. An array whose type is not object is of one kind, or can no longer tell.

    Parameters
    ----------
    y : array-like
        Labels, or a table of such, which has checks of its own.
    name : str
        What the person called it.

    Examples
    --------
    >>> from kinlearn.labels import refuse_mixed_labels
    >>> refuse_mixed_labels(["a", "b"])
    >>> refuse_mixed_labels([1, "a"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: y mixes labels that cannot be ordered (int, str), such as 1 and 'a': make all...
    """
    if isinstance(y, (list, tuple)):
        values: Any = y
    elif getattr(getattr(y, "dtype", None), "kind", "") == "O" and y.ndim == 1:
        values = np.asarray(y, dtype=object)
    else:
        return
    examples: dict[type, Any] = {}
    for value in values:
        examples.setdefault(type(value), value)
    texts = [value for kind, value in examples.items() if issubclass(kind, str)]
    others = [value for kind, value in examples.items() if not issubclass(kind, str)]
    if texts and others:
        kinds = ", ".join(sorted(kind.__name__ for kind in examples))
        raise ValueError(
            f"{name} mixes labels that cannot be ordered ({kinds}), such as {others[0]!r} and "
            f"{texts[0]!r}: make all labels strings or all numbers, and leave out rows whose label "
            "is missing."
        )
