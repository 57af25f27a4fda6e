"""MultiTaskLSPCCV: width, sharing and reg tuned, combined and calibrated in closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinlearn.estimators._add_task import AddsTasks
from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._duplicate_rows import warn_of_copies
from kinlearn.estimators._task_grid import TaskGrid
from kinlearn.estimators._task_primal import HeldOutCopies, PrimalGrid, find_primal
from kinlearn.estimators._training_set import check_groups
from kinlearn.estimators._tuned import TaskGridTuned
from kinlearn.estimators.lspc_cv import LSPCCV
from kinlearn.estimators.multitask_lspc import ONE_TASK_PARAMETERS
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.selection import combine as combining
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.selection.search import GridSearch
from kinlearn.selection.sharing_report import sharing_report
from kinlearn.threads import on_own_threads

# Leave-one-out scores of this many rows settle a grid, where each point is solved from sums.
GRID_ROWS = 5000


class MultiTaskLSPCCV(TaskGridTuned, AddsTasks, LSPCCV):
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
    combine : {"within_se", "stack", "best"}, default="within_se"
        ``"within_se"``: of the best points of each width, the average of those within two paired
        standard errors of the best of all. ``"stack"`` and ``"best"`` as in :class:`LSPCCV`.
    store_cv_scores : bool, default=False
        Whether to keep the held-out scores of every grid point in ``cv_scores_``.
    similarity, unseen, task_column
        As in :class:`MultiTaskLSPC`.
    kernel, n_centers, centers, center_selection, posterior, fallback, class_weight, degree, \
coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads, each with a degree of sharing of its own or a block of rows; as many as there are
        cores when left out, and 1 for none beside the caller's. The number changes no result.
    random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    sigma_, sharing_, reg_, best_score_, best_index_
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
    gamma_, score_floor_, prior_shift_, held_out_links_
        As in :class:`LSPC`.
    kept_sigmas_, beta_, held_out_scores_, classes_, centers_, n_centers_, prior_, n_features_in_, \
feature_names_in_
        As in :class:`LSPCCV`.
    task_class_seen_ : ndarray of bool of shape (T, n_classes)
        Which classes each task has seen.
    weight_per_task_ : float
        N/T, the weight of all rows over the number of tasks, which :meth:`add_task` holds fixed.
    mix_sigmas_, mix_sharings_, mix_regs_, mix_weights_, mix_shared_coef_ : ndarray
        The points that make up the model and the shared part of each, for :meth:`add_task`.
    class_scale_, intercept_, cv_scores_, cv_rows_, scoring_
        As in :class:`LSPCCV`.

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

    def __init__(
        self,
        *,
        sigmas: Any = None,
        sharings: Any = None,
        regs: Any = None,
        cv: Any = "loo",
        scoring: Any = None,
        average: str = "pooled",
        combine: str = "within_se",
        store_cv_scores: bool = False,
        similarity: Any = "uniform",
        unseen: str = "shared",
        task_column: str | int | None = None,
        kernel: Any = "rbf",
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        posterior: str = "calibrated",
        fallback: str = "uniform",
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
        self.store_cv_scores = store_cv_scores
        self.similarity = similarity
        self.unseen = unseen
        self.task_column = task_column
        self.kernel = kernel
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.posterior = posterior
        self.fallback = fallback
        self.class_weight = class_weight
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.n_jobs = n_jobs
        self.random_state = random_state

    @on_own_threads
    def fit(  # type: ignore[override]
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
        check_choice("combine", self.combine, combining.RULES)
        check_choice("average", self.average, ("pooled", "tasks"))
        sharings = self._sharing_grid()
        scoring = resolve_scoring(self.scoring)
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
        chosen = self._choose_task_centers(data, kernel, median)
        validation = data.validation(self.cv, groups, task=index, seed=self._seed())
        grid: TaskGrid | PrimalGrid
        one_out = validation.splits.leave_one_out
        primal = find_primal(self, data, index, chosen) if one_out else None
        if primal is not None:
            validation = primal.validation(data, GRID_ROWS, self._seed(), groups)
            grid = PrimalGrid(primal, HeldOutCopies.of(data, validation))
        else:
            n_decompositions = sigmas.size * sharings.size
            design = self._set_up(data, kernel, index, chosen, n_decompositions)
            grid = TaskGrid(design, validation.splits)
        rows = self._held_out_rows(data, validation)
        rows = replace(rows, task=index[data.units.first][validation.unit], average=self.average)
        search = GridSearch(
            axes={
                "sigma": sigmas,
                "sharing": sharings,
                "reg": self._reg_grid(kernel, data, median),
            },
            growing={"sigma": self.sigmas is None and kernel.has_width, "reg": self.regs is None},
            evaluate=grid.evaluate,
            rows=rows,
            scoring=scoring,
            vote="sigma",
        )
        search.run()
        self._keep_search(search, scoring)
        self.sharing_ = search.points[search.best]["sharing"]
        found = self._keep_mixture(search, data, class_scales=False)
        names = [] if self.tasks_ is None else self.tasks_.tolist()
        self.sharing_report_ = sharing_report(search, self.combine, found.weights, names)
        if self.store_cv_scores:
            self.cv_scores_ = search.scores
            self.cv_rows_ = data.units.first[validation.unit]
        self.weight_per_task_ = float(data.weights.sum()) / len(self.similarity_)
        self._keep_tasks(*grid.mixed(search.points, found.weights))
        return self

    def _fit_one_task(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> MultiTaskLSPCCV:
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
        single = LSPCCV(**{name: getattr(self, name) for name in names})
        single.fit(X, y, sample_weight=sample_weight, groups=groups)
        self.sharing_ = 0.0  # With one task every degree of sharing is the same model.
        self._take_over(single, 1.0)
        self._remember_classes(None, np.searchsorted(self.classes_, np.asarray(y).ravel()))
        return self
