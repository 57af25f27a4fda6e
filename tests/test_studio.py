"""The studio without its page: what is kept, what holds, who gets which row, what is refused."""

import json
import sqlite3
from time import sleep

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import one_kernel
from kinlearn.cells.refusals import TableError
from kinlearn.studio.agreement import cohens_kappa
from kinlearn.studio.events import DISAGREEMENT, LABEL, SKIP, UNDO, Event
from kinlearn.studio.history import History
from kinlearn.studio.seats import PATIENCE, Seats
from kinlearn.studio.store import LabelStore
from kinlearn.tables.files import open_table
from studios import label_rows, settled, studio, write_table

FACTS = {
    "table": "t.csv",
    "sha256": "0",
    "n_rows": 3,
    "delimiter": ",",
    "encoding": "utf-8",
    "target": "urgent",
    "classes": ["yes", "no"],
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    return path, write_table(path)


# -- the file --------------------------------------------------------------------------------


def test_events_come_back_as_they_were_told(tmp_path):
    store = LabelStore.create(tmp_path / "a.labels.db", FACTS)
    told = [
        store.append(Event(LABEL, "anna", 3, "yes", note="süß; 'quoted'", digest="ab")),
        store.append(Event(UNDO, "anna", 3, of=1)),
    ]
    store.close()
    again = LabelStore.open(tmp_path / "a.labels.db")
    assert again.events() == told
    assert [event.id for event in told] == [1, 2]
    assert again.facts == FACTS
    again.close()


def test_a_file_is_open_in_one_studio_only_and_can_be_read_beside_it(tmp_path):
    path = tmp_path / "a.labels.db"
    store = LabelStore.create(path, FACTS)
    store.append(Event(LABEL, "me", 1, "yes"))
    with pytest.raises(TableError, match="open in another kinlearn label"):
        LabelStore.open(path)
    reader = LabelStore.open(path, alone=False)
    assert len(reader.events()) == 1
    reader.close()
    store.close()
    LabelStore.open(path).close()


@pytest.mark.parametrize("damage", ["text", "cut", "zeros", "other"])
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path, damage):
    path = tmp_path / "a.labels.db"
    store = LabelStore.create(path, FACTS)
    store.append_all([Event(LABEL, "me", k + 1, "yes", note="x" * 200) for k in range(200)])
    store.close()
    content = bytearray(path.read_bytes())
    if damage == "text":
        content = bytearray(b"row,label\n1,yes\n")
    elif damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "zeros":
        content[4096:] = bytes(len(content) - 4096)
    else:
        path.unlink()
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE facts (a)")
        base.close()
        content = bytearray(path.read_bytes())
    path.write_bytes(content)
    with pytest.raises(TableError, match="damaged, or no file of labels"):
        LabelStore.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE facts SET value = '{' WHERE name = 'classes'",
        "UPDATE facts SET value = '[1, 2]' WHERE name = 'classes'",
        "DELETE FROM facts WHERE name = 'target'",
        "INSERT INTO facts VALUES ('wishes', '{\"goal\": 7}')",
        "INSERT INTO facts VALUES ('wishes', '{\"more\": 0.5}')",
    ],
)
def test_notes_that_are_damaged_are_refused_in_a_sentence(tmp_path, damage):
    path = tmp_path / "a.labels.db"
    LabelStore.create(path, FACTS).close()
    base = sqlite3.connect(path)
    base.execute(damage)
    base.commit()
    base.close()
    with pytest.raises(TableError, match="what it notes of its table is not whole"):
        LabelStore.open(path)


def test_a_file_of_a_newer_kinlearn_is_refused(tmp_path):
    path = tmp_path / "a.labels.db"
    LabelStore.create(path, FACTS).close()
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(TableError, match="newer kinlearn"):
        LabelStore.open(path)


def test_there_is_no_file(tmp_path):
    with pytest.raises(TableError, match="There is no file of labels"):
        LabelStore.open(tmp_path / "none.labels.db")


# -- what holds ------------------------------------------------------------------------------


def held(history):
    return (
        {row: event.value for row, event in history.labels().items()},
        history.skipped(),
        history.disagreements(),
    )


