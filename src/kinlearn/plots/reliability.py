"""Reliability diagram: is a case predicted with 80 % confidence right 80 % of the time?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinlearn.metrics import ReliabilityCurve, reliability_curve, top_label_outcomes
from kinlearn.plots._predictions import predictions_of
from kinlearn.plots._style import (
    FAINT,
    AxesDisplay,
    named,
    percent,
    require_matplotlib,
    show_legend,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HISTOGRAM_LABEL = "kinlearn: histogram of confidences"
_DIAGONAL_LABEL = "perfectly calibrated"
_ROOT_TICKS = (0.0, 0.01, 0.1, 0.5, 1.0)


class ReliabilityDisplay(AxesDisplay):
    """Accuracy against confidence per bin, with a histogram of the confidences underneath.

    Plots accuracy_b against confidence_b, b over bins of the probability of the most probable
    class, for any number of classes; points are larger where more cases lie, and the histogram is
    drawn on a square-root scale so that bins of few cases can be seen. Above the diagonal
    the classifier is too modest, below it too sure of itself. Use :meth:`from_estimator` or
    :meth:`from_predictions`; draw several methods by passing one display's ``ax_`` to the next.

    Parameters
    ----------
    curve : ReliabilityCurve
        What :func:`kinlearn.metrics.reliability_curve` returns.
    confidence_histogram : ndarray of shape (n_histogram_bins,), default=None
        Share of the cases in bins of equal width over [0, 1]; None: no histogram.
    name : str, default=None
        Name in the legend.
    lowest_confidence : float, default=0.0
        Where the horizontal axis starts: 1 / n_classes, below which no confidence can be.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Those of the curve.
    line_ : matplotlib Line2D
        The curve.
    points_ : matplotlib PathCollection
        Its points, with areas that grow with the share of the cases.
    ax_histogram_ : matplotlib Axes or None
        Those of the histogram, below ``ax_``.
    expected_calibration_error : float
        The mean gap to the diagonal, shown in the legend.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from kinlearn.plots import ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ReliabilityDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    >>> display.line_.get_label()
    'GaussianNB (ECE 0.033)'
    """

    def __init__(
        self,
        *,
        curve: ReliabilityCurve,
        confidence_histogram: NDArray[np.float64] | None = None,
        name: str | None = None,
        lowest_confidence: float = 0.0,
    ) -> None:
        self.curve = curve
        self.confidence_histogram = confidence_histogram
        self.name = name
        self.lowest_confidence = lowest_confidence

    @property
    def expected_calibration_error(self) -> float:
        """``sum_b share_b |accuracy_b - confidence_b|``."""
        return float(self.curve.share @ np.abs(self.curve.accuracy - self.curve.confidence))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int = 15,
        strategy: str = "uniform",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        histogram: bool = True,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Predict ``X`` with a fitted classifier and draw its reliability diagram.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
            The classifier.
        X, y : data the classifier was not trained on
            Rows, and their classes.
        n_bins, strategy, sample_weight
            As in :func:`kinlearn.metrics.reliability_curve`.
        name : str, default=None
            Name in the legend; None: the estimator's class.
        ax, histogram, ref_line, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        proba, classes, name = predictions_of(estimator, X, name)
        return cls.from_predictions(
            y,
            proba,
            classes=classes,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            name=name,
            ax=ax,
            histogram=histogram,
            ref_line=ref_line,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 15,
        strategy: str = "uniform",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        histogram: bool = True,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of given probabilities.

        Parameters
        ----------
        y_true, proba, classes, n_bins, strategy, sample_weight
            As in :func:`kinlearn.metrics.reliability_curve`.
        name : str, default=None
            Name in the legend.
        ax, histogram, ref_line, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        curve = reliability_curve(y_true, proba, n_bins, classes, strategy, sample_weight)
        confidence, _, weight = top_label_outcomes(y_true, proba, classes, sample_weight)
        # A bin holds its right edge, as in the curve; np.histogram's holds its left.
        inner_edges = np.arange(1, n_bins) / n_bins
        counts = np.bincount(
            np.searchsorted(inner_edges, confidence, side="left"), weight, minlength=n_bins
        )
        shape = np.shape(proba)
        display = cls(
            curve=curve,
            confidence_histogram=counts / weight.sum(),
            name=name,
            lowest_confidence=1 / (shape[1] if len(shape) == 2 else 2),
        )
        return display.plot(ax=ax, histogram=histogram, ref_line=ref_line, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        histogram: bool = True,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Name in the legend; None: the display's own.
        histogram : bool, default=True
            Draw the histogram of the confidences below the curve.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot`` for the curve.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        self._start(ax, panel_size=(5.2, 4.8))
        name = self.name if name is None else name
        ece = f"ECE {self.expected_calibration_error:.3f}"
        drawn_before = _histogram_axes(self.ax_) is not None or len(self.ax_.lines) > 0

        if ref_line and _DIAGONAL_LABEL not in self.ax_.get_legend_handles_labels()[1]:
            self.ax_.plot(
                [0, 1], [0, 1], color=FAINT, lw=1, ls=(0, (4, 3)), label=_DIAGONAL_LABEL, zorder=1
            )
        style: dict[str, Any] = {"label": named(name, ece)}
        # The points carry the message; a strong line would give bins of few cases equal voice.
        style |= {"linewidth": 1.3, "alpha": 0.55} | kwargs
        (self.line_,) = self.ax_.plot(self.curve.confidence, self.curve.accuracy, **style)
        self.points_ = self.ax_.scatter(
            self.curve.confidence,
            self.curve.accuracy,
            # Areas in points²; the floor keeps a bin of one case visible.
            s=12 + 160 * self.curve.share,
            color=self.line_.get_color(),
            edgecolor="white",
            linewidth=0.6,
            zorder=self.line_.get_zorder() + 1,
        )
        left = self.lowest_confidence
        if drawn_before:
            left = min(left, self.ax_.get_xlim()[0] + 0.02)
        self.ax_.set(xlim=(left - 0.02, 1.02), ylim=(-0.03, 1.03), ylabel="Accuracy")
        self.ax_histogram_ = self._draw_histogram() if histogram else _histogram_axes(self.ax_)
        if self.ax_histogram_ is None:
            self.ax_.set_xlabel("Confidence")
        show_legend(self.ax_, loc="best")
        return self

    def _draw_histogram(self) -> Axes | None:
        if self.confidence_histogram is None:
            return _histogram_axes(self.ax_)
        below = _histogram_axes(self.ax_)
        if below is None:
            # An inset moves with its parent, so any axes of any figure can carry the histogram.
            below = self.ax_.inset_axes((0, -0.3, 1, 0.24), sharex=self.ax_)
            below.set_label(_HISTOGRAM_LABEL)
            style_axes(below)
            self.ax_.tick_params(axis="x", labelbottom=False)
            self.ax_.set_xlabel("")
            below.set(xlabel="Confidence", ylabel="Cases", ylim=(0, 0.02))
            below.xaxis.label.set_fontsize(self.ax_.yaxis.label.get_fontsize())
            below.yaxis.label.set_fontsize(self.ax_.yaxis.label.get_fontsize())
            below.set_yscale("function", functions=(_signed_root, _signed_square))
            below.yaxis.set_major_formatter(percent)
        bars, color = self.confidence_histogram, self.line_.get_color()
        edges = np.linspace(0, 1, len(bars) + 1)
        below.stairs(bars, edges, color=color, linewidth=1.3)
        below.stairs(bars, edges, color=color, alpha=0.12, fill=True)
        top = max(below.get_ylim()[1], 1.08 * bars.max())
        below.set_ylim(0, top)
        below.set_yticks([tick for tick in _ROOT_TICKS if tick <= top][-3:])
        return below


def _signed_root(share: NDArray) -> NDArray:
    return np.sign(share) * np.sqrt(np.abs(share))


def _signed_square(root: NDArray) -> NDArray:
    return np.sign(root) * np.square(root)


def _histogram_axes(ax: Axes) -> Any:
    found = [child for child in ax.child_axes if child.get_label() == _HISTOGRAM_LABEL]
    return found[0] if found else None
