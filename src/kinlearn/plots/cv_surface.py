"""The held-out score over kernel width and regularisation, and which grid points were mixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinlearn.pipelines import last_step
from kinlearn.plots._style import (
    FAINT,
    INK,
    PALETTE,
    SEQUENTIAL,
    AxesDisplay,
    require_matplotlib,
    show_legend,
)
from kinlearn.selection.search import alike_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_MAX_LABELLED = 12


class CVSurfaceDisplay(AxesDisplay):
    """Held-out score over sigma × reg on log axes, the best point and the weights of the mix.

    One cell per grid point, lighter where the score is better; a star marks the best single point
    and dots the points that the fitted estimator mixes, with areas that grow with their weights.
    If the grid has further parameters (``sharing``), a cell shows the best score over them and
    the sum of the weights. Use :meth:`from_estimator` or :meth:`from_cv_results`.

    Parameters
    ----------
    sigmas, regs : ndarray of shape (n_sigmas,) and (n_regs,)
        Rising grid values.
    scores : ndarray of shape (n_regs, n_sigmas)
        Score per cell, greater is better; NaN where the grid has no point.
    weights : ndarray of shape (n_regs, n_sigmas), default=None
        Weight of each cell in the mix; None: no dots.
    best : (float, float), default=None
        Sigma and reg of the best single point; None: where the score is greatest.
    score_name : str, default="Held-out score"
        Label of the colour bar.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    mesh_ : matplotlib QuadMesh
        The cells.
    colorbar_ : matplotlib Colorbar or None
        The bar of colours, if drawn.
    best_ : matplotlib Line2D
        The star.
    dots_ : matplotlib PathCollection or None
        The weights.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn.plots import CVSurfaceDisplay
    >>> cv_results = {
    ...     "param_sigma": [1.0, 1.0, 2.0, 2.0],
    ...     "param_reg": [0.01, 0.1, 0.01, 0.1],
    ...     "mean_test_score": [-0.4, -0.3, -0.1, -0.2],
    ... }
    >>> display = CVSurfaceDisplay.from_cv_results(cv_results, weights=[0, 0, 0.7, 0.3])
    >>> display.scores
    array([[-0.4, -0.1],
           [-0.3, -0.2]])
    """

    def __init__(
        self,
        *,
        sigmas: Floats,
        regs: Floats,
        scores: Floats,
        weights: Floats | None = None,
        best: tuple[float, float] | None = None,
        score_name: str = "Held-out score",
    ) -> None:
        self.sigmas = sigmas
        self.regs = regs
        self.scores = scores
        self.weights = weights
        self.best = best
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        score: str = "mean_test_score",
        score_name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CVSurfaceDisplay:
        """Draw the surface of a fitted, tuned estimator.

        Parameters
        ----------
        estimator : fitted ``LSPCCV``, ``GridSearchCV`` over ``sigma`` and ``reg``, or a pipeline
            that ends in one
            Its ``cv_results_`` are drawn, and its ``weights_`` and ``best_index_`` if it has them.
        score, score_name
            As in :meth:`from_cv_results`.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        CVSurfaceDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        tuned = last_step(estimator)
        if not hasattr(tuned, "cv_results_"):
            raise TypeError(
                f"{cls.__name__} needs a fitted estimator with cv_results_, such as LSPCCV or "
                f"GridSearchCV; {type(tuned).__name__} has none. Fit it first, or tune it."
            )
        return cls.from_cv_results(
            tuned.cv_results_,
            weights=getattr(tuned, "weights_", None),
            best_index=getattr(tuned, "best_index_", None),
            score=score,
            score_name=score_name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        weights: ArrayLike | None = None,
        best_index: int | None = None,
        score: str = "mean_test_score",
        score_name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CVSurfaceDisplay:
        """Draw the surface of a table with the keys of ``GridSearchCV``.

        Parameters
        ----------
        cv_results : mapping
            With ``param_sigma``, ``param_reg`` (or ``param_<step>__sigma`` and so on) and
            ``score``, one entry per grid point. Of several kernels, or metrics, the points of the
            best one's are drawn: widths of others mean something else.
        weights : array-like of shape (n_points,), default=None
            Weight of each grid point in the mix.
        best_index : int, default=None
            Position of the best single point, which decides ties; None: the greatest score.
        score : str, default="mean_test_score"
            The key of the score, greater is better.
        score_name : str, default=None
            Label of the colour bar; None: "Held-out score".
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        CVSurfaceDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_cv_results")
        sigma = _positive_column(cv_results, "sigma")
        reg = _positive_column(cv_results, "reg")
        if score not in cv_results:
            raise ValueError(f"cv_results has no {score!r}; its keys are {sorted(cv_results)}.")
        values = np.asarray(cv_results[score], dtype=np.float64)
        if not np.isfinite(values).any():
            raise ValueError(f"cv_results has no finite {score!r}, so there is nothing to draw.")
        top = int(np.nanargmax(values)) if best_index is None else int(best_index)
        alike, best = alike_best(cv_results, top), None
        if best_index is not None:
            best = (float(sigma[top]), float(reg[top]))
        sigmas, column = np.unique(sigma[alike], return_inverse=True)
        regs, row = np.unique(reg[alike], return_inverse=True)
        scores = np.full((len(regs), len(sigmas)), np.nan)
        np.fmax.at(scores, (row, column), values[alike])
        mix = None
        if weights is not None:
            shares = np.asarray(weights, dtype=np.float64)
            if shares.shape != sigma.shape:
                raise ValueError(
                    f"weights must hold one weight for each of the {len(sigma)} grid points; "
                    f"its shape is {shares.shape}."
                )
            mix = np.zeros_like(scores)
            np.add.at(mix, (row, column), shares[alike])
        display = cls(
            sigmas=sigmas,
            regs=regs,
            scores=scores,
            weights=mix,
            best=best,
            score_name=score_name or "Held-out score",
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        colorbar: bool = True,
        **kwargs: Any,
    ) -> CVSurfaceDisplay:
        """Draw the surface.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Title of the axes; None: none.
        colorbar : bool, default=True
            Draw the colour bar.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.pcolormesh``. By default the worse half of the
            scores shares the darkest colour, so that the differences near the best can be seen.

        Returns
        -------
        CVSurfaceDisplay
            The display itself.
        """
        self._start(ax, panel_size=(5.8, 4.6))
        finite = self.scores[np.isfinite(self.scores)]
        style = {"cmap": SEQUENTIAL} | kwargs
        if "norm" not in style:
            style = {"vmin": np.median(finite), "vmax": finite.max()} | style
        self.mesh_ = self.ax_.pcolormesh(
            _log_edges(self.sigmas), _log_edges(self.regs), self.scores, **style
        )
        self.ax_.set(xscale="log", yscale="log", xlabel="Kernel width σ", ylabel="Regularisation λ")
        self.ax_.grid(False)
        if len(self.sigmas) <= _MAX_LABELLED:
            # Widths rarely span more than a decade, where a log axis would label next to nothing.
            self.ax_.set_xticks(self.sigmas, [f"{sigma:.2g}" for sigma in self.sigmas])
            self.ax_.minorticks_off()
        self.dots_ = None if self.weights is None else self._draw_weights()
        (self.best_,) = self.ax_.plot(
            *self._best_point(),
            marker="*",
            markersize=15,
            markerfacecolor="white",
            markeredgecolor=INK,
            linestyle="none",
            label="best point",
        )
        self.colorbar_ = None
        if colorbar:
            below = finite.min() < self.mesh_.norm.vmin
            self.colorbar_ = self.figure_.colorbar(
                self.mesh_, ax=self.ax_, label=self.score_name, extend="min" if below else "neither"
            )
            self.colorbar_.outline.set_visible(False)
            self.colorbar_.ax.tick_params(color=FAINT, labelcolor=INK, labelsize=9, width=0.8)
            self.colorbar_.ax.yaxis.label.set(color=INK, size=10)
        if name is not None:
            self.ax_.set_title(name)
        show_legend(self.ax_, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
        return self

    def _best_point(self) -> tuple[list[float], list[float]]:
        if self.best is not None:
            return [self.best[0]], [self.best[1]]
        row, column = np.unravel_index(np.nanargmax(self.scores), self.scores.shape)
        return [self.sigmas[column]], [self.regs[row]]

    def _draw_weights(self) -> Any:
        assert self.weights is not None
        rows, columns = np.nonzero(self.weights > 0)
        return self.ax_.scatter(
            self.sigmas[columns],
            self.regs[rows],
            s=12 + 400 * self.weights[rows, columns] / self.weights.sum(),
            facecolor=PALETTE[1],
            edgecolor="white",
            linewidth=0.8,
            label="weight in the mix (area)",
        )


def _positive_column(cv_results: Mapping[str, Any], parameter: str) -> Floats:
    """Values of one grid parameter, also when it sits behind a pipeline's step name."""
    keys = [
        key
        for key in cv_results
        if key == f"param_{parameter}"
        or (key.startswith("param_") and key.endswith(f"__{parameter}"))
    ]
    if len(keys) != 1:
        found = f"has {sorted(keys)}" if keys else f"has only the keys {sorted(cv_results)}"
        raise ValueError(
            f"cv_results must have one key param_{parameter} or param_<step>__{parameter}; "
            f"it {found}."
        )
    try:
        values = np.asarray(cv_results[keys[0]], dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"{keys[0]} must hold positive numbers to be drawn on a log axis; it holds "
            f"{list(cv_results[keys[0]])[:5]}."
        )
    return values


def _log_edges(values: Floats) -> Floats:
    """Edges of cells around ``values``, half-way between neighbours on a log scale."""
    if len(values) == 1:
        return values[0] * np.array([0.5, 2.0])
    logs = np.log(values)
    middles = (logs[1:] + logs[:-1]) / 2
    first, last = 2 * logs[0] - middles[0], 2 * logs[-1] - middles[-1]
    return np.exp(np.concatenate([[first], middles, [last]]))