def test_undoing_is_exact_and_without_limit():
    """After any number of undos all is as it was before what they took back."""
    random = np.random.default_rng(0)
    history, states, done = History(), [held(History())], []
    for k in range(1, 201):
        kind = [LABEL, LABEL, SKIP][random.integers(3)]
        event = Event(kind, "me", int(random.integers(1, 20)), str(random.integers(3)), id=k)
        history.add(event)
        done.append(event)
        states.append(held(history))
    for k in range(200, 0, -1):
        assert history.to_undo("me") == done[k - 1]
        history.add(Event(UNDO, "me", of=k, id=1000 - k))
        assert held(history) == states[k - 1]
    assert history.to_undo("me") is None


def test_an_undo_takes_back_ones_own():
    history = History([Event(LABEL, "anna", 1, "yes", id=1), Event(LABEL, "ben", 2, "no", id=2)])
    history.add(Event(UNDO, "anna", 1, of=history.to_undo("anna").id, id=3))
    assert held(history)[0] == {2: "no"}
    history.add(Event(UNDO, "anna", of=2, id=4))  # another's: nothing happens
    assert held(history)[0] == {2: "no"}


def test_which_label_counts():
    history = History([Event(LABEL, "anna", 1, "yes", id=1), Event(LABEL, "ben", 1, "no", id=2)])
    assert history.label_of(1).value == "yes"  # the first, while they differ
    assert history.disagreements() == [1]
    history.add(Event(LABEL, "cleo", 1, "no", id=3))
    assert history.label_of(1).value == "no"  # most
    history.add(Event(LABEL, "anna", 1, "maybe", how=DISAGREEMENT, id=4))
    assert history.label_of(1).value == "maybe"  # settled
    assert history.disagreements() == []
    assert {who: e.value for who, e in history.first_by_person(1).items()}["anna"] == "yes"


def test_kappa_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    one, two = random.choice(list("abc"), 200), random.choice(list("abc"), 200)
    two[:120] = one[:120]
    assert cohens_kappa(one, two) == pytest.approx(cohen_kappa_score(one, two), abs=1e-12)
    assert np.isnan(cohens_kappa([], []))
    assert np.isnan(cohens_kappa(["a", "a"], ["a", "a"]))


def test_a_silent_window_gives_its_row_back():
    now = [0.0]
    seats = Seats(lambda: now[0])
    one, two = seats.at("me", "one"), seats.at("me", "two")
    one.row = 5
    assert seats.taken(two) == {5}
    assert seats.taken(one) == set()
    now[0] = PATIENCE - 1
    two = seats.at("me", "two")
    now[0] = PATIENCE + 1
    assert seats.taken(seats.at("me", "two")) == set()


# -- a session -------------------------------------------------------------------------------


def test_labels_undo_and_start_again(table):
    path, truth = table
    before = path.read_bytes()
    with studio(path) as opened:
        session = opened.session
        rows = label_rows(session, truth, 14)
        assert len(set(rows)) == 14
        lesson = settled(session)
        assert lesson.n_labels == 14
        shown = session.now("me", "a")["row"]["thought"]
        assert sum(shown.values()) == pytest.approx(1.0)
        row = session.now("me", "a")["row"]["row"]
        session.answer("me", "a", "label", row, "yes")
        settled(session)
        assert "Undone" in session.undo("me", "a")["said"]
        after = settled(session)
        assert session.now("me", "a")["row"]["row"] == row  # to be corrected
        np.testing.assert_array_equal(
            after.model.predict_proba(session.desk.setting.pool.X),
            lesson.model.predict_proba(session.desk.setting.pool.X),
        )
        session.skip("me", "a", row)
        session.now("me", "a")
        labels = session.desk.labels()
    with studio(path, target=None, classes=[]) as opened:
        assert opened.session.desk.labels() == labels
        assert opened.session.desk.history.skipped("me") == {row}
        assert any("goes on where it was" in note for note in opened.notes)
        again = settled(opened.session)
        np.testing.assert_allclose(
            again.model.predict_proba(opened.session.desk.setting.pool.X),
            lesson.model.predict_proba(opened.session.desk.setting.pool.X),
            atol=1e-12,
        )
        for _ in range(15):
            opened.session.undo("me", "a")
        assert opened.session.desk.labels() == {}
        assert opened.session.undo("me", "a")["said"] == "There is nothing to undo."
    assert path.read_bytes() == before


