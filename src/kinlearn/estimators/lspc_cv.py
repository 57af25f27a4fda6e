"""LSPCCV: widths and regs tuned, combined and calibrated by closed-form leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinlearn.all_or_nothing import unfitted
from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators._at_scale import (
    Block,
    ScaledFit,
    choose_on_sample,
    choose_tuned_polish,
    fit_chosen,
)
from kinlearn.estimators._checks import check_choice, refuse_single_row
from kinlearn.estimators._classifier import MAX_HELD_OUT_ROWS, KernelClassifier, are_collections
from kinlearn.estimators._polish import (
    AUTO_ROWS,
    PolishChoice,
    check_polish,
    polish_of_sums,
)
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.from_sums import OneTaskOfSums, Posed, class_labels
from kinlearn.problems.one_task import OneTaskPoser
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.selection import combine as combining
from kinlearn.selection.grid import Grid, GridValues
from kinlearn.selection.held_out import HeldOut, HoldingOut
from kinlearn.selection.kernel_grids import KernelGrids
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.selection.tune import Repeated, tune
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads
from kinlearn.training.centers import Centers
from kinlearn.training.training_set import check_groups

SINGLE = "LSPC, which then predicts the class frequencies"
PRECISIONS = ("auto", "double", "single")
# All of them fade far from the rows. A linear one would gain a little on some tables, and answer
# rows from nowhere with full confidence.
DEFAULT_KERNELS = ("rbf", "laplacian", "matern32")


class LSPCCV(KernelClassifier):
    """LSPC with its width and regularisation tuned, combined and calibrated in closed form.

    The objective is that of :class:`LSPC` (Eqs. 2-3 of [1]_). One eigendecomposition per width
    gives the exact held-out scores of every `reg`. From these the grid is scored, its points are
    combined, and the posterior is calibrated: nothing is refitted.

    Parameters
    ----------
    sigmas : array-like of float, optional
        Widths to try; the median distance times ¼, ½, 1, 2, 4, 8 when left out.
    regs : array-like of float, optional
        Regularisation strengths to try; 20 from 1e-7 to about 3 (times the squared mean diagonal of
        the kernel) when left out. A grid left out is widened when its optimum sits on an edge, a
        given one only warns.
    cv : "loo", int, splitter or iterable, default="loo"
        What is held out. ``"loo"`` is leave-one-out, or leave-one-group-out with ``groups``.
    scoring : str or callable, optional
        What ``sigma_``, ``reg_`` and ``best_score_`` go by: ``"squared_error"`` (the default),
        ``"log_loss"``, ``"brier"``, ``"accuracy"``, ``"roc_auc"``, ``"f1"``, scikit-learn's names
        for these, or a function of (y_true, scores). Greater is better. Log-loss and Brier score
        are of the calibrated held-out posterior.
    combine : {"stack", "within_se", "best"}, default="stack"
        ``"stack"``: non-negative least squares of the targets on the held-out scores of the whole
        grid, then, for the calibrated posterior, the weights of the points it keeps, and of a few
        that log-loss has a use for, moved towards the least log-loss, and a scale and an offset
        for each class, shrunk towards one scale and no offset (not with a class_weight, whose
        scores are meant to lean); with few rows the weights stay near the best point, and are in
        part those of ``"within_se"``.
        ``"within_se"``: the average of the points within two paired standard errors of the best.
        ``"best"``: the best point alone.
    precision : {"auto", "double", "single"}, default="auto"
        Arithmetic of the search. ``"auto"`` searches in single precision from 800 rows on, where
        that resolves the smallest reg. The model itself is always solved in double.
    store_cv_scores : bool, default=False
        Whether to keep the held-out scores of every grid point in ``cv_scores_``.
    kernel : str, callable or list of these, default=("rbf", "laplacian", "matern32")
        As in :class:`LSPC`. Grid points of several kernels are scored and combined together, each
        kernel with widths around its own median distance; given `sigmas` are those of all.
        ``fit_stream`` and fits to Dask collections choose one kernel, metric and width by
        leave-one-out of their first rows, from 5,000 on; ``partial_fit`` takes the first kernel, at
        its median distance. The kernels of the default fade far
        from all rows, so that a row from nowhere gets no confident answer; ``"linear"`` does not.
    metric : {"auto", "diagonal", "full"} or None, default="auto"
        Also try the kernels ``"rbf"`` and ``"laplacian"``, where they are among those given, in a
        metric learnt from the gradient of a fit: columns times the roots of their relevances, or
        rows times a matrix. It is learnt without each of a few folds of rows, whose held-out scores
        are those in the metric of the others. From at most 1,500 rows. ``"auto"`` is
        ``"diagonal"`` from 100 rows and two columns on, and none below.
    polish : "auto", int or None, default="auto"
        As in :class:`LSPC`. A fit that is polished is tuned on a sample of 3,000 rows: the best
        kernel, metric and width of it, and a second kernel where the stack wants one, make the
        features of all rows; beside others, kernels without a width are tried on all rows, over
        few centres; ``metric="auto"`` is then ``"full"`` up to 200 columns, centres are
        chosen in the learnt metric, and ``n_centers="auto"`` grows with the root of the rows, from
        1,500 to 4,000. `combine` then has no say, and what is told of the search is of the sample.
    n_centers, centers, center_selection, basis
        As in :class:`LSPC`.
    posterior, fallback, class_weight
        As in :class:`LSPC`. With ``posterior="rounded_parameters"`` the search goes by the scores
        before rounding.
    degree, coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads, each with a width of its own or a block of rows; as many as there are cores when
        left out, and 1 for none beside the caller's. The number changes no result.
    verbose : bool, default=False
        Whether to print progress.
    random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    sigma_, reg_ : float
        The best single point.
    kernel_, metric_ : str
        Its kernel and metric, where there are several.
    best_score_ : float
        Its score.
    best_index_ : int
        Its position in ``cv_results_``.
    weights_ : ndarray of shape (n_points,)
        The mix: weight of each point of ``cv_results_``.
    cv_results_ : dict of arrays
        ``params``, ``param_sigma``, ``param_reg``, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``, times, and ``split*_test_score`` for k-fold.
    kept_sigmas_ : ndarray
        Widths with weight in the mix.
    kept_kernels_ : list of str
        The kernel of each of these.
    feature_relevance_ : ndarray of shape (n_features_in_,)
        With a `metric`: how much the scores change along each column, of mean one; near zero for
        what does not matter.
    coef_ : ndarray of shape (len(kept_sigmas_), n_centers_, n_classes)
        Coefficients for each of these, ``class_scale_`` included.
    class_scale_, intercept_ : ndarray of shape (n_classes,)
        The scores are ``class_scale_`` times the mix of the points' scores, plus ``intercept_``;
        ones and zeros unless a calibrated posterior is stacked.
    beta_ : float
        Calibration.
    held_out_scores_ : ndarray of shape (n_samples, n_classes)
        Held-out scores of the training rows; NaN for rows never held out. Weights, scales and
        offsets are those that the other folds of rows teach, so that no label scores its own row.
    gamma_, score_floor_, prior_shift_, held_out_links_, held_out_codes_
        As in :class:`LSPC`.
    cv_scores_ : ndarray of shape (n_points, n_rows, n_classes)
        Held-out scores of every point for the distinct rows in ``cv_rows_``, if stored.
    cv_rows_ : ndarray of shape (n_rows,)
        Original position of each row of ``cv_scores_``, if stored.
    classes_, centers_, n_centers_, prior_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
    scoring_ : Scoring
        The criterion that the grid was scored by.
    best_params_ : dict
        The best single point.
    n_iter_, polish_path_, polish_penalty_, polish_reason_
        As in :class:`LSPC`, of a fit that was polished.
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
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPCCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LSPCCV()).fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
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
        cv: Any = "loo",
        scoring: Any = None,
        combine: str = "stack",
        precision: str = "auto",
        store_cv_scores: bool = False,
        kernel: Any = DEFAULT_KERNELS,
        metric: str | None = "auto",
        polish: Any = "auto",
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        basis: str = "full",
        posterior: str = "calibrated",
        fallback: str = "uniform",
        class_weight: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.sigmas = sigmas
        self.regs = regs
        self.cv = cv
        self.scoring = scoring
        self.combine = combine
        self.precision = precision
        self.store_cv_scores = store_cv_scores
        self.kernel = kernel
        self.metric = metric
        self.polish = polish
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.basis = basis
        self.posterior = posterior
        self.fallback = fallback
        self.class_weight = class_weight
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @on_own_threads
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LSPCCV:
        """Search the grid, combine its points and calibrate.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the same as the row twice.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together, for tuning, stacking and calibration alike.

        Returns
        -------
        LSPCCV
            The fitted model.
        """
        if are_collections(X, y, sample_weight, groups):
            return streaming.fit_collections(self, X, y, sample_weight, groups)
        check_choice("combine", self.combine, combining.RULES)
        check_polish(self.polish)
        check_choice("precision", self.precision, PRECISIONS)
        scoring, values = resolve_scoring(self.scoring), GridValues.given(self.sigmas, self.regs)
        kernels = self._begin_several()
        poser = self._poser(values.n_widths, len(kernels))
        data = self._read_classes(kernels, X, y, sample_weight)
        refuse_single_row(data.n_rows, SINGLE)
        groups = check_groups(groups, data.n_passed)
        data.warn_of_copies(groups)
        polish = choose_tuned_polish(self, kernels[0], data)
        facts: dict[str, Any] = {"polish_reason_": polish.reason}
        if polish.passes is not None:
            chosen = choose_on_sample(self, kernels, data, scoring, values, poser, groups)
            scaled = fit_chosen(self, chosen, data, polish.passes, groups)
            if isinstance(scaled, ScaledFit):
                found, solution = scaled.polished, scaled.solution
                model = self._model(kernels[0], data, scaled.centers, solution, found.calibration)
                self._keep(model, **facts, **scaled.facts, **found.facts)
                return self
            facts["polish_reason_"] = scaled
        median = data.median_width(kernels[0])
        centers = self._place_centers(data.X, data.rows, kernels[0], median)
        limit = None if centers.everything else MAX_HELD_OUT_ROWS
        holding_out = HoldingOut(self.cv, groups, self._seed())
        validation = holding_out.of(data, limit)
        pose = poser(centers, data.n_rows)
        grids = KernelGrids(
            kernels, pose, values, self.metric, scoring, self.combine, halving=holding_out
        )
        posed, learnt = grids.posed(data, validation)
        tuned = tune(
            posed,
            HeldOut.of(data, validation),
            scoring,
            self.combine,
            scales=self.posterior == "calibrated",
            repeated=Repeated.where_cheap(holding_out, data, centers),
            say=self._say,
        )
        model = self._model(kernels[0], data, centers, tuned.solution, tuned.learnt.calibration)
        self._keep(model, **facts, **learnt, **tuned.facts(self.store_cv_scores))
        return self

    def _poser(self, n_widths: int, n_kernels: int) -> Callable[[Centers, int], OneTaskPoser]:
        """What makes a poser, from centres and the number of rows they stand for."""
        return partial(
            OneTaskPoser,
            memory_mb=self.memory_mb,
            n_widths=n_widths,
            n_kernels=n_kernels,
            basis=self.basis,
            precision=self.precision,
        )

    def _block_of_rows(self, X: Any, y: Any, sample_weight: Any) -> Block | None:
        """Kernel, metric and width of a stream, by leave-one-out of its first rows."""
        if self.sigmas is not None or len(y) < AUTO_ROWS:
            return None
        alone = unfitted(self).set_params(class_weight=None)
        kernels = alone._kernels()
        data = alone._read_classes(kernels, X, y, sample_weight)
        if data.n_rows < AUTO_ROWS or len(data.table.classes[0]) < 2:
            return None
        values, scoring = GridValues.given(None, self.regs), resolve_scoring(self.scoring)
        poser = self._poser(values.n_widths, len(kernels))
        return choose_on_sample(alone, kernels, data, scoring, values, poser).blocks[0]

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose."""
        labels = class_labels(sums, factors, type(self).__name__)
        return Posed(OneTaskOfSums(sums, rows), labels, rows)

    def _stream_grid(self, posed: Posed, sums: NormalEquations) -> Grid:
        values = GridValues.given(None, self.regs)
        return Grid(values.axes_of_sums(sums), {"reg": self.regs is None})

    def _polish_choice(self, sums: NormalEquations) -> PolishChoice:
        """Whether a fit from sums is polished."""
        return polish_of_sums(self, sums)

    def _check_stream_parameters(self) -> None:
        check_choice("combine", self.combine, combining.RULES)
        resolve_scoring(self.scoring)
