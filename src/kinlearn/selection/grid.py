"""The grid of one kernel's problem: what is tried, scored, and widened at an edge."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import Kernel
from kinlearn.kernels.measures import Rows
from kinlearn.problems.problem import Axes, Point, Problem, all_points
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.scoring import score_grid, why_undefined
from kinlearn.sums import NormalEquations
from kinlearn.training.training_set import TrainingSet

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

WIDTH_FACTORS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
REG_EXPONENTS = np.linspace(-7.0, 0.5, 20)
SHARINGS = np.array([0.0, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0])
WIDEN_ROUNDS = 3
WIDEN_REGS = 5
# An axis of no more values is not thinned.
FEW_VALUES = 10
# An edge is worth moving while the last step towards it still gained this share of the score.
MATERIAL_GAIN = 1e-2
# Rows whose k(x, x) the default regs are scaled by.
DIAGONAL_ROWS = 500


@dataclass(frozen=True)
class GridValues:
    """The values of every parameter to begin with, as given or by default.

    Attributes
    ----------
    sigmas, regs : ndarray or None
        As given; None for those that suit the rows and a kernel.
    sharings : ndarray, optional
        Degrees of sharing; left out where nothing is shared.
    every : int
        Of the default regs, every so many.
    """

    sigmas: Array | None
    regs: Array | None
    sharings: Array | None = None
    every: int = 1

    @classmethod
    def given(
        cls, sigmas: Any, regs: Any, sharings: Array | None = None, every: int = 1
    ) -> GridValues:
        """Those of a user, checked."""
        return cls(check_grid("sigmas", sigmas), check_grid("regs", regs), sharings, every)

    @property
    def n_widths(self) -> int:
        """How many widths a kernel is tried with, before any widening."""
        return (WIDTH_FACTORS if self.sigmas is None else self.sigmas).size

    @property
    def n_sharings(self) -> int:
        """How many degrees of sharing are tried."""
        return 1 if self.sharings is None else self.sharings.size

    def axes(self, kernel: Kernel, data: TrainingSet) -> Axes:
        """The axes of a kernel's grid over training rows."""
        median, sigmas = data.median_width(kernel), np.ones(1)
        if kernel.has_width:
            sigmas = default_sigmas(median) if self.sigmas is None else self.sigmas
        regs = self.regs
        if regs is None:
            some = np.unique(np.linspace(0, data.n_rows - 1, DIAGONAL_ROWS).astype(np.intp))
            scale = mean_diagonal(kernel, data.X[some], median, data.rows.first[some])
            regs = default_regs(scale)[:: self.every]
        return self._named(sigmas, regs)

    def axes_of_sums(self, sums: NormalEquations) -> Axes:
        """The same of sums, which have one width."""
        sample, scale, regs = sums.held_out_sample(), 1.0, self.regs
        if regs is None:
            kernel = sums.features().kernel
            if sample is not None:
                scale = mean_diagonal(kernel, sample.X[:DIAGONAL_ROWS], sums.sigma)
            regs = default_regs(scale)
        return self._named(np.array([sums.sigma]), regs)

    def _named(self, sigmas: Array, regs: Array) -> Axes:
        shared = {} if self.sharings is None else {"sharing": self.sharings}
        return {"sigma": sigmas, **shared, "reg": regs}


@dataclass(frozen=True)
class Grid:
    """The points to try.

    Attributes
    ----------
    axes : dict of str to ndarray
        Sorted values of each parameter; the last varies fastest.
    growing : dict of str to bool
        Which axes are widened when the optimum sits on their edge (True) or warn of it (False); an
        axis that is not named has natural ends.
    lowest : dict of str to float
        Values below which an axis is not widened.
    vote : str, optional
        An axis of whose values each has one vote under ``"within_se"``: its best point. Else the
        many points of a mediocre region outvote the few of a good one.
    thinned : str, optional
        An axis of whose values a stack weighs every second: neighbours are nearly collinear, and a
        grid of three axes has many points.
    """

    axes: Axes
    growing: dict[str, bool]
    lowest: dict[str, float] = field(default_factory=dict)
    vote: str | None = None
    thinned: str | None = None


@dataclass(frozen=True)
class PosedGrid:
    """A problem, the grid to try on it, and the kernel it is about.

    Attributes
    ----------
    problem : Problem
        Gives held-out scores and coefficients.
    grid : Grid
        Where to begin.
    kernel : Kernel
        Of its features.
    name : dict of str to str
        What tells its points from those of other kernels' problems; empty where there is one.
    """

    problem: Problem
    grid: Grid
    kernel: Kernel
    name: dict[str, str] = field(default_factory=dict)


