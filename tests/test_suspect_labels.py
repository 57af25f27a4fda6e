"""Labels that held-out probabilities contradict: the formula, the order, and what is refused."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn import LSPC, LSPCCV, HandOver, MultiLabelLSPC, MultiTaskLSPC, find_suspect_labels
from kinlearn.active.label_noise import N_STEPS, contradicted, mistakes, suspicion
from kinlearn.datasets import make_related_tasks, make_rotated_labels
from naive.label_noise import naive_suspicion


@pytest.fixture(scope="module")
def noisy():
    """Three classes; one label in ten is wrong."""
    X, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=3, class_sep=2.0, random_state=1
    )
    wrong = np.zeros(300, dtype=bool)
    wrong[np.random.default_rng(0).choice(300, 30, replace=False)] = True
    told = np.where(wrong, (y + 1) % 3, y)
    return X, np.array(["a", "b", "c"])[told], wrong


def ranks(order, n):
    """Large for the most suspect."""
    place = np.full(n, -n)
    place[order] = -np.arange(len(order))
    return place


class TestFormula:
    def test_it_is_bayes_rule_over_mistakes(self):
        random = np.random.default_rng(3)
        proba, codes = random.dirichlet([1, 2, 3], 40), random.integers(0, 3, 40)
        naive = naive_suspicion(proba, mistakes(proba, codes), codes, N_STEPS)
        np.testing.assert_allclose(suspicion(proba, codes), naive, rtol=1e-10)

    def test_equally_likely_mistakes_rank_by_the_probability_of_the_label(self):
        p = np.linspace(0.01, 0.99, 60)
        proba = np.vstack([np.column_stack([p, 1 - p]), np.column_stack([1 - p, p])])
        codes = np.repeat([0, 1], 60)
        own = np.tile(p, 2)
        chance = suspicion(proba, codes)
        assert (np.diff(chance[np.argsort(own, kind="stable")]) < 1e-12).all()

    def test_a_class_taken_for_another_makes_that_label_suspect(self):
        proba = np.repeat([[0.8, 0.2], [0.2, 0.8]], 100, axis=0)
        codes = np.repeat([0, 1], 100)
        codes[:30] = 1
        T = mistakes(proba, codes)
        np.testing.assert_allclose(T.sum(axis=0), 1.0)
        assert T[1, 0] > 4 * T[0, 1]

    def test_a_column_of_a_class_without_labels_and_rows_never_held_out(self):
        proba = np.array([[0.5, 0.4, 0.1], [np.nan, np.nan, np.nan], [0.1, 0.8, 0.1]])
        codes = np.array([0, 1, 0])
        chance = suspicion(proba, codes)
        assert np.isnan(chance[1])
        assert chance[2] > chance[0]
        assert contradicted(proba, codes).tolist() == [False, False, True]
        assert np.isnan(suspicion(proba[1:2], codes[1:2])).all()


class TestFinding:
    @pytest.mark.parametrize(
        "model", [LSPC(), LSPCCV(kernel="rbf", metric=None), HandOver(LSPC(), max_error=0.3)]
    )
    def test_wrong_labels_come_first(self, noisy, model):
        X, y, wrong = noisy
        order = find_suspect_labels(make_pipeline(StandardScaler(), model).fit(X, y))
        assert sorted(order) == list(range(300))
        assert average_precision_score(wrong, ranks(order, 300)) > 0.8

    def test_only_contradicted_ones(self, noisy):
        X, y, _ = noisy
        model = LSPC().fit(X, y)
        some = find_suspect_labels(model, contradicted=True)
        proba = model.held_out_proba()
        assert set(some) == set(np.flatnonzero(model.classes_[proba.argmax(axis=1)] != y))
        everything = find_suspect_labels(model)
        assert [row for row in everything if row in set(some)] == list(some)

    def test_it_survives_a_file(self, noisy, tmp_path):
        X, y, _ = noisy
        model = LSPC().fit(X, y)
        kinlearn.save(model, tmp_path / "model.kin")
        again = kinlearn.load(tmp_path / "model.kin")
        np.testing.assert_array_equal(find_suspect_labels(again), find_suspect_labels(model))

    def test_tasks(self):
        X, y, task = make_related_tasks(n_tasks=3, n_samples=40, n_features=3, random_state=0)
        model = MultiTaskLSPC().fit(X, y, task=task)
        assert model.held_out_codes_.tolist() == np.searchsorted(model.classes_, y).tolist()
        assert len(find_suspect_labels(model)) == len(y)

    def test_labels_of_which_some_are_not_known(self):
        X, Y = make_rotated_labels(80, n_labels=3, n_features=3, random_state=0)
        Y = Y.astype(float)
        Y[::7, 1] = np.nan
        told = Y.copy()
        told[5] = 1 - told[5]
        order = find_suspect_labels(MultiLabelLSPC().fit(X, told))
        assert 5 in order[:10]

    def test_rows_without_weight_come_last(self, noisy):
        X, y, _ = noisy
        weight = np.ones(300)
        weight[[4, 9]] = 0
        order = find_suspect_labels(LSPC().fit(X, y, sample_weight=weight))
        assert set(order[-2:]) == {4, 9}


class TestRefusals:
    def test_models_without_held_out_probabilities(self, noisy):
        X, y, _ = noisy
        with pytest.raises(TypeError, match="LogisticRegression keeps no held-out probabilities"):
            find_suspect_labels(LogisticRegression().fit(X, y))
        with pytest.raises(ValueError, match="kept no held-out scores"):
            find_suspect_labels(LSPC(posterior="rounded_parameters").fit(X, y))

    def test_a_model_that_does_not_know_its_labels(self, noisy):
        X, y, _ = noisy
        model = LSPC().fit(X, y)
        del model.held_out_codes_
        with pytest.raises(ValueError, match="does not know the labels it was fitted to"):
            find_suspect_labels(model)
