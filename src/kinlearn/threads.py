"""Threads: our own, with one thread of BLAS each, as many as there are cores to keep busy.

NumPy and SciPy each carry a BLAS with a pool of threads of its own, whose threads wait for each
other by spinning. Where anything else wants the cores (a neighbour, a second process, the quota of
a container) they wait far longer than they work. So BLAS is kept to one thread, and the independent
pieces of a work (widths, degrees of sharing, folds, blocks of rows) go to threads of our own, which
wait for nothing until they are done. How many these are changes no result: what a piece is does not
depend on who works on it, and sums are added in the order of the pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from functools import lru_cache, wraps
from threading import RLock
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from kinlearn.cores import available_cores, available_memory

Item = TypeVar("Item")
Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])

# One decomposition alone has threads of BLAS from this many rows on. With neighbours on all cores,
# two threads took 1.2 times as long as one for a Gram matrix and a Cholesky factorisation of 6500
# rows, 1.7 times for 4000: below, waiting costs more than a further core brings.
THREADED_SIDE = 6000
# What works on pieces side by side take together, of the memory that is free.
MEMORY_SHARE = 0.25
# Arrays of side × side doubles that a decomposition needs at its peak: the matrix, its
# eigenvectors, LAPACK's workspace (two), and the squares that held-out scores are made of.
ARRAYS_AT_WORK = 6
# Seconds that somebody waits for numbers that take microseconds to change.
MOMENT = 0.2


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, so it is done once; NumPy's and SciPy's are loaded
    # by the time anything here is called.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")


class _Guard:
    """A lock that an interrupt at the wrong moment cannot hold for ever.

    What it guards are sums of a few numbers, made in microseconds: who waits longer than a moment
    waits for somebody who was interrupted before the lock was given back, and goes on.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=MOMENT):
            self._lock = RLock()  # nobody will give the old one back
            self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        with suppress(RuntimeError):  # gone on without it
            self._lock.release()


class _Limits:
    """The limits in force, of all threads: BLAS has one setting for the whole process.

    Each limit that put back what it found would, where fits overlap, put back another's limit in
    the end. So the numbers are noted when the first limit comes and put back when the last one
    goes, in whatever order they do; between, the smallest holds.
    """

    def __init__(self) -> None:
        self._lock = _Guard()
        self._active: list[int] = []
        self._found: list[tuple[Any, int]] = []

    def add(self, n_threads: int) -> None:
        with self._lock:
            if not self._active:
                libraries = _controller().lib_controllers
                self._found = [(library, library.num_threads) for library in libraries]
            self._active.append(n_threads)
            self._apply()

    def remove(self, n_threads: int) -> None:
        with self._lock:
            if n_threads in self._active:  # an interrupt may have come before it was added
                self._active.remove(n_threads)
            self._apply()

    def lift(self, n_threads: int) -> bool:
        """Put a higher limit in the place of the only one; return False where there are more."""
        with self._lock:
            if self._active != [1]:
                return False
            self._active = [n_threads]
            self._apply()
            return True

    def lower(self, n_threads: int) -> None:
        """Take back a limit that was lifted to `n_threads`."""
        with self._lock:
            self._active.remove(n_threads)
            self._active.append(1)
            self._apply()

    def found(self) -> int:
        """The number of threads BLAS has without our limits, set by the user or an outer pool."""
        with self._lock:
            counts = (
                [number for _, number in self._found]
                if self._active
                else [library.num_threads for library in _controller().lib_controllers]
            )
        return max(1, min(counts, default=available_cores()))

    def _apply(self) -> None:
        for library, found in self._found:
            # of several threads, threadpoolctl obeys the first one alone, and ignores the others in
            # silence; ours take turns here, whichever thread is the first or the last
            give_up = getattr(library, "clear_controlling_thread", None)
            if give_up is not None:
                give_up(force=True)
            library.set_num_threads(min([found, *self._active]))
            if give_up is not None:
                give_up(force=True)


class _Busy:
    """How many threads of the process are at work here, so that they stay within its cores.

    Threads that come from outside (of a server, of joblib or Dask) count one each and are never
    kept waiting; those we add are as many as there are cores left.
    """

    def __init__(self) -> None:
        self._lock = _Guard()
        self._count = 0

    def take(self, at_most: int) -> int:
        """Add as many threads as there are cores left, and return the number."""
        with self._lock:
            number = max(0, min(at_most, available_cores() - self._count))
            self._count += number
            return number

    def add(self, number: int) -> None:
        with self._lock:
            self._count += number

    @property
    def alone(self) -> bool:
        """Whether one thread is at work."""
        return self._count == 1


