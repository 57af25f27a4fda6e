"""MultiLabelLSPCCV: width, sharing and reg of many labels tuned, combined and calibrated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinlearn.all_or_nothing import unfitted
from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators._at_scale import (
    Block,
    Chosen,
    ScaledFit,
    choose_on_sample,
    choose_tuned_polish,
    fit_chosen,
)
from kinlearn.estimators._checks import (
    check_choice,
    check_positive,
    refuse_single_row,
    sharing_grid,
)
from kinlearn.estimators._classifier import MAX_HELD_OUT_ROWS, are_collections
from kinlearn.estimators._label_classifier import (
    MultiLabelClassifier,
    check_threshold,
    find_thresholds,
    pose_labels,
    similarity_of,
)
from kinlearn.estimators._polish import (
    AUTO_ROWS,
    PolishChoice,
    check_polish,
    label_obstacles,
    polish_of_sums,
)
from kinlearn.kernels import Kernel
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.from_sums import Posed
from kinlearn.problems.labels import LabelsPoser
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.selection import combine as combining
from kinlearn.selection.grid import SHARINGS, Grid, GridValues
from kinlearn.selection.held_out import Columns, HeldOut
from kinlearn.selection.kernel_grids import KernelGrids
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.selection.tune import tune
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads
from kinlearn.training.centers import Centers
from kinlearn.training.training_set import TrainingSet, check_groups

# Where every point is iterated, of the default grid every third reg, and these degrees of sharing.
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
    kernel : str, callable or list of these, default=("rbf", "laplacian")
        As in :class:`LSPCCV`.
    metric : {"auto", "diagonal", "full"} or None, default="auto"
        As in :class:`LSPCCV`; learnt from all labels together. ``"auto"`` learns none where labels
        are unobserved, for fits are then by iterations.
    polish : "auto", None or int, default="auto"
        As in :class:`LSPCCV`: of many rows, kernel, width and reg are chosen on a sample, labels by
        themselves, and the polish gives every label a sigmoid. It shares nothing between labels
        (``sharing_`` is 0), so that ``sharings=`` keeps the closed form, as ``"loo_f1"`` does.
    n_centers, centers, center_selection, posterior, fallback
        As in :class:`LSPC`.
    class_weight
        As in :class:`MultiLabelLSPC`.
    degree, coef0, memory_mb, random_state
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads; as many as there are cores when left out, and 1 for none beside the caller's. The
        number changes no result.
    verbose : bool, default=False
        Whether to print progress.

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
    kept_kernels_, feature_relevance_, kernel_, metric_
        As in :class:`LSPCCV`.
    coef_ : ndarray of shape (len(kept_sigmas_), n_centers_, columns)
        Coefficients for each of these, scales of classes included.
    class_scale_ : list of ndarrays
        Scale of each class of each learnt label; ones unless a calibrated posterior is stacked.
    scoring_ : str or callable
        The criterion that the grid was scored by.
    intercept_ : ndarray of shape (columns,)
        Offsets of the scores; zero unless a calibrated posterior is stacked.
    cv_scores_ : ndarray of shape (n_points, n_rows, columns)
        Held-out scores of every point for the rows in ``cv_rows_``, if stored; equal rows with
        equal labels are one.
    held_out_scores_ : ndarray of shape (n_samples, columns)
        Scores of the rows, each with one copy of itself held out, mixed and scaled by what the
        other rows taught: each fifth of the rows by the other four.
    classes_, label_names_, learnt_, similarity_, beta_, betas_, gamma_, gammas_, score_floor_, \
prior_shift_, held_out_links_, held_out_codes_, thresholds_, prior_, n_iter_, residual_
        As in :class:`MultiLabelLSPC`.
    single_, indicator_
        As in :class:`MultiLabelLSPC`.
    cv_rows_ : ndarray of shape (n_rows,)
        Original position of each row of ``cv_scores_``, if stored.
    centers_, n_centers_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
    best_params_ : dict
        The best single point.
    polish_path_, polish_penalty_, polish_reason_
        As in :class:`LSPC`, of a fit that was polished.
    statistics_, held_out_log_loss_
        As in :class:`LSPC`, after ``partial_fit``, ``fit_stream`` or ``fit_statistics``.
    model_ : KernelModel
        The fitted model as a value, of which other attributes show parts.

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
    ['kernel', 'metric', 'reg', 'sharing', 'sigma']
    """

    partial_fit = streaming.partial_fit
    forget = streaming.forget
    calibrate = streaming.calibrate
    fit_stream = streaming.fit_stream
    fit_statistics = streaming.fit_statistics
    refit = streaming.refit

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
        kernel: Any = ("rbf", "laplacian"),
        metric: str | None = "auto",
        polish: Any = "auto",
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
        n_jobs: int | None = None,
        verbose: bool = False,
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
        self.metric = metric
        self.polish = polish
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
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        if are_collections(X, y, sample_weight, groups):
            return streaming.fit_collections(self, X, y, sample_weight, groups)
        check_choice("combine", self.combine, combining.RULES)
        check_polish(self.polish)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter)
        kernels = self._begin_several()
        data = self._read_labels(kernels, X, y, sample_weight)
        scoring = resolve_scoring(self.scoring, labels=True, indicator=data.table.indicator)
        refuse_single_row(data.n_rows, "MultiLabelLSPC, which then predicts class frequencies")
        groups = check_groups(groups, data.n_passed)
        facts = self._polished(kernels, data, groups, scoring)
        if facts is None:
            return self
        values, median = self._values(data), data.median_width(kernels[0])
        centers = self._place_centers(data.X, data.rows, kernels[0], median)
        pose = self._poser(centers, values.n_widths)
        problem = pose(kernels[0], data)
        sizes = [axis.size for axis in values.axes(kernels[0], data).values()]
        n_points = int(np.prod(sizes)) * len(kernels)
        validation = data.validation(
            self.cv,
            groups,
            closed_form=problem.complete,
            max_rows=min(problem.most_rows(n_points), MAX_HELD_OUT_ROWS),
            seed=self._seed(),
        )
        metric = self.metric if data.complete or self.metric != "auto" else None
        grids = KernelGrids(kernels, pose, values, metric, scoring, self.combine)
        posed, learnt = grids.posed(data, validation)
        tuned = tune(
            posed,
            HeldOut.of(data, validation, Columns(*problem.columns())),
            scoring,
            self.combine,
            scales=self.posterior == "calibrated",
            calibrated=self.posterior == "calibrated",
            say=self._say,
        )
        calibration = tuned.learnt.calibration
        model = self._model(kernels[0], data, centers, tuned.solution, calibration)
        labels = model.labels
        thresholds = find_thresholds(
            self,
            labels.learnt,
            labels.indicator,
            calibration,
            labels.learnt_priors,
            tuned.search.rows,
            tuned.learnt.scores,
        )
        self._keep(
            model.with_thresholds(thresholds),
            similarity_=similarity_of(data, problem.similarities),
            **facts,
            **learnt,
            **tuned.facts(self.store_cv_scores),
        )
        return self

    def _polished(
        self, kernels: list[Kernel], data: TrainingSet, groups: Any, scoring: Any
    ) -> dict[str, Any] | None:
        """Tune on a sample and polish; what is to be told where the closed form stays."""
        obstacles = label_obstacles(data)
        if self.sharings is not None:
            obstacles.append("sharings= asks for labels that share, and a polish shares nothing")
        choice = choose_tuned_polish(self, kernels[0], data, obstacles)
        facts: dict[str, Any] = {"polish_reason_": choice.reason}
        if choice.passes is None:
            return facts

        chosen = self._chosen_of_sample(kernels, data, scoring, groups)
        scaled = fit_chosen(self, chosen, data, choice.passes, groups)
        if not isinstance(scaled, ScaledFit):
            return {"polish_reason_": scaled}
        found = scaled.polished
        model = self._model(kernels[0], data, scaled.centers, scaled.solution, found.calibration)
        thresholds = None
        if data.table.indicator:
            thresholds = np.full(model.labels.learnt.size, float(self.threshold))
        similarities = self._poser(scaled.centers)(kernels[0], data).similarities
        self._keep(
            model.with_thresholds(thresholds),
            similarity_=similarity_of(data, similarities),
            residual_=0.0,
            **facts,
            **scaled.facts,
            **found.facts,
        )
        return None

    def _block_of_rows(self, X: Any, y: Any, sample_weight: Any) -> Block | None:
        """Kernel, metric and width of a stream, by leave-one-out of its first rows."""
        if self.sigmas is not None or len(y) < AUTO_ROWS:
            return None
        alone = unfitted(self).set_params(class_weight=None)
        kernels = alone._kernels()
        data = alone._read_labels(kernels, X, y, sample_weight)
        if data.n_rows < AUTO_ROWS or label_obstacles(data) or not len(data.active):
            return None
        scoring = resolve_scoring(self.scoring, labels=True, indicator=data.table.indicator)
        return alone._chosen_of_sample(kernels, data, scoring).blocks[0]

    def _chosen_of_sample(
        self, kernels: list[Kernel], data: TrainingSet, scoring: Any, groups: Any = None
    ) -> Chosen:
        """Kernels, metric, width and reg by a sample of the rows, labels sharing nothing."""
        values = replace(self._values(data), sharings=np.zeros(1))

        def poser(centers: Centers, n_rows: int) -> LabelsPoser:
            return self._poser(centers, values.n_widths)

        return choose_on_sample(self, kernels, data, scoring, values, poser, groups)

    def _values(self, data: TrainingSet) -> GridValues:
        """What is tried, coarser where nothing has a closed form."""
        thin, sharings = not data.complete, np.zeros(1)  # one label shares with nobody
        if len(data.active) > 1:
            sharings = sharing_grid(self.sharings, THIN_SHARINGS if thin else SHARINGS)
        return GridValues.given(self.sigmas, self.regs, sharings, THIN_REGS if thin else 1)

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose."""
        return pose_labels(self, sums, rows, factors)

    def _stream_grid(self, posed: Posed, sums: NormalEquations) -> Grid:
        shared = posed.labels.layout.n_labels > 1
        sharings = sharing_grid(self.sharings, SHARINGS) if shared else np.zeros(1)
        axes = GridValues.given(None, self.regs, sharings).axes_of_sums(sums)
        return Grid(axes, {"reg": self.regs is None})

    def _polish_choice(self, sums: NormalEquations) -> PolishChoice:
        """Whether a fit from sums is polished."""
        return polish_of_sums(self, sums)

    def _check_stream_parameters(self) -> None:
        check_choice("combine", self.combine, combining.RULES)
        check_threshold(self.threshold)
        sharing_grid(self.sharings, SHARINGS)
