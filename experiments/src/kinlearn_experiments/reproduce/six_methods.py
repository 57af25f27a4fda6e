"""The six classifiers of the MT-LSPC paper by its own rules: grids, folds, criterion.

LSPC or KLR, each multi-task (MT), for each task alone (STI) or for all tasks in one (STC). Binary
tasks, labels ±1, features φ(x) = k(x, training rows), k = exp(-d²/σ²) (no 2 in this paper):

    LSPC-MT   u = (ΨΨᵀ + γN/T·I)⁻¹ y,  ψ(x,t)ᵀψ(x',t') = (γ/(Tλ) + δ_tt') φ(x)ᵀφ(x')    (Eq. 6)
    KLR-MT    (1/N) Σ log(1 + exp(-y_n f_n)) + γ/(2T) ||ω||²  with the same ψ
    single    the same with one task: λ alone

The score of a row is q(+1|x) - q(-1|x), which is linear in y, not rounded (the paper's footnote).
Everything is refitted in every fold, with the fold's own rows as centres, by one Cholesky factor a
grid point (LSPC) or a Newton step (KLR, started from the neighbour in γ).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.stats import rankdata

from kinlearn.solvers.logistic_loss import LogisticLoss
from kinlearn.solvers.logistic_newton import newton_dual
from kinlearn_experiments.reproduce.grids import GAMMAS, LAMBDAS, WIDTHS, median_distance

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Criterion = Callable[[Array, Array], float]

METHODS = ("LSPC-MT", "KLR-MT", "LSPC-STI", "KLR-STI", "LSPC-STC", "KLR-STC")
N_FOLDS = 5
# γ = 0 leaves the tasks' own parts without any penalty, so that the solution is not unique (LSPC)
# or lies at infinity (KLR): this small value stands for it.
LEAST_GAMMA = 1e-6
NEWTON_TOLERANCE = 1e-6


@dataclass(frozen=True)
class TaskProblem:
    """One split: squared distances between rows, labels ±1 and task numbers.

    Attributes
    ----------
    train, test : ndarrays of shapes (N, N) and (M, N)
        Squared distances to the training rows.
    y : ndarray of shape (N,)
        Labels, -1 or 1.
    task, task_test : ndarrays of shapes (N,) and (M,)
        Task numbers from 0 on.
    """

    train: Array
    test: Array
    y: Array
    task: Index
    task_test: Index

    @property
    def n_tasks(self) -> int:
        return int(self.task.max()) + 1

    def only(self, train: Index, test: Index | None = None) -> TaskProblem:
        """Return the problem of some training rows and test rows; None: the other training rows."""
        if test is not None:
            block, task_test = self.test[np.ix_(test, train)], self.task_test[test]
        else:
            rest = np.setdiff1d(np.arange(self.y.size), train)
            block, task_test = self.train[np.ix_(rest, train)], self.task[rest]
        return TaskProblem(
            self.train[np.ix_(train, train)], block, self.y[train], self.task[train], task_test
        )


@dataclass(frozen=True)
class Outcome:
    """Scores of the test rows, what was chosen, and processor seconds of tuning and training."""

    scores: Array
    chosen: list[dict[str, float]]
    seconds: float


def pooled_auc(y: Array, scores: Array) -> float:
    """Return the area under the ROC curve of all rows together; ½ where one class is missing."""
    positive = y > 0
    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return 0.5
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m))


def accuracy(y: Array, scores: Array) -> float:
    """Return the share of rows whose score has the label's sign."""
    return float(np.mean((scores > 0) == (y > 0)))


