"""Tuning where rows are many: on a sample of them, then sums over all rows, then the polish.

Kernels, widths, reg and the metric matter for a few thousand rows as they do for a million. So they
are chosen by leave-one-out over a bounded sample, with the same search as that of few rows. All
rows then make sums over the features of what was chosen, and are gone over again by the polish.

A kernel without a width, such as that of steps, gains from rows what a small sample does not show.
Beside others it is tried on all rows instead: alone and beside the best, over few centres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from kinlearn.estimators._polish import (
    TOO_FEW,
    PolishChoice,
    PolishedFit,
    choose_polish,
    polish_obstacles,
    polish_source,
)
from kinlearn.kernels import Kernel, KernelMap
from kinlearn.problems.fixed_basis import RowFeatures, rows_that_fit
from kinlearn.problems.labels import LabelsProblem
from kinlearn.problems.learnt_metric import InLearntMetric, Pose
from kinlearn.problems.problem import Solution
from kinlearn.selection.grid import GridValues
from kinlearn.selection.held_out import Columns, HeldOut, HoldingOut
from kinlearn.selection.kernel_grids import KernelGrids, stratified_rows
from kinlearn.selection.search import GridSearch
from kinlearn.solvers.fixed_centers import FeatureSource
from kinlearn.training.centers import Centers, count_centers, place_centers
from kinlearn.training.training_set import TrainingSet

Array = NDArray[np.float64]

# Rows that the search sees, and how many of them are its centres.
SAMPLE_ROWS, SAMPLE_CENTERS = 3000, 500
# Where columns are at most so many, the whole matrix of a metric is learnt from such a sample.
WHOLE_METRIC_COLUMNS = 200
# Kernels that stand side by side in the model, over the same centres.
MOST_BLOCKS = 2
# A further kernel has at least this share of the weight in the stack of the sample.
WORTH_A_BLOCK = 0.2
# Beside more rows than these a prior weighs no more than beside them.
PRIOR_ROWS = 30_000
# Centres over which kernels without a width are tried on all rows.
TRIAL_CENTERS = 400
NO_WIDTH = 1.0
# Centres, where their number is left open: so many times the root of the rows, within bounds.
ROOT_FACTOR, FEWEST_CENTERS, MOST_CENTERS = 12.0, 1500, 4000


def automatic_centers(n_rows: int) -> int:
    """How many centres so many rows get.

    Examples
    --------
    >>> [automatic_centers(n) for n in (5_000, 60_000, 10_000_000)]
    [1500, 2939, 4000]
    """
    return int(np.clip(ROOT_FACTOR * np.sqrt(n_rows), FEWEST_CENTERS, MOST_CENTERS))


def reg_of_all(reg: float, n_rows: float) -> float:
    """What a reg that a sample chose is where the rows are many.

    Examples
    --------
    >>> reg_of_all(1e-4, 20_000), reg_of_all(1.0, 60_000)
    (0.0001, 0.5)
    """
    return reg * min(PRIOR_ROWS / n_rows, 1.0)


def choose_tuned_polish(
    estimator: Any, kernel: Kernel, data: TrainingSet, more: list[str] | None = None
) -> PolishChoice:
    """Whether to tune on a sample, and polish.

    Parameters
    ----------
    estimator : LSPCCV or MultiLabelLSPCCV
    kernel : Kernel
        The first one.
    data : TrainingSet
    more : list of str, optional
        What else stands in the way, as sentences without their end.
    """
    obstacles = polish_obstacles(estimator, kernel) + search_obstacles(estimator) + (more or [])
    n_centers = count_centers(estimator.n_centers, data.n_rows, estimator.centers)
    if estimator.centers is not None:
        n_centers = len(estimator.centers) if hasattr(estimator.centers, "__len__") else 1
    return choose_polish(
        estimator.polish,
        data.n_passed,
        data.n_rows if n_centers is None else n_centers,
        everything=n_centers is None,
        obstacles=obstacles,
    )


def search_obstacles(estimator: Any) -> list[str]:
    """What of a search stands in the way, as sentences without their end."""
    found = []
    if not (isinstance(estimator.cv, str) and estimator.cv == "loo"):
        found.append(f"cv={estimator.cv!r} asks for folds of all rows, in closed form")
    if estimator.store_cv_scores:
        found.append("store_cv_scores=True asks for scores of all rows")
    return found


@dataclass(frozen=True)
class Block:
    """A kernel with its width."""

    kernel: Kernel
    sigma: float


@dataclass(frozen=True)
class Chosen:
    """What a sample of rows says.

    Attributes
    ----------
    blocks : list of Block
        The first is the best; all of them make the features.
    reg : float
    facts : dict
        What there is to tell, by the names of fitted attributes.
    untried : list of Kernel
        Those to be tried on all rows.
    """

    blocks: list[Block]
    reg: float
    facts: dict[str, Any]
    untried: list[Kernel]


def choose_on_sample(
    estimator: Any,
    kernels: list[Kernel],
    data: TrainingSet,
    scoring: Any,
    values: GridValues,
    poser: Callable[[Centers, int], Pose],
    groups: np.ndarray | None = None,
) -> Chosen:
    """Choose kernels, widths, metric and reg by leave-one-out over a sample of the rows.

    Parameters
    ----------
    estimator : LSPCCV or MultiLabelLSPCCV
    kernels : list of Kernel
        As given.
    data : TrainingSet
        All rows.
    scoring : str or callable
    values : GridValues
        What to begin with.
    poser : callable
        Makes what poses the problem, from the centres and the number of rows.
    groups : ndarray of shape (n_passed,), optional
        What is held out together.
    """
    searched = [kernel for kernel in kernels if kernel.has_width] or kernels
    untried = [kernel for kernel in kernels if kernel not in searched]
    part, holding_out = data, HoldingOut("loo", groups, estimator._seed())
    if data.n_rows > SAMPLE_ROWS:
        rows = stratified_rows(data, SAMPLE_ROWS)
        part, _ = data.without(np.flatnonzero(~np.isin(data.rows.member, rows)))
    # the width that serves best depends on how many centres there will be
    few = min(SAMPLE_CENTERS, part.n_rows // 2, _wanted(estimator))
    centers = place_centers(
        part.X,
        part.rows,
        searched[0],
        1.0,
        n_centers=few,
        given=None,
        selection="kmeans++",
        random_state=estimator.random_state,
    )
    pose = poser(centers, part.n_rows)
    columns = None
    if estimator.many_labels:
        problem = pose(searched[0], part)
        assert isinstance(problem, LabelsProblem)
        columns = Columns(*problem.columns())
    validation = holding_out.of(part)
    grids = KernelGrids(
        searched,
        pose,
        values,
        estimator.metric,
        scoring,
        estimator.combine,
        halving=None if estimator.many_labels else holding_out,
        automatic="full" if part.X.shape[1] <= WHOLE_METRIC_COLUMNS else "diagonal",
    )
    posed, learnt = grids.posed(part, validation)
    search = GridSearch(posed, HeldOut.of(part, validation, columns), scoring)
    search.run(estimator._say)
    facts = {**search.facts(), **learnt, "weights_": _alone(search)}
    return Chosen(*chosen_blocks(search), facts=facts, untried=untried)


def _wanted(estimator: Any) -> int:
    """How many centres there will be, as far as that is asked for."""
    if estimator.centers is not None:
        return int(np.shape(estimator.centers)[0])
    count = estimator.n_centers
    return int(count) if isinstance(count, (int, np.integer)) else SAMPLE_CENTERS


def _alone(search: GridSearch) -> Array:
    weights = np.zeros(len(search.scores))
    weights[search.best] = 1.0
    return weights


def chosen_blocks(search: GridSearch) -> tuple[list[Block], float]:
    """The best point's kernel and width, and those of further kernels that the stack wants."""
    weights, start = search.mix("stack"), 0
    weights = weights / weights.sum()
    found, best, reg = [], None, 0.0
    for part in search.parts:
        own = slice(start, start + len(part.scores))
        kernel, problem = part.posed.kernel, part.problem
        assert not isinstance(problem, InLearntMetric) or kernel.metric is not None
        at = search.best - start if own.start <= search.best < own.stop else part.best
        start = own.stop
        block = Block(kernel, float(part.points[at]["sigma"]))
        if own.start <= search.best < own.stop:
            best, reg = block, float(part.points[at]["reg"])
            continue
        share = float(weights[own].sum())
        if share >= WORTH_A_BLOCK:
            found.append((share, block))
    assert best is not None
    found.sort(key=lambda pair: -pair[0])
    return [best, *(block for _, block in found[: MOST_BLOCKS - 1])], reg


