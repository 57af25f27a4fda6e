"""What the tuned rivals share: widths around the median distance, folds, the search itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from kinlearn.kernels import median_width, resolve_kernel

WIDTH_FACTORS = (0.5, 1.0, 2.0, 4.0)
FOLDS = 3


def gammas(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Widths that LSPCCV tries too, as scikit-learn writes them."""
    return 0.5 / (median_width(X, resolve_kernel("rbf")) * np.array(WIDTH_FACTORS)) ** 2


def folds(n_splits: int = FOLDS) -> StratifiedKFold:
    """Shuffled folds, the same for every search."""
    return StratifiedKFold(n_splits, shuffle=True, random_state=0)


def tuned(model: Any, grid: dict[str, Any]) -> GridSearchCV:
    """Search a grid by the log-loss of held-out rows."""
    return GridSearchCV(model, grid, cv=folds(), scoring="neg_log_loss")