def folds(y: Array, task: Index, seed: int, n_folds: int = N_FOLDS) -> Index:
    """Return a fold for each row: every class of every task is spread evenly, at random.

    The count goes on from one cell to the next, so that folds are as equal as can be.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    order = order[np.lexsort((y[order], task[order]))]
    fold = np.empty(y.size, dtype=np.intp)
    fold[order] = np.arange(y.size) % n_folds
    return fold


def run_method(
    name: str, problem: TaskProblem, criterion: Criterion, *, seed: int, jointly: bool = False
) -> Outcome:
    """Tune by five folds, train, and score the test rows.

    Parameters
    ----------
    name : str
        One of ``METHODS``.
    problem : TaskProblem
        The split.
    criterion : callable of (labels, scores)
        What the held-out scores of all folds together are judged by; greater is better. Of equal
        grid points the first is taken, as MATLAB's ``max`` does.
    seed : int
        Of the folds, which are the same for all methods.
    jointly : bool
        Whether tasks on their own (STI) choose one grid point together, by the criterion of all
        their rows: what pooling the held-out scores means there.
    """
    if name not in METHODS:
        raise ValueError(f"name must be one of {METHODS}, but it is {name!r}.")
    loss, kind = name.split("-")
    fold = folds(problem.y, problem.task, seed)
    started = time.process_time()
    if kind == "MT":
        scores, chosen = _tune(loss, [problem], [fold], criterion, multi_task=True)
    elif kind == "STC":
        scores, chosen = _tune(loss, [problem], [fold], criterion, multi_task=False)
    else:
        scores, chosen = _independent(loss, problem, fold, criterion, jointly)
    return Outcome(scores, chosen, time.process_time() - started)


def _independent(
    loss: str, problem: TaskProblem, fold: Index, criterion: Criterion, jointly: bool
) -> tuple[Array, list[dict[str, float]]]:
    rows = [np.flatnonzero(problem.task == t) for t in range(problem.n_tasks)]
    tested = [np.flatnonzero(problem.task_test == t) for t in range(problem.n_tasks)]
    parts = [problem.only(r, v) for r, v in zip(rows, tested, strict=True)]
    scores = np.empty(problem.task_test.size)
    if jointly:
        together, chosen = _tune(loss, parts, [fold[r] for r in rows], criterion, multi_task=False)
        scores[np.concatenate(tested)] = together
        return scores, chosen
    chosen = []
    for part, r, v in zip(parts, rows, tested, strict=True):
        scores[v], picked = _tune(loss, [part], [fold[r]], criterion, multi_task=False)
        chosen += picked
    return scores, chosen


def _tune(
    loss: str,
    parts: list[TaskProblem],
    fold_of: list[Index],
    criterion: Criterion,
    multi_task: bool,
) -> tuple[Array, list[dict[str, float]]]:
    """One grid point for all parts, by their held-out scores together; then train and score."""
    medians = [median_distance(part.train) for part in parts]
    points = grid(multi_task)
    held = []
    for part, fold, median in zip(parts, fold_of, medians, strict=True):
        scores = np.zeros((len(WIDTHS), len(points), part.y.size))
        for k in np.unique(fold):
            out = np.flatnonzero(fold == k)
            if out.size == part.y.size:
                continue  # nothing to train on: the model without data scores 0
            inner = part.only(np.flatnonzero(fold != k))
            for w, width in enumerate(WIDTHS):
                scores[w, :, out] = _path(loss, inner, width * median, points, multi_task).T
        held.append(scores.reshape(-1, part.y.size))
    y = np.concatenate([part.y for part in parts])
    values = [criterion(y, row) for row in np.concatenate(held, axis=1)]
    best = int(np.argmax(values))
    width, point = WIDTHS[best // len(points)], points[best % len(points)]
    final = [
        _path(loss, part, width * median, [point], multi_task)[0]
        for part, median in zip(parts, medians, strict=True)
    ]
    chosen = {"width": width, "lambda": point[0]} | ({"gamma": point[1]} if multi_task else {})
    return np.concatenate(final), [chosen]


def grid(multi_task: bool) -> list[tuple[float, float]]:
    """Return the pairs (λ, γ), γ from the largest on; γ is infinite for one task alone."""
    if not multi_task:
        return [(lambda_, np.inf) for lambda_ in reversed(LAMBDAS)]
    return [(lambda_, gamma) for lambda_ in LAMBDAS for gamma in reversed(GAMMAS)]


def _path(
    loss: str,
    problem: TaskProblem,
    width: float,
    points: list[tuple[float, float]],
    multi_task: bool,
) -> Array:
    """Scores of the test rows, (n_points, M), at every grid point of one width."""
    K, K_test = np.exp(-problem.train / width**2), np.exp(-problem.test / width**2)
    gram, gram_test = K @ K.T, K_test @ K.T
    solve = _solver(loss, problem.y)
    scores = np.empty((len(points), len(K_test)))
    if not multi_task:
        for i, (lambda_, _) in enumerate(points):
            scores[i] = gram_test @ solve(gram, lambda_)
        return scores
    same = problem.task[:, None] == problem.task
    same_test = problem.task_test[:, None] == problem.task
    own, own_test = np.where(same, gram, 0.0), np.where(same_test, gram_test, 0.0)
    for i, (lambda_, gamma) in enumerate(points):
        gamma = max(gamma, LEAST_GAMMA)
        shared = gamma / (problem.n_tasks * lambda_)
        u = solve(own + shared * gram, gamma / problem.n_tasks)
        scores[i] = own_test @ u + shared * (gram_test @ u)
    return scores


def _solver(loss: str, y: Array) -> Callable[[Array, float], Array]:
    """Dual coefficients for a kernel matrix of features and a penalty ½·reg·||ω||²."""
    if loss == "LSPC":
        return lambda gram, reg: _least_squares(gram, y, reg)
    start: Array | None = None
    targets = np.column_stack([y < 0, y > 0]).astype(np.float64)
    loss_of = LogisticLoss.of(targets, np.full(y.size, 1.0 / y.size))

    def logistic(gram: Array, reg: float) -> Array:
        nonlocal start
        # slopes v = reg·a are of one order whatever the reg: a good start for the next point
        before = None if start is None else start / reg
        found = newton_dual(gram, loss_of, reg, NEWTON_TOLERANCE, 50, before)
        start = reg * found.coef
        return found.coef[:, 0]

    return logistic


def _least_squares(gram: Array, y: Array, reg: float) -> Array:
    """(G + n·reg·I) u = y by Cholesky."""
    system = gram.copy()
    system.flat[:: y.size + 1] += y.size * reg
    factor, info = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
    if info != 0:
        # rounding has eaten the tiny penalty that stands for γ = 0
        return np.asarray(np.linalg.lstsq(gram, y, rcond=1e-12)[0], dtype=np.float64)
    solution, _ = lapack.dpotrs(factor, y, lower=1)
    return np.asarray(solution)


def split_rows(cells: Index, n_train: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return `n_train` random rows of every cell (task, or class of a task), and all others."""
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(cells == cell))[:n_train] for cell in np.unique(cells)]
    )
    return train, np.setdiff1d(np.arange(cells.size), train)


def by_task(task: Index) -> Iterator[tuple[int, Any]]:
    """Yield each task number and the mask of its rows."""
    for t in np.unique(task):
        yield int(t), task == t
