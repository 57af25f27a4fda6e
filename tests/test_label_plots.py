"""Displays of many labels: what they draw and what they refuse."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import MultiLabelLSPC
from kinlearn.datasets import make_rotated_labels
from kinlearn.plots import LabelGainDisplay, LabelPrecisionRecallDisplay, LabelSimilarityDisplay


@pytest.fixture(autouse=True)
def figures():
    with mpl.rc_context({"backend": "Agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, Y = make_rotated_labels(200, n_labels=6, n_features=5, random_state=0)
    model = make_pipeline(StandardScaler(), MultiLabelLSPC(sharing=0.9)).fit(X[:100], Y[:100])
    return model, X[100:], Y[100:]


def test_similarity_is_drawn_in_an_order_that_joins_similar_labels(fitted):
    model, _, _ = fitted
    W = model[-1].similarity_
    display = LabelSimilarityDisplay.from_estimator(model)
    drawn = display.image_.get_array()
    expected = W[np.ix_(display.order_, display.order_)]
    assert_allclose(drawn.data, expected)
    assert drawn.mask.diagonal().all()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [str(t) for t in display.order_]
    plain = LabelSimilarityDisplay.from_estimator(model, order=False)
    assert plain.order_.tolist() == [0, 1, 2, 3, 4, 5]
    blocks = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]] + 0.01
    order = LabelSimilarityDisplay(similarity=blocks, names=list("abcd")).plot().order_
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset([0, 2]), frozenset([1, 3])}


def test_signed_similarity_has_two_colours(fitted):
    _, X, Y = fitted
    model = MultiLabelLSPC(similarity="signed").fit(X, Y)
    low, high = LabelSimilarityDisplay.from_estimator(model).image_.get_clim()
    assert low == -high < 0


def test_similarity_refuses_what_has_none():
    with pytest.raises(TypeError, match="LogisticRegression holds no single similarity"):
        LabelSimilarityDisplay.from_estimator(LogisticRegression())
    with pytest.raises(ValueError, match="it must be square"):
        LabelSimilarityDisplay(similarity=np.ones((2, 3)))
    with pytest.raises(ValueError, match="3 names for 2 labels"):
        LabelSimilarityDisplay(similarity=np.ones((2, 2)), names=list("abc"))


def test_precision_recall_names_its_figures(fitted):
    model, X, Y = fitted
    proba = model.predict_proba(X)
    display = LabelPrecisionRecallDisplay.from_estimator(model, X, Y)
    expected = average_precision_score(Y.ravel(), proba.ravel())
    assert display.average_precision == pytest.approx(expected)
    tried = [f1_score(Y.ravel(), proba.ravel() >= level) for level in np.unique(proba)[::25]]
    assert display.f1 >= max(tried) - 1e-12
    assert display.line_.get_label() == f"MultiLabelLSPC (AP {expected:.3f}, F {display.f1:.3f})"
    assert len(display.label_lines_) == 6
    second = LabelPrecisionRecallDisplay.from_predictions(
        Y, proba**2, name="again", ax=display.ax_, labels=False
    )
    assert second.ax_ is display.ax_
    assert second.label_lines_ == []


def test_precision_recall_leaves_out_what_is_unobserved(fitted):
    model, X, Y = fitted
    gaps = Y.astype(float)
    gaps[:, 2] = np.nan
    gaps[:, 3] = 0
    display = LabelPrecisionRecallDisplay.from_predictions(gaps, model.predict_proba(X))
    assert len(display.label_lines_) == 4


def test_gain_is_the_difference_of_the_measure(fitted):
    model, X, Y = fitted
    baseline = OneVsRestClassifier(LogisticRegression()).fit(X[:20], Y[:20])
    display = LabelGainDisplay.from_estimators(model, baseline, X, Y)
    ours = roc_auc_score(Y, model.predict_proba(X), average=None)
    theirs = roc_auc_score(Y, baseline.predict_proba(X), average=None)
    assert_allclose(display.gains, ours - theirs)
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(widths, reverse=True)
    loss = LabelGainDisplay.from_estimators(model, baseline, X, Y, measure="log_loss")
    assert "negative log-loss" in loss.ax_.get_xlabel()
    constant = Y.copy()
    constant[:, 0] = 1
    partly = LabelGainDisplay.from_estimators(model, baseline, X, constant)
    assert np.isnan(partly.gains[0])
    assert len(partly.bars_) == 5


def test_displays_refuse_what_they_cannot_draw(fitted):
    model, X, Y = fitted
    with pytest.raises(ValueError, match=r"Y_true has shape \(100, 5\)"):
        LabelPrecisionRecallDisplay.from_estimator(model, X, Y[:, :5])
    with pytest.raises(ValueError, match="must hold 0 and 1"):
        LabelPrecisionRecallDisplay.from_estimator(model, X, Y + 1)
    with pytest.raises(ValueError, match="No label is on"):
        LabelPrecisionRecallDisplay.from_estimator(model, X, 0 * Y)
    with pytest.raises(ValueError, match="measure='accuracy' is not known"):
        LabelGainDisplay.from_estimators(model, model, X, Y, measure="accuracy")
    with pytest.raises(ValueError, match="one class only"):
        LabelGainDisplay.from_estimators(model, model, X, 0 * Y)
    classes = MultiLabelLSPC().fit(X, np.column_stack([Y[:, 0] + Y[:, 1], Y[:, 2]]))
    with pytest.raises(ValueError, match="fitted on columns of more than two classes"):
        LabelPrecisionRecallDisplay.from_estimator(classes, X, Y)
