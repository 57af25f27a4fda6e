"""The median heuristic for a kernel's width."""

from __future__ import annotations

import numpy as np

from kinlearn.kernels.library import Kernel
from kinlearn.kernels.measures import Rows

MEDIAN_ROWS = 2000


def median_width(
    X: Rows,
    kernel: Kernel,
    order: np.ndarray | None = None,
    max_rows: int = MEDIAN_ROWS,
) -> float:
    """Return the median distance between distinct rows, in the kernel's own measure.

    Exact up to `max_rows` rows; beyond that, of that many rows evenly spread over `order`, so that
    the answer depends neither on chance nor on how the data are shuffled. Kernels without a width,
    and a single distinct row, give 1.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows.
    kernel : Kernel
        Which kernel.
    order : ndarray of shape (n,), optional
        An order of the rows.
    max_rows : int
        Bound on the rows looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels import median_width, resolve_kernel
    >>> median_width(np.array([[0.0], [1.0], [3.0]]), resolve_kernel("rbf"))
    2.0
    """
    n_rows = X.shape[0]
    if not kernel.has_width or n_rows < 2:
        return 1.0
    if n_rows > max_rows:
        spread = np.linspace(0, n_rows - 1, max_rows).astype(np.intp)
        X = X[spread if order is None else order[spread]]
    distances = kernel.width_measure(X).square()
    pairs = distances[np.tri(distances.shape[0], k=-1, dtype=bool)]
    median = float(np.median(pairs, overwrite_input=True))
    if median <= 0.0:  # rows that differ by less than the arithmetic can tell
        positive = pairs[pairs > 0.0]
        if positive.size == 0:
            return 1.0
        median = float(positive.mean())
    return median**kernel.width_power