def test_figures_are_those_of_a_fresh_learner(table):
    from kinlearn import LSPCCV, ActiveLearner

    path, truth = table
    with studio(path) as opened:
        session = opened.session
        label_rows(session, truth, 24)
        session.undo("me", "a")
        lesson, pool = settled(session), session.desk.setting.pool
        told = session.desk.teacher._answers
        fresh = ActiveLearner(LSPCCV(random_state=0), pool.X, classes=["yes", "no"])
        for answer in told:
            fresh.replay(
                [
                    {
                        "event": "tell",
                        "rows": [answer.place],
                        "y": [answer.value],
                        "how": [answer.how],
                    }
                ]
            )
        panel = fresh.panel()
        np.testing.assert_allclose(lesson.figures["accuracy"], panel.accuracy, atol=1e-9)
        np.testing.assert_allclose(lesson.figures["log_loss"], panel.log_loss, atol=1e-9)
        k = session.desk.place(session.now("me", "a")["row"]["row"])
        shown = session.now("me", "a")["row"]["thought"]
        asked = fresh.predict_proba([k])[0]
        assert shown["no"] == pytest.approx(asked[0], abs=1e-9)


def test_nobody_gets_anothers_row(table):
    path, truth = table
    with studio(path, people=["anna", "ben"]) as opened:
        session = opened.session
        windows = [("anna", "1"), ("anna", "2"), ("ben", "3")]
        done = {who: [] for who, _ in windows}
        for _ in range(8):
            shown = {w: session.now(*w)["row"]["row"] for w in windows}
            assert len(set(shown.values())) == 3
            for (who, seat), row in shown.items():
                done[who].append(row)
                session.answer(who, seat, "label", row, "yes" if truth[row - 1] else "no")
        assert len(set(done["anna"])) == 16
        left = session.now("anna", "1")["row"]["row"]
        session.leave("anna", "1")
        assert left not in session.desk.seats.rows()
        with pytest.raises(TableError, match="no longer on this page"):
            session.answer("anna", "1", "label", done["ben"][0], "no")


def test_two_people_see_whether_they_agree(table):
    path, truth = table
    with studio(path, people=["anna", "ben"]) as opened:
        session = opened.session
        label_rows(session, truth, 12, "anna", "1")
        label_rows(session, ~truth, 22, "ben", "2")  # ben means the contrary
        counts = session.now("ben", "2")["counts"]
        [agreed] = counts["agreement"]
        assert agreed["rows"] == counts["disagreements"] == 2
        row = session.now("anna", "1", "disagreements")["row"]
        assert {one["who"] for one in row["theirs"]} == {"anna", "ben"}
        session.answer("anna", "1", "disagreements", row["row"], "no")
        assert session.desk.labels()[row["row"]] == "no"
        assert session.now("anna", "1", "disagreements")["counts"]["disagreements"] == 1


def test_suspects_are_kept_or_changed(table):
    path, truth = table
    cells = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1))
    flipped = int(np.abs((cells[:, 0] - 50) / 10 + cells[:, 1]).argmax()) + 1
    wrong = truth.copy()
    wrong[flipped - 1] = ~wrong[flipped - 1]
    with studio(path) as opened:
        session = opened.session
        session.now("me", "a")
        here = session.desk.seats.at("me", "a")
        here.row, here.how = flipped, "start"
        session.answer("me", "a", "label", flipped, "yes" if wrong[flipped - 1] else "no")
        label_rows(session, wrong, 30)
        settled(session)
        assert flipped in session.desk.suspects(session.desk.teacher.last)
        here.row, here.queue = flipped, "suspects"
        found = session.now("me", "a", "suspects")["row"]
        assert found["row"] == flipped
        assert found["label"] == ("yes" if wrong[flipped - 1] else "no")
        right = "yes" if truth[flipped - 1] else "no"
        assert found["thought"][right] > 0.5  # by the others, not by its own label
        session.keep("me", "a", flipped)
        assert (session.now("me", "a", "suspects")["row"] or {}).get("row") != flipped
        session.undo("me", "a")
        assert flipped in session.desk.suspects(session.desk.teacher.last)
        here.row, here.queue = flipped, "suspects"
        session.answer("me", "a", "suspects", flipped, right)
        lesson = settled(session)
        assert session.desk.labels()[flipped] == right
        assert flipped not in session.desk.suspects(lesson)
        session.undo("me", "a")
        assert session.desk.labels()[flipped] != right


