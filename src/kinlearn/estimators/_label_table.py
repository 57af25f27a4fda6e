"""Reading Y: 0/1 indicators or classes per column, with NaN where a label was not observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class LabelTable:
    """Labels as class numbers.

    Attributes
    ----------
    codes : ndarray of shape (n, T)
        Class number of every row in every label, -1 where unobserved.
    classes : list of T ndarrays
        Classes of each label; 0 and 1 for every indicator.
    names : ndarray of shape (T,)
        Names of the columns, or their numbers.
    indicator : bool
        Whether every observed value is 0 or 1.
    """

    codes: NDArray[np.intp]
    classes: list[np.ndarray]
    names: np.ndarray
    indicator: bool

    @property
    def n_labels(self) -> int:
        return int(self.codes.shape[1])


def is_single_column(Y: Any) -> bool:
    """Whether Y is one-dimensional: a single-label problem, handled as LSPC does."""
    if sp.issparse(Y) or hasattr(Y, "columns"):
        return False
    return np.ndim(Y) == 1 if hasattr(Y, "ndim") else _ndim_of_sequence(Y) == 1


def _ndim_of_sequence(Y: Any) -> int:
    try:
        return np.asarray(Y).ndim
    except ValueError:
        raise ValueError(
            "Y is a list of lists of different lengths: turn sets of labels into indicators first, "
            "for example with sklearn.preprocessing.MultiLabelBinarizer."
        ) from None


def read_labels(Y: Any) -> LabelTable:
    """Read a two-dimensional Y.

    Examples
    --------
    >>> import numpy as np
    >>> table = read_labels([[0, 1], [1, np.nan]])
    >>> table.indicator, table.codes.tolist()
    (True, [[0, 1], [1, -1]])
    >>> [c.tolist() for c in read_labels([[0, 5], [1, 7], [2, 5]]).classes]
    [[0, 1, 2], [5, 7]]
    """
    names = np.asarray(Y.columns, dtype=object) if hasattr(Y, "columns") else None
    values = _as_floats(Y)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"Y has shape {values.shape}, but it must have one row per sample and one column per "
            "label."
        )
    if names is None:
        names = np.arange(values.shape[1])
    observed = ~np.isnan(values)
    _check_whole(values, observed, names)
    known = np.unique(values[observed])
    if np.isin(known, (0.0, 1.0)).all():
        codes = np.where(observed, values, -1.0).astype(np.intp)
        return LabelTable(codes, [np.array([0, 1])] * values.shape[1], names, True)
    codes = np.full(values.shape, -1, dtype=np.intp)
    classes = []
    for t in range(values.shape[1]):
        seen = observed[:, t]
        if not seen.any():
            raise ValueError(
                f"Label {names[t]} has no observed value, so its classes are unknown: drop the "
                "column, or give 0/1 indicators, for which such a label is answered evenly."
            )
        found, codes[seen, t] = np.unique(values[seen, t].astype(np.int64), return_inverse=True)
        classes.append(found)
    return LabelTable(codes, classes, names, False)


def _as_floats(Y: Any) -> Array:
    if sp.issparse(Y):
        return np.asarray(Y.toarray(), dtype=np.float64)
    try:
        return np.asarray(Y, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    if hasattr(Y, "columns"):
        try:  # pandas' nullable integers know NA only through their own conversion
            return np.asarray(Y.astype("float64"), dtype=np.float64)
        except (TypeError, ValueError, AttributeError):
            pass
    sample = np.asarray(Y, dtype=object).ravel()
    odd = next((value for value in sample if not _is_number(value)), sample[0])
    raise ValueError(
        f"Y holds {odd!r}, which is not a number: labels must be 0/1 indicators or integer "
        "classes, NaN where unobserved. Encode other classes first, for example with "
        "sklearn.preprocessing.OrdinalEncoder."
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)


def _check_whole(values: Array, observed: np.ndarray, names: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        odd = observed & (np.isinf(values) | (values != np.rint(values)))
    if not odd.any():
        return
    row, column = (int(i[0]) for i in np.nonzero(odd))
    raise ValueError(
        f"Y holds {values[row, column]:g} in row {row} of label {names[column]}, which is not an "
        "integer: labels must be 0/1 indicators or integer classes, NaN where unobserved."
    )
