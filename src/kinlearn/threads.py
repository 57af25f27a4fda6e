"""Threads of the linear algebra libraries: how many there are, and keeping them apart.

NumPy and SciPy each carry a BLAS with a pool of threads of its own. Working side by side, or inside
our own threads, they fight for the cores; the limits here keep to one level of parallelism.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, so it is done once; NumPy's and SciPy's are loaded
    # by the time anything here is called.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def blas_threads() -> int:
    """Return the number of threads BLAS may use now, as set by the user or an outer pool."""
    counts = [lib.num_threads for lib in _controller().select(user_api="blas").lib_controllers]
    return max(1, min(counts, default=1))


@contextmanager
def blas_limited(n_threads: int) -> Iterator[None]:
    """Limit every BLAS to `n_threads` for a while."""
    with _controller().limit(limits=n_threads, user_api="blas"):
        yield


# A second thread gains nothing on matrices of fewer rows, and loses a lot on a busy machine.
THREADED_ROWS = 600


@contextmanager
def blas_for_rows(n_rows: int) -> Iterator[None]:
    """Keep BLAS to one thread while matrices are too small to share."""
    if n_rows >= THREADED_ROWS:
        yield
        return
    with single_threaded_blas():
        yield


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit every BLAS to one thread while our own threads do the work."""
    with blas_limited(1):
        yield
