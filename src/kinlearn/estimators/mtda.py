"""Multi-task discriminant analysis over tasks whose features differ."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kinlearn.estimators._discriminant_checks import (
    cap_components,
    check_choice,
    check_count,
    check_positive,
    check_shrinkage,
)
from kinlearn.estimators._heterogeneous_tasks import (
    CommonSpace,
    by_task,
)
from kinlearn.solvers.mtda_alternating import alternate
from kinlearn.solvers.ratio_trace import ratio_trace
from kinlearn.solvers.scatter import Floats, ReducedScatter, shrinkage_ridge, smallest_rank
from kinlearn.solvers.trace_ratio import most_between_first, trace_ratio
from kinlearn.threads import on_own_threads


class MTDA(CommonSpace):
    """Multi-task discriminant analysis: one projection per task, found together.

    maximise over orthonormal U_i = W_i P:
    sum_i tr(U_i^T S_b^i U_i) / sum_i tr(U_i^T S_t^i U_i)  (Eq. 3 of Zhang and Yeung 2011)

    Tasks may have any number of features and any classes. All of them end in one space of
    ``n_components`` dimensions, where distances of all tasks are on one footing: the same ratio
    alpha of between-class to total scatter decides in every task which directions are worth
    keeping.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the common space; capped, with a warning, at the smallest rank over tasks.
    n_intermediate : int, default=None
        d' of the paper, the columns of W_i. Only the alternating solvers use it. None: the
        smallest rank over tasks.
    solver : {"joint", "alternating", "table1"}, default="joint"
        "joint": Dinkelbach's iteration on alpha, the global optimum in a few steps.
        "alternating": over the W_i and P as in the paper, without steps 2.3 and 2.4 of its
        Table 1; rises to the same optimum. "table1": as printed; its objective can fall, and it
        ends below the optimum. For comparison only.
    shrinkage : float or "auto", default=0
        Adds ``shrinkage * tr(S_w) / rank`` times the identity to S_t of every task. As the U_i are
        orthonormal this moves alpha, and nothing else. "auto" takes Ledoit and Wolf's estimate,
        task by task.
    init : {"lda", "pca", "random"}, default="lda"
        Starting projections of the alternating solvers.
    epsilon : float, default=1e-4
        Stopping rule of Table 1, ``||W^(k) - W^(k-1)||_F <= epsilon``.
    inner_iter : int, default=50
        Limit of iterations inside Table 1 (N_iter) and of the update of P.
    tol : float, default=1e-8
        Stop when an iteration changes the objective by no more than this. The convergence of
        "joint" is quadratic, so what is left is of the order of its square.
    max_iter : int, default=100
        Limit of (outer) iterations.
    random_state : int, RandomState or None, default=None
        For ``init="random"`` and for directions outside the span of a task (below).

    Attributes
    ----------
    components_ : list or dict of ndarray of shape (n_components_, d_i)
        Orthonormal rows, U_i^T; the one with most scatter between classes first.
    means_ : list or dict of ndarray of shape (d_i,)
        Mean of the training rows of every task.
    objective_ : float
        The value of Eq. 3 reached; with shrinkage, of the regularised ratio.
    objective_path_ : ndarray
        The objective at the start and after every iteration.
    alpha_ : float
        The ratio at which the U_i were taken: equal to ``objective_`` at the optimum.
    shrinkage_ : list or dict of float
        What was added to S_t of every task, as a multiple of ``tr(S_w) / rank``.
    ranks_ : list or dict of int
        Dimension of the span of every task.
    n_components_, n_intermediate_, n_iter_ : int
        d and d' in use, and the number of iterations.
    tasks_ : list
        The tasks, as positions or keys.
    classes_ : list or dict of ndarray
        Classes of every task.
    n_features_in_ : list or dict of int
        d_i of every task.
    feature_names_ : list or dict of ndarray or None
        Names of features of every task, where its rows had such.

    Notes
    -----
    Each task is first reduced to the span of its centred rows by one thin SVD: exact, and with
    more features than rows the cost grows linearly in d_i. The optimum meant is the one over U_i in
    that span. If features outnumber rows and ``n_components`` is below the number of classes, the
    ratio is one for every U_i without scatter within classes: the choice among them is the one that
    keeps most of S_b, and the tasks no longer influence each other. When ``n_intermediate`` exceeds
    the rank of a task, W_i needs columns outside its span: random orthonormal ones.

    References
    ----------
    Y. Zhang and D.-Y. Yeung, "Multi-task learning in heterogeneous feature spaces", AAAI 2011.

    Examples
    --------
    >>> from kinlearn import MTDA
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30, 80), random_state=0)
    >>> mtda = MTDA(n_components=2).fit(Xs, ys)
    >>> [Z.shape for Z in mtda.transform_all(Xs)]
    [(60, 2), (60, 2), (60, 2)]
    >>> bool(0 < mtda.objective_ <= 1)
    True
    """

    def __init__(
        self,
        *,
        n_components: int = 2,
        n_intermediate: int | None = None,
        solver: str = "joint",
        shrinkage: float | str = 0,
        init: str = "lda",
        epsilon: float = 1e-4,
        inner_iter: int = 50,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_intermediate = n_intermediate
        self.solver = solver
        self.shrinkage = shrinkage
        self.init = init
        self.epsilon = epsilon
        self.inner_iter = inner_iter
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @on_own_threads
    def fit(self, Xs: Any, ys: Any) -> Self:
        """Find the projections of all tasks together.

        Parameters
        ----------
        Xs : list or dict of array-like of shape (n_i, d_i)
            One array per task; a task is known by its position or its key.
        ys : list or dict of array-like of shape (n_i,)
            Labels; every task has classes of its own, at least two. A class of one row counts for
            S_b and says nothing about S_w.

        Returns
        -------
        MTDA
            The fitted estimator itself.
        """
        wanted = check_count("n_components", self.n_components)
        solver = check_choice("solver", self.solver, ("joint", "alternating", "table1"))
        shrinkage = check_shrinkage(self.shrinkage)
        tol = check_positive("tol", self.tol)
        max_iter = check_count("max_iter", self.max_iter)
        _, reduced = self._read_tasks(Xs, ys)
        limit = smallest_rank(reduced)
        self.n_components_ = cap_components(wanted, limit, "the smallest rank over the tasks")
        ridges = [shrinkage_ridge(task, shrinkage) for task in reduced]
        if solver == "joint":
            found = trace_ratio(
                reduced, self.n_components_, ridges=ridges, tol=tol, max_iter=max_iter
            )
            self.n_intermediate_ = self.n_components_
            frames = [task.basis @ U for task, U in zip(reduced, found.projections, strict=True)]
            objective, path, converged = found.objective, found.path, found.converged
        else:
            frames, objective, path, converged = self._alternate(reduced, ridges, limit)
        if not converged:
            warnings.warn(
                f"MTDA's solver {solver!r} stopped after max_iter={max_iter} iterations while "
                f"the objective still changed by {abs(path[-1] - path[-2]):.2g}; "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.components_ = by_task(self, [np.ascontiguousarray(frame.T) for frame in frames])
        self.shrinkage_ = by_task(
            self,
            [
                ridge * task.rank / trace if (trace := task.within_trace()) > 0 else 0.0
                for task, ridge in zip(reduced, ridges, strict=True)
            ],
        )
        self.objective_ = float(objective)
        self.objective_path_ = path
        self.alpha_ = float(objective)
        self.n_iter_ = len(path) - 1
        return self

    def _alternate(
        self, reduced: list[ReducedScatter], ridges: list[float], limit: int
    ) -> tuple[list[Floats], float, Floats, bool]:
        n_components = self.n_components_
        n_intermediate = limit if self.n_intermediate is None else self.n_intermediate
        n_intermediate = check_count("n_intermediate", n_intermediate)
        if n_intermediate < n_components:
            raise ValueError(
                f"n_intermediate={n_intermediate} is less than n_components={n_components}; the "
                "common space cannot have more dimensions than the intermediate one."
            )
        narrowest = min(len(task.mean) for task in reduced)
        self.n_intermediate_ = cap_components(
            n_intermediate, narrowest, "the task with the fewest features", name="n_intermediate"
        )
        rng = check_random_state(self.random_state)
        init = check_choice("init", self.init, ("lda", "pca", "random"))
        found = alternate(
            reduced,
            [_start(task, n_components, init, rng) for task in reduced],
            self.n_intermediate_,
            ridges=ridges,
            as_printed=self.solver == "table1",
            epsilon=check_positive("epsilon", self.epsilon),
            inner_iter=check_count("inner_iter", self.inner_iter),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        frames = [
            _outside_span(task, len(U), rng) @ most_between_first(task.between_root, U)
            for task, U in zip(reduced, found.projections, strict=True)
        ]
        return frames, found.objective, found.path, found.converged


def _start(
    task: ReducedScatter, n_components: int, init: str, rng: np.random.RandomState
) -> Floats:
    """Orthonormal starting projection of one task, in its span."""
    if init == "pca":
        return np.eye(task.rank, n_components)
    if init == "random":
        directions = rng.normal(size=(task.rank, n_components))
    else:
        fisher, _ = ratio_trace(task, ridge=1e-6 * float(task.total.sum()) / task.rank)
        # There are at most c - 1 Fisher directions; random ones fill up.
        filling = rng.normal(size=(task.rank, n_components))
        directions = np.hstack([fisher, filling])[:, :n_components]
    frame, _ = linalg.qr(directions, mode="economic", check_finite=False)
    return frame


def _outside_span(task: ReducedScatter, size: int, rng: np.random.RandomState) -> Floats:
    """The basis of a task, continued by orthonormal directions outside of range(S_t)."""
    missing = size - task.rank
    if missing <= 0:
        return task.basis
    extra = rng.normal(size=(len(task.mean), missing))
    for _ in range(2):  # once leaves what rounding left of the span, twice is enough
        extra -= task.basis @ (task.basis.T @ extra)
    extra, _ = linalg.qr(extra, mode="economic", check_finite=False)
    return np.hstack([task.basis, extra])
