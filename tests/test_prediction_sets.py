"""PredictionSets: the sets are those of their definition, and hold the class as often as said."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn import LSPC, LSPCCV, MultiTaskLSPC, PredictionSets
from kinlearn.datasets import make_related_tasks
from naive.prediction_sets import naive_sets


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(
        3000, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1,
        class_sep=1.0, random_state=5,
    )  # fmt: skip
    return X, np.array(["a", "b", "c"])[y]


def holds(model, X, y, **given):
    """Whether the set of each row holds its class."""
    sets = model.predict_set(X, **given)
    return sets[np.arange(len(y)), np.searchsorted(model.classes_, y)]


class TestDefinition:
    @pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
    def test_leave_one_out(self, rows, coverage):
        X, y = rows
        model = PredictionSets(LSPC(), coverage).fit(X[:60], y[:60])
        inner = LSPC().fit(X[:60], y[:60])
        codes = np.searchsorted(inner.classes_, y[:60])
        scores = 1 - inner.held_out_proba()[np.arange(60), codes]
        new = 1 - inner.predict_proba(X[60:80])
        naive = naive_sets(scores, np.zeros(60, dtype=int), [new], coverage)
        np.testing.assert_array_equal(model.predict_set(X[60:80]), naive)

    def test_folds(self, rows):
        X, y = rows
        model = PredictionSets(LogisticRegression(), 0.8, cv=KFold(3)).fit(X[:60], y[:60])
        folds, scores, new = np.empty(60, dtype=int), np.empty(60), []
        for k, (train, test) in enumerate(KFold(3).split(X[:60])):
            part = LogisticRegression().fit(X[train], y[train])
            codes = np.searchsorted(part.classes_, y[test])
            folds[test] = k
            scores[test] = 1 - part.predict_proba(X[test])[np.arange(len(test)), codes]
            new.append(1 - part.predict_proba(X[60:80]))
        naive = naive_sets(scores, folds, new, 0.8)
        np.testing.assert_array_equal(model.predict_set(X[60:80]), naive)

    def test_by_class_compares_with_rows_of_that_class(self, rows):
        X, y = rows
        model = PredictionSets(LSPC(), 0.8, by="class").fit(X[:90], y[:90])
        new = 1 - model.predict_proba(X[90:110])
        for k, name in enumerate(model.classes_):
            own = model.calibration_scores_[y[:90] == name]
            naive = naive_sets(own, np.zeros(len(own), dtype=int), [new[:, [k]]], 0.8)
            np.testing.assert_array_equal(model.predict_set(X[90:110])[:, [k]], naive)

    def test_larger_coverage_larger_sets(self, rows):
        X, y = rows
        sets = [PredictionSets(LSPC(), c).fit(X[:80], y[:80]).predict_set(X) for c in (0.6, 0.9)]
        assert (sets[0] <= sets[1]).all()
        assert sets[0].sum() < sets[1].sum()

    def test_too_few_rows_exclude_nothing(self, rows):
        X, y = rows
        assert PredictionSets(LSPC(), 0.95).fit(X[:15], y[:15]).predict_set(X[:40]).all()


class TestCoverage:
    @pytest.mark.parametrize("estimator", [LSPC(), LogisticRegression()])
    @pytest.mark.parametrize("n", [50, 100])
    def test_it_is_kept_on_average(self, rows, estimator, n):
        X, y = rows
        random, found = np.random.default_rng(0), []
        for _ in range(25):
            order = random.permutation(len(X))
            train, test = order[:n], order[n : n + 400]
            found.append(holds(PredictionSets(estimator).fit(X[train], y[train]), X[test], y[test]))
        mean = np.mean(found, axis=1)
        assert mean.mean() > 0.9 - 2 * mean.std() / np.sqrt(25)
        assert mean.mean() < 0.95

    def test_it_is_kept_in_each_class(self, rows):
        X, y = rows
        rare = np.flatnonzero((y != "c") | (np.arange(3000) % 5 == 0))
        train, test = rare[:400], rare[400:]
        model = PredictionSets(LSPC(), 0.9, by="class").fit(X[train], y[train])
        for name in "abc":
            own = test[y[test] == name]
            assert holds(model, X[own], y[own]).mean() > 0.83

    def test_what_was_held_out_is_told(self, rows):
        X, y = rows
        model = PredictionSets(LSPC()).fit(X[:200], y[:200])
        assert model.n_calibration_ == 200
        assert 0.9 <= model.held_out_coverage_ <= 0.92
        assert model.held_out_sizes_.shape == (200,)
        assert model.fold_estimators_ == []

    def test_a_tuned_model_of_few_rows_is_held_out_by_folds(self, rows):
        X, y = rows
        model = PredictionSets(LSPCCV(kernel="rbf", metric=None))
        assert len(model.fit(X[:60], y[:60]).fold_estimators_) == 5
        assert model.fit(X[:200], y[:200]).fold_estimators_ == []


class TestTasks:
    def test_a_task_never_seen_excludes_nothing(self):
        X, y, task = make_related_tasks(n_tasks=3, n_samples=60, n_features=3, random_state=0)
        model = PredictionSets(MultiTaskLSPC(), 0.8, by="task").fit(X, y, task=task)
        sets = model.predict_set(X, task=task)
        assert sets.sum() < sets.size
        assert model.predict_set(X[:5], task=np.full(5, 99)).all()
        for t in range(3):
            own = task == t
            assert holds(model, X[own], y[own], task=task[own]).mean() > 0.75


class TestSimpleInputs:
    def test_one_binary_column_decides_nothing_by_chance(self):
        random = np.random.default_rng(0)
        X = random.integers(0, 2, (200, 1)).astype(float)
        y = random.permutation(np.repeat([0, 1], 100))
        model = PredictionSets(LSPC(), 0.9).fit(X, y)
        assert holds(model, X, y).mean() >= 0.9

    def test_three_categories_and_every_row_twice(self):
        random = np.random.default_rng(1)
        code = random.integers(0, 3, 120)
        X, y = np.eye(3)[code], np.where(random.random(120) < 0.2, (code + 1) % 3, code)
        for table, labels in ((X, y), (np.repeat(X, 2, axis=0), np.repeat(y, 2))):
            assert holds(PredictionSets(LSPC()).fit(table, labels), X, y).mean() >= 0.88

    def test_files(self, rows, tmp_path):
        X, y = rows
        for estimator in (make_pipeline(StandardScaler(), LSPC()), LogisticRegression()):
            model = PredictionSets(estimator).fit(X[:90], y[:90])
            kinlearn.save(model, tmp_path / "model.kin")
            again = kinlearn.load(tmp_path / "model.kin")
            np.testing.assert_array_equal(again.predict_set(X), model.predict_set(X))

    def test_refusals(self, rows):
        X, y = rows
        for given, said in [
            ({"coverage": 1.0}, "coverage must lie between 0 and 1"),
            ({"coverage": "most"}, "coverage must lie between 0 and 1"),
            ({"by": "row"}, "by must be one of"),
            ({"by": "task"}, 'by="task" needs task ids'),
        ]:
            with pytest.raises(ValueError, match=said):
                PredictionSets(LSPC(), **given).fit(X, y)
        model = PredictionSets(LSPC()).fit(X[:50], y[:50])
        with pytest.raises(TypeError, match="has no predict_proba"):
            model.set_params(estimator=kinlearn.RatioTraceLDA()).fit(X, y)
        assert model.set_params(estimator=LSPC()).fit(X[:50], y[:50]).predict_set(X[:2]).any()
