"""The Open Inference Protocol and MLflow's, as their clients speak them."""

import json
import struct

import numpy as np
import pytest

import served_models
from kinlearn.answering.served_model import load_served
from kinlearn.service.tensors import TYPES, read_tensor, written_tensor

HEADER = "Inference-Header-Content-Length"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    served_models.save_table_model(folder / "state.kin", served_models.rows_of_table())
    served_models.save_number_model(folder / "plain.kin")
    return folder


@pytest.fixture(scope="module")
def client(folder):
    with served_models.client_of(folder) as client:
        yield client


@pytest.fixture(scope="module")
def models(folder):
    return {name: load_served(folder / f"{name}.kin").model for name in ("state", "plain")}


@pytest.fixture(scope="module")
def rows():
    return served_models.rows_of_table(30, seed=1)


def columns_of(rows):
    """One tensor for each column."""
    return [
        {"name": name, "shape": [len(rows)],
         "datatype": "BYTES" if name == "sex" else "FP64",
         "data": [None if cell != cell else cell for cell in rows[name].tolist()]}
        for name in ("age", "dose", "sex")
    ]  # fmt: skip


def output(found, name):
    [one] = [each for each in found["outputs"] if each["name"] == name]
    return np.reshape(one["data"], one["shape"])


def test_health_and_metadata(client):
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    assert "binary_tensor_data" in client.get("/v2").json()["extensions"]
    assert client.get("/v2/models/state/ready").status_code == 200
    about = client.get("/v2/models/state").json()
    assert [each["name"] for each in about["inputs"]] == ["age", "dose", "sex"]
    assert [each["datatype"] for each in about["inputs"]] == ["FP64", "FP64", "BYTES"]
    [version] = about["versions"]
    assert client.get(f"/v2/models/state/versions/{version}").status_code == 200
    assert client.get("/v2/models/state/versions/7").status_code == 404
    assert client.get("/v2/models/none/ready").status_code == 404
    assert client.get("/v2/models/plain").json()["inputs"] == [
        {"name": "X", "datatype": "FP64", "shape": [-1, 4]}
    ]
    assert {each["name"] for each in client.post("/v2/repository/index").json()} == {
        "state", "plain",
    }  # fmt: skip


def test_tensors_of_columns_are_answered_as_the_model_does(client, models, rows):
    body = {"id": "7", "inputs": columns_of(rows)}
    found = client.post("/v2/models/state/infer", json=body).json()
    assert (found["id"], found["model_name"]) == ("7", "state")
    proba = models["state"].predict_proba(rows)
    np.testing.assert_allclose(output(found, "predict_proba"), proba, atol=1e-12, rtol=0)
    assert output(found, "predict").tolist() == models["state"].predict(rows).tolist()
    assert set(output(found, "decision")) <= {"answer", "hand over"}


def test_only_the_outputs_asked_for_are_given(client, rows):
    body = {"inputs": columns_of(rows), "outputs": [{"name": "familiarity"}]}
    found = client.post("/v2/models/state/infer", json=body).json()
    assert [each["name"] for each in found["outputs"]] == ["familiarity"]
    body["outputs"] = [{"name": "nonsense"}]
    refused = client.post("/v2/models/state/infer", json=body)
    assert refused.status_code == 422
    assert "There is no output 'nonsense'" in refused.json()["error"]


def binary_request(inputs, **content):
    heads, pieces = [], []
    for name, values, kind in inputs:
        if kind == "BYTES":
            texts = [each.encode() for each in values]
            raw = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        else:
            raw = np.ascontiguousarray(values, dtype=TYPES[kind]).tobytes()
        shape = list(np.shape(values))
        head = {"name": name, "shape": shape, "datatype": kind}
        heads.append(head | {"parameters": {"binary_data_size": len(raw)}})
        pieces.append(raw)
    head = json.dumps({"inputs": heads, **content}).encode()
    return head + b"".join(pieces), {HEADER: str(len(head))}


def outputs_of(response):
    """What a client of the binary extension reads."""
    length = int(response.headers[HEADER])
    head, at, found = json.loads(response.content[:length]), length, {}
    for each in head["outputs"]:
        size = each["parameters"]["binary_data_size"]
        raw, at = response.content[at : at + size], at + size
        if each["datatype"] == "BYTES":
            _, values, _ = read_tensor(each, raw)
        else:
            values = np.frombuffer(raw, TYPES[each["datatype"]])
        found[each["name"]] = np.reshape(values, each["shape"])
    assert at == len(response.content)
    return found


@pytest.mark.parametrize(("kind", "atol"), [("FP32", 1e-5), ("FP64", 1e-12)])
def test_raw_tensors_are_answered_in_kind(client, models, kind, atol):
    X, _ = served_models.numbers(50, seed=4)
    body, headers = binary_request([("X", X, kind)], parameters={"binary_data_output": True})
    response = client.post("/v2/models/plain/infer", content=body, headers=headers)
    found = outputs_of(response)
    np.testing.assert_allclose(found["predict_proba"], models["plain"].predict_proba(X), atol=atol)
    assert found["predict"].dtype == np.int64


def test_raw_texts_and_numbers_stand_beside_each_other(client, models, rows):
    inputs = [("sex", rows["sex"].tolist(), "BYTES"), ("age", rows["age"], "FP64"),
              ("dose", rows["dose"], "FP32")]  # fmt: skip
    wanted = [{"name": "predict_proba", "parameters": {"binary_data": True}},
              {"name": "decision", "parameters": {"binary_data": True}}]  # fmt: skip
    body, headers = binary_request(inputs, outputs=wanted)
    response = client.post("/v2/models/state/infer", content=body, headers=headers)
    found = outputs_of(response)
    proba = models["state"].predict_proba(rows)
    np.testing.assert_allclose(found["predict_proba"], proba, atol=1e-5)
    assert set(found["decision"].tolist()) <= {"answer", "hand over"}