_limits = _Limits()
_busy = _Busy()
# Threads that the present one may use, itself included; 0 outside of any work of ours, and a
# negative number inside where nobody has asked yet.
_room: ContextVar[int] = ContextVar("room", default=0)
UNASKED = -1


@contextmanager
def blas_limited(n_threads: int) -> Iterator[None]:
    """Limit every BLAS to `n_threads` for a while, of which a smaller limit makes less."""
    _limits.add(n_threads)
    try:
        yield
    finally:
        _limits.remove(n_threads)


def room() -> int:
    """Return how many threads the present work may use, this one included."""
    given = _room.get()
    return given if given > 0 else min(available_cores(), _limits.found())


@contextmanager
def own_threads(n_jobs: int | None = None) -> Iterator[None]:
    """Do the work inside on threads of our own, with one thread of BLAS each.

    Every fit and prediction goes through here; one inside another adds nothing but its `n_jobs`.

    Parameters
    ----------
    n_jobs : int, optional
        Most threads, as in joblib (-1 for all cores); 1 for none beside the caller's. Left out: as
        many as there are cores and as BLAS had threads, so that ``OMP_NUM_THREADS`` or
        ``threadpool_limits`` set by the user or an outer pool hold for our threads, too. Never more
        than the process has cores.
    """
    inside = _room.get()
    most = inside or UNASKED
    if n_jobs is not None:
        allowed = inside if inside > 0 else available_cores()
        most = max(1, min(allowed, effective_n_jobs(n_jobs)))
    token = _room.set(most)
    try:
        if inside:
            yield
            return
        _busy.add(1)
        try:
            with blas_limited(1):
                yield
        finally:
            _busy.add(-1)
    finally:
        _room.reset(token)


def on_own_threads(method: Method) -> Method:
    """Make a method of an estimator work in :func:`own_threads`, within its ``n_jobs``."""

    @wraps(method)
    def work(self: Any, *args: Any, **kwargs: Any) -> Any:
        with own_threads(getattr(self, "n_jobs", None)):
            return method(self, *args, **kwargs)

    return work  # type: ignore[return-value]


@contextmanager
def side_by_side(
    n_items: int, *, side: int = 0, at_most: int | None = None
) -> Iterator[Callable[[Callable[[Item], Result], Iterable[Item]], Iterable[Result]]]:
    """Give a ``map`` whose items are worked on side by side.

    What it gives for an item must not depend on the other items. It raises what the first item that
    fails raises; items not yet begun are left.

    Parameters
    ----------
    n_items : int
        How many there will be.
    side : int, optional
        Rows of the square matrices that one decomposes: those in work together take at most a
        quarter of the memory that is free. A single one of 6000 rows or more has threads of BLAS.
    at_most : int, optional
        Most items in work at one time.

    Examples
    --------
    >>> with side_by_side(3) as each:
    ...     list(each(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    with own_threads():
        most = room() if n_items > 1 and at_most != 1 else 1
        wanted = min(n_items, most, _most_in_memory(side, most), at_most or most)
        added = _busy.take(wanted - 1) if wanted > 1 else 0
        try:
            if added == 0:
                with threaded_blas(side):
                    yield map
                return
            share = max(1, most // (added + 1))
            with ThreadPoolExecutor(added + 1) as pool:

                def each(
                    function: Callable[[Item], Result], items: Iterable[Item]
                ) -> Iterable[Result]:
                    def work(context: Context, item: Item) -> Result:
                        # NumPy's error state and our own room are part of the caller's context
                        return context.run(_with_room, share, function, item)

                    items = list(items)
                    return pool.map(work, [copy_context() for _ in items], items)

                yield each
        finally:
            _busy.add(-added)


def _with_room(most: int, function: Callable[[Item], Result], item: Item) -> Result:
    _room.set(most)
    return function(item)


def _most_in_memory(side: int, most: int) -> int:
    memory = 8.0 * ARRAYS_AT_WORK * side**2
    if memory * most < 2**28:  # not worth asking
        return most
    return max(1, int(MEMORY_SHARE * available_memory() / memory))


@contextmanager
def threaded_blas(side: int) -> Iterator[None]:
    """Let BLAS share one decomposition of `side` rows, where that is large enough to gain.

    Only inside :func:`own_threads`, and where no other thread is at work there.
    """
    inside = _room.get()
    most = room() if inside and side >= THREADED_SIDE else 1
    if most <= 1 or not _busy.alone or not _limits.lift(most):
        yield
        return
    try:
        yield
    finally:
        _limits.lower(most)
