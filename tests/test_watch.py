"""The watch: expected accuracy, alarms at the stated rate, labels that come back, and its pages."""

import json
import sqlite3

import numpy as np
import pytest
from scipy.special import expit
from typer.testing import CliRunner

import served_models
import site_browser
from kinlearn.answering.answers import answer_rows
from kinlearn.answering.rows import rows_of_columns
from kinlearn.answering.served_model import load_served
from kinlearn.cli import app
from kinlearn.tables.input_profile import profile_inputs
from kinlearn.watch.betting import log_stakes, wealth
from kinlearn.watch.expected import Usual, expected_accuracy, of_sums, shares_by_em
from kinlearn.watch.feedback import added, advice, alarm_of, judged, sums_of
from kinlearn.watch.page import monitor_page
from kinlearn.watch.store import Store
from kinlearn.watch.watching import Watch
from kinlearn.watch.windows import Window, risk_of


def drawn(n, rng, prior=0.5, shift=0.0):
    """Probabilities that are right, and truths: one number with a normal for each class."""
    y = rng.random(n) < prior
    x = np.where(y, 1.0, -1.0) + rng.normal(size=n) + shift
    p = expit(2.0 * x)  # for even classes
    return np.column_stack([1 - p, p]), y.astype(int)


# -- the accuracy to expect -----------------------------------------------------------------------


def test_expected_accuracy_is_the_mean_of_what_was_stated():
    proba, _ = drawn(300, np.random.default_rng(0))
    found = expected_accuracy(proba)
    p = proba.max(axis=1)
    assert found.accuracy == pytest.approx(p.mean())
    wide = 1.96 * np.sqrt((p * (1 - p)).sum()) / 300
    assert (found.low, found.high) == pytest.approx((p.mean() - wide, p.mean() + wide))
    again = of_sums(p.sum(), (p * (1 - p)).sum(), 300)
    assert (again.accuracy, again.low) == pytest.approx((found.accuracy, found.low))


def test_its_interval_holds_the_accuracy_that_is_seen():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        proba, y = drawn(200, rng)
        found = expected_accuracy(proba)
        held += found.low <= (proba.argmax(axis=1) == y).mean() <= found.high
    assert held >= 276  # of 300 at 95 %, less three standard errors


def test_classes_in_other_shares_are_found():
    rng = np.random.default_rng(2)
    usual, told = Usual(drawn(2000, rng)[0], 2000, 0.84), []
    for _ in range(20):
        proba, _ = drawn(800, rng, prior=0.1)
        found = expected_accuracy(proba, usual)
        assert found.accuracy == pytest.approx(proba.max(axis=1).mean())
        told += [] if found.prior is None else [found.prior[1]]
    assert len(told) >= 4  # of the others chance says that something else may explain them
    np.testing.assert_allclose(told, 0.1, atol=0.05)
    even, _ = drawn(800, rng)
    assert expected_accuracy(even, usual).prior is None


def test_shares_are_those_of_largest_likelihood():
    proba, _ = drawn(500, np.random.default_rng(3), prior=0.3)
    found = shares_by_em(proba, np.array([0.5, 0.5]))
    grid = np.linspace(0.01, 0.99, 981)
    likelihood = [np.log(proba @ [2 * (1 - s), 2 * s]).sum() for s in grid]
    assert found[1] == pytest.approx(grid[int(np.argmax(likelihood))], abs=2e-3)


# -- drift ----------------------------------------------------------------------------------------


def window_of(profile, usual, frame, proba):
    window = Window(profile, ["no", "yes"], usual)
    window.add(frame, proba, np.ones(len(proba), dtype=bool))
    return window


def test_streams_without_a_shift_raise_alarms_at_most_at_the_stated_rate():
    import pandas as pd

    rng = np.random.default_rng(4)
    alarmed = 0
    for _ in range(60):
        rows = {"a": rng.normal(size=400), "b": rng.choice(["x", "y", "z"], 400, p=[0.6, 0.3, 0.1])}
        proba, _ = drawn(400, rng)
        answers = {"no": proba[:, 0], "yes": proba[:, 1]}
        profile = profile_inputs(pd.DataFrame(rows), answers=answers)
        usual = Usual(proba, 400, 0.84)
        for k in (1, 2, 3):
            new = {
                "a": rng.normal(size=150),
                "b": rng.choice(["x", "y", "z"], 150, p=[0.6, 0.3, 0.1]),
            }
            window = window_of(profile, usual, pd.DataFrame(new), drawn(150, rng)[0])
            if window.closed(k)["alarms"]:
                alarmed += 1
                break
    assert alarmed <= 3  # one in twenty


