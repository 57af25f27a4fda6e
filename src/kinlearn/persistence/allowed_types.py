"""The types a model file may hold: a fixed table, so that no file decides what is imported."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

# Of kinlearn, every estimator it exports, and these parts of fitted ones.
_PARTS = {
    "ConstantClassifier": "kinlearn.estimators.constant_classifier",
    "DateParts": "kinlearn.encoding.date_parts",
    "NumberColumns": "kinlearn.encoding.number_columns",
    "PriorShift": "kinlearn.estimators.prior_shift",
    "SeparateModels": "kinlearn.estimators._common_space_models",
    "SeparateReductions": "kinlearn.estimators._separate_reductions",
    "SharedModel": "kinlearn.estimators._common_space_models",
    "TableCells": "kinlearn.cells.table_cells",
    "ThresholdColumns": "kinlearn.encoding.threshold_columns",
}
# Types with a form of their own as a dict of arrays: where the functions to and from it are.
_CONVERTED = {"kinlearn.NormalEquations": "kinlearn.sums.storage"}
# Of scikit-learn, those whose fitted state is plain arrays; none that holds a user's function.
_SKLEARN = {
    "sklearn.compose": ["ColumnTransformer"],
    "sklearn.decomposition": ["PCA", "TruncatedSVD"],
    "sklearn.discriminant_analysis": ["LinearDiscriminantAnalysis"],
    "sklearn.dummy": ["DummyClassifier"],
    "sklearn.feature_extraction.text": ["TfidfTransformer"],
    "sklearn.feature_selection": ["VarianceThreshold"],
    "sklearn.impute": ["MissingIndicator", "SimpleImputer"],
    "sklearn.linear_model": ["LogisticRegression", "RidgeClassifier"],
    "sklearn.model_selection": [
        "GroupKFold",
        "KFold",
        "LeaveOneGroupOut",
        "LeaveOneOut",
        "RepeatedStratifiedKFold",
        "StratifiedGroupKFold",
        "StratifiedKFold",
    ],
    "sklearn.naive_bayes": ["GaussianNB"],
    "sklearn.pipeline": ["FeatureUnion", "Pipeline"],
    "sklearn.preprocessing": [
        "KBinsDiscretizer",
        "LabelBinarizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ],
}
_FIXED: dict[str, tuple[str, str]] = {
    **{f"kinlearn.{name}": (module, name) for name, module in _PARTS.items()},
    **{f"{module}.{name}": (module, name) for module, names in _SKLEARN.items() for name in names},
}


def find_type(key: str) -> type | None:
    """Return the type of a name, or None when it may not be stored."""
    if key in _FIXED:
        module, name = _FIXED[key]
        return getattr(import_module(module), name)
    package, _, name = key.rpartition(".")
    kinlearn = import_module("kinlearn")
    if package != "kinlearn" or name not in kinlearn.__all__:
        return None
    found = getattr(kinlearn, name)
    estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if estimator or key in _CONVERTED else None


def name_of(kind: type) -> str | None:
    """Return the name under which a type is stored, or None when it may not be."""
    keys = [key for key, (_, name) in _FIXED.items() if name == kind.__name__]
    for key in (f"kinlearn.{kind.__name__}", *keys):
        if find_type(key) is kind:
            return key
    return None


def converters(key: str) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Return the functions to and from a dict of arrays, for types that have them."""
    if key not in _CONVERTED:
        return None
    module = import_module(_CONVERTED[key])
    return module.to_arrays, lambda arrays, budget: module.from_arrays(arrays, budget=budget)[0]
