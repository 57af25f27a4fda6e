"""What sharing gains, label by label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from kinlearn.plots._predictions import check_labels, label_probabilities, names_of
from kinlearn.plots._style import FAINT, PALETTE, AxesDisplay, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {
    "roc_auc": ("AUC", roc_auc_score),
    "average_precision": ("average precision", average_precision_score),
    "log_loss": ("negative log-loss", lambda y, p: -log_loss(y, p, labels=[0, 1])),
}
MAX_NAMES = 60


class LabelGainDisplay(AxesDisplay):
    """Bars of each label's measure under one method minus that under another.

    A bar to the right is a label that the method (labels learnt together) predicts better than the
    baseline (each alone).

    Parameters
    ----------
    Y_true : array-like of shape (n, n_labels)
        0 and 1, NaN where unobserved.
    proba, baseline_proba : array-like of shape (n, n_labels)
        Probabilities of the two.
    names : array-like of str, default=None
        Names of the labels; None: their numbers.
    measure : {"roc_auc", "average_precision", "log_loss"}, default="roc_auc"
        What is compared, greater better; log-loss is negated.

    Attributes
    ----------
    gains : ndarray of shape (n_labels,)
        Gain of every label, NaN where the measure is not defined (one class among the cases).
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        Bars from the largest gain down.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MultiLabelLSPC
    >>> from kinlearn.datasets import make_rotated_labels
    >>> from kinlearn.plots import LabelGainDisplay
    >>> X, Y = make_rotated_labels(300, n_labels=8, random_state=0)
    >>> together, alone = (
    ...     MultiLabelLSPC(sharing=s).fit(X[:100], Y[:100]) for s in (0.99, 0))
    >>> display = LabelGainDisplay.from_estimators(together, alone, X[100:], Y[100:])
    >>> display.gains.shape
    (8,)
    """

    def __init__(
        self,
        *,
        Y_true: ArrayLike,
        proba: ArrayLike,
        baseline_proba: ArrayLike,
        names: ArrayLike | None = None,
        measure: str = "roc_auc",
    ) -> None:
        if measure not in MEASURES:
            raise ValueError(f"measure={measure!r} is not known. Choose one of {list(MEASURES)}.")
        Y, P = check_labels(Y_true, proba)
        _, B = check_labels(Y_true, baseline_proba)
        self.measure = measure
        self.names: NDArray = np.asarray(np.arange(Y.shape[1]) if names is None else names)
        self.gains = np.array(
            [self._gain(y, p, b) for y, p, b in zip(Y.T, P.T, B.T, strict=True)], dtype=np.float64
        )
        if np.isnan(self.gains).all():
            raise ValueError("Every label has one class only among these cases: nothing compares.")

    def _gain(self, y: NDArray, p: NDArray, b: NDArray) -> float:
        seen = ~np.isnan(y)
        y, p, b = y[seen], p[seen], b[seen]
        if y.size == 0 or y.min() == y.max():
            return float("nan")
        function = MEASURES[self.measure][1]
        return float(function(y, p) - function(y, b))

    @classmethod
    def from_estimators(
        cls,
        estimator: Any,
        baseline: Any,
        X: Any,
        Y: ArrayLike,
        *,
        measure: str = "roc_auc",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> LabelGainDisplay:
        """Predict ``X`` with two fitted classifiers of the same labels and draw the gains.

        Parameters
        ----------
        estimator, baseline : fitted classifiers of 0/1 labels
            The classifier, and the one it is compared with.
        X, Y : data neither was trained on
            Rows, and their 0/1 labels.
        measure : str, default="roc_auc"
            As in the constructor.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        LabelGainDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimators")
        return cls(
            Y_true=Y,
            proba=label_probabilities(estimator, X, None)[0],
            baseline_proba=label_probabilities(baseline, X, None)[0],
            names=names_of(estimator),
            measure=measure,
        ).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> LabelGainDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        LabelGainDisplay
            The display itself.
        """
        defined = np.flatnonzero(~np.isnan(self.gains))
        order = defined[np.argsort(-self.gains[defined], kind="stable")]
        height = min(3.0 + 0.16 * len(order), 9.0)
        self._start(ax, panel_size=(5.2, height))
        values = self.gains[order]
        style: dict[str, Any] = {
            "color": [PALETTE[0] if value >= 0 else PALETTE[1] for value in values],
            "height": 0.75,
        } | kwargs
        positions = np.arange(len(order))
        self.bars_ = self.ax_.barh(positions, values, **style)
        self.ax_.invert_yaxis()
        self.ax_.axvline(0.0, color=FAINT, linewidth=0.8)
        if len(order) <= MAX_NAMES:
            self.ax_.set_yticks(positions, [str(name) for name in self.names[order]])
        else:
            self.ax_.set_yticks([])
        word = MEASURES[self.measure][0]
        self.ax_.set(
            xlabel=f"Gain in {word} (mean {values.mean():+.3f})",
            ylabel="Label",
        )
        return self
