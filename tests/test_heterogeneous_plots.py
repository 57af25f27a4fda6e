"""Pictures of heterogeneous tasks show what was computed."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from kinlearn import MTDA, MTDAClassifier, TraceRatioLDA
from kinlearn.datasets import make_heterogeneous_tasks
from kinlearn.plots import EmbeddingDisplay, ObjectivePathDisplay, TaskErrorDisplay, subplots


@pytest.fixture(autouse=True)
def figures():
    with mpl.rc_context({"backend": "Agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def tasks():
    return make_heterogeneous_tasks(n_features=(6, 30), n_samples=80, random_state=0)


def test_objective_paths_of_several_solvers_on_one_axes(tasks):
    ax = None
    for solver in ("joint", "alternating", "table1"):
        mtda = MTDA(solver=solver, shrinkage=0.1, init="random", random_state=0).fit(*tasks)
        display = ObjectivePathDisplay.from_estimator(mtda, ax=ax)
        ax = display.ax_
        np.testing.assert_array_equal(display.line_.get_ydata(), mtda.objective_path_)
        assert display.figure_ is ax.figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["joint", "alternating", "table1"]
    single = TraceRatioLDA().fit(tasks[0][0], tasks[1][0])
    assert ObjectivePathDisplay.from_estimator(single).line_.get_label() == "TraceRatioLDA"
    with pytest.raises(TypeError, match=r"LogisticRegression has none\. Fit it first"):
        ObjectivePathDisplay.from_estimator(LogisticRegression())


def test_errors_against_a_parameter_are_those_of_refitted_models(tasks):
    Xs, ys = tasks
    train, test = slice(0, 40), slice(40, 80)
    splits = [[A[part] for A in arrays] for part in (train, test) for arrays in (Xs, ys)]
    model = MTDAClassifier(reducer=MTDA(shrinkage="auto"))
    display = TaskErrorDisplay.from_estimator(model, *splits, values=[1, 3, 50])
    for position, value in enumerate([1, 3]):
        fitted = MTDAClassifier(reducer=MTDA(n_components=value, shrinkage="auto")).fit(*splits[:2])
        for k in range(2):
            error = 1 - fitted.score(splits[2][k], splits[3][k], task=k)
            assert display.errors[k][position] == pytest.approx(error)
            assert display.lines_[k].get_ydata()[position] == pytest.approx(error)
    assert display.ax_.get_xlabel().endswith("d")
    intermediate = MTDAClassifier(reducer=MTDA(solver="alternating", random_state=0))
    second = TaskErrorDisplay.from_estimator(
        intermediate, *splits, param="n_intermediate", values=[2, 5], name="alternating"
    )
    assert second.ax_.get_xlabel().endswith("d′")
    assert second.lines_[1].get_label() == "alternating, task 1"
    with pytest.raises(ValueError, match="which has no parameter 'n_components'"):
        TaskErrorDisplay.from_estimator(MTDAClassifier(), *splits, values=[1])


def test_embedding_has_a_panel_per_task_with_all_its_rows(tasks):
    Xs, ys = tasks
    named = {"camera": Xs[0], "scanner": Xs[1]}
    labels = {"camera": ys[0], "scanner": ys[1]}
    mtda = MTDA(n_components=2).fit(named, labels)
    display = EmbeddingDisplay.from_estimator(mtda, named, labels)
    titles = ["camera (6 features)", "scanner (30 features)"]
    assert [ax.get_title() for ax in display.axes_] == titles
    for ax, (key, X) in zip(display.axes_, named.items(), strict=True):
        drawn = np.vstack([points.get_offsets() for points in ax.collections])
        expected = mtda.transform(X, task=key)
        np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(expected[:, 0]))
    assert len(display.figure_.legends) == 1
    classifier = MTDAClassifier(reducer=MTDA(n_components=1)).fit(Xs, ys)
    line = EmbeddingDisplay.from_estimator(classifier, Xs, ys)
    assert line.axes_[0].get_xlabel() == "Row"
    figure, _ = subplots(1, 3)
    with pytest.raises(ValueError, match="The figure has 3 axes for 2 tasks"):
        line.plot(figure=figure)
    with pytest.raises(TypeError, match="LogisticRegression is none"):
        EmbeddingDisplay.from_estimator(LogisticRegression(), Xs, ys)
