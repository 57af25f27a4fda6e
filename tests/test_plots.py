"""Displays: what they draw, how they are drawn over each other, and life without matplotlib."""

import subprocess
import sys
import textwrap

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from kinlearn import LSPCCV
from kinlearn.metrics import (
    area_under_risk_coverage,
    expected_calibration_error,
    reliability_curve,
    risk_coverage_curve,
)
from kinlearn.plots import (
    PALETTE,
    CVSurfaceDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    subplots,
)

CURVES = [ReliabilityDisplay, RiskCoverageDisplay]


@pytest.fixture(autouse=True)
def figures():
    with mpl.rc_context({"backend": "Agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return GaussianNB().fit(X[::2], names[::2]), X[1::2], names[1::2]


def grid(sigmas, regs):
    sigma, reg = (values.ravel() for values in np.meshgrid(sigmas, regs, indexing="ij"))
    score = -((np.log(sigma) - 0.5) ** 2) - (np.log10(reg) + 2) ** 2
    return {"param_sigma": sigma, "param_reg": reg, "mean_test_score": score}


@pytest.mark.parametrize("display_class", CURVES)
def test_from_estimator_equals_from_predictions(display_class, iris):
    model, X, y = iris
    one = display_class.from_estimator(model, X, y)
    two = display_class.from_predictions(
        y, model.predict_proba(X), classes=model.classes_, name="GaussianNB"
    )
    for here, there in zip(one.curve, two.curve, strict=True):
        np.testing.assert_array_equal(here, there)
    assert one.line_.get_label() == two.line_.get_label()
    assert one.ax_.figure is one.figure_
    assert one.figure_ is not two.figure_
    one.figure_.canvas.draw()


def test_reliability_draws_the_curve_its_error_and_the_histogram(iris):
    model, X, y = iris
    proba = model.predict_proba(X)
    display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=8, name="Bayes")
    curve = reliability_curve(y, proba, n_bins=8)
    np.testing.assert_array_equal(display.line_.get_xdata(), curve.confidence)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.accuracy)
    ece = expected_calibration_error(y, proba, n_bins=8)
    assert display.expected_calibration_error == pytest.approx(ece)
    assert display.line_.get_label() == f"Bayes (ECE {ece:.3f})"
    confidence = proba.max(axis=1)
    bars = [((b / 8 < confidence) & (confidence <= (b + 1) / 8)).mean() for b in range(8)]
    np.testing.assert_allclose(display.ax_histogram_.patches[0].get_data().values, bars)
    sizes = display.points_.get_sizes()
    assert np.argmax(sizes) == np.argmax(curve.share)
    # No confidence of three classes is below one third.
    assert 0.3 < display.ax_.get_xlim()[0] < 1 / 3


def test_reliability_of_several_methods_shares_one_histogram_and_one_diagonal(iris):
    model, X, y = iris
    first = ReliabilityDisplay.from_estimator(model, X, y, name="first")
    p = np.linspace(0.05, 0.95, 40)
    second = ReliabilityDisplay.from_predictions(
        np.tile([0, 1], 20), p, name="second", ax=first.ax_, strategy="quantile", n_bins=4
    )
    assert second.ax_ is first.ax_
    assert second.ax_histogram_ is first.ax_histogram_
    assert len(first.ax_.child_axes) == 1
    labels = first.ax_.get_legend_handles_labels()[1]
    assert labels.count("perfectly calibrated") == 1
    assert len(labels) == 3
    colors = [to_hex(d.line_.get_color()) for d in (first, second)]
    assert colors[0] != colors[1]
    assert {color.upper() for color in colors} <= set(PALETTE)
    # The wider range of the three-class curve is kept.
    assert second.ax_.get_xlim()[0] == pytest.approx(1 / 3 - 0.02)


def test_reliability_without_histogram_and_diagonal(iris):
    model, X, y = iris
    display = ReliabilityDisplay.from_estimator(model, X, y, histogram=False, ref_line=False)
    assert display.ax_histogram_ is None
    assert len(display.ax_.lines) == 1
    assert display.ax_.get_xlabel() == "Confidence"


def test_risk_coverage_draws_the_steps_whose_area_it_names(iris):
    model, X, y = iris
    proba = model.predict_proba(X)
    display = RiskCoverageDisplay.from_estimator(model, X, y, name="Bayes")
    curve = risk_coverage_curve(y, proba)
    np.testing.assert_array_equal(display.line_.get_xdata()[1:], curve.coverage)
    np.testing.assert_array_equal(display.line_.get_ydata()[1:], curve.risk)
    assert display.line_.get_xdata()[0] == 0
    area = area_under_risk_coverage(y, proba)
    assert display.area == pytest.approx(area)
    assert display.line_.get_label() == f"Bayes (area {area:.3f})"
    np.testing.assert_allclose(display.end_.get_ydata(), [1 - model.score(X, y)])