def test_a_shift_is_named():
    import pandas as pd

    rng = np.random.default_rng(5)
    proba, _ = drawn(400, rng)
    answers = {"no": proba[:, 0], "yes": proba[:, 1]}
    profile = profile_inputs(pd.DataFrame({"a": rng.normal(size=400)}), answers=answers)
    far = pd.DataFrame({"a": rng.normal(size=150) + 2})
    window = window_of(profile, Usual(proba, 400, 0.84), far, drawn(150, rng, shift=3.0)[0])
    kinds = {(each["kind"], each["column"]) for each in window.closed(5)["alarms"]}
    assert ("answers", "yes") in kinds
    assert {column for kind, column in kinds if kind in ("range", "moved")} == {"a"}


def test_the_risk_of_all_windows_together_is_the_stated_one():
    assert sum(risk_of(k) for k in range(1, 100_000)) < 0.05
    assert risk_of(1) > risk_of(2) > risk_of(100)


# -- labels that come back ------------------------------------------------------------------------


def test_the_bet_is_fair_and_wins_where_the_model_is_wrong():
    rng = np.random.default_rng(6)
    ever = 0
    for _ in range(200):
        proba, y = drawn(400, rng)
        p, right = proba.max(axis=1), (proba.argmax(axis=1) == y).astype(float)
        logs = np.zeros(5)
        for start in range(0, 400, 20):
            logs += log_stakes(p[start : start + 20], right[start : start + 20], below=True)
            if wealth(logs) >= 20:
                ever += 1
                break
    assert ever <= 10
    proba, y = drawn(400, rng)
    wrong = rng.random(400) < 0.25
    sums = sums_of(proba, np.where(wrong, 1 - y, y), proba.argmax(axis=1))
    assert alarm_of(sums) == "below"


def test_sums_add_up():
    rng = np.random.default_rng(7)
    proba, y = drawn(100, rng)
    answers = proba.argmax(axis=1)
    whole = sums_of(proba, y, answers)
    parts = None
    for start in range(0, 100, 30):
        some = slice(start, start + 30)
        parts = added(parts, sums_of(proba[some], y[some], answers[some]))
    told, again = judged(whole), judged(parts)
    assert told == pytest.approx(again)
    assert told["observed_accuracy"] == (answers == y).mean()
    assert told["brier"] == pytest.approx(np.square(proba - np.eye(2)[y]).sum(axis=1).mean())


# -- the service ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    rows = served_models.rows_of_table(160)
    served_models.save_table_model(folder / "state.kin", rows, inputs=True)
    served_models.save_table_model(folder / "sites.kin", rows, task="site")
    return folder


def records(rows, label=True):
    given = rows if label else rows.drop(columns=["state"])
    return json.loads(given.to_json(orient="records"))


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (lambda p, rng: rng.random(len(p)) < p - 0.2, "all are stated too high"),
        (lambda p, rng: rng.random(len(p)) < p + 0.2, "rows that the model was trained on?"),
        (lambda p, rng: rng.random(len(p)) < 0.5, "no longer right more often: train"),
    ],
)
def test_what_to_do_is_said_by_how_labels_part_from_what_was_stated(right, words):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 0.8, 2000)
    answers = np.arange(2000) % 2  # classes stay as frequent as they were
    proba = np.where(np.arange(2)[None, :] == answers[:, None], p[:, None], 1 - p[:, None])
    truth = np.where(right(p, rng), answers, 1 - answers)
    sums = sums_of(proba, truth, answers)
    assert words in advice(sums, ["ill", "well"], [0.5, 0.5])
    # weighing classes anew helps where the order of the answers still holds
    is_flat = "no longer" in words
    assert ("with_prior" in advice(sums, ["ill", "well"], [0.7, 0.3])) is not is_flat


