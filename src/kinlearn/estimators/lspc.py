"""LSPC: class probabilities from one regularised least-squares fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kinlearn.estimators._base import MAX_HELD_OUT_ROWS
from kinlearn.estimators._single_stream import SingleStream
from kinlearn.estimators._training_set import TrainingSet, check_groups
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.selection.folds import make_splits
from kinlearn.threads import blas_for_rows


class LSPC(SingleStream):
    """Least-squares probabilistic classifier.

    Minimises, for each class y with targets ``z = 1[label = y]`` and kernel features
    ``phi(x) = (k(x, c_1), ..., k(x, c_m))``::

        1/(2n) Σ_i (aᵀ phi(x_i) - z_i)² + reg/2 ||a||²

    (Eqs. 2-3 of [2]_), so that all classes come from one linear solve
    ``(PhiᵀPhi + n·reg·I) A = PhiᵀZ``, and turns the scores ``Aᵀ phi(x)`` into probabilities.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        ``"rbf"`` exp(-||x-x'||²/(2 sigma²)), ``"laplacian"`` exp(-||x-x'||₁/sigma), ``"chi2"``
        exp(-χ²/sigma), ``"polynomial"`` (xᵀx'/sigma² + coef0)^degree, ``"linear"``, ``"cosine"``,
        ``"precomputed"``, or a function of two arrays of rows.
    sigma : float or "median", default="median"
        Width; ``"median"`` is the median distance between training rows.
    reg : float, default=1e-3
        Strength of the regularisation.
    n_centers : "auto", int or None, default="auto"
        Number of training rows used as centres. ``"auto"``: all of them up to 3000, a subset of
        1500 beyond; None: always all.
    centers : array-like of shape (m, n_features), optional
        The centres themselves.
    center_selection : {"kmeans++", "random", "leverage"}, default="kmeans++"
        How a subset is chosen.
    basis : {"full", "classwise"}, default="full"
        ``"classwise"`` lets class y use only centres of class y (the original paper's cheap form).
    posterior : {"calibrated", "rounded", "rounded_parameters", "raw"}, default="calibrated"
        ``"calibrated"``: softmax(beta·q), the one beta fitted on leave-one-out scores of this same
        fit. ``"rounded"``: LSPC-new, Eq. 6 of [1]_. ``"rounded_parameters"``: the original LSPC,
        Eq. 4. ``"raw"``: Eq. 5, which may leave [0, 1].
    fallback : {"uniform", "prior"}, default="uniform"
        What a rounding rule answers where all scores round to zero.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the fit. Calibration ignores them, so that probabilities stay at the
        data's prevalence.
    degree, coef0 : float, default=3 and 1
        Of the polynomial kernel.
    memory_mb : float, default=256
        Bound on the memory of kernel blocks in work.
    random_state : int, RandomState or None, default=None
        For choosing a subset of centres.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_centers_, n_classes)
        Coefficients.
    centers_ : array or CSR matrix of shape (n_centers_, n_features)
        Centres; for a precomputed kernel, the positions of their columns.
    n_centers_ : int
        Number of centres.
    sigma_ : float
        Width in use; 1 for kernels without one.
    beta_ : float
        Calibration; NaN when the rule needs none or only one distinct row was seen.
    prior_ : ndarray of shape (n_classes,)
        Share of each class.
    held_out_scores_ : ndarray of shape (n_samples, n_classes)
        Leave-one-out scores of the training rows (``posterior="calibrated"``); NaN for rows without
        weight and, beyond 20,000 rows with a subset of centres, for rows not drawn.
    statistics_ : NormalEquations
        Sums over the rows, after ``partial_fit``, ``fit_stream`` or ``fit_statistics``; then
        ``held_out_log_loss_`` takes the place of ``held_out_scores_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    References
    ----------
    .. [1] Yamada, Sugiyama, Wichern, Simm (2011). Improving the accuracy of least-squares
       probabilistic classifiers. IEICE Trans. Inf. & Syst.
    .. [2] Simm, Sugiyama, Kato (2011). Computationally efficient multi-task learning with
       least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPC
    >>> X, y = load_iris(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = LSPC().fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        sigma: float | str = "median",
        reg: float = 1e-3,
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
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.reg = reg
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
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LSPC:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the same as the row twice.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (repeated measurements of one patient) are held out together when
            calibrating.

        Returns
        -------
        LSPC
            The fitted model.
        """
        data = self._prepare(X, y, sample_weight)
        groups = check_groups(groups, data.labels.size)
        with blas_for_rows(data.n_rows):
            return self._fit(data, groups)

    def _fit(self, data: TrainingSet, groups: np.ndarray | None) -> LSPC:
        kernel = self._kernel()
        self.sigma_ = (
            self._median(data, kernel) if isinstance(self.sigma, str) else float(self.sigma)
        )
        design = self._design(data, kernel, self.sigma_, n_decompositions=1)
        self._warn_if_indefinite(data, design)
        self.beta_ = float("nan")
        if data.n_rows == 1:
            warn_single_row()
        if self.posterior != "calibrated" or data.n_rows == 1:
            coef = design.solve(self.sigma_, np.array([float(self.reg)]), np.ones(1))
        else:
            limit = MAX_HELD_OUT_ROWS if design.fixed_centers else None
            splits, pooled = make_splits("loo", data.rows, data.labels, groups, limit)
            coef, scores = design.fit_and_hold_out(self.sigma_, float(self.reg), splits)
            self._calibrate(data, self._held_out_rows(data, splits, pooled), splits, scores)
        self._keep(np.array([self.sigma_]), coef[None])
        return self


def warn_single_row() -> None:
    """Say what is done when there is nothing to hold out."""
    warnings.warn(
        "All training rows are identical, so nothing can be held out to calibrate on: "
        "probabilities are the class frequencies.",
        UserWarning,
        stacklevel=4,
    )
