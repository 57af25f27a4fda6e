"""Points of one or more grids: scored by held-out scores, and weighed into a mix."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from kinlearn.posterior import Calibration, uncalibrated
from kinlearn.problems.problem import Solution
from kinlearn.problems.problem import joined as joined_solutions
from kinlearn.selection.calibration import calibrate
from kinlearn.selection.combine import (
    HALF_AVERAGED,
    HALF_AVERAGED_TASKS,
    MATERIAL_LOSS,
    averaged_share,
    refined_weights,
    stacked_weights,
    weighted_gram,
    within_se_weights,
    worth_beside,
)
from kinlearn.selection.grid import GridPart, PosedGrid
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.scoring import row_scores, row_weights, score_grid, why_undefined

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]


# Widths of all kernels together that a mix may keep, each a kernel matrix at prediction.
MOST_BLOCKS = 12
# How often points that log-loss has a use for join a stack, and how many at once.
ROUNDS_OF_MORE, MORE_AT_ONCE = 3, 6


@dataclass(frozen=True)
class Learnt:
    """Weights of the points of a grid, and the calibration of their mix."""

    weights: Array
    calibration: Calibration
    mixed: Array = field(repr=False)  # held-out scores of the mix before calibration
    task: Index | None = field(default=None, repr=False)  # of these scores

    @property
    def scores(self) -> Array:
        """Held-out scores, scales and offsets of classes and tasks included."""
        return self.calibration.scores(self.mixed, self.task)


class GridSearch:
    """Evaluate grids, widen them where that is allowed, score and combine their points.

    Parameters
    ----------
    posed : list of PosedGrid
        Problems with their grids: one for each kernel.
    rows : HeldOut
        What the scores speak of.
    scoring : str or callable
        The criterion.
    calibrated : bool, default=True
        Whether mixes are calibrated.

    Attributes
    ----------
    parts : list of GridPart
        The points of each problem.
    scores : ndarray of shape (P, R, K)
        Held-out scores of all points, part after part.
    """

    def __init__(
        self,
        posed: list[PosedGrid],
        rows: HeldOut,
        scoring: Any,
        calibrated: bool = True,
    ) -> None:
        self.parts = [GridPart(one, rows, scoring) for one in posed]
        self.rows, self.scoring, self.calibrated = rows, scoring, calibrated
        self.seconds = 0.0
        self.judged = False
        # weights of the columns, and the sums of points' scores that were made by them
        self.summed: tuple[Array, Array, Array] | None = None
        self.errors: Array | None = None  # of every row at every point, whatever the rows weigh

    @property
    def weighable(self) -> NDArray[np.bool_]:
        """Which points a stack weighs."""
        return np.concatenate([part.weighable for part in self.parts])

    @property
    def points(self) -> list[dict[str, Any]]:
        """All points, in the order of the scores."""
        return [{**part.posed.name, **point} for part in self.parts for point in part.points]

    def run(self, say: Callable[[str], None] | None = None) -> None:
        """Evaluate, and widen while the optimum of a problem sits on an edge that may move."""
        start = time.perf_counter()
        for part in self.parts:
            of = "".join(f" of the {name} {value}" for name, value in part.posed.name.items())
            if say is not None:
                sizes = " × ".join(f"{values.size} {name}s" for name, values in part.axes.items())
                say(f"trying {int(np.prod(part.shape))} points{of} ({sizes}).")
            grown = part.run()
            if say is not None and grown:
                seconds = time.perf_counter() - start
                say(
                    f"the best{of} was on an edge: {' and '.join(grown)} widened ({seconds:.1f} s)."
                )
        self._gather()
        self.seconds = time.perf_counter() - start
        ends = np.cumsum([len(part.scores) for part in self.parts])
        self.parts[int(np.searchsorted(ends, self.best, side="right"))].warn_of_edges()

    def _gather(self) -> None:
        """Take the parts' points for one grid."""
        parts = self.parts
        self.scores, self.values, self.mean_scores = (
            joined([getattr(part, name) for part in parts])
            for name in ("scores", "values", "mean_scores")
        )
        by_row = [part.by_row for part in parts if part.by_row is not None]
        self.by_row = joined(by_row) if by_row else None
        self.best = int(np.nanargmax(self.mean_scores))
        self.judged = True

    def _score(self) -> None:
        self.values, self.by_row = score_grid(self.scores, self.rows, self.scoring)
        if np.isnan(self.values).all():
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
        other.scores, other.summed, other.errors = scores, None, None
        return other.on(rows)

    def _sums(self) -> tuple[Array, Array]:
        """Gram matrix of the points that a stack weighs, and moments, weighted as least squares.

        Where some rows have less weight than in sums made before, only these are gone through.
        """
        chosen = self.weighable
        flat = self.scores if chosen.all() else self.scores[chosen]
        flat = flat.reshape(len(flat), -1)
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
        return Learnt(weights, found, mixed, self.rows.task)

    def combined(
        self, rule: str, refine: bool = False, chosen: NDArray[np.bool_] | None = None
    ) -> Array:
        """Return the weights of the points under a rule, of the `chosen` ones only if given.

        With `refine`, the points that stacking keeps are weighed anew by log-loss. With few rows
        a stack is in part an average.
        """
        weights = self._bounded(self.mix(rule, chosen))
        if rule != "stack":
            return weights
        if refine:
            weights = self._bounded(self._refined(weights, chosen))
        half = HALF_AVERAGED if self.rows.n_tasks == 1 else HALF_AVERAGED_TASKS
        share = averaged_share(self.rows.n_telling, half)
        if share:
            weights = self._bounded((1.0 - share) * weights + share * self._averaged(chosen))
        return weights

    def _averaged(self, chosen: NDArray[np.bool_] | None) -> Array:
        """Equal weights of the points near the best, by their error whatever the criterion is."""
        by_row, shares = self._errors()
        means = by_row @ (shares / shares.sum())
        candidates: Index = np.arange(len(self.scores))
        if chosen is not None:
            candidates = candidates[chosen]
        if (vote := self.parts[0].grid.vote) is not None:
            candidates = self._best_of_each(vote, candidates, means)
        weights = np.zeros(len(self.scores))
        best = int(np.nanargmax(means[candidates]))
        weights[candidates] = within_se_weights(by_row[candidates], shares, best)
        return weights

    def _errors(self) -> tuple[Array, Array]:
        """Each row's score by its error at every point, (P, R), and the rows' weights."""
        if self.errors is None:
            # log-odds are no probabilities: their squared error would say nothing
            criterion = "squared_error" if self.rows.beta is None else "brier"
            self.errors = row_scores(self.scores, self.rows, criterion)
        return self.errors, row_weights(self.rows, "squared_error")

    def _bounded(self, weights: Array) -> Array:
        """Keep the weights of at most `MOST_BLOCKS` widths, each a kernel matrix at prediction."""
        widths = self._widths
        used = sorted({widths[p] for p in np.flatnonzero(weights)})
        if len(used) <= MOST_BLOCKS:
            return weights
        number = {width: i for i, width in enumerate(used)}
        block = np.array([number.get(width, len(used)) for width in widths])
        totals = np.bincount(block, weights=weights)[: len(used)]
        chosen = np.isin(block, np.argsort(-totals, kind="stable")[:MOST_BLOCKS])
        weights = np.where(chosen, weights, 0.0)
        return weights / weights.sum()

    def _refined(self, weights: Array, chosen: NDArray[np.bool_] | None = None) -> Array:
        """Weigh the points stacking kept anew, by the log-loss over all observed pairs.

        Points of other widths that would lower it join them, a few at a time.
        """
        rows, used = self.rows, np.flatnonzero(weights)
        if len(set(rows.layout.sizes)) > 1 or used.size == 0:
            return weights  # labels of differing classes have no common softmax to weigh by
        seen = [np.flatnonzero(own > 0) for own in rows.pair_weights.T]
        targets = _stacked(rows.targets, seen)
        counts = _stacked(list(rows.pair_weights.T), seen)

        def pairs(points: Index) -> Iterator[Array]:
            for p in points:
                scores = self.scores[p].astype(np.float64, copy=False)
                yield _stacked(rows.layout.by_label(scores), seen)

        others = self.weighable if chosen is None else self.weighable & chosen
        for more in range(ROUNDS_OF_MORE + 1):
            kept, out = np.stack([*pairs(used)]), np.zeros_like(weights)
            out[used] = refined_weights(
                kept, targets, counts, weights[used], rows.n_smooth, offsets=True
            )
            if more == ROUNDS_OF_MORE:
                break
            left = np.setdiff1d(np.flatnonzero(others), used)
            mixed = np.tensordot(out[used], kept, axes=1)
            worth = worth_beside(mixed, targets, counts, rows.n_smooth)
            gains = np.array([worth(scores) for scores in pairs(left)])
            fresh = self._best_of_widths(left, gains)
            if fresh.size == 0:
                break
            used = np.union1d(used, fresh)
        return out

    def _best_of_widths(self, points: Index, gains: Array) -> Index:
        """The points of the largest gains that matter, at most one of a width."""
        widths = self._widths
        taken: dict[tuple[int, float], int] = {}
        for i in np.argsort(-gains, kind="stable"):
            if gains[i] < MATERIAL_LOSS or len(taken) == MORE_AT_ONCE:
                break
            taken.setdefault(widths[points[i]], int(points[i]))
        return np.array(sorted(taken.values()), dtype=np.intp)

    @cached_property
    def _widths(self) -> list[tuple[int, float]]:
        """The problem and the width of every point; asked for when all are there."""
        return [(k, point["sigma"]) for k, part in enumerate(self.parts) for point in part.points]

    def mix(self, rule: str, chosen: NDArray[np.bool_] | None = None) -> Array:
        """Return the weights of the points under a rule, of the `chosen` ones only if given."""
        candidates: Index = np.arange(len(self.scores))
        if chosen is not None:
            candidates = candidates[chosen]
        weights = np.zeros(len(self.scores))
        if rule == "stack":
            every, candidates = candidates, candidates[self.weighable[candidates]]
            gram, moment = self._sums()
            factors, targets = self.rows.fit_weights, self.rows.fit_targets
            at = np.searchsorted(np.flatnonzero(self.weighable), candidates)
            weights[candidates] = stacked_weights(
                gram[np.ix_(at, at)],
                moment[at],
                float(np.sum(factors * np.square(targets))),
                float(factors.sum()),
            )
            if weights.any():
                return weights
            rule, candidates = "best", every
        if not self.judged:
            self._score()
        if rule == "within_se" and (vote := self.parts[0].grid.vote) is not None:
            candidates = self._best_of_each(vote, candidates, self.mean_scores)
        best = int(np.nanargmax(self.mean_scores[candidates]))
        if rule != "within_se":
            weights[candidates[best]] = 1.0
            return weights
        if self.by_row is not None:
            by_row, shares = self.by_row[candidates], row_weights(self.rows, self.scoring)
        else:
            by_row, shares = self._errors()
            by_row = by_row[candidates]
        weights[candidates] = within_se_weights(by_row, shares, best)
        return weights

    def _best_of_each(self, name: str, candidates: Index, scores: Array) -> Index:
        """Return the best candidate for each value of an axis, problem by problem."""
        values = [(k, point[name]) for k, part in enumerate(self.parts) for point in part.points]
        number = {value: i for i, value in enumerate(sorted(set(values)))}
        value = np.array([number[value] for value in values])[candidates]
        merit = np.where(np.isnan(scores), -np.inf, scores)[candidates]
        order = np.lexsort((-merit, value))
        return np.sort(candidates[order[np.unique(value[order], return_index=True)[1]]])

    def mixed_scores(self, weights: Array) -> Array:
        """Return the held-out scores of a mix, (R, c)."""
        mixed = np.zeros(self.scores.shape[1:])
        for point in np.flatnonzero(weights):
            mixed += weights[point] * self.scores[point]
        return mixed

    def solution(self, weights: Array) -> Solution:
        """Return the coefficients of a mix."""
        found, start = [], 0
        for part in self.parts:
            own = weights[start : start + len(part.scores)]
            start += len(part.scores)
            if own.any():
                found.append((part.posed.kernel, part.problem.mixed(part.points, own)))
        return joined_solutions(found)

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
            f"param_{name}": np.array([point[name] for point in points]) for name in points[0]
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


def alike_best(results: Mapping[str, Any], best: int) -> NDArray[np.bool_]:
    """Which points of a table share kernel and metric with the best: widths of others differ."""
    alike: NDArray[np.bool_] = np.ones(len(next(iter(results.values()))), dtype=bool)
    for name in ("param_kernel", "param_metric"):
        if name in results:
            values = list(results[name])
            alike &= [value == values[best] for value in values]
    return alike


def joined(arrays: list[Array]) -> Array:
    """Arrays one after the other; a single one as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
