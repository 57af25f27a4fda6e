"""MultiTaskKernelLogisticRegressionCV: KLR-MT tuned on the grids that MultiTaskLSPCCV uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._duplicate_rows import warn_of_copies
from kinlearn.estimators._logistic import RULES, TunedLogistic
from kinlearn.estimators._logistic_designs import MultiDesign
from kinlearn.estimators._logistic_grid import LogisticGrid
from kinlearn.estimators._training_set import check_groups
from kinlearn.estimators._tuned import TaskGridTuned
from kinlearn.estimators.kernel_logistic_regression_cv import KernelLogisticRegressionCV
from kinlearn.estimators.multitask_klr import ONE_TASK_PARAMETERS, TaskLogistic
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.selection.search import GridSearch, Point
from kinlearn.selection.sharing_report import sharing_report
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE, LogisticSolution
from kinlearn.solvers.logistic_path import Stopping
from kinlearn.threads import on_own_threads


class MultiTaskKernelLogisticRegressionCV(TunedLogistic, TaskLogistic, TaskGridTuned):
    """Multi-task kernel logistic regression with width, sharing and reg tuned.

    Minimises what :class:`MultiTaskKernelLogisticRegression` does (Eq. 4 of [1]_ with the logistic
    loss), for every point of the grids that :class:`MultiTaskLSPCCV` uses, on every fold. Each
    is a fit of its own, warm-started along the regs: 840 points on 5 folds are 4200 fits. Rows held
    out are held out as centres of all tasks, too, where all rows are centres.

    Parameters
    ----------
    sigmas, sharings, regs : array-like of float, optional
        As in :class:`MultiTaskLSPCCV`.
    cv : int, "loo", splitter or iterable, optional
        As in :class:`KernelLogisticRegressionCV`; a number makes folds stratified by task and
        class.
    scoring
        As in :class:`KernelLogisticRegressionCV`.
    average : {"pooled", "tasks"}, default="pooled"
        As in :class:`MultiTaskLSPCCV`.
    combine, solver, tol, max_iter, store_cv_scores
        As in :class:`KernelLogisticRegressionCV`.
    similarity, unseen, task_column
        As in :class:`MultiTaskLSPC`.
    kernel, n_centers, centers, center_selection, class_weight, degree, coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs
        As in :class:`KernelLogisticRegressionCV`.
    random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    sigma_, sharing_, reg_, best_score_, best_index_, weights_
        As in :class:`MultiTaskLSPCCV`.
    cv_results_ : dict of arrays
        As in :class:`MultiTaskLSPCCV`, with ``max_gradient_norm``: the worst of a point's fits.
    sharing_report_ : dict of arrays
        As in :class:`MultiTaskLSPCCV`.
    coef_ : ndarray of shape (len(kept_sigmas_), T, n_centers_, n_classes)
        Coefficients of all tasks.
    shared_coef_ : ndarray of shape (len(kept_sigmas_), n_centers_, n_classes)
        The shared part.
    held_out_scores_, held_out_links_, gradient_norm_, n_iter_, n_factorisations_, beta_, \
kept_sigmas_
        As in :class:`KernelLogisticRegressionCV`.
    tasks_, task_classes_, similarity_, classes_, centers_, n_centers_, prior_, cv_scores_, \
