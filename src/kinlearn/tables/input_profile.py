"""What a model remembers of the rows it was trained on: every column's range, shape and gaps.

Plain values, kept in the model file, so that :mod:`kinlearn.tables.input_check` can say of other
rows whether they are of the same kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.optional import require

Floats = NDArray[np.float64]

# Inner cuts of a numeric column's bins.
DECILES = tuple(k / 10 for k in range(1, 10))
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MAX_LEVELS = 1000
# So many smallest hashes of rows tell the training rows again.
N_HASHES = 256
# Of a model file that remembers nothing.
NOTHING_KNOWN: dict[str, Any] = {
    "rows": 0,
    "rows_per_case": 1.0,
    "columns": {},
    "answers": {},
    "sketch": {"distinct": 0.0, "hashes": []},
}


def profile_inputs(
    frame: Any,
    *,
    groups: NDArray | None = None,
    answers: dict[str, Floats] | None = None,
) -> dict[str, Any]:
    """Return what is to be remembered of the rows of `frame`.

    Parameters
    ----------
    frame : pandas.DataFrame
        Training rows as the model's first step gives them: floats with NaN, texts with NaN.
    groups : ndarray of shape (n,), optional
        Rows of one group are no independent cases.
    answers : dict of str to ndarray, optional
        Held-out probabilities of each class or label.

    Returns
    -------
    dict
        Plain values, for :class:`kinlearn.tables.input_check.InputCheck`.

    Examples
    --------
    >>> import pandas as pd
    >>> found = profile_inputs(pd.DataFrame({"age": [20.0, 30.0, None], "sex": ["f", "m", "m"]}))
    >>> found["columns"]["age"]["low"], found["columns"]["age"]["missing"]
    (20.0, 1)
    >>> found["columns"]["sex"]["levels"]
    {'m': 2, 'f': 1}
    """
    return {
        "rows": len(frame),
        "rows_per_case": _rows_per_case(groups),
        "columns": {str(name): _profile(frame[name].to_numpy()) for name in frame.columns},
        "answers": {
            name: {"mean": float(np.mean(p)), "deviation": float(np.std(p))}
            for name, p in (answers or {}).items()
            if len(p)
        },
        "sketch": _sketch(frame),
    }


def numbers_of(values: NDArray) -> Floats | None:
    """A column as floats, NaN where missing: dates as days since 1970; None for texts.

    Examples
    --------
    >>> import numpy as np
    >>> numbers_of(np.array(["1970-01-03", "NaT"], dtype="datetime64[D]"))
    array([ 2., nan])
    >>> numbers_of(np.array(["a"], dtype=object)) is None
    True
    """
    if values.dtype.kind == "M":
        days = values.astype("datetime64[s]").astype(np.float64) / 86_400.0
        return np.where(np.isnat(values), np.nan, days)
    return values.astype(np.float64) if values.dtype.kind in "fiu" else None


def _profile(values: NDArray) -> dict[str, Any]:
    numbers = numbers_of(values)
    if numbers is None:
        return _texts(values)
    return {**_numbers(numbers), "kind": "date" if values.dtype.kind == "M" else "numeric"}


def _numbers(values: Floats) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    found: dict[str, Any] = {"missing": len(values) - len(known)}
    if len(known) == 0:
        return found
    edges = np.unique(np.quantile(known, DECILES, method="inverted_cdf"))
    return {
        **found,
        "low": float(known.min()),
        "high": float(known.max()),
        "quantiles": dict(
            zip(map(str, QUANTILES), np.quantile(known, QUANTILES).tolist(), strict=True)
        ),
        "edges": edges.tolist(),
        "counts": counts_in(edges, known).tolist(),
    }


def counts_in(edges: Floats, known: Floats) -> NDArray[np.int64]:
    """Rows in each bin: up to the first edge, between edges (the upper one included), above."""
    bins = np.searchsorted(edges, known, side="left")
    return np.bincount(bins, minlength=len(edges) + 1).astype(np.int64)


def _texts(values: NDArray) -> dict[str, Any]:
    pandas = require("pandas", "Reading a table")
    counts = pandas.Series(values).dropna().astype(str).value_counts()
    kept = counts.iloc[:MAX_LEVELS]
    return {
        "kind": "categorical",
        "missing": int(len(values) - counts.sum()),
        "levels": {str(name): int(n) for name, n in kept.items()},
        "rest": int(counts.sum() - kept.sum()),
    }


def _rows_per_case(groups: NDArray | None) -> float:
    """The size of the group that an average row is in."""
    if groups is None or len(groups) == 0:
        return 1.0
    sizes = np.unique(groups, return_counts=True)[1].astype(np.float64)
    return float(np.square(sizes).sum() / sizes.sum())


def row_hashes(frame: Any) -> NDArray[np.uint64]:
    """A number for each row that depends on its cells alone."""
    pandas = require("pandas", "Reading a table")
    return np.asarray(pandas.util.hash_pandas_object(frame, index=False), dtype=np.uint64)


def _sketch(frame: Any) -> dict[str, Any]:
    """The smallest hashes of the rows; texts, for JSON's numbers lose the last digits."""
    hashes = np.unique(row_hashes(frame))
    return {
        "distinct": len(hashes) / max(len(frame), 1),
        "hashes": [f"{value:016x}" for value in hashes[:N_HASHES].tolist()],
    }
