"""IndependentTasks and PooledTasks around any classifier."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import LSPC, IndependentTasks, PooledTasks
from kinlearn.datasets import make_related_tasks


@pytest.fixture(scope="module")
def uneven():
    """Four tasks whose classes differ: {a,b}, {b,c}, only c, all."""
    X, k = make_blobs(n_samples=[20, 20, 20], centers=None, random_state=0)
    y = np.array(["a", "b", "c"])[k]
    rng = np.random.default_rng(0)
    sets = {"t1": "ab", "t2": "bc", "t3": "c", "t4": "abc"}
    rows, task = [], []
    for name, letters in sets.items():
        chosen = rng.choice(np.flatnonzero(np.isin(y, list(letters))), 12, replace=False)
        rows.append(chosen)
        task += [name] * 12
    rows = np.concatenate(rows)
    return X[rows], y[rows], np.array(task)


def test_columns_never_collapse(uneven):
    X, y, task = uneven
    model = IndependentTasks(LogisticRegression()).fit(X, y, task=task)
    proba = model.predict_proba(X, task=task)
    assert proba.shape == (len(y), 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.all(proba[task == "t1"][:, 2] == 0.0)
    assert np.all(proba[task == "t3"] == [0.0, 0.0, 1.0])
    assert model.task_classes_["t2"].tolist() == ["b", "c"]
    scores = model.decision_function(X, task=task)
    assert scores.shape == (len(y), 3)
    assert np.all(np.isfinite(scores))
    np.testing.assert_array_equal(
        model.classes_[scores.argmax(axis=1)], model.predict(X, task=task)
    )


def test_each_task_has_the_model_of_its_own_samples(uneven):
    X, y, task = uneven
    model = IndependentTasks(LogisticRegression()).fit(X, y, task=task)
    own = LogisticRegression().fit(X[task == "t4"], y[task == "t4"])
    np.testing.assert_allclose(
        model.predict_proba(X, task=["t4"] * len(y)), own.predict_proba(X), atol=1e-12
    )


def test_a_task_never_seen_gets_the_pooled_model_or_an_error(uneven):
    X, y, task = uneven
    model = IndependentTasks(LogisticRegression()).fit(X, y, task=task)
    pooled = PooledTasks(LogisticRegression()).fit(X, y, task=task)
    new = np.full(len(y), "t9")
    np.testing.assert_allclose(model.predict_proba(X, task=new), pooled.predict_proba(X, task=new))
    for strict in (
        IndependentTasks(LogisticRegression(), unseen="error"),
        PooledTasks(LogisticRegression(), unseen="error"),
    ):
        with pytest.raises(ValueError, match="'t9' were seen in fit"):
            strict.fit(X, y, task=task).predict(X, task=new)


def test_binary_scores_are_one_dimensional_and_constant_tasks_lean_their_way():
    X, y, task = make_related_tasks(n_tasks=3, n_samples=30, random_state=1)
    y[task == 1], y[task == 2] = 0, 1
    model = IndependentTasks(LogisticRegression()).fit(X, y, task=task)
    scores = model.decision_function(X, task=task)
    assert scores.shape == (90,)
    assert np.all(scores[task == 1] < 0)
    assert np.all(scores[task == 2] > 0)
    own = LogisticRegression().fit(X[task == 0], y[task == 0])
    np.testing.assert_allclose(scores[task == 0], own.decision_function(X[task == 0]))


def test_weights_reach_the_models_and_are_refused_where_they_cannot():
    X, y, task = make_related_tasks(n_tasks=2, random_state=2)
    weights = np.random.default_rng(0).integers(1, 4, size=len(y))
    weighted = IndependentTasks(LogisticRegression()).fit(X, y, task=task, sample_weight=weights)
    repeated = IndependentTasks(LogisticRegression()).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights), task=np.repeat(task, weights)
    )
    np.testing.assert_allclose(
        weighted.predict_proba(X, task=task), repeated.predict_proba(X, task=task), atol=1e-4
    )
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        PooledTasks(KNeighborsClassifier()).fit(X, y, task=task, sample_weight=weights)


def test_methods_are_those_of_the_wrapped_estimator():
    assert not hasattr(IndependentTasks(Perceptron()), "predict_proba")
    assert not hasattr(PooledTasks(KNeighborsClassifier()), "decision_function")
    assert hasattr(PooledTasks(DummyClassifier()), "predict_proba")


def test_frames_pipelines_task_columns_and_jobs():
    X, y, task = make_related_tasks(n_tasks=3, random_state=4)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(site=np.array(["x", "y", "z"])[task])
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    with joblib.parallel_config(backend="threading"):
        by_column = IndependentTasks(inner, task_column="site", n_jobs=2).fit(frame, y)
    by_argument = IndependentTasks(inner).fit(X, y, task=task)
    np.testing.assert_allclose(
        by_column.predict_proba(frame), by_argument.predict_proba(X, task=task)
    )
    assert by_column.feature_names_in_.tolist() == list("abcde")
    assert by_column.score(frame, y) == by_argument.score(X, y, task=task)


def test_missing_ids_at_prediction_are_asked_for():
    X, y, task = make_related_tasks(n_tasks=2, random_state=5)
    model = PooledTasks(LogisticRegression()).fit(X, y, task=task)
    with pytest.raises(ValueError, match=r"fitted on 2 tasks .* predict needs task="):
        model.predict(X)
    with pytest.raises(ValueError, match="fitted without task ids"):
        PooledTasks(LogisticRegression()).fit(X, y).predict(X, task=task)
    with pytest.raises(ValueError, match="unseen must be 'pooled' or 'error', got 'shared'"):
        IndependentTasks(LogisticRegression(), unseen="shared").fit(X, y, task=task)


@pytest.mark.parametrize("constant", [0.1, 0.7, 1 / 3, -123.456, 1e9 + 0.1])
@pytest.mark.parametrize("noise", [0.0, 1e-16])
def test_a_column_that_is_constant_within_a_task_is_no_narrow_one(constant, noise, rng):
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] > 0).astype(int)
    task = np.repeat(np.arange(3), 30)
    # by rounding alone, the deviation of equal numbers is not zero
    X[:, 2] = constant * (1.0 + noise * rng.integers(-4, 5, size=90))
    IndependentTasks(LSPC(), unseen="error").fit(X, y, task=task)


def test_a_narrow_column_is_still_told_of(rng):
    X = rng.normal(size=(90, 2)) * [1.0, 1e-4] + [0.0, 1e3]
    with pytest.warns(UserWarning, match=r"Columns spread from .* sees little but: 0"):
        LSPC().fit(X, (X[:, 0] > 0).astype(int))
