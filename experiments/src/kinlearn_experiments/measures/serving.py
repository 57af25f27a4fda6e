"""A service under load, on loopback: rows a second, single rows, many clients, models swapped.

Bounded, by a client of our own over kept-alive connections. Writes ``results/serving.json``. Rates
of the service are given beside those of bare ``predict_proba`` in processor time, which does not
see what else the machine is doing; waiting times are of this machine as it was.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kinlearn
from kinlearn.answering.served_model import checksum_of
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

CENTERS, FEATURES, BATCH = 1000, 20, 1000
HEADER = "Inference-Header-Content-Length"
JSON = {"Content-Type": "application/json"}


def made_model(path: Path, seed: int) -> Any:
    """A model with many centres."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=4000) > 0).astype(int)
    model = kinlearn.LSPC(n_centers=CENTERS, random_state=seed).fit(X, y)
    kinlearn.save(model, path)
    return model


@contextmanager
def service(path: Path) -> Iterator[tuple[tuple[str, int], int]]:
    """The command in a process of its own: its address and its number."""
    command = [sys.executable, "-u", "-m", "kinlearn", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = next(filter(None, (re.search(r"127.0.0.1:(\d+)", each) for each in process.stdout)))
        try:
            yield ("127.0.0.1", int(found[1])), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def raw_request(X: NDArray[np.float64]) -> tuple[bytes, dict[str, str]]:
    """Rows as a raw tensor, probabilities wanted as one."""
    tensor = {
        "name": "X",
        "shape": list(X.shape),
        "datatype": "FP64",
        "parameters": {"binary_data_size": X.nbytes},
    }
    wanted = [{"name": "predict_proba", "parameters": {"binary_data": True}}]
    head = json.dumps({"inputs": [tensor], "outputs": wanted}).encode()
    return head + X.tobytes(), {HEADER: str(len(head))}


def asked(
    connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]
) -> tuple[bytes, Any]:
    """One request on a connection that is kept."""
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    content = response.read()
    assert response.status == 200, (path, response.status, content[:200])
    return content, response.headers


def batches(address: tuple[str, int], pid: int, model: Any, repeats: int) -> dict[str, float]:
    """Rows a second of batches, beside bare ``predict_proba`` in turns."""
    X = np.random.default_rng(1).normal(size=(BATCH, FEATURES))
    records = [
        dict(zip([f"x{i}" for i in range(FEATURES)], row, strict=True)) for row in X.tolist()
    ]
    ways = {
        "raw tensor": ("/v2/models/model/infer", *raw_request(X)),
        "records": ("/predict", json.dumps(records).encode(), JSON),
    }
    connection = http.client.HTTPConnection(*address, timeout=120)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in (*ways, "bare")}
    for round_ in range(repeats + 1):
        for name, (path, body, headers) in ways.items():
            wall, processor = time.perf_counter(), processor_seconds(pid)
            for _ in range(10):
                asked(connection, path, body, headers)
            took = (time.perf_counter() - wall, processor_seconds(pid) - processor)
            if round_:
                seconds[name].append(took)
        wall, own = time.perf_counter(), time.process_time()
        for _ in range(10):
            model.predict_proba(X)
        if round_:
            seconds["bare"].append((time.perf_counter() - wall, time.process_time() - own))
    middle = {name: np.median(np.array(each), axis=0) for name, each in seconds.items()}
    bare = middle.pop("bare")
    found = {"bare, rows a second": significant(10 * BATCH / bare[0], 3)}
    for name, each in middle.items():
        found[f"{name}, rows a second"] = significant(10 * BATCH / each[0], 3)
        found[f"{name}, share of bare by the clock"] = significant(bare[0] / each[0], 3)
        found[f"{name}, share of bare by processor time"] = significant(bare[1] / each[1], 3)
    return found