def test_notes_flags_and_meanings(table):
    path, _ = table
    with studio(path) as opened:
        session = opened.session
        row = session.now("me", "a")["row"]["row"]
        session.note("me", "a", row, " odd one ")
        session.flag("me", "a", row)
        shown = session.now("me", "a")["row"]
        assert (shown["note"], shown["flagged"], shown["row"]) == ("odd one", True, row)
        session.flag("me", "a", row)
        session.undo("me", "a")
        assert session.now("me", "a")["row"]["flagged"]
        session.define("me", "yes", "needs a doctor today")
        assert session.about("me")["definitions"] == {"yes": "needs a doctor today"}
        session.skip("me", "a", row)
        assert session.now("me", "a", "skipped")["row"]["row"] == row
        with pytest.raises(TableError, match="none of the classes"):
            session.answer("me", "a", "skipped", row, "maybe")
        session.answer("me", "a", "skipped", row, "no")
        assert session.now("me", "a", "skipped")["row"] is None


def test_why(table):
    path, truth = table
    with studio(path) as opened:
        session = opened.session
        label_rows(session, truth, 20)
        settled(session)
        session.now("me", "a")
        why = session.why("me", "a")
        assert {one["name"] for one in why["matter"]} == {"age", "dose", "sex"}
        assert len(why["nearest"]) == 2
        ordered = session.now("me", "a", order=True)["row"]["cells"]
        assert ordered[-1]["name"] == "sex"


def test_a_half_filled_column_is_taken_as_given(tmp_path):
    path = tmp_path / "t.csv"
    truth = write_table(path, more=[("urgent", ["yes", "", "no", ""])])
    with studio(path, classes=[]) as opened:
        session = opened.session
        assert session.about("me")["classes"] == ["no", "yes"]
        assert session.now("me", "a")["counts"]["given"] == 40
        assert settled(session).n_labels == 40
        rows = label_rows(session, truth, 10)
        assert all(row % 2 == 0 for row in rows)
        assert "urgent" not in {c["name"] for c in session.now("me", "a")["row"]["cells"]}


def test_rows_are_measured_by_also_where_answers_come_faster_than_fits(table, monkeypatch):
    from kinlearn.studio import loop, session

    path, truth = table
    learn = loop.ActiveLoop.learn
    monkeypatch.setattr(session, "EXACT_WAIT", 0.0)
    with studio(path) as opened:
        label_rows(opened.session, truth, 10)
        monkeypatch.setattr(
            loop.ActiveLoop, "learn", lambda self, told: (sleep(0.4), learn(self, told))
        )
        for _ in range(50):
            sleep(0.04)  # ten answers a fit
            row = opened.session.now("me", "a")["row"]["row"]
            opened.session.answer("me", "a", "label", row, "yes" if truth[row - 1] else "no")
        how = [event.how for event in opened.session.desk.history.labels().values()]
        assert 8 <= how.count("audit") <= 16


@pytest.mark.parametrize(("name", "delimiter"), [("t.tsv", "\t"), ("t.parquet", None)])
def test_tables_of_other_kinds(tmp_path, name, delimiter):
    path = tmp_path / name
    truth = write_table(tmp_path / "as.csv")
    text = (tmp_path / "as.csv").read_text()
    if delimiter:
        path.write_text(text.replace(",", delimiter))
    else:
        from pandas import read_csv

        read_csv(tmp_path / "as.csv").to_parquet(path)
    before = path.read_bytes()
    with studio(path) as opened:
        label_rows(opened.session, truth, 10)
        assert settled(opened.session).model is not None
        cells = {cell["name"] for cell in opened.session.now("me", "a")["row"]["cells"]}
        assert cells == {"age", "dose", "sex"}
    assert path.read_bytes() == before