@pytest.mark.parametrize("kind", [*TYPES, "BYTES"])
def test_tensors_come_back_as_they_were(kind):
    values = np.array(["a", "ü"], dtype=object) if kind == "BYTES" else np.ones(2, TYPES[kind])
    head, raw = written_tensor("t", values, binary=True)
    assert head["datatype"] == kind
    _, again, shape = read_tensor(head, raw)
    assert list(again) == list(values)
    assert shape == (2,)


BAD_INPUTS = [
    {},
    {"inputs": 3},
    {"inputs": [3]},
    {"inputs": [{"name": "X"}]},
    {"inputs": [{"name": "X", "datatype": {}, "shape": [1, 4], "data": [1] * 4}]},
    {"inputs": [{"name": {}, "datatype": "FP64", "shape": [1, 4], "data": [1] * 4}]},
    {"inputs": [{"name": "X", "datatype": "FP99", "shape": [1, 4], "data": [1] * 4}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [1, 5], "data": [1] * 5}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [2, 4], "data": [1] * 4}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [-1, 4], "data": [1] * 4}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [1e9, 4], "data": []}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [10**6, 4], "data": []}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": "4", "data": [1] * 4}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [1, 4], "data": ["a"] * 4}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [1, 4], "data": [1, [2], 3, 4]}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [1, 4], "data": [[[[1, 2, 3, None]]]]}]},
    {"inputs": [{"name": "X", "datatype": "FP64", "shape": [1, 4],
                 "parameters": {"binary_data_size": 32}}]},
]  # fmt: skip


@pytest.mark.parametrize("body", BAD_INPUTS)
def test_tensors_that_mean_nothing_are_refused(client, body):
    response = client.post("/v2/models/plain/infer", json=body)
    assert 400 <= response.status_code < 500, response.text
    assert response.json()["error"]


def test_raw_bytes_that_are_not_whole_are_refused(client):
    X, _ = served_models.numbers(3)
    body, headers = binary_request([("X", X, "FP64")])
    for bad in (body[:-1], body + b"x", body[: int(headers[HEADER]) - 2]):
        response = client.post("/v2/models/plain/infer", content=bad, headers=headers)
        assert response.status_code == 400, response.text
    for length in ("-1", "x", "99999999999999", "²"):
        given = {HEADER: length.encode()}
        response = client.post("/v2/models/plain/infer", content=body, headers=given)
        assert response.status_code == 400, response.text
    body, headers = binary_request([("X", ["a", "b"], "BYTES")])
    response = client.post("/v2/models/plain/infer", content=body[:-1], headers=headers)
    assert response.status_code == 400


# -- MLflow ---------------------------------------------------------------------------------------


def as_records(rows):
    return json.loads(rows[["age", "dose", "sex"]].to_json(orient="records", double_precision=15))


def test_every_format_of_mlflow_is_answered_the_same(client, models, rows):
    records = as_records(rows)
    names = list(records[0])
    data = [list(record.values()) for record in records]
    proba = models["state"].predict_proba(rows)
    for body in (
        {"dataframe_split": {"columns": names, "data": data, "index": list(range(len(data)))}},
        {"dataframe_split": {"columns": names[::-1], "data": [row[::-1] for row in data]}},
        {"dataframe_records": records},
        {"instances": records},
        {"instances": data},
        {"inputs": {name: [r[name] for r in records] for name in names}},
        {"inputs": {name: [[r[name]] for r in records] for name in names}},
    ):
        response = client.post("/models/state/invocations", json=body)
        assert response.status_code == 200, response.text
        found = response.json()["predictions"]
        given = np.array([[row["p_ill"], row["p_well"]] for row in found])
        np.testing.assert_allclose(given, proba, atol=1e-12, rtol=0)
        assert {row["decision"] for row in found} <= {"answer", "hand over"}
    text = rows.to_csv(index=False)
    response = client.post(
        "/models/state/invocations", content=text, headers={"Content-Type": "text/csv"}
    )
    found = response.json()["predictions"]
    assert [row["predicted"] for row in found] == models["state"].predict(rows).tolist()


def test_params_choose_the_method(client, models):
    X, _ = served_models.numbers(5, seed=2)
    for method in ("predict", "predict_proba"):
        body = {"inputs": X.tolist(), "params": {"predict_method": method}}
        found = client.post("/models/plain/invocations", json=body).json()["predictions"]
        np.testing.assert_allclose(found, getattr(models["plain"], method)(X), atol=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"dataframe_split": 3},
        {"dataframe_split": {"columns": ["x0"], "data": [[1, 2]]}},
        {"dataframe_split": {"columns": ["x0", "x0"], "data": [[1, 2]]}},
        {"dataframe_split": {"columns": 3, "data": [[1]]}},
        {"dataframe_records": {}},
        {"inputs": 3},
        {"instances": [[1, 2, 3]]},
        {"instances": [[1, 2, 3, 4]], "inputs": []},
        {"instances": [[1, 2, 3, 4]], "params": {"predict_method": "fit"}},
        {"instances": []},
        {"instances": [[1, 2, 3, None]]},
    ],
)
def test_what_mlflow_would_not_send_is_refused(client, body):
    response = client.post("/models/plain/invocations", json=body)
    assert 400 <= response.status_code < 500, response.text
    assert response.json()["error"]


def test_ping_and_version(client):
    for way in (client.get, client.head):  # balancers ask by either
        assert way("/ping").status_code == way("/v2/health/ready").status_code == 200
    assert client.get("/version").text
