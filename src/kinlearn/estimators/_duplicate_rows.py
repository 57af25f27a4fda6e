"""Copies of rows in a table as it was passed, of whatever kind its columns are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import zeta

from kinlearn.kernels.measures import Rows
from kinlearn.training.copies import find_distinct_rows, find_units

# A common divisor of counts that chance makes less often than this means copies.
_SELDOM = 0.02


def find_copies(X: Any, y: Any) -> tuple[float, NDArray[np.intp] | None]:
    """Return how many times a table holds everything, and which rows are one thing seen twice.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Labels.

    Returns
    -------
    copies : float
        The number that all rows with their labels occur in multiples of, where chance does not
        make it: 2 for a table joined to itself.
    same_thing : ndarray of shape (n,) or None
        Where equal rows are one thing seen more than once
        (:func:`kinlearn.training.copies.are_one_thing`), the number of each row's distinct row;
        None where equal rows are different cases.
    """
    numbers = _as_numbers(X)
    if numbers is None or numbers.shape[0] == 0:
        return 1.0, None
    rows = find_distinct_rows(numbers)
    if rows.n_distinct == numbers.shape[0]:
        return 1.0, None
    kinds = np.unique(np.asarray(y).astype(str), return_inverse=True)[1].ravel()
    units = find_units(rows, kinds, X=numbers[rows.first])
    if units.together:
        return 1.0, rows.member
    copies = float(units.one[0])
    return 1.0 if _comes_by_chance(copies, len(units.mass)) else copies, None


def _comes_by_chance(divisor: float, n_counts: int) -> bool:
    """Whether so many random whole numbers have a common divisor as large, once in a while.

    ``P(gcd >= g) = Σ_{h>=g} h^-k / ζ(k)`` of k numbers: 225 and 275 rows are no table of 25 copies.
    """
    return n_counts < 2 or bool(zeta(n_counts, divisor) > _SELDOM * zeta(n_counts))


def _as_numbers(X: Any) -> Rows | None:
    """The table as numbers that are equal where its cells are; None where it cannot be read."""
    if sp.issparse(X):
        return sp.csr_matrix(X)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        columns = [np.asarray(X.iloc[:, j]) for j in range(X.shape[1])]
    else:
        cells = np.asarray(X)
        if cells.ndim != 2:
            return None
        if cells.dtype.kind in "biuf":
            return cells.astype(np.float64)
        columns = list(cells.T)
    return np.column_stack([_codes(column) for column in columns]) if columns else None


def _codes(column: NDArray) -> NDArray[np.float64]:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return np.unique(column.astype(str), return_inverse=True)[1].ravel().astype(np.float64)
