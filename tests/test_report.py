"""The report: figures against naive formulas, escaping, sections, and a real browser."""

import html as html_library
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from typer.testing import CliRunner

import kinlearn
from kinlearn import LSPCCV
from kinlearn.cells.schema import TableSchema
from kinlearn.cli import app
from kinlearn.metrics import brier_score, expected_calibration_error
from kinlearn.report.conclusions import conclusions
from kinlearn.report.findings import chance_calibration_error, suspicious_counts
from kinlearn.report.importance import importance_of
from kinlearn.report.measures import exact_interval, measure, weighted_auc
from kinlearn.report.pictures import reliability_picture, risk_picture
from kinlearn.report.relevance import column_relevance
from kinlearn.report.svg import ticks
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation
from kinlearn.tables.example import write_example
from kinlearn.tables.pipeline import make_model

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
runner = CliRunner()
SECTIONS = {
    "conclusions", "data", "sizes", "performance", "calibration", "baselines", "handover",
    "classes", "confusion", "parts", "search", "suspects", "importance", "effects", "next",
}  # fmt: skip


def evaluation_of(rng, n=400, n_classes=3, sharpness=2.0, **extra):
    scores = sharpness * rng.normal(size=(n, n_classes))
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(n_classes, p=p) for p in proba])
    names = [f"class {k}" for k in range(n_classes)]
    return Evaluation(names, truth, proba, np.arange(1, n + 1), "leave-one-out", **extra)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_figures_equal_the_naive_ones(rng, n_classes):
    found = evaluation_of(rng, n_classes=n_classes)
    values = {name: value.value for name, value in measure(found, n_resamples=20).items()}
    y, proba = found.truth, found.proba
    auc = (
        roc_auc_score(y, proba[:, 1])
        if n_classes == 2
        else roc_auc_score(y, proba, multi_class="ovr")
    )
    assert values["auc"] == pytest.approx(auc)
    assert values["accuracy"] == pytest.approx((proba.argmax(axis=1) == y).mean())
    assert values["log_loss"] == pytest.approx(log_loss(y, proba))
    assert values["brier"] == pytest.approx(brier_score(y, proba))
    assert values["ece"] == pytest.approx(expected_calibration_error(y, proba))


def test_weighted_auc_equals_repeated_rows(rng):
    y, score = rng.integers(0, 2, 60) == 1, rng.integers(0, 8, 60) / 8
    times = rng.integers(0, 4, 60)
    repeated = roc_auc_score(np.repeat(y, times), np.repeat(score, times))
    assert weighted_auc(y, score, times[None].astype(float))[0] == pytest.approx(repeated)
    assert np.isnan(weighted_auc(y, score, y[None].astype(float))[0])


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    inside = 0
    for repeat in range(100):
        found = evaluation_of(rng, n=150, n_classes=2)
        interval = measure(found, n_resamples=200, seed=repeat)["accuracy"]
        # Truth is drawn from the probabilities, so their mean maximum is the true accuracy.
        inside += interval.low <= found.proba.max(axis=1).mean() <= interval.high
    assert inside >= 88


def test_groups_widen_the_intervals(rng):
    alone = evaluation_of(rng, n=40)
    copies = np.repeat(np.arange(40), 10)
    many = Evaluation(
        alone.classes, alone.truth[copies], alone.proba[copies], np.arange(400), "x", group=copies
    )
    loose = measure(many)["accuracy"]
    tight = measure(Evaluation(many.classes, many.truth, many.proba, many.positions, "x"))[
        "accuracy"
    ]
    assert loose.high - loose.low > 2 * (tight.high - tight.low)


def test_chance_alone_explains_exact_probabilities():
    rng = np.random.default_rng(2)
    below = 0
    for repeat in range(40):
        found = evaluation_of(rng, n=300, n_classes=2)
        below += measure(found, n_resamples=2)["ece"].value <= chance_calibration_error(
            found, repeat
        )
    assert below >= 34


