"""In the company of scikit-learn, pandas and polars."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import LSPC, LSPCCV

BOTH = pytest.mark.parametrize("model", [LSPC(), LSPCCV(regs=[1e-4, 1e-3, 1e-2, 1e-1])])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, load_iris().target_names[y]


@BOTH
@pytest.mark.filterwarnings("ignore:The best")
def test_pipeline_with_string_labels(model, iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), model)
    assert cross_val_score(pipeline, X, y, cv=5).mean() > 0.93
    proba = cross_val_predict(pipeline, X, y, cv=5, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    pipeline.fit(X, y)
    assert set(pipeline.predict(X)) == set(y)
    assert list(pipeline.classes_) == sorted(set(y))


def test_grid_search(iris):
    X, y = iris
    search = GridSearchCV(
        LSPC(), {"sigma": [0.5, 2.0], "reg": [1e-4, 1e-2]}, scoring="neg_log_loss"
    )
    search.fit(X, y)
    assert search.best_score_ > -0.3
    kernel = GridSearchCV(LSPC(kernel="precomputed"), {"reg": [1e-4, 1e-2]})
    assert kernel.fit(X @ X.T, y).best_score_ > 0.7


@pytest.mark.filterwarnings("ignore:The best")
@BOTH
def test_calibrated_and_stacked(model, iris):
    X, y = iris
    assert CalibratedClassifierCV(model, cv=3).fit(X, y).score(X, y) > 0.9
    stack = StackingClassifier(
        [("a", clone(model)), ("b", LogisticRegression(max_iter=1000))], cv=3
    )
    assert stack.fit(X, y).score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore:The best")
@BOTH
def test_frames_keep_their_names(model, iris):
    X, y = iris
    names = ["a", "b", "c", "d"]
    plain = clone(model).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        labels = pd.Series(y) if isinstance(frame, pd.DataFrame) else pl.Series(list(y))
        fitted = clone(model).fit(frame, labels)
        assert list(fitted.feature_names_in_) == names
        np.testing.assert_allclose(fitted.predict_proba(frame), plain.predict_proba(X))
        with pytest.raises(ValueError, match="feature names"):
            fitted.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.filterwarnings("ignore:The best")
@BOTH
def test_pickle_and_clone(model, iris):
    X, y = iris
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    fresh = clone(fitted)
    assert not hasattr(fresh, "coef_")
    assert fresh.get_params() == model.get_params()


@BOTH
@pytest.mark.filterwarnings("ignore:The best")
def test_fitted_state_is_plain(model, iris):
    fitted = clone(model).fit(*iris)
    plain = (np.ndarray, float, int, str, dict)
    for name, value in vars(fitted).items():
        if name.endswith("_") and name != "model_":
            assert isinstance(value, plain), name
    for name in ("centers_", "kept_sigmas_", "coef_", "intercept_", "classes_", "prior_"):
        assert isinstance(getattr(fitted, name), np.ndarray), name


@pytest.mark.parametrize("labels", [[True, False], [3, 7], ["x", "y"], [-1.0, 2.0]])
def test_any_label_type(labels, rng):
    y = np.array(labels)[np.arange(30) % 2]
    X = rng.normal(size=(30, 2)) + 3 * (np.arange(30) % 2)[:, None]
    model = LSPC().fit(X, y)
    assert set(model.predict(X).tolist()) == set(labels)
    assert (model.predict(X) == y).mean() > 0.9
