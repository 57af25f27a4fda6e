"""kill -9 while labels come in and are learnt, again and again: what was acknowledged must stay.

A client sends labels one after the other, each with an id; the service is killed at random moments,
within requests too, and started again; a label that was not acknowledged is sent again under its
id. At the end the model must be that of all labels at once. Writes ``results/service_kills.json``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kinlearn
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant

FEATURES, FIRST = 4, 150
NAMES = [f"x{i}" for i in range(FEATURES)]
MOST_SECONDS = 1.5  # that a service lives before it is killed, beyond its start


def drawn(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows and their classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


class Service:
    """The command in a process of its own, which is killed and started again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = ("127.0.0.1", 0)
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and wait for its address."""
        command = [sys.executable, "-u", "-m", "kinlearn", "serve", str(self.path)]
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--learn"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        lines = self.process.stdout
        found = next(filter(None, (re.search(r"127.0.0.1:(\d+)", each) for each in lines)))
        self.address = ("127.0.0.1", int(found[1]))

    def kill(self) -> None:
        """End it at once, whatever it does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def send(address: tuple[str, int], record: dict[str, Any]) -> bool:
    """Whether a label was acknowledged."""
    connection = http.client.HTTPConnection(*address, timeout=30)
    try:
        body = json.dumps([record])
        connection.request("POST", "/feedback", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status == 200 and bool(json.loads(response.read()))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def sums_of(model: Any) -> list[NDArray[np.float64]]:
    """All that a model keeps of its rows: products of features, features by class, classes."""
    [sums] = model.statistics_._sums
    return [sums.packed, sums.h, sums.targets, sums.counts]


def killed(path: Path, kills: int) -> dict[str, float]:
    """Send labels through so many kills, and compare what was learnt with a batch fit."""
    X, y = drawn(FIRST, 0)
    start = kinlearn.LSPC(n_centers=20, random_state=0).partial_fit(X, y)
    kinlearn.save(start, path)
    new, labels = drawn(100_000, 1)
    draw, service = random.Random(0), Service(path)
    done = sent_again = 0
    for _ in range(kills):
        service.start()
        end = threading.Timer(draw.uniform(0.1, MOST_SECONDS), service.kill)
        end.start()
        while end.is_alive():
            record = dict(zip(NAMES, new[done].tolist(), strict=True))
            record |= {"label": int(labels[done]), "id": f"r{done}"}
            if send(service.address, record):
                done += 1
            else:
                sent_again += 1
                time.sleep(0.01)
        end.join()
    service.start()
    assert send(service.address, {**record, "id": f"r{done}", "label": int(labels[done])} | dict(
        zip(NAMES, new[done].tolist(), strict=True)
    ))  # fmt: skip
    done += 1
    assert service.process is not None
    service.process.terminate()
    service.process.wait(60)
    learnt = kinlearn.load(path)
    whole = kinlearn.LSPC(centers=start.centers_, sigma=start.sigma_)
    whole.partial_fit(np.concatenate([X, new[:done]]), np.concatenate([y, labels[:done]]))
    test, _ = drawn(500, 2)
    sums, wanted = sums_of(learnt), sums_of(whole)
    apart = max(
        float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(sums, wanted, strict=True)
    )
    gap = np.abs(learnt.decision_function(test) - whole.decision_function(test)).max()
    return {
        "kills": kills,
        "labels acknowledged": done,
        "rows in the sums": float(learnt.statistics_.n_rows - FIRST),
        "not acknowledged at first": sent_again,
        "largest difference of sums, relative": significant(apart, 2),
        "largest difference of scores": significant(float(gap), 2),
    }


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--out", type=Path, default=RESULTS / "service_kills.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=True)
    with tempfile.TemporaryDirectory() as folder:
        results.cell(("kills",), lambda: killed(Path(folder, "model.kin"), options.kills))
    results.save(machine=machine_facts())
    print(results.cells)
    return results


if __name__ == "__main__":
    main()
