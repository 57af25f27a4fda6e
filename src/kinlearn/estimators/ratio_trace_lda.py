"""Linear discriminant analysis in the ratio-trace form: Fisherface, and with shrinkage."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kinlearn.estimators._discriminant_checks import check_choice, check_shrinkage
from kinlearn.estimators._single_task_lda import SingleTaskDiscriminant
from kinlearn.solvers.ratio_trace import fisherface, ratio_trace
from kinlearn.solvers.scatter import shrinkage_ridge
from kinlearn.threads import on_own_threads


class RatioTraceLDA(SingleTaskDiscriminant):
    """Linear discriminant analysis with whitened directions: LDA-rt.

    maximise over W:  tr((W^T S_w W)^-1 W^T S_b W)  (Eq. 1 of Zhang and Yeung 2011)

    Parameters
    ----------
    n_components : int, default=None
        Directions to keep, at most the number of classes minus one, which is also the default.
    shrinkage : float or "auto", default="auto"
        0: Fisherface, principal components down to the rank of S_w (n - c when features abound)
        and the ratio trace there. Positive: S_w + shrinkage tr(S_w) / rank I on the whole span of
        the data. "auto" takes Ledoit and Wolf's estimate.
    scaling : {"auto", "within", "unit"}, default="auto"
        Length of the directions, which Eq. 1 leaves open and distances depend on. "within": unit
        (regularised) scatter within classes. "unit": length one. "auto": "within" with shrinkage,
        "unit" for Fisherface, where the smallest scatters within classes are estimated from next to
        nothing and dividing by them ruins every distance.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Best first, scaled as said above.
    ratios_ : ndarray of shape (n_components,)
        Scatter between classes along each direction, over the (regularised) scatter within.
    mean_ : ndarray of shape (d,)
        Mean of the training rows.
    classes_ : ndarray
        Class labels.
    shrinkage_ : float
        The multiple of ``tr(S_w) / rank`` that was added.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.

    References
    ----------
    P. N. Belhumeur, J. P. Hespanha and D. J. Kriegman, "Eigenfaces vs. Fisherfaces", TPAMI 1997.
    O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance
    matrices", Journal of Multivariate Analysis 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kinlearn import RatioTraceLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> RatioTraceLDA().fit_transform(X, y).shape
    (178, 2)
    """

    def __init__(
        self,
        *,
        n_components: int | None = None,
        shrinkage: float | str = "auto",
        scaling: str = "auto",
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.scaling = scaling

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
        RatioTraceLDA
            The fitted estimator itself.
        """
        shrinkage = check_shrinkage(self.shrinkage)
        scaling = check_choice("scaling", self.scaling, ("auto", "within", "unit"))
        reduced = self._reduce(X, y)
        ridge = shrinkage_ridge(reduced, shrinkage)
        if reduced.within_trace() <= 1e-14 * float(reduced.total.sum()):
            raise ValueError(
                "RatioTraceLDA: all rows of a class are equal in every class, so the scatter "
                "within classes is zero and cannot be whitened; use TraceRatioLDA."
            )
        directions, ratios = ratio_trace(reduced, ridge=ridge) if ridge > 0 else fisherface(reduced)
        if scaling == "unit" or (scaling == "auto" and ridge == 0):
            directions = directions / np.linalg.norm(directions, axis=0)
        count = self._count(
            self.n_components,
            directions.shape[1],
            directions.shape[1],
            f"the {directions.shape[1]} directions between {self.classes_.size} classes",
        )
        self.components_ = np.ascontiguousarray((reduced.basis @ directions[:, :count]).T)
        self.ratios_ = ratios[:count]
        self.shrinkage_ = ridge * reduced.rank / reduced.within_trace()
        return self
