"""Linear discriminant analysis in the trace-ratio form."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kinlearn.estimators._discriminant_checks import check_count, check_positive, check_shrinkage
from kinlearn.estimators._single_task_lda import SingleTaskDiscriminant
from kinlearn.solvers.scatter import shrinkage_ridge
from kinlearn.solvers.trace_ratio import trace_ratio
from kinlearn.threads import on_own_threads


class TraceRatioLDA(SingleTaskDiscriminant):
    """Linear discriminant analysis with orthonormal directions: LDA-tr, and MTDA of one task.

    maximise over W with W^T W = I:  tr(W^T S_b W) / tr(W^T S_t W)
    (Eq. 2 of Zhang and Yeung 2011; Wang et al. 2007)

    Parameters
    ----------
    n_components : int, default=None
        Directions to keep, up to the rank of the data; None: number of classes minus one.
    shrinkage : float or "auto", default=0
        Adds ``shrinkage * tr(S_w) / rank`` times the identity to S_t; "auto" takes Ledoit and
        Wolf's estimate.
    tol : float, default=1e-8
        Stop when the ratio grows by no more than this; the convergence is quadratic, so what is
        left is of the order of its square.
    max_iter : int, default=100
        Most steps.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal rows.
    mean_ : ndarray of shape (d,)
        Mean of the training rows.
    classes_ : ndarray
        Class labels.
    objective_ : float
        The ratio reached.
    objective_path_ : ndarray
        The ratio at the start and after every step.
    n_iter_ : int
        Number of steps.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    References
    ----------
    H. Wang, S. Yan, D. Xu, X. Tang and T. Huang, "Trace ratio vs. ratio trace for dimensionality
    reduction", CVPR 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kinlearn import TraceRatioLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> TraceRatioLDA().fit_transform(X, y).shape
    (178, 2)
    """

    def __init__(
        self,
        *,
        n_components: int | None = None,
        shrinkage: float | str = 0,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter

    @on_own_threads
    def fit(self, X: Any, y: Any) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Class labels.

        Returns
        -------
        TraceRatioLDA
            The fitted estimator itself.
        """
        shrinkage = check_shrinkage(self.shrinkage)
        reduced = self._reduce(X, y)
        count = self._count(
            self.n_components, reduced.rank, self.classes_.size - 1, "the rank of the data"
        )
        found = trace_ratio(
            [reduced],
            count,
            ridges=[shrinkage_ridge(reduced, shrinkage)],
            tol=check_positive("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter),
        )
        if not found.converged:
            warnings.warn(
                f"TraceRatioLDA stopped after max_iter={self.max_iter} iterations while the ratio "
                "still grew; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.components_ = np.ascontiguousarray((reduced.basis @ found.projections[0]).T)
        self.objective_ = float(found.objective)
        self.objective_path_ = found.path
        self.n_iter_ = len(found.path) - 1
        return self
