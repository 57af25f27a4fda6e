"""A grid of points: evaluated, widened, scored by held-out scores, and weighed into a mix."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from kinlearn.posterior import Calibration, uncalibrated
from kinlearn.problems.problem import Axes, Point, Problem, all_points
from kinlearn.selection.calibration import calibrate
from kinlearn.selection.combine import (
    refined_weights,
    stacked_weights,
    weighted_gram,
    within_se_weights,
)
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.scoring import row_scores, row_weights, score_grid, why_undefined

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

WIDTH_FACTORS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
REG_EXPONENTS = np.linspace(-7.0, 0.5, 20)
SHARINGS = np.array([0.0, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0])
WIDEN_ROUNDS = 3
WIDEN_REGS = 5
# An edge is worth moving while the last step towards it still gained this share of the score.
MATERIAL_GAIN = 1e-2


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
    """

    axes: Axes
    growing: dict[str, bool]
    lowest: dict[str, float] = field(default_factory=dict)
    vote: str | None = None


@dataclass(frozen=True)
class Learnt:
    """Weights of the points of a grid, and the calibration of their mix."""

    weights: Array
    calibration: Calibration
    mixed: Array = field(repr=False)  # held-out scores of the mix before calibration

    @property
    def scores(self) -> Array:
        """Held-out scores, class scales and offsets included."""
        return self.calibration.scores(self.mixed)


