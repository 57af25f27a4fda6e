"""The studio's address: who may speak to it, what it answers, and what leaves it."""

import csv
import io
import json
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from starlette.testclient import TestClient
from typer.testing import CliRunner

import kinlearn
from kinlearn.cells.refusals import TableError
from kinlearn.cli import app as command_line
from kinlearn.studio.safety import MAX_BODY
from kinlearn.studio.server import ACTIONS, PAGE, listen, make_app
from studios import HOSTILE, label_rows, studio, write_table

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
PORT = 8123
OURS = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def truth(tmp_path):
    return write_table(tmp_path / "t.csv", more=[("remark", HOSTILE)])


@pytest.fixture
def opened(tmp_path, truth):
    with studio(tmp_path / "t.csv") as found:
        yield found


@pytest.fixture
def client(opened):
    [token] = opened.people
    with TestClient(make_app(opened.session, opened.people, PORT), f"{OURS}/{token}") as found:
        found.headers["Origin"] = OURS
        found.token = token
        yield found


def answer(client, **given):
    return client.post("api/answer", json={"seat": "a", "queue": "label", **given})


# -- who may speak ---------------------------------------------------------------------------


def test_the_page_and_its_files(client):
    for path, (_, kind) in PAGE.items():
        found = client.get(path.removeprefix("/"))
        assert found.status_code == 200
        assert found.headers["content-type"] == kind
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert "unsafe" not in found.headers["content-security-policy"]
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in found.headers
        text = found.text if "text" in kind else ""
        assert "https://" not in text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        if path == "/":
            assert "<script>" not in text
            assert " style=" not in text
            assert not [word for word in (" onclick", " onload", " onerror") if word in text]