class StackedFeatures:
    """Features of several kernels and widths over the same centres, side by side.

    Those of as many rows as the memory allows are kept as they are worked on, in one array.

    Parameters
    ----------
    maps : list of KernelMap
        Their memory is that of all of them.
    X : array of shape (n_rows, d)
    sigmas : list of float
        A width for each.
    """

    def __init__(self, maps: list[KernelMap], X: Any, sigmas: list[float]) -> None:
        self.n_rows, self.memory_mb = int(X.shape[0]), maps[0].memory_mb
        ends = np.cumsum([each.n_centers for each in maps])
        self.n_centers = int(ends[-1])
        n_kept = rows_that_fit(self.n_rows, self.n_centers, self.memory_mb)
        self.kept = np.empty((n_kept, self.n_centers))
        self.sources = [
            RowFeatures(each, X, sigma, into=self.kept[:, end - each.n_centers : end])
            for each, sigma, end in zip(maps, sigmas, ends.tolist(), strict=True)
        ]

    def norm(self) -> np.ndarray | None:
        parts = [source.norm() for source in self.sources]
        if any(part is None for part in parts):
            return None
        return np.asarray(block_diag(*parts))

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        everything = np.arange(self.n_rows) if rows is None else rows
        if rows is None and len(self.kept):
            yield everything[: len(self.kept)], self.kept
            everything = everything[len(self.kept) :]
        # few enough rows at a time for all of the features to be worked on
        size = max(1, int(self.memory_mb * 2**20 / (32 * self.n_centers)))
        for start in range(0, everything.size, size):
            some = everything[start : start + size]
            found, begin = np.empty((some.size, self.n_centers)), 0
            for source in self.sources:
                at, end = 0, begin + source.n_centers
                for _, block in source.blocks(some):
                    found[at : at + len(block), begin:end] = block
                    at += len(block)
                begin = end
            yield some, found


