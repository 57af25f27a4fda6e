"""What the discriminant analyses of one task share: validation, naming, projecting."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kinlearn.estimators._discriminant_checks import cap_components, check_count, encode_classes
from kinlearn.solvers.scatter import Floats, ReducedScatter, reduce_scatter
from kinlearn.threads import on_own_threads
from kinlearn.training.label_table import refuse_mixed_labels


class SingleTaskDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of :class:`TraceRatioLDA` and :class:`RatioTraceLDA`: fit fills ``components_``."""

    def _reduce(self, X: Any, y: Any) -> ReducedScatter:
        refuse_mixed_labels(y)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = encode_classes(y, type(self).__name__)
        reduced = reduce_scatter(X, codes, self.classes_.size)
        if reduced.rank == 0:
            raise ValueError(
                f"{type(self).__name__}: every one of the {X.shape[1]} features is constant, so "
                "there is no direction to find."
            )
        self.mean_ = reduced.mean
        return reduced

    def _count(self, n_components: int | None, limit: int, default: int, reason: str) -> int:
        if n_components is None:
            return min(default, limit)
        return cap_components(check_count("n_components", n_components), limit, reason)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    @on_own_threads
    def transform(self, X: Any) -> Floats:
        """Project rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_components)
            Centred at the training mean.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.components_.T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
