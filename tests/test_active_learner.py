"""ActiveLearner: what is told, taken back and replayed; what is asked; figures that are honest."""

import json

import numpy as np
import pytest
from scipy.stats import binom, t
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import LSPC, LSPCCV, ActiveLearner, MultiTaskLSPC
from kinlearn.active.audit import Audited, AuditRows, exact_interval
from kinlearn.active.forecast import forecast, gains
from kinlearn.active.panel import is_settled, loss_figure
from kinlearn.active.strategies import STRATEGIES
from kinlearn.datasets import make_related_tasks

QUICK = {"kernel": "rbf", "metric": None}


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(200, 6, n_informative=4, class_sep=1.2, random_state=3)
    return 3.0 * X, np.array(["no", "yes"])[y]


def taught(learner, y, n):
    for _ in range(n):
        row = learner.ask()
        learner.tell(row, y[row])
    return learner


def lspc_learner(X, **given):
    return ActiveLearner(make_pipeline(StandardScaler(), LSPCCV(**QUICK)), X, **given)


class TestBook:
    def test_a_label_is_told_corrected_and_taken_back(self, table):
        X, y = table
        learner = taught(lspc_learner(X), y, 25)
        before, row, labels = learner.predict_proba(), learner.ask(), learner.labels
        learner.tell(row, "yes")
        after = learner.predict_proba()
        learner.tell(row, "no")
        assert learner.labels[row] == "no"
        assert learner.undo() == {
            "event": "tell",
            "rows": [row],
            "y": ["no"],
            "how": [learner.how[row]],
        }
        np.testing.assert_array_equal(learner.predict_proba(), after)
        learner.undo()
        assert learner.labels == labels
        np.testing.assert_array_equal(learner.predict_proba(), before)
        assert learner.ask() == row

    def test_undo_has_no_limit(self, table):
        X, y = table
        learner, seen = lspc_learner(X), []
        for k in range(22):
            row = learner.ask()
            seen.append((row, learner.labels, learner.accuracy()))
            learner.skip(row) if k == 5 else learner.tell(row, y[row])
        for row, labels, accuracy in reversed(seen):
            assert learner.undo()["rows"] == [row]
            assert learner.labels == labels
            np.testing.assert_equal(learner.accuracy(), accuracy)
            assert learner.ask() == row
        assert learner.undo() is None

    def test_the_log_replayed_is_the_same_learner(self, table):
        X, y = table
        learner = taught(lspc_learner(X), y, 14)
        learner.skip(learner.ask())
        learner.tell_many([190, 191], y[[190, 191]])
        learner.undo()
        learner.tell(17, "yes")
        taught(learner, y, 4)
        log = json.loads(json.dumps(learner.log))
        again = lspc_learner(X).replay(log)
        assert again.log == learner.log
        assert (again.labels, again.how) == (learner.labels, learner.how)
        assert again.skipped == learner.skipped
        np.testing.assert_array_equal(again.predict_proba(), learner.predict_proba())
        assert again.ask() == learner.ask()
        assert again.undo() == learner.undo()

    def test_several_labels_are_one_step(self, table):
        X, y = table
        learner = lspc_learner(X)
        learner.tell_many(np.arange(30), y[:30])
        assert set(learner.how.values()) == {"given"}
        assert learner.panel().n_labels == 30
        assert learner.undo()["rows"] == list(range(30))
        assert learner.labels == {}

    def test_skipped_rows_come_last(self, table):
        X, y = table
        learner, passed = lspc_learner(X[:12]), []
        for _ in range(4):
            passed.append(learner.ask())
            learner.skip(passed[-1])
        assert learner.skipped == tuple(passed)
        asked = []
        while (row := learner.ask()) is not None:
            asked.append(row)
            learner.tell(row, y[row])
        assert sorted(asked) == list(range(12))
        assert set(asked[-4:]) == set(passed)

    def test_nobody_gets_the_row_of_another(self, table):
        X, y = table
        learner = taught(lspc_learner(X), y, 12)
        mine = learner.ask()
        yours = learner.ask(exclude=[mine])
        assert learner.ask() == mine != yours
        learner.tell(yours, y[yours])
        learner.tell(mine, y[mine])
        assert set(learner.how.values()) <= {"audit", "strategy", "start"}


