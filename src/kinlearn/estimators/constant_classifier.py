"""The classifier of a task in which only one class was ever seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples


class ConstantClassifier(ClassifierMixin, BaseEstimator):
    """Answers with the only class of its training data, whatever the features.

    Examples
    --------
    >>> ConstantClassifier().fit([[0.0]], ["a"]).predict([[1.0], [2.0]])
    array(['a', 'a'], dtype='<U1')
    """

    def fit(self, X: Any, y: Any) -> ConstantClassifier:
        """Remember the one class."""
        self.classes_ = np.unique(y)
        if len(self.classes_) != 1:
            raise ValueError(f"A constant classifier needs one class, got {len(self.classes_)}.")
        return self

    def predict(self, X: Any) -> NDArray:
        """The class, for every row."""
        return np.repeat(self.classes_, _num_samples(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Ones."""
        return np.ones((_num_samples(X), 1))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """A score of one half for the class, as far above 0 as an even choice is."""
        return np.full((_num_samples(X), 1), 0.5)
