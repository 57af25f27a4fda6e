"""The types a model file may hold: a fixed table, so that no file decides what is imported."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_KINLEARN = {
    "AggregateLDA": "kinlearn.estimators.aggregate_lda",
    "ConstantClassifier": "kinlearn.estimators.constant",
    "HandOver": "kinlearn.estimators.hand_over",
    "HeterogeneousLSPC": "kinlearn.estimators.heterogeneous_lspc",
    "IndependentTasks": "kinlearn.estimators.independent_tasks",
    "KernelLogisticRegression": "kinlearn.estimators.kernel_logistic_regression",
    "LSPC": "kinlearn.estimators.lspc",
    "LSPCCV": "kinlearn.estimators.lspc_cv",
    "MTDA": "kinlearn.estimators.mtda",
    "MTDAClassifier": "kinlearn.estimators.mtda_classifier",
    "MultiLabelLSPC": "kinlearn.estimators.multilabel_lspc",
    "MultiLabelLSPCCV": "kinlearn.estimators.multilabel_lspc_cv",
    "MultiTaskLSPC": "kinlearn.estimators.multitask_lspc",
    "MultiTaskLSPCCV": "kinlearn.estimators.multitask_lspc_cv",
    "PooledTasks": "kinlearn.estimators.pooled_tasks",
    "RatioTraceLDA": "kinlearn.estimators.ratio_trace_lda",
    "SeparateModels": "kinlearn.estimators._common_model",
    "SeparateReductions": "kinlearn.estimators._reduction",
    "SharedModel": "kinlearn.estimators._common_model",
    "TraceRatioLDA": "kinlearn.estimators.trace_ratio_lda",
}
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
TYPES: dict[str, tuple[str, str]] = {
    **{f"kinlearn.{name}": (module, name) for name, module in _KINLEARN.items()},
    **{f"{module}.{name}": (module, name) for module, names in _SKLEARN.items() for name in names},
}


def find_type(key: Any) -> type:
    """Return the type of a name in the table; KeyError for any other."""
    module, name = TYPES[key]
    return getattr(import_module(module), name)


def name_of(kind: type) -> str | None:
    """Return the name of a type in the table, or None when it may not be stored."""
    for key, (_, name) in TYPES.items():
        if name == kind.__name__ and find_type(key) is kind:
            return key
    return None
