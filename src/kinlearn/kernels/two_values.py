"""L1 distances over columns in which all centres have one value, or two.

A category written as 0 and 1 adds ``|v - u|`` to a distance where row and centre differ. With ``a``
and ``b`` saying which of the two values they have, and ``s = |v - u|``, that is ``s(a + b - 2ab)``:
over all such columns one matrix product, in place of a difference for every row, centre and column.
Where all centres have one value, a column adds the same to the distances to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# With fewer columns of this kind, differences are as quick.
LEAST_COLUMNS = 16


@dataclass(frozen=True)
class TwoValues:
    """The columns of some centres that have at most two values.

    Attributes
    ----------
    columns : ndarray of shape (p,)
        Their positions, and those of `others`.
    others : ndarray
    low, high : ndarray of shape (p,)
        The two values; the same one twice where there is only one.
    is_high : ndarray of shape (m, p)
        Which of them a centre has, times ``|high - low|``.
    """

    columns: NDArray[np.intp]
    others: NDArray[np.intp]
    low: Array
    high: Array
    is_high: Array

    @classmethod
    def of(cls, centers: Array) -> TwoValues | None:
        """Find them; None where they are too few to be worth it."""
        if not centers.shape[0] or centers.shape[1] < LEAST_COLUMNS:
            return None
        low, high = centers.min(axis=0), centers.max(axis=0)
        few = ((centers == low) | (centers == high)).all(axis=0)
        if few.sum() < LEAST_COLUMNS:
            return None
        columns = np.flatnonzero(few)
        low, high = low[columns], high[columns]
        is_high = np.where(centers[:, columns] == low, 0.0, high - low)
        return cls(columns, np.flatnonzero(~few), low, high, is_high)

    def known(self, X: Array) -> NDArray[np.bool_]:
        """Which rows have the same two values in columns of two."""
        own = X[:, self.columns]
        found: NDArray[np.bool_] = (
            (own == self.low) | (own == self.high) | (self.low == self.high)
        ).all(axis=1)
        return found

    def distances(self, X: Array) -> Array:
        """Return the part of the distances that these columns make, for rows that are known.

        Examples
        --------
        >>> centers = np.eye(16)[:3]
        >>> TwoValues.of(centers).distances(centers)
        array([[0., 2., 2.],
               [2., 0., 2.],
               [2., 2., 0.]])
        """
        own = X[:, self.columns]
        # |x - low| is the same towards all centres; so is the whole of a column of one value
        away = np.abs(own - self.low).sum(axis=1)
        high = np.where((own == self.high) & (self.low != self.high), 1.0, 0.0)
        # a + b - 2ab as one product
        rows = np.column_stack([high, away, np.ones(len(X))])
        ones, total = np.ones(len(self.is_high)), self.is_high.sum(axis=1)
        found: Array = rows @ np.column_stack([-2.0 * self.is_high, ones, total]).T
        return np.maximum(found, 0.0, out=found)
