"""MultiTaskLSPCCV: width, sharing and reg tuned, combined and calibrated in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators import _task_streaming as task_streaming
from kinlearn.estimators._add_task import add_task
from kinlearn.estimators._at_scale import search_obstacles
from kinlearn.estimators._checks import (
    check_choice,
    kernel_list,
    refuse_single_row,
    sharing_grid,
)
from kinlearn.estimators._classifier import MAX_HELD_OUT_ROWS, are_collections, view
from kinlearn.estimators._polish import check_polish
from kinlearn.estimators._task_classifier import TaskClassifier, of_one_task, pose_tasks
from kinlearn.estimators._task_polish import choose_task_polish, polish_best
from kinlearn.kernels import resolve_kernel
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.kernels.words import are_words
from kinlearn.problems.from_sums import Posed
from kinlearn.problems.learnt_metric import Pose
from kinlearn.problems.one_task import OneTaskPoser
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.problems.tasks_dual import DualPoser
from kinlearn.problems.tasks_from_sums import SumsPoser, most_held_out, sums_are_cheaper
from kinlearn.selection import combine as combining
from kinlearn.selection.grid import SHARINGS, Grid, GridValues
from kinlearn.selection.held_out import HeldOut, HoldingOut
from kinlearn.selection.kernel_grids import KernelGrids
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.selection.sharing_report import sharing_report
from kinlearn.selection.tune import Repeated, tune
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads
from kinlearn.training.training_set import check_groups

# Leave-one-out scores of this many rows settle a grid, where each point is solved from sums.
GRID_ROWS = 5000
DEFAULT_KERNELS = ("rbf", "laplacian")
# A default grid is fine in this axis for the sake of the best single point.
THINNED = "reg"


class MultiTaskLSPCCV(TaskClassifier):
    """MultiTaskLSPC with width, sharing and reg tuned, combined and calibrated in closed form.

    The objective is that of :class:`MultiTaskLSPC` (Eq. 4 of [1]_ in other variables), solved in
    the dual (Lemma 1 there). One eigendecomposition per (sigma, sharing) gives the exact held-out
    scores of every ``reg``: the default grid of 840 points costs about 40 decompositions. From
    these the grid is scored, its points are combined, and the posterior is calibrated: nothing is
    refitted. Independent tasks (sharing = 0) and one pooled model (sharing = 1) are points of the
    grid, so that the search itself tells whether sharing helps.

    Parameters
    ----------
    sigmas : array-like of float, optional
        As in :class:`LSPCCV`.
    sharings : array-like of float in [0, 1], optional
        Degrees of sharing to try; 0, .2, .5, .8, .95, .99, 1 when left out.
    regs : array-like of float, optional
        As in :class:`LSPCCV`.
    cv : "loo", int, splitter or iterable, default="loo"
        What is held out; an integer makes folds stratified by task and class. ``"loo"`` is
        leave-one-out, or leave-one-group-out with ``groups``. Where every row is a centre, a row
        held out is also held out as a centre of its own task; a chosen subset of centres stays.
    scoring : str or callable, optional
        As in :class:`LSPCCV`.
    average : {"pooled", "tasks"}, default="pooled"
        Score all tasks' held-out rows together (as mt-lspc does, section 4.2), or each task's on
        their own, with the mean over tasks as the score: an AUC then compares pairs inside tasks
        only, and tasks without both classes do not count; where there is none with both, rows are
        pooled.
    combine : {"stack", "within_se", "best"}, default="stack"
        As in :class:`LSPCCV`, with a scale and an offset for each task, too, where tasks are unlike
        (``task_scale_``, ``task_intercept_``). Where few rows are not of their task's commonest
        class, a stack is mostly the average that ``"within_se"`` is: of the best points of each
        width, those within two paired standard errors of the best of all.
    store_cv_scores : bool, default=False
        Whether to keep the held-out scores of every grid point in ``cv_scores_``.
    similarity, unseen, task_column
        As in :class:`MultiTaskLSPC`.
    kernel : str, callable or list of these, default=("rbf", "laplacian")
        As in :class:`LSPCCV`. The default is joined by ``"cosine"`` where rows are of words: no
        entry is negative and most are zero, over 30 columns and more.
    metric : {"auto", "diagonal", "full"} or None, default=None
        As in :class:`LSPCCV`.
    n_centers, centers, center_selection, posterior, fallback, class_weight, degree, \