cv_rows_, n_features_in_, feature_names_in_
        As in :class:`MultiTaskLSPCCV`.
    task_class_seen_ : ndarray of bool of shape (T, n_classes)
        Which classes each task has seen.
    scoring_ : Scoring
        The criterion that the grid was scored by.

    References
    ----------
    .. [1] Simm, Sugiyama, Kato (2011). Computationally efficient multi-task learning with
       least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from kinlearn import MultiTaskKernelLogisticRegressionCV
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=4, n_samples=20, random_state=0)
    >>> model = MultiTaskKernelLogisticRegressionCV(
    ...     sharings=[0, 0.5, 1], regs=[1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]
    ... ).fit(X, y, task=task)
    >>> model.predict_proba(X[:2], task=task[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        *,
        sigmas: Any = None,
        sharings: Any = None,
        regs: Any = None,
        cv: Any = None,
        scoring: Any = None,
        average: str = "pooled",
        combine: str = "best",
        solver: str = "newton",
        tol: float = GRADIENT_TOLERANCE,
        max_iter: int | None = None,
        store_cv_scores: bool = False,
        similarity: Any = "uniform",
        unseen: str = "shared",
        task_column: str | int | None = None,
        kernel: Any = "rbf",
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        class_weight: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.sigmas = sigmas
        self.sharings = sharings
        self.regs = regs
        self.cv = cv
        self.scoring = scoring
        self.average = average
        self.combine = combine
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.store_cv_scores = store_cv_scores
        self.similarity = similarity
        self.unseen = unseen
        self.task_column = task_column
        self.kernel = kernel
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.class_weight = class_weight
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.n_jobs = n_jobs
        self.random_state = random_state

    @on_own_threads
    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> MultiTaskKernelLogisticRegressionCV:
        """Search the grid, and fit what it found to all rows.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_samples, n_features)
            Training rows of all tasks.
        y : array-like of shape (n_samples,)
            Class labels of any type. A task may lack classes.
        task : array-like of shape (n_samples,), optional
            Task ids: strings, integers or other hashables. Left out, there is one task.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the same as the row twice.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        MultiTaskKernelLogisticRegressionCV
            The fitted model.
        """
        check_choice("combine", self.combine, RULES)
        check_choice("average", self.average, ("pooled", "tasks"))
        sharings, scoring, stopping = self._sharing_grid(), self._criterion(), self._stopping()
        X, index = self._read_tasks(X, task, sample_weight)
        if index is None or len(self.similarity_) == 1:
            return self._fit_one_task(X, y, sample_weight, groups)
        data = self._prepare(X, y, sample_weight, index)
        self._remember_classes(index, data.labels)
        groups = check_groups(groups, data.labels.size)
        warn_of_copies(data, groups)
        kernel = self._kernel()
        median = self._median(data, kernel)
        sigmas = self._sigma_grid(kernel, median)
        cv = self._cv(data, groups)
        validation = data.validation(cv, groups, task=index, seed=self._seed())
        splits = validation.splits
        n_folds = splits.n_rows_held_out if splits.leave_one_out else len(splits.blocks)
        n_fits = sigmas.size * sharings.size * n_folds
        chosen = self._choose_task_centers(data, kernel, median)
        design = MultiDesign(self._set_up(data, kernel, index, chosen, n_fits))
        rows = self._log_odds_rows(data, validation)
        task_of = index[data.units.first][validation.unit]
        grid = LogisticGrid(design, splits, stopping)
        search = GridSearch(
            axes={
                "sigma": sigmas,
                "sharing": sharings,
                "reg": self._reg_grid(kernel, data, median),
            },
            growing={
                "sigma": self.sigmas is None and kernel.has_width,
                "reg": self.regs is None,
            },
            evaluate=grid.evaluate,
            rows=replace(rows, task=task_of, average=self.average),
            scoring=scoring,
            vote="sigma",
        )
        search.run()
        self._keep_search(search, scoring)
        self.sharing_ = search.points[search.best]["sharing"]
        self._keep_norms(grid.norms_of(search.points))
        weights = self._keep_log_odds(search)
        names = [] if self.tasks_ is None else self.tasks_.tolist()
        self.sharing_report_ = sharing_report(search, self.combine, weights, names)
        if self.store_cv_scores:
            self.cv_scores_ = search.scores
            self.cv_rows_ = data.units.first[validation.unit]
        self._refit(design, search.points, weights, stopping)
        return self

    def _refit(
        self, design: MultiDesign, points: list[Point], weights: NDArray, stopping: Stopping
    ) -> None:
        """Fit the points with weight to all rows; per width they merge into one model."""
        used = [points[p] for p in np.flatnonzero(weights)]
        mix = weights[np.flatnonzero(weights)]
        sigmas = np.unique([point["sigma"] for point in used])
        shape = (design.map.n_centers, design.n_classes)
        coef = np.zeros((len(sigmas), len(self.similarity_), *shape))
        shared = np.zeros((len(sigmas), *shape))
        effort: list[LogisticSolution] = []
        for point, weight in zip(used, mix, strict=True):
            at = int(np.searchsorted(sigmas, point["sigma"]))
            theta, found = design.solve(
                point["sigma"], point["sharing"], np.array([point["reg"]]), np.ones(1), stopping
            )
            coef[at] += weight * theta
            shared[at] += weight * self._shared_part(theta, point["sharing"])
            effort += found
        self._keep_effort(effort)
        self._keep_tasks(sigmas, coef, shared, {})

    def _fit_one_task(
        self, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> MultiTaskKernelLogisticRegressionCV:
        names = (
            *ONE_TASK_PARAMETERS,
            "sigmas",
            "regs",
            "cv",
            "scoring",
            "combine",
            "store_cv_scores",
            "n_jobs",
        )
        single = KernelLogisticRegressionCV(**{name: getattr(self, name) for name in names})
        single.fit(X, y, sample_weight=sample_weight, groups=groups)
        self.sharing_ = 0.0  # With one task every degree of sharing is the same model.
        self._take_over(single, 1.0)
        self._remember_classes(None, np.searchsorted(self.classes_, np.asarray(y).ravel()))
        return self
