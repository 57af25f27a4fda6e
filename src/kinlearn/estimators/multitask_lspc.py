"""MultiTaskLSPC: many related tasks in one least-squares fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators import _task_streaming as task_streaming
from kinlearn.estimators._add_task import add_task
from kinlearn.estimators._at_scale import Block
from kinlearn.estimators._checks import check_positive, check_sharing
from kinlearn.estimators._classifier import MAX_HELD_OUT_ROWS, are_collections
from kinlearn.estimators._polish import check_polish
from kinlearn.estimators._task_classifier import TaskClassifier, of_one_task, pose_tasks
from kinlearn.estimators._task_polish import choose_task_polish, polish_tasks
from kinlearn.kernels import KernelMap
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.from_sums import Posed
from kinlearn.problems.one_task import OneTask, one_task_basis
from kinlearn.problems.problem import Point, Problem
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.problems.tasks_dual import TasksDual, task_solution
from kinlearn.problems.tasks_from_sums import TasksFromSums, most_held_out, sums_are_cheaper
from kinlearn.selection.fit_point import fit_point
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads
from kinlearn.training.training_set import check_groups


class MultiTaskLSPC(TaskClassifier):
    """Least-squares probabilistic classifier for many related tasks.

    Minimises, for each class with targets z, over the parameters θ_t of T tasks::

        1/(2N) Σ_n (θ_{t_n}ᵀ phi(x_n) - z_n)² + reg/(2T) Σ_t ||θ_t||²
            + γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||²,      γ = reg·sharing/(1 - sharing)

    which for W = 1 is Eq. 4 of [1]_ in other variables (see :meth:`from_paper`), solved in the dual
    (Lemma 1 there), one N×N system whatever the number of tasks, or, where that is cheaper because
    there are fewer centres than rows, from sums over each task's rows. Without ``task`` it is
    :class:`LSPC`.

    Parameters
    ----------
    sharing : float in [0, 1], default=0.5
        How much tasks speak for each other. 0: every task for itself (on common centres); 1: one
        model for all tasks (for each connected component of the similarity).
    similarity : "uniform", array of shape (T, T), DataFrame or dict, default="uniform"
        W, symmetric and non-negative; the diagonal is ignored. An array follows the sorted ids, a
        DataFrame its labels, a dict is ``{(id, id): weight}`` or ``{id: {id: weight}}``.
    unseen : {"shared", "error"}, default="shared"
        A task never seen is answered by the shared part β_0, or refused. For W = 1, β_0 is
        ``sharing`` times the mean of the θ_t; else what a task without samples, tied to all others
        by the mean weight, would get.
    task_column : str or int, optional
        Name or position of the column of X that holds the task ids and is not a feature. For
        places that metadata routing does not reach, such as ``cross_val_predict``.
    kernel, sigma
        As in :class:`LSPC`.
    reg : float, default=1e-3
        Strength of the regularisation. 0 is the minimum-norm limit.
    n_centers, centers, center_selection, posterior, fallback, class_weight, degree, coef0, \
memory_mb, random_state
        As in :class:`LSPC`. Centres are the distinct rows of all tasks, or chosen from these. One
        beta calibrates all tasks.
    polish : "auto", int or None, default="auto"
        As in :class:`LSPC`, of all tasks together, with the prior that sharing says. It is for rows
        in memory: a stream of tasks has the closed form.
    n_jobs : int, optional
        Threads; as many as there are cores when left out, and 1 for none beside the caller's. The
        number changes no result.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of all tasks.
    tasks_ : ndarray of shape (T,) or None
        Task ids, sorted where they can be; None when fitted without any.
    task_classes_ : dict
        The classes each task has seen.
    coef_ : ndarray of shape (1, T, n_centers_, n_classes)
        θ_t of all tasks.
    shared_coef_ : ndarray of shape (1, n_centers_, n_classes)
        β_0.
    similarity_ : ndarray of shape (T, T)
        W in the order of ``tasks_``.
    sigma_, beta_, gamma_, score_floor_, prior_shift_, centers_, n_centers_, prior_, \
