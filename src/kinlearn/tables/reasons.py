"""Why a row is handed over: which answers the model cannot choose from, which column is strange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.tables.input_profile import numbers_of

Floats = NDArray[np.float64]

ANSWERED = ""
UNLIKE = "unlike any training row"
NOTHING_PROVEN = "too few rows in training to bound the error of any answer"
UNKNOWN_TASK = "of a task without a bound of its own"
# Strangeness of a cell: up to 1 inside the training's range, where 1 is its end; beyond, how many
# times as far from the middle.
FAR = 2.0
NEW = 1.5
RARE = 0.95
_TELLING = 0.9
_RARE_SHARE = 0.01


def strangest_cells(frame: Any, profile: dict[str, Any]) -> tuple[Floats, NDArray[np.object_]]:
    """Of every row, how strange its strangest cell is, and the column of it.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows as the model's first step gives them.
    profile : dict
        As :func:`kinlearn.tables.input_profile.profile_inputs` makes it.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn.tables.input_profile import profile_inputs
    >>> profile = profile_inputs(pd.DataFrame({"age": [20.0, 40.0, 60.0], "bmi": [20.0, 25, 30]}))
    >>> strangest_cells(pd.DataFrame({"age": [400.0, 41.0], "bmi": [25.0, 29.0]}), profile)
    (array([18. ,  0.8]), array(['age', 'bmi'], dtype=object))
    """
    names = [name for name in profile["columns"] if name in frame.columns]
    if not names:
        return np.zeros(len(frame)), np.full(len(frame), "", dtype=object)
    scores = np.column_stack(
        [
            _of_column(frame[name].to_numpy(), profile["columns"][name], profile["rows"])
            for name in names
        ]
    )
    at = scores.argmax(axis=1)
    return scores[np.arange(len(at)), at], np.array(names, dtype=object)[at]


def _of_column(values: NDArray, usual: dict[str, Any], n_rows: int) -> Floats:
    rarely_missing = usual["missing"] < _RARE_SHARE * max(n_rows, 1)
    if usual["kind"] != "categorical":
        read = numbers_of(values)
        numbers = np.full(len(values), np.nan) if read is None else read
        missing = np.isnan(numbers)
        if "low" not in usual:
            return np.where(missing, 0.0, NEW)
        middle, low, high = usual["quantiles"]["0.5"], usual["low"], usual["high"]
        away = numbers - middle
        reach = np.where(away > 0, high - middle, middle - low)
        # a side without any width is as wide as the other one
        reach = np.where(reach > 0, reach, max(high - low, 1e-300))
        score = np.where(missing, 0.0, np.abs(away) / reach)
    else:
        levels = usual["levels"]
        few = _RARE_SHARE * max(n_rows, 1)
        missing = np.array([not isinstance(value, str) for value in values], dtype=bool)
        known = {name: RARE if n < few else 0.0 for name, n in levels.items()}
        score = np.array([known.get(value, NEW) for value in values.tolist()], dtype=np.float64)
    return np.where(missing, RARE if rarely_missing else 0.0, score)


def unlike(strangeness: Floats, column: NDArray[np.object_]) -> NDArray[np.object_]:
    """Words on rows that are unlike any training row, with the column where one stands out."""
    return np.array(
        [
            f"{UNLIKE}, because of {name}" if score >= _TELLING else f"{UNLIKE}, as a whole"
            for score, name in zip(strangeness, column, strict=True)
        ],
        dtype=object,
    )


def unsure(proba: Floats, names: Sequence[str]) -> NDArray[np.object_]:
    """Words on rows whose two likeliest answers cannot be told apart surely enough.

    Examples
    --------
    >>> import numpy as np
    >>> unsure(np.array([[0.1, 0.5, 0.4]]), ["a", "b", "c"])
    array(['unsure between b and c'], dtype=object)
    """
    first, second = np.sort(np.argsort(-proba, axis=1, kind="stable")[:, :2], axis=1).T
    return np.array(
        [f"unsure between {names[a]} and {names[b]}" for a, b in zip(first, second, strict=True)],
        dtype=object,
    )


def counted(reasons: Counter[str], most: int = 6) -> str:
    """How often each reason was given, in words.

    Examples
    --------
    >>> counted(Counter({"unsure between a and b": 3, "unlike any training row": 1}))
    'unsure between a and b (3); unlike any training row (1)'
    """
    shown = [f"{reason} ({n})" for reason, n in reasons.most_common(most)]
    rest = sum(reasons.values()) - sum(n for _, n in reasons.most_common(most))
    return "; ".join(shown) + (f"; other reasons ({rest})" if rest else "")
