"""A service under load, on loopback: rows a second, single rows, many clients, models swapped,
bodies made to do harm, a table of a million rows.

Bounded, by a client of our own over kept-alive connections. Writes ``results/serving.json``. Rates
of the service are given beside those of bare ``predict_proba`` in processor time, which does not
see what else the machine is doing; waiting times are of this machine as it was, whose load stands
beside them, as do those of an address that computes nothing.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
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
INFER = "/v2/models/model/infer"
HEADER = "Inference-Header-Content-Length"
JSON = {"Content-Type": "application/json"}


def made_model(path: Path, seed: int, n_centers: int = CENTERS) -> Any:
    """A model with so many centres."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=4000) > 0).astype(int)
    model = kinlearn.LSPC(n_centers=n_centers, random_state=seed).fit(X, y)
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


def json_request(X: NDArray[np.float64]) -> bytes:
    """The same as a tensor of JSON numbers, probabilities wanted as such."""
    tensor = {"name": "X", "shape": list(X.shape), "datatype": "FP64", "data": X.ravel().tolist()}
    return json.dumps({"inputs": [tensor], "outputs": [{"name": "predict_proba"}]}).encode()


def asked(
    connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str],
    *, method: str = "POST",
) -> tuple[bytes, Any]:  # fmt: skip
    """One request on a connection that is kept."""
    connection.request(method, path, body, headers)
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
        "raw tensor": (INFER, *raw_request(X)),
        "JSON tensor": (INFER, json_request(X), JSON),
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


def single_rows(
    address: tuple[str, int], pid: int, model: Any, rate: float, seconds: float
) -> dict[str, float]:
    """Waiting times of single rows, and of what computes nothing, in turns."""
    X = np.random.default_rng(2).normal(size=(1, FEATURES))
    row = ("POST", INFER, *raw_request(X))
    empty: tuple[str, str, bytes, dict[str, str]] = ("GET", "/ping", b"", {})
    waited: dict[str, list[float]] = {"": [], "ping ": []}
    own = time.process_time()
    for _ in range(200):
        model.predict_proba(X)
    bare = (time.process_time() - own) / 200
    used = 0.0
    for _ in range(3):
        before = processor_seconds(pid)
        waited[""] += waits(address, row, rate, seconds / 3)
        used += processor_seconds(pid) - before
        waited["ping "] += waits(address, empty, rate, seconds / 6)
    found = {
        f"{name}{part}": round(float(np.quantile(each, at)), 2)
        for name, each in waited.items()
        for part, at in (("p50 ms", 0.5), ("p90 ms", 0.9), ("p99 ms", 0.99))
    }
    found["processor ms a row"] = significant(1000 * used / (rate * seconds), 3)
    found["processor ms of bare predict_proba"] = significant(1000 * bare, 3)
    found["load average"] = round(os.getloadavg()[0], 1)
    return found


def waits(
    address: tuple[str, int], request: tuple[str, str, bytes, dict[str, str]], rate: float,
    seconds: float,
) -> list[float]:  # fmt: skip
    """Milliseconds that requests wait which arrive at an even rate, whoever is still waiting."""
    own = threading.local()
    waited: list[float] = []

    def ask(at: float) -> None:
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection(*address, timeout=60)
        asked(own.connection, *request[1:], method=request[0])
        waited.append(1000 * (time.perf_counter() - at))

    with ThreadPoolExecutor(16) as pool:
        begun = time.perf_counter()
        for k in range(int(rate * seconds)):
            due = begun + k / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            pool.submit(ask, time.perf_counter())
    return waited[10:]  # the first ones find their connections


def clients_at_once(address: tuple[str, int], clients: int, each: int) -> dict[str, int]:
    """Requests of many clients at once, and how many had no answer."""
    X = np.random.default_rng(3).normal(size=(clients, FEATURES))

    def one(k: int) -> int:
        connection = http.client.HTTPConnection(*address, timeout=120)
        body, headers = raw_request(X[k : k + 1])
        return sum(bool(asked(connection, INFER, body, headers)) for _ in range(each))

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
    last, answering = {"seen": ""}, 0

    def ask() -> None:
        connection = http.client.HTTPConnection(*address, timeout=120)
        while not stop.is_set():
            try:
                content, told = asked(connection, INFER, body, headers)
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
                last["seen"] = checksum
            time.sleep(0.01)

    names = list(expected)
    expected[checksum_of(path)] = kinlearn.load(path).predict_proba(X)
    asking = [threading.Thread(target=ask) for _ in range(4)]
    for each in asking:
        each.start()
    for k in range(swaps):
        new = path.with_name("new")
        new.write_bytes(files[k % 2])
        new.replace(path)
        ended = time.monotonic() + 60
        while last["seen"] != names[k % 2] and time.monotonic() < ended:
            time.sleep(0.05)
        answering += last["seen"] == names[k % 2]
    stop.set()
    for each in asking:
        each.join()
    return {**counts, "swaps": swaps, "swaps that answered": answering}


