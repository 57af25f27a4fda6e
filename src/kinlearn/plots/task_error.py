"""Error of every task against a number of dimensions (Fig. 2 of the MTDA paper)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from kinlearn.plots._style import AxesDisplay, percent, require_matplotlib, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

LABELS = {
    "n_components": "Dimensions of the common space, d",
    "n_intermediate": "Intermediate dimensions, d′",
}


class TaskErrorDisplay(AxesDisplay):
    """Test error of every task against a parameter, as Fig. 2 of Zhang and Yeung (2011).

    Use :meth:`from_estimator`, which fits one clone per value.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Values of the parameter.
    errors : dict of task to array-like of shape (n_values,)
        Test errors.
    param : str, default="n_components"
        Name of the parameter, for the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        One per task.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MTDA, MTDAClassifier
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> from kinlearn.plots import TaskErrorDisplay
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(8, 30), n_samples=80, random_state=0)
    >>> train, test = slice(0, 40), slice(40, 80)
    >>> display = TaskErrorDisplay.from_estimator(
    ...     MTDAClassifier(reducer=MTDA(shrinkage="auto")),
    ...     [X[train] for X in Xs], [y[train] for y in ys],
    ...     [X[test] for X in Xs], [y[test] for y in ys],
    ...     param="n_components", values=[1, 2, 3],
    ... )
    >>> len(display.lines_), len(display.values)
    (2, 3)
    """

    def __init__(
        self,
        *,
        values: ArrayLike,
        errors: Mapping[Any, ArrayLike],
        param: str = "n_components",
    ) -> None:
        self.values = np.asarray(values)
        self.errors = {task: np.asarray(error, dtype=np.float64) for task, error in errors.items()}
        self.param = param

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        Xs: Any,
        ys: Any,
        test_Xs: Any,
        test_ys: Any,
        *,
        param: str = "n_components",
        values: Sequence[int],
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TaskErrorDisplay:
        """Fit a clone for every value of a parameter of the reducer and draw the test errors.

        Parameters
        ----------
        estimator : MTDAClassifier or HeterogeneousLSPC, with its reducer set
            Fitted or not; clones of it are fitted.
        Xs, ys : list or dict of array-like
            Training rows and labels per task.
        test_Xs, test_ys : list or dict of array-like
            Test rows and labels per task.
        param : str, default="n_components"
            Parameter of the reducer: "n_components", or "n_intermediate" for d'.
        values : sequence of int
            Its values, one fit for each.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        TaskErrorDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        if f"reducer__{param}" not in estimator.get_params():
            raise ValueError(
                f"The reducer of {type(estimator).__name__} is {estimator.reducer!r}, which has no "
                f"parameter {param!r}; give it one that has, such as MTDA()."
            )
        keys = list(test_Xs) if isinstance(test_Xs, Mapping) else list(range(len(test_Xs)))
        errors: dict[Any, list[float]] = {key: [] for key in keys}
        for value in values:
            model = clone(estimator).set_params(**{f"reducer__{param}": value})
            with warnings.catch_warnings():
                # Values beyond the rank are capped: the curve is flat there, which is what it says.
                warnings.filterwarnings("ignore", message=".*capped at", category=UserWarning)
                model.fit(Xs, ys)
            for key in keys:
                errors[key].append(1.0 - model.score(test_Xs[key], test_ys[key], task=key))
        return cls(values=values, errors=errors, param=param).plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> TaskErrorDisplay:
        """Draw one curve per task.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Put before the name of the task in the legend.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        TaskErrorDisplay
            The display itself.
        """
        self._start(ax)
        self.lines_ = []
        for task, error in self.errors.items():
            shown = task if isinstance(task, str) else f"task {task}"
            label = f"{name}, {shown}" if name else shown
            style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": label} | kwargs
            self.lines_ += self.ax_.plot(self.values, error, **style)
        self.ax_.set(xlabel=LABELS.get(self.param, self.param), ylabel="Test error")
        self.ax_.set_ylim(bottom=0)
        self.ax_.yaxis.set_major_formatter(percent)
        show_legend(self.ax_)
        return self
