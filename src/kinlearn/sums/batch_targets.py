"""What a batch of labels is: classes of one label, or indicators of many, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from kinlearn.sums.row_hash import Hashes, name_salt, scramble
from kinlearn.training.label_table import refuse_mixed_labels

Array = NDArray[np.float64]
ALL = "all rows"  # name of the column of ones that indicators need beside them


@dataclass(frozen=True)
class BatchTargets:
    """Targets of a batch of rows.

    Attributes
    ----------
    kind : {"classes", "labels"}
    names : list
        Classes of the batch, or names of its labels.
    codes : ndarray of shape (n,) or None
        Class numbers of the rows.
    indicators : ndarray of shape (n, T) or None
        0/1 labels of the rows.
    from_objects : bool
        Whether classes came as Python objects, and go out as such.
    """

    kind: str
    names: list[Any]
    codes: NDArray[np.intp] | None
    indicators: Array | None
    from_objects: bool = False

    def take(self, rows: NDArray[np.intp]) -> BatchTargets:
        """Some of the rows."""
        codes = None if self.codes is None else self.codes[rows]
        indicators = None if self.indicators is None else self.indicators[rows]
        return BatchTargets(self.kind, self.names, codes, indicators, self.from_objects)

    def dense(self, rows: NDArray[np.intp], columns: NDArray[np.intp], n_columns: int) -> Array:
        """Z of some rows, the batch's names standing at `columns`; indicators lead with ones."""
        Z = np.zeros((rows.size, n_columns))
        if self.codes is not None:
            Z[np.arange(rows.size), columns[self.codes[rows]]] = 1.0
            return Z
        assert self.indicators is not None
        Z[:, 0] = 1.0
        Z[:, columns] = self.indicators[rows]
        return Z

    def salts(self, rows: NDArray[np.intp]) -> Hashes:
        """What tells equal rows of different labels apart; a label that is off adds nothing."""
        names = scramble(np.array([name_salt(name) for name in self.names], dtype=np.uint64))
        if self.codes is not None:
            return names[self.codes[rows]]
        assert self.indicators is not None
        return (self.indicators[rows].astype(np.uint64) * names).sum(axis=1, dtype=np.uint64)


def read_targets(y: Any) -> BatchTargets:
    """Read one batch of labels: one-dimensional classes, or a table of 0/1 indicators.

    Examples
    --------
    >>> read_targets(["b", "a", "b"]).names
    ['a', 'b']
    >>> read_targets([[0, 1], [1, 1]]).indicators
    array([[0., 1.],
           [1., 1.]])
    """
    if _is_table(y):
        return _read_indicators(y)
    refuse_mixed_labels(y)
    y = column_or_1d(y, warn=True)
    if y.size:
        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return BatchTargets(
        "classes", classes.tolist(), codes.ravel().astype(np.intp), None, y.dtype == object
    )


def _is_table(y: Any) -> bool:
    if sp.issparse(y) or hasattr(y, "columns"):
        return True
    shape = np.shape(y)
    return len(shape) == 2 and shape[1] != 1


def _read_indicators(Y: Any) -> BatchTargets:
    names = list(Y.columns) if hasattr(Y, "columns") else None
    values = Y.toarray() if sp.issparse(Y) else Y
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "Y has several columns, some of which are not numbers: sums over rows need 0/1 "
            "indicators, one column a label."
        ) from None
    if np.isnan(values).any():
        raise ValueError(
            "Y holds NaN: sums over rows need every label observed. Fit MultiLabelLSPC on the rows "
            "at once, which allows for unobserved labels, or leave these rows out."
        )
    odd = (values != 0.0) & (values != 1.0)
    if odd.any():
        row, column = (int(i[0]) for i in np.nonzero(odd))
        raise ValueError(
            f"Y holds {values[row, column]:g} in row {row} of column {column}: sums over rows need "
            "0/1 indicators, one column a label. For one label of several classes pass a "
            "one-dimensional y."
        )
    if names is None:
        names = list(range(values.shape[1]))
    return BatchTargets("labels", names, None, values)


def sorted_names(names: list[Any], as_objects: bool) -> tuple[NDArray, NDArray[np.intp]]:
    """Class names in order, as an array, and where each stands among `names`."""
    array = np.array(names, dtype=object if as_objects else None)
    order = np.argsort(array, kind="stable")
    return array[order], order


def check_kinds(known: list[Any], new: list[Any]) -> None:
    """Raise when strings meet numbers among classes."""
    if known and new and isinstance(known[0], str) != isinstance(new[0], str):
        raise ValueError(
            f"Classes so far are like {known[0]!r}, but these are like {new[0]!r}: make all labels "
            "strings or all numbers."
        )
