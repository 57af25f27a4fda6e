"""Threads of the linear algebra libraries: how many there are, and keeping them apart.

NumPy and SciPy each carry a BLAS with a pool of threads of its own. Working side by side, or inside
our own threads, they fight for the cores; the limits here keep to one level of parallelism.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

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


class _Limits:
    """The limits in force, of all threads: BLAS has one setting for the whole process.

    Each limit that put back what it found would, where fits overlap, put back another's limit in
    the end. So the numbers are noted when the first limit comes and put back when the last one
    goes, in whatever order they do; between, the smallest holds.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._active: list[int] = []
        self._found: list[tuple[Any, int]] = []

    def add(self, n_threads: int) -> None:
        with self._lock:
            if not self._active:
                libraries = _controller().select(user_api="blas").lib_controllers
                self._found = [(library, library.num_threads) for library in libraries]
            self._active.append(n_threads)
            self._apply()

    def remove(self, n_threads: int) -> None:
        with self._lock:
            self._active.remove(n_threads)
            self._apply()

    def _apply(self) -> None:
        for library, found in self._found:
            library.set_num_threads(min([found, *self._active]))


_limits = _Limits()


@contextmanager
def blas_limited(n_threads: int) -> Iterator[None]:
    """Limit every BLAS to `n_threads` for a while, of which a smaller limit makes less."""
    _limits.add(n_threads)
    try:
        yield
    finally:
        _limits.remove(n_threads)


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
