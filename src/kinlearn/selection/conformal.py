"""Sets of classes that hold the true one in a given share of cases, from held-out probabilities.

The score of a class y at a row is ``S(x, y) = 1 - p_y(x)``; that of training row i is
``s_i = S^{-i}(x_i, y_i)``, by a model that has not seen it. A class belongs to the set of a new row
unless too many training rows conform better (CV+, Romano, Sesia, Candès 2020)::

    C(x) = { y : #{ i : s_i < S^{-k(i)}(x, y) } < coverage (n + 1) }

with the model that has not seen the fold k(i) of row i. Where all rows were held out by
leave-one-out in closed form, one row hardly moves the model, and ``S`` is that of the model itself
(the jackknife).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]


def own_scores(proba: Array, codes: Index) -> Array:
    """Return the score of every row's own class, ``1 - p_y(x)``."""
    return 1.0 - proba[np.arange(len(codes)), codes]


def conforming(scores: Sequence[Array], new: Sequence[Array], coverage: float) -> NDArray[np.bool_]:
    """Return which classes of new rows belong to their sets.

    Parameters
    ----------
    scores : sequence of K ndarrays
        Held-out scores of the rows of each fold.
    new : sequence of K ndarrays of shape (m, c)
        Scores of all classes of the new rows, by the model without each fold.
    coverage : float
        The share of new rows whose set is to hold the true class.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = np.linspace(0.05, 0.95, 19)  # 18 of 19 + 1 must conform
    >>> conforming([held_out], [np.array([[0.2, 0.89, 0.91]])], 0.9)
    array([[ True,  True, False]])
    """
    n = sum(len(own) for own in scores)
    better = np.zeros(new[0].shape, dtype=np.intp)
    for own, asked in zip(scores, new, strict=True):
        better += np.searchsorted(np.sort(own), asked, side="left")
    # in whole rows, so that 0.9 of 20 is 18 whatever the rounding of the product
    return better < np.ceil(round(coverage * (n + 1), 9))