coef0, memory_mb
        As in :class:`LSPC`.
    polish : "auto", int or None, default="auto"
        As in :class:`MultiTaskLSPC`: the best point of the grid, with the best one of a further
        kernel where the stack has much of that, is polished, and replaces the mix where it has held
        out rows better.
    n_jobs : int, optional
        Threads, each with a degree of sharing of its own or a block of rows; as many as there are
        cores when left out, and 1 for none beside the caller's. The number changes no result.
    random_state
        As in :class:`LSPC`.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    sigma_, sharing_, reg_, kernel_, metric_, best_score_, best_index_
        The best single point.
    weights_ : ndarray of shape (n_points,)
        The mix: weight of each point of ``cv_results_``.
    cv_results_ : dict of arrays
        As in :class:`LSPCCV`, with ``param_sharing``.
    sharing_report_ : dict of arrays
        Per task the held-out score of the mix (``shared``), of the points with sharing = 0
        (``independent``) and sharing = 1 (``pooled``), each combined in the same way, and the gains
        over these; ``overall`` holds the three for all tasks. Only with more than one task.
    coef_ : ndarray of shape (len(kept_sigmas_), T, n_centers_, n_classes)
        Coefficients of all tasks.
    shared_coef_ : ndarray of shape (len(kept_sigmas_), n_centers_, n_classes)
        The shared part.
    tasks_, task_classes_, similarity_
        As in :class:`MultiTaskLSPC`.
    gamma_, score_floor_, prior_shift_, held_out_links_, held_out_codes_
        As in :class:`LSPC`.
    kept_sigmas_, kept_kernels_, feature_relevance_, beta_, held_out_scores_, classes_, \
