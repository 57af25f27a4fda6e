"""KernelLogisticRegressionCV: the rival tuned on the grids and folds that LSPCCV uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._duplicate_rows import warn_of_copies
from kinlearn.estimators._logistic import RULES, TunedLogistic
from kinlearn.estimators._logistic_grid import LogisticGrid
from kinlearn.estimators._training_set import TrainingSet, check_groups
from kinlearn.estimators._tuned import GridTuned
from kinlearn.estimators.kernel_logistic_regression import SingleLogistic
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.selection.search import GridSearch
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE, LogisticSolution
from kinlearn.solvers.logistic_path import Stopping
from kinlearn.threads import on_own_threads


class KernelLogisticRegressionCV(TunedLogistic, SingleLogistic, GridTuned):
    """Kernel logistic regression with its width and regularisation tuned by cross-validation.

    Minimises what :class:`KernelLogisticRegression` does (section 2 of [1]_), for every point of
    the grids that :class:`LSPCCV` uses, on every fold: there is no closed form for held-out scores
    of the logistic loss, so that each is a fit of its own, warm-started along the regs. Rows held
    out are held out as centres, too, where all rows are centres.

    Parameters
    ----------
    sigmas, regs : array-like of float, optional
        As in :class:`LSPCCV`: the same grids when left out, widened in the same way.
    cv : int, "loo", splitter or iterable, optional
        What is held out; a number makes stratified folds. Left out, there are five, or fewer where
        fewer rows (or groups) are distinct. ``"loo"`` is leave-one-out, or leave-one-group-out with
        ``groups``: a fit for every row (or group) at every point, n/5 times the cost of five folds.
    scoring : str or callable, optional
        As in :class:`LSPCCV`, of the model's own probabilities; when left out, the log-loss that
        the fit minimises, ``class_weight`` included. ``"squared_error"`` is the Brier score.
    combine : {"best", "within_se"}, default="best"
        ``"best"``: the best point. ``"within_se"``: of the best points of each width, the average
        of those within two paired standard errors of the best of all; their log-odds are averaged.
    solver, tol, max_iter
        As in :class:`KernelLogisticRegression`, for every fit of the search.
    store_cv_scores : bool, default=False
        Whether to keep the held-out scores of every grid point in ``cv_scores_``.
    kernel, n_centers, centers, center_selection, class_weight, degree, coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads, each with a fold of its own or a block of rows; as many as there are cores when
        left out, and 1 for none beside the caller's. The number changes no result.
    random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    sigma_, reg_, best_score_, best_index_, weights_
        As in :class:`LSPCCV`.
    cv_results_ : dict of arrays
        As in :class:`LSPCCV`, with ``max_gradient_norm``: the worst of a point's fits.
    held_out_scores_ : ndarray of shape (n_samples, n_classes)
        Held-out log-odds of the mix; NaN for rows never held out.
    held_out_links_ : ndarray of shape (n_samples, 3 + n_classes)
        As in :class:`LSPC`; here the same for all rows.
    gradient_norm_, n_iter_, n_factorisations_, beta_
        As in :class:`KernelLogisticRegression`, of the fits to all rows.
    classes_, coef_, kept_sigmas_, centers_, n_centers_, prior_, cv_scores_, cv_rows_, \
n_features_in_, feature_names_in_
        As in :class:`LSPCCV`.
    scoring_ : Scoring
        The criterion that the grid was scored by.

    References
    ----------
    .. [1] Simm, Sugiyama, Kato (2011). Computationally efficient multi-task learning with
       least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import KernelLogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = KernelLogisticRegressionCV(regs=[1e-9, 1e-7, 1e-5, 1e-3]).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        sigmas: Any = None,
        regs: Any = None,
        cv: Any = None,
        scoring: Any = None,
        combine: str = "best",
        solver: str = "newton",
        tol: float = GRADIENT_TOLERANCE,
        max_iter: int | None = None,
        store_cv_scores: bool = False,
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
        self.regs = regs
        self.cv = cv
        self.scoring = scoring
        self.combine = combine
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.store_cv_scores = store_cv_scores
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
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> KernelLogisticRegressionCV:
        """Search the grid, and fit what it found to all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the same as the row twice.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        KernelLogisticRegressionCV
            The fitted model.
        """
        check_choice("combine", self.combine, RULES)
        scoring, stopping = self._criterion(), self._stopping()
        data = self._prepare(X, y, sample_weight)
        if data.n_rows == 1:
            raise ValueError(
                "All training rows are identical (1 distinct sample), so nothing can be held out "
                "to tune on: use KernelLogisticRegression with settings of your own."
            )
        groups = check_groups(groups, data.labels.size)
        warn_of_copies(data, groups)
        return self._fit(data, groups, scoring, stopping)

    def _fit(
        self, data: TrainingSet, groups: np.ndarray | None, scoring: Any, stopping: Stopping
    ) -> KernelLogisticRegressionCV:
        kernel = self._kernel()
        median = self._median(data, kernel)
        sigmas = self._sigma_grid(kernel, median)
        validation = data.validation(self._cv(data, groups), groups, seed=self._seed())
        splits = validation.splits
        n_folds = splits.n_rows_held_out if splits.leave_one_out else len(splits.blocks)
        design = self._single_design(data, kernel, median, n_fits=sigmas.size * n_folds)
        grid = LogisticGrid(design, splits, stopping)
        search = GridSearch(
            axes={"sigma": sigmas, "reg": self._reg_grid(kernel, data, median)},
            growing={"sigma": self.sigmas is None and kernel.has_width, "reg": self.regs is None},
            evaluate=grid.evaluate,
            rows=self._log_odds_rows(data, validation),
            scoring=scoring,
            vote="sigma",
        )
        search.run()
        self._keep_search(search, scoring)
        self._keep_norms(grid.norms_of(search.points))
        weights = self._keep_log_odds(search)
        if self.store_cv_scores:
            self.cv_scores_ = search.scores
            self.cv_rows_ = data.units.first[validation.unit]
        kept = search.kept("sigma", weights)
        coefs, effort = [], list[LogisticSolution]()
        for sigma, regs, mix in kept:
            theta, found = design.solve(sigma, regs, mix, stopping)
            coefs.append(theta)
            effort += found
        self._keep_effort(effort)
        self._keep(np.array([sigma for sigma, _, _ in kept]), np.stack(coefs))
        return self
