"""Classification with trustworthy probabilities, in closed form, for one task or many."""

from kinlearn.estimators.independent_tasks import IndependentTasks
from kinlearn.estimators.lspc import LSPC
from kinlearn.estimators.lspc_cv import LSPCCV
from kinlearn.estimators.multilabel_lspc import MultiLabelLSPC
from kinlearn.estimators.multilabel_lspc_cv import MultiLabelLSPCCV
from kinlearn.estimators.multitask_lspc import MultiTaskLSPC
from kinlearn.estimators.multitask_lspc_cv import MultiTaskLSPCCV
from kinlearn.estimators.pooled_tasks import PooledTasks

__version__ = "0.1.0"

__all__ = [
    "LSPC",
    "LSPCCV",
    "IndependentTasks",
    "MultiLabelLSPC",
    "MultiLabelLSPCCV",
    "MultiTaskLSPC",
    "MultiTaskLSPCCV",
    "PooledTasks",
    "__version__",
]
