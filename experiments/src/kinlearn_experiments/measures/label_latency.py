"""From a key to the next row: how long somebody who labels waits, the model being exact.

A studio over a table of 5,000 rows of 50 columns, of which some are labelled, gets a key after each
row. *Exact*: it waits for the exact fit on all labels, however long that takes, through its session
or as the page does (HTTP on this computer). *As it is*: it waits no longer than it does for people,
and rows that come from the exact fit are counted::

    python -m kinlearn_experiments.measures.label_latency [--labels 500 3000]

Times are wall time of this machine as it was, and processor time, which does not see what else the
machine is doing. Beside them one full refit of scikit-learn's GaussianProcessClassifier and of a
calibrated SVC to the same labelled rows, with their answers for all rows. Writes
``results/label_latency.json``.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kinlearn.studio import session
from kinlearn.studio.server import listen, make_app, make_server
from kinlearn.studio.start import Asked, Studio, start
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

ROWS, COLUMNS = 5_000, 50
LABELS = (500, 3_000)
# A gap in which nobody answers: somebody reads the row.
PAUSE = 1.0
WAYS = ("exact, session", "exact, HTTP", "as it is, session")
FOR_EVER = 600.0
WHO, SEAT = "me", "a"


def made_table(path: Path, rows: int, columns: int, given: int) -> list[str]:
    """Write a table whose first rows are labelled, and return the labels of all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    score = X @ rng.standard_normal(columns) / np.sqrt(columns) + 0.5 * np.sin(2 * X[:, 0])
    truth = np.where(score + 0.3 * rng.standard_normal(rows) > 0, "yes", "no").tolist()
    with path.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream)
        lines.writerow([*(f"c{k}" for k in range(columns)), "label"])
        for k, row in enumerate(X.tolist()):
            lines.writerow([*(f"{value:.6g}" for value in row), truth[k] if k < given else ""])
    return truth


class Inside:
    """Asks the session itself."""

    def __init__(self, studio: Studio) -> None:
        self.session = studio.session

    def now(self) -> int:
        """The row that is shown."""
        return int(self.session.now(WHO, SEAT)["row"]["row"])

    def answer(self, row: int, value: str) -> None:
        """A key."""
        self.session.answer(WHO, SEAT, "label", row, value)


class OverHttp:
    """Asks as the page does."""

    def __init__(self, address: str) -> None:
        self.address, self.origin = address, address.rsplit("/", 2)[0]

    def _ask(self, name: str, **given: Any) -> Any:
        data = json.dumps(given).encode() if given else None
        kind = {"Content-Type": "application/json", "Origin": self.origin} if given else {}
        request = urllib.request.Request(self.address + name, data=data, headers=kind)
        with urllib.request.urlopen(request, timeout=120) as found:
            return json.load(found)

    def now(self) -> int:
        """The row that is shown."""
        return int(self._ask(f"api/now?seat={SEAT}&queue=label&order=no")["row"]["row"])

    def answer(self, row: int, value: str) -> None:
        """A key."""
        self._ask("api/answer", seat=SEAT, queue="label", row=row, value=value)


@contextmanager
def served(studio: Studio) -> Iterator[OverHttp]:
    """The studio's address, answered by a thread of this process."""
    door = listen(0)
    port = door.getsockname()[1]
    server = make_server(make_app(studio.session, studio.people, port), studio.teacher.end)
    thread = Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    [token] = studio.people
    try:
        yield OverHttp(f"http://127.0.0.1:{port}/{token}/")
    finally:
        server.handle_exit(15, None)
        thread.join(60)
        door.close()


