"""CatBoost, its depth and rounds chosen by the log-loss of held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from kinlearn_experiments.bench.methods.tuning import folds

Floats = NDArray[np.float64]

FOLDS = 5
DEPTHS = (3, 6)
RATE = 0.1
ROUNDS = 200
PATIENCE = 20


class CatBoostCV(ClassifierMixin, BaseEstimator):
    """CatBoost with rounds by early stopping in its own cross-validation, and depth beside.

    Columns are taken as numbers, as all other methods get them: categories come one-hot.
    """

    def fit(self, X: Floats, y: NDArray[Any]) -> CatBoostCV:
        """Search, then fit on all rows."""
        import catboost

        self.classes_, codes = np.unique(y, return_inverse=True)
        loss = "Logloss" if len(self.classes_) == 2 else "MultiClass"
        data = catboost.Pool(X, codes)
        best: tuple[float, dict[str, Any], int] = (np.inf, {}, 1)
        for depth in DEPTHS:
            params = {
                "loss_function": loss,
                "depth": depth,
                "learning_rate": RATE,
                "random_seed": 0,
                "thread_count": 1,
                "logging_level": "Silent",
                "allow_writing_files": False,
            }
            found = catboost.cv(
                data,
                params | {"iterations": ROUNDS},
                folds=list(folds(FOLDS).split(X, codes)),
                early_stopping_rounds=PATIENCE,
                as_pandas=False,
            )
            path = np.asarray(found[f"test-{loss}-mean"], dtype=float)
            best = min(best, (float(path.min()), params, int(path.argmin()) + 1), key=_loss)
        self.model_ = catboost.CatBoost(best[1] | {"iterations": best[2]}).fit(data)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the chosen model."""
        proba: Floats = self.model_.predict(X, prediction_type="Probability", thread_count=1)
        return proba


def _loss(candidate: tuple[float, dict[str, Any], int]) -> float:
    return candidate[0]
