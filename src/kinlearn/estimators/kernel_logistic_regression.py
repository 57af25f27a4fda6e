"""Kernel logistic regression: the rival of the papers, on the same features as LSPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators._checks import check_positive
from kinlearn.estimators._classifier import KernelClassifier, are_collections
from kinlearn.estimators._logistic import stopping_of, warn_if_stopped
from kinlearn.estimators._polish import PolishChoice
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.posterior import ScoreLayout, uncalibrated
from kinlearn.problems.from_sums import OneTaskOfSums, Posed, class_labels
from kinlearn.problems.logistic import LogisticPoser
from kinlearn.problems.problem import Point
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.solvers.logistic_newton import GRADIENT_TOLERANCE
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads

# Passes of a stream, at most.
STREAMED_PASSES = 1000


class KernelLogisticRegression(KernelClassifier):
    """Kernel logistic regression.

    Minimises, over parameters θ of the same kernel features ``phi(x)`` that :class:`LSPC` uses::

        (1/N) Σ_n w_n log(1 + exp(-s_n θᵀphi(x_n))) + reg/2 ||θ||²,      N = Σw, s_n = ±1

    without an intercept (section 2 of [1]_), the softmax form beyond two classes. It equals
    ``LogisticRegression(C=1/(N·reg), fit_intercept=False)`` on the features.

    Parameters
    ----------
    kernel, sigma, reg
        As in :class:`LSPC`.
    solver : {"newton", "lbfgs"}, default="newton"
        ``"newton"``: for two classes one Cholesky factorisation a step, of the size of the kernel's
        numerical rank where that is low; beyond two classes conjugate gradients in the eigenbasis
        of the kernel. ``"lbfgs"``: quasi-Newton in the eigenbasis, preconditioned by Böhning's
        bound on the Hessian.
    tol : float, default=1e-7
        Norm of the gradient at which to stop.
    max_iter : int, optional
        Bound on the iterations; 50 Newton steps or 2000 of L-BFGS when left out.
    n_centers, centers, center_selection, class_weight, degree, coef0, memory_mb, random_state
        As in :class:`LSPC`.
    n_jobs : int, optional
        Threads; as many as there are cores when left out, and 1 for none beside the caller's. The
        number changes no result.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_centers_, n_classes)
        θ, one column a class; for two classes minus and plus one half of the one θ.
    beta_ : float
        1: scores are log-odds, and need no calibration to be probabilities.
    gradient_norm_ : float
        Norm of the gradient at the solution.
    n_iter_ : int
        Newton steps or iterations, of a stream passes over its rows.
    n_factorisations_ : int
        Cholesky factorisations made, the pivoted one that finds the rank included; not after
        ``fit_stream``.
    statistics_ : NormalEquations
        After ``fit_stream``, and of Dask collections: the sums of the first pass.
    sigma_, centers_, n_centers_, prior_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.
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
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import KernelLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = KernelLogisticRegression().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit the model.

        Parameters
        ----------
        X : array-like, CSR matrix or Dask collection of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        KernelLogisticRegression
            The fitted model.
        """
        stopping = stopping_of(self)
        if are_collections(X, y, sample_weight):
            found = streaming.fit_collections(self, X, y, sample_weight, None)
            warn_if_stopped(found, dict(vars(found)))
            return found
        kernel = self._begin()
        data = self._read_classes(kernel, X, y, sample_weight)
        sigma = self._width(data, kernel)
        centers = self._place_centers(data.X, data.rows, kernel, sigma)
        problem = LogisticPoser(centers, self.memory_mb, stopping)(kernel, data)
        point = {"sigma": sigma, "reg": float(self.reg)}
        solution, _ = problem.solve(point, None)
        warn_if_stopped(self, solution.facts)
        n_classes = data.sizes[0]
        log_odds = uncalibrated(ScoreLayout(False, data.sizes), n_classes, beta=1.0)
        model = self._model(kernel, data, centers, solution, log_odds)
        self._keep(model, sigma_=sigma, **solution.facts)
        return self

    _go_over = streaming.fit_stream

    @available_if(streaming.streams)
    def fit_stream(self, source: Any, **options: Any) -> KernelLogisticRegression:
        """Fit in passes over rows that need not fit in memory, to convergence.

        One pass sums what least squares needs, ``ΦᵀΦ`` and ``ΦᵀZ``; L-BFGS in coordinates that
        these sums make round then takes a pass a step, until the norm of the gradient is at most
        `tol` or after `max_iter` passes (1000 when left out). `solver` has no say.

        Parameters
        ----------
        source : path, list of paths, tuple of arrays, table, or function
            As in :meth:`LSPC.fit_stream`; what can be gone through once only is refused.
        **options : dict
            Further arguments of :meth:`LSPC.fit_stream`, but `warm_start`.

        Returns
        -------
        KernelLogisticRegression
            The fitted model.
        """
        stopping_of(self)
        if isinstance(source, Iterator):
            raise ValueError(
                "KernelLogisticRegression goes over the rows until it has converged, but an "
                "iterator can be gone through once: pass arrays, files or a function that returns "
                "a new iterator."
            )
        if options.pop("warm_start", False):
            raise ValueError(
                "warm_start adds to sums, and the rows of earlier calls could not be gone over "
                "again: fit all rows in one call."
            )
        self._go_over(source, **options)
        warn_if_stopped(self, dict(vars(self)))
        return self

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose: least squares, where the passes start."""
        labels = class_labels(sums, factors, type(self).__name__)
        return Posed(OneTaskOfSums(sums, rows), labels, rows)

    def _stream_point(self, sums: NormalEquations) -> Point:
        return {"sigma": sums.sigma, "reg": float(self.reg)}

    def _polish_choice(self, sums: NormalEquations) -> PolishChoice:
        most = STREAMED_PASSES if self.max_iter is None else int(self.max_iter)
        return PolishChoice(most, "Logistic regression is iterated until it has converged.")

    def _polish_options(self, passes: int) -> dict[str, Any]:
        return {"max_passes": passes, "penalty": float(self.reg), "tol": float(self.tol)}

    def _check_stream_parameters(self) -> None:
        check_positive("reg", self.reg)