class TestModel:
    def test_it_is_a_fresh_fit_on_all_labels(self, table):
        X, y = table
        learner = taught(lspc_learner(X), y, 40)
        rows = np.array(list(learner.labels))
        model = learner.model_
        Z = StandardScaler().fit(X).transform(X)
        fresh = clone(model.steps[-1][1]).fit(Z[rows], y[rows])
        np.testing.assert_allclose(
            fresh.predict_proba(Z), learner.predict_proba(), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(
            fresh.held_out_proba(), learner.held_out_proba(), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(model.predict_proba(X), learner.predict_proba(), rtol=1e-9)

    def test_there_is_none_before_two_classes(self, table):
        X, _ = table
        learner = lspc_learner(X, classes=["yes", "no", "maybe"])
        assert learner.classes_.tolist() == ["maybe", "no", "yes"]
        assert learner.model_ is None
        assert learner.accuracy()[1:] == (0.0, 1.0)
        np.testing.assert_array_equal(learner.predict_proba([0, 5]), np.full((2, 3), 1 / 3))
        learner.tell(0, "yes")
        assert learner.model_ is None
        learner.tell(1, "no")
        assert learner.predict_proba()[:, 0].max() == 0.0
        assert learner.panel().labels_of == {"maybe": 0, "no": 1, "yes": 1}

    @pytest.mark.parametrize(
        "estimator", [LogisticRegression(), RandomForestClassifier(10, random_state=0), LSPC()]
    )
    def test_any_classifier_will_do(self, table, estimator):
        X, y = table
        learner = taught(ActiveLearner(estimator, X), y, 30)
        rows = np.array(list(learner.labels))
        fresh = clone(estimator).fit(X[rows], y[rows])
        np.testing.assert_allclose(learner.predict_proba(), fresh.predict_proba(X))
        estimate, low, high = learner.accuracy()
        assert low <= estimate <= high

    def test_steps_that_see_labels_are_fitted_with_them(self, table):
        from sklearn.feature_selection import SelectKBest

        X, y = table
        pipeline = make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())
        learner = taught(ActiveLearner(pipeline, X), y, 20)
        rows = np.array(list(learner.labels))
        fresh = clone(pipeline).fit(X[rows], y[rows])
        np.testing.assert_allclose(learner.predict_proba(), fresh.predict_proba(X))

    def test_tasks_are_asked_for_in_turn(self):
        X, y, task = make_related_tasks(n_tasks=3, n_samples=30, n_features=3, random_state=0)
        learner = taught(ActiveLearner(MultiTaskLSPC(), X, task=task, audit_share=0.0), y, 15)
        assert np.bincount(task[list(learner.labels)]).tolist() == [5, 5, 5]
        assert learner.predict_proba().shape == (90, 2)


class TestFigures:
    def test_passed_audit_rows_are_a_random_sample_however_others_were_chosen(self):
        """Each row is passed equally often, although small numbers are labelled beforehand."""
        counts, total = np.zeros(20), 0
        for seed in range(2000):
            audit = AuditRows(20, 0.5, seed)
            how = dict.fromkeys(range(8), "strategy")
            is_open = np.arange(20) >= 8
            for _ in range(3):
                row = audit.next_row(is_open)
                how[row], is_open[row] = "audit", False
            passed = audit.passed(how)
            # up to a place that is fixed by the order alone every row is equally likely
            first = audit.order[:3]
            assert set(first) <= set(passed)
            counts[first] += 1
            total += 3
        assert abs(counts - total / 20).max() < 5 * np.sqrt(total / 20)

    def test_the_audit_has_its_share(self, table):
        X, y = table
        learner = taught(lspc_learner(X, audit_share=0.3), y, 50)
        how = list(learner.how.values())
        assert how.count("audit") == 15
        assert learner.panel().n_audit >= 15

    def test_what_others_are_at_work_on_counts_towards_the_audit(self, table):
        learner, out = lspc_learner(table[0]), []
        for _ in range(20):
            out.append(learner.ask(exclude=out))
        assert len(set(out)) == 20
        assert [learner._asked[row] for row in out].count("audit") == 4

    def test_holes_are_set_right(self):
        """The model is less sure of rows held out than of the table: by that, it is raised."""
        held_out = Audited(np.array([True, False, True, True]), np.full(4, 0.6), 0.7)
        assert held_out.accuracy == pytest.approx(0.85)
        estimate, low, high = held_out.figure
        assert (low, high) == pytest.approx(exact_interval(3.4, 4))
        assert low < estimate < high
        everything = Audited(np.ones(3, dtype=bool), np.full(3, 0.5), 0.9)
        assert everything.figure == pytest.approx((1.0, *exact_interval(3, 3)))
        assert np.isnan(Audited(np.zeros(0, dtype=bool), np.zeros(0), 0.5).accuracy)

    def test_one_is_not_told_to_stop_by_a_few_rows(self, table):
        X, _ = table
        learner = taught(lspc_learner(X), np.where(X[:, 0] > 0, "yes", "no"), 24)
        assert learner.panel().n_audit < 10
        assert not learner.panel().settled
        assert "You can stop" not in learner.panel().can_stop
        assert is_settled(0.02, 10)
        assert not is_settled(0.03, 10)
        assert not is_settled(float("nan"), 10)

    def test_the_log_loss_of_a_rare_class_that_no_random_row_is_of(self):
        """One row in fifty is lost at 3.9: of fifteen that are not, the interval holds that."""
        proba = np.tile([0.98, 0.02], (15, 1))
        mean, low, high = loss_figure(proba, np.zeros(15, dtype=int))
        assert mean == pytest.approx(-np.log(0.98))
        entropy = -(0.98 * np.log(0.98) + 0.02 * np.log(0.02))
        assert low == 0.0
        assert high > 2 * entropy
        codes = np.arange(15) % 2  # as they spread where that is more than expected
        loss = np.where(codes == 0, -np.log(0.98), -np.log(0.02))
        half = t.ppf(0.975, 14) * loss.std(ddof=1) / np.sqrt(15)
        assert loss_figure(proba, codes)[2] == pytest.approx(loss.mean() + half)

    def test_intervals_are_those_of_clopper_and_pearson(self):
        for right, n in [(0, 7), (3, 9), (9, 9), (40, 50)]:
            low, high = exact_interval(right, n)
            if right:
                assert binom.sf(right - 1, n, low) == pytest.approx(0.025)
            if right < n:
                assert binom.cdf(right, n, high) == pytest.approx(0.025)
        assert exact_interval(0, 0) == (0.0, 1.0)

    def test_labels_by_chance_are_not_predicted(self):
        random = np.random.default_rng(0)
        X, y = random.standard_normal((150, 3)), random.permutation(np.repeat([0, 1], 75))
        learner = taught(lspc_learner(X, audit_share=0.9), y, 120)
        _, low, high = learner.accuracy()
        assert low < 0.5 < high
        assert learner.panel().log_loss[2] > np.log(2) - 0.05

    def test_wrong_labels_are_suspect(self, table):
        X, y = table
        learner = lspc_learner(X)
        told = y[:100].copy()
        wrong = [4, 50, 77]
        told[wrong] = np.where(told[wrong] == "yes", "no", "yes")
        learner.tell_many(range(100), told)
        assert set(wrong) <= set(learner.suspects()[:12])


class TestSimpleInputs:
    def test_one_binary_column(self):
        X = np.arange(40)[:, None] % 2.0
        learner = ActiveLearner(LSPCCV(**QUICK), X)
        learner.tell_many(range(30), X[:30, 0].astype(int))
        taught(learner, X[:, 0].astype(int), 4)
        assert learner.accuracy().estimate == pytest.approx(1.0)
        assert learner.predict_proba([0, 1]).argmax(axis=1).tolist() == [0, 1]

    def test_every_row_twice(self, table):
        X, y = table
        doubled = np.repeat(X[:40], 2, axis=0)
        learner = taught(lspc_learner(doubled), np.repeat(y[:40], 2), 60)
        assert learner.accuracy().low > 0.3

    def test_all_rows_alike(self):
        y = np.arange(30) % 3 == 0
        learner = ActiveLearner(LSPCCV(**QUICK), np.ones((30, 2)))
        learner.tell_many(range(24), y[:24])
        taught(learner, y, 2)
        np.testing.assert_allclose(learner.predict_proba()[:, 1], y[:26].mean(), atol=0.1)

    @pytest.mark.parametrize("strategy", sorted(STRATEGIES))
    def test_twenty_rows_to_the_last(self, table, strategy):
        X, y = table
        learner = taught(lspc_learner(X[:20], strategy=strategy), y, 20)
        assert learner.ask() is None
        assert len(learner.labels) == 20

    def test_a_strategy_of_ones_own(self, table):
        X, y = table
        learner = lspc_learner(X, strategy=lambda now: -np.arange(len(now.gain)), audit_share=0)
        assert [learner.ask(), taught(learner, y, 5).ask()] == [0, 5]

    def test_a_long_table_is_asked_in_parts(self, monkeypatch, table):
        X, y = table
        monkeypatch.setattr("kinlearn.active.table_rows.N_CANDIDATES", 30)
        learner = taught(lspc_learner(X), y, 60)
        assert len(set(learner.labels)) == 60


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"audit_share": 1.0}, "audit_share must be"),
            ({"strategy": "clever"}, "strategy='clever' is not known"),
            ({"random_state": 0.5}, "random_state must be a whole number"),
        ],
    )
    def test_parameters(self, table, given, said):
        with pytest.raises(ValueError, match=said):
            lspc_learner(table[0], **given)

    def test_a_refused_label_changes_nothing(self, table):
        X, y = table
        learner = taught(lspc_learner(X, classes=["no", "yes"]), y, 3)
        log = learner.log
        for row, label, said in [
            (200, "no", "A row is named by its number, 0 to 199"),
            (True, "no", "A row is named by its number"),
            (5, "perhaps", "'perhaps' is none of the classes"),
            (5, None, "None is no class"),
        ]:
            with pytest.raises(ValueError, match=said):
                learner.tell(row, label)
        with pytest.raises(ValueError, match="2 rows and 1 labels were told"):
            learner.tell_many([1, 2], ["no"])
        assert learner.log == log

    def test_texts_and_numbers_do_not_mix(self, table):
        learner = lspc_learner(table[0])
        learner.tell(0, "no")
        with pytest.raises(ValueError, match="1 was told where other labels are like 'no'"):
            learner.tell(1, 1)

    def test_classifiers_that_do_not_fit(self, table):
        from sklearn.svm import LinearSVC

        X, _ = table
        with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
            ActiveLearner(LinearSVC(), X)
        with pytest.raises(TypeError, match="LSPC takes no task"):
            ActiveLearner(LSPC(), X, task=np.zeros(len(X)))

    def test_what_is_no_log(self, table):
        with pytest.raises(ValueError, match="which is no event"):
            lspc_learner(table[0]).replay([{"event": "dance"}])
        with pytest.raises(ValueError, match="No class is known yet"):
            lspc_learner(table[0]).predict_proba()


