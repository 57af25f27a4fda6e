"""How well the training rows support a row that an estimator answers for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.familiarity import familiarity as share_below
from kinlearn.familiarity import reference_support, support
from kinlearn.model import KernelModel
from kinlearn.threads import on_own_threads
from kinlearn.training.copies import find_distinct_rows


@on_own_threads
def familiarity(self: Any, X: Any) -> np.ndarray:
    """Return how well training rows support each row, as a quantile of their own support.

    The support of a row is the nearness of its second-nearest centre, in the kernel's measure.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Share of (500 of) the training rows whose support, without themselves, is no better: 0
        for a row farther out than all, evenly spread over [0, 1] for rows of their kind.
    """
    check_is_fitted(self)
    X, model = self._rows(self._without_task_column(X)), self.model_
    return share_below(support(model.kernel, X, model.centers), usual_support(model))


def usual_support(model: KernelModel) -> np.ndarray:
    """Return the support of training rows, or of the centres where only those are known."""
    if model.support is not None:
        return model.support
    distinct = find_distinct_rows(model.centers)
    everything = np.arange(model.n_centers)
    return reference_support(
        model.kernel, model.centers, model.centers, everything, distinct.canonical
    )
