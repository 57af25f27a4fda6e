"""Classification with trustworthy probabilities, in closed form, for one task or many."""

from kinlearn.estimators.aggregate_lda import AggregateLDA
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
from kinlearn.estimators.ratio_trace_lda import RatioTraceLDA
from kinlearn.estimators.trace_ratio_lda import TraceRatioLDA

__version__ = "0.1.0"

__all__ = [
    "LSPC",
    "LSPCCV",
    "MTDA",
    "AggregateLDA",
    "HeterogeneousLSPC",
    "IndependentTasks",
    "KernelLogisticRegression",
    "KernelLogisticRegressionCV",
    "MTDAClassifier",
    "MultiLabelLSPC",
    "MultiLabelLSPCCV",
    "MultiTaskKernelLogisticRegression",
    "MultiTaskKernelLogisticRegressionCV",
    "MultiTaskLSPC",
    "MultiTaskLSPCCV",
    "PooledTasks",
    "RatioTraceLDA",
    "TraceRatioLDA",
    "__version__",
]