def test_risk_coverage_height_follows_the_settled_part_of_all_curves():
    y = np.zeros(100, dtype=int)
    y[0] = 1  # the most confident case is wrong
    p = np.linspace(0.01, 0.49, 100)
    first = RiskCoverageDisplay.from_predictions(y, p)
    assert first.curve.risk[0] == 1
    assert first.ax_.get_ylim()[1] == pytest.approx(1.15 * 0.1)
    RiskCoverageDisplay.from_predictions(1 - y, 1 - p[::-1], ax=first.ax_)
    assert first.ax_.get_ylim()[1] == pytest.approx(1.15 * 0.1)
    perfect = RiskCoverageDisplay.from_predictions([0, 1], [0.1, 0.9])
    assert perfect.ax_.get_ylim()[1] > 0


@pytest.mark.parametrize("display_class", CURVES)
def test_plot_again_elsewhere_under_another_name_and_style(display_class, iris):
    model, X, y = iris
    _, axes = plt.subplots(1, 2)
    display = display_class.from_estimator(model, X, y, ax=axes[0])
    assert display.ax_ is axes[0]
    again = display.plot(axes[1], name="again", color="#123456", linewidth=3)
    assert again is display
    assert display.ax_ is axes[1]
    assert display.line_.get_label().startswith("again (")
    assert (display.line_.get_color(), display.line_.get_linewidth()) == ("#123456", 3)
    # Axes that somebody else made keep their own look.
    assert axes[1].spines["top"].get_visible()


@pytest.mark.parametrize("display_class", CURVES)
def test_a_pipeline_is_named_after_its_classifier(display_class, iris):
    _, X, y = iris
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    label = display_class.from_estimator(model, X, y).line_.get_label()
    assert label.startswith("LogisticRegression (")


@pytest.mark.parametrize("display_class", CURVES)
def test_without_a_name_only_the_figure_is_shown(display_class):
    label = display_class.from_predictions([0, 1], [0.1, 0.9]).line_.get_label()
    assert label in {"ECE 0.100", "area 0.000"}


@pytest.mark.parametrize("display_class", CURVES)
def test_a_classifier_without_probabilities_is_told(display_class, iris):
    _, X, y = iris
    with pytest.raises(
        TypeError, match="needs a classifier with predict_proba; LinearSVC has none"
    ):
        display_class.from_estimator(LinearSVC().fit(X, y), X, y)


def test_surface_puts_scores_weights_and_the_star_where_they_belong():
    results = grid([0.5, 1.0, 2.0], [1e-4, 1e-3, 1e-2, 1e-1])
    weights = np.zeros(12)
    weights[[6, 10]] = 0.25, 0.75  # (1, 1e-2) and (2, 1e-2)
    display = CVSurfaceDisplay.from_cv_results(results, weights=weights)
    for sigma, reg, score in zip(*results.values(), strict=True):
        row, column = np.searchsorted(display.regs, reg), np.searchsorted(display.sigmas, sigma)
        assert display.scores[row, column] == score
    np.testing.assert_array_equal(display.mesh_.get_array().data, display.scores)
    best = np.argmax(results["mean_test_score"])
    assert display.best_.get_xdata()[0] == results["param_sigma"][best]
    assert display.best_.get_ydata()[0] == results["param_reg"][best]
    np.testing.assert_allclose(display.dots_.get_offsets(), [[1.0, 1e-2], [2.0, 1e-2]])
    small, large = display.dots_.get_sizes() - 12
    assert large == pytest.approx(3 * small)
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlim()[0] < 0.5 < 2.0 < display.ax_.get_xlim()[1]
    display.figure_.canvas.draw()


def test_surface_marks_the_point_that_was_chosen_among_equals():
    results = {"param_sigma": [1.0, 2.0], "param_reg": [0.1, 0.1], "mean_test_score": [0.9, 0.9]}
    for index in (0, 1):
        display = CVSurfaceDisplay.from_cv_results(results, best_index=index)
        assert display.best_.get_xdata()[0] == results["param_sigma"][index]


def test_surface_takes_the_best_over_further_parameters_and_leaves_gaps():
    results = {
        "param_sigma": [1.0, 1.0, 2.0],
        "param_reg": [0.1, 0.1, 0.2],
        "param_sharing": [0.0, 1.0, 0.0],
        "mean_test_score": [-3.0, -1.0, -2.0],
    }
    display = CVSurfaceDisplay.from_cv_results(results, weights=[0.2, 0.3, 0.5], colorbar=False)
    np.testing.assert_array_equal(display.scores, [[-1.0, np.nan], [np.nan, -2.0]])
    np.testing.assert_allclose(display.weights, [[0.5, 0.0], [0.0, 0.5]])
    assert display.colorbar_ is None


