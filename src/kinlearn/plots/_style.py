"""The look shared by all pictures: one palette, light axes, and matplotlib only when drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which readers with any colour vision can tell apart; their yellow is
# left out because it is lost on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")

# Even in lightness and readable without colour vision.
SEQUENTIAL = "cividis"

INK = "#333333"
FAINT = "#8A8A8A"
GRID = "#E6E6E6"


def require_matplotlib(caller: str) -> Any:
    """``matplotlib.pyplot``, or a sentence that says how to get it."""
    return require("matplotlib.pyplot", caller, "plot")


def subplots(
    n_rows: int = 1,
    n_columns: int = 1,
    *,
    panel_size: tuple[float, float] = (4.4, 3.6),
    **kwargs: Any,
) -> tuple[Figure, NDArray]:
    """A figure of panels in kinlearn's style, laid out so that nothing overlaps.

    Parameters
    ----------
    n_rows, n_columns : int, default=1
        Number of panels down and across.
    panel_size : (float, float), default=(4.4, 3.6)
        Width and height of one panel in inches.
    **kwargs : dict
        Passed to ``matplotlib.pyplot.subplots``.

    Returns
    -------
    figure : matplotlib Figure
        The figure.
    axes : ndarray of shape (n_rows, n_columns) of matplotlib Axes
        Its panels.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn.plots import close, subplots
    >>> figure, axes = subplots(1, 2)
    >>> axes.shape
    (1, 2)
    >>> close(figure)
    """
    plt = require_matplotlib("kinlearn.plots.subplots")
    options: dict[str, Any] = {
        "figsize": (panel_size[0] * n_columns, panel_size[1] * n_rows),
        "layout": "constrained",
    }
    figure, axes = plt.subplots(n_rows, n_columns, squeeze=False, **(options | kwargs))
    for ax in np.ravel(axes):
        style_axes(ax)
    return figure, axes


def close(figure: Figure) -> None:
    """Forget a figure that is saved, so that a long run does not keep them all in memory.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn.plots import close, subplots
    >>> figure, axes = subplots()
    >>> close(figure)
    """
    require_matplotlib("kinlearn.plots.close").close(figure)


def style_axes(ax: Axes) -> Axes:
    """Give ``ax`` the palette, a faint grid behind the data, and only the left and bottom lines.

    Parameters
    ----------
    ax : matplotlib Axes
        Changed in place.

    Returns
    -------
    matplotlib Axes
        The same.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> from kinlearn.plots import style_axes
    >>> figure, ax = plt.subplots()
    >>> style_axes(ax) is ax
    True
    >>> plt.close(figure)
    """
    ax.set_prop_cycle(color=PALETTE)
    ax.set_axisbelow(True)
    ax.grid(True, color=GRID, linewidth=0.8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=9, width=0.8)
    ax.xaxis.label.set(color=INK, size=10)
    ax.yaxis.label.set(color=INK, size=10)
    ax.title.set(color=INK, size=11)
    return ax


class AxesDisplay:
    """A display that draws on one pair of axes."""

    ax_: Axes
    figure_: Any

    def _start(self, ax: Axes | None, **kwargs: Any) -> None:
        """Take the axes given, as their owner styled them, or new ones in kinlearn's style."""
        require_matplotlib(f"{type(self).__name__}.plot")
        self.ax_ = subplots(**kwargs)[1][0, 0] if ax is None else ax
        self.figure_ = self.ax_.figure


def named(name: str | None, figures: str) -> str:
    """Figures for a legend, behind the name they belong to if there is one."""
    return figures if name is None else f"{name} ({figures})"


def show_legend(ax: Axes, **kwargs: Any) -> None:
    """A legend without a border, if anything drawn has a name."""
    if ax.get_legend_handles_labels()[1]:
        style = {"fontsize": 9, "labelcolor": INK, "edgecolor": "none", "framealpha": 0.85}
        ax.legend(**(style | kwargs))


def percent(value: float, position: float = 0) -> str:
    """A share as the label of a tick; ``position`` is what matplotlib passes and is not used."""
    return f"{100 * value:.3g}%"
