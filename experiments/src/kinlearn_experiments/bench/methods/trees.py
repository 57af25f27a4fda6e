"""Forests and boosted trees, their sizes chosen by the log-loss of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from kinlearn_experiments.bench.methods.tuning import folds

Floats = NDArray[np.float64]

LEAVES = (7, 31)
ROUNDS = 100
PATIENCE = 20


class BoostingCV(ClassifierMixin, BaseEstimator):
    """HistGradientBoostingClassifier with rounds and leaves from one cross-validation.

    The held-out log-loss of every stage of one fit per fold tells the best number of rounds, so
    that these need no grid of their own.

    Parameters
    ----------
    categorical : sequence of int
        Columns that hold categories.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kinlearn_experiments.bench.methods.trees import BoostingCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostingCV().fit(X, y)
    >>> 1 <= model.model_.max_iter <= 100
    True
    """

    def __init__(self, categorical: Sequence[int] = ()) -> None:
        self.categorical = categorical

    def fit(self, X: Floats, y: NDArray[Any]) -> BoostingCV:
        """Search, then fit on all rows."""
        self.classes_ = np.unique(y)
        losses = {leaves: self._losses(X, y, leaves) for leaves in LEAVES}
        leaves = min(losses, key=lambda key: float(losses[key].min()))
        rounds = int(losses[leaves].argmin()) + 1
        self.model_ = self._model(leaves, rounds).fit(X, y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the chosen model."""
        return self.model_.predict_proba(X)

    def _model(self, leaves: int, rounds: int) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(
            max_iter=rounds,
            max_leaf_nodes=leaves,
            min_samples_leaf=10,
            early_stopping=False,
            categorical_features=list(self.categorical) or None,
            random_state=0,
        )

    def _losses(self, X: Floats, y: NDArray[Any], leaves: int) -> Floats:
        """Held-out log-loss after every round, summed over folds."""
        total = np.zeros(ROUNDS)
        for train, test in folds().split(X, y):
            model = self._model(leaves, ROUNDS).fit(X[train], y[train])
            held = test[np.isin(y[test], model.classes_)]
            columns = np.searchsorted(model.classes_, y[held])
            for stage, proba in enumerate(model.staged_predict_proba(X[held])):
                right = np.maximum(proba[np.arange(len(held)), columns], 1e-6)
                total[stage] -= np.log(right).sum()
        return total


class LightGBMCV(ClassifierMixin, BaseEstimator):
    """LightGBM with rounds by early stopping in its own cross-validation, and leaves beside.

    Parameters
    ----------
    categorical : sequence of int
        Columns that hold categories.
    """

    def __init__(self, categorical: Sequence[int] = ()) -> None:
        self.categorical = categorical

    def fit(self, X: Floats, y: NDArray[Any]) -> LightGBMCV:
        """Search, then fit on all rows."""
        import lightgbm

        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        target = (
            {"objective": "binary", "metric": "binary_logloss"}
            if n_classes == 2
            else {"objective": "multiclass", "num_class": n_classes, "metric": "multi_logloss"}
        )
        best: tuple[float, dict[str, Any], int] = (np.inf, {}, 1)
        for leaves in LEAVES:
            params = target | {
                "num_leaves": leaves,
                "min_data_in_leaf": 10,
                "num_threads": 1,
                "verbosity": -1,
                "seed": 0,
                "deterministic": True,
            }
            found = lightgbm.cv(
                params,
                self._data(X, codes),
                num_boost_round=ROUNDS,
                folds=list(folds().split(X, codes)),
                callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
            )
            path = np.asarray(
                next(found[name] for name in found if name.endswith("-mean")), dtype=float
            )
            best = min(best, (float(path.min()), params, int(path.argmin()) + 1), key=_loss)
        self.model_ = lightgbm.train(best[1], self._data(X, codes), num_boost_round=best[2])
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the chosen model."""
        proba = np.asarray(self.model_.predict(X, num_threads=1))
        return np.column_stack([1 - proba, proba]) if proba.ndim == 1 else proba

    def _data(self, X: Floats, codes: NDArray[np.intp]) -> Any:
        import lightgbm

        return lightgbm.Dataset(X, codes, categorical_feature=list(self.categorical) or "auto")


class ForestCV(ClassifierMixin, BaseEstimator):
    """Random forest with the leaf size that has the least log-loss of out-of-bag rows.

    Labels may be one column or, for many yes/no labels, an indicator table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kinlearn_experiments.bench.methods.trees import ForestCV
    >>> X, y = load_iris(return_X_y=True)
    >>> ForestCV().fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    def fit(self, X: Floats, y: NDArray[Any]) -> ForestCV:
        """Grow a forest for each leaf size and keep the best."""
        best = np.inf
        for leaf in (1, 3, 10):
            model = RandomForestClassifier(
                300, min_samples_leaf=leaf, oob_score=True, random_state=0
            ).fit(X, y)
            loss = _out_of_bag_loss(model, y)
            if loss < best:
                best, self.model_ = loss, model
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Floats) -> Any:
        """Probabilities of the chosen forest; a list of tables for many labels."""
        return self.model_.predict_proba(X)


def _out_of_bag_loss(model: RandomForestClassifier, y: NDArray[Any]) -> float:
    held_out = np.nan_to_num(model.oob_decision_function_)
    if y.ndim == 2:  # rows, classes, labels
        right = np.where(y == 1, held_out[:, 1], held_out[:, 0])
    else:
        right = held_out[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(right, 1e-6)).mean())


def _loss(candidate: tuple[float, dict[str, Any], int]) -> float:
    return candidate[0]
