"""Precision-recall curves of many labels and of all their pairs together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve

from kinlearn.plots._predictions import check_labels, label_probabilities
from kinlearn.plots._style import AxesDisplay, named, percent, require_matplotlib, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LabelPrecisionRecallDisplay(AxesDisplay):
    """Precision against recall, micro-averaged and label by label (Fig. 2 of the paper).

    The thick curve takes all (case, label) pairs as one ranking; the faint ones are single labels.
    The dot is where the F-measure of the thick curve is largest. Draw several methods by passing
    one display's ``ax_`` to the next.

    Parameters
    ----------
    Y_true : array-like of shape (n, n_labels)
        0 and 1, NaN where unobserved.
    proba : array-like of shape (n, n_labels)
        Probabilities (or scores that compare between labels).
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    average_precision : float
        Of the micro-averaged curve.
    f1 : float
        Its largest F-measure.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The micro-averaged curve.
    label_lines_ : list of matplotlib Line2D
        Those of the labels that are on in some cases.
    point_ : matplotlib Line2D
        The point of the largest F-measure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MultiLabelLSPC
    >>> from kinlearn.datasets import make_rotated_labels
    >>> from kinlearn.plots import LabelPrecisionRecallDisplay
    >>> X, Y = make_rotated_labels(160, n_labels=6, random_state=0)
    >>> model = MultiLabelLSPC().fit(X[:80], Y[:80])
    >>> len(LabelPrecisionRecallDisplay.from_estimator(model, X[80:], Y[80:]).label_lines_)
    6
    """

    def __init__(self, *, Y_true: ArrayLike, proba: ArrayLike, name: str | None = None) -> None:
        self.Y_true, self.proba = check_labels(Y_true, proba)
        self.name = name
        seen = ~np.isnan(self.Y_true)
        truth, shown = self.Y_true[seen], self.proba[seen]
        if truth.size == 0 or truth.max() == 0:
            raise ValueError("No label is on in any case, so there is no precision to draw.")
        self.precision, self.recall, _ = precision_recall_curve(truth, shown)
        self.average_precision = float(average_precision_score(truth, shown))
        total = np.maximum(self.precision + self.recall, 1e-300)
        f1 = 2.0 * self.precision * self.recall / total
        self._best = int(f1.argmax())
        self.f1 = float(f1[self._best])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        Y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> LabelPrecisionRecallDisplay:
        """Predict ``X`` with a fitted classifier of 0/1 labels and draw its curves.

        Parameters
        ----------
        estimator : fitted classifier whose ``predict_proba`` gives an array (n, n_labels)
            The classifier.
        X, Y : data the classifier was not trained on
            Rows, and their 0/1 labels.
        name : str, default=None
            Name in the legend; None: the estimator's class.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        LabelPrecisionRecallDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        proba, name = label_probabilities(estimator, X, name)
        return cls(Y_true=Y, proba=proba, name=name).plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        Y_true: ArrayLike,
        proba: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> LabelPrecisionRecallDisplay:
        """Draw the curves of given probabilities.

        Parameters
        ----------
        Y_true, proba, name
            As in the constructor.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        LabelPrecisionRecallDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        return cls(Y_true=Y_true, proba=proba, name=name).plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, labels: bool = True, **kwargs: Any
    ) -> LabelPrecisionRecallDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        labels : bool, default=True
            Whether to draw the single labels too.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot`` for the micro-averaged curve.

        Returns
        -------
        LabelPrecisionRecallDisplay
            The display itself.
        """
        self._start(ax, panel_size=(5.2, 4.2))
        figures = f"AP {self.average_precision:.3f}, F {self.f1:.3f}"
        style: dict[str, Any] = {
            "label": named(self.name, figures),
            "linewidth": 2.0,
            "drawstyle": "steps-post",
            "zorder": 3,
        } | kwargs
        (self.line_,) = self.ax_.plot(self.recall, self.precision, **style)
        color = self.line_.get_color()
        (self.point_,) = self.ax_.plot(
            self.recall[[self._best]],
            self.precision[[self._best]],
            marker="o",
            markersize=7,
            markeredgecolor="white",
            color=color,
            zorder=4,
        )
        self.label_lines_ = []
        for truth, shown in self._columns() if labels else ():
            precision, recall, _ = precision_recall_curve(truth, shown)
            self.label_lines_ += self.ax_.plot(
                recall, precision, color=color, alpha=0.25, linewidth=0.8, drawstyle="steps-post"
            )
        self.ax_.set(xlim=(0, 1.01), ylim=(0, 1.02), xlabel="Recall", ylabel="Precision")
        self.ax_.xaxis.set_major_formatter(percent)
        self.ax_.yaxis.set_major_formatter(percent)
        show_legend(self.ax_, loc="lower left")
        return self

    def _columns(self) -> list[tuple[NDArray, NDArray]]:
        columns = []
        for truth, shown in zip(self.Y_true.T, self.proba.T, strict=True):
            seen = ~np.isnan(truth)
            if seen.any() and truth[seen].max() > 0:
                columns.append((truth[seen], shown[seen]))
        return columns