def side_by_side(maps: list[KernelMap], X: Any, sigmas: list[float]) -> FeatureSource:
    """The features of one kernel, or of several."""
    if len(maps) == 1:
        return RowFeatures(maps[0], X, sigmas[0])
    return StackedFeatures(maps, X, sigmas)


@dataclass(frozen=True)
class ScaledFit:
    """A tuned and polished model of many rows."""

    centers: Centers
    solution: Solution
    polished: PolishedFit
    facts: dict[str, Any]


def fit_chosen(
    estimator: Any,
    chosen: Chosen,
    data: TrainingSet,
    passes: int,
    groups: np.ndarray | None = None,
) -> ScaledFit | str:
    """Sums over all rows of what was chosen, and the polish; or why there is none."""
    reg = reg_of_all(chosen.reg, data.n_rows)

    def polished(blocks: list[Block], n_centers: Any) -> tuple[Centers, PolishedFit | None]:
        centers = _centers(estimator, blocks[0], data, n_centers)
        maps = [KernelMap(block.kernel, centers.rows, estimator.memory_mb) for block in blocks]
        source = side_by_side(maps, data.X, [block.sigma for block in blocks])
        return centers, polish_source(source, data, reg, passes, estimator._say, groups)

    def tried(blocks: list[Block]) -> float:
        found = polished(blocks, min(TRIAL_CENTERS, _wanted(estimator)))[1]
        helped = found is not None and found.helped
        return float(found.facts["held_out_log_loss_"]) if found and helped else np.inf

    blocks = chosen.blocks
    if chosen.untried:
        more = [Block(kernel, NO_WIDTH) for kernel in chosen.untried]
        ways = [blocks, *([block] for block in more), *([blocks[0], block] for block in more)]
        blocks = min(ways, key=tried)
    n_centers = estimator.n_centers
    if len(blocks) > 1 and blocks[1].kernel in chosen.untried and isinstance(n_centers, str):
        # side by side they share the number of centres, and so have the cost of one
        n_centers = max(TRIAL_CENTERS, automatic_centers(data.n_rows) // len(blocks))
    centers, found = polished(blocks, n_centers)
    if found is None:
        return TOO_FEW
    if not found.helped:
        return str(found.facts["polish_reason_"])
    m = centers.rows.shape[0]
    solution = Solution(
        np.array([block.sigma for block in blocks]),
        np.stack([found.coef[k * m : (k + 1) * m] for k in range(len(blocks))]),
        kernels=tuple(block.kernel for block in blocks),
    )
    return ScaledFit(centers, solution, found, _facts_of(chosen, blocks[0]))


def _facts_of(chosen: Chosen, first: Block) -> dict[str, Any]:
    """What there is to tell, where a kernel that was not searched may have come out first."""
    if first is chosen.blocks[0]:
        return chosen.facts
    params = {**chosen.facts["best_params_"], "kernel": first.kernel.name, "sigma": first.sigma}
    params |= {"metric": "plain"} if "metric" in params else {}
    return {**chosen.facts, "best_params_": params}


def _centers(estimator: Any, first: Block, data: TrainingSet, n_centers: Any) -> Centers:
    """The centres, chosen in the metric of the best kernel."""
    kernel, sigma = first.kernel, first.sigma
    return place_centers(
        data.X,
        data.rows,
        kernel,
        sigma,
        n_centers="auto" if estimator.centers is not None else n_centers,
        given=estimator.centers,
        selection=estimator.center_selection,
        random_state=estimator.random_state,
        automatic=automatic_centers(data.n_rows),
    )
