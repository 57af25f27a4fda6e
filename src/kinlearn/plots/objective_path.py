"""The objective of MTDA against the iteration, solver by solver (Fig. 1 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinlearn.plots._style import AxesDisplay, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ObjectivePathDisplay(AxesDisplay):
    """Value of the objective after every iteration of a solver, as Fig. 1 of Zhang and Yeung.

    Use :meth:`from_estimator`; draw several solvers by passing one display's ``ax_`` to the next.

    Parameters
    ----------
    path : array-like of shape (n_iterations + 1,)
        The objective at the start and after every iteration.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The path.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MTDA
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> from kinlearn.plots import ObjectivePathDisplay
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30), random_state=0)
    >>> display = ObjectivePathDisplay.from_estimator(MTDA(shrinkage=0.1).fit(Xs, ys))
    >>> display.line_.get_label()
    'joint'
    """

    def __init__(self, *, path: ArrayLike, name: str | None = None) -> None:
        self.path = np.asarray(path, dtype=np.float64)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, name: str | None = None, **kwargs: Any
    ) -> ObjectivePathDisplay:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : fitted MTDA or TraceRatioLDA
            The model.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        name : str, default=None
            None: the solver of the estimator, or its class.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        ObjectivePathDisplay
        """
        if not hasattr(estimator, "objective_path_"):
            raise TypeError(
                f"{cls.__name__} needs a fitted estimator with objective_path_, such as MTDA or "
                f"TraceRatioLDA; {type(estimator).__name__} has none. Fit it first."
            )
        name = name or getattr(estimator, "solver", type(estimator).__name__)
        return cls(path=estimator.objective_path_, name=name).plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> ObjectivePathDisplay:
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
        ObjectivePathDisplay
            The display itself.
        """
        from matplotlib.ticker import MaxNLocator

        self._start(ax)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": name or self.name}
        style |= kwargs
        (self.line_,) = self.ax_.plot(np.arange(len(self.path)), self.path, **style)
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set(xlabel="Iteration", ylabel="Objective (between / total)")
        show_legend(self.ax_)
        return self
