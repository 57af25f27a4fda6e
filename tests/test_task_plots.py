"""Displays of related tasks, and the multi-task part of the demo."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from kinlearn import IndependentTasks, MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.cli.demo_parts import multi_task as demo_part
from kinlearn.cli.demo_parts.figures_table import add_rows, figures_table
from kinlearn.cli.demo_parts.multi_task import multi_task
from kinlearn.datasets import make_related_tasks
from kinlearn.plots import PALETTE, SharingDisplay, TaskSimilarityDisplay
from kinlearn.plots.task_similarity import clustered_order, score_correlation
from one_kernel import one_kernel_in


@pytest.fixture(autouse=True)
def figures():
    with mpl.rc_context({"backend": "Agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def related():
    X, y, task = make_related_tasks(
        n_tasks=5, n_samples=40, n_features=3, n_reversed=2, relatedness=0.9, random_state=0
    )
    return X, y, np.array(["a", "b", "c", "d", "e"])[task]


def test_correlations_are_those_of_the_scores(related):
    X, y, task = related
    model = MultiTaskLSPC(sharing=0.3).fit(X, y, task=task)
    display = TaskSimilarityDisplay.from_estimator(model, X)
    scores = [model.decision_function(X, task=[t] * len(y)) for t in display.tasks]
    np.testing.assert_allclose(display.correlation, np.corrcoef(scores), atol=1e-12)
    np.testing.assert_array_equal(display.image_.get_array(), display.correlation)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == display.tasks
    display.figure_.canvas.draw()


def test_alike_tasks_are_drawn_together(related):
    X, y, task = related
    model = IndependentTasks(LogisticRegression()).fit(X, y, task=task)
    display = TaskSimilarityDisplay.from_estimator(model, X)
    assert set(display.tasks[:2]) == {"d", "e"} or set(display.tasks[-2:]) == {"d", "e"}
    blocks = np.kron(np.eye(2), np.ones((3, 3)))
    shuffled = np.random.default_rng(0).permutation(6)
    order = clustered_order(blocks[np.ix_(shuffled, shuffled)])
    together = shuffled[order] < 3
    assert np.abs(np.diff(together.astype(int))).sum() == 1


def test_many_classes_and_constant_tasks_correlate():
    scores = np.random.default_rng(0).normal(size=(3, 20, 4))
    scores[2] = 7.0
    correlation = score_correlation(scores)
    flat = (scores - scores.mean(axis=1, keepdims=True))[:2].reshape(2, -1)
    expected = flat[0] @ flat[1] / np.linalg.norm(flat[0]) / np.linalg.norm(flat[1])
    assert correlation[0, 1] == pytest.approx(expected)
    assert correlation[2].tolist() == [0.0, 0.0, 1.0]


def test_individual_parts_and_task_columns(related):
    X, y, task = related
    number = np.unique(task, return_inverse=True)[1]
    model = MultiTaskLSPC(sharing=0.9, task_column=0).fit(np.column_stack([number, X]), y)
    display = TaskSimilarityDisplay.from_estimator(
        model, X, part="individual", colorbar=False, name="parts"
    )
    assert model.task_column == 0
    assert display.colorbar_ is None
    assert display.ax_.get_title() == "parts"
    by_argument = MultiTaskLSPC(sharing=0.9).fit(X, y, task=number)
    parts = [by_argument.task_score(X, task=[t] * len(y)) for t in display.tasks]
    np.testing.assert_allclose(display.correlation, np.corrcoef(parts), atol=1e-8)


def test_similarity_needs_tasks(related):
    X, y, _ = related
    model = MultiTaskLSPC().fit(X, y)
    with pytest.raises(ValueError, match="without task ids or on one task only"):
        TaskSimilarityDisplay.from_estimator(model, X)
    tasks = MultiTaskLSPC().fit(X, y, task=np.arange(len(y)) % 2)
    with pytest.raises(ValueError, match="part='own' is not known"):
        TaskSimilarityDisplay.from_estimator(tasks, X, part="own")


def test_sharing_draws_the_report_sorted_by_gain(related):
    X, y, task = related
    model = MultiTaskLSPCCV().fit(X, y, task=task)
    display = SharingDisplay.from_estimator(model)
    report = model.sharing_report_
    gain = report["gain_over_independent"][display.order_]
    assert np.all(np.diff(gain) >= 0.0)
    for key in ("shared", "independent", "pooled"):
        drawn = display.points_[key].get_offsets()
        np.testing.assert_allclose(drawn[:, 0], report[key][display.order_])
    colors = [to_hex(color) for color in display.gains_.get_colors()]
    expected = [PALETTE[0].lower() if g >= 0 else PALETTE[1].lower() for g in gain]
    assert [c[:7] for c in colors] == expected
    helped = int((gain > 0).sum())
    assert display.ax_.get_title() == f"Sharing helps {helped} of 5 tasks"
    assert "squared error" in display.ax_.get_xlabel()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["each task alone", "one pooled model", "sharing"]
    display.figure_.canvas.draw()


def test_sharing_refuses_what_has_no_report(related):
    X, y, task = related
    with pytest.raises(TypeError, match="MultiTaskLSPC has none"):
        SharingDisplay.from_estimator(MultiTaskLSPC().fit(X, y, task=task))
    with pytest.raises(ValueError, match=r"lacks \['pooled'\]"):
        SharingDisplay.from_report({"task": [1], "shared": [0.5], "independent": [0.4]})


def test_the_demo_part_draws_and_tabulates(tmp_path, monkeypatch):
    one_kernel_in(demo_part, monkeypatch)
    console = Console(width=120, record=True)
    result = multi_task(tmp_path, console, seed=0, quick=True)
    assert [path.name for path in result.paths] == ["multi_task.png"]
    assert plt.imread(result.paths[0]).std() > 0.05
    console.print(result.tables[0])
    text = console.export_text()
    for word in ("MultiTaskLSPCCV", "per task", "for all", "Boosted trees", "AUC", "log-loss"):
        assert word in text


def test_the_best_of_each_column_is_bold():
    names = ["accuracy", "AUC", "log-loss", "fit time"]
    rows = [(["one"], [0.9, 0.8, 0.3, 1.0]), (["two"], [0.7, 0.85, 0.4, 2.0])]
    table = figures_table("", "", ["method"], names)
    add_rows(table, [(name, dict(zip(names, row, strict=True))) for name, row in rows])
    columns = [list(column.cells) for column in table.columns]
    assert columns[1] == ["[bold]0.900[/]", "0.700"]
    assert columns[2] == ["0.800", "[bold]0.850[/]"]
    assert columns[3] == ["[bold]0.300[/]", "0.400"]
