"""The service and its own protocol, in this process."""

import io
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import kinlearn
import served_models
from kinlearn import LSPC, TableFeatures
from kinlearn.answering.answers import answer_rows
from kinlearn.answering.served_model import load_served
from kinlearn.cells.refusals import TableError
from kinlearn.cli.serve import serve
from kinlearn.service import batching, running
from kinlearn.service.describing import openapi_document
from kinlearn.service.registry import Registry
from kinlearn.service.running import read_token
from kinlearn.service.settings import Settings

GOOD = {"age": 40.0, "dose": 0.1, "sex": "male"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    rows = served_models.rows_of_table()
    served_models.save_table_model(folder / "state.kin", rows)
    served_models.save_table_model(folder / "sites.kin", rows, task="site")
    served_models.save_number_model(folder / "plain.kin")
    return folder


@pytest.fixture(scope="module")
def client(folder):
    with served_models.client_of(folder / "state.kin") as client:
        yield client


@pytest.fixture(scope="module")
def model(folder):
    return load_served(folder / "state.kin").model


@pytest.fixture(scope="module")
def rows():
    return served_models.rows_of_table(40, seed=1)


def records_of(rows):
    return json.loads(rows.drop(columns=["state"]).to_json(orient="records", double_precision=15))


def probabilities(answers, classes=("ill", "well")):
    return np.array([[a["probabilities"][name] for name in classes] for a in answers])


def test_records_are_answered_as_the_model_does(client, model, rows):
    found = client.post("/predict", json={"records": records_of(rows)}).json()
    proba = model.predict_proba(rows)
    np.testing.assert_allclose(probabilities(found["answers"]), proba, atol=1e-12, rtol=0)
    assessed = model[-1].assess(model[:-1].transform(rows))
    for i, answer in enumerate(found["answers"]):
        assert answer["class"] == assessed.predicted[i]
        assert answer["reason"] == assessed.reason[i]
        assert answer["decision"] == ("answer" if assessed.answered[i] else "hand over")
        assert answer["familiarity"] == assessed.familiarity[i]
        assert ("nearest" in answer) == (not assessed.answered[i])
    assert {"model", "version", "checksum"} <= found.keys()
    assert len(found["checksum"]) == 64


def test_other_shapes_of_a_body_mean_the_same(client, rows):
    records = records_of(rows)
    columns = {name: [r[name] for r in records] for name in records[0]}
    said = client.post("/predict", json={"records": records}).json()["answers"]
    for body in (records, {"columns": columns}):
        assert client.post("/predict", json=body).json()["answers"] == said
    alone = client.post("/predict", json=records[0]).json()["answers"]
    np.testing.assert_allclose(probabilities(alone), probabilities(said[:1]), atol=1e-12, rtol=0)


def test_csv_and_parquet_are_answered_as_records_are(client, rows):
    said = client.post("/predict", json=records_of(rows)).json()["answers"]
    text = rows.to_csv(index=False)
    as_json = {"Content-Type": "text/csv", "Accept": "application/json"}
    assert client.post("/predict", content=text, headers=as_json).json()["answers"] == said
    file = io.BytesIO()
    rows.to_parquet(file)
    headers = {"Content-Type": "application/vnd.apache.parquet"}
    found = client.post("/predict", content=file.getvalue(), headers=headers).json()
    assert found["answers"] == said


def test_csv_is_answered_as_csv_with_its_own_columns_kept(client, model, rows):
    text = rows.to_csv(index=False)
    response = client.post("/predict", content=text, headers={"Content-Type": "text/csv"})
    assert response.headers["content-type"].startswith("text/csv")
    found = pd.read_csv(io.StringIO(response.text))
    assert list(found)[:5] == list(rows)
    np.testing.assert_allclose(found[["p_ill", "p_well"]], model.predict_proba(rows), atol=1e-12)
    clash = rows.assign(decision=1).to_csv(index=False)
    again = client.post("/predict", content=clash, headers={"Content-Type": "text/csv"})
    assert "kin_decision" in again.text.splitlines()[0]


def test_a_table_is_refused_before_anything_is_said_of_it(folder, tmp_path):
    line = "41,0.5,male\n"
    with served_models.client_of(folder / "state.kin", max_stream_mb=2.0, max_mb=0.1) as client:
        client.app.state.service.folder = tmp_path
        headers = {"Content-Type": "text/csv"}
        for text, status, words in (
            ("age,dose,sex\n" + line * 70_000 + "old,old,male\n", 200, "male"),
            ("age,dose,sex\n" + line * 70_000 + "old,1e300,male\n", 422, "Row 70001 has 1e+300"),
            ("age,dose,sex\n" + line * 70_000 + "1,2\n", 400, "Line 70002 of the body has 2"),
            ("age,dose,sex\n" + line * 200_000, 413, "The body is larger than"),
        ):
            response = client.post("/predict", content=text, headers=headers)
            assert (response.status_code, words in response.text) == (status, True)
        assert response.status_code == 413
        assert list(tmp_path.iterdir()) == []


def test_null_is_a_missing_cell_and_so_is_an_empty_text(client, model):
    row = {"age": None, "dose": 0.2, "sex": "male"}
    frame = pd.DataFrame({"age": [np.nan], "dose": [0.2], "sex": ["male"]})
    for cell in (None, "", "NA"):
        found = client.post("/predict", json=[row | {"age": cell}]).json()["answers"]
        np.testing.assert_allclose(probabilities(found), model.predict_proba(frame), atol=1e-12)


def test_nan_as_python_writes_it_is_a_missing_cell(client):
    said = client.post("/predict", json=[GOOD | {"age": None}]).json()["answers"]
    text = json.dumps([GOOD | {"age": float("nan")}])
    assert client.post("/predict", content=text).json()["answers"] == said
    assert client.post("/predict", content=text + "NaN").status_code == 400


@pytest.mark.parametrize("cell", ["9" * 400, '"\\ud800"', '{"\\ud800": 1}'])
def test_what_python_reads_beside_nan_is_no_json_either(client, cell):
    for name in (*GOOD, "state", "id", "\\ud800"):
        text = json.dumps([GOOD | {"state": "ill", "x": float("nan"), name: "CELL"}])
        text = text.replace('"CELL"', cell)
        for address in ("/predict", "/invocations", "/feedback"):
            response = client.post(address, content=text)
            assert response.status_code == 400, response.text
            assert "The body is no JSON" in response.json()["error"]


def test_known_rows_stand_beside_a_row_that_is_handed_over(client, rows):
    far = [{"age": 50.0, "dose": 30.0, "sex": "male"}]
    [answer] = client.post("/predict", json=far).json()["answers"]
    assert (answer["decision"], answer["reason"]) == ("hand over", "unfamiliar")
    assert len(answer["nearest"]) == 3
    training = served_models.rows_of_table()
    doses = [near["cells"]["dose"] for near in answer["nearest"]]
    assert set(doses) <= set(training["dose"])
    assert max(doses) == training["dose"].max()


def test_a_model_of_dates_shows_known_rows_and_keeps_rows(tmp_path):
    path = tmp_path / "dated.kin"
    served_models.save_dated_model(path, served_models.rows_of_table(), missing=["-9"])
    far = {"age": 50.0, "dose": 30.0, "sex": "male", "day": "2024-02-03 08:05:00"}
    with served_models.client_of(path, keep_rows=True) as client:
        [answer] = client.post("/predict", json=[far]).json()["answers"]
        assert answer["reason"] == "unfamiliar"
        days = [near["cells"]["day"] for near in answer["nearest"]]
        assert all(re.fullmatch(r"2024-\d\d-\d\d( 08:05:00)?", day) for day in days), days
        store = client.app.state.service.watch.store
        assert store.kept_row("dated", answer["id"]) == far
        told = client.post("/feedback", json=[{"id": answer["id"], "state": "ill"}])
        assert told.json()["taken"] == 1
        # what is known is a missing cell in a table is one in a tensor, too
        row = far | {"age": None, "dose": 0.1}
        [said] = client.post("/predict", json=[row]).json()["answers"]
        inputs = [
            {"name": name, "shape": [1], "datatype": kind, "data": [row[name]]}
            for name, kind in (("dose", "FP64"), ("sex", "BYTES"), ("day", "BYTES"))
        ]
        age = {"name": "age", "shape": [1], "datatype": "FP64"}
        for raw in (b"", np.array([-9.0]).tobytes()):
            one = age | ({"parameters": {"binary_data_size": 8}} if raw else {"data": [-9]})
            head = json.dumps({"inputs": [*inputs, one]}).encode()
            headers = {"Inference-Header-Content-Length": str(len(head))}
            found = client.post("/v2/models/dated/infer", content=head + raw, headers=headers)
            assert found.json()["outputs"][1]["data"] == list(said["probabilities"].values())


def test_a_pipeline_from_python_may_read_dates(tmp_path):
    days = np.datetime64("2024-01-01", "us") + np.arange(120) * np.timedelta64(86_400_000_000)
    rows = served_models.rows_of_table().assign(day=days).drop(columns=["site"])
    y = rows.pop("state")
    model = make_pipeline(TableFeatures(), LSPC()).fit(rows, y)
    kinlearn.save(model, tmp_path / "m.kin")
    with served_models.client_of(tmp_path / "m.kin") as client:
        asked = [GOOD | {"day": "2024-02-01"}, GOOD | {"day": None}]
        found = client.post("/predict", json=asked).json()["answers"]
        frame = pd.DataFrame([GOOD, GOOD]).assign(day=pd.to_datetime(["2024-02-01", None]))
        np.testing.assert_allclose(probabilities(found), model.predict_proba(frame), atol=1e-12)


def test_a_task_is_a_column(folder):
    rows = served_models.rows_of_table(10, seed=2)
    with served_models.client_of(folder / "sites.kin") as client:
        model = load_served(folder / "sites.kin").model
        found = client.post("/predict", json=records_of(rows)).json()["answers"]
        np.testing.assert_allclose(probabilities(found), model.predict_proba(rows), atol=1e-12)
        new = rows.assign(site="elsewhere")
        found = client.post("/predict", json=records_of(new)).json()
        proba = model.predict_proba(new)
        np.testing.assert_allclose(probabilities(found["answers"]), proba, atol=1e-12)
        assert "answered by what all tasks share" in found["notes"][0]


def test_several_models_answer_by_their_names(folder):
    with served_models.client_of(folder) as client:
        assert [m["model"] for m in client.get("/models").json()] == ["plain", "sites", "state"]
        refused = client.post("/predict", json=[{}])
        assert refused.status_code == 404
        assert "name one of 'plain', 'sites', 'state'" in refused.json()["error"]
        X, _ = served_models.numbers(3, seed=1)
        records = [dict(zip(("x0", "x1", "x2", "x3"), row, strict=True)) for row in X.tolist()]
        found = client.post("/models/plain/predict", json=records).json()["answers"]
        proba = load_served(folder / "plain.kin").model.predict_proba(X)
        np.testing.assert_allclose(probabilities(found, ("0", "1")), proba, atol=1e-12)
        assert found[0]["class"] in (0, 1)


@pytest.mark.parametrize(
    ("body", "status", "words", "place"),
    [
        ([GOOD, {"age": 1.0, "sex": "male"}], 422, "Row 2 has no column 'dose'", ("dose", 2)),
        ([{"Age": 1.0, "dose": 1, "sex": "male"}], 422, "Did you mean 'Age'", ("age", None)),
        ([GOOD | {"age": "old"}], 422, "holds texts such as 'old'", ("age", 1)),
        ([GOOD, GOOD | {"age": [1]}], 422, "Row 2 has [1] in column 'age'", ("age", 2)),
        ([GOOD, 3], 422, "Row 2 is 3", (None, 2)),
        ([GOOD, GOOD | {"dose": 1e200}], 422, "Row 2 has 1e+200 in column 'dose'", ("dose", 2)),
        ([], 422, "holds no rows", (None, None)),
        (3, 422, "where records are expected", (None, None)),
        ({"columns": GOOD}, 422, "'age' is 40.0, where a list", ("age", None)),
        ([GOOD] * 11, 413, "at most 10", (None, None)),
    ],
)
def test_refusals_name_column_row_and_value(folder, body, status, words, place):
    with served_models.client_of(folder / "state.kin", max_rows=10) as client:
        response = client.post("/predict", json=body)
        assert response.status_code == status
        facts = response.json()
        assert words in facts["error"]
        assert (facts.get("column"), facts.get("row")) == place
        assert client.post("/predict", json=[GOOD]).status_code == 200


def test_what_was_out_of_the_ordinary_is_said(client):
    strange = GOOD | {"sex": "unknown", "shoe": 43}
    notes = client.post("/predict", json=[strange]).json()["notes"]
    assert "'shoe', which the model was not trained with" in notes[0]
    assert "answered without help from 'sex'" in notes[1]
    stray = [GOOD, GOOD, GOOD | {"age": "?!"}]
    notes = client.post("/predict", json=stray).json()["notes"]
    assert notes == [
        "1 cells of 'age' hold no number (such as '?!'): they were answered as missing."
    ]


def test_a_cell_is_not_taken_for_missing_by_a_model_that_takes_none(folder):
    rows = "x0,x1,x2,x3\n" + "1,2,3,4\n" * 50 + "1,zz,3,4\n"
    with served_models.client_of(folder / "plain.kin") as client:
        response = client.post("/predict", content=rows, headers={"Content-Type": "text/csv"})
    assert response.status_code == 422
    assert "Row 51 holds 'zz' in column 'x1', which is no number" in response.json()["error"]


def test_columns_that_were_there_keep_their_names(folder):
    rows = "predicted,kin_predicted,x0,x1,x2,x3\na,b,1,2,3,4\n"
    with served_models.client_of(folder / "plain.kin") as client:
        answer = client.post("/predict", content=rows, headers={"Content-Type": "text/csv"})
    names = answer.text.splitlines()[0].split(",")
    assert names[:7] == [*rows.splitlines()[0].split(","), "kin_kin_predicted"]
    assert len(set(names)) == len(names)


def test_bodies_beyond_the_limits_are_refused(folder):
    with served_models.client_of(folder / "state.kin", max_mb=0.01, max_stream_mb=0.02) as client:
        text = ("age,dose,sex\n" + "1,2,male\n" * 5000).encode()
        for kind in ("application/json", "text/csv"):
            response = client.post("/predict", content=text, headers={"Content-Type": kind})
            assert response.status_code == 413
            assert "The body is larger than" in response.json()["error"]
        zipped = client.post("/predict", content=b"x", headers={"Content-Encoding": "gzip"})
        assert zipped.status_code == 415
        pdf = client.post("/predict", content=b"x", headers={"Content-Type": "application/pdf"})
        assert pdf.status_code == 415


def test_csv_that_is_none_is_refused_in_a_sentence(client):
    for text, words in (
        (b"age,dose,sex\n1,2\n", "Line 2 of the body has 2 cells where the header has 3"),
        (b"", "The body is empty"),
        (b"age,dose,sex\n", "no rows below them"),
        (b"age,dose,sex", "no rows below them"),
        (b"age,dose,sex\n1,2,\xff\xfe\n", "is no letter of it. Send it as UTF-8."),
        (b"age;dose;sex\n1;2;male\n", "with a semicolon: let commas separate its cells."),
        (b"age,dose,sex\n1,2,\0\n", "send CSV in UTF-8"),
        (b"age,sex\n1,male\n", "has no column 'dose'"),
    ):
        for accept in ("text/csv", "application/json"):
            headers = {"Content-Type": "text/csv", "Accept": accept}
            response = client.post("/predict", content=text, headers=headers)
            assert 400 <= response.status_code < 500
            assert words in response.json()["error"]
            assert "/tmp" not in response.text
            assert "--" not in response.json()["error"]


def test_who_has_no_token_is_refused(folder):
    with served_models.client_of(folder / "state.kin", token="a-long-secret") as client:
        assert client.get("/ping").status_code == 200
        for given in ({}, {"Authorization": "Bearer other"}, {"Authorization": "a-long-secret"}):
            response = client.post("/predict", json=[GOOD], headers=given)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        right = {"Authorization": "Bearer a-long-secret"}
        assert client.post("/predict", json=[GOOD], headers=right).status_code == 200
        # a browser asks its user, who gives any name and the token as the password
        for page in ("/", "/docs", "/monitor"):
            asked = client.get(page)
            assert asked.status_code == 401
            assert asked.headers["www-authenticate"].startswith("Basic")
            assert client.get(page, auth=("me", "a-long-secret")).status_code == 200
            assert client.get(page, auth=("a-long-secret", "me")).status_code == 401
            for text in ("a-long-secret", "YS1sb25nLXNlY3JldA==", "²", ""):
                given = {"Authorization": f"Basic {text}".encode()}
                assert client.get(page, headers=given).status_code == 401
        told = client.get("http://else.where:81/docs", headers=right).text
        assert "curl -s http://else.where:81/predict -H &#x27;Authorization: Bearer TOKEN" in told


def test_tokens_are_read_from_a_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("a-long-secret\n")
    assert read_token(path) == "a-long-secret"
    path.write_text("\n")
    with pytest.raises(TableError, match="holds no token"):
        read_token(path)


def test_pages_of_other_sites_may_not_ask(client):
    other = {"Origin": "http://elsewhere.example"}
    assert client.post("/predict", json=[GOOD], headers=other).status_code == 403
    own = {"Origin": "http://testserver"}
    assert client.post("/predict", json=[GOOD], headers=own).status_code == 200


def test_no_fault_of_ours_leaves_a_trace(folder, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("kinlearn.service.batching.answer_rows", broken)
    with served_models.client_of(folder / "state.kin") as client:
        response = client.post("/predict", json=[GOOD])
        assert response.status_code == 500
        assert "secret" not in response.text
        assert "Traceback" not in response.text


def test_the_document_and_the_page_have_examples_of_the_models_columns(client, folder):
    document = client.get("/openapi.json").json()
    content = document["paths"]["/predict"]["post"]["requestBody"]["content"]
    [record] = content["application/json"]["example"]["records"]
    assert list(record) == ["age", "dose", "sex"]
    for path, kind in (("/predict", "application/json"), ("/predict", "text/csv"),
                       ("/invocations", "application/json"),
                       ("/v2/models/state/infer", "application/json")):  # fmt: skip
        body = document["paths"][path]["post"]["requestBody"]["content"][kind]["example"]
        body = body if isinstance(body, str) else json.dumps(body)
        response = client.post(path, content=body, headers={"Content-Type": kind})
        assert response.status_code == 200, response.text
    assert openapi_document([load_served(folder / "state.kin")]) == document
    page = client.get("/docs").text
    assert "dose" in page
    assert "curl -s http://testserver/" in page
    assert "src=" not in page


# -- models that are replaced ---------------------------------------------------------------------


def test_a_file_that_is_replaced_takes_over_and_a_broken_one_never_does(tmp_path, caplog):
    path = tmp_path / "m.kin"
    served_models.save_number_model(path)
    registry = Registry([str(path)])
    before = registry.get()
    assert registry.look() == []
    served_models.save_number_model(path, seed=1)
    assert registry.look() == ["m"]
    after, content = registry.get(), path.read_bytes()
    assert after.checksum != before.checksum
    path.write_bytes(path.read_bytes()[:-500])
    assert registry.look() == []
    assert registry.get() is after
    assert "cannot be loaded" in registry.problems["m"]
    assert "goes on answering" in caplog.text
    path.unlink()
    assert registry.look() == []
    assert registry.get() is after
    path.write_bytes(content)
    assert registry.look() == []  # the same again
    assert not registry.problems


def test_folders_gain_and_lose_models(tmp_path):
    served_models.save_number_model(tmp_path / "a.kin")
    registry = Registry([str(tmp_path)])
    served_models.save_number_model(tmp_path / "b.kin")
    assert registry.look() == ["b"]
    (tmp_path / "a.kin").unlink()
    assert registry.look() == ["a"]
    assert registry.names == ["b"]


def test_what_cannot_be_served_is_said_at_the_start(tmp_path):
    with pytest.raises(TableError, match="There is no file"):
        Registry([str(tmp_path / "none.kin")])
    with pytest.raises(TableError, match="There is no model to serve"):
        Registry([str(tmp_path)])
    other = tmp_path / "other"
    other.mkdir()
    for place in (tmp_path, other):
        served_models.save_number_model(place / "a.kin")
    with pytest.raises(TableError, match="are both named 'a'"):
        Registry([str(tmp_path), str(other)])


def test_no_answer_is_mixed_of_two_models_while_they_are_swapped(tmp_path):
    path = tmp_path / "m.kin"
    models = [served_models.save_number_model(tmp_path / f"{s}.kin", seed=s) for s in (0, 1)]
    X, _ = served_models.numbers(6, seed=3)
    body = {"inputs": [{"name": "X", "shape": [6, 4], "datatype": "FP64", "data": X.tolist()}]}
    expected = {}
    for s, model in enumerate(models):
        served = load_served(tmp_path / f"{s}.kin")
        expected[served.version] = model.predict_proba(X)
    path.write_bytes((tmp_path / "0.kin").read_bytes())
    stop, seen = threading.Event(), set()
    with served_models.client_of(path, poll_seconds=0.01) as client:

        def ask():
            while not stop.is_set():
                found = client.post("/v2/models/m/infer", json=body)
                assert found.status_code == 200, found.text
                found = found.json()
                proba = np.reshape(found["outputs"][1]["data"], (6, 2))
                version = found["model_version"]
                np.testing.assert_allclose(proba, expected[version], atol=1e-12)
                seen.add(version)

        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(ask) for _ in range(3)]
            for k in range(20):
                new = tmp_path / "new"
                new.write_bytes((tmp_path / f"{(k + 1) % 2}.kin").read_bytes())
                new.replace(path)
                time.sleep(0.05)
            stop.set()
            for each in asking:
                each.result()
    assert len(seen) == 2


def test_a_row_alone_goes_to_no_other_thread_once_its_model_was_quick(folder, monkeypatch):
    threads = []

    def seen(*given, **options):
        threads.append(threading.current_thread().name)
        return answer_rows(*given, **options)

    monkeypatch.setattr(batching, "answer_rows", seen)
    row = dict.fromkeys(("x0", "x1", "x2", "x3"), 0.5)
    with served_models.client_of(folder / "plain.kin") as client:
        for limit, many, elsewhere in (
            (60.0, 1, True),
            (60.0, 1, False),
            (60.0, 2, True),
            (60.0, 1, False),
            (0.0, 1, True),
        ):
            monkeypatch.setattr(batching, "QUICK_SECONDS", limit)
            answers = client.post("/predict", json=[row] * many).json()["answers"]
            assert len(answers) == many
            assert threads.pop().startswith("kinlearn-answers") is elsewhere


def test_requests_at_once_are_answered_together_and_none_is_lost(client, model):
    rows = served_models.rows_of_table(64, seed=5)
    records, proba = records_of(rows), model.predict_proba(rows)
    batcher = client.app.state.service.batcher
    before = batcher.products

    def ask(i):
        return client.post("/predict", json=[records[i]]).json()["answers"]

    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(ask, range(64)))
    np.testing.assert_allclose(probabilities([a for [a] in found]), proba, atol=1e-12)
    assert batcher.products - before <= 64


def test_settings_go_to_workers_as_a_text():
    settings = Settings(models=["a.kin"], token="ä", max_mb=0.5)
    assert Settings.from_text(settings.as_text()) == settings


def test_where_nothing_can_be_written_the_place_of_the_watch_is_said(folder, monkeypatch, capsys):
    monkeypatch.setattr(running, "run", lambda settings, said: None)
    for writable in (True, False):
        monkeypatch.setattr(running.os, "access", lambda *_, writable=writable: writable)
        serve([folder / "state.kin"])
        said = " ".join(capsys.readouterr().out.split())
        assert ("numbers of the watch and labels are kept in" in said) != writable


def test_workers_are_not_started_for_what_cannot_be_served(tmp_path):
    (tmp_path / "broken.kin").write_bytes(b"junk")
    settings = Settings(models=[str(tmp_path / "broken.kin")], port=0, workers=2)
    with pytest.raises(kinlearn.KinFileError, match="not a complete archive"):
        running.run(settings, pytest.fail)