class GridPart:
    """The points of one posed problem, with their held-out scores.

    Parameters
    ----------
    posed : PosedGrid
    rows : HeldOut
        What the scores speak of.
    scoring : str or callable
        The criterion.
    """

    def __init__(self, posed: PosedGrid, rows: HeldOut, scoring: Any) -> None:
        self.posed, self.problem, self.grid = posed, posed.problem, posed.grid
        self.axes = {name: np.asarray(values, float) for name, values in self.grid.axes.items()}
        self.rows, self.scoring = rows, scoring

    @property
    def points(self) -> list[Point]:
        """Its points, in the order of the scores."""
        return all_points(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(values.size for values in self.axes.values())

    @property
    def weighable(self) -> NDArray[np.bool_]:
        """Which points a stack weighs: of an axis that is thinned, every second value."""
        chosen = np.ones(self.shape, dtype=bool)
        if self.grid.thinned is not None:
            axis = list(self.axes).index(self.grid.thinned)
            if self.shape[axis] > FEW_VALUES:
                np.moveaxis(chosen, axis, 0)[1::2] = False
        return chosen.ravel()

    def run(self) -> list[str]:
        """Evaluate, and widen while the optimum sits on an edge that may move; say which did."""
        self.scores = self.problem.held_out(self.axes, self.rows.splits)
        self._score()
        moved: list[str] = []
        for _ in range(WIDEN_ROUNDS):
            grown = [name for name in self.axes if self._grow(name)]
            if not grown:
                break
            moved += grown
        return sorted(set(moved))

    def warn_of_edges(self) -> None:
        """Warn where the optimum sits on an edge of an axis that the user gave."""
        for name in self.axes:
            if self.grid.growing.get(name) is False and (side := self._edge(name)) != 0:
                warnings.warn(edge_advice(name, self.axes[name], side), UserWarning, stacklevel=6)

    def _edge(self, name: str) -> int:
        """Return -1 or 1 when the optimum sits on the lower or upper edge of an axis, else 0.

        A plateau is no edge: the score must still rise towards it, by `MATERIAL_GAIN` a step.
        """
        axis, size = list(self.axes).index(name), self.axes[name].size
        where = [int(i) for i in np.unravel_index(self.best, self.shape)]
        position = where[axis]
        if size < 2 or 0 < position < size - 1:
            return 0
        side = -1 if position == 0 else 1
        where[axis] = position - side
        inner = self.mean_scores.reshape(self.shape)[tuple(where)]
        best = self.mean_scores[self.best]
        return side if best - inner > MATERIAL_GAIN * abs(best) else 0

    def _grow(self, name: str) -> bool:
        """Add values beyond the edge the optimum sits on, and their scores."""
        if not self.grid.growing.get(name):
            return False
        side = self._edge(name)
        if side == 0:
            return False
        values = self.axes[name]
        more = widen(values, side, WIDEN_REGS if name == "reg" else 1)
        more = more[more >= self.grid.lowest.get(name, 0.0)]
        if more.size == 0:
            return False
        axis = list(self.axes).index(name)
        fresh = self.problem.held_out({**self.axes, name: more}, self.rows.splits)
        old_shape, rest = self.shape, self.scores.shape[1:]
        new_shape = (*old_shape[:axis], more.size, *old_shape[axis + 1 :])
        pieces = [self.scores.reshape(*old_shape, *rest), fresh.reshape(*new_shape, *rest)]
        grids = [values, more]
        if side < 0:
            pieces.reverse()
            grids.reverse()
        self.scores = np.concatenate(pieces, axis=axis).reshape(-1, *rest)
        self.axes[name] = np.concatenate(grids)
        self._score()
        return True

    def _score(self) -> None:
        self.values, self.by_row = score_grid(self.scores, self.rows, self.scoring)
        if np.isnan(self.values).all():
            raise ValueError(why_undefined(self.scoring, self.scores))
        self.mean_scores = np.nanmean(self.values, axis=1)
        self.best = int(np.nanargmax(self.mean_scores))


def default_regs(diagonal_scale: float = 1.0) -> Array:
    """Return 20 regs from 1e-7 to about 3, times the squared mean diagonal of the kernel."""
    return 10.0**REG_EXPONENTS * diagonal_scale**2


def default_sigmas(median: float) -> Array:
    """Return the widths around the median distance."""
    return median * WIDTH_FACTORS


def mean_diagonal(kernel: Kernel, X: Rows, sigma: float, own: Index | None = None) -> float:
    """Return the mean of |k(x, x)| over rows; `own` are their columns of a precomputed kernel."""
    if kernel.unit_diagonal:
        return 1.0
    if kernel.name == "precomputed" and own is not None:
        diagonal = np.asarray(X[np.arange(len(own)), own]).ravel()
    else:
        diagonal = np.diagonal(KernelMap(kernel, X).square(sigma))
    return max(float(np.abs(diagonal).mean()), np.finfo(np.float64).tiny ** 0.25)


def check_grid(name: str, values: Any) -> Array | None:
    """Return a grid of positive numbers, sorted, each once; None where nothing was given."""
    if values is None:
        return None
    grid = np.unique(np.asarray(values, dtype=np.float64).ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and (grid > 0).all()):
        raise ValueError(f"{name} must hold positive numbers, but {values!r} was given.")
    return grid


def widen(values: Array, side: int, count: int) -> Array:
    """Return `count` further values beyond the lower (-1) or upper (1) end of a geometric grid.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.grid import widen
    >>> widen(np.array([1.0, 2.0, 4.0]), side=1, count=2)
    array([ 8., 16.])
    """
    ratio = values[1] / values[0]
    if side < 0:
        return values[0] * ratio ** -np.arange(count, 0, -1.0)
    return values[-1] * ratio ** np.arange(1.0, count + 1)


def edge_advice(name: str, values: Array, side: int) -> str:
    """Say which way to widen a given grid whose optimum sits on an edge."""
    which, way = ("smallest", "smaller") if side < 0 else ("largest", "larger")
    return (
        f"The best {name} is the {which} of the grid ({values[0 if side < 0 else -1]:.4g}): "
        f"add {way} values to {name}s."
    )
