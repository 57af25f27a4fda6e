"""Arrays from bytes: what a header claims is compared with what there is, indices with bounds."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.archives.errors import KinFileError

# Kinds of arrays written as they are: numbers, fixed-length text, dates. Never Python objects.
ARRAY_KINDS = "biufcUSMm"
MAX_HEADER = 4096
NUMBERS = "biuf"
_SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
}


def read_npy(content: bytes, name: str, kinds: str) -> np.ndarray:
    """Return the array of an ``.npy`` file, in memory of its own.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        What errors call the array.
    kinds : str
        The kinds of types that are allowed, as in ``dtype.kind``.
    """
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise KinFileError(f"the header of its array {name} is of a kind never written")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=MAX_HEADER)
    if dtype.kind not in kinds or dtype.itemsize == 0:
        raise KinFileError(f"its array {name} is of the type {dtype}, which is not allowed")
    count = 1
    for length in shape:
        count *= max(length, 0)
    if count * dtype.itemsize != len(content) - stream.tell():
        raise KinFileError(f"its array {name} is not of the size that its header claims")
    values = np.frombuffer(content, dtype=dtype, offset=stream.tell(), count=count)
    return values.reshape(shape, order="F" if fortran else "C").copy(order="K")


def sparse_matrix(
    kind: str, shape: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> Any:
    """Return a sparse matrix whose every index is inside it: compiled code trusts them.

    Parameters
    ----------
    kind : {"csr_matrix", "csc_matrix", "csr_array", "csc_array"}
    shape : pair of int
    data, indices, indptr : ndarrays
        As scipy names them.

    Examples
    --------
    >>> import numpy as np
    >>> one, start = np.array([1.0]), np.array([0, 1])
    >>> sparse_matrix("csr_matrix", (1, 3), one, np.array([2]), start).toarray()
    array([[0., 0., 1.]])
    >>> sparse_matrix("csr_matrix", (1, 3), one, np.array([3]), start)
    Traceback (most recent call last):
        ...
    kinlearn.archives.errors.KinFileError: it holds a sparse matrix that does not fit together...
    """
    parts = (data, indices, indptr)
    whole = all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts)
    if not whole or data.dtype.kind not in NUMBERS or {p.dtype.kind for p in parts[1:]} - set("iu"):
        raise KinFileError("it holds a sparse matrix that is not made of arrays of numbers")
    try:
        made = _SPARSE[kind](parts, shape=tuple(shape))
        made.check_format(full_check=True)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise KinFileError(
            f"it holds a sparse matrix that does not fit together ({error})"
        ) from None
    return made
