"""What everybody would have tried: logistic regression and boosted trees, on the same rows.

Both are fitted to the columns the model learns from, in folds that keep groups whole, or to all
rows but those that were kept out of the model's own fit, and judged on the very rows that judge the
model. So the report can say whether a simpler, or another, classifier does better.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from kinlearn.tables.input_profile import numbers_of

Floats = NDArray[np.float64]

LOGISTIC, BOOSTING = "logistic regression", "boosted trees"
# Beyond so many cells a baseline learns from a part of the rows in each fold, and in fewer folds.
MAX_CELLS = 600_000
N_FOLDS, FEW_FOLDS = 5, 3
_MANY_ROWS, _MANY_COLUMNS = 10_000, 400
MOST_TREES, LEAST_TREES, TREE_COLUMNS = 100, 20, 40_000
# A probability of 0 counts as this: one error of a sure answer would outweigh all others.
LEAST = 1e-5
_MAX_CATEGORIES = 40
# A difference counts when it is this many standard errors.
_ERRORS = 2.0


@dataclass(frozen=True)
class Baseline:
    """How another classifier does on the rows that judge the model.

    Attributes
    ----------
    name : str
        What it is.
    figures : dict of str to (value, low, high)
        As :func:`kinlearn.report.measures.measure` gives them.
    difference, error : float
        By how much the model's log-loss is larger, over the same rows, and the standard error.
    in_folds : bool
        Whether it was fitted in folds; else to all rows but those that judge.
    """

    name: str
    figures: dict[str, list[float]]
    difference: float
    error: float
    in_folds: bool = True

    @property
    def is_better(self) -> bool:
        """Whether its log-loss is clearly smaller than the model's."""
        return self.difference > _ERRORS * self.error

    @property
    def is_worse(self) -> bool:
        """Whether its log-loss is clearly larger than the model's."""
        return self.difference < -_ERRORS * self.error


def baseline_models(frame: Any, seed: int) -> dict[str, Any]:
    """The two rivals for the columns of `frame`, unfitted.

    Examples
    --------
    >>> import pandas as pd
    >>> list(baseline_models(pd.DataFrame({"x": [1.0, 2.0], "k": ["a", "b"]}), 0))
    ['logistic regression', 'boosted trees']
    """
    numeric = [name for name in frame.columns if frame[name].dtype.kind in "fiu"]
    texts = [name for name in frame.columns if name not in numeric]
    linear = make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
            numeric,
        ),
        (_one_hot(), texts),
    )
    trees = make_column_transformer(
        ("passthrough", numeric),
        (
            OrdinalEncoder(
                handle_unknown="use_encoded_value",
                unknown_value=np.nan,
                encoded_missing_value=np.nan,
                max_categories=_MAX_CATEGORIES,
            ),
            texts,
        ),
    )
    categorical = [False] * len(numeric) + [True] * len(texts)
    # The cost of a tree grows with the columns: of very many, fewer trees, each weighing more.
    n_trees = int(np.clip(TREE_COLUMNS / max(frame.shape[1], 1), LEAST_TREES, MOST_TREES))
    return {
        LOGISTIC: make_pipeline(linear, LogisticRegression(max_iter=300)),
        BOOSTING: make_pipeline(
            trees,
            HistGradientBoostingClassifier(
                categorical_features=categorical if texts else None,
                max_iter=n_trees,
                learning_rate=0.1 if n_trees == MOST_TREES else 0.3,
                random_state=seed,
            ),
        ),
    }


def with_dates_as_days(frame: Any) -> Any:
    """The table with days since 1970 in place of dates."""
    dates = [name for name in frame.columns if frame[name].dtype.kind == "M"]
    return frame.assign(**{name: numbers_of(frame[name].to_numpy()) for name in dates})


def _one_hot() -> Any:
    return make_pipeline(
        SimpleImputer(strategy="constant", fill_value="(missing)"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_MAX_CATEGORIES),
    )


def cross_fitted_proba(
    model: Any, frame: Any, y: NDArray, classes: NDArray, groups: NDArray | None, seed: int
) -> Floats:
    """Probabilities of each row from the folds it is not in, columns in the order of `classes`."""
    rows = np.arange(len(y))
    many = len(y) > _MANY_ROWS or frame.shape[1] > _MANY_COLUMNS
    most = rows_learnt_from(frame.shape[1], len(classes))
    n_folds = FEW_FOLDS if many else N_FOLDS
    # Of classes that are all rarer than there are folds, each row of one is in a fold of its own.
    n_folds = max(2, min(n_folds, int(np.unique(y, return_counts=True)[1].max())))
    if groups is None:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        n_folds = min(n_folds, len(np.unique(groups)))
        folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    splits = folds.split(rows, y, groups)
    return _proba_of(model, frame, y, classes, splits, most, np.random.default_rng(seed))


def held_out_proba(
    model: Any,
    frame: Any,
    y: NDArray,
    classes: NDArray,
    groups: NDArray | None,
    seed: int,
    held: NDArray[np.intp],
) -> Floats:
    """Probabilities of the rows `held` from all others, NaN elsewhere.

    Others of their groups are not learnt from.
    """
    apart = np.zeros(len(y), dtype=bool)
    apart[held] = True
    if groups is not None:
        apart = np.isin(groups, groups[held])
    most = rows_learnt_from(frame.shape[1], len(classes), in_folds=False)
    splits = [(np.flatnonzero(~apart), held)]
    return _proba_of(model, frame, y, classes, splits, most, np.random.default_rng(seed))


def _proba_of(
    model: Any,
    frame: Any,
    y: NDArray,
    classes: NDArray,
    splits: Iterable[tuple[NDArray, NDArray]],
    most: int,
    rng: np.random.Generator,
) -> Floats:
    """Probabilities of the second rows of every pair from the first, of which `most` are learnt."""
    proba = np.full((len(y), len(classes)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in splits:
            if len(train) > most:
                train = np.sort(rng.choice(train, most, replace=False))
            if len(np.unique(y[train])) < 2:
                continue
            fitted = clone(model).fit(frame.iloc[train], y[train])
            found = np.zeros((len(test), len(classes)))
            known = np.searchsorted(classes, fitted.classes_)
            found[:, known] = fitted.predict_proba(frame.iloc[test])
            found = np.maximum(found, LEAST)
            proba[test] = found / found.sum(axis=1, keepdims=True)
    return proba


def rows_learnt_from(n_columns: int, n_classes: int, in_folds: bool = True) -> int:
    """The most rows a baseline learns from at a time: trees are grown for every class."""
    cells = MAX_CELLS if in_folds else N_FOLDS * MAX_CELLS
    return max(int(cells / max(n_columns * n_classes / 2.0, 1.0)), 200)


def error_of_mean(values: Floats, group: NDArray | None) -> float:
    """Standard error of the mean of rows, of which those of a group go together.

    Examples
    --------
    >>> x = np.array([1.0, 3.0, 2.0, 6.0])
    >>> error_of_mean(x, None) == error_of_mean(np.repeat(x, 2), np.repeat(np.arange(4), 2))
    True
    """
    away = values - values.mean()
    if group is not None:
        away = np.bincount(np.unique(group, return_inverse=True)[1], weights=away)
    return float(np.sqrt(np.square(away).sum()) / len(values))


def row_losses(proba: Floats, truth: NDArray[np.intp]) -> Floats:
    """Log-loss of each row."""
    return -np.log(np.maximum(proba[np.arange(len(truth)), truth], LEAST))