held_out_scores_, held_out_links_, held_out_codes_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
    task_class_seen_ : ndarray of bool of shape (T, n_classes)
        Which classes each task has seen.
    weight_per_task_ : float
        N/T, the weight of all rows over the number of tasks, which :meth:`add_task` holds fixed.
    mix_blocks_, mix_sigmas_, mix_sharings_, mix_regs_, mix_weights_, mix_shared_coef_ : ndarray
        The points that make up the model and the shared part of each, for :meth:`add_task`.
    n_iter_, polish_path_, polish_penalty_, polish_reason_
        As in :class:`LSPC`. A polished model has no ``mix_…`` attributes, which a new task needs.
    statistics_, held_out_log_loss_, kept_sigmas_, kept_kernels_, support_
        As in :class:`LSPC`.
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
    >>> from kinlearn import MultiTaskLSPC
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=5, random_state=0)
    >>> model = MultiTaskLSPC(sharing=0.8).fit(X, y, task=task)
    >>> model.predict_proba(X[:2], task=task[:2]).shape
    (2, 2)
    >>> model.decision_function(X[:1], task=[99]) == model.shared_score(X[:1])
    array([ True])
    """

    limit_at_zero_reg = True

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
        sharing: float = 0.5,
        similarity: Any = "uniform",
        unseen: str = "shared",
        task_column: str | int | None = None,
        kernel: Any = "rbf",
        sigma: float | str = "median",
        reg: float = 1e-3,
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        posterior: str = "calibrated",
        fallback: str = "uniform",
        class_weight: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        random_state: Any = None,
        polish: Any = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.sharing = sharing
        self.similarity = similarity
        self.unseen = unseen
        self.task_column = task_column
        self.kernel = kernel
        self.sigma = sigma
        self.reg = reg
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def from_paper(cls, lambda_: float, gamma: float, **params: Any) -> MultiTaskLSPC:
        """Make the estimator from λ and γ of Eq. 4 of mt-lspc.

        There λ penalises the common part β_0 and γ/T the individual parts, so that
        ``sharing = γ/(λ+γ)`` and ``reg = λ·sharing``. γ = 0 is the paper's limit without
        regularisation: the minimum-norm solution of each task. An infinite γ leaves one model for
        all tasks, an infinite λ leaves separate ones.

        The paper's kernel is exp(-||x-x'||²/σ²): its σ is √2 times the ``sigma`` here.

        Parameters
        ----------
        lambda_ : float
            λ of the paper, positive; may be infinite.
        gamma : float
            γ of the paper, not negative; may be infinite.
        **params : dict
            All other parameters of the estimator.

        Returns
        -------
        MultiTaskLSPC
            Not fitted yet.

        Examples
        --------
        >>> from kinlearn import MultiTaskLSPC
        >>> model = MultiTaskLSPC.from_paper(0.3, 0.1)
        >>> round(model.sharing, 3), round(model.reg, 3)
        (0.25, 0.075)
        """
        if not lambda_ > 0.0:
            raise ValueError(f"lambda_ must be positive, but {lambda_!r} was given.")
        if not gamma >= 0.0:
            raise ValueError(f"gamma must not be negative, but {gamma!r} was given.")
        if np.isinf(lambda_) and np.isinf(gamma):
            raise ValueError("lambda_ and gamma are both infinite; at most one of them may be.")
        if np.isinf(gamma):
            return cls(sharing=1.0, reg=float(lambda_), **params)
        if np.isinf(lambda_):
            return cls(sharing=0.0, reg=float(gamma), **params)
        sharing = gamma / (lambda_ + gamma)
        return cls(sharing=float(sharing), reg=float(lambda_ * sharing), **params)

    @on_own_threads
    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> MultiTaskLSPC:
        """Fit all tasks together.

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
            Rows of one group are held out together when calibrating.

        Returns
        -------
        MultiTaskLSPC
            The fitted model.
        """
        sharing = check_sharing(self.sharing)
        check_polish(self.polish)
        if are_collections(X, y, task, sample_weight, groups):
            return streaming.fit_collections(self, X, y, sample_weight, groups, task=task)
        kernel = self._begin()
        X, tasks, index = self._read_tasks(X, task, sample_weight)
        if index is None and self.reg == 0:  # a limit that only the dual knows
            index = np.zeros(len(y), dtype=np.intp)
        data = self._read_classes(kernel, X, y, sample_weight, index)
        groups = check_groups(groups, data.n_passed)
        data.warn_of_copies(groups)
        sigma = self._width(data, kernel)
        point = {"sigma": sigma, "sharing": sharing, "reg": float(self.reg)}
        limit = None
        centers = self._task_centers(data, kernel, sigma)
        facts: dict[str, Any] = {"sigma_": sigma, "task_class_seen_": self._classes_of_tasks(data)}
        limits = ["reg=0 is a limit of least squares"] if self.reg == 0 else []
        polish = choose_task_polish(self, kernel, data, centers, limits)
        facts["polish_reason_"] = polish.reason
        if polish.passes is not None:
            blocks = [Block(kernel, sigma)]
            polished, calibration, told = polish_tasks(
                self, blocks, data, centers, point, polish.passes, groups
            )
            facts |= told
            if polished is not None and calibration is not None:
                model = self._model(kernel, data, centers, polished, calibration, tasks=tasks)
                self._keep(model, **facts)
                return self
        features = KernelMap(kernel, centers.rows, self.memory_mb)
        if data.task is None:
            basis = one_task_basis(data, features, centers, self.basis, n_decompositions=1)
            problem: Problem = OneTask(basis, data)
            limit = MAX_HELD_OUT_ROWS if basis.fixed_centers else None
        else:
            everything, W = centers.everything, self.similarity_
            if (
                not everything
                and groups is None
                and self.reg > 0
                and sums_are_cheaper(centers, data, W)
            ):
                limit = most_held_out(W, MAX_HELD_OUT_ROWS)
                problem = TasksFromSums.of(features, data, W)
            else:
                problem = TasksDual.of(features, data, W, own_centers=everything)
        validation = None
        if self.posterior == "calibrated" and data.n_rows > 1:
            validation = data.validation(
                "loo", groups, max_rows=limit, by_task=limit is None, seed=self._seed()
            )
        found = fit_point(problem, point, data, validation)
        solution = found.solution
        if data.task is None:
            alone = of_one_task(solution, sharing)
            assert alone.shared is not None
            solution = task_solution(
                alone.sigmas, alone.coef, alone.shared, [(point, 1.0)], data.total_weight
            )
        self._keep(
            self._model(kernel, data, centers, solution, found.calibration, tasks=tasks),
            **facts,
            **found.held_out,
            **solution.facts,
        )
        return self

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose."""
        return pose_tasks(self, sums, rows, factors)

    def _stream_point(self, sums: NormalEquations) -> Point:
        return {"sigma": sums.sigma, "sharing": float(self.sharing), "reg": float(self.reg)}

    def _check_stream_parameters(self) -> None:
        check_positive("reg", self.reg)
        check_sharing(self.sharing)