def test_without_its_token_nothing_is_there(client):
    bare = TestClient(client.app, OURS)
    for path in (
        "/",
        "/api/about",
        f"/{client.token[:-1]}x/",
        f"/{client.token}x/api/about",
        "/é/",
    ):
        assert bare.get(path).status_code == 404
    sent = bare.get(f"/{client.token}", follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (308, f"/{client.token}/")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://127.0.0.1:{PORT}"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Host": "evil.example"},
        {"Host": f"evil.example:{PORT}"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_other_sites_can_neither_read_nor_label(client, opened, headers):
    assert client.get("api/now", params={"seat": "a"}).status_code == 200
    row = opened.session.desk.seats.at("me", "a").row
    assert client.get("api/about", headers=headers).status_code == 403
    sent = {"seat": "a", "queue": "label", "row": row, "value": "yes"}
    assert client.post("api/answer", json=sent, headers=headers).status_code == 403
    assert opened.session.desk.history.labels() == {}


def test_what_a_form_of_another_page_could_send_is_refused(client, opened):
    row = client.get("api/now", params={"seat": "a"}).json()["row"]["row"]
    sent = json.dumps({"seat": "a", "queue": "label", "row": row, "value": "yes"})
    plain = client.post("api/answer", content=sent, headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415
    without = client.build_request(
        "POST", "api/answer", content=sent, headers={"Content-Type": "application/json"}
    )
    del without.headers["origin"]
    assert client.send(without).status_code == 403
    assert client.request("DELETE", "api/about").status_code == 405
    assert client.request("OPTIONS", "api/answer").status_code == 405
    assert opened.session.desk.history.labels() == {}


def test_the_address_itself_may_be_followed_from_anywhere(client):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("", headers={**headers, "Sec-Fetch-Dest": "document"}).status_code == 200
    assert client.get("", headers={**headers, "Sec-Fetch-Dest": "iframe"}).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"{}",
        b'{"seat": "a", "queue": "label", "row": "1", "value": "yes"}',
        b'{"seat": "a", "queue": "label", "row": true, "value": "yes"}',
        b'{"seat": "a", "queue": "label", "row": 1, "value": ["yes"]}',
        b'{"seat": "a", "queue": "label", "row": 1, "value": "yes", "who": "ben"}',
        b"[" * 9000,
        b'{"seat": "a", "queue": "label", "row": 1, "value": "\\ud800"}',
        b'{"seat": "a", "queue": "label", "row": 1, "value": "\\u0000"}',
    ],
)
def test_answers_that_cannot_be_read(client, body):
    found = client.post("api/answer", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code == 400


def test_answers_that_are_too_long(client):
    sent = b'{"seat": "' + b"a" * MAX_BODY + b'"}'
    kind = {"Content-Type": "application/json"}
    assert client.post("api/undo", content=sent, headers=kind).status_code == 413
    chunks = (part for part in (b'{"seat": ', b'"a"}'))
    assert client.post("api/undo", content=chunks, headers=kind).status_code == 413


def test_every_action_is_there(client, opened):
    given = {str: "x", int: 1, float: 0.5}
    for name, kinds in ACTIONS.items():
        found = client.post(f"api/{name}", json={field: given[k] for field, k in kinds.items()})
        assert found.status_code in (200, 409), name
    assert opened.session.desk.wishes.goal == 0.5


# -- what it answers -------------------------------------------------------------------------


def test_a_label_goes_the_whole_way(client, opened):
    row = client.get("api/now", params={"seat": "a"}).json()["row"]["row"]
    assert answer(client, row=row, value="yes").json() == {"said": f"Row {row}: yes."}
    assert opened.session.desk.labels() == {row: "yes"}
    again = answer(client, row=row, value="no")  # the key pressed twice
    assert again.status_code == 409
    assert "no longer on this page" in again.json()["error"]
    assert opened.session.desk.labels() == {row: "yes"}
    assert client.get("api/history").json()["events"][0]["row"] == row
    assert client.post("api/undo", json={"seat": "a"}).json()["row"] == row
    assert client.get("api/figures", params={"after": -1}).json()["labels"] == 0
    assert client.get("api/figures", params={"after": "x"}).status_code == 400
    assert client.get("api/why", params={"seat": "a"}).json()["matter"] == []


def test_cells_travel_as_texts(client):
    seen = set()
    while seen != set(HOSTILE):
        row = client.get("api/now", params={"seat": "a"}).json()["row"]
        seen |= {cell["text"] for cell in row["cells"] if cell["name"] == "remark"}
        client.post("api/skip", json={"seat": "a", "row": row["row"]})


def test_images_and_sounds_by_number_and_only_from_below_the_table(tmp_path):
    folder = tmp_path / "data"
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures" / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    cells = ["pictures/a.png"] * 8 + [
        "../secret.png", str(tmp_path / "secret.png"), "link.png", "t.csv", "none.png", "a\0.png",
    ]  # fmt: skip
    path = folder / "t.csv"
    write_table(path, n_rows=14, more=[("picture", [c.replace("\0", "") for c in cells])])
    with studio(path) as opened:
        [token] = opened.people
        client = TestClient(make_app(opened.session, opened.people, PORT), f"{OURS}/{token}")
        found = [client.get(f"media/{row}/0") for row in range(1, 15)]
        assert [one.status_code for one in found] == [200] * 8 + [404] * 6
        assert found[0].headers["content-type"] == "image/png"
        assert "default-src 'none'" in found[0].headers["content-security-policy"]
        assert client.get("media/1/1").status_code == 404
        assert client.get("media/99/0").status_code == 404
        assert client.get("media/-1/0").status_code == 404
        row = client.get("api/now", params={"seat": "a"}).json()["row"]
        [cell] = [cell for cell in row["cells"] if cell["name"] == "picture"]
        assert (cell["kind"], cell["column"]) == ("image", 0)


# -- what leaves it --------------------------------------------------------------------------


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_exports_from_the_page(client, opened, truth, tmp_path):
    label_rows(opened.session, truth, 25)
    row = opened.session.now("me", "a")["row"]["row"]
    opened.session.note("me", "a", row, "=cmd|' /C calc'!A0")
    opened.session.answer("me", "a", "label", row, "yes")
    labels = read(client.get("out/labels.csv").text)
    assert list(labels[0]) == ["row", "label", "who", "when", "note"]
    assert len(labels) == 26
    [noted] = [one for one in labels if one["row"] == str(row)]
    assert noted["note"] == "'=cmd|' /C calc'!A0"
    assert {one["who"] for one in labels} == {"me"}
    whole = read(client.get("out/table.csv").text)
    assert len(whole) == 80
    assert {one["urgent"] for one in whole} == {"yes", "no", ""}
    assert sum(one["urgent"] != "" for one in whole) == 26
    assert {one["decision"] for one in whole} <= {"answer", "hand over"}
    assert {one["remark"] for one in whole} == {
        f"'{text}" if text[0] in "=@" else text for text in HOSTILE
    }
    assert whole[0]["age"] == opened.session.desk.setting.rows.cells(0)[0].text
    model = client.get("out/model.kin")
    (tmp_path / "m.kin").write_bytes(model.content)
    assert set(kinlearn.load(tmp_path / "m.kin").classes_) == {"yes", "no"}
    page = client.get("out/report.html").text
    assert "<script>document" not in page
    assert client.get("out/other.txt").status_code == 409


def test_what_cannot_be_made_yet_is_said(client, opened, truth):
    label_rows(opened.session, truth, 3)
    found = client.get("out/model.kin")
    assert found.status_code == 409
    assert found.text


def test_what_the_library_refuses_is_said_on_the_page(client, opened, monkeypatch):
    def refuse(name):
        raise ValueError("reg must be positive, got -1.")

    monkeypatch.setattr(opened.session, "_exporter", refuse)
    found = client.get("out/model.kin")
    assert (found.status_code, found.text) == (409, "reg must be positive, got -1.")


def test_exports_and_training_from_the_command_line(tmp_path):
    runner, path = CliRunner(), tmp_path / "t.csv"
    truth = write_table(path)
    with studio(path) as opened:
        label_rows(opened.session, truth, 25)
    state, out = str(tmp_path / "t.labels.db"), tmp_path / "labels.csv"
    done = runner.invoke(command_line, ["label", "export", state, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert len(read(out.read_text())) == 25
    again = runner.invoke(command_line, ["label", "export", state, "--out", str(out)])
    assert again.exit_code == 1
    assert "exists" in again.output
    whole = tmp_path / "whole.tsv"
    done = runner.invoke(command_line, ["label", "export", state, "--whole", "--out", str(whole)])
    assert done.exit_code == 0, done.output
    assert len(whole.read_text().splitlines()) == 81
    model = tmp_path / "m.kin"
    done = runner.invoke(
        command_line, ["train", str(path), "--labels-from", state, "--out", str(model)]
    )
    assert done.exit_code == 0, done.output
    assert set(kinlearn.load(model).classes_) == {"yes", "no"}
    report = tmp_path / "r.html"
    done = runner.invoke(
        command_line,
        ["report", str(model), str(path), "--labels-from", state, "--out", str(report)],
    )
    assert done.exit_code == 0, done.output
    assert "held out" in done.output
    for arguments, words in (
        (["train", str(path), "--labels-from", state, "--labels", "a,b"], "or name these"),
        (["train", str(path), "--labels-from", state, "--target", "x"], "or name these"),
        (["label", "export", state, "--out", str(tmp_path / "x.doc")], "labels go to .csv"),
        (
            ["label", "export", state, "--whole", "--out", str(tmp_path / "x.doc")],
            "format is unknown",
        ),
        (["label", "export", str(path), "--out", str(tmp_path / "x.csv")], "no file of labels"),
        (["label", "export", state, "--out", str(path), "--force"], "would overwrite"),
    ):
        done = runner.invoke(command_line, arguments)
        assert done.exit_code == 1
        assert words in " ".join(done.output.split())
    assert path.read_text().startswith("age,dose,sex\n")
    path.rename(tmp_path / "moved.csv")
    done = runner.invoke(command_line, ["label", "export", state, "--out", str(tmp_path / "n.kin")])
    assert "There is no table" in done.output


# -- the command -----------------------------------------------------------------------------


def test_a_port_in_use():
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    with pytest.raises(TableError, match=f"Port {taken.getsockname()[1]} cannot be used"):
        listen(taken.getsockname()[1])
    taken.close()


def test_the_command_prints_an_address_that_answers(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path)
    command = [sys.executable, "-m", "kinlearn", "label", str(path), "--target", "urgent"]
    more = ["--classes", "yes,no", "--no-open", "--who", "anna,ben"]
    with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = [process.stdout.readline().strip() for _ in range(4)]
            assert lines[0::2] == ["The page of anna:", "The page of ben:"]
            for address, who in zip(lines[1::2], ("anna", "ben"), strict=True):
                assert address.startswith("http://127.0.0.1:")
                with urllib.request.urlopen(f"{address}api/about", timeout=60) as found:
                    assert json.load(found)["who"] == who
            second = CliRunner().invoke(command_line, [*command[3:], "--no-open"])
            assert second.exit_code == 1
            assert "open in another kinlearn label" in second.stderr
        finally:
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
    assert "0 labels are in" in said


def test_an_answer_is_sent_at_once():
    with listen(0) as door, socket.create_connection(door.getsockname()):
        accepted, _ = door.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
