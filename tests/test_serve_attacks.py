"""Bodies made to do harm are refused within the limits, and the next good request is answered."""

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest
import uvicorn

import served_models
from kinlearn.service.protocol import TimedProtocol
from kinlearn.service.running import application, bound
from kinlearn.service.settings import Settings

GOOD = {"records": [{"age": 40.0, "dose": 0.1, "sex": "male"}]}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "state.kin"
    served_models.save_table_model(path, served_models.rows_of_table())
    return path


def malformed(count):
    """Bodies, most of which no protocol would send."""
    draw = random.Random(0)
    deep = "[" * 50_000 + "]" * 50_000
    seeds = [
        b"", b"{", b"null", b'"a"', b"[[[", b"{}", b"\xff\xfe\x00", b"\x00" * 100, b"NaN",
        deep.encode(), b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'[{"age":1e999,"dose":1,"sex":"a"}]', b'[{"age":' + b"9" * 5000 + b',"dose":1,"sex":"a"}]',
        b'[{"age":"\\ud800","dose":1,"sex":"a"}]', b'[{"age":1,"dose":{"$gt":1},"sex":"a"}]',
        b'[{"age":1,"dose":1,"sex":' + b'"a"' * 2 + b"}]",
        json.dumps(GOOD).encode("utf-16"), json.dumps(GOOD).encode()[:-3],
        b"PAR1" + bytes(200), b"PAR1" + bytes(100) + b"PAR1", b'age,dose,sex\n"1,2,3\n' * 3,
        b"age,dose,sex\n" + b"1," * 9000 + b"\n", b"a" * 300_000,
    ]  # fmt: skip
    good = json.dumps(GOOD).encode()
    for k in range(count):
        if k < len(seeds):
            yield seeds[k]
        elif k % 3:
            body = bytearray(draw.choice([good, b'{"inputs":[{"name":"age","shape":[1],'
                                          b'"datatype":"FP64","data":[1]}]}']))  # fmt: skip
            for _ in range(draw.randint(1, 12)):
                body[draw.randrange(len(body))] = draw.randrange(256)
            yield bytes(body)
        else:
            yield draw.randbytes(draw.randint(1, 400))


def test_five_hundred_malformed_bodies(path):
    kinds = ("application/json", "text/csv", "application/vnd.apache.parquet", "", "text/html")
    places = ("/predict", "/invocations", "/v2/models/state/infer")
    with served_models.client_of(path, max_mb=0.2, max_stream_mb=0.2) as client:
        right = client.post("/predict", json=GOOD).json()
        for k, body in enumerate(malformed(500)):
            headers = {"Content-Type": kinds[k % len(kinds)]} if kinds[k % len(kinds)] else {}
            if k % 7 == 0:
                headers["Inference-Header-Content-Length"] = str(len(body) - k % 5)
            response = client.post(places[k % 3], content=body, headers=headers)
            assert response.status_code < 500, (places[k % 3], body[:200], response.text)
            assert "Traceback" not in response.text
            if k % 50 == 0:
                assert client.post("/predict", json=GOOD).json() == right


@pytest.fixture(scope="module")
def service(path):
    with served_models.serving(path, "--max-seconds", "1", "--max-mb", "1") as (address, _):
        yield address


def post(address, content, kind="application/json"):
    request = urllib.request.Request(
        f"{address}/predict", data=content, headers={"Content-Type": kind}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read()


def test_who_sends_slowly_is_cut_off_and_others_are_answered(service):
    host, port = service.removeprefix("http://").split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(20)]
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for k, each in enumerate(slow):
        # within the head, behind it, and within the body
        each.sendall((head[:30], head + b"Content-Length: 50\r\n\r\n",
                      head + b"Content-Length: 50\r\n\r\n[")[k % 3])  # fmt: skip
    assert json.loads(post(service, json.dumps(GOOD).encode()))["answers"]
    ended = time.monotonic() + 60
    for k, each in enumerate(slow):
        each.settimeout(max(1.0, ended - time.monotonic()))
        said = each.recv(4096)  # a refusal, or the end of the connection
        assert said == b"" if k % 3 == 0 else said.startswith(b"HTTP/1.1 408")
        each.close()


