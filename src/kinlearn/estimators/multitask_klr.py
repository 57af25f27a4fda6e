"""MultiTaskKernelLogisticRegression: many related tasks under the logistic loss (KLR-MT)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._checks import check_sharing
from kinlearn.estimators._logistic import LogisticClassifier
from kinlearn.estimators._logistic_designs import MultiDesign
from kinlearn.estimators._task_base import TaskClassifier
from kinlearn.estimators.kernel_logistic_regression import KernelLogisticRegression
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.threads import on_own_threads

ONE_TASK_PARAMETERS = (
    "solver",
    "tol",
    "max_iter",
    "kernel",
    "n_centers",
    "centers",
    "center_selection",
    "class_weight",
    "degree",
    "coef0",
    "memory_mb",
    "random_state",
)


class TaskLogistic(LogisticClassifier, TaskClassifier):
    """What one fit to several tasks and its search share."""

    limit_at_zero_reg = False  # without a penalty, separable classes have no optimum

    def _shared_part(self, theta: NDArray, sharing: float) -> NDArray:
        """β_0 = ψ·mean θ_t: what a task without samples gets."""
        return unseen_weight(self.similarity_, sharing) * theta.mean(axis=0)


class MultiTaskKernelLogisticRegression(TaskLogistic):
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
        sharing, stopping = check_sharing(self.sharing), self._stopping()
        X, index = self._read_tasks(X, task, sample_weight)
        if index is None or len(self.similarity_) == 1:
            return self._fit_one_task(X, y, sample_weight)
        data = self._prepare(X, y, sample_weight, index)
        self._remember_classes(index, data.labels)
        kernel = self._kernel()
        self.sigma_ = (
            self._median(data, kernel) if isinstance(self.sigma, str) else float(self.sigma)
        )
        chosen = self._choose_task_centers(data, kernel, self.sigma_)
        design = MultiDesign(self._set_up(data, kernel, index, chosen))
        theta, effort = design.solve(
            self.sigma_, sharing, np.array([float(self.reg)]), np.ones(1), stopping
        )
        self._keep_effort(effort)
        shared = self._shared_part(theta, sharing)
        self._keep_tasks(np.array([self.sigma_]), theta[None], shared[None], {})
        return self

    def _fit_one_task(
        self, X: Any, y: Any, sample_weight: Any
    ) -> MultiTaskKernelLogisticRegression:
        names = (*ONE_TASK_PARAMETERS, "sigma", "reg")
        single = KernelLogisticRegression(**{name: getattr(self, name) for name in names})
        self._take_over(single.fit(X, y, sample_weight=sample_weight), self.sharing)
        self._remember_classes(None, np.searchsorted(self.classes_, np.asarray(y).ravel()))
        return self
