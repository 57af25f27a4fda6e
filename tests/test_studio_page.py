"""The studio's page in Chromium: a real table labelled by keyboard, corrected, exported, looked at.

The pictures are kept in ``KINLEARN_SCREENSHOTS`` where it is set.
"""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

pytest.importorskip("starlette")
pytest.importorskip("playwright")
import site_browser
from kinlearn import LSPCCV, ActiveLearner
from studios import HOSTILE, served, settled, studio, write_table

CLASSES = ["barolo", "grignolino", "barbera"]
N_ROWS = 30
SHOWN = "(done) => document.getElementById('row').dataset.done !== done"
FREE = "() => !document.body.classList.contains('busy')"
CURRENT = """(n) => {
  const age = document.getElementById('age').dataset;
  return age.labels === String(n) && age.behind === '0';
}"""


@pytest.fixture(scope="module")
def browser():
    if site_browser.chromium() is None:
        pytest.skip("Chromium is not installed.")
    with site_browser.opened() as found:
        yield found


@pytest.fixture
def table(tmp_path):
    """Chemistry of wines, with remarks that would run if a cell were markup."""
    wines = load_wine()
    path = tmp_path / "wines.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream)
        lines.writerow([*wines.feature_names, "remark"])
        for k, row in enumerate(wines.data.tolist()):
            lines.writerow([*row, HOSTILE[k % len(HOSTILE)]])
    return path, wines.target


class Hand:
    """Somebody at the keyboard."""

    def __init__(self, browser, address):
        self.complaints = []
        self.tab = browser.new_context(
            viewport=site_browser.DESKTOP, color_scheme="light", accept_downloads=True
        ).new_page()
        self.tab.set_default_timeout(120_000)
        self.tab.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}"))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", self._request)
        self.address = address
        self.tab.goto(address)
        self.tab.wait_for_selector("#cells .cell")
        self.tab.wait_for_function(FREE)

    def _request(self, request):
        if not request.url.startswith((self.address, "blob:")):
            self.complaints.append(f"asks for {request.url}")

    def press(self, key):
        """Press a key and wait for what it does."""
        self.tab.wait_for_function(FREE)
        done = self.tab.get_attribute("#row", "data-done")
        self.tab.keyboard.press(key)
        self.tab.wait_for_function(SHOWN, arg=done)
        self.tab.wait_for_function(FREE)

    @property
    def row(self):
        return int(self.tab.get_attribute("#row", "data-row"))

    def value(self, selector):
        return float(self.tab.get_attribute(selector, "data-value"))


def test_a_table_is_labelled_by_keyboard(browser, table, tmp_path):
    path, truth = table
    with (
        studio(path, target="grape", classes=CLASSES) as opened,
        served(opened) as addresses,
    ):
        session = opened.session
        hand = Hand(browser, addresses["me"])
        labels = {}
        for _ in range(N_ROWS - 1):
            settled(session)
            labels[hand.row] = CLASSES[truth[hand.row - 1]]
            hand.press(str(truth[hand.row - 1] + 1))
        wrong = hand.row
        hand.press(str((truth[wrong - 1] + 1) % 3 + 1))  # a slip of the finger
        hand.press("z")
        assert hand.row == wrong
        hand.press(str(truth[wrong - 1] + 1))
        labels[wrong] = CLASSES[truth[wrong - 1]]
        assert session.desk.labels() == labels

        # a row skipped and taken back, flagged, noted; keys in a note are words
        skipped = hand.row
        hand.press("s")
        assert hand.row != skipped
        hand.press("z")
        assert hand.row == skipped
        hand.press("f")
        hand.tab.keyboard.press("n")
        hand.tab.keyboard.type("1 glass, s z f")
        hand.press("Enter")
        assert (session.desk.history.note_of(skipped), session.desk.history.flagged(skipped)) == (
            "1 glass, s z f",
            True,
        )
        assert session.desk.labels() == labels
        hand.tab.keyboard.press("h")
        assert "Shown once you have answered" in hand.tab.inner_text("#bars")
        hand.tab.keyboard.press("h")
        hand.press("r")

        figures_are_exact(hand, session)
        looks_well(hand)
        exported(hand, labels, tmp_path)
        assert hand.tab.title() == "grape · wines.csv"  # no cell was run
        assert hand.complaints == []
    assert path.read_text().splitlines()[0].endswith("remark")


