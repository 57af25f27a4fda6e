"""Models that learn on: exactly, through kills, back to earlier versions, without rows again."""

import json
import sqlite3
import urllib.request

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import kinlearn
import served_models
from kinlearn import LSPC
from kinlearn.cells.refusals import TableError
from kinlearn.cli import app
from kinlearn.learning.versions import Noted, Versions
from kinlearn.service.registry import Registry
from kinlearn.service.running import watch_file

NAMES = ("x0", "x1", "x2", "x3")


def save_stream(path, n=150, **parameters):
    """A model that carries sums."""
    X, y = served_models.numbers(n)
    scale = StandardScaler().fit(X)
    last = LSPC(n_centers=20, random_state=0, **parameters).partial_fit(scale.transform(X), y)
    model = make_pipeline(scale, last)
    kinlearn.save(model, path)
    return model


def told(X, y, first=0):
    return [
        {**dict(zip(NAMES, row, strict=True)), "label": int(label), "id": f"r{first + i}"}
        for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]


def same_sums(model, start, X, y):
    """Whether a model is that of the rows it began with and these, at once."""
    first, labels = served_models.numbers(150)
    scale, last = start.steps[0][1], start.steps[1][1]
    whole = LSPC(centers=last.centers_, sigma=last.sigma_)
    rows = scale.transform(np.concatenate([first, X]))
    whole.partial_fit(rows, np.concatenate([labels, y]))
    new, _ = served_models.numbers(50, seed=9)
    found = model.predict_proba(new)
    np.testing.assert_allclose(found, whole.predict_proba(scale.transform(new)), atol=1e-7)
    assert model[-1].statistics_.n_rows == 150 + len(y)


def service_of(path, **settings):
    given = {"watch": str(watch_file(path)), "learn": True} | settings
    return served_models.client_of(path, **given)


def served(client):
    service = client.app.state.service
    service.flush()
    return service.registry.get()


def test_labels_are_learnt_as_if_they_had_been_there_from_the_start(tmp_path):
    path = tmp_path / "m.kin"
    start = save_stream(path)
    X, y = served_models.numbers(90, seed=1)
    with service_of(path) as client:
        before = served(client).version
        for first in range(0, 90, 40):
            some = slice(first, first + 40)
            body = told(X[some], y[some], first)
            for _ in range(2):  # the second time they are known
                assert client.post("/feedback", json=body).status_code == 200
        after = served(client)
        assert after.version != before
        same_sums(after.model, start, X, y)
        body = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
        answers = client.post("/predict", json=body).json()
        assert answers["version"] == after.version
        proba = [list(each["probabilities"].values()) for each in answers["answers"]]
        np.testing.assert_allclose(proba, after.model.predict_proba(X), atol=1e-12)
    # the file is what was learnt, for whoever loads it
    same_sums(kinlearn.load(path), start, X, y)
    assert Noted.of(kinlearn.model_info(path)).version == 1


def test_what_was_acknowledged_survives_being_killed(tmp_path):
    path = tmp_path / "m.kin"
    start = save_stream(path)
    X, y = served_models.numbers(60, seed=2)
    done = 0
    for stop in (17, 60):
        with served_models.serving(path, "--learn") as (address, process):
            while done < stop:
                body = json.dumps(told(X[done : done + 1], y[done : done + 1], done)).encode()
                request = urllib.request.Request(
                    f"{address}/feedback", body, {"Content-Type": "application/json"}
                )
                with urllib.request.urlopen(request, timeout=60) as response:
                    assert json.loads(response.read())["taken"] == 1
                done += 1
            process.kill()
            process.wait()
    with service_of(path) as client:
        same_sums(served(client).model, start, X, y)
        [state] = client.get("/monitor.json").json()
        assert state["feedback"]["rows"] == 60


def test_one_command_goes_back(tmp_path):
    path = tmp_path / "m.kin"
    start = save_stream(path)
    X, y = served_models.numbers(60, seed=3)
    for part in (slice(0, 30), slice(30, 60)):
        with service_of(path) as client:
            client.post("/feedback", json=told(X[part], y[part], part.start))
    with service_of(path, poll_seconds=0.05) as client:
        same_sums(served(client).model, start, X, y)
        said = CliRunner().invoke(app, ["rollback", str(path), "--json"])
        assert json.loads(said.stdout)["version"] == 1, said.output
        client.app.state.service.registry.look()
        same_sums(served(client).model, start, X[:30], y[:30])
    said = CliRunner().invoke(app, ["rollback", str(path), "--to", "0", "--json"])
    assert json.loads(said.stdout)["version"] == 0
    np.testing.assert_array_equal(kinlearn.load(path).predict_proba(X), start.predict_proba(X))
    said = CliRunner().invoke(app, ["rollback", str(path), "--to", "7"])
    assert said.exit_code == 1
    assert "has no version 7 to go back to" in said.stderr
    with pytest.raises(TableError, match="has no version before 0"):
        Versions(path).put_back(None)


