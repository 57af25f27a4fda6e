"""Labels as they were given: classes, or columns of 0/1 indicators or classes, NaN unobserved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

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
    single : bool
        Whether they were given one-dimensional: one label, whose classes may be of any type.
    """

    codes: NDArray[np.intp]
    classes: list[np.ndarray]
    names: np.ndarray
    indicator: bool
    single: bool = False

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


def read_classes(y: Any, estimator_name: str) -> LabelTable:
    """Read a one-dimensional y as the one label that it is.

    Examples
    --------
    >>> read_classes(["b", "a", "b"], "LSPC").codes.ravel()
    array([1, 0, 1])
    """
    refuse_mixed_labels(y)
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{estimator_name} needs at least two classes, but y holds one class only: "
            f"{classes[0]!r}."
        )
    return LabelTable(codes.reshape(-1, 1), [classes], np.arange(1), False, single=True)


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
    >>> from kinlearn.training.label_table import refuse_mixed_labels
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
