"""Kernel logistic regression: the rival of the papers, on the same features as LSPC."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import check_choice, check_positive, warn_if_large
from kinlearn.kernels import KernelMap
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.solvers.logistic import GRADIENT_TOLERANCE
from kinlearn.solvers.logistic_path import SOLVERS, LogisticPath, PrimalSolution
from kinlearn.threads import blas_for_rows


class LogisticClassifier(KernelClassifier):
    """What the logistic estimators share: scores are log-odds, so that softmax is the posterior."""

    posterior = "calibrated"
    fallback = "uniform"
    basis = "full"
    beta_ = 1.0

    solver: str
    tol: float
    max_iter: int | None

    def _check_solver(self) -> None:
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        if self.max_iter is not None and (
            not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 1
        ):
            raise ValueError(
                f"max_iter must be a positive whole number or None, but {self.max_iter!r} was given."
            )

    def _path(self, Phi: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> LogisticPath:
        filled = np.ones(Z.shape[0]) if weights is None else weights
        return LogisticPath(Phi, Z, filled, self.solver, self.tol, self.max_iter)

    def _warn_unless_converged(self, found: PrimalSolution) -> None:
        if found.gradient_norm > self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} iterations at a gradient norm "
                f"of {found.gradient_norm:.2g}, above tol={self.tol:.2g}: raise max_iter, use a "
                "larger reg, or accept this accuracy by raising tol.",
                ConvergenceWarning,
                stacklevel=4,
            )


class KernelLogisticRegression(LogisticClassifier):
    """Kernel logistic regression.

    Minimises, over parameters θ of the same kernel features ``phi(x)`` that :class:`LSPC` uses::

        (1/N) Σ_n w_n log(1 + exp(-s_n θᵀphi(x_n))) + reg/2 ||θ||²,      N = Σw, s_n = ±1

    without an intercept (section 2 of [1]_), the softmax form beyond two classes. It equals
    ``LogisticRegression(C=1/(N·reg), fit_intercept=False)`` on the features.

    Parameters
    ----------
    solver : {"newton", "lbfgs"}, default="newton"
        ``"newton"``: for two classes one Cholesky factorisation a step, beyond that conjugate
        gradients in the eigenbasis of the kernel. ``"lbfgs"``: quasi-Newton in the eigenbasis,
        preconditioned by Böhning's bound on the Hessian.
    tol : float, default=1e-7
        Norm of the gradient at which to stop.
    max_iter : int, optional
        Bound on the iterations; 50 Newton steps or 2000 of L-BFGS when left out.
    kernel, sigma, reg, degree, coef0, n_centers, centers, center_selection
        As in :class:`LSPC`.
    class_weight, memory_mb, random_state
        As in :class:`LSPC`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_centers_, n_classes)
        θ, one column a class; for two classes minus and plus one half of the one θ.
    gradient_norm_ : float
        Norm of the gradient at the solution.
    n_iter_ : int
        Newton steps or iterations.
    n_factorisations_ : int
        Cholesky factorisations made.
    sigma_, centers_, n_centers_, prior_, n_features_in_, feature_names_in_
        As in :class:`LSPC`.

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
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
        self._check_solver()
        data = self._prepare(X, y, sample_weight)
        kernel = self._kernel()
        with blas_for_rows(data.n_rows):
            self.sigma_ = (
                self._median(data, kernel) if isinstance(self.sigma, str) else float(self.sigma)
            )
            positions = self._place_centers(data.X, data.rows, kernel, self.sigma_)
            if positions is not None and positions.size == data.n_rows:
                warn_if_large(data.n_rows, 1, weighted=False)
            features = KernelMap(kernel, self.centers_, self.memory_mb)
            Phi = features.features(data.X, self.sigma_)
            found = self._path(Phi, data.fit_targets, data.fit_weights).solve(float(self.reg))
        self._warn_unless_converged(found)
        self.gradient_norm_, self.n_iter_ = found.gradient_norm, found.n_iter
        self.n_factorisations_ = found.n_factorisations
        self._keep(np.array([self.sigma_]), found.theta[None])
        return self