def test_labels_count_once_and_are_judged(folder, tmp_path):
    watch = str(tmp_path / "watch.sqlite")
    rows = served_models.rows_of_table(50, seed=3)
    model = load_served(folder / "state.kin").model
    with served_models.client_of(folder / "state.kin", watch=watch) as client:
        given = [row | {"id": f"r{i}"} for i, row in enumerate(records(rows))]
        found = client.post("/feedback", json=given).json()
        assert (found["taken"], found["known_before"]) == (50, 0)
        accuracy = (model.predict(rows) == rows["state"]).mean()
        assert found["so_far"]["observed_accuracy"] == pytest.approx(accuracy)
        again = client.post("/feedback", json=given).json()
        assert (again["taken"], again["known_before"]) == (0, 50)
        assert again["so_far"] == found["so_far"]
        text = client.post("/feedback", content=rows.to_csv(index=False),
                           headers={"Content-Type": "text/csv"})  # fmt: skip
        assert text.json()["so_far"]["rows"] == 100
    with served_models.client_of(folder / "state.kin", watch=watch) as client:  # started again
        [state] = client.get("/monitor.json").json()
        assert state["feedback"]["rows"] == 100


def test_labels_of_unknown_classes_are_said_and_whole_numbers_may_have_a_point(folder, tmp_path):
    path = tmp_path / "plain.kin"
    served_models.save_number_model(path)
    row = {"x0": 1.0, "x1": 0.0, "x2": 0.0, "x3": 0.0}
    with served_models.client_of(path) as client:
        for label, strange in ((1, 0), ("1", 0), (1.0, 0), ("1.0", 0), (7, 1), ("one", 1)):
            found = client.post("/feedback", json=[row | {"label": label}]).json()
            assert found["taken"] == 1
            assert len(found.get("notes", [])) == strange
        assert "1 labels are of classes the model does not know (it knows '0', '1')" in str(found)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([], "Feedback is a list"),
        ([3], "Row 1 is 3"),
        ([{"age": 1, "dose": 2, "sex": "male"}], "has no true class"),
        ([{"age": 1, "dose": 2, "sex": "male", "state": ["ill"]}], "has the label"),
        ([{"dose": 2, "sex": "male", "state": "ill"}], "with column 'age'"),
        ([{"id": "x", "state": "ill"}], "no such row was kept"),
        ([{"age": 1, "dose": 2, "sex": "male", "state": "ill", "id": {}}], "an id is a text"),
    ],
)
def test_labels_that_mean_nothing_are_refused(folder, body, words):
    with served_models.client_of(folder / "state.kin") as client:
        response = client.post("/feedback", json=body)
        assert response.status_code == 422
        assert words in response.json()["error"]


def test_labels_come_as_json_or_csv(folder):
    with served_models.client_of(folder / "state.kin") as client:
        response = client.post("/feedback", content=b"PAR1" + bytes(20))
    assert response.status_code == 415
    assert "JSON and CSV" in response.json()["error"]


def test_rows_are_kept_only_when_asked_for(folder, tmp_path):
    rows = records(served_models.rows_of_table(20, seed=4), label=False)
    for keep in (False, True):
        path = tmp_path / f"{keep}.sqlite"
        settings = {"watch": str(path), "keep_rows": keep}
        with served_models.client_of(folder / "state.kin", **settings) as client:
            answers = client.post("/predict", json=rows).json()["answers"]
            if keep:
                told = [{"id": answer["id"], "state": "ill"} for answer in answers]
                assert client.post("/feedback", json=told).json()["taken"] == 20
            else:
                assert "id" not in answers[0]
        [(count,)] = sqlite3.connect(path).execute("SELECT COUNT(*) FROM rows").fetchall()
        assert count == (20 if keep else 0)
        assert (b"female" in path.read_bytes()) is keep


