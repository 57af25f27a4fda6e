"""``PhiᵀPhi`` over many rows, on all cores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.threads import side_by_side

Array = NDArray[np.float64]

# Products, one for each part of the rows, may take this much.
PRODUCT_BYTES = 128 << 20
# A part of fewer rows takes longer to add than to multiply.
LEAST_ROWS = 256
# More parts than this would take longer to add up than they save.
MOST_PARTS = 8


def gram(rows: Array) -> Array:
    """Return ``rowsᵀ rows``, added up over parts of the rows that threads work on side by side.

    Parameters
    ----------
    rows : ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> gram(np.array([[1.0, 2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    n_rows, size = rows.shape
    n_parts = min(MOST_PARTS, n_rows // LEAST_ROWS, PRODUCT_BYTES // (8 * size**2))
    parts = np.array_split(rows, max(1, n_parts))
    with side_by_side(len(parts)) as each:
        products = list(each(lambda part: np.asarray(part.T @ part), parts))
    total: Array = products[0]
    for product in products[1:]:
        total += product
    return total
