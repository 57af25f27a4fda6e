"""Task ids through scikit-learn: by metadata routing, and by a column where that does not reach."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import IndependentTasks, MultiTaskLSPC, MultiTaskLSPCCV, PooledTasks
from kinlearn.datasets import make_related_tasks

SMALL = {"sigmas": [1.0, 2.0, 4.0], "sharings": [0.0, 0.7, 1.0], "regs": [1e-4, 1e-2, 1.0]}
pytestmark = pytest.mark.filterwarnings("ignore:The best")


@pytest.fixture(scope="module")
def related():
    X, y, task = make_related_tasks(n_tasks=3, n_samples=24, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], np.array(["x", "y", "z"])[task[order]]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


ALL = [
    MultiTaskLSPC(),
    MultiTaskLSPCCV(**SMALL),
    IndependentTasks(LogisticRegression()),
    PooledTasks(LogisticRegression()),
]


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", ALL)
def test_task_is_routed_through_a_pipeline_by_default(related, model):
    X, y, task = related
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y, task=task)
    Xs = StandardScaler().fit_transform(X)
    direct = clone(model).fit(Xs, y, task=task)
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(
            getattr(pipeline, method)(X, task=task), getattr(direct, method)(Xs, task=task)
        )
    assert pipeline.score(X, y, task=task) == direct.score(Xs, y, task=task)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", ALL)
def test_task_is_routed_and_split_in_cross_validation(related, model):
    X, y, task = related
    pipeline = make_pipeline(StandardScaler(), clone(model))
    found = cross_validate(pipeline, X, y, cv=3, params={"task": task})["test_score"]
    frame = pd.DataFrame(X).assign(task=task)
    assert found.shape == (3,)
    scores = []
    from sklearn.model_selection import StratifiedKFold

    for train, test in StratifiedKFold(3).split(frame, y):
        scaler = StandardScaler().fit(X[train])
        fitted = clone(model).fit(scaler.transform(X[train]), y[train], task=task[train])
        scores.append(fitted.score(scaler.transform(X[test]), y[test], task=task[test]))
    np.testing.assert_allclose(found, scores)


@pytest.mark.usefixtures("routing")
def test_task_is_routed_in_a_grid_search(related):
    X, y, task = related
    search = GridSearchCV(MultiTaskLSPC(), {"sharing": [0.0, 0.5, 1.0]}, cv=3)
    search.fit(X, y, task=task)
    assert search.best_params_["sharing"] in (0.0, 0.5, 1.0)
    # The search itself passes no task on to predict: ask the model it found.
    assert search.best_estimator_.predict_proba(X, task=task).shape == (len(y), 2)


def frame_of(X, task):
    return pd.DataFrame(X, columns=list("abcde")).assign(site=task)


@pytest.mark.parametrize("model", ALL)
def test_a_column_is_the_same_as_the_argument(related, model):
    X, y, task = related
    frame = frame_of(X, task)
    by_column = clone(model).set_params(task_column="site").fit(frame, y)
    by_argument = clone(model).fit(X, y, task=task)
    np.testing.assert_allclose(
        by_column.predict_proba(frame), by_argument.predict_proba(X, task=task), atol=1e-10
    )
    assert by_column.n_features_in_ == 5
    assert by_column.feature_names_in_.tolist() == list("abcde")
    assert by_column.score(frame, y) == by_argument.score(X, y, task=task)


def test_columns_of_arrays_and_polars(related):
    X, y, task = related
    number = np.unique(task, return_inverse=True)[1]
    expected = MultiTaskLSPC().fit(X, y, task=task).predict_proba(X, task=task)
    table = np.column_stack([number, X])
    model = MultiTaskLSPC(task_column=0).fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table), expected, atol=1e-10)
    np.testing.assert_allclose(model.shared_score(table), model.shared_score(X), atol=1e-12)
    objects = np.column_stack([X.astype(object), task])
    model = MultiTaskLSPC(task_column=-1).fit(objects, y)
    np.testing.assert_allclose(model.predict_proba(objects), expected, atol=1e-10)
    frame = pl.DataFrame(X, schema=list("abcde")).with_columns(pl.Series("site", task))
    model = MultiTaskLSPC(task_column="site").fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-10)


def test_the_column_reaches_where_routing_does_not(related):
    X, y, task = related
    frame = frame_of(X, task)
    model = MultiTaskLSPC(task_column="site")
    proba = cross_val_predict(model, frame, y, cv=3, method="predict_proba")
    assert proba.shape == (len(y), 2)
    areas = cross_val_score(model, frame, y, cv=3, scoring="roc_auc")
    assert np.all(areas > 0.5)
    search = GridSearchCV(model, {"sharing": [0.0, 0.8]}, cv=3, scoring="neg_log_loss")
    assert search.fit(frame, y).best_score_ < 0.0
    stacked = StackingClassifier(
        [("tasks", model), ("independent", IndependentTasks(LogisticRegression(), task_column=5))],
        final_estimator=LogisticRegression(),
        cv=3,
    ).fit(frame, y)
    assert stacked.score(frame, y) > 0.6


def test_the_column_survives_a_transformer_that_passes_it_through(related):
    X, y, task = related
    frame = frame_of(X, task)
    scale = make_column_transformer(
        (StandardScaler(), list("abcde")), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scale, MultiTaskLSPC(task_column="site")).fit(frame, y)
    direct = MultiTaskLSPC().fit(StandardScaler().fit_transform(X), y, task=task)
    np.testing.assert_allclose(
        pipeline.predict_proba(frame),
        direct.predict_proba(StandardScaler().fit_transform(X), task=task),
        atol=1e-10,
    )


@pytest.mark.parametrize("model", ALL)
def test_an_absent_column_or_two_sources_are_refused(related, model):
    X, y, task = related
    frame = frame_of(X, task)
    with pytest.raises(ValueError, match="task_column='ward' is not a column of X"):
        clone(model).set_params(task_column="ward").fit(frame, y)
    with pytest.raises(ValueError, match="Both task= and task_column"):
        clone(model).set_params(task_column="site").fit(frame, y, task=task)
    fitted = clone(model).set_params(task_column="site").fit(frame, y)
    with pytest.raises(ValueError, match="task_column='site' is not a column of X"):
        fitted.predict(frame.drop(columns="site"))
