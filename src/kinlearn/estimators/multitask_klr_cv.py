"""MultiTaskKernelLogisticRegressionCV: width, sharing and reg tuned by refitting on folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.estimators._checks import check_choice, refuse_single_row, sharing_grid
from kinlearn.estimators._logistic import (
    INSTEAD,
    RULES,
    criterion_of,
    folds_of,
    stopping_of,
    warn_if_held_out_stopped,
    warn_if_stopped,
)
from kinlearn.estimators._task_classifier import TaskClassifier, of_one_task
from kinlearn.estimators.kernel_logistic_regression_cv import held_out_norms
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.logistic import LogisticPoser
from kinlearn.selection.grid import SHARINGS, GridValues
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.kernel_grids import KernelGrids
from kinlearn.selection.sharing_report import sharing_report
from kinlearn.selection.tune import tune
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE
from kinlearn.threads import on_own_threads
from kinlearn.training.training_set import check_groups


class MultiTaskKernelLogisticRegressionCV(TaskClassifier):
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
    kernel, metric
        As in :class:`LSPCCV`.
    n_centers, centers, center_selection, class_weight, degree, coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs
        As in :class:`KernelLogisticRegressionCV`.
    random_state
        As in :class:`LSPC`.
    verbose : bool, default=False
        Whether to print progress.

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
    held_out_scores_, held_out_links_, held_out_codes_, gradient_norm_, n_iter_, \
n_factorisations_, beta_, \
kept_sigmas_, kept_kernels_, feature_relevance_, kernel_, metric_
        As in :class:`KernelLogisticRegressionCV`.
    tasks_, task_classes_, similarity_, classes_, centers_, n_centers_, prior_, cv_scores_, \
cv_rows_, n_features_in_, feature_names_in_
        As in :class:`MultiTaskLSPCCV`.
    task_class_seen_ : ndarray of bool of shape (T, n_classes)
        Which classes each task has seen.
    scoring_ : Scoring
        The criterion that the grid was scored by.
    best_params_ : dict
        The best single point.
    intercept_, class_scale_ : ndarray
        What is added to the scores, and the scale of each class's: zeros and ones here.
    model_ : KernelModel
        The fitted model as a value, of which other attributes show parts.

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
        metric: str | None = None,
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        class_weight: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
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
        self.metric = metric
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.class_weight = class_weight
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        sharings = sharing_grid(self.sharings, SHARINGS)
        scoring, stopping = criterion_of(self.scoring), stopping_of(self)
        kernels = self._begin_several()
        X, tasks, index = self._read_tasks(X, task, sample_weight)
        data = self._read_classes(kernels, X, y, sample_weight, index)
        refuse_single_row(data.n_rows, INSTEAD)
        groups = check_groups(groups, data.n_passed)
        data.warn_of_copies(groups)
        validation = data.validation(folds_of(self.cv, data, groups), groups, seed=self._seed())
        # with one task every degree of sharing is the same model
        sharings = np.zeros(1) if data.task is None else sharings
        values = GridValues.given(self.sigmas, self.regs, sharings)
        centers = self._task_centers(data, kernels[0], data.median_width(kernels[0]))
        pose = LogisticPoser(
            centers,
            self.memory_mb,
            stopping,
            values.n_widths * validation.splits.n_fits,
            self.similarity_,
            values.n_sharings,
        )
        grids = KernelGrids(kernels, pose, values, self.metric, scoring, self.combine, vote="sigma")
        posed, learnt = grids.posed(data, validation)
        held_out = HeldOut.of(data, validation, average=self.average)
        tuned = tune(
            posed,
            held_out.as_log_odds(fitted_loss=self.scoring is None),
            scoring,
            self.combine,
            scales=False,
            say=self._say,
        )
        facts, solution = tuned.facts(self.store_cv_scores), tuned.solution
        norms = held_out_norms(tuned.search)
        facts["cv_results_"]["max_gradient_norm"] = norms
        warn_if_held_out_stopped(self, float(norms[tuned.search.best]))
        warn_if_stopped(self, facts)
        if data.task is None:
            solution = of_one_task(solution, 1.0)
        else:
            assert tasks is not None
            weights = tuned.learnt.weights
            facts["sharing_report_"] = sharing_report(
                tuned.search, self.combine, weights, tasks.tolist()
            )
        self._keep(
            self._model(kernels[0], data, centers, solution, tuned.learnt.calibration, tasks=tasks),
            task_class_seen_=self._classes_of_tasks(data),
            **learnt,
            **facts,
        )
        return self
