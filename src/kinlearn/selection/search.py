"""Search over a grid whose points' held-out scores come by the axis-aligned block."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata

from kinlearn.selection.combine import stacked_weights, weighted_gram, within_se_weights
from kinlearn.selection.grids import (
    MATERIAL_GAIN,
    WIDEN_REGS,
    WIDEN_ROUNDS,
    edge_advice,
    widen,
)
from kinlearn.selection.refine import refined_weights
from kinlearn.selection.scoring import HeldOutRows, row_scores, score_grid, why_undefined

Point = dict[str, float]


class GridSearch:
    """Evaluate a grid, widen it where that is allowed, score it and combine its points.

    Parameters
    ----------
    axes : dict of str to ndarray
        Sorted values of each parameter; the last varies fastest.
    growing : dict of str to bool
        Which axes are widened when the optimum sits on their edge (True) or warn of it (False); an
        axis that is not named has natural ends.
    evaluate : callable
        Takes a dict of values per axis and returns held-out scores of all their combinations,
        shape (P, R, c), the last axis fastest.
    rows : HeldOutRows
        What the scores speak of.
    scoring : str or callable
        The criterion.
    vote : str, optional
        An axis of whose values each has one vote under ``"within_se"``: its best point. Else the
        many points of a mediocre region outvote the few of a good one.
    lowest : dict of str to float, optional
        Values below which an axis is not widened.
    """

    def __init__(
        self,
        axes: dict[str, np.ndarray],
        growing: dict[str, bool],
        evaluate: Callable[[dict[str, np.ndarray]], np.ndarray],
        rows: HeldOutRows,
        scoring: Any,
        vote: str | None = None,
        lowest: dict[str, float] | None = None,
    ) -> None:
        self.axes = {name: np.asarray(values, dtype=np.float64) for name, values in axes.items()}
        self.growing, self.evaluate = growing, evaluate
        self.rows, self.scoring, self.vote = rows, scoring, vote
        self.lowest = lowest or {}
        self.seconds = 0.0
        self.judged = False
        # weights of the columns, and the sums of points' scores that were made by them
        self.summed: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def points(self) -> list[Point]:
        """All points, in the order of the scores."""
        return [
            dict(zip(self.axes, map(float, values), strict=True))
            for values in product(*self.axes.values())
        ]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(values.size for values in self.axes.values())

    def run(self) -> None:
        """Evaluate, and widen while the optimum sits on an edge that may move."""
        start = time.perf_counter()
        self.scores = self.evaluate(self.axes)
        self._score()
        for _ in range(WIDEN_ROUNDS):
            grown = [name for name in self.axes if self._grow(name)]
            if not grown:
                break
        self.seconds = time.perf_counter() - start
        for name in self.axes:
            if self.growing.get(name) is False and (side := self._edge(name)) != 0:
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
        if not self.growing.get(name):
            return False
        side = self._edge(name)
        if side == 0:
            return False
        values = self.axes[name]
        more = widen(values, side, WIDEN_REGS if name == "reg" else 1)
        more = more[more >= self.lowest.get(name, 0.0)]
        if more.size == 0:
            return False
        axis = list(self.axes).index(name)
        fresh = self.evaluate({**self.axes, name: more})
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
        self.values, self.by_row = self._criteria()
        undefined = np.isnan(self.values)
        if undefined.all():
            raise ValueError(why_undefined(self.scoring, self.scores))
        self.mean_scores = np.nanmean(self.values, axis=1)
        self.best = int(np.nanargmax(self.mean_scores))
        self.judged = True

    def _criteria(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Score every point on every part, and every row where the criterion is a mean of rows."""
        return score_grid(self.scores, self.rows, self.scoring)

    def on(self, rows: Any) -> Self:
        """Return the same search as judged by other weights; points are scored when asked for."""
        other = copy.copy(self)
        other.rows, other.judged = rows, False
        return other

    def with_scores(self, scores: np.ndarray, rows: Any) -> Self:
        """Return the same search over scores of the same points for other rows."""
        other = copy.copy(self)
        other.scores, other.summed = scores, None
        return other.on(rows)

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Gram matrix of the points' scores and their moments, by the weights of least squares.

        Where some rows have less weight than in sums made before, only these are gone through.
        """
        flat = self.scores.reshape(len(self.scores), -1)
        target, weights = self.rows.fit_targets.ravel(), self.rows.fit_weights
        if weights.ndim == 1:
            weights = np.repeat(weights, self.scores.shape[2])
        weights = weights.ravel()
        if self.summed is not None:
            before, gram, moment = self.summed
            if before.size == weights.size and (before >= weights).all():
                less, lesser = weighted_gram(flat, target, np.sqrt(before - weights))
                return gram - less, moment - lesser
        self.summed = (weights, *weighted_gram(flat, target, np.sqrt(weights)))
        return self.summed[1:]

    def combined(self, rule: str, refine: bool = False) -> np.ndarray:
        """Return the weights of the points under a rule.

        With `refine`, the points that stacking keeps are weighed anew by log-loss.
        """
        weights = self.mix(rule)
        return self._refined(weights) if refine and rule == "stack" else weights

    def _refined(self, weights: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(weights)
        if used.size < 2:
            return weights
        out = np.zeros_like(weights)
        out[used] = refined_weights(
            self.scores[used].astype(np.float64, copy=False),
            self.rows.fit_targets,
            self.rows.fit_weights,
            weights[used],
            self.rows.n_smooth,
            offsets=True,
        )
        return out

    def mix(self, rule: str, chosen: np.ndarray | None = None) -> np.ndarray:
        """Return the weights of the points under a rule, of the `chosen` ones only if given."""
        candidates = np.arange(len(self.scores))
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
        if rule == "within_se" and self.vote is not None:
            candidates = self._best_of_each(self.vote, candidates)
        by_row, row_weights = self.by_row, self.rows.weights
        if by_row is None or self.scoring == "squared_error":
            row_weights = self.rows.fit_weights
        everything = candidates.size == len(self.mean_scores)
        scores = self.scores if everything else self.scores[candidates]
        if by_row is not None:
            by_row = by_row if everything else by_row[candidates]
        elif rule == "within_se":
            # log-odds are no probabilities: their squared error would say nothing
            criterion = "squared_error" if self.rows.beta is None else "brier"
            by_row = row_scores(scores, self.rows, criterion)
        best = int(np.nanargmax(self.mean_scores[candidates]))
        if rule == "within_se":
            assert by_row is not None
            weights[candidates] = within_se_weights(by_row, row_weights, best)
        else:
            weights[candidates[best]] = 1.0
        return weights

    def _best_of_each(self, name: str, candidates: np.ndarray) -> np.ndarray:
        """Return the best candidate for each value of an axis."""
        axis = list(self.axes).index(name)
        value = np.unravel_index(candidates, self.shape)[axis]
        merit = np.where(np.isnan(self.mean_scores), -np.inf, self.mean_scores)[candidates]
        order = np.lexsort((-merit, value))
        return np.sort(candidates[order[np.unique(value[order], return_index=True)[1]]])

    def mixed_scores(self, weights: np.ndarray) -> np.ndarray:
        """Return the held-out scores of a mix, (R, c)."""
        mixed = np.zeros(self.scores.shape[1:])
        for point in np.flatnonzero(weights):
            mixed += weights[point] * self.scores[point]
        return mixed

    def kept(self, name: str, weights: np.ndarray) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """Return (value of `name`, regs, their weights) for every value with weight in the mix."""
        points, out = self.points, []
        for value in self.axes[name]:
            used = [
                (point["reg"], weight)
                for point, weight in zip(points, weights, strict=True)
                if point[name] == value and weight > 0
            ]
            if used:
                regs, mix = np.array(used).T
                out.append((float(value), regs, mix))
        return out

    def _row_weights(self) -> np.ndarray:
        """Weights of the rows in the criterion."""
        return self.rows.fit_weights if self.scoring == "squared_error" else self.rows.weights

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
            weights = self._row_weights()
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