def figures_are_exact(hand, session):
    """What the page says is what a learner says that was told the same, to 1e-9."""
    hand.tab.wait_for_function(CURRENT, arg=N_ROWS)
    pool, told = session.desk.setting.pool, session.desk.teacher._answers
    fresh = ActiveLearner(LSPCCV(random_state=0), pool.X, classes=CLASSES).replay(
        [{"event": "tell", "rows": [one.place], "y": [one.value], "how": [one.how]} for one in told]
    )
    assert hand.value("#accuracy-value") == pytest.approx(fresh.accuracy()[0], abs=1e-9)
    assert hand.value("#log-loss") == pytest.approx(fresh.panel().log_loss[0], abs=1e-9)
    # the exact fit on all labels so far, made anew
    model = fresh.model_
    rows = np.array([one.place for one in told])
    model.fit(pool.X[rows], np.array([one.value for one in told]))
    [expected] = model.predict_proba(pool.X[[session.desk.place(hand.row)]])
    for name, p in zip(model.classes_, expected, strict=True):
        assert hand.value(f'#bars [data-class="{name}"]') == pytest.approx(p, abs=1e-9)


def looks_well(hand):
    """Both widths, light and dark: contrast, nothing outside, and a picture of each."""
    folder = os.environ.get("KINLEARN_SCREENSHOTS")
    for scheme in ("light", "dark"):
        hand.tab.emulate_media(color_scheme=scheme)
        for name, size in (("1280", site_browser.DESKTOP), ("390", site_browser.PHONE)):
            hand.tab.set_viewport_size(size)
            hand.tab.evaluate(site_browser.AT_REST)
            found = hand.tab.evaluate(site_browser.READABLE, scheme == "dark")
            hand.complaints += [f"{scheme} {name}: {sentence}" for sentence in found]
            found = hand.tab.evaluate(site_browser.NARROW_ENOUGH)
            hand.complaints += [f"{scheme} {name}: {sentence}" for sentence in found]
            broken = hand.tab.evaluate(
                "() => [...document.querySelectorAll('.class > span')].filter((s) =>"
                " s.getBoundingClientRect().height > 40).map((s) => s.textContent)"
            )
            assert broken == []  # a word of a class stays whole
            if folder:
                hand.tab.screenshot(path=Path(folder, f"label-{name}-{scheme}.png"))
    hand.tab.set_viewport_size(site_browser.DESKTOP)
    small = hand.tab.evaluate(
        "() => [...document.querySelectorAll('button, summary')].filter((b) => b.checkVisibility()"
        " && b.getBoundingClientRect().height < 24).map((b) => b.textContent)"
    )
    assert small == []  # large enough for a finger
    nameless = hand.tab.evaluate(
        "() => [...document.querySelectorAll('button, input, textarea, audio, img')].filter((e) =>"
        " !(e.textContent.trim() || e.labels?.length || e.ariaLabel || e.alt)).length"
    )
    assert nameless == 0


def exported(hand, labels, folder):
    hand.tab.click("#out summary")
    with hand.tab.expect_download() as waiting:
        hand.tab.click('#out a[href="out/labels.csv"]')
    waiting.value.save_as(folder / "labels.csv")
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as stream:
        found = {int(line["row"]): line["label"] for line in csv.DictReader(stream)}
    assert found == labels


def test_two_browsers_at_once(browser, table):
    """Nobody gets the other's row, nothing is lost, and touch does what keys do."""
    path, truth = table
    with (
        studio(path, target="grape", classes=CLASSES) as opened,
        served(opened) as addresses,
    ):
        hands = [Hand(browser, addresses["me"]) for _ in range(2)]
        done = []
        for _ in range(4):
            rows = [hand.row for hand in hands]
            assert rows[0] != rows[1]
            for hand, row in zip(hands, rows, strict=True):
                assert hand.row == row
                name = CLASSES[truth[row - 1]]
                before = hand.tab.get_attribute("#row", "data-done")
                hand.tab.click(f'#classes [data-class="{name}"]')
                hand.tab.wait_for_function(SHOWN, arg=before)
                done.append(row)
        assert len(set(done)) == 8
        assert set(opened.session.desk.labels()) == set(done)
        assert hands[0].complaints + hands[1].complaints == []


def test_long_names_fit_on_a_phone(browser, tmp_path):
    """A class of ninety letters, which is named in the panel, too, makes no page wider."""
    path, classes = tmp_path / "t.csv", ["x" * 90, "no", "<b>" * 20]
    write_table(path, more=[("c" * 120, ["w" * 300, "1"])])
    with studio(path, classes=classes) as opened, served(opened) as addresses:
        hand = Hand(browser, addresses["me"])
        hand.tab.set_viewport_size(site_browser.PHONE)
        for key in "12131212":
            settled(opened.session)
            hand.press(key)
        settled(opened.session)
        hand.tab.reload()
        hand.tab.wait_for_selector("#cells .cell")
        hand.tab.wait_for_function(FREE)
        width = hand.tab.evaluate("() => document.documentElement.scrollWidth")
        assert width <= site_browser.PHONE["width"]
        assert hand.complaints == []