def test_expected_surprises(rng):
    counts = [suspicious_counts(evaluation_of(rng, n=2000)) for _ in range(5)]
    for seen, expected in counts:
        assert abs(seen - expected) < 4 * np.sqrt(expected)


def test_exact_intervals_cover():
    low, high = exact_interval(0, 20)
    assert (low, round(high, 3)) == (0.0, 0.168)
    assert exact_interval(20, 20)[1] == 1.0


def test_labels_are_pooled_over_what_is_known(rng):
    truth = np.array([[1, 0], [np.nan, 1], [0, np.nan]])
    proba = np.array([[0.9, 0.2], [0.5, 0.4], [0.3, 0.5]])
    found = LabelEvaluation(["a", "b"], truth, proba, np.arange(3), "x")
    pooled = found.pooled()
    assert pooled.n_rows == 4
    assert pooled.truth.tolist() == [1, 0, 1, 0]
    np.testing.assert_allclose(pooled.proba[:, 1], [0.9, 0.2, 0.4, 0.3])
    assert pooled.group.tolist() == [0, 0, 1, 2]
    assert found.label(0).truth.tolist() == [1, 0]


def test_ticks_lie_inside():
    for low, high in [(0, 1), (0.5, 1), (-0.02, 0.31), (0, 7e-5), (3, 1200)]:
        found = ticks(low, high)
        assert 2 <= len(found) <= 7
        assert min(found) >= low - 1e-12
        assert max(found) <= high + 1e-12


def test_pictures_stay_inside_their_frame(rng):
    found = evaluation_of(rng, n_classes=2)
    for svg in (reliability_picture(found), risk_picture(found, 0.05, (0.4, 0.03))):
        places = re.findall(r'c?[xy]="(-?[\d.]+)"', svg)
        assert places
        assert all(-1 <= float(place) <= 561 for place in places)
        assert "nan" not in svg