def waits(given: int, way: str, keys: int, rows: int, columns: int) -> dict[str, Any]:
    """What passes between a key and the next row, key by key."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "table.csv"
        truth = made_table(path, rows, columns, given)
        studio = start(path, Asked("label", ["yes", "no"]))
        stack.callback(studio.close)
        teacher = studio.teacher
        teacher.wait_for_figures(teacher.version, FOR_EVER)
        exact = way.startswith("exact")
        if exact:
            stack.enter_context(patch.object(session, "EXACT_WAIT", FOR_EVER))
            stack.enter_context(patch.object(session, "BACKGROUND_FROM", 10 * rows))
        over_http = way.endswith("HTTP")
        client = stack.enter_context(served(studio)) if over_http else Inside(studio)
        return _waits(client, teacher, truth, keys, exact)


def _waits(client: Any, teacher: Any, truth: list[str], keys: int, exact: bool) -> dict[str, Any]:
    walls, processors, in_time = [], [], []
    row = client.now()
    for _ in range(keys):
        if exact:
            teacher.wait_for_figures(teacher.version, FOR_EVER)
        else:
            time.sleep(PAUSE)
        wall, processor = time.perf_counter(), time.process_time()
        client.answer(row, truth[row - 1])
        row = client.now()
        walls.append(1e3 * (time.perf_counter() - wall))
        processors.append(1e3 * (time.process_time() - processor))
        in_time.append(teacher.last.version == teacher.version)
    return {
        "wall_ms": [significant(value, 4) for value in walls],
        "processor_ms": [significant(value, 4) for value in processors],
        "exact": int(sum(in_time)),
    }


# In their cheapest form: the Gaussian process at given settings, the SVC untuned.
RIVALS = {
    "GaussianProcessClassifier": lambda d: GaussianProcessClassifier(
        RBF(np.sqrt(d)), optimizer=None
    ),
    "calibrated SVC": lambda d: CalibratedClassifierCV(SVC(), ensemble=False),
}


def refit(which: str, given: int, rows: int, columns: int) -> dict[str, float]:
    """A full refit by scikit-learn, with answers for all rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        truth = np.array(made_table(path, rows, columns, given))
        X = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(columns))
    model = RIVALS[which](columns)
    wall, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:given], truth[:given]).predict_proba(X)
    return {
        "wall_ms": significant(1e3 * (time.perf_counter() - wall), 4),
        "processor_ms": significant(1e3 * (time.process_time() - processor), 4),
    }


def summary(cells: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A line for each number of labels and way."""
    rows, shown_in = [], [*WAYS, *RIVALS]
    found = [(*key.split("/"), cell) for key, cell in cells.items()]
    for given, which, cell in sorted(found, key=lambda f: (int(f[0]), shown_in.index(f[1]))):
        if "exact" not in cell:
            shown = [f"{cell['wall_ms']:,.0f}", "", f"{cell['processor_ms']:,.0f}", "", ""]
        else:
            low, high = np.quantile(cell["wall_ms"], [0.5, 0.95])
            median, most = np.quantile(cell["processor_ms"], [0.5, 0.95])
            exact = f"{cell['exact']} of {len(cell['wall_ms'])}"
            shown = [f"{value:,.0f}" for value in (low, high, median, most)] + [exact]
        rows.append([which, f"{int(given):,}", *shown])
    header = ["", "labels", "wall, median", "95 %", "processor, median", "95 % ", "exact"]
    return header, rows


def main(arguments: list[str] | None = None) -> Results:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS))
    parser.add_argument("--ways", nargs="+", choices=(*WAYS, *RIVALS), default=[*WAYS, *RIVALS])
    parser.add_argument("--keys", type=int, default=40)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--out", type=Path, default=RESULTS / "label_latency.json")
    options = parser.parse_args(arguments)
    results, size = Results(options.out), (options.rows, options.columns)
    with threadpool_limits(1):
        results.save(machine=machine_facts(), rows=size[0], columns=size[1])
        for given in options.labels:
            for which in options.ways:
                work = partial(refit, which, given, *size)
                if which in WAYS:
                    work = partial(waits, given, which, options.keys, *size)
                results.cell((given, which), work)
    print(table(*summary(results.cells)))
    return results


if __name__ == "__main__":
    main()