def test_every_row_labelled(tmp_path):
    path = tmp_path / "t.csv"
    truth = write_table(path, n_rows=12)
    with studio(path) as opened:
        label_rows(opened.session, truth, 12)
        lesson = settled(opened.session)
        assert not lesson.error
        assert lesson.figures["answerable"]["share"] == 0.0
        assert opened.session.now("me", "a")["row"] is None


def test_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr("kinlearn.studio.start.MultiTaskLSPCCV", one_kernel.MultiTaskLSPCCV)
    path = tmp_path / "t.csv"
    truth = write_table(path, n_rows=40, more=[("site", ["A", "B"])])
    with studio(path, task="site") as opened:
        label_rows(opened.session, truth, 12)
        lesson = settled(opened.session)
        assert not lesson.error
        assert opened.session.now("me", "a")["row"]["task"] in "AB"


# -- what is refused -------------------------------------------------------------------------


def refused(path, words, **asked):
    with pytest.raises(TableError, match=words), studio(path, **asked):
        pass


def test_bad_wishes_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, more=[("kind", ["a", "b", "c", ""])])
    refused(path, "Give --target", target=None)
    refused(path, "Which classes can 'urgent' have", classes=[])
    refused(path, "names 'yes' alone", classes=["yes"])
    refused(path, "names 'yes' twice", classes=["yes", "no", "yes"])
    refused(path, "Row 3 holds 'c' in 'kind'", target="kind", classes=["a", "b"])
    refused(path, "no column 'sitte'", task="sitte")
    refused(path, "both name 'kind'", target="kind", task="kind", classes=[])
    refused(path, "names 'anna' twice", people=["anna", "anna"])
    refused(path, "no column of classes", target="new", classes=[str(k) for k in range(200)])
    assert not (tmp_path / "t.labels.db").exists()


def test_bad_tables_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("urgent\nyes\nno\n")
    refused(path, "nothing but the column of answers")
    path.write_text("age,urgent\n")
    refused(path, "no rows")
    path.write_text("age\n" + "5\n" * 30)
    refused(path, "fit to learn from")


def test_another_question_or_fewer_classes_are_refused(table):
    path, truth = table
    with studio(path) as opened:
        label_rows(opened.session, truth, 6)
    refused(path, "holds labels for 'urgent'", target="other")
    refused(path, "holds labels already", resume=False)
    refused(path, "which --classes does not name", classes=["yes", "maybe"])
    with studio(path, classes=["yes", "no", "maybe"]) as opened:
        assert len(opened.session.desk.labels()) == 6
    with studio(path, classes=[]) as opened:
        assert opened.session.about("me")["classes"] == ["yes", "no", "maybe"]


def test_a_table_that_changed(table):
    path, truth = table
    with studio(path) as opened:
        rows = label_rows(opened.session, truth, 6)
    text = path.read_text()
    path.write_text(text + "49.0,0.1,f\n")
    with studio(path) as opened:
        assert any("every labelled row is as it was" in note for note in opened.notes)
        assert len(opened.session.desk.labels()) == 6
    lines = text.splitlines()
    lines[rows[0]] = "1.0,1.0,m"
    path.write_text("\n".join(lines) + "\n")
    state = (path.parent / "t.labels.db").read_bytes()
    refused(path, "has changed since its rows were labelled")
    other = path.with_name("other.csv")
    write_table(other, seed=5)
    refused(other, "labels of t.csv, another table", state=path.parent / "t.labels.db")
    assert (path.parent / "t.labels.db").read_bytes() == state
    path.write_text(text)
    with studio(path) as opened:
        assert len(opened.session.desk.labels()) == 6


def test_a_large_table_is_chosen_from_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr("kinlearn.studio.pool.POOL_ROWS", 100)
    monkeypatch.setattr("kinlearn.studio.start.POOL_ROWS", 100)
    path = tmp_path / "t.csv"
    truth = write_table(path, n_rows=500)
    with studio(path) as opened:
        assert any("chosen from 100 of 500" in note for note in opened.notes)
        rows = label_rows(opened.session, truth, 5)
        place = opened.session.desk.setting.rows.place(rows[0])
        assert opened.session.desk.setting.rows.digest(place)
    assert open_table(path).names == ["age", "dose", "sex"]


