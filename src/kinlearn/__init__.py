"""Classification with trustworthy probabilities, in closed form, for one task or many.

Public names are imported when they are first used: a command that needs no model starts at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kinlearn.version import VERSION

if TYPE_CHECKING:
    from kinlearn.active import ActiveLearner, find_suspect_labels
    from kinlearn.compression import compress
    from kinlearn.encoding.table_features import TableFeatures
    from kinlearn.estimators.aggregate_lda import AggregateLDA
    from kinlearn.estimators.hand_over import HandOver
    from kinlearn.estimators.heterogeneous_lspc import HeterogeneousLSPC
    from kinlearn.estimators.independent_tasks import IndependentTasks
    from kinlearn.estimators.kernel_logistic_regression import KernelLogisticRegression
    from kinlearn.estimators.kernel_logistic_regression_cv import KernelLogisticRegressionCV
    from kinlearn.estimators.lspc import LSPC
    from kinlearn.estimators.lspc_cv import LSPCCV
    from kinlearn.estimators.mtda import MTDA
    from kinlearn.estimators.mtda_classifier import MTDAClassifier
    from kinlearn.estimators.multilabel_lspc import MultiLabelLSPC
    from kinlearn.estimators.multilabel_lspc_cv import MultiLabelLSPCCV
    from kinlearn.estimators.multitask_klr import MultiTaskKernelLogisticRegression
    from kinlearn.estimators.multitask_klr_cv import MultiTaskKernelLogisticRegressionCV
    from kinlearn.estimators.multitask_lspc import MultiTaskLSPC
    from kinlearn.estimators.multitask_lspc_cv import MultiTaskLSPCCV
    from kinlearn.estimators.pooled_tasks import PooledTasks
    from kinlearn.estimators.prediction_sets import PredictionSets
    from kinlearn.estimators.prior_shift import with_prior
    from kinlearn.estimators.ratio_trace_lda import RatioTraceLDA
    from kinlearn.estimators.trace_ratio_lda import TraceRatioLDA
    from kinlearn.export import to_onnx
    from kinlearn.persistence import KinFileError, load, model_info, save
    from kinlearn.sums import NormalEquations
    from kinlearn.tables.from_python import read_table, train_table

__version__ = VERSION

__all__ = [
    "LSPC",
    "LSPCCV",
    "MTDA",
    "ActiveLearner",
    "AggregateLDA",
    "HandOver",
    "HeterogeneousLSPC",
    "IndependentTasks",
    "KernelLogisticRegression",
    "KernelLogisticRegressionCV",
    "KinFileError",
    "MTDAClassifier",
    "MultiLabelLSPC",
    "MultiLabelLSPCCV",
    "MultiTaskKernelLogisticRegression",
    "MultiTaskKernelLogisticRegressionCV",
    "MultiTaskLSPC",
    "MultiTaskLSPCCV",
    "NormalEquations",
    "PooledTasks",
    "PredictionSets",
    "RatioTraceLDA",
    "TableFeatures",
    "TraceRatioLDA",
    "__version__",
    "compress",
    "find_suspect_labels",
    "load",
    "model_info",
    "read_table",
    "save",
    "to_onnx",
    "train_table",
    "with_prior",
]

# Where every public name is defined.
_HOMES = {
    "ActiveLearner": "kinlearn.active",
    "find_suspect_labels": "kinlearn.active",
    "compress": "kinlearn.compression",
    "TableFeatures": "kinlearn.encoding.table_features",
    "AggregateLDA": "kinlearn.estimators.aggregate_lda",
    "HandOver": "kinlearn.estimators.hand_over",
    "HeterogeneousLSPC": "kinlearn.estimators.heterogeneous_lspc",
    "IndependentTasks": "kinlearn.estimators.independent_tasks",
    "KernelLogisticRegression": "kinlearn.estimators.kernel_logistic_regression",
    "KernelLogisticRegressionCV": "kinlearn.estimators.kernel_logistic_regression_cv",
    "LSPC": "kinlearn.estimators.lspc",
    "LSPCCV": "kinlearn.estimators.lspc_cv",
    "MTDA": "kinlearn.estimators.mtda",
    "MTDAClassifier": "kinlearn.estimators.mtda_classifier",
    "MultiLabelLSPC": "kinlearn.estimators.multilabel_lspc",
    "MultiLabelLSPCCV": "kinlearn.estimators.multilabel_lspc_cv",
    "MultiTaskKernelLogisticRegression": "kinlearn.estimators.multitask_klr",
    "MultiTaskKernelLogisticRegressionCV": "kinlearn.estimators.multitask_klr_cv",
    "MultiTaskLSPC": "kinlearn.estimators.multitask_lspc",
    "MultiTaskLSPCCV": "kinlearn.estimators.multitask_lspc_cv",
    "PooledTasks": "kinlearn.estimators.pooled_tasks",
    "PredictionSets": "kinlearn.estimators.prediction_sets",
    "with_prior": "kinlearn.estimators.prior_shift",
    "RatioTraceLDA": "kinlearn.estimators.ratio_trace_lda",
    "TraceRatioLDA": "kinlearn.estimators.trace_ratio_lda",
    "to_onnx": "kinlearn.export",
    "KinFileError": "kinlearn.persistence",
    "load": "kinlearn.persistence",
    "model_info": "kinlearn.persistence",
    "save": "kinlearn.persistence",
    "NormalEquations": "kinlearn.sums",
    "read_table": "kinlearn.tables.from_python",
    "train_table": "kinlearn.tables.from_python",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        found = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
