"""Held-out log-loss against the steps of a polish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinlearn.plots._style import AxesDisplay, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PolishPathDisplay(AxesDisplay):
    """Log-loss of held-out rows at the closed form and after every step from it.

    Use :meth:`from_estimator`; draw several fits by passing one display's ``ax_`` to the next.

    Parameters
    ----------
    path : array-like of shape (n_steps + 1,)
        The held-out log-loss at the start and after every step.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The path.
    best_ : matplotlib Line2D
        A ring around the step that the model is at.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import LSPC
    >>> from kinlearn.datasets import make_gaussian_mixture_toy
    >>> from kinlearn.plots import PolishPathDisplay
    >>> X, y = make_gaussian_mixture_toy(200, random_state=0)
    >>> model = LSPC(n_centers=50, polish=8, random_state=0).fit(X, y)
    >>> display = PolishPathDisplay.from_estimator(model)
    >>> bool(display.best_.get_xdata()[0] == model.polish_path_.argmin())
    True
    """

    def __init__(self, *, path: ArrayLike, name: str | None = None) -> None:
        self.path = np.asarray(path, dtype=np.float64)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, name: str | None = None, **kwargs: Any
    ) -> PolishPathDisplay:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            One that was polished.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        name : str, default=None
            None: the estimator's class.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        PolishPathDisplay
        """
        if not hasattr(estimator, "polish_path_"):
            why = getattr(estimator, "polish_reason_", "Fit it first.")
            raise TypeError(
                f"{cls.__name__} needs a fitted estimator with polish_path_, and this "
                f"{type(estimator).__name__} was not polished. {why}"
            )
        name = name or type(estimator).__name__
        return cls(path=estimator.polish_path_, name=name).plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> PolishPathDisplay:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Name in the legend; None: the one the display was made with.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        PolishPathDisplay
            The display itself.
        """
        from matplotlib.ticker import MaxNLocator

        self._start(ax)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": name or self.name}
        style |= kwargs
        (self.line_,) = self.ax_.plot(np.arange(len(self.path)), self.path, **style)
        best = int(self.path.argmin())
        (self.best_,) = self.ax_.plot(
            [best],
            [self.path[best]],
            linestyle="none",
            marker="o",
            markersize=9,
            fillstyle="none",
            color=self.line_.get_color(),
        )
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set(xlabel="Step from the closed form", ylabel="Held-out log-loss")
        show_legend(self.ax_)
        return self