centers_, n_centers_, prior_, n_features_in_, feature_names_in_
        As in :class:`LSPCCV`.
    task_class_seen_ : ndarray of bool of shape (T, n_classes)
        Which classes each task has seen.
    weight_per_task_ : float
        N/T, the weight of all rows over the number of tasks, which :meth:`add_task` holds fixed.
    mix_blocks_ : ndarray
        Which of ``kept_sigmas_`` each point of the mix belongs to.
    mix_sigmas_, mix_sharings_, mix_regs_, mix_weights_, mix_shared_coef_ : ndarray
        The points that make up the model and the shared part of each, for :meth:`add_task`.
    class_scale_, intercept_, cv_scores_, cv_rows_, scoring_
        As in :class:`LSPCCV`. Scales of classes and tasks are part of ``coef_``.
    task_scale_ : ndarray of shape (T,)
        What each task's scores are multiplied by: ones where tasks are alike.
    task_intercept_ : ndarray of shape (T, n_classes)
        What is added to each task's scores, the common offsets included. A task never seen, or
        added by :meth:`add_task`, has ``intercept_`` and the scale 1.
    best_params_ : dict
        The best single point.
    n_iter_, polish_path_, polish_penalty_, polish_reason_
        As in :class:`MultiTaskLSPC`, of a fit that was polished.
    statistics_, held_out_log_loss_
        As in :class:`LSPC`, after ``partial_fit``, ``fit_stream`` or ``fit_statistics``.
    model_ : KernelModel
        The fitted model as a value, of which other attributes show parts.

    References
    ----------
    .. [1] Simm, Sugiyama, Kato (2011). Computationally efficient multi-task learning with
       least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from kinlearn import MultiTaskLSPCCV
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=6, n_samples=30, random_state=0)
    >>> model = MultiTaskLSPCCV().fit(X, y, task=task)
    >>> model.sharing_report_["overall"]["shared"] > model.sharing_report_["overall"]["independent"]
    True
    """

    limit_at_zero_reg = True
    task_scale_ = view("Scale of each task's scores.", lambda m: m.task_scales)
    task_intercept_ = view("What is added to each task's scores.", lambda m: m.task_offsets)

    partial_fit = task_streaming.partial_fit
    forget = task_streaming.forget
    calibrate = task_streaming.calibrate
    fit_stream = streaming.fit_stream
    fit_statistics = streaming.fit_statistics
    refit = streaming.refit
    add_task = add_task

    def __init__(
        self,
        *,
        sigmas: Any = None,
        sharings: Any = None,
        regs: Any = None,
        cv: Any = "loo",
        scoring: Any = None,
        average: str = "pooled",
        combine: str = "stack",
        store_cv_scores: bool = False,
        similarity: Any = "uniform",
        unseen: str = "shared",
        task_column: str | int | None = None,
        kernel: Any = DEFAULT_KERNELS,
        metric: str | None = None,
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        posterior: str = "calibrated",
        fallback: str = "uniform",
        class_weight: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        polish: Any = "auto",
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
        self.store_cv_scores = store_cv_scores
        self.similarity = similarity
        self.unseen = unseen
        self.task_column = task_column
        self.kernel = kernel
        self.metric = metric
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.posterior = posterior
        self.fallback = fallback
        self.class_weight = class_weight
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.polish = polish
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @on_own_threads
    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> MultiTaskLSPCCV:
        """Search the grid, combine its points and calibrate.

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
            Rows of one group are held out together, for tuning, combining and calibration alike.

        Returns
        -------
        MultiTaskLSPCCV
            The fitted model.
        """
        if are_collections(X, y, task, sample_weight, groups):
            return streaming.fit_collections(self, X, y, sample_weight, groups, task=task)
        check_choice("combine", self.combine, combining.RULES)
        check_polish(self.polish)
        check_choice("average", self.average, ("pooled", "tasks"))
        sharings = sharing_grid(self.sharings, SHARINGS)
        scoring = resolve_scoring(self.scoring)
        kernels = self._begin_several()
        X, tasks, index = self._read_tasks(X, task, sample_weight)
        data = self._read_classes(kernels, X, y, sample_weight, index)
        if tuple(kernel_list(self.kernel)) == DEFAULT_KERNELS and are_words(data.X):
            kernels = [*kernels, resolve_kernel("cosine")]
        groups = check_groups(groups, data.n_passed)
        data.warn_of_copies(groups)
        alone, n_kernels = data.task is None, len(kernels)
        # with one task every degree of sharing is the same model
        sharings = np.zeros(1) if alone else sharings
        values = GridValues.given(self.sigmas, self.regs, sharings)
        holding_out = HoldingOut(self.cv, groups, self._seed())
        centers = self._task_centers(data, kernels[0], data.median_width(kernels[0]))
        pose: Pose
        if alone:
            refuse_single_row(data.n_rows, "MultiTaskLSPC, which then predicts class frequencies")
            validation = holding_out.of(data, None if centers.everything else MAX_HELD_OUT_ROWS)
            memory = self.memory_mb
            pose = OneTaskPoser(centers, data.n_rows, memory, values.n_widths, n_kernels)
        else:
            validation = holding_out.of(data)
            n_decompositions = values.n_widths * values.n_sharings * n_kernels
            pose = DualPoser(centers, self.memory_mb, self.similarity_, n_decompositions)
            if (
                not centers.everything
                and validation.splits.leave_one_out
                and sums_are_cheaper(centers, data, self.similarity_)
            ):
                pose = SumsPoser(centers, self.memory_mb, self.similarity_)
                limit = most_held_out(self.similarity_, GRID_ROWS)
                validation = data.validation(
                    "loo", groups, max_rows=limit, by_task=False, seed=holding_out.seed
                )
        grids = KernelGrids(
            kernels,
            pose,
            values,
            self.metric,
            scoring,
            self.combine,
            vote=None if alone else "sigma",
            thinned=None if alone else THINNED,
            halving=holding_out if alone else None,
        )
        posed, learnt = grids.posed(data, validation)
        tuned = tune(
            posed,
            HeldOut.of(data, validation, average=self.average),
            scoring,
            self.combine,
            scales=self.posterior == "calibrated",
            repeated=Repeated.where_cheap(holding_out, data, centers) if alone else None,
            say=self._say,
        )
        facts, solution = tuned.facts(self.store_cv_scores), tuned.solution
        calibration = tuned.learnt.calibration
        if alone:
            solution = of_one_task(solution, 1.0)
        else:
            assert tasks is not None
            weights, scales = tuned.learnt.weights, self.posterior == "calibrated"
            facts["sharing_report_"] = sharing_report(
                tuned.search, self.combine, weights, tasks.tolist(), scales
            )
        obstacles = search_obstacles(self)
        polish = choose_task_polish(self, kernels[0], data, centers, obstacles)
        facts["polish_reason_"] = polish.reason
        if polish.passes is not None:
            polished, own, told = polish_best(self, tuned, data, centers, polish.passes, groups)
            facts |= told
            if polished is not None and own is not None:
                facts = {name: facts[name] for name in facts if name not in tuned.solution.facts}
                solution, calibration = polished, own
        self._keep(
            self._model(kernels[0], data, centers, solution, calibration, tasks=tasks),
            task_class_seen_=self._classes_of_tasks(data),
            **learnt,
            **facts,
        )
        return self

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose."""
        return pose_tasks(self, sums, rows, factors)

    def _stream_grid(self, posed: Posed, sums: NormalEquations) -> Grid:
        alone = len(posed.facts["similarity_"]) == 1
        # with one task every degree of sharing is the same model
        sharings = np.zeros(1) if alone else sharing_grid(self.sharings, SHARINGS)
        axes = GridValues.given(None, self.regs, sharings).axes_of_sums(sums)
        growing = {"reg": self.regs is None}
        return Grid(axes, growing) if alone else Grid(axes, growing, vote="sigma", thinned=THINNED)

    def _check_stream_parameters(self) -> None:
        check_choice("combine", self.combine, combining.RULES)
        check_choice("average", self.average, ("pooled", "tasks"))
        sharing_grid(self.sharings, SHARINGS)
        resolve_scoring(self.scoring)
