"""MultiLabelLSPC: many labels at once, similar labels sharing what they learn."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kinlearn.distributed import is_dask
from kinlearn.distributed.fitting import fit_partitions, refuse_groups
from kinlearn.estimators._checks import check_choice, check_positive
from kinlearn.estimators._label_design import LabelDesign
from kinlearn.estimators._label_stream import LabelStream
from kinlearn.estimators._training_set import check_groups
from kinlearn.estimators.lspc import warn_single_row
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.solvers.label_fits import IterativeFit, LabelFit, direct_coefficients
from kinlearn.threads import on_own_threads

SOLVERS = ("auto", "spectral", "cg", "direct")


class MultiLabelLSPC(LabelStream):
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
    n_centers, centers, center_selection, posterior, fallback
        As in :class:`LSPC`. The calibrated posterior has a beta per label, shrunk towards the one
        that calibrates all labels together.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the fit, label by label; ``"balanced"`` counts a row of weight 2
        twice. Scores and decisions at a threshold of ½ lean by them, calibrated probabilities stay
        at the prevalence of the data.
    degree, coef0, memory_mb, random_state
        As in :class:`LSPC`.

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
    held_out_links_ : ndarray of shape (n_samples, 2 * learnt labels + 1 + their classes)
        How each of them becomes a probability, learnt from other rows: every label's beta, then
        every label's gamma, the least score, and the shift of each class.
    n_iter_ : int
        Steps of conjugate gradients in the final fit, over all classes; 1 for other solvers.
    residual_ : float
        Their largest final relative residual; 0 for other solvers.
    sigma_, centers_, n_centers_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
    single_ : bool
        Whether y was one-dimensional.
    indicator_ : bool
        Whether Y held 0/1 indicators.
    statistics_, held_out_log_loss_, kept_sigmas_, support_
        As in :class:`LSPC`.

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
        sharing = check_sharing("sharing", self.sharing)
        if is_dask(X, y, sample_weight, groups):
            refuse_groups(groups)
            return fit_partitions(self, X, y, sample_weight=sample_weight, anew=True)
        data = self._prepare_labels(X, y, sample_weight)
        groups = check_groups(groups, len(data.table.codes))
        kernel = self._kernel()
        self.sigma_ = (
            self._median(data, kernel)  # type: ignore[arg-type]
            if isinstance(self.sigma, str)
            else float(self.sigma)
        )
        design = self._label_design(data, kernel, self.sigma_, n_decompositions=1)
        if self.solver == "spectral" and not design.complete:
            raise ValueError(
                'solver="spectral" needs every label observed and no class_weight: use '
                'solver="auto", which iterates with the spectral solution as preconditioner.'
            )
        fit = design.fit(self.sigma_, self.solver, self.tol, int(self.max_iter))
        points = [(float(self.reg), sharing)]
        self._start_fit(data)
        if self._needs_held_out and data.n_rows == 1:
            warn_single_row()
        elif self._needs_held_out:
            closed = not isinstance(fit, IterativeFit)
            validation = self._validation("loo", data, groups, closed_form=closed)
            rows = self._held_out_labels(data, design, validation)
            self._calibrate_labels(data, rows, fit.held_out(points, validation.splits)[0])
        coef = self._final_coefficients(design, fit, points)
        self._keep_labels(np.array([self.sigma_]), coef[None], data)
        return self

    def _checked_sharing(self) -> float:
        return check_sharing("sharing", self.sharing)

    def _final_coefficients(
        self, design: LabelDesign, fit: LabelFit, points: list[tuple[float, float]]
    ) -> np.ndarray:
        self.n_iter_, self.residual_ = 1, 0.0
        if self.solver == "direct":
            return direct_coefficients(fit.system, *points[0])
        if isinstance(fit, IterativeFit):
            fit.runs.clear()
        coef = fit.coefficients(points)
        if isinstance(fit, IterativeFit):
            self.n_iter_, self.residual_ = report_runs(fit)
        return coef


def check_sharing(name: str, value: Any) -> float:
    """Return a number in [0, 1], or say what was given instead."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0.0 <= float(value) <= 1.0:
        raise ValueError(
            f"{name} must be between 0 (labels learnt alone) and 1 (one model for similar labels), "
            f"but {value!r} was given."
        )
    return float(value)


def report_runs(fit: IterativeFit) -> tuple[int, float]:
    """Return steps and largest residual of the runs, warning of any that did not converge."""
    residual = max(run.residual for run in fit.runs)
    if not all(run.converged for run in fit.runs):
        warnings.warn(
            f"Conjugate gradients stopped at a relative residual of {residual:.2g}, above "
            f"tol={fit.tol:g}, after {fit.max_iter} steps: raise max_iter, reg or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return sum(run.n_iter for run in fit.runs), residual
