"""MultiTaskKernelLogisticRegression: the multi-task rival of the papers."""

from __future__ import annotations

from typing import Any

from kinlearn.estimators._checks import check_sharing
from kinlearn.estimators._logistic import stopping_of, warn_if_stopped
from kinlearn.estimators._task_classifier import TaskClassifier, of_one_task
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.posterior import ScoreLayout, uncalibrated
from kinlearn.problems.logistic import LogisticPoser
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE
from kinlearn.threads import on_own_threads


class MultiTaskKernelLogisticRegression(TaskClassifier):
    """Kernel logistic regression for many related tasks (KLR-MT).

    Minimises over the parameters θ_t of T tasks, N = Σw::

        1/N Σ_n w_n loss(θ_{t_n}ᵀ phi(x_n), y_n) + reg/(2T) Σ_t ||θ_t||²
            + γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||²,      γ = reg·sharing/(1 - sharing)

    with the logistic loss (softmax beyond two classes): :class:`MultiTaskLSPC` (Eq. 4 of [1]_) with
    another loss, on the same features, with the same sharing. Solved in the dual: one problem over
    N rows whatever the number of tasks. Without ``task`` it is :class:`KernelLogisticRegression`.

    Parameters
    ----------
    sharing, similarity, unseen, task_column
        As in :class:`MultiTaskLSPC`.
    kernel, sigma, reg
        As in :class:`LSPC`.
    solver, tol, max_iter
        As in :class:`KernelLogisticRegression`.
    n_centers, centers, center_selection, class_weight, degree, coef0, memory_mb, random_state
        As in :class:`LSPC`. Centres are the distinct rows of all tasks, or chosen from these.
    n_jobs : int, optional
        Threads; as many as there are cores when left out, and 1 for none beside the caller's. The
        number changes no result.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1, T, n_centers_, n_classes)
        θ_t of all tasks, one column a class; for two classes minus and plus one half of the one θ.
    shared_coef_ : ndarray of shape (1, n_centers_, n_classes)
        β_0: for W = 1, ``sharing`` times the mean of the θ_t.
    gradient_norm_ : float
        Norm of the gradient, in the coordinates in which the penalty is reg/2 times a sum of
        squares.
    tasks_, task_classes_, similarity_
        As in :class:`MultiTaskLSPC`.
    n_iter_, n_factorisations_, beta_, sigma_, classes_, centers_, n_centers_, prior_, \
n_features_in_, feature_names_in_
        As in :class:`KernelLogisticRegression`.
    task_class_seen_ : ndarray of bool of shape (T, n_classes)
        Which classes each task has seen.
    kept_sigmas_ : ndarray of shape (1,)
        ``sigma_``, as tuned models keep several.
    kept_kernels_ : list of str
        The kernel of that width.
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
    >>> from kinlearn import MultiTaskKernelLogisticRegression
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=5, random_state=0)
    >>> model = MultiTaskKernelLogisticRegression(sharing=0.8).fit(X, y, task=task)
    >>> model.predict_proba(X[:2], task=task[:2]).shape
    (2, 2)
    >>> model.decision_function(X[:1], task=[99]) == model.shared_score(X[:1])
    array([ True])
    """

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
        solver: str = "newton",
        tol: float = GRADIENT_TOLERANCE,
        max_iter: int | None = None,
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        class_weight: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        random_state: Any = None,
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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.class_weight = class_weight
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @on_own_threads
    def fit(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None
    ) -> MultiTaskKernelLogisticRegression:
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

        Returns
        -------
        MultiTaskKernelLogisticRegression
            The fitted model.
        """
        sharing, stopping, kernel = check_sharing(self.sharing), stopping_of(self), self._begin()
        X, tasks, index = self._read_tasks(X, task, sample_weight)
        data = self._read_classes(kernel, X, y, sample_weight, index)
        sigma = self._width(data, kernel)
        centers = self._task_centers(data, kernel, sigma)
        pose = LogisticPoser(centers, self.memory_mb, stopping, similarity=self.similarity_)
        problem = pose(kernel, data)
        point = {"sigma": sigma, "sharing": sharing, "reg": float(self.reg)}
        solution, _ = problem.solve(point, None)
        warn_if_stopped(self, solution.facts)
        if data.task is None:
            solution = of_one_task(solution, sharing)
        log_odds = uncalibrated(ScoreLayout(False, data.sizes), data.sizes[0], beta=1.0)
        self._keep(
            self._model(kernel, data, centers, solution, log_odds, tasks=tasks),
            sigma_=sigma,
            task_class_seen_=self._classes_of_tasks(data),
            **solution.facts,
        )
        return self
