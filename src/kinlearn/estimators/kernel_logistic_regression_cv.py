"""Kernel logistic regression tuned over widths and regs, by refitting on folds."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kinlearn.estimators._checks import check_choice, refuse_single_row
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._logistic import (
    INSTEAD,
    RULES,
    criterion_of,
    folds_of,
    stopping_of,
    warn_if_held_out_stopped,
    warn_if_stopped,
)
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.learnt_metric import InLearntMetric
from kinlearn.problems.logistic import LogisticPoser, LogisticProblem
from kinlearn.selection.grid import GridValues
from kinlearn.selection.held_out import HeldOut
from kinlearn.selection.kernel_grids import KernelGrids
from kinlearn.selection.search import GridSearch
from kinlearn.selection.tune import tune
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE
from kinlearn.threads import on_own_threads
from kinlearn.training.training_set import check_groups


class KernelLogisticRegressionCV(KernelClassifier):
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
    kernel, metric
        As in :class:`LSPCCV`.
    n_centers, centers, center_selection, class_weight, degree, coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads, each with a fold of its own or a block of rows; as many as there are cores when
        left out, and 1 for none beside the caller's. The number changes no result.
    random_state
        As in :class:`LSPC`.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    sigma_, reg_, best_score_, best_index_, weights_
        As in :class:`LSPCCV`.
    cv_results_ : dict of arrays
        As in :class:`LSPCCV`, with ``max_gradient_norm``: the worst of a point's fits.
    held_out_scores_ : ndarray of shape (n_samples, n_classes)
        Held-out log-odds of the mix; NaN for rows never held out.
    held_out_codes_ : ndarray of shape (n_samples,)
        Class number of each of these rows, in the order of ``classes_``.
    held_out_links_ : ndarray of shape (n_samples, 3 + n_classes)
        As in :class:`LSPC`; here the same for all rows.
    gradient_norm_, n_iter_, n_factorisations_, beta_
        As in :class:`KernelLogisticRegression`, of the fits to all rows.
    kept_kernels_, feature_relevance_, kernel_, metric_
        As in :class:`LSPCCV`.
    classes_, coef_, kept_sigmas_, centers_, n_centers_, prior_, cv_scores_, cv_rows_, \
n_features_in_, feature_names_in_
        As in :class:`LSPCCV`.
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
        self.regs = regs
        self.cv = cv
        self.scoring = scoring
        self.combine = combine
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.store_cv_scores = store_cv_scores
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
        scoring, stopping = criterion_of(self.scoring), stopping_of(self)
        values = GridValues.given(self.sigmas, self.regs)
        kernels = self._begin_several()
        data = self._read_classes(kernels, X, y, sample_weight)
        refuse_single_row(data.n_rows, INSTEAD)
        groups = check_groups(groups, data.n_passed)
        data.warn_of_copies(groups)
        validation = data.validation(folds_of(self.cv, data, groups), groups, seed=self._seed())
        median = data.median_width(kernels[0])
        centers = self._place_centers(data.X, data.rows, kernels[0], median)
        n_fits = values.n_widths * validation.splits.n_fits
        pose = LogisticPoser(centers, self.memory_mb, stopping, n_fits)
        grids = KernelGrids(kernels, pose, values, self.metric, scoring, self.combine, vote="sigma")
        posed, learnt = grids.posed(data, validation)
        tuned = tune(
            posed,
            HeldOut.of(data, validation).as_log_odds(fitted_loss=self.scoring is None),
            scoring,
            self.combine,
            scales=False,
            say=self._say,
        )
        facts = tuned.facts(self.store_cv_scores)
        norms = held_out_norms(tuned.search)
        facts["cv_results_"]["max_gradient_norm"] = norms
        warn_if_held_out_stopped(self, float(norms[tuned.search.best]))
        warn_if_stopped(self, facts)
        model = self._model(kernels[0], data, centers, tuned.solution, tuned.learnt.calibration)
        self._keep(model, **learnt, **facts)
        return self


def held_out_norms(search: GridSearch) -> np.ndarray:
    """Largest gradient norm among the held-out fits of each point."""
    return np.array(
        [
            cast(LogisticProblem | InLearntMetric, part.problem).norms[tuple(point.values())]
            for part in search.parts
            for point in part.points
        ]
    )