@pytest.mark.parametrize("kind", ["text/csv", "application/pdf"])
def test_who_goes_on_in_drops_is_cut_off_too(service, kind):
    host, port = service.removeprefix("http://").split(":")
    head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n"
    with socket.create_connection((host, int(port))) as slow:
        slow.settimeout(0.2)
        slow.sendall(f"{head}Content-Length: 5000\r\n\r\n".encode())
        said, ended = b"", time.monotonic() + 30
        while time.monotonic() < ended:
            try:
                slow.sendall(b"a")
                part = slow.recv(4096)
            except TimeoutError:
                continue
            except OSError:  # closed while we were sending
                break
            if not part:
                break
            said += part
        assert time.monotonic() < ended
    # the one is too slow; the other is refused at once, and need not have gone on
    assert said.startswith(b"HTTP/1.1 408" if kind == "text/csv" else b"HTTP/1.1 415")


def test_who_does_not_read_is_cut_off_and_leaves_nothing_behind(path, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    table = b"age,dose,sex\n" + b"41.5,0.25,female\n" * 150_000
    with served_models.serving(path, "--max-seconds", "1") as (address, _):
        host, port = address.removeprefix("http://").split(":")
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect((host, int(port)))
            head = "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
            lazy.sendall(f"{head}Content-Length: {len(table)}\r\n\r\n".encode() + table)
            lazy.settimeout(60)
            assert lazy.recv(12, socket.MSG_PEEK).startswith(b"HTTP/1.1 200")
            ended = time.monotonic() + 60
            while time.monotonic() < ended:
                try:
                    lazy.sendall(b"\r\n")
                except OSError:
                    break
                time.sleep(0.2)
            assert time.monotonic() < ended
        assert json.loads(post(address, json.dumps(GOOD).encode()))["answers"]
        assert list(tmp_path.glob("*.csv")) == []


def test_a_table_larger_than_any_body_is_answered_in_pieces(service):
    line = b"41.5,0.25,female\n"
    table = b"age,dose,sex\n" + line * 120_000  # 2 MB, where a body may have 1
    found = post(service, table, "text/csv")
    assert found.count(b"\n") == 120_001
    assert len(set(found.splitlines()[1:])) == 1


def test_the_command_stops_when_told_to_and_finishes_what_it_began(path):
    with served_models.serving(path) as (address, process):
        host, port = address.removeprefix("http://").split(":")
        body = json.dumps(GOOD).encode()
        with socket.create_connection((host, int(port))) as begun:
            head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            begun.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:10])
            post(address, body)  # the one before has been read by now
            process.terminate()
            time.sleep(0.3)
            begun.sendall(body[10:])
            begun.settimeout(30)
            assert begun.recv(4096).startswith(b"HTTP/1.1 200")
        assert process.wait(30) in (0, -signal.SIGTERM)


def test_workers_answer_and_count_together(path, tmp_path):
    own = tmp_path / path.name  # what others asked is counted beside the model's file
    own.write_bytes(path.read_bytes())
    with served_models.serving(own, "--workers", "2") as (address, process):
        for _ in range(12):  # the first of which waits for a worker
            post(address, json.dumps(GOOD).encode())
        time.sleep(1.5)  # each brings its numbers to the file once a second
        with urllib.request.urlopen(f"{address}/monitor.json", timeout=60) as response:
            [state] = json.loads(response.read())
        assert state["traffic"]["rows"] == 12
        process.terminate()
        assert process.wait(60) in (0, -signal.SIGTERM)


def test_an_answer_is_sent_at_once(path):
    found = []

    class Seen(TimedProtocol):
        def connection_made(self, transport):
            super().connection_made(transport)
            given = transport.get_extra_info("socket")
            found.append(given.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    with bound("127.0.0.1", 0) as listening:
        app = application(Settings(models=[str(path)]))
        server = uvicorn.Server(uvicorn.Config(app, http=Seen, log_level="error"))
        serving = threading.Thread(target=server.run, args=([listening],))
        serving.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert json.loads(post(address, json.dumps(GOOD).encode()))["answers"]
        server.should_exit = True
        serving.join()
    assert len(found) == 1
    assert found[0] != 0  # else the body of an answer waits for its head to be acknowledged


def test_a_port_that_is_taken_is_said_in_a_sentence(path, service):

    command = [
        sys.executable,
        "-m",
        "kinlearn",
        "serve",
        str(path),
        "--port",
        service.split(":")[-1],
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("kinlearn: Nothing can listen at 127.0.0.1:")
