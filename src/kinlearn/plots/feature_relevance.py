"""What a model looks at: the relevance of every column, the greatest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinlearn.pipelines import last_step
from kinlearn.plots._style import FAINT, PALETTE, AxesDisplay, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FeatureRelevanceDisplay(AxesDisplay):
    """Relevance of columns: how much the scores change along each, of mean one.

    Use :meth:`from_estimator`, which takes ``feature_relevance_`` of an estimator with a `metric`.

    Parameters
    ----------
    relevance : array-like of shape (n_features,)
        One number a column.
    names : array-like of str of shape (n_features,), default=None
        Names of the columns; None: their numbers.
    most : int, default=20
        How many are shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        The bars, the greatest first.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from kinlearn import LSPCCV
    >>> from kinlearn.plots import FeatureRelevanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = FeatureRelevanceDisplay.from_estimator(LSPCCV().fit(X, y))
    >>> len(display.bars_)
    4
    """

    def __init__(
        self, *, relevance: ArrayLike, names: ArrayLike | None = None, most: int = 20
    ) -> None:
        self.relevance = np.asarray(relevance, dtype=np.float64)
        given = np.arange(self.relevance.size) if names is None else names
        self.names = np.asarray(given).astype(str)
        self.most = most

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: ArrayLike | None = None,
        most: int = 20,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> FeatureRelevanceDisplay:
        """Draw the relevances of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with a `metric`, or a pipeline that ends in one
            Its ``feature_relevance_`` are drawn.
        names : array-like of str of shape (n_features,), default=None
            Names of the columns; None: those the estimator was fitted with, or their numbers.
        most : int, default=20
            How many are shown.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        FeatureRelevanceDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        tuned = last_step(estimator)
        if not hasattr(tuned, "feature_relevance_"):
            raise TypeError(
                f"{cls.__name__} needs a fitted estimator with feature_relevance_, such as "
                f"LSPCCV(metric='diagonal'); {type(tuned).__name__} has none."
            )
        if names is None:
            names = getattr(tuned, "feature_names_in_", None)
        display = cls(relevance=tuned.feature_relevance_, names=names, most=most)
        return display.plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> FeatureRelevanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Title of the axes; None: none.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        FeatureRelevanceDisplay
            The display itself.
        """
        order = np.argsort(-self.relevance, kind="stable")[: self.most]
        self._start(ax, panel_size=(5.0, 1.0 + 0.26 * len(order)))
        style = {"color": PALETTE[0]} | kwargs
        self.bars_ = self.ax_.barh(np.arange(len(order)), self.relevance[order], **style)
        self.ax_.set_yticks(np.arange(len(order)), self.names[order])
        self.ax_.invert_yaxis()
        self.ax_.axvline(1.0, color=FAINT, linewidth=1.0, linestyle=":")
        self.ax_.set_xlabel("Relevance (the mean column: 1)")
        self.ax_.grid(False, axis="y")
        if name is not None:
            self.ax_.set_title(name)
        return self
