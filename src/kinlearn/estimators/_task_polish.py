"""The polish of many tasks: coefficients of every task, in passes over all rows in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._at_scale import (
    Block,
    chosen_blocks,
    reg_of_all,
    side_by_side,
)
from kinlearn.estimators._held_out_proba import proba_of_scores
from kinlearn.estimators._polish import (
    TOO_FEW,
    PolishChoice,
    PolishedFit,
    choose_polish,
    coding_of,
    held_rows,
    polish_obstacles,
)
from kinlearn.kernels import Kernel, KernelMap
from kinlearn.posterior import Calibration, ScoreLayout
from kinlearn.problems.coding import Coding
from kinlearn.problems.hashed_rows import HashedRows
from kinlearn.problems.polish import Polish
from kinlearn.problems.polish_coordinates import (
    RowSums,
    TaskCoordinates,
    gram_products,
    log_loss_of_tasks,
)
from kinlearn.problems.problem import Solution
from kinlearn.selection.tune import Tuned
from kinlearn.solvers.fixed_centers import FeatureSource
from kinlearn.solvers.log_loss_pass import FeatureBlock
from kinlearn.solvers.task_covariance import task_covariances, unseen_weight
from kinlearn.sums.gram import gram
from kinlearn.training.centers import Centers
from kinlearn.training.training_set import TrainingSet

Array = NDArray[np.float64]
Index = NDArray[np.intp]
TINY = np.finfo(np.float64).tiny


def was_polished(estimator: Any) -> bool:
    """Whether the tasks' coefficients are those of a polish."""
    return len(getattr(estimator, "polish_path_", ())) > 0 and hasattr(estimator, "n_iter_")


def choose_task_polish(
    estimator: Any,
    kernel: Kernel,
    data: TrainingSet,
    centers: Centers,
    more: list[str] | None = None,
) -> PolishChoice:
    """Whether a fit of tasks is polished; `more` stands in the way as parameters do."""
    return choose_polish(
        estimator.polish,
        data.n_passed,
        int(centers.rows.shape[0]),
        everything=centers.everything,
        obstacles=polish_obstacles(estimator, kernel) + (more or []),
    )


@dataclass(frozen=True)
class TaskRows:
    """Training rows in the order of their tasks, with their features.

    Attributes
    ----------
    source : FeatureSource
        Of the rows in this order.
    order : ndarray of shape (n,)
        Which distinct row each is.
    task : ndarray of shape (n,)
        Task number of each.
    targets, weights : ndarrays of shape (n, k) and (n,)
        Columns of the log-loss, and the diagonal of D.
    n_tasks : int
    """

    source: FeatureSource
    order: Index
    task: Index
    targets: Array
    weights: Array
    n_tasks: int

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        blocks: list[Block],
        centers: Centers,
        memory_mb: float,
        coding: Coding,
        n_tasks: int,
    ) -> TaskRows:
        task = np.zeros(data.n_rows, dtype=np.intp) if data.task is None else data.row_task
        order = np.argsort(task, kind="stable")
        X = data.X[order]
        maps = [KernelMap(block.kernel, centers.rows, memory_mb) for block in blocks]
        source = side_by_side(maps, X, [block.sigma for block in blocks])
        targets, weights = coding.targets(data.targets)[order], data.pair_weights[order, 0]
        return cls(source, order, task[order], targets, weights, n_tasks)

    def blocks(self) -> Iterator[tuple[int, FeatureBlock]]:
        """Features, targets and weights of rows of one task each."""
        for positions, phi in self.source.blocks():
            here = self.task[positions]
            starts = np.flatnonzero(np.diff(here, prepend=-1))
            for first, last in zip(starts, [*starts[1:], here.size], strict=True):
                rows = slice(positions[first], positions[last - 1] + 1)
                block = phi[first:last], self.targets[rows], self.weights[rows]
                yield int(here[first]), block

    def sums(self, coding: Coding) -> RowSums:
        """What least squares knows of all rows, in one pass."""
        m, k = self.source.n_centers, self.targets.shape[1]
        H, h = np.zeros((m, m)), np.zeros((self.n_tasks, m, k))
        for t, (phi, targets, weights) in self.blocks():
            assert weights is not None
            weighted = np.sqrt(weights)[:, None] * phi
            H += gram(weighted)
            h[t] += phi.T @ (weights[:, None] * coding.fitted(targets))
        masses = np.bincount(self.task, self.weights, self.n_tasks).astype(np.float64)
        return RowSums(H, h, float(self.weights.sum()), masses)