class TestTuning:
    def test_settings_are_found_elsewhere_and_adopted(self, table):
        X, y = table
        learner = taught(lspc_learner(X, tuning="on request"), y, 24)
        job = learner.tuning_job()
        before = learner.predict_proba()
        found = job()
        np.testing.assert_array_equal(learner.predict_proba(), before)
        learner.adopt(found)
        assert learner.tuning_job() is None
        after = learner.predict_proba()
        assert learner.model_.steps[-1][1].sigma == found["sigma"]
        taught(learner, y, 3)
        assert learner.model_.steps[-1][1].sigma == found["sigma"]
        again = lspc_learner(X, tuning="on request").replay(json.loads(json.dumps(learner.log)))
        np.testing.assert_array_equal(again.predict_proba(), learner.predict_proba())
        for _ in range(3):
            learner.undo()
        np.testing.assert_array_equal(learner.predict_proba(), after)
        learner.undo()  # the label before the settings, and they with it
        assert len(learner.labels) == 23
        assert learner.model_.steps[-1][1].sigma != found["sigma"]

    def test_it_is_due_when_labels_have_grown(self, table):
        X, y = table
        learner = taught(lspc_learner(X, tuning="on request"), y, 9)
        assert learner.tuning_job() is None
        taught(learner, y, 3)
        learner.adopt(learner.tuning_job()())
        assert learner.tuning_job() is None
        taught(learner, y, 4)
        assert learner.tuning_job() is not None