def test_surface_of_a_single_width_is_drawn():
    display = CVSurfaceDisplay.from_cv_results(grid([1.0], [1e-2, 1e-1]), score_name="AUC")
    assert display.dots_ is None
    assert display.colorbar_.ax.get_ylabel() == "AUC"
    display.plot(name="linear kernel")
    assert display.ax_.get_title() == "linear kernel"


class Tuned(LogisticRegression):
    """A classifier with the parameters of a kernel estimator, for a grid search."""

    def __init__(self, sigma=1.0, reg=1.0):
        super().__init__()
        self.sigma = sigma
        self.reg = reg

    def fit(self, X, y):
        self.C = 1 / self.reg
        return super().fit(X / self.sigma, y)


@pytest.mark.parametrize("inside", [False, True])
def test_surface_of_a_grid_search_around_or_inside_a_pipeline(inside, iris):
    _, X, y = iris
    if inside:
        search = make_pipeline(
            StandardScaler(), GridSearchCV(Tuned(), {"sigma": [1.0, 2.0], "reg": [0.1, 1.0]}, cv=2)
        )
    else:
        search = GridSearchCV(
            make_pipeline(StandardScaler(), Tuned()),
            {"tuned__sigma": [1.0, 2.0], "tuned__reg": [0.1, 1.0]},
            cv=2,
        )
    display = CVSurfaceDisplay.from_estimator(search.fit(X, y))
    assert display.scores.shape == (2, 2)
    np.testing.assert_array_equal(display.sigmas, [1.0, 2.0])


@pytest.mark.parametrize("combine", ["stack", "best"])
def test_surface_of_a_tuned_lspc_shows_its_own_point_and_mix(combine, iris):
    _, X, y = iris
    model = make_pipeline(StandardScaler(), LSPCCV(combine=combine)).fit(X, y)
    tuned = model[-1]
    results = tuned.cv_results_
    alike = results["param_kernel"] == tuned.kernel_
    alike &= results["param_metric"] == tuned.metric_  # widths of others mean something else
    display = CVSurfaceDisplay.from_estimator(model)
    assert display.best_.get_xdata()[0] == tuned.sigma_
    assert display.best_.get_ydata()[0] == tuned.reg_
    assert np.nanmax(display.scores) == pytest.approx(tuned.best_score_)
    assert display.weights.sum() == pytest.approx(tuned.weights_[alike].sum())
    assert len(display.dots_.get_sizes()) == np.count_nonzero(tuned.weights_[alike])


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"param_reg": None}, {}, "must have one key param_reg or param_<step>__reg; it has only"),
        ({"param_sigma": ["median"] * 4}, {}, r"param_sigma must hold positive.*\['median'"),
        ({"param_reg": [0.0, 1, 2, 3]}, {}, r"param_reg must hold positive numbers.*\[0.0, 1"),
        ({"mean_test_score": [np.nan] * 4}, {}, "no finite 'mean_test_score'"),
        ({}, {"score": "mean_test_auc"}, "no 'mean_test_auc'; its keys are"),
        ({}, {"weights": [1.0]}, r"one weight for each of the 4 grid points; its shape is \(1,\)"),
    ],
)
def test_a_wrong_table_is_told(change, options, sentence):
    results = {k: v for k, v in (grid([1, 2], [3, 4]) | change).items() if v is not None}
    with pytest.raises(ValueError, match=sentence):
        CVSurfaceDisplay.from_cv_results(results, **options)


def test_an_estimator_that_was_not_tuned_is_told(iris):
    with pytest.raises(TypeError, match=r"with cv_results_.*GaussianNB has none"):
        CVSurfaceDisplay.from_estimator(iris[0])


def test_subplots_are_styled():
    figure, axes = subplots(2, 3)
    assert axes.shape == (2, 3)
    assert not any(ax.spines["top"].get_visible() for ax in axes.ravel())
    assert figure.get_size_inches()[0] == pytest.approx(3 * 4.4)


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )


def test_without_matplotlib_everything_imports_and_drawing_says_what_to_install():
    done = run_python("""
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {"matplotlib", "mpl_toolkits"}:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, Blocker())
        import kinlearn
        import kinlearn.metrics
        from kinlearn.plots import CVSurfaceDisplay, ReliabilityDisplay, RiskCoverageDisplay
        from kinlearn.plots import subplots

        tries = [
            lambda: ReliabilityDisplay.from_predictions([0, 1], [0.1, 0.9]),
            lambda: RiskCoverageDisplay.from_predictions([0, 1], [0.1, 0.9]),
            lambda: CVSurfaceDisplay.from_cv_results({}),
            lambda: subplots(),
        ]
        for draw in tries:
            try:
                draw()
            except ImportError as error:
                print(error)
    """)
    assert done.returncode == 0, done.stderr
    sentences = done.stdout.splitlines()
    assert len(sentences) == 4
    assert sentences[0].startswith("ReliabilityDisplay.from_predictions needs matplotlib")
    assert all(line.endswith('run pip install "kinlearn[plot]".') for line in sentences)