def megabytes(pid: int, what: str = "VmRSS") -> float:
    """Memory of a process now (VmRSS), or the most it ever had (VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [each for each in lines if each.startswith(what)]
    return round(int(line.split()[1]) / 1024, 1)


def malformed(address: tuple[str, int], pid: int, count: int) -> dict[str, Any]:
    """Bodies made to do harm: how each is answered, and what stays of them in memory."""
    draw = random.Random(0)
    good = json.dumps([{f"x{i}": 0.5 for i in range(FEATURES)}]).encode()
    expected = posted(address, "/predict", good, "application/json")[1]
    answered: dict[str, int] = {}
    good_ones = 0
    memory = {"MB before": megabytes(pid)}
    for k in range(2 * count):
        if k == count:
            memory[f"MB after {count}"] = megabytes(pid)
        kind = ("application/json", "text/csv", "application/vnd.apache.parquet")[k % 3]
        path = ("/predict", "/invocations", INFER)[draw.randrange(3)]
        status, _ = posted(address, path, harmful(k, good, draw), kind)
        answered[str(status)] = answered.get(str(status), 0) + 1
        if k % 10 == 9:
            good_ones += posted(address, "/predict", good, "application/json")[1] == expected
    memory[f"MB after {2 * count}"] = megabytes(pid)
    return {
        "bodies": 2 * count, "answered": answered, "good requests between": count // 5,
        "of these answered as before": good_ones, **memory,
    }  # fmt: skip


def harmful(k: int, good: bytes, draw: random.Random) -> bytes:
    """A body that should be refused: one of twelve kinds."""
    text = good.decode()
    kinds: list[Callable[[], bytes]] = [
        lambda: good[: draw.randrange(len(good))],
        lambda: b"[" * draw.randrange(1, 500_000),
        lambda: b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        lambda: text.replace("0.5", "9" * draw.randrange(400, 100_000), 1).encode(),
        lambda: text.replace("0.5", "1e999", 1).encode(),
        lambda: text.replace("0.5", '"\\ud800"', 1).encode(),
        lambda: text.encode("utf-16"),
        lambda: b"\xff\xfe" + draw.randbytes(2000),
        lambda: b"PAR1" + draw.randbytes(20_000) + b"PAR1",
        lambda: raw_request(np.zeros((5, FEATURES)))[0][: -draw.randrange(1, 700)],
        lambda: b"x0,x1\n" + b'"' + b"1," * draw.randrange(100_000),
        lambda: draw.randbytes(draw.randrange(1, 1_000_000)),
    ]
    return kinds[k % len(kinds)]()


def posted(address: tuple[str, int], path: str, body: bytes, kind: str) -> tuple[Any, bytes]:
    """Status and body of an answer; "closed" where the connection ends without one."""
    connection = http.client.HTTPConnection(*address, timeout=120)
    try:
        connection.request("POST", path, body, {"Content-Type": kind})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return "closed", b""
    finally:
        connection.close()


def streamed(address: tuple[str, int], pid: int, n_rows: int) -> dict[str, Any]:
    """A table of many rows, sent three times and answered as it is read: memory after each."""
    rng = np.random.default_rng(5)
    names = ",".join(f"x{i}" for i in range(FEATURES))
    piece = "".join(",".join(f"{v:.3f}" for v in row) + "\n" for row in
                    rng.normal(size=(1000, FEATURES))).encode()  # fmt: skip
    found: dict[str, Any] = {"rows": n_rows, "MB before": megabytes(pid)}
    before = processor_seconds(pid)
    for turn in ("first", "second", "third"):
        connection = http.client.HTTPConnection(*address, timeout=600)
        sizes = {"Content-Length": str(len(names) + 1 + n_rows // 1000 * len(piece))}
        body = itertools.chain([names.encode() + b"\n"], itertools.repeat(piece, n_rows // 1000))
        connection.request("POST", "/predict", body, {"Content-Type": "text/csv", **sizes})
        response, lines = connection.getresponse(), 0
        while part := response.read(1 << 20):
            lines += part.count(b"\n")
        connection.close()
        assert lines == n_rows + 1, lines
        found[f"MB after the {turn}"] = megabytes(pid)
    found["most MB"] = megabytes(pid, "VmHWM")
    found["processor seconds a table"] = significant((processor_seconds(pid) - before) / 3, 3)
    return found


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--swaps", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=RESULTS / "serving.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.kin")
        model = made_model(path, 0)
        with service(path) as (address, pid):
            results.cell(("batches",), lambda: batches(address, pid, model, options.repeats))
            single = partial(single_rows, address, pid, model, 100.0, options.seconds)
            results.cell(("single rows",), single)
            results.cell(("clients at once",), lambda: clients_at_once(address, 32, 50))
            results.cell(("malformed bodies",), lambda: malformed(address, pid, 500))
            results.cell(("swaps",), lambda: swapped(address, path, options.swaps))
        small = Path(folder, "small.kin")
        made_model(small, 0, n_centers=20)
        with service(small) as (address, pid):
            results.cell(("a long table",), lambda: streamed(address, pid, options.rows))
    results.save(machine=machine_facts(), centers=CENTERS, features=FEATURES, batch=BATCH)
    rows = [
        [what, name, value] for what, cell in results.cells.items() for name, value in cell.items()
    ]
    print(table(["", "", ""], rows))
    return results


if __name__ == "__main__":
    main()
