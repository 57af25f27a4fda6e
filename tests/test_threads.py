"""Limits on BLAS threads: whoever overlaps, the numbers are put back in the end."""

import threading
from collections import Counter

import pytest

from kinlearn import LSPC, threads
from kinlearn.threads import blas_limited, own_threads


class Library:
    """Stands for a BLAS, whose number of threads is one setting of the process."""

    def __init__(self, num_threads):
        self.num_threads = num_threads

    def set_num_threads(self, num_threads):
        self.num_threads = num_threads


@pytest.fixture
def libraries(monkeypatch):
    found = [Library(4), Library(6)]

    class Controller:
        lib_controllers = found

    monkeypatch.setattr(threads, "_controller", Controller)
    return found


def counts(libraries):
    return [library.num_threads for library in libraries]


def test_overlapping_limits_leave_the_numbers_as_they_were(libraries):
    both_in, first_out = threading.Barrier(2), threading.Event()
    seen = {}

    def first():
        with blas_limited(1):
            both_in.wait()
        seen["first gone"] = counts(libraries)
        first_out.set()

    def second():
        with blas_limited(2):
            both_in.wait()
            first_out.wait()
            seen["second in"] = counts(libraries)

    workers = [threading.Thread(target=first), threading.Thread(target=second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == {"first gone": [2, 2], "second in": [2, 2]}
    assert counts(libraries) == [4, 6]


def test_nested_limits_hold_the_smallest_and_go_one_by_one(libraries):
    with blas_limited(3):
        assert counts(libraries) == [3, 3]
        with blas_limited(1):
            with blas_limited(2):
                assert counts(libraries) == [1, 1]
            assert counts(libraries) == [1, 1]
        assert counts(libraries) == [3, 3]
    assert counts(libraries) == [4, 6]


def test_a_limit_never_raises_the_number(libraries):
    with blas_limited(5):
        assert counts(libraries) == [4, 5]
    assert counts(libraries) == [4, 6]


def test_an_error_inside_puts_the_numbers_back(libraries):
    with pytest.raises(ZeroDivisionError), own_threads():  # noqa: PT012
        assert counts(libraries) == [1, 1]
        1 / 0  # noqa: B018
    assert counts(libraries) == [4, 6]


def test_fits_side_by_side_leave_blas_as_they_found_it(rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    blas = threads._controller().lib_controllers
    if not blas:
        pytest.skip("no BLAS whose threads can be set")
    before = [library.num_threads for library in blas]
    start, outcomes = threading.Barrier(4), Counter()

    def work():
        start.wait()
        for _ in range(5):
            LSPC().fit(X, y)
        outcomes["done"] += 1

    try:
        for library in blas:
            library.set_num_threads(2)
        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert outcomes["done"] == 4
        assert [library.num_threads for library in blas] == [2] * len(blas)
    finally:
        for library, number in zip(blas, before, strict=True):
            library.set_num_threads(number)


def test_limits_hold_whichever_thread_sets_them():
    libraries = threads._controller().lib_controllers
    usual = [library.num_threads for library in libraries]
    seen = []

    def inside():
        with threads.own_threads():
            seen.append([library.num_threads for library in libraries])

    def set_all(numbers):
        for library, number in zip(libraries, numbers, strict=True):
            library.set_num_threads(number)

    set_all([2] * len(libraries))  # this thread is the one that threadpoolctl obeys from now on
    try:
        for _ in range(2):
            other = threading.Thread(target=inside)
            other.start()
            other.join()
        after = [library.num_threads for library in libraries]
    finally:
        set_all(usual)
    assert seen == [[1] * len(libraries)] * 2
    assert after == [2] * len(libraries)