def test_importance_finds_the_column_that_decides(rng):
    import pandas as pd

    n = 300
    frame = pd.DataFrame(
        {"noise": rng.normal(size=n), "signal": rng.normal(size=n), "more": rng.normal(size=n)}
    )
    y = np.where(frame["signal"] > 0, "a", "b").astype(object)
    schema = TableSchema(numeric=list(frame), categorical=[])
    model = make_model(schema, kinlearn.LSPC()).fit(frame[:150], y[:150])
    found = importance_of(model, schema, frame[150:], y[150:], seed=0)
    assert found[0].column == "signal"
    assert found[0].low > 0.1
    assert abs(found[1].loss) < 0.1


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report of several tasks, with names in the table that would break careless HTML."""
    folder = tmp_path_factory.mktemp("report")
    write_example(folder / "clinic.csv", 150, 0)
    text = (folder / "clinic.csv").read_text()
    text = text.replace("Aspen", "<script>alert(1)</script>").replace("Birch", 'O\'Hara & "Sons"')
    (folder / "clinic.csv").write_text(text.replace('"Sons"', '""Sons""'))
    lines = (folder / "clinic.csv").read_text().splitlines()
    rows = [re.sub(r",(O'Hara & \"\"Sons\"\"),", r',"\1",', line) for line in lines]
    (folder / "clinic.csv").write_text("\n".join(rows) + "\n")
    result = runner.invoke(
        app,
        ["train", str(folder / "clinic.csv"), "--target", "readmitted", "--task", "site",
         "--out", str(folder / "model.kin"), "--report", str(folder / "report.html")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder / "report.html"


def effects_in(text):
    """Pictures of the columns that matter: how many do depends on the model."""
    section = re.search(r'<section id="?effects"?>.*?</section>', text, re.DOTALL)
    n = section.group().count("<svg")
    assert 1 <= n <= 6
    return n


def test_the_page_is_complete_and_needs_nothing(page):
    text = page.read_text()
    assert set(re.findall(r"<section id=(\w+)>", text)) == SECTIONS
    assert not re.search(r"https?://|src=|@import|<script", text)
    assert text.count("<svg") == 6 + effects_in(text)
    assert "nan" not in re.sub(r"<style>.*?</style>", "", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "O&#x27;Hara &amp; &quot;Sons&quot;" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_held_out_figures_are_those_of_leave_one_out(page):
    model = kinlearn.load(page.with_name("model.kin"))
    proba = model[-1].estimator_.held_out_proba()
    facts = kinlearn.model_info(page.with_name("model.kin"))["facts"]
    y = pd.read_csv(page.with_name("clinic.csv"))["readmitted"]
    assert facts["summary"]["figures"]["log_loss"] == pytest.approx(log_loss(y, proba))
    assert f"<b>{log_loss(y, proba):.3f}</b>" in page.read_text()


def test_conclusions_say_when_a_model_is_useless(rng):
    from kinlearn.report.findings import Findings, classes_of

    held = evaluation_of(rng, n=60, n_classes=2, sharpness=0.01)
    found = Findings(
        title="y", file="f", held_out=held, labels=None, schema=TableSchema([], []), columns=[],
        facts={}, overall=measure(held), chance_ece=1.0, parts=[], sharing={},
        by_class=classes_of(held), hand_over=None, suspects=[], expected_suspicious=0.0,
        n_suspicious=0, importance=[], is_training=True,
    )  # fmt: skip
    assert any("should not be relied on" in sentence for sentence in conclusions(found))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def browse(path, profile):
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,900",
            f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, console


@in_browser
def test_a_browser_shows_all_sections_without_complaint(page, tmp_path):
    dom, console = browse(page, tmp_path / "profile")
    assert console == []
    assert set(re.findall(r'<section id="(\w+)">', dom)) == SECTIONS
    assert dom.count("<svg") == 6 + effects_in(dom)
    assert "Predicting readmitted" in dom


@in_browser
def test_the_page_fits_a_phone_and_complaints_would_be_seen(page, tmp_path):
    # A window cannot be as narrow as a phone, a frame can.
    frame = (
        f'<iframe style="width:390px;height:844px;border:0" srcdoc="'
        f'{html_library.escape(page.read_text())}"></iframe>'
        "<script>addEventListener('load', () => {"
        "const inner = document.querySelector('iframe').contentDocument.documentElement;"
        "document.body.dataset.widths = inner.clientWidth + ' ' + inner.scrollWidth;"
        "console.error('seen')})</script>"
    )
    wrapper = tmp_path / "phone.html"
    wrapper.write_text(f"<!doctype html><body>{frame}</body>")
    dom, console = browse(wrapper, tmp_path / "profile")
    inner, scrolled = map(int, re.search(r'data-widths="(\d+) (\d+)"', dom).groups())
    assert inner <= 390
    assert scrolled <= inner
    assert len(console) == 1
    assert "seen" in console[0]


def test_the_columns_the_model_looks_at_are_told(rng):
    """Of a column of categories, what its columns of 0 and 1 have together."""
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=240),
            "kind": np.array(["u", "v", "w"], dtype=object)[rng.integers(0, 3, 240)],
            "age": rng.normal(40, 10, size=240),
        }
    )
    y = np.where((frame["kind"] == "u") ^ (frame["age"] > 40), "no", "yes").astype(object)
    schema = TableSchema(numeric=["noise", "age"], categorical=["kind"])
    model = make_model(schema, LSPCCV(kernel="rbf", metric="diagonal")).fit(frame, y)
    found = column_relevance(model, schema)
    assert sum(found.values()) == pytest.approx(3.0)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert list(found)[-1] == "noise"
    own = model.named_steps["columns"].origins() == "kind"
    relevance = model[-1].feature_relevance_
    assert found["kind"] == pytest.approx(3.0 * relevance[own].sum() / relevance.sum())
    plain = make_model(schema, LSPCCV(kernel="rbf", metric=None)).fit(frame, y)
    assert column_relevance(plain, schema) == {}
