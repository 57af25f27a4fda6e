"""MultiLabelLSPC: many labels at once, similar labels sharing what they learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators._checks import check_choice, check_positive, check_sharing
from kinlearn.estimators._classifier import MAX_HELD_OUT_ROWS, are_collections
from kinlearn.estimators._label_classifier import (
    MultiLabelClassifier,
    check_threshold,
    find_thresholds,
    pose_labels,
    similarity_of,
)
from kinlearn.estimators._polish import (
    TOO_FEW,
    PolishChoice,
    check_polish,
    choose_polish,
    label_obstacles,
    polish_obstacles,
    polish_of_sums,
    polish_source,
)
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.fixed_basis import RowFeatures
from kinlearn.problems.from_sums import Posed
from kinlearn.problems.problem import Point, Solution
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.selection.fit_point import fit_point
from kinlearn.selection.held_out import Columns
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads
from kinlearn.training.training_set import check_groups

SOLVERS = ("auto", "spectral", "cg", "direct")


class MultiLabelLSPC(MultiLabelClassifier):
    """Least-squares probabilistic classifier for many labels.

    Minimises, for each class with targets ``ξ_t`` in label t, kernel features Phi and the
    similarity W of the T labels (section 4 of [1]_)::

        1/T Σ_t [ 1/(2n) ||Phi θ_t||² - 1/n θ_tᵀ Phiᵀ ξ_t + reg/2 ||θ_t||² ]
            + γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||²,      γ = reg·sharing/(1 - sharing),

    a Sylvester equation ``(PhiᵀPhi/n)·Θ + Θ·reg·(I + κL/T) = PhiᵀΞ/n``, κ = sharing/(1 - sharing),
    L the Laplacian of W. Two eigendecompositions solve it, where the paper iterates. Where labels
    are unobserved (NaN) the sums run over the observed (row, label) pairs.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in :class:`LSPC`.
    sigma : float or "median", default="median"
        Width; ``"median"`` is the median distance between training rows.
    reg : float, default=1e-3
        Strength of the regularisation.
    sharing : float in [0, 1], default=0.5
        0 learns every label alone, 1 gives labels that W connects one model.
    similarity : {"correlation", "signed", "uniform"}, array or callable, default="correlation"
        ``"correlation"``: W = max(0, Pearson) of the labels over the rows where both are observed.
        ``"signed"``: negative correlation pushes apart instead of being ignored. ``"uniform"``: all
        labels alike. An array of shape (T, T), symmetric and non-negative, or a function of Y that
        returns one.
    n_similar : int, optional
        Keep only each label's strongest similarities, this many.
    solver : {"auto", "spectral", "cg", "direct"}, default="auto"
        ``"spectral"``: two eigendecompositions. ``"cg"``: the paper's matrix-free conjugate
        gradients. ``"direct"``: one dense Kronecker system, for small problems. ``"auto"`` is
        ``"spectral"``, and with unobserved labels or ``class_weight`` conjugate gradients that the
        spectral solution preconditions.
    tol : float, default=1e-8
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=10000
        Bound on their steps.
    threshold : float or "loo_f1", default=0.5
        Probability above which an indicator is predicted; ``"loo_f1"`` tunes one per label for F1
        on held-out probabilities.
    polish : "auto", int or None, default="auto"
        As in :class:`LSPC`, with a sigmoid for each label; for 0/1 indicators that are all
        observed. `similarity` and `sharing` then shape nothing but the closed form.
    n_centers, centers, center_selection, posterior, fallback
        As in :class:`LSPC`. The calibrated posterior has a beta per label, shrunk towards the one
        that calibrates all labels together.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the fit, label by label; ``"balanced"`` counts a row of weight 2
        twice. Scores and decisions at a threshold of ½ lean by them, calibrated probabilities stay
        at the prevalence of the data.
    degree, coef0, memory_mb, random_state
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads; as many as there are cores when left out, and 1 for none beside the caller's. The
        number changes no result.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    classes_ : ndarray or list of ndarrays
        Indicators: the numbers of the labels. Otherwise the classes of each label; for
        one-dimensional y its classes.
    label_names_ : ndarray of shape (n_labels,)
        Column names of Y, or numbers.
    learnt_ : ndarray of shape (n_labels,)
        False for a label with one class or none among its observed rows: it is answered by its
        prior (smoothed by 1/(n+1)).
    similarity_ : ndarray of shape (n_labels, n_labels), or list of ndarrays by class
        Similarity in use.
    coef_ : ndarray of shape (1, n_centers_, columns)
        Coefficients. Indicators: the difference of the scores of 1 and 0 for every learnt label,
        then their sum (one column for all labels, or one a label where labels are unobserved).
        Otherwise a column per (label, class).
    beta_ : float
        Calibration of all labels together; NaN when the rule needs none.
    betas_ : ndarray of shape (n_labels,)
        Calibration of each label, shrunk towards ``beta_``.
    gamma_, gammas_, score_floor_ : float, ndarray of shape (n_labels,) and float
        Where most rows repeat: the powers of scores in the posterior, of all labels together and
        of each label, and the least score that is raised to them.
    prior_shift_ : ndarray of shape (classes of all learnt labels,)
        With ``class_weight``: what is added to the log-odds of the classes, label after label (0
        and 1 of each indicator), so that probabilities are at the prevalence of the data.
    thresholds_ : ndarray of shape (n_labels,)
        Thresholds of indicators.
    prior_ : ndarray or list of ndarrays
        Share of each label, or of each of its classes.
    held_out_scores_ : ndarray of shape (n_samples, columns)
        Scores of the rows, each with one copy of itself held out, in the columns of ``coef_``.
    held_out_codes_ : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Class number of each of them in every label, -1 where unobserved.
    held_out_links_ : ndarray of shape (n_samples, 2 * learnt labels + 1 + their classes)
        How each of them becomes a probability, learnt from other rows: every label's beta, then
        every label's gamma, the least score, and the shift of each class.
    n_iter_ : int
        Steps of conjugate gradients in the final fit, over all classes, or passes of the polish; 1
        for other solvers.
    polish_path_, polish_penalty_, polish_reason_
        As in :class:`LSPC`; the log-loss is the mean over labels.
    residual_ : float
        Their largest final relative residual; 0 for other solvers.
    sigma_, centers_, n_centers_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
    single_ : bool
        Whether y was one-dimensional.
    indicator_ : bool
        Whether Y held 0/1 indicators.
    statistics_, held_out_log_loss_, kept_sigmas_, kept_kernels_, support_
        As in :class:`LSPC`.
    intercept_, class_scale_ : ndarray
        What is added to the scores, and the scale of each class's: zeros and ones here.
    model_ : KernelModel
        The fitted model as a value, of which other attributes show parts.

    References
    ----------
    .. [1] Nam, Hachiya, Sugiyama (2012). Computationally efficient multi-label classification by
       least-squares probabilistic classifier. ICASSP. Its printed H has γ/T before L and
       ``I_N ⊗ K²``; its objective gives γ/T² and ``I_T ⊗ K²``, which is what is solved here.

    Examples
    --------
    >>> from kinlearn import MultiLabelLSPC
    >>> from kinlearn.datasets import make_rotated_labels
    >>> X, Y = make_rotated_labels(200, n_labels=6, n_features=4, random_state=0)
    >>> model = MultiLabelLSPC(sharing=0.9).fit(X[:100], Y[:100])
    >>> model.predict_proba(X[100:]).shape
    (100, 6)
    >>> bool((model.predict(X[100:]) == Y[100:]).mean() > 0.9)
    True
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
        kernel: Any = "rbf",
        sigma: float | str = "median",
        reg: float = 1e-3,
        sharing: float = 0.5,
        similarity: Any = "correlation",
        n_similar: int | None = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 10_000,
        threshold: float | str = 0.5,
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
        self.kernel = kernel
        self.sigma = sigma
        self.reg = reg
        self.sharing = sharing
        self.similarity = similarity
        self.n_similar = n_similar
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.threshold = threshold
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> MultiLabelLSPC:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like, DataFrame or CSR matrix of shape (n_samples, n_labels), or (n_samples,)
            0/1 indicators or integer classes per column, NaN where unobserved. A one-dimensional y
            is a single label with classes of any type, as in :class:`LSPC`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together when calibrating.

        Returns
        -------
        MultiLabelLSPC
            The fitted model.
        """
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter)
        sharing = check_sharing(self.sharing)
        check_polish(self.polish)
        if are_collections(X, y, sample_weight, groups):
            return streaming.fit_collections(self, X, y, sample_weight, groups)
        kernel = self._begin()
        data = self._read_labels(kernel, X, y, sample_weight)
        groups = check_groups(groups, data.n_passed)
        sigma = self._width(data, kernel)
        point = {"sigma": sigma, "sharing": sharing, "reg": float(self.reg)}
        centers = self._place_centers(data.X, data.rows, kernel, sigma)
        problem = self._poser(centers, solver=self.solver)(kernel, data)
        if self.solver == "spectral" and not problem.complete:
            raise ValueError(
                'solver="spectral" needs every label observed and no class_weight: use '
                'solver="auto", which iterates with the spectral solution as preconditioner.'
            )
        facts: dict[str, Any] = {
            "sigma_": sigma,
            "similarity_": similarity_of(data, problem.similarities),
        }
        polish = choose_polish(
            self.polish,
            data.n_passed,
            problem.features.n_centers,
            everything=centers.everything,
            obstacles=polish_obstacles(self, kernel) + label_obstacles(data),
        )
        facts["polish_reason_"] = polish.reason
        if polish.passes is not None:
            source = RowFeatures(problem.features, data.X, sigma)
            polished = polish_source(
                source, data, float(self.reg), polish.passes, self._say, groups
            )
            facts |= {"polish_reason_": TOO_FEW} if polished is None else polished.facts
            if polished is not None and polished.helped:
                solution = Solution(np.array([sigma]), polished.coef[None])
                model = self._model(kernel, data, centers, solution, polished.calibration)
                learnt = model.labels.learnt
                model = model.with_thresholds(np.full(learnt.size, float(self.threshold)))
                self._keep(model, residual_=0.0, **facts)
                return self
        calibrated, validation = self.posterior == "calibrated", None
        if (calibrated or isinstance(self.threshold, str)) and data.n_rows > 1:
            validation = data.validation(
                "loo",
                groups,
                closed_form=problem.closed_form,
                max_rows=MAX_HELD_OUT_ROWS,
                seed=self._seed(),
            )
        columns = Columns(*problem.columns())
        found = fit_point(problem, point, data, validation, columns, calibrated=calibrated)
        model = self._model(kernel, data, centers, found.solution, found.calibration)
        labels = model.labels
        thresholds = find_thresholds(
            self,
            labels.learnt,
            labels.indicator,
            found.calibration,
            labels.learnt_priors,
            found.rows,
            found.scores,
        )
        self._keep(
            model.with_thresholds(thresholds),
            **facts,
            **found.held_out,
            **found.solution.facts,
        )
        return self

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose."""
        return pose_labels(self, sums, rows, factors)

    def _stream_point(self, sums: NormalEquations) -> Point:
        return {"sigma": sums.sigma, "sharing": float(self.sharing), "reg": float(self.reg)}

    def _polish_choice(self, sums: NormalEquations) -> PolishChoice:
        """Whether a fit from sums is polished."""
        return polish_of_sums(self, sums)

    def _check_stream_parameters(self) -> None:
        check_positive("reg", self.reg)
        check_sharing(self.sharing)
        check_threshold(self.threshold)
