"""Decompositions of symmetric matrices that let other threads go on meanwhile.

SciPy's functions hold Python's lock while LAPACK works, so that threads wait for each other;
NumPy's give it up, but compute in double precision whatever they are given, and lack some. SciPy
offers its LAPACK to compiled code, too, by addresses: called through these, the very same routines
run with the lock given up. Where an address is not what is known here, SciPy's function is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cython_lapack

LETTERS = {np.dtype(np.float64): "d", np.dtype(np.float32): "s"}
# What routines take: letters (c), whole numbers (i) and numbers of their precision (x), by address.
ARGUMENTS = {"syevd": "ccixixxiiii", "pstrf": "cixiiixxi", "potrf": "cixii"}


def eigh(A: NDArray, *, overwrite: bool = False) -> tuple[NDArray, NDArray]:
    """Return the ascending eigenvalues of a symmetric matrix, and its eigenvectors as columns.

    By divide and conquer (``syevd``), in the precision of the matrix.

    Parameters
    ----------
    A : ndarray of shape (n, n), of float32 or float64
        A symmetric matrix, both of its triangles filled.
    overwrite : bool, default=False
        Whether the eigenvectors may take the place of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.lapack import eigh
    >>> values, vectors = eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values
    array([1., 3.])
    """
    syevd, n = _routine("syevd", A.dtype), A.shape[0]
    if syevd is None or n == 0:
        return scipy.linalg.eigh(A, driver="evd", overwrite_a=overwrite, check_finite=False)
    vectors, values = _columns(A, overwrite), np.empty(n, dtype=A.dtype)
    # what LAPACK asks for when it is asked; the documentation's bound, where that is rounded
    work, iwork = np.empty(1 + 6 * n + 2 * n * n, dtype=A.dtype), np.empty(3 + 5 * n, np.intc)
    sizes = np.array([n, n, work.size, iwork.size, 0], dtype=np.intc)
    syevd(b"V", b"L", sizes[0:], vectors, sizes[1:], values, work, sizes[2:], iwork, *_tail(sizes))
    if sizes[-1] != 0:
        raise LinAlgError(f"An eigendecomposition of {n} rows did not converge ({sizes[-1]}).")
    return values, vectors


def pivoted_cholesky(A: NDArray[np.float64], tol: float) -> tuple[NDArray, NDArray[np.intp]]:
    """Return L of shape (n, rank), in the order of pivots, and these: ``A[p][:, p] ≈ L Lᵀ``.

    By ``pstrf``, which ends when all that is left of the diagonal is below `tol`.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        A symmetric matrix without negative eigenvalues; overwritten.
    tol : float
        Where to end.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.lapack import pivoted_cholesky
    >>> L, pivots = pivoted_cholesky(np.array([[1.0, 2.0], [2.0, 4.0]]), 1e-9)
    >>> L, pivots
    (array([[2.],
           [1.]]), array([1, 0]))
    """
    pstrf, n = _routine("pstrf", A.dtype), A.shape[0]
    if pstrf is None or n == 0:
        factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(A, tol=tol, lower=1)
    else:
        factor, pivots = _columns(A, overwrite=True), np.empty(n, dtype=np.intc)
        sizes, least = np.array([n, n, 0, 0], dtype=np.intc), np.array([tol])
        work = np.empty(2 * n)
        pstrf(b"L", sizes[0:], factor, sizes[1:], pivots, sizes[2:], least, work, sizes[3:])
        rank = int(sizes[2])
    return np.tril(factor[:, :rank]), pivots.astype(np.intp) - 1


def cholesky_in_place(A: NDArray[np.float64]) -> bool:
    """Put the lower Cholesky factor in the place of a column-ordered matrix's lower triangle.

    Returns
    -------
    bool
        Whether there is one.
    """
    potrf = _routine("potrf", A.dtype)
    if potrf is None or A.shape[0] == 0:
        return scipy.linalg.lapack.dpotrf(A, lower=1, overwrite_a=1, clean=0)[1] == 0
    sizes = np.array([A.shape[0], A.shape[0], 0], dtype=np.intc)
    potrf(b"L", sizes[0:], A, sizes[1:], sizes[2:])
    return bool(sizes[-1] == 0)


def _columns(A: NDArray, overwrite: bool) -> NDArray:
    """The matrix by columns; a symmetric one by rows is its own transpose, and so by columns."""
    turned = A.T if A.flags.c_contiguous else A
    if overwrite and turned.flags.f_contiguous and turned.flags.writeable:
        return turned
    return np.array(A, order="F")


def _tail(sizes: NDArray[np.intc]) -> tuple[NDArray[np.intc], NDArray[np.intc]]:
    return sizes[-2:], sizes[-1:]


@cache
def _routine(name: str, dtype: np.dtype) -> Callable[..., None] | None:
    """A routine of LAPACK for a precision, called with arrays; None where it is not known."""
    letter = LETTERS.get(dtype)
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(f"{letter}{name}")
    if capsule is None:
        return None
    api = ctypes.pythonapi
    said, address = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    said.restype, said.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = said(capsule)
    kinds = {"c": "char *", "i": "int *", "x": f"__pyx_t_5scipy_6linalg_13cython_lapack_{letter} *"}
    wanted = "void ({})".format(", ".join(kinds[kind] for kind in ARGUMENTS[name]))
    if signature.decode() != wanted:
        return None
    types = [ctypes.c_char_p if kind == "c" else ctypes.c_void_p for kind in ARGUMENTS[name]]
    routine: Any = ctypes.CFUNCTYPE(None, *types)(address(capsule, signature))

    def call(*arguments: Any) -> None:
        routine(*(one if isinstance(one, bytes) else one.ctypes.data for one in arguments))

    return call
