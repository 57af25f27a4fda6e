"""A cell in a process of its own: its peak memory is its own, and it can be stopped."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from kinlearn_experiments.bench.journal import Key

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# What ends a process that has used up its processor time; Windows has no such thing.
SPENT = getattr(signal, "SIGXCPU", None)
LONGEST_REASON = 200
# The limit is on processor time, which a busy machine does not spend; a cell that waits for ever is
# stopped after so many times that by the clock.
PATIENCE = 10.0


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Let libraries that children load start with one thread, and put back what was set before."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def context() -> Any:
    """Children are forked from a clean process that has imported everything, where possible.

    So a child starts within hundredths of a second, and its memory is that of its cell.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        chosen = multiprocessing.get_context("forkserver")
        chosen.set_forkserver_preload(["kinlearn_experiments.bench.worker"])
        return chosen
    return multiprocessing.get_context("spawn")


def run_cell(key: Key, limit: float) -> dict[str, Any]:
    """Measure a cell in a child; a child that fails, dies or takes too long gives a reason instead.

    Parameters
    ----------
    key : Key
    limit : float
        Processor seconds after which the child is stopped (of the clock, where processor time
        cannot be limited).
    """
    processes = context()
    receiver, sender = processes.Pipe(duplex=False)
    child = processes.Process(target=_answer, args=(sender, key, limit), daemon=True)
    child.start()
    sender.close()
    too_long = {"status": "timeout", "reason": f"not finished after {limit:g} s"}
    try:
        if not receiver.poll(limit * (PATIENCE if SPENT is not None else 1.0)):
            return too_long
        found: dict[str, Any] = receiver.recv()
        return found
    except EOFError:
        child.join()
        if SPENT is not None and child.exitcode == -SPENT:
            return too_long
        return {"status": "failed", "reason": f"its process ended with code {child.exitcode}"}
    finally:
        child.kill()
        child.join()
        receiver.close()


def _answer(sender: Connection, key: Key, limit: float) -> None:
    # Ctrl-C is for the parent, which then ends its child without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if SPENT is not None:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        # Linux ends the process with this signal at the soft limit.
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit + time.process_time()), hard))
    from kinlearn_experiments.bench.worker import measure

    try:
        found = {"status": "done"} | measure(key)
    except Exception as error:
        sentence = " ".join(f"{type(error).__name__}: {error}".split())
        found = {"status": "failed", "reason": sentence[:LONGEST_REASON]}
    sender.send(found)


def _end_with_parent() -> None:
    """A cell that nobody waits for any more must not keep a core busy."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        time.sleep(0.5)  # an answer under way may still be sent
        os._exit(1)