class TestForecast:
    def test_the_law_is_found_again(self):
        law = [(s, 3.0 * (s**-0.8 - 200**-0.8)) for s in (50, 70, 100, 140)]
        more = np.array([50.0, 200.0])
        expected = 3.0 * (200**-0.8 - (200 + more) ** -0.8)
        np.testing.assert_allclose(gains(200, law, more), expected, rtol=0.1)

    def test_a_higher_goal_is_farther(self):
        law = [(s, 2.0 * (s**-0.8 - 100**-0.8)) for s in (25, 50, 70)]
        found = [forecast(goal, 100, 160, 200, 0.8, law) for goal in (0.7, 0.82, 0.86, 0.9)]
        assert [one.more for one in found] == sorted(one.more for one in found)
        assert found[0].more == 0
        assert all(one.low <= one.more <= one.high for one in found)

    def test_it_never_exceeds_the_rows_that_are_left(self, table):
        X, y = table
        learner = lspc_learner(X[:60])
        assert learner.forecast(0.9) == (60, 0, 60)
        taught(learner, y, 50)
        more, low, high = learner.forecast(0.99)
        assert 0 <= low <= more <= high <= 10
        with pytest.raises(ValueError, match="goal must lie between 0 and 1"):
            learner.forecast(90)

    def test_the_curve_is_of_fresh_fits(self, table):
        X, y = table
        learner = taught(lspc_learner(X), y, 40)
        panel = learner.panel()
        drawn = panel.learning_curve[-1][0]
        assert drawn <= 40 < drawn * 1.1 + 1
        assert [n for n, _ in panel.learning_curve] == sorted(n for n, _ in panel.learning_curve)
        rows = np.array(list(learner.labels))
        settings = learner._settings()
        half = min((n for n, _ in panel.learning_curve), key=lambda n: abs(n - drawn / 2))
        answers = [
            learner._refits.fit(settings, rows[:n], y[rows[:n]]).proba(np.arange(200))
            for n in (half, drawn)
        ]
        changed = (answers[0].argmax(axis=1) != answers[1].argmax(axis=1)).mean()
        assert panel.changed_by_half == pytest.approx(changed)
        assert f"{changed:.1%} of the answers changed" in panel.can_stop

    def test_nothing_is_known_at_first(self, table):
        X, y = table
        panel = taught(lspc_learner(X), y, 4).panel()
        assert panel.learning_curve == []
        assert np.isnan(panel.changed_by_half)
        assert panel.can_stop == "Too few labels to tell what further ones change."