def polish_tasks(
    estimator: Any,
    blocks: list[Block],
    data: TrainingSet,
    centers: Centers,
    point: dict[str, float],
    passes: int,
    groups: NDArray | None = None,
) -> tuple[Solution | None, Calibration | None, dict[str, Any]]:
    """Polish tasks in memory.

    Parameters
    ----------
    estimator : MultiTaskLSPC or MultiTaskLSPCCV
        Where its parameters, the similarity of its tasks and its voice come from.
    blocks : list of Block
        Kernels with their widths; their features stand side by side.
    data : TrainingSet
    centers : Centers
    point : dict
        Degree of sharing and reg.
    passes : int
        At most.
    groups : ndarray of shape (n_passed,), optional
        What is held out together.

    Returns
    -------
    (Solution, Calibration, facts)
        None for the first two where the held-out log-loss did not fall; and what there is to tell,
        by the names of fitted attributes.
    """
    hashed = HashedRows.of(data, groups)
    if not hashed.first.size:
        return None, None, {"polish_reason_": TOO_FEW}
    W = estimator.similarity_
    coding = coding_of(False, data.sizes)
    rows = TaskRows.of(data, blocks, centers, estimator.memory_mb, coding, len(W))
    place = np.argsort(rows.order)
    held = held_rows(rows.source, data, hashed, coding, place)
    held = replace(held, task=rows.task[place[data.rows.member[hashed.first]]])
    C = task_covariances(W, np.array([point["sharing"]]))[0]
    coordinates = TaskCoordinates(
        rows.sums(coding),
        C,
        point["reg"],
        lambda theta: gram_products(rows.blocks(), theta),
        rows.source.norm(),
    )
    polish = Polish(coordinates, held, coding, max_passes=passes)
    while not polish.done:
        polish.tell(*log_loss_of_tasks(rows.blocks(), polish.coef, coding.sigmoids))
        estimator._say(f"pass {polish.n_passes}, held-out log-loss {polish.path[-1]:.4f}.")
    found = PolishedFit.of(polish, ScoreLayout(data.table.indicator, data.sizes), data.leaning)
    one_hot = data.unit_targets[data.units.of[hashed.first]]
    found = found.with_held_out(hashed, one_hot, hashed.weights)
    if not found.helped:
        return None, None, found.facts
    coef = np.stack(np.split(found.coef, len(blocks), axis=1))
    solution = Solution(
        np.array([block.sigma for block in blocks]),
        coef,
        unseen_weight(W, point["sharing"]) * coef.mean(axis=1),
        kernels=tuple(block.kernel for block in blocks),
    )
    return solution, found.calibration, found.facts


def polish_best(
    estimator: Any,
    tuned: Tuned,
    data: TrainingSet,
    centers: Centers,
    passes: int,
    groups: NDArray | None,
) -> tuple[Solution | None, Calibration | None, dict[str, Any]]:
    """Polish the best point of a search, unless the mix of points has held-out rows better.

    Returns what :func:`polish_tasks` does.
    """
    search = tuned.search
    blocks, reg = chosen_blocks(search)
    sharing = 1.0 if data.task is None else float(search.points[search.best]["sharing"])
    point = {"sharing": sharing, "reg": reg_of_all(reg, data.n_rows)}
    solution, calibration, facts = polish_tasks(
        estimator, blocks, data, centers, point, passes, groups
    )
    if calibration is None:
        return None, None, {"polish_reason_": facts["polish_reason_"]}
    polished = facts["held_out_scores_"], facts["held_out_links_"]
    if _log_loss_gained(data, calibration.layout, tuned.held_out, polished) < 0.0:
        said = "The mix of points has held-out rows better than a polish."
        return None, None, {"polish_reason_": said}
    weights = np.zeros(len(search.scores))
    weights[search.best] = 1.0
    return solution, calibration, {**facts, "weights_": weights}


def _log_loss_gained(
    data: TrainingSet,
    layout: ScoreLayout,
    mixed: tuple[Array, Array],
    polished: tuple[Array, Array],
) -> float:
    """How much less log-loss the second way has than the first, over rows held out of both."""
    ways = mixed, polished
    weights = np.ones(data.n_passed) if data.passed_weights is None else data.passed_weights
    both = (weights > 0) & ~np.any([np.isnan(scores).any(axis=1) for scores, _ in ways], axis=0)
    codes = data.passed_codes[both]
    losses = []
    for scores, links in ways:
        proba = proba_of_scores(scores[both], links[both], layout)[0]
        losses.append(-np.log(np.maximum(proba[np.arange(codes.size), codes], TINY)))
    return float(weights[both] @ (losses[0] - losses[1]))
