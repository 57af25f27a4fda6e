"""One cell, measured: draw the split, fit, predict, and tell how well and at what cost."""

from __future__ import annotations

import contextlib
import importlib
import time
import warnings
from typing import Any

from threadpoolctl import threadpool_limits

from kinlearn_experiments.bench.journal import Key
from kinlearn_experiments.bench.memory import PeakMemory
from kinlearn_experiments.bench.qualities import qualities
from kinlearn_experiments.bench.suites import SUITES
from kinlearn_experiments.results import finite

# Imported before the first cell, so that no cell pays for it.
for _package in ("lightgbm", "catboost", "lsanomaly", "scipy.io"):
    # One that is broken fails in its own cells, with the reason.
    with contextlib.suppress(ImportError):
        importlib.import_module(_package)

# A prediction that takes less is repeated, and the mean counts: the clock of the processor jumps.
SHORT_SECONDS = 0.1
REPEATS = 5


def measure(key: Key) -> dict[str, Any]:
    """Fit and score one method on one split, on one thread.

    Times are of the whole tuned fit and of one prediction of all test rows: wall seconds, and
    processor seconds, which on one thread do not see what else the machine is doing.
    """
    suite = SUITES[key.suite]
    problem = suite.data_set(key.data).draw(key.size, key.seed)
    model = suite.method(key.method).make(problem)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = PeakMemory()
        start = _now()
        suite.fit(model, problem)
        fit = _since(start)
        start = _now()
        for repeats in range(1, REPEATS + 1):
            proba = suite.predict(model, problem)
            wall, processor = _since(start)
            predict = wall / repeats, processor / repeats
            if processor > SHORT_SECONDS:
                break
        megabytes = memory.megabytes()
    return {
        **{name: finite(value, 6) for name, value in qualities(problem.truth, proba).items()},
        "fit_seconds": finite(fit[0], 4),
        "fit_cpu_seconds": finite(fit[1], 4),
        "predict_seconds": finite(predict[0], 4),
        "predict_cpu_seconds": finite(predict[1], 4),
        "peak_mb": None if megabytes is None else finite(megabytes, 3),
        "n_train": problem.n_train,
        "n_test": sum(len(codes) for codes in problem.truth),
    }


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(start: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - start[0], time.process_time() - start[1]