class GridSearch:
    """Evaluate a grid, widen it where that is allowed, score it and combine its points.

    Parameters
    ----------
    problem : Problem
        Gives held-out scores.
    grid : Grid
        Where to begin.
    rows : HeldOut
        What the scores speak of.
    scoring : str or callable
        The criterion.
    calibrated : bool, default=True
        Whether mixes are calibrated.
    """

    def __init__(
        self,
        problem: Problem,
        grid: Grid,
        rows: HeldOut,
        scoring: Any,
        calibrated: bool = True,
    ) -> None:
        self.problem, self.grid, self.calibrated = problem, grid, calibrated
        self.axes = {name: np.asarray(values, float) for name, values in grid.axes.items()}
        self.rows, self.scoring = rows, scoring
        self.seconds = 0.0
        self.judged = False
        # weights of the columns, and the sums of points' scores that were made by them
        self.summed: tuple[Array, Array, Array] | None = None

    @property
    def points(self) -> list[Point]:
        """All points, in the order of the scores."""
        return all_points(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(values.size for values in self.axes.values())

    def run(self, say: Callable[[str], None] | None = None) -> None:
        """Evaluate, and widen while the optimum sits on an edge that may move."""
        start = time.perf_counter()
        if say is not None:
            sizes = " × ".join(f"{values.size} {name}s" for name, values in self.axes.items())
            say(f"trying {int(np.prod(self.shape))} points ({sizes}).")
        self.scores = self.problem.held_out(self.axes, self.rows.splits)
        self._score()
        for _ in range(WIDEN_ROUNDS):
            grown = [name for name in self.axes if self._grow(name)]
            if not grown:
                break
            if say is not None:
                seconds = time.perf_counter() - start
                say(f"the best is on an edge: {' and '.join(grown)} widened ({seconds:.1f} s).")
        self.seconds = time.perf_counter() - start
        for name in self.axes:
            if self.grid.growing.get(name) is False and (side := self._edge(name)) != 0:
                warnings.warn(edge_advice(name, self.axes[name], side), UserWarning, stacklevel=5)

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
        undefined = np.isnan(self.values)
        if undefined.all():
            raise ValueError(why_undefined(self.scoring, self.scores))
        self.mean_scores = np.nanmean(self.values, axis=1)
        self.best = int(np.nanargmax(self.mean_scores))
        self.judged = True

    def on(self, rows: HeldOut) -> Self:
        """Return the same search as judged by other weights; points are scored when asked for."""
        other = copy.copy(self)
        other.rows, other.judged = rows, False
        return other

    def with_scores(self, scores: Array, rows: HeldOut) -> Self:
        """Return the same search over scores of the same points for other rows."""
        other = copy.copy(self)
        other.scores, other.summed = scores, None
        return other.on(rows)

    def _sums(self) -> tuple[Array, Array]:
        """Gram matrix of the points' scores and their moments, by the weights of least squares.

        Where some rows have less weight than in sums made before, only these are gone through.
        """
        flat = self.scores.reshape(len(self.scores), -1)
        target, weights = self.rows.fit_targets.ravel(), self.rows.fit_weights.ravel()
        if self.summed is not None:
            before, gram, moment = self.summed
            if before.size == weights.size and (before >= weights).all():
                less, lesser = weighted_gram(flat, target, np.sqrt(before - weights))
                return gram - less, moment - lesser
        self.summed = (weights, *weighted_gram(flat, target, np.sqrt(weights)))
        return self.summed[1:]

    def learn(self, rule: str, scales: bool, near: Calibration | None = None) -> Learnt:
        """Weigh the points by a rule and calibrate their mix, whose beta may be near another."""
        stacked = scales and rule == "stack"
        weights = self.combined(rule, refine=stacked and not self.rows.many_copies)
        mixed = self.mixed_scores(weights)
        if not self.calibrated:
            found = uncalibrated(self.rows.layout, mixed.shape[1])
            return Learnt(weights, found, mixed)
        found = calibrate(mixed, self.rows, by_class=stacked, near=near)
        return Learnt(weights, found, mixed)

    def combined(self, rule: str, refine: bool = False) -> Array:
        """Return the weights of the points under a rule.

        With `refine`, the points that stacking keeps are weighed anew by log-loss.
        """
        weights = self.mix(rule)
        return self._refined(weights) if refine and rule == "stack" else weights

    def _refined(self, weights: Array) -> Array:
        """Weigh the points stacking kept anew, by the log-loss over all observed pairs."""
        rows, used = self.rows, np.flatnonzero(weights)
        if len(set(rows.layout.sizes)) > 1 or used.size < 2:
            return weights  # labels of differing classes have no common softmax to weigh by
        seen = [np.flatnonzero(own > 0) for own in rows.pair_weights.T]
        pairs = [
            _stacked(rows.layout.by_label(self.scores[p].astype(np.float64, copy=False)), seen)
            for p in used
        ]
        out = np.zeros_like(weights)
        out[used] = refined_weights(
            np.stack(pairs),
            _stacked(rows.targets, seen),
            _stacked(list(rows.pair_weights.T), seen),
            weights[used],
            rows.n_smooth,
            offsets=True,
        )
        return out

    def mix(self, rule: str, chosen: NDArray[np.bool_] | None = None) -> Array:
        """Return the weights of the points under a rule, of the `chosen` ones only if given."""
        candidates: Index = np.arange(len(self.scores))
        if chosen is not None:
            candidates = candidates[chosen]
        weights = np.zeros(len(self.scores))
        if rule == "stack":
            gram, moment = self._sums()
            weights[candidates] = stacked_weights(
                gram[np.ix_(candidates, candidates)], moment[candidates]
            )
            if weights.any():
                return weights
            rule = "best"
        if not self.judged:
            self._score()
        if rule == "within_se" and self.grid.vote is not None:
            candidates = self._best_of_each(self.grid.vote, candidates)
        best = int(np.nanargmax(self.mean_scores[candidates]))
        if rule != "within_se":
            weights[candidates[best]] = 1.0
            return weights
        if self.by_row is not None:
            by_row, shares = self.by_row[candidates], row_weights(self.rows, self.scoring)
        else:
            # log-odds are no probabilities: their squared error would say nothing
            criterion = "squared_error" if self.rows.beta is None else "brier"
            by_row = row_scores(self.scores[candidates], self.rows, criterion)
            shares = row_weights(self.rows, "squared_error")
        weights[candidates] = within_se_weights(by_row, shares, best)
        return weights

    def _best_of_each(self, name: str, candidates: Index) -> Index:
        """Return the best candidate for each value of an axis."""
        axis = list(self.axes).index(name)
        value = np.unravel_index(candidates, self.shape)[axis]
        merit = np.where(np.isnan(self.mean_scores), -np.inf, self.mean_scores)[candidates]
        order = np.lexsort((-merit, value))
        return np.sort(candidates[order[np.unique(value[order], return_index=True)[1]]])

    def mixed_scores(self, weights: Array) -> Array:
        """Return the held-out scores of a mix, (R, c)."""
        mixed = np.zeros(self.scores.shape[1:])
        for point in np.flatnonzero(weights):
            mixed += weights[point] * self.scores[point]
        return mixed

    def facts(self) -> dict[str, Any]:
        """The best single point and the table of all, by the names of fitted attributes."""
        best = self.points[self.best]
        return {
            **{f"{name}_": value for name, value in best.items()},
            "best_params_": best,
            "best_score_": float(self.mean_scores[self.best]),
            "best_index_": self.best,
            "cv_results_": self.results(),
            "scoring_": self.scoring,
        }

    def results(self) -> dict[str, Any]:
        """Return the table of points with GridSearchCV's keys."""
        points, n_points = self.points, len(self.mean_scores)
        table: dict[str, Any] = {
            f"param_{name}": np.array([point[name] for point in points]) for name in self.axes
        }
        table["params"] = points
        if self.values.shape[1] > 1:
            for i, column in enumerate(self.values.T):
                table[f"split{i}_test_score"] = column
            std = np.nanstd(self.values, axis=1)
        elif self.by_row is not None:
            weights = row_weights(self.rows, self.scoring)
            centred = self.by_row - self.mean_scores[:, None]
            std = np.sqrt(np.square(centred) @ (weights / weights.sum()))
        else:
            std = np.full(n_points, np.nan)
        table["mean_test_score"] = self.mean_scores
        table["std_test_score"] = std
        table["rank_test_score"] = rankdata(-self.mean_scores, method="min").astype(np.int32)
        # one decomposition serves many points, so that only the mean time of a point is known
        table["mean_fit_time"] = np.full(n_points, self.seconds / n_points)
        table["std_fit_time"] = np.zeros(n_points)
        table["mean_score_time"] = np.zeros(n_points)
        table["std_score_time"] = np.zeros(n_points)
        return table


def _stacked(by_label: list[Array], seen: list[Index]) -> Array:
    """The entries that are observed of every label, one after the other."""
    return np.concatenate([own[here] for own, here in zip(by_label, seen, strict=True)])


def default_regs(diagonal_scale: float = 1.0) -> Array:
    """Return 20 regs from 1e-7 to about 3, times the squared mean diagonal of the kernel."""
    return 10.0**REG_EXPONENTS * diagonal_scale**2


def default_sigmas(median: float) -> Array:
    """Return the widths around the median distance."""
    return median * WIDTH_FACTORS


def widen(values: Array, side: int, count: int) -> Array:
    """Return `count` further values beyond the lower (-1) or upper (1) end of a geometric grid.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.search import widen
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