def test_pages_and_metrics_tell_of_traffic_drift_and_labels(folder, tmp_path):
    rows = served_models.rows_of_table(240, seed=5)
    rows.loc[120:, "dose"] += 6.0
    watch = str(tmp_path / "watch.sqlite")
    with served_models.client_of(folder / "state.kin", watch=watch, window=60) as client:
        for start in range(0, 240, 60):
            some = rows.iloc[start : start + 60]
            client.post("/predict", json=records(some, label=False))
            client.get("/metrics")
        client.post("/feedback", json=records(rows))
        [state] = client.get("/monitor.json").json()
        assert state["traffic"]["rows"] == 240
        assert [window["rows"] for window in state["windows"]] == [60] * 4
        assert {alarm["column"] for alarm in state["alarms"]} >= {"dose"}
        assert not state["windows"][0]["alarms"]
        text = client.get("/metrics").text
        for line in (
            'kinlearn_rows_total{model="state"', "kinlearn_expected_accuracy{",
            "kinlearn_observed_accuracy{", "kinlearn_requests_total{",
            "kinlearn_request_seconds_bucket{", "kinlearn_missing_cells_total{",
        ):  # fmt: skip
            assert line in text
        page = client.get("/monitor").text
        assert "not what the model was trained on" in page or "right less often" in page
        assert "http://" not in page.replace("http://www.w3.org", "")


def test_tasks_are_told_apart(folder):
    rows = served_models.rows_of_table(120, seed=6)
    with served_models.client_of(folder / "sites.kin", window=60) as client:
        client.post("/predict", json=records(rows, label=False))
        client.post("/feedback", json=records(rows))
        [state] = client.get("/monitor.json").json()
    assert set(state["windows"][-1]["tasks"]) == {"north", "south"}
    seen = state["feedback"]["tasks"]
    assert sum(each["rows"] for each in seen.values()) == 120


def test_workers_share_one_file(folder, tmp_path):
    served = load_served(folder / "state.kin")
    rows = served_models.rows_of_table(100, seed=7)
    given = rows_of_columns(served, {name: rows[name].tolist() for name in ("age", "dose", "sex")})
    found = answer_rows(served, given)
    path = tmp_path / "watch.sqlite"
    watches = [Watch(Store(path), 50) for _ in range(2)]
    truth = np.searchsorted(served.classes.astype(str), rows["state"])
    for watch in watches:
        watch.take(given, found)
        watch.flush()
        watch.feedback(given, found, truth, [None] * 100)
    state = watches[0].state(served)
    assert state["traffic"]["rows"] == 200
    assert [window["k"] for window in state["windows"]] == [1, 2, 3, 4]
    assert state["feedback"]["rows"] == 200


# -- without a service ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(folder):
    rows = served_models.rows_of_table(300, seed=8)
    rows.loc[150:, "dose"] += 6.0
    rows.to_csv(folder / "new.csv", index=False)
    command = ["monitor", folder / "state.kin", folder / "new.csv", "--window", "50",
               "--out", folder / "page.html"]  # fmt: skip
    done = CliRunner().invoke(app, [str(each) for each in command])
    assert done.exit_code == 0, done.output
    assert "of the answers are expected" in done.stdout
    assert "dose:" in done.stdout
    return folder / "page.html"


def test_monitor_says_the_same_of_a_table(folder, page):
    command = ["monitor", folder / "state.kin", folder / "new.csv", "--json", "--force",
               "--out", folder / "again.html"]  # fmt: skip
    done = CliRunner().invoke(app, [str(each) for each in command])
    told = json.loads(done.stdout)
    assert told["feedback"]["rows"] == 300
    assert told["traffic"]["rows"] == 300
    assert {alarm["column"] for alarm in told["alarms"]} >= {"dose"}


def test_the_page_can_be_read_in_both_widths_and_modes(page, tmp_path):
    if site_browser.chromium() is None:
        pytest.skip("Chromium is not installed.")
    with site_browser.opened() as browser:
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                size = {"width": width, "height": 844}
                tab = browser.new_context(viewport=size, color_scheme=scheme).new_page()
                asked: list[str] = []
                tab.on("request", lambda request, asked=asked: asked.append(request.url))
                tab.goto(page.as_uri())
                assert not tab.evaluate(site_browser.READABLE, scheme == "dark")
                assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
                assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_a_page_of_nothing_says_so(folder):
    served = load_served(folder / "state.kin")
    assert "No row has been answered yet" in monitor_page([Watch(Store()).state(served)])