def single_rows(address: tuple[str, int], rate: float, seconds: float) -> dict[str, float]:
    """Waiting times of single rows that arrive at an even rate, whoever is still waiting."""
    X = np.random.default_rng(2).normal(size=(1, FEATURES))
    body, headers = raw_request(X)
    own = threading.local()
    waited: list[float] = []

    def ask(at: float) -> None:
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection(*address, timeout=60)
        asked(own.connection, "/v2/models/model/infer", body, headers)
        waited.append(time.perf_counter() - at)

    with ThreadPoolExecutor(16) as pool:
        begun = time.perf_counter()
        for k in range(int(rate * seconds)):
            due = begun + k / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            pool.submit(ask, time.perf_counter())
    told = 1000 * np.quantile(waited[10:], [0.5, 0.9, 0.99])
    return dict(zip(("p50 ms", "p90 ms", "p99 ms"), told.round(2).tolist(), strict=True))


def clients_at_once(address: tuple[str, int], clients: int, each: int) -> dict[str, int]:
    """Requests of many clients at once, and how many had no answer."""
    X = np.random.default_rng(3).normal(size=(clients, FEATURES))

    def one(k: int) -> int:
        connection = http.client.HTTPConnection(*address, timeout=120)
        body, headers = raw_request(X[k : k + 1])
        return sum(
            bool(asked(connection, "/v2/models/model/infer", body, headers)) for _ in range(each)
        )

    with ThreadPoolExecutor(clients) as pool:
        answered = sum(pool.map(one, range(clients)))
    return {"asked": clients * each, "lost": clients * each - answered}


def swapped(address: tuple[str, int], path: Path, swaps: int) -> dict[str, int]:
    """The file replaced again and again under load: what failed, and answers of no one model."""
    files, expected = [], {}
    X = np.random.default_rng(4).normal(size=(50, FEATURES))
    for seed in (0, 1):
        file = path.with_name(f"other{seed}.kin")
        model = made_model(file, seed)
        expected[checksum_of(file)] = model.predict_proba(X)
        files.append(file.read_bytes())
    body, headers = raw_request(X)
    stop, counts, lock = (
        threading.Event(),
        {"requests": 0, "failed": 0, "mixed": 0},
        threading.Lock(),
    )
    seen: set[str] = set()

    def ask() -> None:
        connection = http.client.HTTPConnection(*address, timeout=120)
        while not stop.is_set():
            try:
                content, told = asked(connection, "/v2/models/model/infer", body, headers)
            except (OSError, AssertionError, http.client.HTTPException):
                with lock:
                    counts["failed"] += 1
                continue
            proba = np.frombuffer(content[int(told[HEADER]) :]).reshape(50, 2)
            checksum = told["X-Kinlearn-Checksum"]
            right = checksum in expected and np.allclose(proba, expected[checksum], atol=1e-12)
            with lock:
                counts["requests"] += 1
                counts["mixed"] += not right
                seen.add(checksum)

    # the first of the two takes the place of what was there before anybody asks
    for k in range(swaps + 1):
        new = path.with_name("new")
        new.write_bytes(files[k % 2])
        new.replace(path)
        time.sleep(2.0)
        if k == 0:
            asking = [threading.Thread(target=ask) for _ in range(4)]
            for each in asking:
                each.start()
    stop.set()
    for each in asking:
        each.join()
    return {**counts, "swaps": swaps, "versions seen": len(seen)}


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--swaps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "serving.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.kin")
        model = made_model(path, 0)
        with service(path) as (address, pid):
            results.cell(("batches",), lambda: batches(address, pid, model, options.repeats))
            results.cell(("single rows",), lambda: single_rows(address, 100.0, options.seconds))
            results.cell(("clients at once",), lambda: clients_at_once(address, 32, 50))
            results.cell(("swaps",), lambda: swapped(address, path, options.swaps))
    results.save(machine=machine_facts(), centers=CENTERS, features=FEATURES, batch=BATCH)
    rows = [
        [what, name, value] for what, cell in results.cells.items() for name, value in cell.items()
    ]
    print(table(["", "", ""], rows))
    return results


if __name__ == "__main__":
    main()
