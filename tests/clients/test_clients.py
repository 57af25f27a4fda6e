"""Clients that others wrote, against the command in a process of its own: ``make test-clients``."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

mlflow = pytest.importorskip("mlflow")
triton = pytest.importorskip("tritonclient.http")
requests = pytest.importorskip("requests")
pytest.importorskip("schemathesis")

sys.path.insert(0, str(Path(__file__).parent.parent))
import served_models  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    served_models.save_table_model(folder / "state.kin", served_models.rows_of_table(160))
    served_models.save_number_model(folder / "plain.kin")
    return folder


@pytest.fixture(scope="module")
def service(folder):
    with served_models.serving(folder) as (address, _):
        yield address


@pytest.fixture(scope="module")
def models(folder):
    import kinlearn

    return {name: kinlearn.load(folder / f"{name}.kin") for name in ("state", "plain")}


@pytest.fixture(scope="module")
def rows():
    return served_models.rows_of_table(60, seed=1)


@pytest.fixture(scope="module")
def client(service):
    return triton.InferenceServerClient(service.removeprefix("http://"))


def inputs_of(rows, *, binary):
    found = []
    for name, kind in (("age", "FP64"), ("dose", "FP64"), ("sex", "BYTES")):
        values = rows[name].to_numpy(object if kind == "BYTES" else np.float64)
        one = triton.InferInput(name, list(values.shape), kind)
        one.set_data_from_numpy(values, binary_data=binary)
        found.append(one)
    return found


def test_triton_sees_the_service_and_its_models(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("state")
    assert [each["name"] for each in client.get_model_metadata("state")["inputs"]] == [
        "age",
        "dose",
        "sex",
    ]
    assert {each["name"] for each in client.get_model_repository_index()} == {"plain", "state"}


@pytest.mark.parametrize("binary", [True, False])
def test_triton_gets_the_models_probabilities(client, models, rows, binary):
    if not binary:
        rows = rows.dropna()  # its JSON has no word for NaN
    wanted = [
        triton.InferRequestedOutput(name, binary_data=binary)
        for name in ("predict", "predict_proba", "decision")
    ]
    found = client.infer("state", inputs_of(rows, binary=binary), outputs=wanted)
    proba = models["state"].predict_proba(rows)
    np.testing.assert_allclose(found.as_numpy("predict_proba"), proba, atol=1e-12, rtol=0)
    said = [
        each.decode() if isinstance(each, bytes) else each for each in found.as_numpy("predict")
    ]
    assert said == models["state"].predict(rows).tolist()


def test_triton_gets_the_same_by_its_defaults_in_single_precision(client, models):
    X, _ = served_models.numbers(200, seed=2)
    one = triton.InferInput("X", [200, 4], "FP32")
    one.set_data_from_numpy(X.astype(np.float32))
    found = client.infer("plain", [one])
    proba = models["plain"].predict_proba(X)
    np.testing.assert_allclose(found.as_numpy("predict_proba"), proba, atol=1e-5)


def test_triton_reads_our_refusals(client):
    one = triton.InferInput("X", [2, 3], "FP32")
    one.set_data_from_numpy(np.zeros((2, 3), np.float32))
    with pytest.raises(Exception, match="give one tensor of shape"):
        client.infer("plain", [one])


def test_the_scoring_client_of_mlflow(service, models, rows):
    from mlflow.pyfunc.scoring_server.client import ScoringServerClient

    host, port = service.removeprefix("http://").split(":")
    asked = ScoringServerClient(host, int(port))
    asked.ping()  # raises, or gives nothing
    asked.url_prefix = f"{service}/models/state"
    frame = rows[["age", "dose", "sex"]]
    found = pd.DataFrame(asked.invoke(frame).get_predictions())
    proba = models["state"].predict_proba(rows)
    np.testing.assert_allclose(found[["p_ill", "p_well"]].to_numpy(float), proba, atol=1e-12)


def test_a_round_trip_through_pyfunc(folder, models, rows, tmp_path):
    from kinlearn.integrations import mlflow as flavour

    flavour.save_model(folder / "state.kin", tmp_path / "model")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    found = loaded.predict(rows.drop(columns=["state"]))
    proba = models["state"].predict_proba(rows)
    np.testing.assert_allclose(found[["p_ill", "p_well"]].to_numpy(float), proba, atol=1e-12)
    assert found["predicted"].tolist() == models["state"].predict(rows).tolist()
    flavour.save_model(models["plain"], tmp_path / "plain")
    X, _ = served_models.numbers(5)
    again = mlflow.pyfunc.load_model(str(tmp_path / "plain"))
    np.testing.assert_allclose(
        again.predict(X)[["p_0", "p_1"]].to_numpy(float), models["plain"].predict_proba(X)
    )


def test_a_plain_script(service, models, rows):
    records = rows.drop(columns=["state"]).astype(object).where(rows.notna(), None)
    found = requests.post(
        f"{service}/models/state/predict", json=records.to_dict(orient="records"), timeout=30
    )
    assert found.status_code == 200
    proba = [list(each["probabilities"].values()) for each in found.json()["answers"]]
    np.testing.assert_allclose(proba, models["state"].predict_proba(rows), atol=1e-12, rtol=0)


def test_no_case_of_schemathesis_is_a_fault(service):
    """At least 2,000 cases made of the OpenAPI document, none answered by a fault."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    schema = schemathesis.openapi.from_url(f"{service}/openapi.json")
    asked = 0
    session = requests.Session()
    for each in schema.get_all_operations():
        operation = each.ok()
        many = 250 if operation.method.lower() == "post" else 5
        for mode in schemathesis.GenerationMode:
            strategy = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=many, deadline=None, database=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=strategy, _=st.none())
            def ask(case, _):
                nonlocal asked
                response = case.call(session=session)
                asked += 1
                assert response.status_code < 500, (case, response.text)

            try:
                ask()
            except schemathesis.errors.SchemathesisError:
                continue  # nothing of this kind can be made of the address
            except Exception as error:
                if "Unsatisfiable" in type(error).__name__:
                    continue
                raise
    print(f"{asked} cases")
    assert asked >= 2000