# -- several labels --------------------------------------------------------------------------


def say_several(session, truth, n_rows):
    """Answer rows with all of their labels."""
    for _ in range(n_rows):
        settled(session)
        row = session.now("me", "a")["row"]["row"]
        yes = [name for name in ("old", "high") if truth[name][row - 1]]
        session.answer("me", "a", "label", row, json.dumps(yes))


def test_several_labels_are_learnt_together(tmp_path, monkeypatch):
    monkeypatch.setattr("kinlearn.studio.labels_loop.LSPCCV", one_kernel.LSPCCV)
    path = tmp_path / "t.csv"
    write_table(path)
    cells = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1))
    truth = {"old": cells[:, 0] > 50, "high": cells[:, 1] > 0}
    asked = {"target": None, "classes": [], "labels": ["old", "high"]}
    with studio(path, **asked) as opened:
        session = opened.session
        assert session.about("me")["several"]
        say_several(session, truth, 24)
        lesson = settled(session)
        assert not lesson.error
        shown = session.now("me", "a")["row"]
        assert set(shown["thought"]) == {"old", "high"}
        k = session.desk.place(shown["row"])
        pool = session.desk.setting.pool
        for name, loop in session.desk.teacher.loop.loops.items():
            fresh = loop.make().replay(
                {
                    "event": "tell",
                    "rows": [one.place],
                    "y": ["yes" if name in json.loads(one.value) else "no"],
                    "how": [one.how],
                }
                for one in session.desk.answers()
            )
            assert shown["thought"][name] == pytest.approx(fresh.predict_proba([k])[0, 1], abs=1e-9)
        assert 0.5 < lesson.figures["accuracy"][0] <= 1.0
        assert lesson.model.predict_proba(pool.X).shape == (80, 2)
        with pytest.raises(TableError, match="no list of the labels here"):
            session.answer("me", "a", "label", shown["row"], '["young"]')
        with pytest.raises(TableError, match="no list of the labels here"):
            session.answer("me", "a", "label", shown["row"], "old")
        said = session.answer("me", "a", "label", shown["row"], '["high", "old", "high"]')
        assert "old, high" in said["said"]
        session.now("me", "a")
        assert session.why("me", "a")["class"] in ("old", "high")
        whole = session.export("table.csv")
        lines = whole.read_text().splitlines()
        whole.unlink()
        assert lines[0].startswith("age,dose,sex,old,high,predicted_old,p_old,decision_old")
        labels = session.export("labels.csv")
        found = [line.split(",")[1] for line in labels.read_text().splitlines()[1:]]
        labels.unlink()
        assert set(found) <= {"old", "high", "old; high", ""}
    with studio(path, target=None, classes=[]) as opened:
        assert len(opened.session.desk.labels()) == 25
    refused(path, "holds labels for 'old, high'")
    refused(path, "--labels stands alone", **{**asked, "target": "urgent"})
    refused(path, "names 'old' alone", target=None, classes=[], labels=["old"])
    refused(path, "names 'old' twice", target=None, classes=[], labels=["old", "old"])


def test_labels_that_the_table_holds(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, more=[("old", ["yes", "", "no"]), ("high", ["no", "yes", "yes", ""])])
    with studio(path, target=None, classes=[], labels=["old", "high"]) as opened:
        given = opened.session.desk.given
        assert given[1] == '["old"]'
        assert 2 not in given
        assert given[3] == '["high"]'
        assert 4 not in given
    path.write_text(path.read_text().replace("yes", "maybe"))
    (tmp_path / "t.labels.db").unlink()
    refused(path, "a label is yes or no", target=None, classes=[], labels=["old", "high"])


def test_how_many_more(table):
    path, truth = table
    with studio(path) as opened:
        session = opened.session
        label_rows(session, truth, 30)
        session.aim("me", 0.99, 0.05)
        figures = settled(session).figures
        found = figures["forecast"]
        assert found["low"] <= found["more"] <= found["high"] <= 50
        assert "99 %" in found["sentence"]
        assert [point["labels"] for point in figures["curve"]][-1] == 30
        assert "of the answers changed" in found["changes"]
        assert session.about("me")["goal"] == 0.99