def test_going_back_drops_what_is_not_yet_in_a_version_of_one_of_several_models(tmp_path):
    start = save_stream(tmp_path / "m.kin")
    save_stream(tmp_path / "other.kin", reg=0.1)
    X, y = served_models.numbers(60, seed=3)
    watch = str(watch_file(tmp_path))
    with service_of(tmp_path, watch=watch) as client:
        for name in ("m", "other"):
            client.post(f"/models/{name}/feedback", json=told(X[:30], y[:30]))
    with service_of(tmp_path, watch=watch) as client:
        for name in ("m", "other"):
            client.post(f"/models/{name}/feedback", json=told(X[30:], y[30:], 30))
        client.app.state.service.learners.clear()  # the service ends before it writes a version
    said = CliRunner().invoke(app, ["rollback", str(tmp_path / "m.kin"), "--json"])
    assert json.loads(said.stdout)["version"] == 0, said.output
    with service_of(tmp_path, watch=watch) as client:
        service = client.app.state.service
        service.flush()
        found = service.registry.get("m").model
        np.testing.assert_array_equal(found.predict_proba(X), start.predict_proba(X))
        assert service.registry.get("other").model[-1].statistics_.n_rows == 210


def test_a_row_is_forgotten_on_request_in_all_that_is_kept(tmp_path):
    path = tmp_path / "m.kin"
    start = save_stream(path)
    X, y = served_models.numbers(40, seed=4)
    secret = X[7, 0]
    with service_of(path) as client:
        body = told(X, y)
        client.post("/feedback", json=body)
        done = client.post("/forget", json=body[7:8])
        assert done.json()["forgotten"] == 1, done.text
        left = np.arange(40) != 7
        same_sums(served(client).model, start, X[left], y[left])
        refused = client.post("/forget", json=told(X[:1] + 100, y[:1]))
        assert refused.status_code == 422, refused.text
        same_sums(served(client).model, start, X[left], y[left])
    assert Versions(path).numbers() == [1]
    watch = watch_file(path)
    with sqlite3.connect(watch) as base:
        assert base.execute("SELECT COUNT(*) FROM learnt").fetchone() == (0,)
    for file in tmp_path.glob("*watch*"):
        assert repr(float(secret)).encode() not in file.read_bytes()


def test_a_row_is_forgotten_once_however_often_that_is_asked_for(tmp_path):
    path = tmp_path / "m.kin"
    start = save_stream(path)
    X, y = served_models.numbers(40, seed=4)
    left = np.arange(40) != 7
    body = told(X, y)
    for _ in range(2):  # the service is started again
        with service_of(path) as client:
            client.post("/feedback", json=body)
            client.post("/forget", json=[body[7], body[7]])
            again = client.post("/forget", json=body[7:8]).json()
            assert (again["forgotten"], again["known_before"]) == (0, 1)
            same_sums(served(client).model, start, X[left], y[left])


def test_what_could_not_be_forgotten_may_be_asked_for_again(tmp_path, monkeypatch):
    path = tmp_path / "m.kin"
    start = save_stream(path)
    X, y = served_models.numbers(40, seed=4)
    body, left = told(X, y), np.arange(40) != 7
    with service_of(path, poll_seconds=1000.0) as client:
        client.post("/feedback", json=body)

        def full(*_):
            raise OSError("No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Versions, "save", full)
            assert client.post("/forget", json=body[7:8]).status_code == 500
        same_sums(served(client).model, start, X, y)
        assert client.post("/forget", json=body[7:8]).json()["forgotten"] == 1
        same_sums(served(client).model, start, X[left], y[left])
        # another file stays where it was put, and is not said to have forgotten anything
        other = save_stream(path, reg=0.1)
        refused = client.post("/forget", json=body[8:9])
        assert refused.status_code == 409, refused.text
        assert "has just been replaced" in refused.json()["error"]
        same_sums(served(client).model, start, X[left], y[left])
    np.testing.assert_array_equal(kinlearn.load(path).predict_proba(X), other.predict_proba(X))


def test_a_model_put_there_while_the_first_labels_are_learnt_stays(tmp_path):
    path = tmp_path / "m.kin"
    save_stream(path)
    X, y = served_models.numbers(20, seed=5)
    with service_of(path, poll_seconds=1000.0) as client:
        client.post("/feedback", json=told(X, y))
        other = save_stream(path, reg=0.1)
    np.testing.assert_array_equal(kinlearn.load(path).predict_proba(X), other.predict_proba(X))


def test_another_model_in_its_place_begins_anew(tmp_path):
    path = tmp_path / "m.kin"
    save_stream(path)
    X, y = served_models.numbers(20, seed=5)
    with service_of(path) as client:
        client.post("/feedback", json=told(X, y))
        served(client)
        other = save_stream(path, reg=0.1)
        client.app.state.service.registry.look()
        found = served(client).model
        np.testing.assert_allclose(found.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_models_without_sums_cannot_learn(tmp_path):
    path = tmp_path / "m.kin"
    served_models.save_number_model(path)
    with pytest.raises(TableError, match="carries no sums to add to"):
        service_of(path)
    with service_of(path, learn=False) as client:
        refused = client.post("/forget", json=told(*served_models.numbers(1)))
        assert refused.status_code == 404
    assert Registry([str(path)]).names == ["m"]
    said = CliRunner().invoke(app, ["serve", str(path), "--learn", "--workers", "2"])
    assert said.exit_code == 1
    assert "--learn has one worker" in said.stderr
