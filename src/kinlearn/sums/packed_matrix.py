"""A symmetric matrix stored once, in the rectangular full packed form of LAPACK.

``m(m+1)/2`` numbers instead of ``m²``, at the speed of full storage: the packed array is cut into
two triangles and a rectangle that matrix products work on as they are. Sums and differences of such
matrices are sums and differences of the arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kinlearn.sums.gram import LEAST_ROWS, PRODUCT_BYTES, gram

Array = NDArray[np.float64]


def packed_zeros(size: int) -> Array:
    """The packed zero matrix."""
    return np.zeros(size * (size + 1) // 2)


def add_gram(packed: Array, rows: Array, sign: float = 1.0) -> Array:
    """Add ``sign · rowsᵀ rows`` in place; rows are an array (n, m) in C order.

    Examples
    --------
    >>> import numpy as np
    >>> total = add_gram(packed_zeros(2), np.array([[1.0, 2.0]]))
    >>> symmetric(total, 2)
    array([[1., 2.],
           [2., 4.]])
    """
    n_rows, size = rows.shape
    if n_rows == 0:
        return packed
    # packing a product takes longer than adding fewer rows to the packed form as it is
    if n_rows >= LEAST_ROWS and 8 * size**2 <= PRODUCT_BYTES:
        product, _ = lapack.dtrttf(gram(rows).T)
        packed += sign * product
        return packed
    found: Array = lapack.dsfrk(
        size, n_rows, sign, np.ascontiguousarray(rows).T, 1.0, packed, overwrite_c=1
    )
    return found


def upper_triangle(packed: Array, size: int) -> Array:
    """The upper triangle as a full array in Fortran order, zeros below."""
    triangle, _ = lapack.dtfttr(size, packed)
    return np.triu(triangle) if size == 1 else triangle


def symmetric(packed: Array, size: int) -> Array:
    """The full symmetric matrix."""
    triangle = upper_triangle(packed, size)
    full: Array = triangle + np.triu(triangle, 1).T
    return full
