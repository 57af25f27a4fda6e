"""MultiLabelLSPCCV: width, reg and sharing tuned, combined and calibrated in closed form."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from kinlearn.estimators._checks import check_choice, check_grid, check_positive
from kinlearn.estimators._label_design import LabelDesign
from kinlearn.estimators._label_training_set import LabelTrainingSet
from kinlearn.estimators._multilabel_base import MultiLabelClassifier
from kinlearn.estimators._training_set import check_groups
from kinlearn.estimators.multilabel_lspc import check_sharing, report_runs
from kinlearn.kernels import Kernel
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.selection import combine as combining
from kinlearn.selection.grids import SHARINGS, default_regs, default_sigmas
from kinlearn.selection.label_mixture import LabelMixture, learn_label_mixture
from kinlearn.selection.label_scoring import HeldOutLabels, resolve_label_scoring
from kinlearn.selection.label_search import LabelGridSearch
from kinlearn.selection.reporting import reported_scores
from kinlearn.solvers.label_fits import IterativeFit
from kinlearn.threads import on_own_threads, run_in_threads

# Held-out scores of the whole grid are kept up to this much memory; fewer rows beyond.
SCORES_MB = 1024
# Where every point is a run of conjugate gradients, each third reg and fewer sharings.
THIN_REGS = 3
THIN_SHARINGS = np.array([0.0, 0.5, 0.9, 0.99])


class MultiLabelLSPCCV(MultiLabelClassifier):
    """Multi-label LSPC with width, regularisation and sharing tuned and combined in closed form.

    One eigendecomposition per width, and one of the labels' Laplacian, give the exact leave-one-out
    scores of every (reg, sharing): the labels are rotated by L's eigenvectors, each rotated column
    is an LSPC with ``reg·(1 + κ l_k/T)``, and the scores are rotated back. From these scores the
    grid is scored, its points are combined, thresholds are set and the posterior is calibrated. The
    objective is that of :class:`MultiLabelLSPC` (section 4 of [1]_).

    Parameters
    ----------
    sigmas, regs, sharings : array-like of float, optional
        Values to try. Left out: the median distance times ¼ to 8; 20 regs from 1e-7 to about 3;
        sharings 0, 0.2, 0.5, 0.8, 0.95, 0.99, 1. A grid of sigmas or regs left out is widened when
        its optimum sits on an edge, a given one only warns. With unobserved labels the grid left
        out is thinner, since each of its points is a run of conjugate gradients.
    cv : "loo", int, splitter or iterable, default="loo"
        What is held out: one copy of a row, or folds over which the answers of every label are
        spread, shuffled, rare ones first. With unobserved labels or ``class_weight``, ``"loo"``
        means 5 folds.
    scoring : str or callable, optional
        What ``sigma_``, ``reg_``, ``sharing_`` and ``best_score_`` go by: ``"squared_error"`` (the
        default), ``"log_loss"``, ``"hamming_loss"``, ``"f1_micro"``, ``"f1_macro"``, ``"roc_auc"``
        (macro), ``"lrap"`` (label-ranking average precision), or a function of (Y_true, scores).
        Greater is better, losses are negated.
    combine : {"stack", "within_se", "best"}, default="stack"
        As in :class:`LSPCCV`.
    store_cv_scores : bool, default=False
        Whether to keep the held-out scores of every grid point in ``cv_scores_``.
    similarity, n_similar, tol, max_iter, threshold
        As in :class:`MultiLabelLSPC`.
    kernel, n_centers, centers, center_selection, posterior, fallback
        As in :class:`LSPC`.
    class_weight
        As in :class:`MultiLabelLSPC`.
    degree, coef0, memory_mb, random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    sigma_, reg_, sharing_ : float
        The best single point.
    best_score_ : float
        Its score.
    best_index_ : int
        Its position in ``cv_results_``.
    weights_ : ndarray of shape (n_points,)
        The mix: weight of each point of ``cv_results_``.
    cv_results_ : dict of arrays
        GridSearchCV's keys, with ``param_sigma``, ``param_reg`` and ``param_sharing``.
    kept_sigmas_ : ndarray
        Widths with weight in the mix.
    coef_ : ndarray of shape (len(kept_sigmas_), n_centers_, columns)
        Coefficients for each of these, scales of classes included.
    class_scales_ : list of ndarrays, or None
        Scale of each class of each learnt label when a calibrated posterior is stacked.
    intercept_ : ndarray of shape (columns,)
        Offsets of the scores; zero unless a calibrated posterior is stacked.
    cv_scores_ : ndarray of shape (n_points, n_rows, columns)
        Held-out scores of every point for the rows in ``cv_rows_``, if stored; equal rows with
        equal labels are one.
    held_out_scores_ : ndarray of shape (n_samples, columns)
        Scores of the rows, each with one copy of itself held out, mixed and scaled by what the
        other rows taught: each fifth of the rows by the other four.
    classes_, label_names_, learnt_, similarity_, beta_, betas_, gamma_, gammas_, score_floor_, \
