"""Risk-coverage curve: how many errors remain when the least confident cases are handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinlearn.metrics import RiskCoverageCurve, risk_coverage_curve
from kinlearn.plots._predictions import predictions_of
from kinlearn.plots._style import AxesDisplay, named, percent, require_matplotlib, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 0.1


class RiskCoverageDisplay(AxesDisplay):
    """Error among the cases answered against the share of the cases answered.

    Cases are answered from the most confident down; those below the confidence of a point are
    handed over (to a person, say). The right end is the plain error rate; the faster the curve
    falls to the left, the better the confidence finds the errors. The picture is as high as the
    curve from 10 % of the cases on; further left, single errors make it jump. Use
    :meth:`from_estimator` or :meth:`from_predictions`; draw several methods by passing one
    display's ``ax_`` to the next.

    Parameters
    ----------
    curve : RiskCoverageCurve
        What :func:`kinlearn.metrics.risk_coverage_curve` returns.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The curve: steps, because cases of equal confidence are answered together.
    end_ : matplotlib Line2D
        The point where every case is answered.
    area : float
        The area under the curve, shown in the legend.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from kinlearn.plots import RiskCoverageDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RiskCoverageDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    >>> display.line_.get_label()
    'GaussianNB (area 0.003)'
    """

    def __init__(self, *, curve: RiskCoverageCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @property
    def area(self) -> float:
        """The mean of the risk over the coverage."""
        return float(np.diff(self.curve.coverage, prepend=0.0) @ self.curve.risk)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> RiskCoverageDisplay:
        """Predict ``X`` with a fitted classifier and draw its risk-coverage curve.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
            The classifier.
        X, y : data the classifier was not trained on
            Rows, and their classes.
        sample_weight : array-like of shape (n,), default=None
            A weight per case.
        name : str, default=None
            Name in the legend; None: the estimator's class.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        RiskCoverageDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        proba, classes, name = predictions_of(estimator, X, name)
        return cls.from_predictions(
            y, proba, classes=classes, sample_weight=sample_weight, name=name, ax=ax, **kwargs
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> RiskCoverageDisplay:
        """Draw the risk-coverage curve of given probabilities.

        Parameters
        ----------
        y_true, proba, classes, sample_weight
            As in :func:`kinlearn.metrics.risk_coverage_curve`.
        name : str, default=None
            Name in the legend.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        RiskCoverageDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        curve = risk_coverage_curve(y_true, proba, classes, sample_weight)
        return cls(curve=curve, name=name).plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> RiskCoverageDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Name in the legend; None: the display's own.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        RiskCoverageDisplay
            The display itself.
        """
        self._start(ax, panel_size=(5.2, 3.8))
        name = self.name if name is None else name
        area = f"area {self.area:.3f}"
        style: dict[str, Any] = {
            "label": named(name, area),
            "linewidth": 1.6,
            "drawstyle": "steps-pre",
        } | kwargs
        (self.line_,) = self.ax_.plot(
            np.concatenate([[0.0], self.curve.coverage]),
            np.concatenate([self.curve.risk[:1], self.curve.risk]),
            **style,
        )
        (self.end_,) = self.ax_.plot(
            [1.0],
            self.curve.risk[-1:],
            marker="o",
            markersize=6,
            markeredgecolor="white",
            color=self.line_.get_color(),
            clip_on=False,
            zorder=self.line_.get_zorder() + 1,
        )
        self._set_limits()
        self.ax_.set(xlabel="Share of cases answered", ylabel="Error among answered")
        self.ax_.xaxis.set_major_formatter(percent)
        self.ax_.yaxis.set_major_formatter(percent)
        show_legend(self.ax_, loc="best")
        return self

    def _set_limits(self) -> None:
        """Leave out what is read from few cases: one error among the first three is 33 %."""
        settled = self.curve.coverage >= _FEW
        # A curve that is zero throughout still needs an axis with a height.
        top = max(1.15 * self.curve.risk[settled].max(), 0.01)
        if len(self.ax_.lines) > 2:
            top = max(top, self.ax_.get_ylim()[1])
        self.ax_.set(xlim=(0, 1.01), ylim=(-0.02 * top, top))
