"""LSPCCV: widths and regs tuned, combined and calibrated by closed-form leave-one-out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn.estimators._base import MAX_HELD_OUT_ROWS
from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._designs import FAST_ROWS, Design, Spectrum
from kinlearn.estimators._duplicate_rows import warn_of_copies
from kinlearn.estimators._training_set import TrainingSet, check_groups
from kinlearn.estimators._tuned import GridTuned
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.selection import combine as combining
from kinlearn.selection.reporting import with_shares_of
from kinlearn.selection.scoring import resolve_scoring
from kinlearn.selection.search import GridSearch
from kinlearn.solvers.splits import Splits
from kinlearn.threads import on_own_threads, run_in_threads

PRECISIONS = ("auto", "double", "single")
# Decompositions kept for the refit, instead of being made again, up to this much memory.
KEPT_SPECTRA_MB = 1024
# Up to this many rows the search is repeated for what is reported of held-out rows.
SEARCHED_AGAIN = 250


class LSPCCV(GridTuned):
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
        grid, then, for the calibrated posterior, the weights of the points it keeps moved towards
        the least log-loss, and a scale and an offset for each class, shrunk towards one scale and
        no offset (not with a class_weight, whose scores are meant to lean). ``"within_se"``: the
        average of the points within two paired standard errors of the best. ``"best"``: the best
        point alone.
    precision : {"auto", "double", "single"}, default="auto"
        Arithmetic of the search. ``"auto"`` searches in single precision from 800 rows on, where
        that resolves the smallest reg. The model itself is always solved in double.
    store_cv_scores : bool, default=False
        Whether to keep the held-out scores of every grid point in ``cv_scores_``.
    kernel, n_centers, centers, center_selection, basis
        As in :class:`LSPC`.
    posterior, fallback, class_weight
        As in :class:`LSPC`. With ``posterior="rounded_parameters"`` the search goes by the scores
        before rounding.
    degree, coef0, memory_mb
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads, each with a width of its own or a block of rows; as many as there are cores when
        left out, and 1 for none beside the caller's. The number changes no result.
    verbose : int, default=0
        Whether to print progress.
    random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    sigma_, reg_ : float
        The best single point.
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
    gamma_, score_floor_, prior_shift_, held_out_links_
        As in :class:`LSPC`.
    cv_scores_ : ndarray of shape (n_points, n_rows, n_classes)
        Held-out scores of every point for the distinct rows in ``cv_rows_``, if stored.
    cv_rows_ : ndarray of shape (n_rows,)
        Original position of each row of ``cv_scores_``, if stored.
    classes_, centers_, n_centers_, prior_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
    scoring_ : Scoring
        The criterion that the grid was scored by.

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
        kernel: Any = "rbf",
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
        verbose: int = 0,
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
        check_choice("combine", self.combine, combining.RULES)
        check_choice("precision", self.precision, PRECISIONS)
        scoring = resolve_scoring(self.scoring)
        data = self._prepare(X, y, sample_weight)
        if data.n_rows == 1:
            raise ValueError(
                "All training rows are identical (1 distinct sample), so nothing can be held out "
                "to tune on: use LSPC, which then predicts the class frequencies."
            )
        groups = check_groups(groups, data.labels.size)
        warn_of_copies(data, groups)
        return self._fit(data, groups, scoring)

    def _fit(self, data: TrainingSet, groups: np.ndarray | None, scoring: Any) -> LSPCCV:
        kernel = self._kernel()
        median = self._median(data, kernel)
        sigmas = self._sigma_grid(kernel, median)
        few = data.n_rows <= SEARCHED_AGAIN
        design = self._design(data, kernel, median, n_decompositions=sigmas.size, keep=few)
        self._warn_if_indefinite(data, design)
        regs = self._reg_grid(kernel, data, median)
        limit = MAX_HELD_OUT_ROWS if design.fixed_centers else None
        validation = data.validation(self.cv, groups, max_rows=limit, seed=self._seed())
        rows = self._held_out_rows(data, validation)
        widths = Widths(self, design, validation.splits, data)
        search = GridSearch(
            axes={"sigma": sigmas, "reg": regs},
            growing={
                "sigma": self.sigmas is None and kernel.has_width,
                "reg": self.regs is None,
            },
            evaluate=widths.evaluate,
            rows=rows,
            scoring=scoring,
            lowest={"reg": widths.least_reg(regs)},
        )
        search.run()
        self._keep_search(search, scoring)
        again = self._search_again(data, design, search, groups)
        found = self._keep_mixture(search, data, class_scales=True, search_without=again)
        self.class_scale_, self.intercept_ = found.calibration.scale, found.calibration.offset
        if self.store_cv_scores:
            self.cv_scores_ = search.scores
            self.cv_rows_ = data.units.first[validation.unit]
        kept = search.kept("sigma", found.weights)
        coefs = np.stack(widths.coefficients(kept)) * self.class_scale_
        self._keep(np.array([sigma for sigma, _, _ in kept]), coefs)
        return self

    def _search_again(
        self,
        data: TrainingSet,
        design: Design,
        search: GridSearch,
        groups: np.ndarray | None,
    ) -> Callable[[np.ndarray], GridSearch] | None:
        """Return what repeats the search without some passed rows; None where that is costly."""
        repeatable = isinstance(self.cv, (str, int, np.integer))
        if data.n_rows > SEARCHED_AGAIN or not repeatable or design.fixed_centers:
            return None

        def search_without(passed: np.ndarray) -> GridSearch:
            part, kept = data.without(passed)
            small = design.part(kept, part.fit_targets, part.fit_weights)
            assert small is not None
            validation = part.validation(self.cv, groups, seed=self._seed())
            widths = Widths(self, small, validation.splits, part)
            scores = widths.evaluate(search.axes)
            rows = self._held_out_rows(part, validation)
            return search.with_scores(scores, with_shares_of(rows, search.rows))

        return search_without

    def _scores(self, X: Any) -> np.ndarray:
        return super()._scores(X) + self.intercept_


class Widths:
    """Held-out scores and coefficients by width, decomposing each as few times as memory allows."""

    def __init__(self, owner: LSPCCV, design: Design, splits: Splits, data: TrainingSet) -> None:
        self.design, self.splits, self.units = design, splits, data.unit_targets
        self.precision, self.n_rows, self.verbose = owner.precision, data.n_rows, owner.verbose
        self.kept: dict[float, tuple[Spectrum, bool]] = {}

    def evaluate(self, points: dict[str, np.ndarray]) -> np.ndarray:
        """Return held-out scores of all pairs of ``points["sigma"]`` and ``points["reg"]``."""
        sigmas, regs = points["sigma"], points["reg"]
        single = self._single(regs)
        # which to keep is settled before threads finish in whatever order they do
        fresh = [float(sigma) for sigma in sigmas if float(sigma) not in self.kept]
        most = math.ceil(KEPT_SPECTRA_MB * 2**20 / (8 * self.n_rows**2))
        keep = set(fresh[: max(0, most - len(self.kept))])

        def one_width(numbered: tuple[int, float]) -> np.ndarray:
            i, sigma = numbered
            if self.verbose:
                which = f"{i + 1}/{sigmas.size}"
                print(f"[LSPCCV] width {which}: sigma={sigma:.4g}, {regs.size} regs")
            spectrum = self._spectrum(sigma, single, sigma in keep)
            return spectrum.held_out(regs, self.splits, self.units)

        return np.concatenate(self._side_by_side(one_width, list(enumerate(map(float, sigmas)))))

    def _side_by_side(self, work: Callable[[Any], np.ndarray], widths: list) -> list[np.ndarray]:
        design = self.design
        return run_in_threads(work, widths, side=design.side, at_most=design.widths_at_once)

    def _single(self, regs: np.ndarray) -> bool:
        if self.precision == "double":
            return False
        allowed = float(regs.min()) >= self.design.least_single_reg()
        return allowed and (self.precision == "single" or self.n_rows >= FAST_ROWS)

    def least_reg(self, regs: np.ndarray) -> float:
        """Return how far down a search over `regs` may go without starting anew in double."""
        return self.design.least_single_reg() if self._single(regs) else 0.0

    def _spectrum(self, sigma: float, single: bool, keep: bool) -> Spectrum:
        known = self.kept.get(sigma)
        if known is not None and (single or not known[1]):
            return known[0]
        spectrum = self.design.spectrum(sigma, single)
        if keep or known is not None:
            self.kept[sigma] = (spectrum, single)
        return spectrum

    def coefficients(self, mixes: list[tuple[float, np.ndarray, np.ndarray]]) -> list[np.ndarray]:
        """Return for each (sigma, regs, mix) the mix of solutions, in double precision."""

        def one_width(wanted: tuple[float, np.ndarray, np.ndarray]) -> np.ndarray:
            sigma, regs, mix = wanted
            if sigma in self.kept and not self.kept[sigma][1]:
                return self.kept[sigma][0].coefficients(regs, mix)
            return self.design.solve(sigma, regs, mix)

        return self._side_by_side(one_width, mixes)
