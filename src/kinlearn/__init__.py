"""Classification with trustworthy probabilities, in closed form, for one task or many."""

from kinlearn.compression import compress
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
from kinlearn.estimators.prior_shift import with_prior
from kinlearn.estimators.ratio_trace_lda import RatioTraceLDA
from kinlearn.estimators.trace_ratio_lda import TraceRatioLDA
from kinlearn.export import to_onnx
from kinlearn.persistence import KinFileError, load, model_info, save
from kinlearn.sums import NormalEquations
from kinlearn.version import VERSION

__version__ = VERSION

__all__ = [
    "LSPC",
    "LSPCCV",
    "MTDA",
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
    "RatioTraceLDA",
    "TraceRatioLDA",
    "__version__",
    "compress",
    "load",
    "model_info",
    "save",
    "to_onnx",
    "with_prior",
]