prior_shift_, held_out_links_, thresholds_, prior_, n_iter_, residual_
        As in :class:`MultiLabelLSPC`.
    single_, indicator_
        As in :class:`MultiLabelLSPC`.
    cv_rows_ : ndarray of shape (n_rows,)
        Original position of each row of ``cv_scores_``, if stored.
    centers_, n_centers_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.

    References
    ----------
    .. [1] Nam, Hachiya, Sugiyama (2012). Computationally efficient multi-label classification by
       least-squares probabilistic classifier. ICASSP.

    Examples
    --------
    >>> from kinlearn import MultiLabelLSPCCV
    >>> from kinlearn.datasets import make_rotated_labels
    >>> X, Y = make_rotated_labels(160, n_labels=6, n_features=4, random_state=0)
    >>> model = MultiLabelLSPCCV(threshold="loo_f1").fit(X[:80], Y[:80])
    >>> model.predict_proba(X[80:]).shape
    (80, 6)
    >>> sorted(model.cv_results_["params"][0])
    ['reg', 'sharing', 'sigma']
    """

    def __init__(
        self,
        *,
        sigmas: Any = None,
        regs: Any = None,
        sharings: Any = None,
        cv: Any = "loo",
        scoring: Any = None,
        combine: str = "stack",
        store_cv_scores: bool = False,
        similarity: Any = "correlation",
        n_similar: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 10_000,
        threshold: float | str = 0.5,
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
        random_state: Any = None,
    ) -> None:
        self.sigmas = sigmas
        self.regs = regs
        self.sharings = sharings
        self.cv = cv
        self.scoring = scoring
        self.combine = combine
        self.store_cv_scores = store_cv_scores
        self.similarity = similarity
        self.n_similar = n_similar
        self.tol = tol
        self.max_iter = max_iter
        self.threshold = threshold
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
        self.random_state = random_state

    @on_own_threads
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> MultiLabelLSPCCV:
        """Search the grid, combine its points and calibrate.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like, DataFrame or CSR matrix of shape (n_samples, n_labels), or (n_samples,)
            0/1 indicators or integer classes per column, NaN where unobserved.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        MultiLabelLSPCCV
            The fitted model.
        """
        check_choice("combine", self.combine, combining.RULES)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter)
        data = self._prepare_labels(X, y, sample_weight)
        scoring = resolve_label_scoring(self.scoring, self.indicator_)
        if data.n_rows == 1:
            raise ValueError(
                "All training rows are identical (1 distinct sample), so nothing can be held out "
                "to tune on: use MultiLabelLSPC, which then predicts the class frequencies."
            )
        groups = check_groups(groups, len(data.table.codes))
        kernel = self._kernel()
        median = self._median(data, kernel)  # type: ignore[arg-type]
        axes = self._axes(data, kernel, median)
        design = self._label_design(data, kernel, median, n_decompositions=axes["sigma"].size)
        search = self._search(data, design, axes, groups, kernel, scoring)
        self._start_fit(data)
        found = self._keep_label_mixture(search, data)
        self._keep_search(search)
        if self.store_cv_scores:
            self.cv_scores_ = search.scores
            self.cv_rows_ = data.units.first[search.rows.validation.unit]
        del search.scores
        kept = search.kept_points(found.weights)
        coefs = np.stack([self._coefficients(design, *mix) for mix in kept])
        if self.class_scales_ is not None:
            coefs = search.rows.layout.scaled(coefs, self.class_scales_)
        self._keep_labels(np.array([sigma for sigma, _, _ in kept]), coefs, data)
        return self

    def _keep_label_mixture(self, search: LabelGridSearch, data: LabelTrainingSet) -> LabelMixture:
        """Combine the points and calibrate; keep it, and the held-out scores as reported."""
        calibrated, balance = self.posterior == "calibrated", self._label_balance(data)

        def learn(rows: HeldOutLabels) -> LabelMixture:
            judged = search if rows is search.rows else search.on(rows)
            return learn_label_mixture(judged, self.combine, balance, calibrated)

        found = learn(search.rows)
        self.weights_ = found.weights
        self.class_scales_: list[np.ndarray] | None = found.calibration.scales
        self.intercept_ = found.calibration.offset
        self._keep_label_links(found.calibration.common, found.calibration.links)
        self._set_thresholds(search.rows, found.scores)
        self._keep_reported(
            reported_scores(
                search.rows,
                learn,
                score=lambda learnt: learnt.scores,
                numbers=lambda learnt: learnt.calibration.numbers(),
                n_scores=search.scores.size,
            )
        )
        return found

    def _scores(self, X: Any) -> np.ndarray:
        return super()._scores(X) + self.intercept_

    def _axes(self, data: LabelTrainingSet, kernel: Kernel, median: float) -> dict[str, np.ndarray]:
        thin = not data.complete
        if not kernel.has_width:
            sigmas = np.ones(1)
        else:
            sigmas = (
                default_sigmas(median) if self.sigmas is None else check_grid("sigmas", self.sigmas)
            )
        if self.regs is None:
            regs = default_regs(self._mean_diagonal(data, kernel, median))  # type: ignore[arg-type]
            regs = regs[::THIN_REGS] if thin else regs
        else:
            regs = check_grid("regs", self.regs)
        if len(data.active) == 1:
            sharings = np.zeros(1)  # one label shares with nobody
        elif self.sharings is None:
            sharings = THIN_SHARINGS if thin else SHARINGS
        else:
            given = np.asarray(self.sharings, dtype=np.float64).ravel()
            if given.size == 0:
                raise ValueError("sharings is empty: give at least one number between 0 and 1.")
            sharings = np.unique([check_sharing("Each of sharings", float(s)) for s in given])
        return {"sigma": sigmas, "sharing": sharings, "reg": regs}

    def _search(
        self,
        data: LabelTrainingSet,
        design: LabelDesign,
        axes: dict[str, np.ndarray],
        groups: Any,
        kernel: Kernel,
        scoring: Any,
    ) -> LabelGridSearch:
        n_columns = sum(len(problem.columns) for problem in design.problems)
        n_points = int(np.prod([values.size for values in axes.values()]))
        max_rows = max(100, SCORES_MB * 2**20 // (4 * n_points * n_columns))
        validation = self._validation(
            self.cv, data, groups, closed_form=design.complete, max_rows=max_rows
        )
        splits = validation.splits
        # Single precision stores scores well enough to select by; they are computed in double.
        small = 8 * n_points * n_columns * splits.n_rows_held_out <= SCORES_MB * 2**20 // 4
        dtype = np.float64 if small else np.float32

        def evaluate(values: dict[str, np.ndarray]) -> np.ndarray:
            points = [
                (float(reg), float(sharing))
                for sharing, reg in product(values["sharing"], values["reg"])
            ]

            def one_width(sigma: float) -> np.ndarray:
                fit = design.search_fit(float(sigma), int(self.max_iter))
                return fit.held_out(points, splits, dtype)

            side = design.features.n_centers
            return np.concatenate(run_in_threads(one_width, values["sigma"], side=side))

        search = LabelGridSearch(
            axes=axes,
            growing={"sigma": self.sigmas is None and kernel.has_width, "reg": self.regs is None},
            evaluate=evaluate,
            rows=self._held_out_labels(data, design, validation),
            scoring=scoring,
        )
        search.run()
        return search

    def _keep_search(self, search: LabelGridSearch) -> None:
        self.cv_results_ = search.results()
        self.best_index_ = search.best
        self.best_score_ = float(search.mean_scores[search.best])
        best = search.points[search.best]
        self.sigma_, self.reg_, self.sharing_ = best["sigma"], best["reg"], best["sharing"]
        self.n_iter_, self.residual_ = 1, 0.0

    def _coefficients(
        self,
        design: LabelDesign,
        sigma: float,
        points: list[tuple[float, float]],
        mix: np.ndarray,
    ) -> np.ndarray:
        if design.complete:
            return design.search_fit(sigma, int(self.max_iter)).coefficients(points, mix)
        fit = design.fit(sigma, "auto", self.tol, int(self.max_iter))
        coef = fit.coefficients(points, mix)
        assert isinstance(fit, IterativeFit)
        steps, residual = report_runs(fit)
        self.n_iter_ += steps
        self.residual_ = max(self.residual_, residual)
        return coef
