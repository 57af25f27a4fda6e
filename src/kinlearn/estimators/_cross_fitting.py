"""Probabilities of training rows from models that have not seen them, whatever the classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from kinlearn.estimators.task_wrapper import take_rows
from kinlearn.pipelines import fit_arguments, last_step

N_FOLDS = 5
# scikit-learn's tags do not tell: SelectKBest says that it does not need labels. Transformers not
# in this list may have seen them, which costs folds but no honesty.
LABEL_FREE = {
    "ColumnTransformer",
    "CountVectorizer",
    "FeatureUnion",
    "FunctionTransformer",
    "HashingVectorizer",
    "KBinsDiscretizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MissingIndicator",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PCA",
    "Pipeline",
    "PolynomialFeatures",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "SimpleImputer",
    "StandardScaler",
    "TfidfTransformer",
    "TfidfVectorizer",
    "TruncatedSVD",
    "VarianceThreshold",
}


def own_held_out(model: Any) -> NDArray[np.float64] | None:
    """Return the probabilities that a fitted model held out on its own, or None.

    A pipeline's count only when no step before the classifier can have seen labels: a row then had
    no say in its own answer but through scales and categories.
    """
    if isinstance(model, Pipeline) and any(sees_labels(step) for _, step in model.steps[:-1]):
        return None
    last = last_step(model)
    kept = getattr(last, "held_out_scores_", None) is not None
    if not kept or getattr(last, "posterior", None) == "rounded_parameters":
        return None
    if rows_repeat(model):
        # of rows seen many times, one alone hardly moves the class that is called: folds do
        return None
    return last.held_out_proba()


def rows_repeat(model: Any) -> bool:
    """Whether a fitted model has seen most of its rows more than once."""
    return hasattr(last_step(model), "gamma_")


def sees_labels(step: Any) -> bool:
    parts = [step]
    if hasattr(step, "get_params"):
        parts += [part for part in step.get_params(deep=True).values() if hasattr(part, "fit")]
    return any(hasattr(part, "fit") and not _is_label_free(part) for part in parts)


def _is_label_free(part: Any) -> bool:
    return type(part).__module__.startswith("sklearn.") and type(part).__name__ in LABEL_FREE


def cross_fitted(
    estimator: Any,
    X: Any,
    y: NDArray,
    classes: NDArray,
    cv: Any,
    groups: Any,
    given: dict[str, Any],
    kept: list[tuple[NDArray[np.intp], Any]] | None = None,
) -> NDArray[np.float64]:
    """Return each row's probabilities from a clone fitted on other folds; NaN if in none.

    Parameters
    ----------
    estimator : classifier
        Cloned for every fold.
    X, y : table and ndarray
        Training rows.
    classes : ndarray
        Columns of the result.
    cv : int or splitter
        Folds.
    groups : ndarray or None
        Rows of one group are in one fold.
    given : dict
        Further arguments of fit, one entry a row, None where not given; ``task`` is given to
        predict_proba, too.
    kept : list, optional
        Gets (rows, the model fitted without them) of each fold.
    """
    (X,) = indexable(X)  # whatever else holds rows can then be cut into folds
    proba = np.full((_num_samples(X), len(classes)), np.nan)
    for train, test in _folds(cv, X, y, groups):
        model = clone(estimator)
        some = {name: take_rows(values, train) for name, values in given.items()}
        model.fit(take_rows(X, train), y[train], **fit_arguments(model, some))
        if kept is not None:
            kept.append((test, model))
        task = take_rows(given.get("task"), test)
        asked = {} if task is None else {"task": task}
        columns = np.searchsorted(classes, model.classes_)
        proba[test] = 0.0
        proba[np.ix_(test, columns)] = model.predict_proba(take_rows(X, test), **asked)
    return proba


def _folds(cv: Any, X: Any, y: NDArray, groups: Any) -> Any:
    if isinstance(cv, (int, np.integer)):
        if groups is not None:
            return GroupKFold(min(int(cv), len(np.unique(groups)))).split(X, y, groups)
        _, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:  # a class of one row is in no stratum; its row is then held out, too
            return KFold(min(int(cv), len(y)), shuffle=True, random_state=0).split(X, y)
        cv = StratifiedKFold(min(int(cv), int(counts.min())), shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(check_cv(cv, y, classifier=True).split(X, y, groups))
