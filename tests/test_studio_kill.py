"""A studio killed at any moment has lost nothing that it acknowledged, and goes on.

``KINLEARN_KILLS`` says how often; a few times by default.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
from kinlearn.studio.history import History
from kinlearn.studio.store import LabelStore
from studios import write_table

KILLS = int(os.environ.get("KINLEARN_KILLS", "5"))

if not hasattr(os, "fork"):
    pytest.skip("This system cannot fork.", allow_module_level=True)


class Client:
    """Somebody who labels as fast as it goes, and remembers what was acknowledged."""

    def __init__(self, address):
        self.address, self.origin = address, address.rsplit("/", 2)[0]

    def ask(self, name, **given):
        data = json.dumps(given).encode() if given else None
        request = urllib.request.Request(self.address + name, data=data)
        if data:
            request.add_header("Content-Type", "application/json")
            request.add_header("Origin", self.origin)
        with urllib.request.urlopen(request, timeout=60) as found:
            return json.load(found)


def work(client, truth, held, dice):
    """Label, and now and then undo, until the line is dead; `held` is what must be there."""
    try:
        while True:
            row = client.ask("api/now?seat=a")["row"]
            if row is None:
                return
            row = row["row"]
            if len(held) > 3 and dice.random() < 0.15:
                held.append(("maybe undone", held[-1]))
                client.ask("api/undo", seat="a")
                held[-2:] = []
                row = client.ask("api/now?seat=a")["row"]["row"]
            value = "yes" if truth[row - 1] else "no"
            held.append(("maybe", (row, value)))
            client.ask("api/answer", seat="a", queue="label", row=row, value=value)
            held[-1] = (row, value)
    except (OSError, http.client.HTTPException, ValueError):  # killed, perhaps while answering
        return


def settle(held, labels):
    """What was on its way when the line died may be there or not; everything else must be."""
    if held and held[-1][0] == "maybe":
        _, told = held.pop()
        if labels.get(told[0]) == told[1]:
            held.append(told)
    elif held and held[-1][0] == "maybe undone":
        held.pop()
        if held[-1][0] not in labels:
            held.pop()


def test_killed_at_random_moments(tmp_path):
    path = tmp_path / "t.csv"
    truth = write_table(path, n_rows=40 * KILLS + 60)
    zygote = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("studio_zygote.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    held, dice, n_held = [], random.Random(0), []
    try:
        for kill in range(KILLS):
            zygote.stdin.write(f"{path}\n")
            zygote.stdin.flush()
            number, address = zygote.stdout.readline().split()
            hand = threading.Thread(
                target=work, args=(Client(address), truth, held, random.Random(kill))
            )
            hand.start()
            enough = len(held) + dice.randint(0, 6)
            deadline = time.monotonic() + 20.0
            while len(held) < enough and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(dice.uniform(0.0, 0.15))
            os.kill(int(number), signal.SIGKILL)
            zygote.stdin.write(f"wait {number}\n")
            zygote.stdin.flush()
            assert zygote.stdout.readline() == "gone\n"
            hand.join()
            store = LabelStore.open(tmp_path / "t.labels.db")
            history = History(store.events())
            store.close()
            labels = {row: event.value for row, event in history.labels().items()}
            settle(held, labels)
            assert labels == dict(held)
            assert list(labels) == [row for row, _ in held]  # in order, so undo goes back the same
            assert (history.to_undo("me").row if held else 0) == (held[-1][0] if held else 0)
            n_held.append(len(held))
    finally:
        zygote.stdin.close()
        zygote.wait(60)
        zygote.stdout.close()
    assert n_held[-1] > 0
